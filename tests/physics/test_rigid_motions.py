"""Axioms of rigid motions, random: the step of the engine is the exponential of SE(3)."""

import numpy as np
from scipy.linalg import expm

import grouser as gr
from grouser._compile.jit import entry
from grouser._kernels import group

move, bracket = entry(group.move.py_func), entry(group.bracket.py_func)

RNG = np.random.default_rng(11)


def matrix(q):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = gr.rotation.from_quaternion(q[:4]), q[4:7]
    return T


def hat(twist):
    (a, b, c), v = twist[:3], twist[3:]
    X = np.zeros((4, 4))
    X[:3, :3] = [[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]]
    X[:3, 3] = v
    return X


def states(n, joints=2):
    q = RNG.normal(size=(n, 7 + joints))
    q[:, :4] /= np.linalg.norm(q[:, :4], axis=1, keepdims=True)
    return q


def moved(q, v, dt):
    out = np.empty_like(q)
    move(q, v, dt, out)
    return out


def test_a_step_is_the_exponential_of_the_body_twist_on_the_right():
    for k, q in enumerate(states(60)):
        v = RNG.normal(size=8) * 10.0 ** RNG.uniform(-9.0, 0.5)  # from nothing to several turns
        dt = (0.01, 0.3, -0.2)[k % 3]
        out = moved(q, v, dt)
        np.testing.assert_allclose(matrix(out), matrix(q) @ expm(dt * hat(v[:6])), rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(out[7:], q[7:] + dt * v[6:], rtol=0.0, atol=1e-15)
        assert abs(np.linalg.norm(out[:4]) - 1.0) < 1e-14


def test_steps_with_one_twist_add_up_and_can_be_undone():
    for q in states(60):
        v = RNG.normal(size=8)
        a, b = RNG.uniform(-1.0, 1.0, 2)
        np.testing.assert_allclose(
            matrix(moved(moved(q, v, a), v, b)), matrix(moved(q, v, a + b)), rtol=0.0, atol=1e-12
        )
        np.testing.assert_allclose(matrix(moved(moved(q, v, a), -v, a)), matrix(q), rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(matrix(moved(q, v, 0.0)), matrix(q), rtol=0.0, atol=1e-15)


def test_moving_the_world_first_changes_nothing_in_the_body():
    for q, w in zip(states(30), states(30), strict=True):
        v = RNG.normal(size=8)
        together = np.empty(9)
        both = matrix(w) @ matrix(q)
        together[:4], together[4:7] = gr.rotation.to_quaternion(both[:3, :3]), both[:3, 3]
        together[7:] = q[7:]
        np.testing.assert_allclose(
            matrix(moved(together, v, 0.4)), matrix(w) @ matrix(moved(q, v, 0.4)), rtol=0.0, atol=1e-12
        )


def test_the_bracket_is_the_commutator_and_obeys_jacobi():
    def of(u, x):
        out = np.empty(6)
        bracket(u, x, out)
        return out

    for _ in range(30):
        u, x, y = RNG.normal(size=(3, 6))
        np.testing.assert_allclose(hat(of(u, x)), hat(u) @ hat(x) - hat(x) @ hat(u), rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(of(u, of(x, y)) + of(x, of(y, u)) + of(y, of(u, x)), 0.0, rtol=0.0, atol=1e-12)
