"""Deviation of a run from its command, and from the path that it followed, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from grouser import rotation
from grouser.checks import FloatArray
from grouser.errors import GrouserError
from grouser.simulation import Run
from grouser.traction.path import SEARCH, Path

SMALL = 0.005
"""Distances below this [m] are not mentioned."""


@dataclass(frozen=True)
class Account:
    """Deviation from a command. Lengths [m], angles [rad], left positive, relative to the commanded end."""

    vehicle: str
    commanded: float
    """Length of the commanded path on flat ground."""
    ahead: float
    """Where it ended along the commanded final heading, from the commanded end; negative fell short."""
    left: float
    """Where it ended to the left of the commanded end."""
    yaw: float
    """Final yaw minus the commanded one."""
    climbed: tuple[float, float]
    """Headway lost on the slopes under the left and right wheels: ∫ Rω (1 − cos slope) dt, mean per side."""
    slipped: float
    """Headway lost to wheel slip, mean over the wheels: −∫ v_x dt."""
    from_heading: float
    """Part of the sideways motion due to the heading: ∫ v_x (x axis · left) dt."""
    from_sliding: float
    """The rest of it: the body moving along its own y and z axes."""
    track: float
    """Distance between the left and the right wheels, mean."""
    mean_slip_speed: float
    """Mean speed of the contact points in the ground plane [m/s]."""
    largest_tilt: float
    """Largest angle between the body's z axis and the vertical."""

    def headline(self) -> str:
        """Final position relative to the commanded end."""
        return (
            f"{self.vehicle}: commanded {self.commanded:.2f} m; ended {_sideways(self.left)}, "
            f"{_sideways(self.ahead, 'too far', 'short')}, yaw {math.degrees(self.yaw):+.1f}°"
        ).replace("-", "−")

    def reasons(self) -> list[str]:
        """Reasons of the deviation, one clause each."""
        over_left, over_right = self.climbed
        mean = 0.5 * (over_left + over_right)
        clauses = []
        if mean > SMALL:
            slip = f" and wheel slip {self.slipped:.2f} m" if self.slipped > SMALL else ""
            clauses.append(f"climbing cost {mean:.2f} m of headway{slip}")
        uneven = over_left - over_right
        # Equal wheel rates on unequal slopes turn the body by about this angle; only if it did so is it a reason.
        expected = uneven / self.track if self.track > 0.0 else 0.0
        agrees = expected * self.yaw > 0.0 and 0.3 < abs(expected / self.yaw) < 3.0
        if abs(uneven) > SMALL and agrees:
            rough, easy = ("left", "right") if uneven > 0.0 else ("right", "left")
            clauses.append(
                f"the ground was longer under the {rough} wheels ({max(self.climbed):.2f} m lost) than under the "
                f"{easy} ({min(self.climbed):.2f} m), which turned it {rough}"
            )
        elif abs(self.yaw) > math.radians(0.5):
            clauses.append("bumps under single wheels turned it")
        if abs(self.left) > SMALL:
            slid = f"sliding and leaning {_sideways(self.from_sliding)}"
            clauses.append(f"heading off course moved it {_sideways(self.from_heading)}, {slid}")
        return clauses

    def sentence(self) -> str:
        """Final position, and reasons of the deviation."""
        reasons = self.reasons()
        return self.headline() + (f", because {'; '.join(reasons)}." if reasons else ".")


def account(run: Run, commanded: Run) -> Account:
    """Compare a run with the same command on flat ground; both start at the same place and yaw."""
    end = min(len(run.time), len(commanded.time)) - 1
    if end < 1:
        name = run.vehicle.name
        raise GrouserError(f"the run of '{name}' ended before its first step, so there is nothing to compare")
    seconds = np.diff(run.time)
    yaw_goal = float(commanded.yaw[end])
    R_world_body = rotation.from_quaternion(run.quaternion)
    towards_left = np.array([-math.sin(yaw_goal), math.cos(yaw_goal), 0.0])
    parts = (towards_left @ R_world_body[:-1]) * run.velocity[:-1, 3:6] * seconds[:, None]
    offset = run.position[-1] - commanded.position[end]
    over, slipped = _headway_lost(run, seconds)
    across = run.vehicle.wheel_positions[:, 1]
    left_wheels = across > 0.0
    return Account(
        vehicle=run.vehicle.name,
        commanded=commanded.distance,
        ahead=float(offset[:2] @ [math.cos(yaw_goal), math.sin(yaw_goal)]),
        left=float(offset @ towards_left),
        yaw=float(run.yaw[-1] - yaw_goal),
        climbed=(_mean(over[left_wheels]), _mean(over[~left_wheels])),
        slipped=_mean(slipped),
        from_heading=float(parts[:, 0].sum()),
        from_sliding=float(parts[:, 1:].sum()),
        track=_mean(across[left_wheels]) - _mean(across[~left_wheels]),
        mean_slip_speed=float(run.contact.slip_speed.mean()),
        largest_tilt=float(np.arccos(np.clip(R_world_body[:, 2, 2], -1.0, 1.0)).max()),
    )


def _headway_lost(run: Run, seconds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Headway lost to slopes and to slip, per wheel, (nw,) [m]."""
    arrays = run.vehicle.arrays
    rolling = run.velocity[:-1, 5 + arrays.wheel] * arrays.radius
    heading = np.column_stack([np.cos(run.yaw), np.sin(run.yaw), np.zeros(len(run.yaw))])[:-1]
    cosine = np.sqrt(np.clip(1.0 - np.einsum("ti,twi->tw", heading, run.contact.normal[:-1]) ** 2, 0.0, 1.0))
    climbed: FloatArray = seconds @ (rolling * (1.0 - cosine))
    slipped: FloatArray = -(seconds @ (run.contact.velocity[:-1, :, 0] * cosine))
    return climbed, slipped


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else 0.0


def _sideways(distance: float, ahead: str = "left", behind: str = "right") -> str:
    return f"{abs(distance):.2f} m {ahead if distance >= 0.0 else behind}"


@dataclass(frozen=True)
class Following:
    """Lengths [m]; cross-track errors are in the plan, left of the path positive."""

    path_length: float
    """Length of the path."""
    covered: float
    """Distance along the path to the farthest point reached."""
    largest: float
    """Cross-track error of the largest magnitude."""
    largest_at: float
    """Time of that error [s]."""
    rms: float
    """RMS of the cross-track errors of all recorded states."""
    end_distance: float
    """Final distance from the end of the path."""

    def sentence(self) -> str:
        """In words."""
        side = "left" if self.largest > 0.0 else "right"
        done = "all" if self.covered > self.path_length - 0.01 else f"{self.covered:.2f} m"
        return (
            f"It was at most {abs(self.largest):.2f} m {side} of its path, at t = {self.largest_at:.1f} s, and "
            f"{self.rms:.2f} m rms; it followed {done} of the path's {self.path_length:.2f} m and ended "
            f"{self.end_distance:.2f} m from its end."
        )


def following(run: Run) -> Following | None:
    """Compare a run with its path; None without one, or without a step."""
    if run.path is None or len(run.time) < 2:
        return None
    steps = np.linalg.norm(np.diff(run.path[:, :2], axis=0), axis=1)
    points = run.path[np.append(True, steps > 0.0), :2]
    if len(points) < 2:
        return None
    path, along = Path(points), 0.0
    errors = np.empty(len(run.time))
    for k, (x, y) in enumerate(run.position[:, :2].tolist()):
        # The search goes forward only, within a window: a path may cross itself, or end where it begins.
        place, right = path.nearest(x, y, start=along, end=along + SEARCH)
        along, errors[k] = max(along, place), -right
    worst = int(np.abs(errors).argmax())
    return Following(
        path_length=path.length,
        covered=along,
        largest=float(errors[worst]),
        largest_at=float(run.time[worst]),
        rms=float(np.sqrt(np.mean(errors**2))),
        end_distance=float(np.linalg.norm(run.position[-1, :2] - points[-1])),
    )
