"""`grouser check` of a URDF: the vehicle it makes with its side file, or a draft of that file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grouser.cli.vehicles import vehicle_found
from grouser.errors import GrouserError, VehicleError
from grouser.files import write_whole


def look_at_urdf(file: Path, write: Path | None) -> tuple[str, str, dict[str, Any]]:
    """Kind, description for people, and numbers; a side file is drafted if there is none, or one is to be written."""
    from grouser.vehicles.urdf import read_urdf, vehicle_of
    from grouser.vehicles.urdf_draft import draft
    from grouser.vehicles.urdf_model import read_robot
    from grouser.vehicles.urdf_side import parse_side, side_path

    place = side_path(file)
    if write is None and place.exists():
        return vehicle_found(read_urdf(file))
    robot = read_robot(file)
    made = draft(robot, file)
    try:
        _, words, numbers = vehicle_found(vehicle_of(robot, parse_side(made.text, place.name), file))
    except VehicleError as error:
        words, numbers = "", {"problems": []}
        if not made.missing:
            made.missing.append(f"the draft makes no vehicle: {error}")
    errors = [{"severity": "error", "problem": one} for one in made.missing]
    numbers["problems"] = [*errors, *numbers["problems"]]
    lines = (
        [words] * bool(words) + [f"error: {one}" for one in made.missing] + [f"guess: {one}" for one in made.guesses]
    )
    if write is not None:
        write_whole(write, lambda stream: stream.write(made.text.encode()), GrouserError)
        lines.append(f"wrote {write}; look through its comments")
        if write.resolve() != place.resolve():
            lines.append(f"it is used when it is called {place}")
    else:
        how = f"write it with --write {place}, and look through its comments"
        lines += [f"there is no {place.name}; a draft of it ({how}):", "", made.text.rstrip("\n")]
    found = {"drafted": True, "side_file": made.text, "guesses": made.guesses, "written": write}
    return "vehicle", "\n".join(lines), {**numbers, **found}
