"""The force balance: how well it is met, what its approximations cost, how runs end, what is refused."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.contact import ErpCfm, Ishigami, MagicFormula, Pacejka, PiecewiseLinear
from grouser.joints import Spring, Stops
from grouser.threads import thread_count

G = 9.81
PLANE = gr.terrain.plane()
ROUGH = gr.terrain.rough(0.12, 1.0, 5, size=40.0)
WILD = gr.terrain.rough(0.25, 0.8, 5, size=60.0)
ZOE, HUSKY = gr.vehicle("zoe"), gr.vehicle("husky")
CONTACTS = {
    "pyramid": PiecewiseLinear(),
    "cone": PiecewiseLinear(cone=True),
    "pacejka": Pacejka(),
    "ishigami": Ishigami(),
}
every_contact = pytest.mark.parametrize("contact", list(CONTACTS))


def weight(vehicle):
    return vehicle.mass * G


def drive_zoe(seconds=6.0, dt=0.04, ground=ROUGH, speed=0.8, curvature=0.05, **options):
    model = gr.Dynamics(ZOE, **options)
    return gr.simulate(model, ground, gr.drive.arc(speed, curvature), duration=seconds, dt=dt)


# ---------------------------------------------------------------- how well it is solved


@every_contact
@pytest.mark.parametrize("tolerance", [None, 1e-9])
@pytest.mark.parametrize("wild", [False, True])
def test_every_step_balances_within_the_tolerance(contact, tolerance, wild):
    limit = 1e-4 if tolerance is None else tolerance
    options = {} if tolerance is None else {"tolerance": tolerance * weight(ZOE)}
    scene = {"ground": WILD, "speed": 3.0, "curvature": 0.02} if wild else {}
    run = drive_zoe(contact=CONTACTS[contact], **scene, **options)
    assert run.status == "ok"
    assert ((run.contact.force[..., 2] == 0.0).mean() > 0.05) == wild  # wheels leave the ground and come down hard
    missed = np.count_nonzero(run.solver.residual > limit * weight(ZOE))
    name = f"{contact}, wild" if wild else contact
    print(f"\n{name}, {limit:g}: {run.solver.iterations.mean():.2f} iterations, {run.halved_steps} steps halved")
    assert missed == run.halved_steps  # a halved step's row shows the attempt that failed
    assert run.halved_steps <= (0.05 * run.steps if wild else 0)


def test_a_step_states_its_own_balance():
    """M q̈ + c = Aᵀ f, assembled here from public parts; the rows of ideal actuators hold their torque."""
    from grouser.collision import contacts

    state = gr.settle(ZOE, ROUGH, x=1.0, y=-0.5, yaw=0.4, penetration=0.02).state
    v = np.random.default_rng(1).uniform(-0.3, 0.3, 6 + ZOE.n_joints)
    command = np.array([2.0, 2.5, 1.5, 2.2])
    model = gr.Dynamics(ZOE, tolerance=1e-9 * weight(ZOE))
    step = model.step(state, v, command, ROUGH, dt=0.02)
    M, c = model.inertia_and_bias(state, v)
    A = contacts(ZOE, state, ROUGH).jacobian
    left = M @ step.acceleration + c - np.einsum("wri,wr->i", A, step.force)
    actuated = 6 + ZOE.arrays.actuated
    np.testing.assert_allclose(left[actuated], step.torque, rtol=0.0, atol=1e-8 * weight(ZOE))
    np.testing.assert_allclose(np.delete(left, actuated), 0.0, rtol=0.0, atol=2e-9 * weight(ZOE))
    np.testing.assert_allclose(step.velocity, v + 0.02 * step.acceleration, rtol=1e-12, atol=1e-12)
    # the forces are the law's at the end of the step
    end = A @ step.velocity
    dz = contacts(ZOE, state, ROUGH).height_error + 0.02 * end[:, 2]
    load = weight(ZOE) / 4
    spin = ZOE.arrays.radius * step.velocity[5 + ZOE.arrays.wheel]
    np.testing.assert_allclose(
        PiecewiseLinear().force(end, spin, dz, load=load), step.force, rtol=0.0, atol=1e-8 * load
    )


def test_rigid_couplings_hold_and_stiff_springs_come_close():
    rocky, ground = gr.vehicle("rocky7"), gr.terrain.rough(0.03, 0.5, 6, size=24.0)
    rigid = gr.simulate(gr.Dynamics(rocky), ground, gr.drive.arc(0.4), duration=6.0, dt=0.02)
    together = rigid.joint("D1") + rigid.joint("D2")
    assert np.abs(rigid.joint("D1")).max() > 0.02  # the rockers do move
    assert np.abs(together).max() < 1e-6
    free = rocky.replace(couplings=())
    spring = Spring(joints={"D1": 1.0, "D2": 1.0}, stiffness=2e4, damping=200.0)
    sprung = gr.simulate(gr.Dynamics(free, joints=(spring,)), ground, gr.drive.arc(0.4), duration=6.0, dt=0.02)
    assert np.linalg.norm(sprung.position[-1] - rigid.position[-1]) < 0.01 * rigid.distance
    loose = gr.simulate(gr.Dynamics(free), ground, gr.drive.arc(0.4), duration=0.5, dt=0.02)
    assert np.abs(loose.joint("D1") + loose.joint("D2")).max() > 0.05  # without it the body falls over


def test_stops_stop_and_a_spring_holds_where_its_load_says():
    state = np.concatenate([[1.0, 0, 0, 0], [0.0, 0.0, 50.0], np.zeros(ZOE.n_joints)])
    v = np.zeros(6 + ZOE.n_joints)
    j = ZOE.joint_index("s1")
    v[6 + j] = 1.0
    options = {"gravity": 0.0, "tolerance": 1e-9 * weight(ZOE)}
    stops = Stops(joints="s1", lower=-0.2, upper=0.3, stiffness=2e4, damping=100.0)
    run = gr.simulate(
        gr.Dynamics(ZOE, joints=(stops,), **options), PLANE, gr.drive.constant(0.0), duration=3.0, dt=0.005,
        start=state, velocity=v,
    )  # fmt: skip
    angle = run.joint("s1")
    assert 0.3 < angle.max() < 0.33
    assert angle.min() > -0.23
    twist = 12.0
    spring = Spring(joints="s1", stiffness=80.0, damping=60.0, natural=0.1)
    # a torque on the front axle and its opposite on the body: the joint feels the whole of it
    pair = tuple(gr.ExternalForce(frame=f, torque=(0, 0, t)) for f, t in (("s1", twist), ("body", -twist)))
    held = gr.simulate(
        gr.Dynamics(ZOE, joints=(spring,), external=pair, **options), PLANE, gr.drive.constant(0.0), duration=30.0,
        dt=0.02, start=state, velocity=np.zeros(len(v)),
    )  # fmt: skip
    assert held.joint("s1")[-1] == pytest.approx(0.1 + twist / 80.0, rel=1e-4)


def test_one_newton_step_is_close_to_the_full_solution():
    full, single = (drive_zoe(contact=Pacejka(), newton=newton) for newton in ("full", "single"))
    assert full.solver.iterations.max() > 1
    assert (single.solver.iterations <= 1).mean() > 0.95  # the first steps leave too much and are solved in full
    away = np.linalg.norm(single.position[-1] - full.position[-1])
    print(f"\none Newton step: {away:.2e} m of {full.distance:.2f} m")
    assert 0.0 < away < 0.01 * full.distance


def test_the_approximations_of_inertia_and_bias_are_small_for_zoe():
    full = drive_zoe()
    for option in ("fixed_inertia", "single_body_bias"):
        run = drive_zoe(**{option: True})
        away = np.linalg.norm(run.position[-1] - full.position[-1])
        print(f"\n{option}: {away:.2e} m of {full.distance:.2f} m")
        assert run.status == "ok"
        assert 0.0 < away < 0.01 * full.distance


def test_halving_the_step_halves_the_error():
    ends = [
        drive_zoe(seconds=2.0, dt=dt, tolerance=1e-9 * weight(ZOE)).position[-1] for dt in (0.02, 0.01, 0.005, 0.0025)
    ]
    steps = np.linalg.norm(np.diff(ends, axis=0), axis=1)
    print(f"\norder {np.log2(steps[:-1] / steps[1:])}")
    np.testing.assert_allclose(np.log2(steps[:-1] / steps[1:]), 1.0, rtol=0.0, atol=0.3)


# ---------------------------------------------------------------- the same bytes


def commands(n, steps=60):
    rng = np.random.default_rng(8)
    return rng.uniform(1.0, 3.0, (n, steps, 4))


@every_contact
def test_threads_and_batch_size_change_no_byte(contact):
    model, u = gr.Dynamics(ZOE, contact=CONTACTS[contact]), commands(6)
    one = gr.rollout(model, ROUGH, u, every=10, threads=1)
    if thread_count(None) >= 2:
        two = gr.rollout(model, ROUGH, u, every=10, threads=2)
        assert two.state.tobytes() == one.state.tobytes()
    again = gr.rollout(model, ROUGH, u, every=10)
    assert again.final_state.tobytes() == one.final_state.tobytes()
    for i in (0, 5):
        alone = gr.rollout(model, ROUGH, u[i : i + 1], every=10)
        assert alone.state[0].tobytes() == one.state[i].tobytes()
    run = gr.simulate(model, ROUGH, u[2], duration=2.4, dt=0.04)
    assert run.state[-1].tobytes() == one.final_state[2].tobytes()


def test_a_rollout_that_ends_early_leaves_the_others_alone():
    ground = gr.terrain.grid(np.zeros((61, 61)), np.linspace(-3, 3, 61), np.linspace(-3, 3, 61))
    model, u = gr.Dynamics(ZOE, actuator=gr.actuation.PI(gain=2000.0)), commands(4)
    good = gr.rollout(model, ground, u)
    u[1] = 20.0
    mixed = gr.rollout(model, ground, u)
    assert list(mixed.status) == ["ok", "off_terrain", "ok", "ok"]
    for i in (0, 2, 3):
        assert mixed.final_state[i].tobytes() == good.final_state[i].tobytes()


def test_a_run_repeats():
    model = gr.Dynamics(ZOE, actuator=gr.actuation.PI(gain=500.0, integral=300.0, limit=60.0))
    a, b = (gr.simulate(model, ROUGH, gr.drive.arc(0.8), duration=4.0) for _ in range(2))
    assert a.state.tobytes() == b.state.tobytes()
    assert a.torque.tobytes() == b.torque.tobytes()


# ---------------------------------------------------------------- how runs end


def test_driving_off_the_map_ends_there():
    ground = gr.terrain.grid(np.zeros((61, 61)), np.linspace(-3, 3, 61), np.linspace(-3, 3, 61))
    run = gr.simulate(gr.Dynamics(HUSKY), ground, gr.drive.arc(1.0), duration=6.0)
    assert run.status == "off_terrain"
    assert 2.0 < run.position[-1, 0] < 3.0
    assert np.isfinite(run.state).all()


def test_tilting_beyond_the_tip_angle_is_rolled_over_with_its_step():
    ground = gr.terrain.ramp(2.0, 20.0, x=1.0)
    upright = gr.simulate(gr.Dynamics(HUSKY), ground, gr.drive.arc(0.5), duration=6.0)
    assert upright.status == "ok"
    tilt = np.arccos(gr.rotation.from_quaternion(upright.quaternion)[:, 2, 2])
    limit = math.radians(10.0)
    run = gr.simulate(gr.Dynamics(HUSKY, tip_angle=limit), ground, gr.drive.arc(0.5), duration=6.0)
    assert run.status == "rolled_over"
    assert run.steps == np.argmax(tilt > limit)
    assert run.state.tobytes() == np.ascontiguousarray(upright.state[: run.steps]).tobytes()


@gr.contact.law
def hammer(v, r_omega, dz):
    """Pushes far above any weight while the wheel sinks, and not at all while it rises: no velocity balances it."""
    return 0.0, 0.0, 4000.0 if v[2] < 0.0 else 0.0


def test_a_balance_that_does_not_exist_is_unsolved():
    start = gr.settle(HUSKY, PLANE, penetration=0.02).state
    model = gr.Dynamics(HUSKY, contact=hammer)
    run = gr.simulate(model, PLANE, gr.drive.constant(0.0), duration=1.0, start=start, velocity=np.zeros(10))
    assert run.status == "unsolved"
    assert np.isfinite(run.state).all()
    assert not model.step(start, np.zeros(10), np.zeros(4), PLANE, dt=0.04).converged
    assert list(gr.rollout(model, PLANE, np.zeros((2, 5, 4)), start=start, velocity=np.zeros(10)).status) == [
        "unsolved",
        "unsolved",
    ]


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("actuator", [None, gr.actuation.PI(gain=100.0)], ids=["ideal", "PI"])
def test_a_command_that_is_no_number_is_diverged_with_its_step(value, actuator):
    def drive(t, state, velocity):
        return 1.0, 1.0, value if t > 0.5 else 1.0, 1.0

    model = gr.Dynamics(HUSKY, actuator=actuator)
    run = gr.simulate(model, PLANE, gr.drive.law(drive), duration=2.0, dt=0.04)
    assert run.status == "diverged"
    assert run.steps == 13
    assert np.isfinite(run.state).all()
    assert np.isfinite(run.velocity).all()


@pytest.mark.parametrize("contact", ["pyramid", "pacejka"])
@pytest.mark.parametrize("actuator", [None, gr.actuation.PI(gain=50.0)], ids=["ideal", "PI"])
def test_a_vehicle_that_lies_on_its_back_is_simulated_on(contact, actuator):
    start = gr.settle(HUSKY, PLANE).state
    start[:4] = gr.rotation.to_quaternion(gr.rotation.from_rpy(math.pi, 0.05, 0.0))
    start[6] = 0.5
    model = gr.Dynamics(HUSKY, contact=CONTACTS[contact], actuator=actuator, tip_angle=math.pi)
    run = gr.simulate(model, PLANE, gr.drive.arc(0.5), duration=5.0, dt=0.02, start=start, velocity=np.zeros(10))
    assert run.status == "ok"
    assert run.rolled_over
    assert np.isfinite(run.state).all()
    # It comes to rest on its wheels' upper sides, which carry the weight, and rolls backwards as its wheels turn.
    assert run.contact.force[-1, :, 2].sum() == pytest.approx(weight(HUSKY), rel=1e-2)
    assert run.velocity[-1, 3] == pytest.approx(-0.5, rel=0.05)
    np.testing.assert_allclose(np.linalg.norm(run.quaternion, axis=1), 1.0, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(("height", "over"), [(0.414, False), (1.8, True)])
def test_a_high_centre_of_mass_rolls_over_on_a_side_slope_and_goes_on(height, over):
    vehicle = gr.vehicle("landtamer").replace_frame("body", com=(0.0, 0.0, height))
    ground = gr.terrain.slope(30.0, heading_deg=90.0)
    run = gr.simulate(gr.Dynamics(vehicle, tip_angle=math.pi), ground, gr.drive.arc(0.5), duration=8.0, dt=0.02)
    assert run.status == "ok"
    ended = gr.simulate(gr.Dynamics(vehicle), ground, gr.drive.arc(0.5), duration=8.0, dt=0.02)
    assert (ended.status, ended.rolled_over) == ("rolled_over" if over else "ok", over)
    assert run.rolled_over == over
    assert np.isfinite(run.state).all()
    assert np.isfinite(run.contact.force).all()


# ---------------------------------------------------------------- models per wheel


def test_each_wheel_has_its_own_contact_model():
    ice = PiecewiseLinear(friction=0.05)
    by_wheel = {w: ice if w.endswith("L") else PiecewiseLinear(friction=0.9) for w in HUSKY.wheels}
    start = gr.settle(HUSKY, PLANE, penetration=0.02).state
    v = np.zeros(10)
    v[3] = 3.0
    model = gr.Dynamics(HUSKY, contact=by_wheel)
    run = gr.simulate(model, PLANE, gr.drive.constant(0.0), duration=0.5, dt=0.01, start=start, velocity=v)
    force = dict(zip(HUSKY.wheels, np.moveaxis(run.contact.force, 1, 0), strict=True))
    for wheel, f in force.items():
        mu = 0.05 if wheel.endswith("L") else 0.9
        assert (np.abs(f[:, 0]) <= mu * f[:, 2] * (1 + 1e-12)).all()
    assert np.abs(force["FR"][3, 0]) > 5.0 * np.abs(force["FL"][3, 0])
    assert run.velocity[5, 2] < 0.0  # it turns towards the side that holds: the right
    kinds = dict(zip(HUSKY.wheels, CONTACTS.values(), strict=True))
    mixed = gr.simulate(gr.Dynamics(HUSKY, contact=kinds), PLANE, gr.drive.arc(0.5), duration=1.0)
    assert mixed.status == "ok"


def test_contact_models_belong_to_wheels_by_name_not_by_order():
    by_wheel = {w: PiecewiseLinear(friction=0.05 if w.endswith("L") else 0.9) for w in HUSKY.wheels}
    start = gr.settle(HUSKY, PLANE, penetration=0.02).state
    v = np.zeros(10)
    v[3] = 3.0
    here, there = (
        gr.Dynamics(HUSKY, contact=contact).step(start, v, np.zeros(4), PLANE, dt=0.01)
        for contact in (by_wheel, dict(reversed(by_wheel.items())))
    )
    np.testing.assert_array_equal(there.force, here.force)


# ---------------------------------------------------------------- what is refused


def refused(make):
    with pytest.raises(gr.GrouserError) as caught:
        make()
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 300
    return text


BAD = {
    "no vehicle": (lambda: gr.Dynamics("zoe"), "vehicle"),
    "no contact": (lambda: gr.Dynamics(ZOE, contact="soft"), "contact"),
    "unknown wheel": (lambda: gr.Dynamics(ZOE, contact={"XX": Pacejka()}), "XX"),
    "missing wheel": (lambda: gr.Dynamics(ZOE, contact={"FL": Pacejka()}), "FR"),
    "no actuator": (lambda: gr.Dynamics(ZOE, actuator=3.0), "actuator"),
    "newton": (lambda: gr.Dynamics(ZOE, newton="half"), "newton"),
    "tolerance": (lambda: gr.Dynamics(ZOE, tolerance=-1.0), "tolerance"),
    "tolerance nan": (lambda: gr.Dynamics(ZOE, tolerance=math.nan), "tolerance"),
    "iterations": (lambda: gr.Dynamics(ZOE, max_iterations=0), "max_iterations"),
    "one iteration": (lambda: gr.Dynamics(ZOE, max_iterations=1), "max_iterations"),
    "gravity": (lambda: gr.Dynamics(ZOE, gravity=math.inf), "gravity"),
    "tip angle": (lambda: gr.Dynamics(ZOE, tip_angle=-0.1), "tip_angle"),
    "time constant": (lambda: gr.Dynamics(ZOE, coupling_time_constant=0.0), "coupling_time_constant"),
    "joint model": (lambda: gr.Dynamics(ZOE, joints=("s1",)), "joint"),
    "joints no list": (lambda: gr.Dynamics(ZOE, joints=5), "joint"),
    "external": (lambda: gr.Dynamics(ZOE, external=("pull",)), "external"),
    "external no list": (lambda: gr.Dynamics(ZOE, external=gr.ExternalForce(frame="body")), "external"),
    "external frame": (lambda: gr.Dynamics(ZOE, external=(gr.ExternalForce(frame="arm"),)), "arm"),
    "external axes": (lambda: gr.ExternalForce(frame="body", axes="moon"), "axes"),
    "external force": (lambda: gr.ExternalForce(frame="body", force=(1.0, 2.0)), "force"),
    "external nan": (lambda: gr.ExternalForce(frame="body", torque=(0.0, math.nan, 0.0)), "torque"),
    "spring joint": (lambda: gr.Dynamics(ZOE, joints=(Spring(joints="arm", stiffness=1.0),)), "arm"),
    "spring stiffness": (lambda: gr.Dynamics(ZOE, joints=(Spring(joints="s1", stiffness=-1.0),)), "stiffness"),
    "spring damping": (
        lambda: gr.Dynamics(ZOE, joints=(Spring(joints="s1", stiffness=1.0, damping=-1.0),)),
        "damping",
    ),
    "spring natural": (
        lambda: gr.simulate(
            gr.Dynamics(ZOE, joints=(Spring(joints="s1", stiffness=1.0, natural=math.nan),)),
            PLANE, gr.drive.arc(1.0), duration=1.0,
        ),
        "natural",
    ),
    "stops": (lambda: gr.Dynamics(ZOE, joints=(Stops(joints="s1", lower=1, upper=0, stiffness=1.0),)), "lower"),
    "erp": (lambda: ErpCfm(erp=1.5, cfm=1e-3, dt=0.04), "erp"),
    "friction": (lambda: PiecewiseLinear(friction=-0.1), "friction"),
    "stiffness": (lambda: Pacejka(stiffness=-5.0), "stiffness"),
    "magic": (lambda: MagicFormula(B=-1.0), "B"),
    "state": (lambda: gr.Dynamics(ZOE).inertia_and_bias(np.zeros(3), np.zeros(13)), "state"),
    "zero quaternion": (lambda: gr.Dynamics(ZOE).inertia_and_bias(np.zeros(14), np.zeros(13)), "quaternion"),
    "velocity": (lambda: gr.Dynamics(ZOE).inertia_and_bias(np.ones(14), np.full(13, math.nan)), "velocity"),
    "step dt": (lambda: gr.Dynamics(ZOE).step(np.ones(14), np.zeros(13), np.zeros(4), PLANE, dt=0.0), "dt"),
    "step ground": (lambda: gr.Dynamics(ZOE).step(np.ones(14), np.zeros(13), np.zeros(4), None, dt=0.1), "ground"),
    "step command": (lambda: gr.Dynamics(ZOE).step(np.ones(14), np.zeros(13), np.zeros(5), PLANE, dt=0.1), "command"),
    "start velocity": (
        lambda: gr.simulate(gr.Dynamics(ZOE), PLANE, gr.drive.arc(1.0), duration=1.0, velocity=np.zeros(4)),
        "velocity",
    ),
    "wheels without inertia": (
        lambda: gr.Dynamics(
            HUSKY.replace_frame("FL", inertia=(0.0, 0.0, 0.0)), actuator=gr.actuation.PI(gain=1.0)
        ),
        "FL",
    ),
}  # fmt: skip


CASES = list(BAD)


@pytest.mark.parametrize("case", CASES)
def test_a_bad_parameter_is_refused_in_one_sentence(case):
    make, word = BAD[case]
    assert word in refused(make)
