"""Routes: why the straight way is refused, what a soil is worth going round, ends, limits, and bad input."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import grouser as gr
from grouser.errors import PlanError
from grouser.plan.lattice import Lattice
from grouser.plan.slopes import slope_table

HUSKY, ZOE = (gr.Kinematics(gr.vehicle(name)) for name in ("husky", "zoe"))


def level(side: float = 24.0, cell: float = 0.5) -> tuple[Any, Any]:
    """Heights of a level square map and the coordinates of its nodes [m]."""
    axis = np.arange(-0.5 * side, 0.5 * side + 0.5 * cell, cell)
    return np.zeros((len(axis), len(axis))), axis


def with_ice(depth: float, side: float = 24.0) -> Any:
    """Level ground with a patch on the straight way that reaches `depth` metres to both sides; wheels slip by 70 %."""
    heights, axis = level(side)
    corners = [(-4, -depth), (4, -depth), (4, depth), (-4, depth), (-4, -depth)]
    raster = gr.terrain.polygons([(0, np.array(corners, dtype=float))], cell=0.25)
    return gr.terrain.soils(gr.terrain.grid(heights, axis, axis), raster, [gr.slip.BodySlip([0, -0.7, 0, 0, 0, 0])])


def crosses_ice(way: Any, depth: float) -> bool:
    x, y = way.driven[:, 4], way.driven[:, 5]
    return bool(np.any((np.abs(x) < 3.5) & (np.abs(y) < depth - 0.3)))


@pytest.mark.parametrize("minimise", ["energy", "time"])
def test_goes_round_ice_where_that_is_cheaper_and_through_where_it_is_not(minimise: str) -> None:
    """A metre of ice costs as much as 1/.3 others: 8 m of it, 18.7 m more. Round a patch 2 m deep it is some .6 m more,
    and four turns; round one that reaches to the edges of the map there is no way."""
    small, large = (
        gr.plan.route(HUSKY, with_ice(depth), (-10, 0), (10, 0), minimise=minimise, alternatives=False)
        for depth in (2.0, 13.0)
    )
    assert small.reached
    assert large.reached
    assert not crosses_ice(small, 2.0)
    assert crosses_ice(large, 13.0)
    speed = 0.8
    # Round a patch of 22 m to each side there is a way, 56 m long: it takes longer than 8 m of ice.
    long = gr.plan.route(HUSKY, with_ice(22.0, 70.0), (-10, 0), (10, 0), minimise=minimise, alternatives=False)
    assert crosses_ice(long, 22.0)
    assert long.duration == pytest.approx(large.duration, rel=1e-6)
    assert large.duration == pytest.approx((12.0 + 8.0 / 0.3) / speed, rel=0.03)
    # A way that rounds its corners over the ice is refused, and one a place further out is taken.
    assert small.duration == pytest.approx(2.0 * (6.0 + 4.0 / math.cos(math.atan2(2.3, 6.0))) / speed, rel=0.12)


def test_for_the_least_risk_it_goes_round_ice_however_far_but_not_round_what_hardly_slips() -> None:
    far = gr.plan.route(HUSKY, with_ice(22.0, 70.0), (-10, 0), (10, 0), minimise="risk", alternatives=False)
    assert far.reached
    assert not crosses_ice(far, 22.0)
    assert far.risk < 0.01
    assert far.distance > 2.0 * math.hypot(6.0, 22.0)


def test_says_where_and_at_which_angle_the_straight_way_tips() -> None:
    heights, axis = level(30.0)
    heights += 6.0 * np.exp(-((axis[:, None] / 4.0) ** 2) - ((axis[None] / 4.0) ** 2))  # a hill of 52° and more
    way = gr.plan.route(HUSKY, gr.terrain.grid(heights, axis, axis), (-12, 0), (12, 0), alternatives=False)
    straight = way.refused[0]
    assert straight.what == "straight way"
    assert "tips at" in straight.reason or "stuck" in straight.reason
    assert np.hypot(*straight.place) < 8.0
    assert way.reached
    assert np.hypot(way.driven[:, 4], way.driven[:, 5]).min() > 1.0
    assert way.least_tip_margin > 0.0


def test_a_wall_thinner_than_the_lattice_is_seen() -> None:
    """One row of cells, 1 m high, between two rows of places, with one gap: 100 m of detour."""
    axis = np.arange(0.0, 100.25, 0.25)
    heights = np.zeros((len(axis), len(axis)))
    heights[201, : len(axis) - 40] = 1.0  # x = 50.25 m; open above y = 90 m
    ground = gr.terrain.grid(heights, axis, axis)
    way = gr.plan.route(ZOE, ground, (20, 50), (80, 50), spacing=2.0, minimise="time", alternatives=False)
    assert way.reached
    crossing = way.driven[np.argmin(np.abs(way.driven[:, 4] - 50.25)), 5]
    assert crossing > 90.0
    assert way.distance == pytest.approx(2.0 * math.hypot(30.0, 41.0), rel=0.06)
    assert str(way.refused[0]).startswith("straight way: ")


def test_on_level_ground_the_way_is_straight_and_costs_what_the_engine_says() -> None:
    """Any angle, not one of the lattice's; energy is rolling resistance: .05 of the weight."""
    heights, axis = level(40.0)
    ground = gr.terrain.grid(heights, axis, axis)
    way = gr.plan.route(HUSKY, ground, (-15, -7), (15, 4), alternatives=False)
    length = math.hypot(30.0, 11.0)
    assert way.distance == pytest.approx(length, rel=0.01)
    assert way.energy == pytest.approx(0.05 * HUSKY.vehicle.mass * 9.81 * length, rel=0.02)
    assert way.duration == pytest.approx(length / 0.8, rel=0.02)
    assert way.risk < 1e-6
    assert way.refused == ()


@pytest.mark.parametrize("model", [HUSKY, ZOE], ids=["turns on the spot", "does not"])
def test_yaws_of_both_ends_are_met(model: Any) -> None:
    heights, axis = level(40.0)
    ground = gr.terrain.grid(heights, axis, axis)
    way = gr.plan.route(model, ground, (-10, 0, 2.0), (10, 0, -1.5), minimise="time", alternatives=False)
    assert way.reached
    q = way.driven[[0, -1]]
    yaw = np.arctan2(2 * (q[:, 1] * q[:, 2] + q[:, 0] * q[:, 3]), 1 - 2 * (q[:, 2] ** 2 + q[:, 3] ** 2))
    on_the_spot = math.isinf(gr.plan.Limits.of(model.vehicle).curvature)
    assert yaw[0] == pytest.approx(2.0, abs=1e-6)
    if not on_the_spot:
        assert way.distance > 22.0  # it must turn round
    assert abs(math.remainder(yaw[1] + 1.5, 2 * math.pi)) < (0.1 if on_the_spot else 0.35)
    assert np.hypot(*(q[1, 4:6] - [10, 0])) < 1.0


@pytest.mark.parametrize("yaw", [math.pi, 0.5 * math.pi, -0.3])
def test_a_yaw_of_the_goal_across_the_straight_way_is_met_by_a_vehicle_that_cannot_turn_on_the_spot(yaw: float) -> None:
    heights, axis = level(30.0)
    way = gr.plan.route(ZOE, gr.terrain.grid(heights, axis, axis), (-3, 0, 0), (6, 0, yaw), alternatives=False)
    assert way.reached
    q = way.driven[-1]
    end = math.atan2(2 * (q[1] * q[2] + q[0] * q[3]), 1 - 2 * (q[2] ** 2 + q[3] ** 2))
    assert abs(math.remainder(end - yaw, math.tau)) < 0.47  # within a heading of the lattice, 27° at most
    assert np.hypot(*(q[4:6] - [6, 0])) < 1.0


def test_a_vehicle_that_does_not_turn_on_the_spot_keeps_its_curvature() -> None:
    heights, axis = level(40.0)
    way = gr.plan.route(
        ZOE, gr.terrain.grid(heights, axis, axis), (-10, 0, math.pi), (10, 0), minimise="time", alternatives=False
    )
    yaw = np.unwrap(
        np.arctan2(
            2 * (way.driven[:, 1] * way.driven[:, 2] + way.driven[:, 0] * way.driven[:, 3]),
            1 - 2 * (way.driven[:, 2] ** 2 + way.driven[:, 3] ** 2),
        )
    )
    metres = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(way.driven[:, 4:6], axis=0).T))])
    apart = np.searchsorted(metres, metres + 2.0)
    rows = np.flatnonzero(apart < len(metres))
    turned = np.abs(yaw[apart[rows]] - yaw[rows]) / (metres[apart[rows]] - metres[rows])
    assert turned.max() < gr.plan.Limits.of(ZOE.vehicle).curvature * 1.05


def test_mirrored_map_gives_the_mirrored_cost() -> None:
    ground = gr.terrain.rough(rms=0.6, length=5.0, seed=4, size=30.0, spacing=1.0)
    a = gr.plan.route(ZOE, ground, (-12, -9, 0), (12, 9), alternatives=False)
    b = gr.plan.route(ZOE, gr.terrain.moved(ground, mirror=True), (-12, 9, 0), (12, -9), alternatives=False)
    assert a.cost == pytest.approx(b.cost, rel=0.01)


def test_alternatives_are_best_for_what_they_minimise_and_progress_grows() -> None:
    ground = gr.terrain.rough(rms=1.2, length=6.0, seed=2, size=40.0, spacing=1.0)
    seen: list[tuple[int, int]] = []
    way = gr.plan.route(ZOE, ground, (-16, -10), (16, 12), progress=lambda done, of: seen.append((done, of)))
    ways = {one.minimise: one for one in (way, *way.alternatives)}
    assert set(ways) == {"energy", "time", "risk"}
    assert ways["time"].duration <= min(one.duration for one in ways.values()) * 1.005
    assert ways["energy"].energy <= min(one.energy for one in ways.values()) * 1.03
    done, of = np.array(seen).T
    assert (np.diff(done) > 0).all()
    assert (of == of[0]).all()
    assert done[-1] == of[0]
    again = gr.plan.route(ZOE, ground, (-16, -10), (16, 12))
    assert json.dumps(way.summary()) == json.dumps(again.summary())


def test_the_table_is_what_a_plane_costs() -> None:
    """Energy of a map metre on a plane: weight times (.05 cos + sin) of the slope along it, over its cosine."""
    limits = gr.plan.Limits.of(HUSKY.vehicle)
    table = slope_table([HUSKY], gr.terrain.plane(), limits=limits, effort=None, bounds=None)
    middle = table.energy.shape[1] // 2
    weight = HUSKY.vehicle.mass * 9.81
    for row in (middle, middle + 3, middle + 6):
        slope = (row - middle) / 17.5
        assert table.energy[0, row, 0] == pytest.approx(weight * (0.05 + slope), rel=0.02)
        assert table.time[0, row, 0] == pytest.approx(math.hypot(1.0, slope) / 0.8, rel=0.02)
    assert table.energy[0, middle - 4, 0] == pytest.approx(0.0, abs=1.0)
    assert (np.diff(table.hazard[0, middle, :6]) >= 0.0).all()


def test_a_drawn_model_that_slips_raises_the_risk() -> None:
    heights, axis = level(20.0)
    heights += 0.35 * axis[:, None]
    ground = gr.terrain.grid(heights, axis, axis)

    def draw(rng: np.random.Generator) -> gr.Kinematics:
        return gr.Kinematics(HUSKY.vehicle, slip=gr.slip.BodySlip([-rng.uniform(0.0, 2.6), 0, 0, 0, 0, 0]))

    sure = gr.plan.route(HUSKY, ground, (-5, 0), (5, 0), minimise="time", alternatives=False)
    unsure = gr.plan.route(
        gr.plan.Uncertain(model=HUSKY, draw=draw), ground, (-5, 0), (5, 0), minimise="time", alternatives=False
    )
    assert sure.risk < 1e-3
    assert unsure.risk > 0.05


def holes() -> Any:
    heights, axis = level(20.0)
    heights[18:23, 18:23] = np.nan
    return gr.terrain.grid(heights, axis, axis)


def walled() -> Any:
    heights, axis = level(20.0)
    heights[20:22] = 3.0
    return gr.terrain.grid(heights, axis, axis)


FLAT = gr.terrain.grid(*(lambda h, a: (h, a, a))(*level(20.0)))
POND = gr.plan.KeepOut.circles([(5, 5, 2)], (-10, 10, -10, 10))


@pytest.mark.parametrize(
    ("ground", "start", "goal", "options", "message"),
    [
        (FLAT, (0, 0), (30, 0), {}, r"^goal \(30, 0\) m is off the map, which lies within x -10 to 10 m"),
        (FLAT, (9.9, 0), (0, 0), {}, r"^start \(9.9, 0\) m is 0.1 m from the edge of the map; the vehicle needs 0.28"),
        (FLAT, (5, 5), (0, 0), {"keep_out": POND}, r"^start \(5, 5\) m is in a keep-out"),
        (
            FLAT,
            (0, 0),
            (5, 7.1),
            {"keep_out": POND},
            r"^goal \(5, 7.1\) m is 0.05 m from a keep-out",
        ),
        (holes(), (0, 0), (8, 8), {}, r"^start \(0, 0\) m lies in a hole of the map"),
        (FLAT, (0, math.nan), (8, 8), {}, r"start"),
        (FLAT, (0, 0), (8, 8, 1, 2), {}, r"^goal: .* is not \(x, y\) or \(x, y, yaw\)"),
        (FLAT, (0, 0), (8, 8), {"minimise": "comfort"}, r"comfort.*energy, time"),
        (FLAT, (0, 0), (8, 8), {"spacing": 0.001}, r"over 4000 places"),
        (FLAT, (0, 0), (8, 8), {"spacing": -1.0}, r"spacing"),
        (FLAT, (0, 0), (8, 8), {"limits": 3}, r"limits"),
        (FLAT, (1, 2, 0), (1, 2, 2), {}, r"^start and goal are 0 m apart, .*; to turn there use gr.plan.reach"),
    ],
)
def test_bad_input_is_one_sentence(
    ground: Any, start: Any, goal: Any, options: dict[str, Any], message: str
) -> None:  # fmt: skip
    with pytest.raises(PlanError, match=message) as caught:
        gr.plan.route(HUSKY, ground, start, goal, **options)
    assert "\n" not in str(caught.value)


def test_ground_without_an_edge_is_searched_around_start_and_goal() -> None:
    """A wall of keep-outs across the straight way is gone round; a plane of 10° costs what its ends say."""
    wall = gr.plan.KeepOut.circles([(4, y, 0.6) for y in (-2, -1, 0, 1, 2)], (-10, 18, -10, 10))
    way = gr.plan.route(HUSKY, gr.terrain.plane(), (0, 0), (8, 0), keep_out=wall, alternatives=False)
    assert way.reached
    assert 2.6 < np.abs(way.path[:, 1]).max() < 6.0
    up = gr.plan.route(HUSKY, gr.terrain.slope(10.0), (0, 0), (8, 0), alternatives=False)
    climb = HUSKY.vehicle.mass * 9.81 * 8.0 * math.tan(math.radians(10.0))
    assert climb < up.energy < 1.6 * climb


def test_a_spacing_too_fine_to_turn_is_refused() -> None:
    with pytest.raises(PlanError, match=r"^spacing: 0.2 m is too fine for a vehicle whose largest curvature is"):
        gr.plan.route(ZOE, FLAT, (0, 0), (8, 8), spacing=0.2)


def test_no_way_is_said_and_a_hole_is_gone_round() -> None:
    none = gr.plan.route(HUSKY, walled(), (-8, 0), (8, 0))
    assert not none.reached
    assert none.reason.startswith("the map has no way from start to goal")
    assert none.refused[0].what == "straight way"
    json.dumps(none.summary(), allow_nan=False)
    round_it = gr.plan.route(HUSKY, holes(), (-8, 0), (8, 0), alternatives=False)
    assert round_it.reached
    assert np.hypot(*round_it.driven[:, 4:6].T).min() > 1.0


def test_the_start_is_a_place_of_the_lattice() -> None:
    limits = gr.plan.Limits.of(HUSKY.vehicle)
    made = Lattice(
        FLAT, HUSKY.vehicle, np.array([1.37, -2.2]), FLAT.bounds, spacing=None, limits=limits, keep_out=None, reach=0.3
    )  # fmt: skip
    i, j = made.place(1.37, -2.2)
    assert (made.x[i], made.y[j]) == pytest.approx((1.37, -2.2), abs=1e-9)


def test_no_alternative_is_driven_more_cheaply_than_the_best() -> None:
    """On ground rougher than an edge is long, drives cost more than the sum of their edges, and not all alike."""
    ground = gr.terrain.rough(rms=0.15, length=0.8, seed=1, size=20.0)
    keep_out = gr.plan.KeepOut.circles([(0.0, 0.0, 2.0)], ground.bounds)
    best = gr.plan.route(gr.Kinematics(gr.vehicle("zoe")), ground, (-6, -4), (6, 5), keep_out=keep_out)
    assert best.reached
    routes = (best, *best.alternatives)
    assert [one.minimise for one in routes] == ["energy", "time", "risk"]
    for one in routes:
        least = min(other.driven_cost(one.minimise) for other in routes)
        assert one.driven_cost(one.minimise) <= 1.01 * least + 1e-4
