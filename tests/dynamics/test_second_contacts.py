"""Two contacts of a wheel: where the ground asks for them, and no jump of force where they come and go."""

import math
from typing import NamedTuple

import numpy as np
import pytest

import grouser as gr
from grouser._kernels.contact.second import share_depth
from grouser.vehicles import Frame, Vehicle, wheel_inertia

RADIUS = 0.3


class Errors(NamedTuple):
    height_error: np.ndarray


def axle(radius=RADIUS, tyre_radius=None, inertia=1.0):
    """Two wheels whose mass hangs below the axle: a pendulum that stays upright."""
    wheel = {"mass": 1.0, "inertia": wheel_inertia(1.0, radius, 0.1), "radius": radius, "width": 0.1}
    places = {"L": 0.4, "R": -0.4}
    return Vehicle(
        "axle",
        (
            Frame("body", mass=20.0, com=(0.0, 0.0, -0.4), inertia=(inertia, inertia, inertia)),
            *(
                Frame(n, "body", "RY", actuated=True, xyz=(0.0, y, 0.0), tyre_radius=tyre_radius, **wheel)
                for n, y in places.items()
            ),
        ),
    )


@gr.terrain.law
def wave(x, y, *, height=gr.param(0.02, "m"), number=gr.param(20.0, "1/m")):
    return height * math.cos(number * x), -height * number * math.sin(number * x), 0.0


def state(x, z):
    return np.array([1.0, 0.0, 0.0, 0.0, x, 0.0, z, 0.0, 0.0])


def run(ground, x, z, seconds=3.0, inertia=1.0, **settings):
    settings.setdefault("contact", gr.contact.PiecewiseLinear(friction=0.6, static_penetration=1e-3))
    model = gr.Dynamics(axle(inertia=inertia), **settings)
    still = np.zeros((1, 2))
    return gr.simulate(model, ground, still, duration=seconds, dt=0.01, start=state(x, z), velocity=np.zeros(8))


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("degrees", [30.0, 45.0, 60.0, 70.0])
def test_a_wheel_in_the_corner_of_floor_and_slope_touches_both(degrees, side):
    """A frictionless wheel rests where both touch: a slope α from x = 0 on holds it at x = −R tan(α/2), or +."""
    slope, law = math.radians(degrees), gr.contact.PiecewiseLinear(friction=0.0, static_penetration=1e-4)
    push = (gr.ExternalForce(frame="body", force=(side * 40.0, 0.0, 0.0)),)
    x = -side * RADIUS * math.tan(slope / 2)
    ground = gr.terrain.stack(gr.terrain.plane(), gr.terrain.slope(deg=side * degrees))
    ended = run(ground, x, RADIUS, inertia=1e4, contact=law, external=push)
    assert ended.position[-1, [0, 2]] == pytest.approx([x, RADIUS], abs=3e-4)
    on_slope = 40.0 / math.sin(slope)  # N, by the balance along x
    total = np.zeros(3)
    for w in range(2):
        n, f = ended.contact.normal[-1, w], ended.contact.force[-1, w]
        total += n * f[2] + ended.contact.second_force[-1, w]
    assert total == pytest.approx([-side * 40.0, 0.0, 22.0 * 9.81], abs=0.3)
    sizes = [np.linalg.norm(ended.contact.second_force[-1, 0]), ended.contact.force[-1, 0, 2]]
    assert min(abs(s - on_slope / 2) for s in sizes) < 0.01 * on_slope


def test_ground_with_one_minimum_gives_one_contact():
    """Hollows that are wider than the wheel: curvature h″ < 1/R, so Δz has one minimum along the rim."""
    hollows = wave.replace(height=0.05, number=0.9 * math.sqrt(1.0 / (0.05 * RADIUS)))
    for ground in (gr.terrain.plane(), gr.terrain.slope(deg=20.0), hollows):
        ended = gr.simulate(gr.Dynamics(axle()), ground, gr.drive.arc(0.5), duration=4.0, dt=0.02)
        assert not ended.contact.second_force.any()
        alone = gr.simulate(
            gr.Dynamics(axle(), second_contacts=False), ground, gr.drive.arc(0.5), duration=4.0, dt=0.02
        )
        assert np.array_equal(ended.state, alone.state)


def test_a_wheel_in_a_groove_stays_at_rest_with_two_contacts_and_jumps_from_side_to_side_with_one():
    @gr.terrain.law
    def groove(x, y):
        return abs(x), 1.0 if x > 0.0 else -1.0, 0.0

    with_two = run(groove, 0.01, RADIUS * math.sqrt(2.0))
    with_one = run(groove, 0.01, RADIUS * math.sqrt(2.0), second_contacts=False)
    assert np.abs(with_two.velocity[-50:]).max() < 1e-6
    assert np.abs(with_one.velocity[-50:]).max() > 1e-2
    power = with_two.contact.power[-50:]
    assert np.abs(power).max() < 1e-6


def accelerations(model, ground, x, z):
    """Of the body and in pitch, of an axle at rest at x and z: forces over masses, at the state itself."""
    found = []
    for one in x:
        step = model.step(state(one, z), np.zeros(8), np.zeros(2), ground, dt=1e-6)
        assert step.converged
        found.append(step.acceleration[[1, 3, 5]])
    return np.array(found)


def largest_jump(model, ground, z, n):
    x = math.pi / 21.0 + np.linspace(-0.05, 0.05, n)
    return np.abs(np.diff(accelerations(model, ground, x, z), axis=0)).max()


@pytest.mark.parametrize(("height", "lift"), [(0.05, 0.0), (0.026, 0.0), (0.026, -0.015)])
def test_forces_do_not_jump_where_a_second_contact_comes_and_goes(height, lift):
    """Steps of force shrink with the steps of x, whether Δz between the contacts is above zero or not.

    The wheel moves over a trough between two crests; with one contact force jumps from one to the other, at any step.
    """
    law = gr.contact.PiecewiseLinear(friction=0.0, stiffness=2e4, damping=0.0)
    ground = wave.replace(height=height, number=21.0)
    x = np.linspace(-0.15, 0.15, 3001)  # along the rim, from the middle of the trough
    touching = (-height * np.cos(21.0 * x) + np.sqrt(RADIUS**2 - x * x)).max()
    z = touching - 0.003 + lift
    coarse, fine, one_fine = (
        largest_jump(gr.Dynamics(axle(), contact=law, second_contacts=two), ground, z, n)
        for two, n in ((True, 101), (True, 801), (False, 801))
    )
    print(f"\nlargest jump {coarse:.3g}, {fine:.3g} with an eighth of the step; one contact {one_fine:.3g}")
    assert fine < 0.3 * coarse
    assert one_fine > 5.0 * fine


@pytest.mark.parametrize("crest", [0.004, 0.0, -0.001])
def test_what_both_depths_have_in_common_is_shared_alike_whichever_is_the_first(crest):
    """Depths of 6 and 5 mm with a crest as deep between them, or above the ground."""
    first, second = shared(0.006, 0.005, crest)
    assert shared(0.005, 0.006, crest) == pytest.approx((second, first), rel=1e-12)
    assert shared(0.006, 0.006, crest) == pytest.approx([0.006 - max(crest, 0.0) / 2] * 2, rel=1e-12)
    assert first + second == pytest.approx(0.011 - max(crest, 0.0), rel=1e-12)
    assert shared(0.006, crest + 1e-9, crest)[0] == pytest.approx(0.006, abs=1e-8)


def shared(first, second, crest):
    """Depths of two contacts after what they have in common is shared; the crest between them is as deep as this."""
    errors = np.array([-first, -second])
    share_depth.py_func(Errors(errors), 0, 1, second - crest)
    return tuple(-errors)


def test_the_force_balance_has_the_derivatives_of_both_contacts():
    """Newton's method is quadratic: within the smooth part of a law a few iterations leave rounding only."""

    @gr.terrain.law
    def groove(x, y):
        return abs(x), 1.0 if x > 0.0 else -1.0, 0.0

    law = gr.contact.Pacejka(static_penetration=0.01)
    model = gr.Dynamics(axle(), contact=law, actuator=gr.actuation.PI(gain=50.0), tolerance=1e-9)
    v = np.array([0.0, 0.1, 0.0, 0.05, 0.0, -0.02, 0.3, 0.3])
    step = model.step(state(0.001, RADIUS * math.sqrt(2.0) - 0.008), v, np.ones(2), groove, dt=0.01)
    assert step.converged
    assert step.iterations <= 8
    assert np.abs(step.residual).max() < 1e-9


def test_a_round_tyre_has_one_contact():
    @gr.terrain.law
    def groove(x, y):
        return abs(x), 1.0 if x > 0.0 else -1.0, 0.0

    model = gr.Dynamics(axle(tyre_radius=0.05))
    still = np.zeros((1, 2))
    ended = gr.simulate(model, groove, still, duration=0.5, dt=0.01, start=state(0.0, 0.42), velocity=np.zeros(8))
    assert not ended.contact.second_force.any()


def test_two_contacts_are_the_same_in_the_mirror():
    nodes = np.linspace(-4.0, 4.0, 41)
    heights = np.random.default_rng(4).uniform(0.0, 0.15, (41, 41))
    ground, zoe = gr.terrain.grid(heights, nodes, nodes), gr.vehicle("zoe")
    runs = [
        gr.simulate(gr.Dynamics(vehicle), one, gr.drive.arc(0.5, k), duration=3.0, dt=0.02)
        for vehicle, one, k in (
            (zoe, ground, 0.2),
            (zoe.mirrored(), gr.terrain.moved(ground, mirror=True), -0.2),
        )
    ]
    assert runs[0].contact.second_force.any()
    assert np.abs(runs[0].position * [1, -1, 1] - runs[1].position).max() < 1e-6
