"""A study file: checked, with digests of the files it names, as plain data that repeats the study anywhere."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from grouser._version import __version__
from grouser.checks import Checker, nearest, shown
from grouser.errors import GrouserError, StudyError
from grouser.files import read_limited, read_toml
from grouser.terrain.spec import file_of

checks = Checker(StudyError)
SCHEMA = "grouser/study@1"
FIELDS: dict[str, Any] = {
    "title": "", "vehicle": None, "model": "kinematic", "options": {}, "contact": {}, "slip": {}, "actuator": {},
    "soils": {}, "grounds": {"flat": "flat"}, "drives": {"drive": {"speed": 1.0}}, "plan": {}, "start": [0.0, 0.0, 0.0],
    "duration": 10.0, "dt": 0.04, "seed": 0, "fit": "", "parameters": {}, "sampling": {}, "measures": {},
}  # fmt: skip
"""Fields of a study, and what they are where they are not given."""
ONE = {"ground": "grounds", "drive": "drives"}
"""Fields that may be given for a single one."""
SAMPLING = {"method": "latin", "runs": 100, "chunk": 0}
LARGEST_FILE = 2_000_000_000


@dataclass(frozen=True, eq=False)
class Spec:
    """What a study is, as plain data."""

    fields: Mapping[str, Any]
    """The fields of the file, those that were left out too."""
    files: Mapping[str, str]
    """SHA-256 of each file it names."""
    folder: str = ""
    """Where relative paths begin; no part of what the study is."""
    version: str = __version__
    """Grouser's, on which results depend."""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Spec:
        """The study in a .toml file; it may name other files relative to its own folder."""
        return cls.of(read_toml(path, SCHEMA, StudyError), folder=Path(path).resolve().parent, where=Path(path).name)

    @classmethod
    def of(cls, tables: Mapping[str, Any], *, folder: str | os.PathLike[str] = ".", where: str = "study") -> Spec:
        """From the tables of a study file, as a dictionary; `where` names it in errors."""
        given = dict(tables)
        for single, several in ONE.items():
            if single in given:
                if several in given:
                    raise StudyError(f"{where}: has {single} and {several}; give one of them")
                value = given.pop(single)
                given[several] = {"drive" if single == "drive" else str(value): value}
        for name in given:
            if name not in FIELDS:
                known = ", ".join([*FIELDS, *ONE])
                raise StudyError(f"{where}: has no field '{name:.40}'; {nearest(name, list(FIELDS))}fields are {known}")
        made = {name: given.get(name, default) for name, default in FIELDS.items()}
        for name, what in (("vehicle", "the name or file of a vehicle"), ("model", "text"), ("fit", "a file")):
            if not isinstance(made[name], (str, os.PathLike)):
                raise StudyError(f"{where}, {name}: {shown(made[name])} is not {what}")
            made[name] = os.fspath(made[name])
        made["grounds"] = _named(made["grounds"], f"{where}, grounds")
        made["drives"] = _named(made["drives"], f"{where}, drives")
        made["measures"] = _named(made["measures"], f"{where}, measures")
        for name in ("options", "contact", "slip", "actuator", "soils", "plan", "parameters", "sampling"):
            checks.instance(made[name], Mapping, f"{where}, {name}", "write a table")
        for name in made["sampling"]:
            if name not in SAMPLING:
                raise StudyError(f"{where}, sampling: has no '{name:.40}'; it has {', '.join(SAMPLING)}")
        made["sampling"] = {**SAMPLING, **made["sampling"]}
        made["seed"] = checks.count(made["seed"], f"{where}, seed", least=0, most=2**63 - 1)
        made["start"] = list(checks.numbers(made["start"], 3, f"{where}, start"))
        for name in ("duration", "dt"):
            made[name] = checks.positive(made[name], f"{where}, {name}")
        if not made["measures"]:
            raise StudyError(f'{where}: measures nothing; give measures, such as measures = ["distance", "slip"]')
        plain = {}
        for name, value in made.items():
            try:
                plain[name] = json.loads(json.dumps(value, allow_nan=False))
            except (TypeError, ValueError):
                what = "holds nan, inf or a value that is no number, text, list or table"
                raise StudyError(f"{where}, {name}: {what}; a study is plain data") from None
        base = Path(folder).resolve()
        files = {name: _digest(base / name) for name in sorted(set(_files(plain, base)))}
        return cls(plain, files, str(base))

    @cached_property
    def digest(self) -> str:
        """Of all that decides its rows: fields but the chunk, files it names, version of Grouser."""
        fields = {**self.fields, "sampling": {**self.fields["sampling"], "chunk": 0}}
        plain = json.dumps([fields, self.files, self.version])
        return hashlib.sha256(plain.encode()).hexdigest()[:32]

    def path(self, name: str) -> Path:
        """A file that the study names."""
        return Path(self.folder) / name

    def other_file(self) -> str:
        """A sentence on a file that is missing or differs from the one the study was begun with; empty if none."""
        for name, digest in self.files.items():
            try:
                here = _digest(self.path(name))
            except StudyError as error:
                return str(error)
            if here != digest:
                return f"{self.path(name)}: is another file than where the study was begun; copy it"
        return ""

    def manifest(self) -> dict[str, Any]:
        """All that is needed to repeat it, as JSON."""
        return {"schema": SCHEMA, "version": self.version, "study": dict(self.fields), "files": dict(self.files),
                "folder": self.folder}  # fmt: skip

    @classmethod
    def from_manifest(cls, manifest: Mapping[str, Any]) -> Spec:
        """From what `manifest` gave, here or in another process."""
        if manifest.get("schema") != SCHEMA or not isinstance(manifest.get("study"), Mapping):
            raise StudyError(f"manifest: is not one of a study, schema '{SCHEMA}'")
        return cls(manifest["study"], manifest["files"], manifest["folder"], manifest["version"])


def _named(given: Any, where: str) -> dict[str, Any]:
    """Things by name: a table, or a list of text, each its own name."""
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, str):
        return {given: given}
    return {str(one): one for one in checks.rows(given, str, where)}


def _files(fields: Mapping[str, Any], base: Path) -> list[str]:
    """Names of the files that a study depends on."""
    named = [fields["vehicle"], fields["model"], fields["fit"]]
    found = [one for one in named if isinstance(one, str) and Path(one).suffix and ":" not in one and "=" not in one]
    found += [one for text in fields["grounds"].values() if isinstance(text, str) and (one := file_of(text))]
    for one in found:
        if not (base / one).is_file():
            raise StudyError(f"{one}: no such file in {base}")
    for measure in fields["measures"].values():
        module = str(measure.get("function", "")).partition(":")[0] if isinstance(measure, Mapping) else ""
        if module.isidentifier() and (base / f"{module}.py").is_file():
            found.append(f"{module}.py")
    return found


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(read_limited(path, LARGEST_FILE, StudyError)).hexdigest()
    except GrouserError as error:
        raise StudyError(str(error)) from None
