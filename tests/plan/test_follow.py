"""The predicted drive along a route."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import grouser as gr
from grouser.plan.drive import cross_track
from grouser.plan.follow import Followed, follow
from grouser.plan.limits import Limits
from grouser.plan.uncertain import Uncertain

PLANNER = {"samples": 96, "risk": 0.5, "seed": 1}
CORNER = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0)]
FIELD = gr.terrain.grid(np.zeros((26, 26)), x=np.arange(-5.0, 21.0), y=np.arange(-10.0, 16.0))


def followed(
    model: Any,
    path: Any,
    *,
    yaw: float = math.nan,
    ground: gr.terrain.Terrain = FIELD,
    reached: float = 0.25,
    **options: Any,
) -> Followed:
    unsure = Uncertain.of(model)
    limits = options.pop("limits", Limits.of(unsure.model.vehicle))
    route: Any = SimpleNamespace(path=np.array(path), reached=True, reason="")
    return follow(
        unsure, ground, route, np.array([*path[0], 0.0]), np.array([*path[-1], yaw]), minimise="time", limits=limits,
        reached=reached, planner=PLANNER, threads=1, **options,
    )  # fmt: skip


def wall_at(x: float) -> gr.plan.KeepOut:
    """A wall 1 m wide across the whole field."""
    return gr.plan.KeepOut.circles([(x, y, 0.5) for y in np.arange(-10.0, 15.5, 0.25)], FIELD.bounds)


MODELS = {
    "skid": gr.Kinematics(gr.vehicle("husky")),
    "dynamics": gr.Dynamics(gr.vehicle("husky")),
    "axles": gr.Kinematics(gr.vehicle("zoe")),
    "ackermann": gr.Kinematics(gr.vehicle("recbot")),
    "crab": gr.Kinematics(gr.vehicle("lru1")),
    "auto": gr.plan.Auto.of(gr.vehicle("husky")),
}


@pytest.mark.parametrize("kind", MODELS)
def test_every_kind_of_vehicle_follows_a_corner_on_flat_ground(kind: str) -> None:
    model = MODELS[kind]
    turning = Limits.of(Uncertain.of(model).model.vehicle).curvature
    reached = 0.6 if turning < 0.5 else 0.25  # a turning radius of 3 m leaves no second try
    drive = followed(model, CORNER, reached=reached)
    assert drive.reached, drive.reason
    assert np.hypot(*(drive.state[-1, 4:6] - CORNER[-1])) <= reached
    assert np.abs(cross_track(CORNER, drive.state[:, 4:6])).max() < 0.9, "it cuts the right angle"
    assert 6.0 < drive.distance[-1] < 10.0
    n = len(drive.twist)
    assert drive.state.shape[0] == n + 1 == len(drive.time)
    assert drive.rates.shape[0] == n
    assert (drive.tip_margin > 0.2).all()
    assert (drive.energy >= 0.0).all()
    assert (drive.velocity is not None) == (kind in ("dynamics", "auto"))


@pytest.mark.parametrize("yaw", [0.5, -2.0])
def test_it_ends_at_the_goal_with_its_yaw(yaw: float) -> None:
    drive = followed(MODELS["skid"], [(0.0, 0.0), (5.0, 0.0)], yaw=yaw, reached=0.15)
    assert drive.reached, drive.reason
    assert float(gr.rotation.yaw_of(drive.state[-1][:4])) == pytest.approx(yaw, abs=0.05)
    assert np.hypot(*(drive.state[-1, 4:6] - [5.0, 0.0])) < 0.15


def test_a_mirrored_route_gives_about_the_mirrored_drive() -> None:
    left = followed(MODELS["skid"], CORNER)
    right = followed(MODELS["skid"], [(x, -y) for x, y in CORNER])
    assert left.reached
    assert right.reached
    assert left.time[-1] == pytest.approx(right.time[-1], rel=0.2)
    assert right.state[-1, 5] == pytest.approx(-left.state[-1, 5], abs=0.5)


def test_it_gives_up_with_a_reason_where_it_is_blocked() -> None:
    wall = wall_at(2.5)
    drive = followed(MODELS["skid"], [(0.0, 0.0), (6.0, 0.0)], keep_out=wall)
    assert not drive.reached
    assert drive.reason
    assert drive.state[:, 4].max() < 2.0
    assert "\n" not in drive.reason


def test_no_route_is_no_drive_and_says_why() -> None:
    unsure = Uncertain.of(MODELS["skid"])
    nothing: Any = SimpleNamespace(path=np.zeros((0, 3)), reached=False, reason="a pit lies across")
    goal = np.array([5.0, 0.0, 0.0])
    drive = follow(
        unsure, FIELD, nothing, np.zeros(3), goal, minimise="time", limits=Limits(), reached=0.2, planner=PLANNER
    )
    assert not drive.reached
    assert drive.reason == "a pit lies across"
    assert len(drive.twist) == 0
    assert drive.state.shape[0] == 1
