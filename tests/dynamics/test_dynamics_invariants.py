"""What any correct engine keeps: momentum and energy in flight and with passive contacts, the path of a moved scene."""

import numpy as np
import pytest

import grouser as gr
from grouser.collision import contacts
from grouser.contact import PiecewiseLinear
from grouser.joints import Spring
from grouser.kinematics import frame_poses
from grouser.vehicles.mirror import signs

G = 9.81
PLANE = gr.terrain.plane()
FREE = gr.actuation.PI(gain=0.0)


def exact(vehicle):
    return 1e-10 * vehicle.mass * G


def flight(vehicle, dt, seconds=2.0, seed=3):
    """Thrown tumbling, all joints free, far above the ground."""
    rng = np.random.default_rng(seed)
    model = gr.Dynamics(vehicle, tip_angle=np.pi, actuator=FREE, tolerance=exact(vehicle))
    quaternion = rng.normal(size=4)
    state = np.concatenate([quaternion / np.linalg.norm(quaternion), [1.0, -2.0, 500.0], np.zeros(vehicle.n_joints)])
    state[7:] = rng.uniform(-0.3, 0.3, vehicle.n_joints)
    v = np.concatenate([rng.uniform(-0.5, 0.5, 3), rng.uniform(-2, 2, 3), rng.uniform(-0.5, 0.5, vehicle.n_joints)])
    run = gr.simulate(
        model, PLANE, gr.drive.constant(0.0), duration=seconds, dt=dt, start=state, velocity=v, every=round(0.1 / dt)
    )
    assert run.status == "ok"
    assert not run.contact.force.any()
    return model, run


def centre_of_mass(vehicle, state):
    R, p = frame_poses(vehicle, state)
    masses = np.array([f.mass for f in vehicle.frames])
    return masses @ (p + np.einsum("fij,fj->fi", R, np.array([f.com for f in vehicle.frames]))) / masses.sum()


def momenta(model, run):
    """Linear momentum, angular momentum about the centre of mass (world axes), centre of mass, of every row."""
    linear, angular, centre = [], [], []
    for q, v in zip(run.state, run.velocity, strict=True):
        M, _ = model.inertia_and_bias(q, v)
        R, p = gr.rotation.from_quaternion(q[:4]), centre_of_mass(run.vehicle, q)
        P, L = R @ (M @ v)[3:6], R @ (M @ v)[:3]  # about the body's origin
        linear.append(P)
        angular.append(L - np.cross(p - q[4:7], P))
        centre.append(p)
    return np.array(linear), np.array(angular), np.array(centre)


def heavy_links(name):
    vehicle = gr.vehicle(name).replace(couplings=())
    for f in vehicle.frames:
        if f.mass == 0.0:
            vehicle = vehicle.replace_frame(f.name, mass=0.02 * vehicle.mass, inertia=(0.02, 0.025, 0.03))
    return vehicle


@pytest.mark.parametrize("name", ["zoe", "rocky7"])
def test_flight_keeps_momentum_and_energy_to_the_order_of_the_step(name):
    vehicle = heavy_links(name)
    drift = {}
    for dt in (0.004, 0.002, 0.001):
        model, run = flight(vehicle, dt)
        P, L, centre = momenta(model, run)
        fallen = P[0] + np.outer(run.time, [0.0, 0.0, -vehicle.mass * G])
        t = run.time[:, None]
        path = centre[0] + t * P[0] / vehicle.mass - 0.5 * t**2 * [0.0, 0.0, G]
        energy = run.solver.kinetic + run.solver.potential
        drift[dt] = np.array(
            [
                np.abs(P - fallen).max() / (vehicle.mass * G),
                np.abs(L - L[0]).max() / np.abs(L[0]).max(),
                np.abs(centre - path).max(),
                np.abs(energy - energy[0]).max() / run.solver.kinetic[0],
            ]
        )
    print(f"\n{name}: momentum, angular momentum, fall, energy " + str({k: d.round(6) for k, d in drift.items()}))
    for big, small in ((0.004, 0.002), (0.002, 0.001)):
        order = np.log2(drift[big] / drift[small])
        np.testing.assert_allclose(order, 1.0, rtol=0.0, atol=0.2)
    assert (drift[0.001] < 0.05).all()


def test_a_box_without_joints_turning_about_its_axis_keeps_everything():
    """Rotation about a principal axis is no approximation, nor is a parabola but for the step's g dt t/2."""
    vehicle = gr.vehicle("husky")
    model = gr.Dynamics(vehicle, tip_angle=np.pi, tolerance=exact(vehicle))  # wheels held: one rigid body
    state = np.concatenate([[1.0, 0, 0, 0], [0.0, 0.0, 100.0], np.zeros(4)])
    com = centre_of_mass(vehicle, state) - state[4:7]
    v = np.zeros(10)
    v[2], v[3] = 3.0, 1.0
    v[3:6] -= np.cross(v[:3], com)
    dt = 0.01
    run = gr.simulate(model, PLANE, gr.drive.constant(0.0), duration=1.0, dt=dt, start=state, velocity=v)
    assert np.abs(run.velocity[:, 2] - 3.0).max() < 1e-9
    centre = np.array([centre_of_mass(vehicle, q) for q in run.state])
    t = run.time
    np.testing.assert_allclose(centre[:, 2], centre[0, 2] - 0.5 * G * t * (t + dt), rtol=0.0, atol=1e-9)
    assert run.velocity[-1, 5] == pytest.approx(-G, abs=1e-9)


# ---------------------------------------------------------------- moved and mirrored scenes

ROUGH = {"zoe": gr.terrain.rough(0.12, 1.0, 5, size=24.0), "rocky7": gr.terrain.rough(0.03, 0.5, 6, size=24.0)}
CONTACTS = {"piecewise": PiecewiseLinear(cone=True), "pacejka": gr.contact.Pacejka()}
both = pytest.mark.parametrize("name", ["zoe", "rocky7"])
contact_models = pytest.mark.parametrize("contact", list(CONTACTS))


def rates(vehicle, sign=None):
    t = np.arange(50) * 0.04
    u = np.zeros((len(t), len(vehicle.actuated)))
    for a, name in enumerate(vehicle.actuated):
        frame = vehicle.frames[vehicle.frame_index(name)]
        if frame.is_wheel:
            left = vehicle.wheel_positions[vehicle.wheels.index(name)][1] > 0
            u[:, a] = (0.6 - 0.1 * (1 if left else -1) * (1 + np.sin(t))) / frame.radius
        else:
            u[:, a] = 0.1 * np.cos(t)
    return u if sign is None else u * sign[vehicle.arrays.actuated]


def driven(vehicle, ground, start, u, contact, velocity, external=()):
    model = gr.Dynamics(
        vehicle, tip_angle=np.pi, contact=CONTACTS[contact], external=external, tolerance=exact(vehicle)
    )
    run = gr.simulate(model, ground, u, duration=2.0, dt=0.04, start=start, velocity=velocity)
    assert run.status == "ok"
    return run


def turned(state, x=0.0, y=0.0, z=0.0, yaw=0.0):
    """States after the same motion of the world as `terrain.moved`."""
    R = gr.rotation.from_rpy(0, 0, yaw)
    out = state.copy()
    out[..., 4:7] = state[..., 4:7] @ R.T + [x, y, z]
    out[..., :4] = gr.rotation.to_quaternion(R @ gr.rotation.from_quaternion(state[..., :4]))
    return out


def mirrored(state, sign):
    out = state.copy()
    out[..., [1, 3, 5]] *= -1.0
    out[..., 7:] *= sign
    return out


def assert_same_states(a, b, within):
    np.testing.assert_allclose(a[:, 4:], b[:, 4:], rtol=0.0, atol=within)
    np.testing.assert_allclose(
        gr.rotation.from_quaternion(a[:, :4]), gr.rotation.from_quaternion(b[:, :4]), rtol=0.0, atol=within
    )


@both
@contact_models
@pytest.mark.parametrize(
    "move", [{"x": 3.7, "y": -2.2, "z": 0.9}, {"x": -1.3, "y": 4.1, "z": -2.0, "yaw": -0.71}], ids=["shifted", "turned"]
)
def test_a_moved_scene_gives_the_moved_path(name, contact, move):
    vehicle, ground = gr.vehicle(name), ROUGH[name]
    start = gr.settle(vehicle, ground, x=0.4, y=0.3, yaw=0.5, penetration=0.02).state
    v = np.zeros(6 + vehicle.n_joints)
    v[3] = 0.5
    pull = np.array([30.0, 10.0, 0.0]) * vehicle.mass / 100.0
    R = gr.rotation.from_rpy(0, 0, move.get("yaw", 0.0))
    here, there = (
        driven(vehicle, g, s, rates(vehicle), contact, v, (gr.ExternalForce(frame="body", force=tuple(f)),))
        for g, s, f in ((ground, start, pull), (gr.terrain.moved(ground, **move), turned(start, **move), R @ pull))
    )
    assert here.distance > 0.5
    assert_same_states(there.state, turned(here.state, **move), 1e-9)
    np.testing.assert_allclose(there.contact.force, here.contact.force, rtol=0.0, atol=1e-6 * vehicle.mass * G)


@both
@contact_models
def test_a_mirrored_scene_gives_the_mirrored_path(name, contact):
    vehicle, ground, sign = gr.vehicle(name), ROUGH[name], signs(gr.vehicle(name))
    start = gr.settle(vehicle, ground, x=0.4, y=0.3, yaw=0.5, penetration=0.02).state
    v = np.zeros(6 + vehicle.n_joints)
    v[[2, 3]] = 0.1, 0.5
    image = v.copy()
    image[2] = -0.1
    here = driven(vehicle, ground, start, rates(vehicle), contact, v)
    there = driven(
        vehicle.mirrored(), gr.terrain.moved(ground, mirror=True), mirrored(start, sign), rates(vehicle, sign),
        contact, image,
    )  # fmt: skip
    assert_same_states(there.state, mirrored(here.state, sign), 1e-9)


# ---------------------------------------------------------------- energy with contacts


def bowl(x, y):
    return 0.02 * (x * x + y * y)


BOWL = gr.terrain.law(bowl)
AXLE = 300.0


def passive(name, dt, *, sprung=True, seconds=60.0):
    """Free wheels in a bowl, let go on its side: total energy over time, springs of contacts and axles included.

    sprung: Zoë's axles get a spring and damper; without, they fold and it rolls over.
    """
    vehicle, axles = gr.vehicle(name), ("s1", "s2") if name == "zoe" and sprung else ()
    joints = tuple(Spring(joints=j, stiffness=AXLE, damping=60.0) for j in axles)
    model = gr.Dynamics(vehicle, tip_angle=np.pi, actuator=FREE, joints=joints, tolerance=exact(vehicle))
    start = gr.settle(vehicle, BOWL, x=3.0, y=1.0, yaw=0.3, penetration=0.02).state
    still = np.zeros(6 + vehicle.n_joints)
    run = gr.simulate(model, BOWL, gr.drive.constant(0.0), duration=seconds, dt=dt, start=start, velocity=still)
    assert run.status == "ok"
    bent = sum(0.5 * AXLE * run.joint(axle) ** 2 for axle in axles)
    return run, run.solver.kinetic + run.solver.potential + contact_springs(run) + bent


def contact_springs(run):
    stiffness = run.vehicle.mass * G / run.vehicle.n_wheels / 0.02
    return 0.5 * stiffness * (np.minimum(run.contact.height_error, 0.0) ** 2).sum(axis=1)


def largest_rise(energy):
    return (energy - np.minimum.accumulate(energy)).max()


@pytest.mark.parametrize("name", ["husky", "zoe", "rocky7"])
def test_without_drive_energy_has_no_upward_trend_and_its_ripple_shrinks_with_the_step(name):
    ripple = []
    for dt in (0.02, 0.01, 0.005):
        run, energy = passive(name, dt)
        swing = np.ptp(run.solver.potential)
        assert swing > 0.02 * abs(run.solver.potential[0])  # it did roll
        slope = np.polyfit(run.time, energy, 1)[0]
        rise = largest_rise(energy)
        ripple.append(rise)
        print(f"\n{name} dt {dt}: E {energy[0]:.2f} → {energy[-1]:.2f} J, slope {slope:.1e} W, ripple {rise:.3g} J")
        # a trend would be at least as large as the ripple; the least-squares slope over 60 s must not show it
        assert slope * 60.0 < max(0.25 * rise, 1e-6)
    assert ripple[2] < 0.35 * ripple[0] + 1e-3 * swing  # wheels that stand for a moment hold, and let go again


def test_zoe_on_free_axles_rolls_over_and_the_energy_its_steps_make_is_small_and_shrinks():
    """Both axles fold across by 9 s, the wheels stand in one line, and at 10 s the vehicle rolls over.

    The folded rear axle is then a crank of 0.12 m and 0.14 kg m² under the body's weight and whips round at 20 to
    45 rad/s. A step reckons its forces with the penetration Δz + v_z dt along the tangent, but the wheel goes round
    the arc and ends deeper by ½ r turn², so its spring holds energy that nothing paid for. Up to the tangent contacts
    only take. Steps that turn by more than 0.25 rad are halved, so the rise is not monotone in dt.
    """
    rises = {}
    for dt in (0.04, 0.02, 0.01, 0.005, 0.0025):
        run, energy = passive("zoe", dt, sprung=False)
        upright = 1.0 - 2.0 * (run.quaternion[:, 1] ** 2 + run.quaternion[:, 2] ** 2)
        assert np.abs(np.degrees(run.joint("s2")[run.time < 9.5])).max() > 80.0
        assert run.time[np.argmax(upright < 0.0)] == pytest.approx(10.2, abs=0.15)
        assert np.polyfit(run.time, energy, 1)[0] < 0.0
        rises[dt] = largest_rise(energy)
        if dt == 0.005:
            assert steps_own_contact_energy(run).max() < 0.0
    print(f"\nenergy made while it rolls over: {rises} J of {energy[0]:.0f} J")
    assert max(rises.values()) < 0.05 * energy[0]
    assert rises[0.0025] < 0.001 * energy[0]


def steps_own_contact_energy(run):
    """Work of the contacts and change of their springs, to Δz + v_z dt, of every step from 9 to 12 s."""
    assert run.halved_steps == 0  # its row would show the attempt that was given up
    vehicle = run.vehicle
    stiffness = vehicle.mass * G / vehicle.n_wheels / 0.02
    gained = []
    for i in np.flatnonzero((run.time > 9.0) & (run.time < 12.0)):
        rise = contacts(vehicle, run.state[i], BOWL).jacobian[:, 2] @ run.velocity[i + 1] * run.dt
        before = np.minimum(run.contact.height_error[i], 0.0)
        after = np.minimum(run.contact.height_error[i] + rise, 0.0)
        gained.append(run.contact.power[i].sum() * run.dt + 0.5 * stiffness * (after**2 - before**2).sum())
    return np.array(gained)


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
@pytest.mark.parametrize("dt", [0.04, 0.1])
def test_rolling_over_on_free_axles_ends_well_from_anywhere_at_large_steps(dt, integrator):
    """Taken whole, steps in which an axle turns by a radian feed on themselves: 1e17 J and more from some starts."""
    vehicle, rng = gr.vehicle("zoe"), np.random.default_rng(1)
    model = gr.Dynamics(vehicle, tip_angle=np.pi, actuator=FREE, integrator=integrator)
    worst, over = 0.0, 0
    for _ in range(20):
        x, y, yaw = rng.uniform(2.0, 3.5), rng.uniform(0.0, 1.5), rng.uniform(-1.0, 1.0)
        start = gr.settle(vehicle, BOWL, x=x, y=y, yaw=yaw, penetration=0.02).state
        still = np.zeros(6 + vehicle.n_joints)
        run = gr.simulate(model, BOWL, gr.drive.constant(0.0), duration=30.0, dt=dt, start=start, velocity=still)
        assert run.status == "ok"
        over += run.rolled_over
        worst = max(worst, largest_rise(run.solver.kinetic + run.solver.potential + contact_springs(run)))
    print(f"\n{integrator} dt {dt}: {over} of 20 rolled over, largest rise {worst:.0f} J")
    assert over > 5
    assert worst < 300.0  # falls release 1000 J


def test_power_is_accounted_for():
    """Work of the motors and of the contact forces is the change of energy, to the step's order."""
    vehicle, ground = gr.vehicle("zoe"), gr.terrain.rough(0.1, 1.0, 7, size=40.0)
    missing = []
    for dt in (0.01, 0.005, 0.0025):
        model = gr.Dynamics(vehicle, tip_angle=np.pi, actuator=gr.actuation.PI(gain=200.0), tolerance=exact(vehicle))
        run = gr.simulate(model, ground, gr.drive.arc(0.6), duration=4.0, dt=dt)
        assert run.status == "ok"
        # forces and torques of a row act over the step to the next, at the velocities of its end
        rate = run.velocity[1:, 6 + vehicle.arrays.actuated]
        motors = (run.torque[:-1] * rate).sum() * dt
        ground_work = (run.contact.force[:-1] * run.contact.velocity[1:]).sum() * dt
        energy = run.solver.kinetic + run.solver.potential
        missing.append(abs(motors + ground_work - (energy[-1] - energy[0])))
        joints = run.velocity[:, 6 + vehicle.arrays.actuated]
        np.testing.assert_allclose(run.power[:-1], run.torque[:-1] * 0.5 * (joints[:-1] + joints[1:]), rtol=1e-12)
        assert abs(run.power[:-1].sum() * dt - motors) < 0.05 * abs(motors)
        assert ground_work < 0.0  # contacts only take
    print(f"\nmissing energy {missing} J of {motors:.1f} J of the motors")
    assert missing[2] < 0.35 * missing[0]
    assert missing[2] < 0.02 * abs(motors)


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
def test_drive_work_is_change_of_energy_and_what_the_wheels_lose(integrator):
    """Energy grows by the work of the motors and of each wheel's contact, to the order of the step."""
    vehicle, ground = gr.vehicle("zoe"), gr.terrain.rough(0.1, 1.0, 7, size=40.0)
    actuator, contact = gr.actuation.PI(gain=200.0), PiecewiseLinear(rolling_resistance=30.0)
    model = gr.Dynamics(
        vehicle, tip_angle=np.pi, contact=contact, actuator=actuator, tolerance=exact(vehicle), integrator=integrator
    )
    missing = []
    for dt in (0.01, 0.005, 0.0025):
        run = gr.simulate(model, ground, gr.drive.arc(0.6), duration=4.0, dt=dt)
        motors = (run.torque[:-1] * run.velocity[1:, 6 + vehicle.arrays.actuated]).sum() * dt
        wheels = run.contact.power[:-1].sum(axis=0) * dt
        energy = run.solver.kinetic + run.solver.potential
        missing.append(abs(motors + wheels.sum() - (energy[-1] - energy[0])))
        assert (wheels < 0.0).all()
    rolled = 30.0 * 0.6**2 * 4.0  # of each wheel: C_rr (Rω)² over 4 s
    print(f"\n{integrator}: motors {motors:.1f} J, wheels {wheels.round(1)} J (rolling {rolled:.1f}), off {missing}")
    assert (wheels < -0.8 * rolled).all()
    assert missing[2] < 0.35 * missing[0]
    assert missing[2] < 0.02 * motors


@pytest.mark.parametrize("kind", [PiecewiseLinear, gr.contact.Pacejka])
def test_rolling_resistance_lets_a_vehicle_coast_to_a_stop(kind):
    vehicle = gr.vehicle("husky")
    resistance = 20.0  # 4 wheels: 80 N s/m against 60 kg, so it slows with a time constant of a second or so
    model = gr.Dynamics(vehicle, tip_angle=np.pi, contact=kind(rolling_resistance=resistance), actuator=FREE)
    run = gr.simulate(model, PLANE, gr.drive.arc(1.0), duration=10.0, dt=0.02)
    assert run.velocity[0, 3] == pytest.approx(1.0, rel=1e-6)
    energy = run.solver.kinetic
    assert energy[-1] < 1e-3 * energy[0]


@pytest.mark.parametrize("kind", [PiecewiseLinear, gr.contact.Pacejka])
def test_driving_against_rolling_resistance_takes_torque(kind):
    vehicle, resistance = gr.vehicle("husky"), 20.0
    model = gr.Dynamics(vehicle, tip_angle=np.pi, contact=kind(rolling_resistance=resistance))
    run = gr.simulate(model, PLANE, gr.drive.arc(1.0), duration=5.0, dt=0.02)
    radius = vehicle.arrays.radius[0]
    np.testing.assert_allclose(run.torque[-1].mean(), resistance * 1.0 * radius, rtol=1e-3)
    # The ground turns every wheel back by R C_rr Rω, and so the body: load moves to the rear axle.
    load, span = run.contact.force[-1, :, 2], np.ptp(vehicle.wheel_positions[:, 0])
    assert load[2:].sum() - load[:2].sum() == pytest.approx(2.0 * 4.0 * resistance * radius / span, rel=0.03)
