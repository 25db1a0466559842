"""L's wheel Jacobians, (4.33)–(4.47), and the velocity and covariance they give."""

import numpy as np
import pytest

import grouser as gr
from grouser.odometry import EncoderNoise
from grouser.odometry.inputs import LRU_RATES
from tests.oracles.wheel_jacobians import wheel_jacobians

# Table 4.1 gives distances between wheel centres; l_x, l_y are half of these.
L_X, L_Y, L_Z, RADIUS = 0.864 / 2.0, 0.590 / 2.0, 0.365, 0.125
K_FRONT = {"FL": 1, "FR": 1, "BR": -1, "BL": -1}
K_LEFT = {"FL": 1, "FR": -1, "BR": -1, "BL": 1}
SWAP = [3, 4, 5, 0, 1, 2]


def printed_free(wheel, rho):
    c, s = np.cos(rho), np.sin(rho)
    left, front = K_LEFT[wheel] * L_Y, K_FRONT[wheel] * L_X
    return np.array(
        [
            [1, 0, 0, 0, s * left - c * L_Z, -c * left - s * L_Z],
            [0, 1, 0, -s * left + c * L_Z, 0, front],
            [0, 0, 1, c * left + s * L_Z, -front, 0],
        ]
    )


def printed_fixed(wheel, rho):
    c, s = np.cos(rho), np.sin(rho)
    left = K_LEFT[wheel] * L_Y
    return np.array([0, -s * left + c * L_Z, c * left + s * L_Z])


@pytest.mark.parametrize(("front", "rear"), [(0.0, 0.0), (0.2, -0.3), (-0.25, 0.1)])
def test_free_and_fixed_jacobians_of_the_lru_are_the_printed_ones(front, rear):
    lru = gr.vehicle("lru2")
    angles = np.zeros(lru.n_joints)
    rho = {"F": front, "B": rear}
    for end in "FB":
        angles[lru.joint_index(f"bogie{end}")] = rho[end]
    angles[[lru.joint_index(f"steer{w}") for w in lru.wheels]] = 0.4  # steering moves no wheel centre
    found = wheel_jacobians(lru, angles)
    for w, wheel in enumerate(lru.wheels):
        assert np.abs(found.free[w] - printed_free(wheel, rho[wheel[0]])).max() < 1e-12
        fixed = np.zeros((3, lru.n_joints))
        fixed[:, lru.joint_index(f"bogie{wheel[0]}")] = printed_fixed(wheel, rho[wheel[0]])
        assert np.abs(found.fixed[w] - fixed).max() < 1e-12


def test_planar_jacobian_is_the_printed_one():
    lru = gr.vehicle("lru2")
    for J, wheel in zip(wheel_jacobians(lru).planar, lru.wheels, strict=True):
        assert np.abs(J - [[1, 0, -K_LEFT[wheel] * L_Y], [0, 1, K_FRONT[wheel] * L_X]]).max() < 1e-12


def test_a_wheel_that_climbs_raises_its_centre():
    # (4.44) prints cos ψ for the third entry; (4.22) has the sine.
    rolling = wheel_jacobians(gr.vehicle("lru2"), contact_angles=[-0.3, 0.0, 0.0, 0.0]).rolling
    assert rolling[0] == pytest.approx([RADIUS * np.cos(0.3), 0.0, RADIUS * np.sin(0.3)])
    assert rolling[1] == pytest.approx([RADIUS, 0.0, 0.0])


def test_streaming_velocity_is_that_of_the_printed_equation_also_for_wheels_that_disagree():
    lru = gr.vehicle("lru2")
    random = np.random.default_rng(1)
    for _ in range(20):
        rates, angles = np.zeros(lru.n_joints), np.zeros(lru.n_joints)
        spins = random.normal(4.0, 1.0, 4)
        rates[[lru.joint_index(w) for w in lru.wheels]] = spins
        angles[[lru.joint_index(f"steer{w}") for w in lru.wheels]] = random.normal(0.0, 0.4, 4)
        e = gr.Odometry(lru).update(0.0, rates, angles)
        assert np.abs(wheel_jacobians(lru, angles).body_velocity(spins) - e.twist[SWAP]).max() < 1e-9


def test_bogie_rates_enter_as_the_fixed_jacobian_says():
    # Contact angles at zero, the front bogie turns: L's centres and the engine's contact points differ by the radius.
    lru = gr.vehicle("lru2")
    rates, angles = np.zeros(lru.n_joints), np.zeros(lru.n_joints)
    rates[lru.joint_index("bogieF")] = 0.2
    e = gr.Odometry(lru).update(0.0, rates, angles)
    by_hand = wheel_jacobians(lru, angles).body_velocity(np.zeros(4), rates)
    assert e.twist[5] == pytest.approx(by_hand[2], abs=1e-12)
    assert np.sign(e.twist[0]) == np.sign(by_hand[3]) == -1.0


@pytest.mark.parametrize("steer", [0.0, 0.3])
def test_covariance_without_slip_is_the_printed_propagation(steer):
    lru = gr.vehicle("lru2")
    angles = np.zeros(lru.n_joints)
    angles[[lru.joint_index(f"steer{w}") for w in lru.wheels]] = steer
    noise = EncoderNoise.lru()
    rates = np.zeros(lru.n_joints)  # bogies and steering stand still, L §4.4.2
    rates[[lru.joint_index(w) for w in lru.wheels]] = 4.0
    e = gr.Odometry(lru, noise=noise).update(0.0, rates, angles)
    printed = wheel_jacobians(lru, angles).velocity_covariance(np.diag([LRU_RATES[w] for w in lru.wheels]))
    assert np.abs(printed[np.ix_(SWAP, SWAP)] - e.twist_covariance).max() < 1e-9
    # L §4.5.2: of the order of 3e-5 m²/s² for v_x.
    assert 2e-5 < e.twist_covariance[3, 3] < 4e-5


def test_wheels_observe_the_plane_and_known_contact_angles_all_the_rest():
    lru = gr.vehicle("lru2")
    given = dict.fromkeys(lru.wheels, 4.0), np.zeros(lru.n_joints)
    assumed = gr.Odometry(lru).update(0.0, *given)
    assert assumed.observed.tolist() == [False, False, True, True, True, False]
    known = gr.Odometry(lru, contact_angles=[0.1, 0.0, -0.1, 0.0]).update(0.0, *given)
    assert known.observed.all()
    planar = gr.Odometry(lru, planar=True).update(0.0, *given)
    assert planar.observed.tolist() == [False, False, True, True, True, False]


def test_a_single_driven_wheel_beside_casters_does_not_tell_the_turn():
    husky = gr.vehicle("husky")
    lone = husky.replace(frames=tuple(f for f in husky.frames if f.name in ("body", "FL", husky.frames[0].name)))
    e = gr.Odometry(lone).update(0.0, {"FL": 1.0})
    assert not e.observed[[2, 3]].any()
    assert e.twist_covariance[2, 2] > 0.1
