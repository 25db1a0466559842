"""How well a run kept to the path that it was to follow: cross-track error along the way, and where it ended."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from grouser.simulation import Run
from grouser.traction.path import SEARCH, Path


@dataclass(frozen=True)
class Following:
    """Lengths [m]; cross-track errors are in the plan, left of the path positive."""

    path_length: float
    """Length of the path."""
    covered: float
    """How far along the path it came."""
    largest: float
    """The cross-track error of largest size."""
    largest_at: float
    """When that was [s]."""
    rms: float
    """Of the cross-track errors of all recorded states."""
    end_distance: float
    """Distance from the end of the path when it ended."""

    def to_json(self) -> dict[str, object]:
        """As numbers for a file."""
        return asdict(self)

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
        # Only onwards, and not far: a path may come near itself, or end where it begins.
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
