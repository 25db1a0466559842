"""Motors on a jacked-up wheel, where the answer is a formula: (I + rotor) dω/dt = torque."""

import ctypes
import math

import numpy as np
import pytest

import grouser as gr
from grouser.actuation import PI, DCMotor, SharedDrive
from grouser.joints import Spring

PLANE = gr.terrain.plane()
ROUGH = gr.terrain.rough(0.12, 1.0, 5, size=40.0)
# A body of 1e6 kg hardly feels its wheels: their equations of motion are those of wheels on a fixed axle, to 1e-6.
JACKED_UP = gr.vehicle("husky").replace_frame("body", mass=1e6, inertia=(1e6, 1e6, 1e6))
WHEEL = JACKED_UP.frames[JACKED_UP.frame_index("FL")].inertia_matrix[1, 1]
HELD = 2e-6
DT = 0.01


def spin_up(actuator, command, seconds=2.0, dt=DT, vehicle=JACKED_UP, **options):
    """Rates of the four wheels over time, from rest, in the air and without gravity; and the run."""
    state = np.concatenate([[1.0, 0, 0, 0], [0.0, 0.0, 50.0], np.zeros(4)])
    model = gr.Dynamics(vehicle, actuator=actuator, gravity=0.0, tolerance=1e-9, **options)
    run = gr.simulate(
        model, PLANE, gr.drive.constant(command), duration=seconds, dt=dt, start=state, velocity=np.zeros(10)
    )
    assert run.status == "ok"
    return run.velocity[:, 6:], run


def discrete_pi(gain, integral, limit, command, steps, dt=DT, inertia=WHEEL, windup=False):
    """Implicit Euler of I dω/dt = clip(K_p e + K_i ∫e), solved by hand for one wheel."""
    rate, memory, rates = 0.0, 0.0, [0.0]
    for _ in range(steps):
        # unlimited: I (ω⁺ − ω)/dt = K_p (c − ω⁺) + K_i (m + (c − ω⁺) dt)
        slope = gain + integral * dt
        new = (inertia * rate / dt + slope * command + integral * memory) / (inertia / dt + slope)
        torque = inertia * (new - rate) / dt
        if abs(torque) > limit:
            new = rate + math.copysign(limit, torque) * dt / inertia
            if windup:
                memory += (command - new) * dt
        else:
            memory += (command - new) * dt
        rate = new
        rates.append(rate)
    return np.array(rates)


def test_proportional_control_approaches_the_command_exponentially():
    gain, command = 2.0 * WHEEL, 5.0  # time constant 0.5 s
    rates, run = spin_up(PI(gain=gain), command)
    discrete = command * (1.0 - (1.0 + 2.0 * DT) ** -np.arange(len(rates)))
    np.testing.assert_allclose(rates, discrete[:, None] @ np.ones((1, 4)), rtol=0.0, atol=HELD * command)
    exact = command * (1.0 - np.exp(-2.0 * run.time))
    assert np.abs(rates[:, 0] - exact).max() < command * DT  # first order in the step
    np.testing.assert_allclose(run.torque[:-1], gain * (command - rates[1:]), rtol=0.0, atol=1e-6)
    # The step is the same number for a wheel turning the other way.
    reverse, _ = spin_up(PI(gain=gain), -command)
    np.testing.assert_allclose(reverse, -rates, rtol=0.0, atol=1e-9)


def test_integral_control_is_the_second_order_response():
    # I ω̈ + K_p ω̇ + K_i ω = K_i c + … : damping 0.5, natural frequency 4 rad/s
    gain, integral, command = 4.0 * WHEEL, 16.0 * WHEEL, 5.0
    rates, run = spin_up(PI(gain=gain, integral=integral), command, seconds=3.0)
    wanted = discrete_pi(gain, integral, math.inf, command, len(rates) - 1)
    np.testing.assert_allclose(rates, wanted[:, None] @ np.ones((1, 4)), rtol=0.0, atol=2 * HELD * command)
    w, d = math.sqrt(12.0), 2.0  # e(t) for e(0) = c, ė(0) = −4 c
    t = run.time
    error = command * np.exp(-d * t) * (np.cos(w * t) + (d - 4.0) / w * np.sin(w * t))
    assert np.abs(rates[:, 0] - (command - error)).max() < 5.0 * command * DT
    assert rates[:, 0].max() > command * 1.05  # it overshoots, as such a controller does


def test_the_torque_limit_is_exact_and_leaves_no_wind_up():
    gain, integral, limit, command = 4.0 * WHEEL, 16.0 * WHEEL, 2.0 * WHEEL, 5.0
    rates, run = spin_up(PI(gain=gain, integral=integral, limit=limit), command, seconds=5.0)
    limited = rates[:, 0] < 4.0
    assert limited.sum() > 100
    np.testing.assert_allclose(run.torque[limited], limit, rtol=1e-12)
    np.testing.assert_allclose(rates[limited, 0], 2.0 * run.time[limited], rtol=0.0, atol=2 * HELD * command)
    wanted = discrete_pi(gain, integral, limit, command, len(rates) - 1)
    np.testing.assert_allclose(rates[:, 0], wanted, rtol=0.0, atol=1e-4)
    wound_up = discrete_pi(gain, integral, limit, command, len(rates) - 1, windup=True)
    assert wound_up.max() - command > 4.0 * (rates.max() - command)
    assert np.abs(run.torque).max() <= limit * (1 + 1e-12)


def test_gains_by_joint_reach_their_own_joint():
    gains = {name: WHEEL * (1.0 + i) for i, name in enumerate(reversed(JACKED_UP.actuated))}
    rates, _ = spin_up(PI(gain=gains), 5.0)
    for a, name in enumerate(JACKED_UP.actuated):
        discrete = 5.0 * (1.0 - (1.0 + gains[name] / WHEEL * DT) ** -np.arange(len(rates)))
        np.testing.assert_allclose(rates[:, a], discrete, rtol=0.0, atol=1e-4)


def test_a_motor_follows_its_torque_speed_line_and_feels_its_rotor():
    gear, rotor, stall, free = 20.0, 2e-4, 0.01, 100.0
    motor = DCMotor(stall_torque=stall, no_load_speed=free, gear=gear, gain=1e3, rotor_inertia=rotor)
    inertia = WHEEL + rotor * gear**2
    top = free / gear  # 5 rad/s at the wheel
    rates, run = spin_up(motor, 100.0, seconds=4.0)  # asks for more than it can
    constant = inertia * top / (stall * gear)
    discrete = top * (1.0 - (1.0 + DT / constant) ** -np.arange(len(rates)))
    np.testing.assert_allclose(rates[:, 0], discrete, rtol=0.0, atol=1e-4)
    line = stall * gear * (1.0 - rates[1:] / top)
    np.testing.assert_allclose(run.torque[:-1], line, rtol=0.0, atol=1e-9)
    light, _ = spin_up(DCMotor(stall_torque=stall, no_load_speed=free, gear=gear, gain=1e3), 100.0, seconds=0.5)
    ratio = light[1, 0] / rates[1, 0]
    assert ratio == pytest.approx(inertia / WHEEL, rel=0.05)  # at the start torque is stall torque for both
    assert inertia > 1.1 * WHEEL


def test_a_motor_reaches_a_speed_within_its_reach_in_both_directions():
    motor = DCMotor(stall_torque=2.0, no_load_speed=20.0, gain=10.0 * WHEEL)
    for command in (6.0, -6.0):
        rates, run = spin_up(motor, command, seconds=4.0)
        np.testing.assert_allclose(rates[-1], command, rtol=1e-6)
        np.testing.assert_allclose(run.torque[-1], 0.0, rtol=0.0, atol=1e-6)


def test_rotor_inertia_is_kinetic_energy_and_nothing_else():
    motor = DCMotor(stall_torque=1.0, no_load_speed=10.0, gear=5.0, rotor_inertia=0.01)
    model = gr.Dynamics(JACKED_UP, actuator=motor)
    q, v = np.concatenate([[1.0], np.zeros(10)]), np.zeros(10)
    M, _ = model.inertia_and_bias(q, v)
    bare, _ = gr.Dynamics(JACKED_UP).inertia_and_bias(q, v)
    extra = np.zeros(10)
    extra[6 + JACKED_UP.arrays.actuated] = 0.01 * 25.0
    np.testing.assert_allclose(M - bare, np.diag(extra), rtol=0.0, atol=1e-9)


def test_a_shared_drive_turns_its_wheels_together():
    vehicle = JACKED_UP.replace_frame("FL", inertia=(2.0 * WHEEL, 3.0 * WHEEL, 2.0 * WHEEL))
    rates = {}
    for groups in ((("FL", "BL"), ("FR", "BR")), ()):
        drive = SharedDrive(groups=groups, gain=2.0 * WHEEL, coupling=1e4 * WHEEL)
        found, _ = spin_up(drive, 5.0, vehicle=vehicle)
        rates[bool(groups)] = dict(zip(vehicle.actuated, found.T, strict=True))
    together, apart = rates[True], rates[False]
    assert np.abs(apart["FL"] - apart["BL"]).max() > 0.5
    assert np.abs(together["FL"] - together["BL"]).max() < 5e-3
    # The pair has inertia 4 I and two shares of the motor; a pair of light wheels 2 I: twice as fast.
    steps = np.arange(len(together["FL"]))
    np.testing.assert_allclose(together["FL"], 5.0 * (1.0 - (1.0 + DT) ** -steps), rtol=0.0, atol=5e-3)
    np.testing.assert_allclose(together["FR"], 5.0 * (1.0 - (1.0 + 2.0 * DT) ** -steps), rtol=0.0, atol=1e-4)


def test_a_shared_drive_moves_torque_to_the_wheel_that_holds():
    """One wheel of a side on ice: with its own motor it spins faster, with a shared one it cannot."""
    husky = gr.vehicle("husky")
    contact = {w: gr.contact.PiecewiseLinear(friction=0.02 if w == "FL" else 0.8) for w in husky.wheels}
    ground = gr.terrain.slope(8.0)
    spread = {}
    for groups in ((("FL", "BL"), ("FR", "BR")), ()):
        model = gr.Dynamics(husky, contact=contact, actuator=SharedDrive(groups=groups, gain=10.0))
        run = gr.simulate(model, ground, gr.drive.constant(3.0), duration=3.0, dt=0.02)
        assert run.status == "ok"
        rate = dict(zip(husky.actuated, run.velocity[-1, 6:], strict=True))
        spread[bool(groups)] = rate["FL"] - rate["BL"]
    assert spread[False] > 0.3
    assert abs(spread[True]) < 0.01


@gr.actuation.law
def proportional(command, rate, angle, *, gain=gr.param(300.0, "N m s/rad", low=0.0)):
    return gain * (command - rate)


@gr.actuation.law
def winding(command, rate, angle, *, k=gr.param(5.0, "N m/rad"), c=gr.param(2.0, "N m s/rad")):
    torque = np.empty(len(command))
    for a in range(len(command)):
        torque[a] = -k * angle[a] - c * rate[a]
    return torque


@gr.actuation.law(memory=("integral",))
def limited_integral(command, rate, angle, integral, dt, *, gain=3.0, ki=20.0, limit=gr.param(8.0, "N m", low=0.0)):
    wound = integral + (command - rate) * dt
    torque = gain * (command - rate) + ki * wound
    held = np.abs(torque) > limit
    return np.where(held, np.sign(torque) * limit, torque), np.where(held, integral, wound)


def pi_slopes(command, rate, angle, integral, dt, *, gain, ki, limit):
    torque = gain * (command - rate) + ki * (integral + (command - rate) * dt)
    return np.diag(np.where(np.abs(torque) > limit, 0.0, -gain - ki * dt))


def test_a_users_model_is_as_good_as_a_built_in_one():
    zoe = gr.vehicle("zoe")
    runs = [
        gr.simulate(
            gr.Dynamics(zoe, actuator=actuator, tolerance=1e-9 * zoe.mass * 9.81), ROUGH, gr.drive.arc(0.8, 0.1),
            duration=2.0,
        )
        for actuator in (PI(gain=300.0), proportional)
    ]  # fmt: skip
    np.testing.assert_allclose(runs[1].state, runs[0].state, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(runs[1].torque, runs[0].torque, rtol=0.0, atol=1e-5)


class EndSpring(Spring):
    """Its force is that of the step's end, as an actuator's."""

    elastic = False


def test_a_users_model_may_use_angles():
    k, c = 9.0 * WHEEL, 2.0 * WHEEL
    own = winding.replace(k=k, c=c)
    springs = tuple(EndSpring(joints=w, stiffness=k, damping=c) for w in JACKED_UP.wheels)
    state = np.concatenate([[1.0, 0, 0, 0], [0.0, 0.0, 50.0], [0.5, -0.5, 1.0, 0.2]])
    runs = [
        gr.simulate(
            gr.Dynamics(JACKED_UP, actuator=actuator, joints=joints, gravity=0.0, tolerance=1e-9), PLANE,
            gr.drive.constant(0.0), duration=2.0, dt=DT, start=state, velocity=np.zeros(10),
        )
        for actuator, joints in ((own, ()), (PI(gain=0.0), springs))
    ]  # fmt: skip
    np.testing.assert_allclose(runs[0].joints, runs[1].joints, rtol=0.0, atol=1e-8)
    assert (
        runs[0].solver.iterations.max() <= 6
    )  # in the air it is solved to rounding; its differences serve Newton as well as derivatives do


def test_a_users_integral_is_that_of_the_built_in_controller():
    gain, integral, limit = 4.0 * WHEEL, 16.0 * WHEEL, 2.0 * WHEEL
    own = limited_integral.replace(gain=gain, ki=integral, limit=limit)
    (mine, _), (built_in, _) = (
        spin_up(one, 5.0, seconds=3.0) for one in (own, PI(gain=gain, integral=integral, limit=limit))
    )
    np.testing.assert_allclose(mine, built_in, rtol=0.0, atol=1e-9)
    began, _ = spin_up(gr.actuation.law(memory={"integral": 1.0})(limited_integral.function).replace(
        gain=gain, ki=integral, limit=10.0), 0.0, seconds=0.01)  # fmt: skip
    # I ω/dt = −K_p ω + K_i (1 − ω dt): the memory's start turns the wheel though the command is zero
    np.testing.assert_allclose(began[1], integral / (WHEEL / DT + gain + integral * DT), rtol=1e-5)


def evaluate(actuator, vehicle, x):
    """Torques, next memories and ∂torque/∂rate of a law at x = (commands, rates, angles, memories, dt)."""
    n = len(vehicle.actuated)
    bound = actuator.bind(vehicle)
    pointer = ctypes.POINTER(ctypes.c_double)
    call = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, pointer)(bound.address)
    memory = len(actuator.start_memory(vehicle))
    values = np.concatenate([x[: 3 * n + memory], x[-1:]])
    out, jac = np.zeros(n + memory), np.zeros(n * n)
    call(*(a.ctypes.data_as(pointer) for a in (bound.parameters, values, out, jac)))
    assert (values[:-1] == x[: 3 * n + memory]).all()
    return out[:n], out[n:], jac.reshape(n, n)


HUSKY = gr.vehicle("husky")
LAWS = {
    "P": PI(gain=3.0),
    "PI": PI(gain=3.0, integral=20.0),
    "limited": PI(gain=3.0, integral=20.0, limit=8.0),
    "motor": DCMotor(stall_torque=0.5, no_load_speed=30.0, gear=8.0, gain=2.0),
    "shared": SharedDrive(groups=(("FL", "BL"), ("FR", "BR")), gain=3.0, coupling=7.0, limit=9.0),
    "some shared": SharedDrive(groups=(("FL", "BR"),), gain=3.0, coupling=7.0),
    "user's": winding,
    "user's with memory": limited_integral,
    "user's with slopes": gr.actuation.law(memory=("integral",), jacobian=pi_slopes)(limited_integral.function),
}


@pytest.mark.parametrize("name", list(LAWS))
def test_jacobians_are_the_derivatives_of_the_torques(name):
    rng, dt, h = np.random.default_rng(4), 0.02, 1e-6
    n, checked, limited = 4, 0, 0
    for _ in range(60):
        x = np.concatenate([rng.uniform(-8, 8, 3 * n), rng.uniform(-0.5, 0.5, n), [dt]])
        torque, _, jac = evaluate(LAWS[name], HUSKY, x)
        difference, kink = np.zeros((n, n)), False
        for b in range(n):
            sides = []
            for sign in (1.0, -1.0):
                moved = x.copy()
                moved[n + b] += sign * h
                moved[2 * n + b] += sign * h * dt  # the angle at the end of the step follows the rate
                sides.append(evaluate(LAWS[name], HUSKY, moved)[0])
            difference[:, b] = (sides[0] - sides[1]) / (2 * h)
            bend = (sides[0] + sides[1] - 2 * torque) / h
            kink |= bool(np.abs(bend).max() > 1e-3)
        if kink:
            continue
        checked += 1
        limited += int((np.diag(jac) == 0.0).any())
        np.testing.assert_allclose(jac, difference, rtol=1e-5, atol=1e-5)
    assert checked > 50
    if name in ("limited", "user's with memory", "user's with slopes"):
        assert limited > 5


@pytest.mark.parametrize("name", ["P", "PI", "limited", "motor", "shared", "some shared"])
def test_torques_in_reverse_are_those_ahead_with_the_other_sign(name):
    """The lines and limits of a motor are the same both ways, near and beyond its no-load speed."""
    rng = np.random.default_rng(8)
    for _ in range(60):
        x = np.concatenate([rng.uniform(-8, 8, 12), rng.uniform(-0.5, 0.5, 4)])
        ahead, kept, slopes = evaluate(LAWS[name], HUSKY, np.append(x, 0.02))
        back, kept_back, slopes_back = evaluate(LAWS[name], HUSKY, np.append(-x, 0.02))
        np.testing.assert_array_equal(back, -ahead)
        np.testing.assert_array_equal(kept_back, -kept)
        np.testing.assert_array_equal(slopes_back, slopes)


BAD = {
    "negative gain": (lambda: PI(gain=-1.0), "gain"),
    "gain no number": (lambda: PI(gain="much"), "gain"),
    "nan": (lambda: PI(gain=math.nan), "gain"),
    "negative integral": (lambda: PI(gain=1.0, integral=-1.0), "integral"),
    "zero limit": (lambda: PI(gain=1.0, limit=0.0), "limit"),
    "infinite gain": (lambda: PI(gain=math.inf), "gain"),
    "unknown joint": (lambda: PI(gain={"arm": 1.0}), "arm"),
    "missing joint": (lambda: PI(gain={"FL": 1.0}), "FR"),
    "stall": (lambda: DCMotor(stall_torque=0.0, no_load_speed=1.0), "stall_torque"),
    "no-load speed": (lambda: DCMotor(stall_torque=1.0, no_load_speed=-1.0), "no_load_speed"),
    "infinite stall": (lambda: DCMotor(stall_torque=math.inf, no_load_speed=1.0), "stall_torque"),
    "gear": (lambda: DCMotor(stall_torque=1.0, no_load_speed=1.0, gear=0.0), "gear"),
    "rotor": (lambda: DCMotor(stall_torque=1.0, no_load_speed=1.0, rotor_inertia=-1.0), "rotor_inertia"),
    "group": (lambda: SharedDrive(groups=(("FL", "arm"),), gain=1.0), "arm"),
    "twice in groups": (lambda: SharedDrive(groups=(("FL", "BL"), ("FL", "BR")), gain=1.0), "FL"),
    "groups no list": (lambda: SharedDrive(groups=3, gain=1.0), "groups"),
    "coupling": (lambda: SharedDrive(groups=(), gain=1.0, coupling=-1.0), "coupling"),
    "no function": (lambda: gr.actuation.law(3), "function"),
    "parameters": (lambda: proportional.replace(gain=math.nan), "gain"),
    "does not compile": (lambda: gr.actuation.law(lambda c, r, a: c.nonsense()), "compile"),
}


CASES = list(BAD)


@pytest.mark.parametrize("case", CASES)
def test_a_bad_motor_is_refused_in_one_sentence(case):
    make, word = BAD[case]
    with pytest.raises(gr.GrouserError) as caught:
        gr.Dynamics(HUSKY, actuator=make())
    text = str(caught.value)
    assert word in text
    assert "\n" not in text
    assert len(text) < 400
