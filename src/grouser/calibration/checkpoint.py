"""Checkpoints of a followed log: TOML with schema and version, all numbers in full, written whole or not at all."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import typing
from pathlib import Path
from typing import Any

from grouser._version import __version__
from grouser.calibration.follow import LogFollower, Place
from grouser.errors import CalibrationError
from grouser.files import read_toml, toml_value, write_whole
from grouser.motion.fit_file import model_tables, table_lines, vars_of, whole
from grouser.vehicles.toml import to_toml

SCHEMA = "grouser/stream@1"
MAX_BYTES = 200_000_000


def save_checkpoint(follower: LogFollower, path: str | os.PathLike[str]) -> None:
    """Write the place of a follower and the state of its calibrator."""
    state = follower.calibrator.state
    lines = [f'schema = "{SCHEMA}"', f'grouser = "{__version__}"', ""]
    lines += table_lines("made_for", _made_for(follower))
    lines += table_lines("place", dataclasses.asdict(follower.place))
    lines += table_lines("rejected", {"reasons": list(follower.rejected), "counts": list(follower.rejected.values())})
    lines += table_lines("filter", state.pop("filter"))
    lines += table_lines("stream", state)
    text = "\n".join(lines)
    write_whole(path, lambda stream: stream.write(text.encode()), CalibrationError)


def load_checkpoint(follower: LogFollower, path: str | os.PathLike[str]) -> None:
    """Bring a follower to where a checkpoint was made; one of another log, manifest or model is refused."""
    where = Path(path)
    tables = read_toml(where, SCHEMA, CalibrationError, limit=MAX_BYTES)
    with whole(where, "checkpoint"):
        _refuse_others(tables["made_for"], _made_for(follower), where.name)
        kinds = typing.get_type_hints(Place)
        place = Place(**{name: kind(tables["place"][name]) for name, kind in kinds.items()})
        begun = follower.fingerprint()
        if begun != place.begun:
            what = "begins otherwise than" if begun else "is shorter than"
            raise CalibrationError(
                f"{where.name}: was made for another log; {follower.name} {what} the log it was made for"
                " (give another --checkpoint, or remove it to start again)"
            )
        follower.calibrator.state = {**tables["stream"], "filter": tables["filter"]}
        follower.place = place
        rejected = tables["rejected"]
        follower.rejected = dict(zip(map(str, rejected["reasons"]), map(int, rejected["counts"]), strict=True))


def _made_for(follower: LogFollower) -> dict[str, Any]:
    """Properties of log, manifest, model and options that must be the same to continue."""
    c, motion = follower.calibrator, follower.calibrator.motion
    train = {} if motion.powertrain is None else vars_of(motion.powertrain)
    parts = (model_tables(motion), vars_of(motion.sensor), vars_of(motion.noise), train)
    model = [toml_value(part) for part in parts]
    return {
        "log": follower.name,
        "manifest": _digest(follower.manifest.model_dump_json(exclude={"file"}, exclude_unset=True)),
        "model": _digest("\n".join([*model, to_toml(motion.vehicle.replace(visuals=()))])),
        "parameters": [p.name for p in c.parameters],
        "priors": _digest(toml_value([dataclasses.asdict(p) for p in c.parameters])),
        "interval": c.length,
        "by_distance": c.by_distance,
        "stride": -1.0 if c.stride is None else float(c.stride),
        "gate": c.filter.gate,
        "adapt": c.filter.adapt,
        "residual": list(c.residual),
    }


def _refuse_others(then: dict[str, Any], now: dict[str, Any], file: str) -> None:
    reasons = {
        "log": f"log {then.get('log')!r:.60}, not {now['log']!r:.60}",
        "manifest": "another manifest, or it has changed since",
        "model": "another model, vehicle or sensor",
        "parameters": f"other parameters: {', '.join(map(str, then.get('parameters', [])))}",
        "priors": "other priors or bounds of the parameters",
    }
    for name, value in now.items():
        if then[name] != value:
            what = reasons.get(name, f"another {name.replace('by_distance', 'kind of interval')}")
            raise CalibrationError(
                f"{file}: was made for {what} (give another --checkpoint, or remove it to start again)"
            )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
