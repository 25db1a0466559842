"""Machine code is found by what it was made from (sources, flags, types, processor, versions), not by path and time."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numba
import pytest
from numba.core.codegen import get_host_cpu_features
from tiny_package import KEPT, VALUE, Tiny, compiled_only

from grouser._compile import fingerprint

pytestmark = compiled_only


def test_another_folder_time_and_hash_seed_compile_nothing(warm: Tiny) -> None:
    os.utime(warm.folder / "tiny" / "kernels.py", (1e9, 1e9))
    said = warm.use(PYTHONHASHSEED="2")
    assert (said["value"], said["compiled"], said["loaded"], said["shipped"]) == (VALUE, 0, KEPT, 0)


def test_another_copy_of_the_engine_compiles_nothing(warm: Tiny, tmp_path: Path) -> None:
    shutil.copytree(
        warm.engine / "grouser", tmp_path / "copy" / "grouser", ignore=shutil.ignore_patterns("__pycache__")
    )
    warm.engine = tmp_path / "copy"
    where = f"import grouser; assert grouser.__file__.startswith({str(warm.engine)!r})\n"
    said = warm.use(before=where)
    assert (said["value"], said["compiled"], said["loaded"]) == (VALUE, 0, KEPT)


HARMLESS = [
    ("A remark.", "Another remark,\n    # of two lines."),
    ('"""Three times a number."""', '"""3 x."""'),
    ('"""The sum of all."""', '"""The sum,\n\n    of all.\n    """'),
    ("return 5.0 * x", "return 6.0 * x"),
]


def test_comments_docstrings_and_other_functions_compile_nothing(warm: Tiny) -> None:
    source = (warm.folder / "tiny" / "kernels.py").read_text()
    for old, new in HARMLESS:
        assert source.count(old) == 1
        source = source.replace(old, new)
    warm.write(source)
    said = warm.use()
    assert (said["value"], said["compiled"], said["loaded"]) == (VALUE, 0, KEPT)


@pytest.mark.parametrize(
    ("old", "new", "more"),
    [
        ("return 3.0 * x", "return 4.0 * x", 20.0),
        ("SCALE = 2.0", "SCALE = 3.0", 30.0),
        ("WEIGHTS = (10.0, 100.0)", "WEIGHTS = (100.0, 10.0)", 540.0),
        ("@entry\n", "@exact_entry\n", 0.0),
        ("@kernel\ndef weighed", "@inlined\ndef weighed", 0.0),
        ("    mass = number()\n    width = number()", "    width = number()\n    mass = number()", 0.0),
        ("    first: float\n    second: float", "    second: float\n    first: float", 0.125),
        ("out[0] = par[0] * x[0] * x[0]", "out[0] = par[0] * x[0]", -14.0),
    ],
    ids=["callee", "constant", "tuple", "flag", "flag-of-callee", "struct", "named-tuple", "law"],
)
def test_an_edit_that_changes_code_compiles_it_again(warm: Tiny, old: str, new: str, more: float) -> None:
    warm.edit(old, new)
    said = warm.use()
    assert said["value"] == VALUE + more
    assert (said["compiled"], said["loaded"]) == (1, KEPT - 1)


@pytest.mark.parametrize("setting", [{"NUMBA_BOUNDSCHECK": "1"}, {"NUMBA_OPT": "1"}])
def test_a_setting_of_numba_that_changes_code_compiles_it_again(warm: Tiny, setting: dict[str, str]) -> None:
    said = warm.use(**setting)
    assert (said["value"], said["compiled"], said["loaded"]) == (VALUE, KEPT, 0)


def test_a_processor_without_its_features_has_those_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba compiles for them: code named by the processor alone would stop another machine."""
    features = get_host_cpu_features()
    assert "+" in features
    monkeypatch.setattr(numba.config, "CPU_NAME", "x86-64")
    monkeypatch.setattr(numba.config, "CPU_FEATURES", None)
    assert fingerprint.target() == f"x86-64:{features}"
    monkeypatch.setattr(numba.config, "CPU_FEATURES", "+sse3")
    assert fingerprint.target() == "x86-64:+sse3"


def test_equal_constants_have_one_digest_whether_or_not_they_are_one_object() -> None:
    """A module read from its byte code shares other constants than one just compiled."""
    text = "def f(x):\n    return x in A or x in B"
    pair, same = (tuple(map(float, "12")) for _ in range(2))
    assert pair is not same
    digests = []
    for constants in ({"A": pair, "B": pair}, {"A": pair, "B": same}, {"A": pair, "B": (1.0, 3.0)}):
        names: dict[str, Any] = {"__name__": "m", **constants}
        exec(text, names)
        digests.append(fingerprint.CallTree(names["f"], ()).digest)
    assert digests[0] == digests[1] != digests[2]


def test_a_function_moved_to_another_module_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its code names the module, which may be gone."""

    def f(x: float) -> float:
        return x

    here = fingerprint.CallTree(f, ()).digest
    monkeypatch.setattr(f, "__module__", "elsewhere")
    assert fingerprint.CallTree(f, ()).digest != here
