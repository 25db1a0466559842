"""`grouser warmup`: it covers all kernels, and says what it did."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numba
import pytest

from grouser import _kernels
from grouser.cli import run, warmup
from grouser.cli.warmup_parts import FAMILIES, PARTS

compiled_only = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


@compiled_only
def test_the_parts_use_every_entry_and_law() -> None:
    from grouser._compile.jit import EntryKernel
    from grouser._kernels.law import Law

    for part in PARTS.values():
        part()
    unused = []
    for module in pkgutil.walk_packages(_kernels.__path__, "grouser._kernels."):
        for name, value in vars(importlib.import_module(module.name)).items():
            entry = isinstance(value, EntryKernel) and not value.overloads
            law = isinstance(value, Law) and "address" not in vars(value)
            if entry or law:
                unused.append(f"{module.name}.{name}")
    assert unused == []


@compiled_only
def test_a_second_warmup_compiles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GROUSER_CACHE_DIR", str(tmp_path))
    answers = []
    for _ in range(2):
        assert run(["warmup", "--part", "logs", "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    first, second = answers
    assert (first["compiled"], first["loaded"]) == (1, 0)
    assert (second["compiled"], second["loaded"]) == (0, 1)
    assert Path(second["cache"]) == tmp_path / "kernels"


def test_warmup_reports_each_part_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["warmup", "--part", "grounds", "--part", "logs", "--jobs", "2", "--json"]) == 0
    out, said = capsys.readouterr()
    result = json.loads(out)
    keys = {"parts", "cpu_seconds", "seconds", "cache", "compiled", "loaded", "shipped", "not_kept", "refused"}
    assert set(result) == keys
    assert [set(one) for one in result["parts"]] == [{"name", "cpu_seconds", "compiled", "loaded"}] * 2
    assert {one["name"] for one in result["parts"]} == {"grounds", "logs"}
    for key in ("compiled", "loaded"):
        assert result[key] == sum(one[key] for one in result["parts"])
    assert result["shipped"]["used"] == (result["shipped"]["why_not"] is None)
    assert (result["not_kept"] is None) == (not numba.config.DISABLE_JIT)
    assert len(said.splitlines()) == 2


def test_warmup_tells_people_where_kernels_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["warmup", "--part", "logs"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("ready after ")
    assert "\ncompiled kernels are kept in " in out
    assert "machine code shipped with grouser is " in out


def test_processes_keep_to_parts_that_share_kernels_while_there_are_some() -> None:
    plan = warmup.Plan(list(PARTS))
    (first, *others), (second, *rest) = ([part.__name__ for part in family] for family in FAMILIES)
    one: set[int] = set()
    two: set[int] = set()
    assert (plan.take(one), plan.take(two)) == (first, second)
    assert [plan.take(two) for _ in rest] == rest
    assert plan.take(two) == others[0]
    assert [plan.take(one) for _ in others[1:]] == others[1:]
    assert plan.take(one) is None


def test_a_part_that_is_not_there_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["warmup", "--part", "cinematics"]) == 2
    assert "no part 'cinematics'; parts are dynamics, " in capsys.readouterr().err
    assert run(["warmup", "--jobs", "0"]) == 2
    assert "--jobs: 0 " in capsys.readouterr().err


def no_compiler(manifest: Mapping[str, Any], index: int, threads: int) -> bytes:
    """In place of what compiles a part."""
    raise RuntimeError("no compiler here")


def exits(manifest: Mapping[str, Any], index: int, threads: int) -> bytes:
    raise SystemExit(3)


def dies(manifest: Mapping[str, Any], index: int, threads: int) -> bytes:
    os._exit(3)


@pytest.mark.parametrize(
    ("body", "reason"), [(no_compiler, "no compiler here"), (exits, "SystemExit: 3"), (dies, "exit code 3")]
)
def test_a_process_that_fails_gives_one_sentence(
    body: Any, reason: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(warmup, "BUILD", f"{__name__}:{body.__name__}")
    assert run(["warmup", "--part", "logs", "--json"]) == 1
    out, said = capsys.readouterr()
    assert out == ""
    assert said.startswith("grouser: compiling logs failed: ")
    assert said.endswith(f"{reason}\n")
    assert said.count("\n") == 1
