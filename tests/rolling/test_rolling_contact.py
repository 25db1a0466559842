"""Rolling contact against closed forms, against R's own form with charts, and against the motion of the body."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from grouser import terrain
from grouser._compile.jit import entry
from grouser._kernels.rolling import contact as kernels
from grouser._kernels.simulation.step import OFF_TERRAIN, OK, TOO_SHARP
from grouser.errors import SimulationError, TerrainError
from grouser.rolling import roll_wheel
from tests.oracles.rolling_surfaces import (
    Ellipsoid,
    GroundSurface,
    Sphere,
    Torus,
    contact_angle,
    contact_matrix,
    contact_rates,
    roll_adaptive,
    wheel_pose,
)

PI = math.pi
WHEEL = Torus(0.5, 0.15)
LEVEL = terrain.plane()


def waves(x, y):
    s, c = math.sin(0.9 * x + 0.5 * y), math.cos(0.9 * x + 0.5 * y)
    return (
        0.2 * s + 0.1 * y + 0.05 * x * y,
        0.18 * c + 0.05 * y,
        0.1 * c + 0.1 + 0.05 * x,
        -0.162 * s,
        -0.09 * s + 0.05,
        -0.05 * s,
    )


@pytest.fixture(scope="module")
def wavy():
    return terrain.law(waves)


def roll(wheel, ground, omega, *, method=None, **options):
    """A torus on a terrain by the compiled roller; all else, and "adaptive", by the reference."""
    compiled = isinstance(wheel, Torus) and isinstance(ground, terrain.Terrain) and method != "adaptive"
    return (roll_wheel if compiled else roll_adaptive)(wheel, ground, omega, **options)


@entry
def torus_contact(R, u, v, rim, tyre, ground, axes, L):
    kernels.contact_axes(R, u, v, axes)
    return kernels.contact_matrix(axes, v, rim, tyre, ground, L)


@entry
def torus_aligned(R, rim, tyre, ground, axes, L, contact):
    return kernels.align_contact(R, rim, tyre, ground, axes, L, contact)


def turned(omega, t):
    """Rotations by ω t, world axes."""
    return Rotation.from_rotvec(np.outer(t, omega)).as_matrix()


def angles_from_the_first(points):
    return np.arctan2(np.linalg.norm(np.cross(points[0], points), axis=1), points @ points[0])


def velocity_of_touching_points(run, wheel):
    """Of the wheel's own point at each contact, by fourth-order differences of the body's poses; ends left out."""
    dt = run.time[1]
    k = np.arange(2, len(run.time) - 2)
    points = np.array([wheel.derivatives(*run.eta[i, :2])[0] for i in k])

    def at(j):
        return run.centre[k + j] + np.einsum("kij,kj->ki", run.rotation[k + j], points)

    return (8.0 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12.0 * dt)


# --- closed forms ---


@pytest.mark.parametrize("omega", [(0.3, 0.8, 0.0), (0.3, 0.8, 1.1), (-0.5, 0.2, -0.7)])
@pytest.mark.parametrize("axes", ["world", "wheel"])
def test_ball_on_a_plane_goes_straight_and_its_contact_circles_about_its_axis(omega, axes):
    a = 0.4
    eta = np.array([PI - 0.3, 0.2, 0.1, -0.2, 0.5])
    R0, centre = wheel_pose(Sphere(a), GroundSurface(LEVEL), eta)
    run = roll(Sphere(a), LEVEL, omega, start=eta, duration=1.0, dt=0.1, axes=axes)
    if axes == "wheel":
        omega = R0 @ omega  # an axis fixed in the ball is fixed in the world too
    velocity = a * np.cross(omega, [0.0, 0.0, 1.0])
    np.testing.assert_allclose(run.centre, centre + np.outer(run.time, velocity), rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(run.contact, run.centre - [0.0, 0.0, a], rtol=0.0, atol=1e-8)
    R = turned(omega, run.time) @ R0
    np.testing.assert_allclose(run.rotation, R, rtol=0.0, atol=1e-8)
    down = -R[:, 2, :]  # in the ball's axes
    np.testing.assert_allclose(run.eta[:, 1], np.arcsin(down[:, 1]), rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(np.sin(run.eta[:, 0] - np.arctan2(down[:, 0], down[:, 2])), 0.0, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("spin", [0.0, 0.9])
def test_ball_on_a_ball_turns_about_the_middle_as_the_radii_say(spin):
    """ṅ = a/(a + b) ω × n for a constant ω: without spin a great circle, with spin a smaller one."""
    a, b = 0.3, 1.1
    ball, fixed = Sphere(a), Sphere(b)
    eta = np.array([PI + 0.2, 0.3, 0.4, -0.2, 1.0])
    n0 = fixed.forms(0.4, -0.2).frame[:, 2]
    along = np.cross(n0, [0.2, 1.0, 0.3])
    omega = 1.3 * along / np.linalg.norm(along) + spin * n0
    run = roll(ball, fixed, omega, start=eta, duration=1.5, dt=0.1)
    n = turned(a / (a + b) * omega, run.time) @ n0
    np.testing.assert_allclose(run.contact, b * n, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(run.centre, (a + b) * n, rtol=0.0, atol=1e-8)
    R0, _ = wheel_pose(ball, fixed, eta)
    np.testing.assert_allclose(run.rotation, turned(omega, run.time) @ R0, rtol=0.0, atol=1e-8)
    if spin == 0.0:  # a great circle: contact angles on both balls are as 1/radius
        angle = angles_from_the_first(run.contact)
        np.testing.assert_allclose(angle, 1.3 * a / (a + b) * run.time, rtol=0.0, atol=1e-8)
        touched = np.array([ball.derivatives(u, v)[0] for u, v in run.eta[:, :2]])
        np.testing.assert_allclose(a * angles_from_the_first(touched), b * angle, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("method", ["rk4", "adaptive"])
@pytest.mark.parametrize("heading", [0.0, 0.7])
def test_upright_wheel_on_a_plane_goes_straight_ahead(method, heading):
    axle = [-math.sin(heading), math.cos(heading), 0.0]
    run = roll(
        WHEEL,
        LEVEL,
        2.0 * np.array(axle),
        start=(PI, 0.0, 0.3, 0.1, PI - heading),
        duration=2.0,
        dt=0.02,
        method=method,
    )
    ahead = 2.0 * 0.65 * run.time
    path = np.column_stack((0.3 + ahead * math.cos(heading), 0.1 + ahead * math.sin(heading), 0.0 * ahead))
    np.testing.assert_allclose(run.contact, path, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(run.centre, path + np.array([0.0, 0.0, 0.65]), rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(
        run.eta[:, 0], PI - 2.0 * run.time, rtol=0.0, atol=1e-8
    )  # the contact climbs the wheel backwards
    np.testing.assert_allclose(run.eta[:, 1], 0.0, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("method", ["rk4", "adaptive"])
@pytest.mark.parametrize("lean", [0.3, -0.5])
def test_leaning_wheel_rolls_a_circle_as_the_classic_disc(method, lean):
    """Spin σ about the axle and turn Ω about the vertical: a circle of radius (R + r cos v) σ/Ω, closed after 2π/Ω."""
    spin, turn = 2.0, 0.8
    reach = 0.5 + 0.15 * math.cos(lean)
    period = 2 * PI / turn
    # In the contact frame the axle is (0, cos v, sin v) and the vertical (0, 0, −1).
    omega = (0.0, spin * math.cos(lean), spin * math.sin(lean) - turn)
    start = (PI, lean, 0.3, 0.1, PI)
    kw = {"start": start, "duration": period, "dt": period / 1000, "axes": "contact", "method": method}
    run = roll(WHEEL, LEVEL, omega, **kw)
    radius = reach * spin / turn
    angle = turn * run.time
    circle = np.column_stack((0.3 + radius * np.sin(angle), 0.1 + radius * (1.0 - np.cos(angle)), 0.0 * angle))
    np.testing.assert_allclose(run.contact, circle, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(run.eta[:, 1], lean, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(run.eta[:, 0], PI - spin * run.time, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(run.eta[:, 4], PI - angle, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(run.centre[:, 2], 0.15 + 0.5 * math.cos(lean), rtol=0.0, atol=1e-10)
    # A wheel that touches on the left of its tyre (v > 0) leans to the left.
    to_the_left = run.centre[0, 1] - run.contact[0, 1]
    assert to_the_left == pytest.approx(0.5 * math.sin(lean), abs=1e-12)
    # The same motion with its angular velocity in world axes, as a function of time.
    axle = np.array([0.0, math.cos(lean), -math.sin(lean)])

    def in_world(t):
        return [0.0, 0.0, turn] + spin * (Rotation.from_rotvec([0, 0, turn * t]).apply(axle))

    again = roll(WHEEL, LEVEL, in_world, **{**kw, "axes": "world", "duration": 1.0, "dt": 0.01})
    angle = turn * again.time
    np.testing.assert_allclose(again.contact[:, 0], 0.3 + radius * np.sin(angle), rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(again.contact[:, 1], 0.1 + radius * (1.0 - np.cos(angle)), rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("method", ["rk4", "adaptive"])
@pytest.mark.parametrize("side", [1.0, -1.0], ids=["over a hill", "through a valley"])
def test_wheel_on_a_cylinder_rolls_equal_arcs(method, side):
    """Radius ρ of the ground, a of the wheel: the contact goes round by ω a/(ρ ± a), and both arcs are equal."""
    rho, a, omega = 2.0, 0.65, 1.0

    def cylinder(x, y):
        root = math.sqrt(rho * rho - x * x)
        return side * (root - rho), -side * x / root, 0.0, -side * rho * rho / root**3, 0.0, 0.0

    ground = terrain.law(bounds=(-1.9, 1.9, -1.0, 1.0))(cylinder)
    phi0 = -0.4
    start = (PI, 0.0, rho * math.sin(phi0), 0.2, PI)
    run = roll(WHEEL, ground, (0.0, omega, 0.0), start=start, duration=1.0, dt=0.005, method=method)
    phi = phi0 + omega * a / (rho + side * a) * run.time
    np.testing.assert_allclose(run.contact[:, 0], rho * np.sin(phi), rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(run.contact[:, 1], 0.2, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(run.contact[:, 2], side * rho * (np.cos(phi) - 1.0), rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(a * (PI - run.eta[:, 0]), rho * (phi - phi0), rtol=0.0, atol=1e-8)
    middle = [0.0, -side * rho]
    np.testing.assert_allclose(np.hypot(*(run.centre[:, ::2] - middle).T), rho + side * a, rtol=0.0, atol=1e-8)


def test_wheel_along_a_cylinder_goes_straight():
    def cylinder(x, y):
        root = math.sqrt(4.0 - y * y)
        return root, 0.0, -y / root, 0.0, 0.0, -4.0 / root**3

    ground = terrain.law(bounds=(-9.0, 9.0, -1.9, 1.9))(cylinder)
    run = roll(WHEEL, ground, (0.0, 1.5, 0.0), start=(PI, 0.0, 0.0, 0.0, PI), duration=2.0, dt=0.01)
    np.testing.assert_allclose(run.contact[:, 0], 0.65 * 1.5 * run.time, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(run.contact[:, 1], 0.0, rtol=0.0, atol=1e-12)


# --- two formulations, one motion ---


def test_chart_free_kernel_and_montanas_equations_agree_everywhere(wavy):
    """With sliding and without, on curved ground, at contacts all over the tyre."""
    rng = np.random.default_rng(1)
    surface = GroundSurface(wavy)
    axes, L = np.empty((3, 3)), np.empty((4, 6))
    for _ in range(200):
        eta = rng.uniform([-4, -1.2, -2, -2, -4], [4, 1.2, 2, 2, 4])
        R, _ = wheel_pose(WHEEL, surface, eta)
        ground = wavy.second_derivatives([eta[2:4]])[0]
        assert torus_contact(np.ascontiguousarray(R), eta[0], eta[1], 0.5, 0.15, ground, axes, L) == OK
        np.testing.assert_allclose(axes, (R @ WHEEL.forms(*eta[:2]).frame).T, rtol=0.0, atol=1e-14)
        np.testing.assert_allclose(axes[2], -surface.forms(*eta[2:4]).frame[:, 2], rtol=0.0, atol=1e-14)
        in_contact_axes = np.hstack((L[:, :3] @ axes.T, L[:, 3:] @ axes.T))
        np.testing.assert_allclose(
            in_contact_axes[:, :5], contact_matrix(WHEEL, surface, eta)[:4], rtol=0.0, atol=1e-10
        )
        np.testing.assert_allclose(in_contact_axes[:, 5], 0.0, rtol=0.0, atol=1e-12)  # along the normal nothing slides
        found = contact_angle(WHEEL, surface, eta[:4], R)
        assert math.remainder(found - eta[4], 2 * PI) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_ground_without_finite_height_or_slopes_is_the_end_of_the_map(k, bad):
    ground = np.zeros(6)
    ground[k] = bad
    axes, L = np.empty((3, 3)), np.empty((4, 6))
    assert torus_contact(np.eye(3), PI, 0.0, 0.5, 0.15, ground, axes, L) == OFF_TERRAIN


@pytest.mark.parametrize("axes", ["world", "wheel", "contact"])
@pytest.mark.parametrize("slides", [False, True])
def test_compiled_roller_and_reference_agree_on_wavy_ground(wavy, axes, slides):
    def omega(t):
        return (0.2 * math.sin(t), 1.2, 0.3)

    def sliding(t):
        return (0.1, 0.2 * t, 0.05) if slides else (0.0, 0.0, 0.0)

    kw = {"start": (PI, 0.1, -0.5, 0.2, PI + 0.3), "duration": 1.0, "axes": axes, "sliding": sliding}
    quick = roll(WHEEL, wavy, omega, dt=0.005, **kw)
    reference = roll(WHEEL, wavy, omega, dt=0.1, method="adaptive", **kw)
    # Fourth order: 0.005⁴ is 6e-10, times derivatives of the rates over 120.
    np.testing.assert_allclose(quick.eta[::20], reference.eta, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(quick.centre[::20], reference.centre, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(quick.rotation[::20], reference.rotation, rtol=0.0, atol=1e-9)


def test_compiled_roller_is_of_the_fourth_order(wavy):
    kw = {"start": (PI, 0.2, -0.5, 0.2, PI + 0.3), "duration": 1.6, "axes": "contact"}
    ends = [roll(WHEEL, wavy, (0.1, 1.5, 0.3), dt=dt, **kw).eta[-1] for dt in (0.1, 0.05, 0.025, 0.0125)]
    jumps = [np.linalg.norm(b - a) for a, b in pairwise(ends)]
    orders = np.log2(np.array(jumps[:-1]) / jumps[1:])
    assert orders[-1] == pytest.approx(4.0, abs=0.3)


# --- the motion of the body ---


@pytest.mark.parametrize("method", ["rk4", "adaptive"])
def test_the_touching_point_of_a_rolling_wheel_stands_still(wavy, method):
    """Only poses of the body are used: a wrong sign or metric in the contact equations moves the point at 0.1 m/s."""
    surface = GroundSurface(wavy)
    run = roll(
        WHEEL,
        wavy,
        (0.1, 1.5, 0.2),
        start=(PI, 0.1, -0.5, 0.2, PI + 0.3),
        duration=0.5,
        dt=0.0025,
        method=method,
    )
    assert np.linalg.norm(run.contact[-1] - run.contact[0]) > 0.4
    assert np.abs(velocity_of_touching_points(run, WHEEL)).max() < 1e-7
    for k in range(0, len(run.time), 20):
        w, g = WHEEL.forms(*run.eta[k, :2]), surface.forms(*run.eta[k, 2:4])
        np.testing.assert_allclose(run.centre[k] + run.rotation[k] @ w.point, g.point, rtol=0.0, atol=1e-10)
        np.testing.assert_allclose(run.rotation[k] @ w.frame[:, 2], -g.frame[:, 2], rtol=0.0, atol=1e-10)
        np.testing.assert_allclose(run.rotation[k] @ run.rotation[k].T, np.eye(3), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("interpolation", ["spline", "bicubic"])
def test_wheel_and_ground_stay_tangent_for_half_a_minute_on_rough_ground(interpolation):
    """The curvature of a spline has kinks, that of a bicubic grid jumps: each step restores what they cost."""
    ground = terrain.rough(0.05, 2.0, 3, size=40.0, interpolation=interpolation)
    omega = (0.0, 1.0, -0.15)
    run = roll(WHEEL, ground, omega, start=(PI, 0.05, 0.0, 0.0, PI), duration=30.0, axes="contact")
    u, v = run.eta[:, 0], run.eta[:, 1]
    outward = np.column_stack((np.cos(v) * np.sin(u), np.sin(v), np.cos(v) * np.cos(u)))
    of_the_ground = ground.normal(run.contact[:, 0], run.contact[:, 1])
    np.testing.assert_allclose(np.einsum("kij,kj->ki", run.rotation, outward), -of_the_ground, rtol=0.0, atol=1e-6)
    assert np.ptp(v) > 0.05  # it leans as the ground tells it


@pytest.mark.parametrize("pair", ["egg on waves", "wheel on egg", "egg on egg"])
def test_any_pair_of_surfaces_rolls_with_its_touching_point_at_rest(wavy, pair):
    egg, large_egg = Ellipsoid(0.3, 0.2, 0.4), Ellipsoid(2.0, 1.5, 1.2)
    surface = {"egg on waves": egg, "wheel on egg": WHEEL, "egg on egg": egg}[pair]
    ground = wavy if pair == "egg on waves" else large_egg
    omega = (0.3, 1.0, 0.4)
    run = roll(surface, ground, omega, start=(PI, 0.2, 0.3, 0.2, 0.7), duration=0.3, dt=0.0025)
    assert np.linalg.norm(run.contact[-1] - run.contact[0]) > 0.03
    assert np.abs(velocity_of_touching_points(run, surface)).max() < 1e-7
    # It turns as told, about the normal too: there a wrong ψ̇ would not make the touching point move.
    np.testing.assert_allclose(run.rotation, turned(omega, run.time) @ run.rotation[0], rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("method", ["rk4", "adaptive"])
def test_a_sliding_wheel_slides_as_told(wavy, method):
    slide = np.array([0.2, -0.1, 0.0])
    run = roll(
        WHEEL,
        wavy,
        (0.1, 0.5, 0.2),
        sliding=slide,
        start=(PI, 0.1, -0.5, 0.2, PI + 0.3),
        duration=0.4,
        dt=0.0025,
        method=method,
    )
    n = wavy.normal(run.contact[2:-2, 0], run.contact[2:-2, 1])
    along = slide - (n @ slide)[:, None] * n
    np.testing.assert_allclose(velocity_of_touching_points(run, WHEEL), along, rtol=0.0, atol=1e-7)


def test_a_contact_a_little_off_is_found_again_without_moving_the_wheel(wavy):
    surface = GroundSurface(wavy)
    eta = np.array([2.8, 0.3, -0.4, 0.6, 2.0])
    R, centre = wheel_pose(WHEEL, surface, eta)
    # Off by the same 1e-4 m on both surfaces, as an inexact step leaves it.
    xi = R @ WHEEL.forms(*eta[:2]).frame @ [7e-5, -7e-5, 0.0]
    off = eta[:4].copy()
    off[:2] += np.linalg.solve(WHEEL.forms(*eta[:2]).metric, [7e-5, -7e-5])
    off[2:] += xi[:2]
    ground = wavy.second_derivatives([off[2:]])[0]
    axes, L = np.empty((3, 3)), np.empty((4, 6))
    assert torus_aligned(np.ascontiguousarray(R), 0.5, 0.15, ground, axes, L, off) == OK
    np.testing.assert_allclose(off, eta[:4], rtol=0.0, atol=1e-7)  # from 1e-4, up to its square times a curvature
    where = surface.forms(*off[2:]).point - R @ WHEEL.forms(*off[:2]).point
    np.testing.assert_allclose(where, centre, rtol=0.0, atol=1e-7)


# --- what cannot be ---


def test_kernel_says_why_a_wheel_cannot_roll_and_leaves_the_rest_alone():
    axes, L = np.empty((3, 3)), np.full((4, 6), 7.0)
    no_ground = np.full(6, np.nan)
    hollow = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.01 / 0.15])
    fitting = np.array([0.0, 0.0, 0.0, 1 / 0.65, 0.0, 0.0])  # as round as the wheel: it touches along a line
    for ground, status in ((no_ground, OFF_TERRAIN), (hollow, TOO_SHARP), (fitting, TOO_SHARP)):
        assert torus_contact(np.eye(3), PI, 0.0, 0.5, 0.15, ground, axes, L) == status
        assert (L == 7.0).all()
    for ground in (0.98 * hollow, 0.98 * fitting):
        assert torus_contact(np.eye(3), PI, 0.0, 0.5, 0.15, ground, axes, L) == OK


def test_ground_sharper_than_the_tyre_is_refused_at_the_start_and_on_the_way():
    x, y = np.linspace(-2.0, 2.0, 9)[:, None], np.linspace(-1.0, 1.0, 9)[None, :]

    def ground(heights):
        return terrain.spline(heights, x[:, 0], y[0])  # exact for cubics

    hollow = ground(5.0 * y**2 + 0.0 * x)  # radius 0.1 m across, tyre 0.15 m
    with pytest.raises(SimulationError, match="bends more sharply than the wheel, which cannot touch it at one point"):
        roll(WHEEL, hollow, (0.0, 1.0, 0.0), start=(PI, 0.0, 0.0, 0.0, PI), duration=1.0)
    with pytest.raises(SimulationError, match="cannot touch"):
        contact_rates(WHEEL, GroundSurface(hollow), (PI, 0.0, 0.0, 0.0, PI), (0.0, 1.0, 0.0))
    narrowing = ground(5.0 * y**2 * x)
    for method in ("rk4", "adaptive"):
        kw = {"start": (PI, 0.0, 0.0, 0.0, PI), "duration": 2.0, "method": method}
        with pytest.raises(SimulationError, match="cannot touch") as e:
            roll(WHEEL, narrowing, (0.0, 1.0, 0.0), **kw)
        met = float(str(e.value).split("(")[1].split(",")[0])
        # Where 10 x reaches 1/0.15; the adaptive integrator says where a step of its own choice met it.
        assert 2.0 / 3.0 - 0.03 < met < (0.7 if method == "rk4" else 1.3)
    inside = ground(x**2 + 0.0 * y)  # radius 0.5 m along, wheel 0.65 m
    with pytest.raises(SimulationError, match="cannot touch"):
        roll(WHEEL, inside, (0.0, 1.0, 0.0), start=(PI, 0.0, 0.0, 0.0, PI), duration=1.0)


def test_the_end_of_the_map_and_edges_are_named():
    small = terrain.spline(np.zeros((5, 5)), np.linspace(0, 1, 5), np.linspace(0, 1, 5))
    with pytest.raises(SimulationError, match=r"rolling stopped after 0\.\d+ s: the map ends near") as e:
        roll(WHEEL, small, (0.0, 1.0, 0.0), start=(PI, 0.0, 0.5, 0.5, PI), duration=5.0)
    assert 0.74 < float(str(e.value).split("after ")[1].split(" s")[0]) <= 0.77  # 0.5 m at 0.65 m/s
    with pytest.raises(TerrainError, match="no ground at"):
        roll(WHEEL, small, (0.0, 1.0, 0.0), start=(PI, 0.0, 5.0, 0.5, PI), duration=5.0)
    with pytest.raises(TerrainError, match="has edges"):
        roll(WHEEL, terrain.rough(0.1, 1.0, 1, size=4.0), (0, 1, 0), start=(PI, 0, 0, 0, PI), duration=1.0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"omega": (0.0, 1.0)}, "omega: has shape"),
        ({"omega": (0.0, math.nan, 0.0)}, "omega: entry"),
        ({"omega": lambda t: (0.0, 1.0)}, r"omega\(0\): has shape"),
        ({"sliding": "fast"}, "sliding: is not an array"),
        ({"start": (0.0, 0.0)}, "start: has shape"),
        ({"dt": 0.0}, "dt: 0 is not positive"),
        ({"duration": -1.0}, "duration: -1 is not positive"),
        ({"axes": "body"}, "axes: 'body' is not one of world, wheel, contact"),
        ({"wheel": "wheel"}, "not a Torus"),
        ({"ground": 3.0}, "ground: 3.0 is not a Terrain"),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(changes, words):
    arguments = {"wheel": WHEEL, "ground": LEVEL, "omega": (0.0, 1.0, 0.0), "start": (PI, 0, 0, 0, PI), "duration": 1.0}
    arguments.update(changes)
    with pytest.raises(SimulationError, match=words) as e:
        roll_wheel(arguments.pop("wheel"), arguments.pop("ground"), arguments.pop("omega"), **arguments)
    assert "\n" not in str(e.value)
