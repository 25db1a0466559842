"""Running gear with springs: the same vehicle when they are stiff, its own swing when they are not."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.errors import SimulationError, VehicleError

SOFT = (28.6, 0.0)  # [N m/rad], [N m s/rad]: 2°/N m, L §4.4.3
RIGID = gr.vehicle("lru1")
ROUGH = gr.terrain.rough(rms=0.05, length=0.8, seed=1)
DRIVE = gr.drive.arc(0.5, 0.3)


def test_motors_come_beside_their_wheels_and_commands_keep_their_order():
    soft = RIGID.elastic(drive=SOFT, steering=SOFT)
    assert soft.motors == {wheel: f"{wheel}_motor" for wheel in ("FL", "FR", "BL", "BR")}
    assert soft.actuated == tuple(RIGID.elastic(drive=SOFT).motors.get(j, j) for j in RIGID.actuated)
    assert RIGID.motors == {wheel: wheel for wheel in RIGID.wheels}
    assert soft.n_joints == RIGID.n_joints + 8
    np.testing.assert_allclose(soft.wheel_positions, RIGID.wheel_positions, rtol=0.0, atol=1e-15)
    assert soft.frames[soft.frame_index("FL")].parent == "steerFL_twist"


def test_mass_and_inertia_of_a_locked_drive_are_those_of_the_rigid_vehicle():
    """Rows of M of the body, and of a wheel and its motor added up."""
    soft = RIGID.elastic(drive=SOFT, rotor_share=0.3)
    M = [gr.Dynamics(v).inertia_and_bias(gr.settle(v, gr.terrain.plane()).state, np.zeros(6 + v.n_joints))[0]
         for v in (RIGID, soft)]  # fmt: skip
    fold = np.zeros((len(M[0]), len(M[1])))
    fold[:6, :6] = np.eye(6)
    for j, name in enumerate(RIGID.joints):
        for part in {name, soft.motors.get(name, name)}:
            fold[6 + j, 6 + soft.joint_index(part)] = 1.0
    np.testing.assert_allclose(fold @ M[1] @ fold.T, M[0], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("actuator", [None, gr.actuation.PI(gain=20.0, integral=100.0)])
def test_stiff_springs_drive_the_path_of_the_rigid_vehicle(actuator):
    paths = []
    for vehicle in (RIGID, RIGID.elastic(drive=(2e3, 2.0), steering=(2e3, 2.0)), RIGID.elastic(drive=SOFT)):
        model = gr.Dynamics(vehicle, actuator=actuator)
        paths.append(gr.simulate(model, ROUGH, DRIVE, duration=5.0, dt=0.005).position)
    stiff, soft = (np.abs(path - paths[0]).max() for path in paths[1:])
    # A torque of some 4 N m winds a stiff spring up by 2 mrad: 0.25 mm of rim.
    assert stiff < 5e-4
    assert soft > 5 * stiff


def test_kinematics_drives_nearly_the_path_of_the_rigid_vehicle():
    soft = RIGID.elastic(drive=SOFT, steering=SOFT)
    runs = [gr.simulate(gr.Kinematics(v), gr.terrain.plane(), DRIVE, duration=5.0, dt=0.02) for v in (RIGID, soft)]
    # Wheels contradict each other while the steering turns to its angles, by some 10 mm/s in the first second; least
    # squares lets the rows of the springs take a share of that, and their errors decay.
    np.testing.assert_allclose(runs[1].position, runs[0].position, rtol=0.0, atol=0.02)
    wound = runs[1].joints[:, soft.joint_index("FL")] - runs[1].joints[:, soft.joint_index("FL_motor")]
    assert np.abs(wound).max() < 0.1
    assert abs(wound[-1]) < 0.5 * np.abs(wound).max()


def test_a_wheel_let_go_swings_against_its_motor_with_the_frequency_of_its_spring():
    """Without gravity and ground: ω² = k/J; the step's own frequency is lower by ω² dt²/24 and less."""
    soft = RIGID.elastic(drive=SOFT, rotor_share=0.1)
    state = np.zeros(7 + soft.n_joints)
    state[0], state[6] = 1.0, 5.0
    state[7 + soft.joint_index("FL")] = 0.1
    omega = math.sqrt(SOFT[0] / (0.9 * 0.0078125))
    dt = 0.02 * 2.0 * math.pi / omega
    model = gr.Dynamics(soft, gravity=0.0)
    run = gr.simulate(
        model, gr.terrain.plane(), gr.drive.constant(0.0), duration=500 * dt, dt=dt, start=state,
        velocity=np.zeros(6 + soft.n_joints),
    )  # fmt: skip
    wound = run.joints[:, soft.joint_index("FL")]
    ups = np.flatnonzero((wound[:-1] < 0.0) & (wound[1:] >= 0.0))
    period = (run.time[ups[-1]] - run.time[ups[0]]) / (len(ups) - 1)
    # The hub turns back a little: the body's inertia about y is some 200 times the wheel's.
    assert period == pytest.approx(2.0 * math.pi / omega, rel=0.01)
    assert np.abs(wound[-60:]).max() == pytest.approx(0.1, rel=0.01)


def test_rotor_inertia_of_a_controller_is_felt_by_its_joints():
    soft = RIGID.elastic(drive=SOFT)
    state, still = gr.settle(soft, gr.terrain.plane()).state, np.zeros(6 + soft.n_joints)
    inertia = [
        gr.Dynamics(soft, actuator=gr.actuation.PI(gain=1.0, rotor_inertia=J)).inertia_and_bias(state, still)[0]
        for J in (0.0, 0.05)
    ]
    added = np.zeros(6 + soft.n_joints)
    added[6 + soft.arrays.actuated] = 0.05
    np.testing.assert_allclose(inertia[1] - inertia[0], np.diag(added), rtol=0.0, atol=1e-12)


def test_a_loop_of_the_rigid_model_drives_the_elastic_vehicle_and_reads_its_motors():
    from grouser.traction import ClosedLoop, PurePursuit, Sensors, drive_loop, ellipse

    soft = RIGID.elastic(drive=(28.6, 0.05), steering=(28.6, 0.05))
    loop = ClosedLoop(
        PurePursuit(ellipse(2.0, 2.0), speed=0.4), gr.Kinematics(RIGID), control=None, sensors=Sensors(wheel_rate=0.0)
    )
    plant = gr.Dynamics(soft, actuator=gr.actuation.PI(gain=20.0, integral=100.0))
    run = drive_loop(plant, gr.terrain.plane(), loop, start=(0.0, -2.0, 0.0), duration=4.0, dt=0.005)
    assert run.status == "ok"
    assert loop.record.along[-1] > 1.0
    assert np.abs(loop.record.off[-1]) < 0.05
    other = ClosedLoop(PurePursuit(ellipse(2.0, 2.0), speed=0.4), gr.Kinematics(soft), control=None)
    with pytest.raises(SimulationError, match="not those of 'lru1'"):
        other.bind(RIGID, 0.005)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "no motor of that kind"),
        ({"drive": SOFT, "rotor_share": 0.0}, "rotor_share: 0 is not above 0"),
        ({"drive": (28.6,)}, "FL winds up"),
        ({"steering": (-1.0, 0.0)}, "stiffness"),
    ],
)
def test_what_cannot_be_a_spring_is_refused(given, message):
    with pytest.raises(VehicleError, match=message):
        RIGID.elastic(**given)
