"""What a log cannot tell is named."""

from __future__ import annotations

import numpy as np

from grouser.calibration.batch import gauss_newton
from grouser.calibration.simulated import log_of_motion
from grouser.motion.fit import Direction, undetermined
from grouser.motion.noise import Noise
from grouser.motion.parameters import Parameter, resolve
from tests.motion import planted_logs as drives

NAMES = ["slip", "sensor.x", "sensor.y", "sensor.lag"]


def open_directions(log, names=NAMES) -> list[Direction]:
    start = drives.slipping(np.zeros(6), noise=Noise(density=1e-4 * np.eye(3)))
    problem = drives.problem_of(log, start)
    parameters = resolve(start, names)
    result = gauss_newton(problem, start, parameters, loss="none")
    return undetermined(parameters, result.information)


def named(found: list[Direction]) -> set[str]:
    return {name for direction in found for name in direction.parts}


def test_a_drive_that_does_everything_leaves_nothing_open():
    assert open_directions(drives.winding_log(drives.slipping(), seconds=60.0)) == []


def test_a_level_drive_cannot_tell_slip_by_gravity():
    found = open_directions(drives.winding_log(drives.slipping(), tilt=0.0, seconds=60.0), ["slip"])
    # In turns the centripetal force still tells p₃ and p₄; only the force ahead is missing without slopes.
    assert "slip.p1" in named(found)
    assert not {"slip.p2", "slip.p5", "slip.p6"} & named(found)


def test_a_level_straight_drive_tells_speed_and_pull_alone():
    t = 0.05 * np.arange(801)
    speed = 4.0 + np.sin(0.3 * t)
    motion = drives.slipping()
    log = log_of_motion(motion, t, drives.side_rates(drives.warthog(), speed, speed), seed=1)
    found = named(open_directions(log, ["slip.p1", "slip.p2", "slip.p3", "slip.p5", "slip.p6", "vehicle.track"]))
    assert {"slip.p1", "slip.p6", "vehicle.track"} <= found
    assert "slip.p2" not in found


def test_two_names_of_one_effect_are_named_together():
    # Straight ahead; in turns the radius also tells itself by the turn rate.
    log = drives.repeated(drives.slipping(), 20, seed=0, left=4.0, right=4.0)
    slip = Parameter(name="slip.p2", value=0.0, sigma=0.1)
    found = open_directions(log, ["vehicle.radius", slip])
    assert len(found) == 1
    assert set(found[0].parts) == {"vehicle.radius", "slip.p2"}
    assert "vehicle.radius" in str(found[0])


def test_shrinkage_is_how_much_smaller_sigma_became():
    parameters = [Parameter(name="a", value=0.0, sigma=2.0), Parameter(name="b", value=0.0, sigma=0.1)]
    found = undetermined(parameters, np.diag([0.75, 1e6]))  # prior information of a is 0.25: (0.25 + 0.75)/0.25 = 2²
    assert [d.parts for d in found] == [{"a": 1.0}]
    assert abs(found[0].shrinkage - 2.0) < 1e-12
