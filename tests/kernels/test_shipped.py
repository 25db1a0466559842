"""Machine code that came with the package: used where it fits, and a true sentence where it is not."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

import numba
import pytest
from tiny_package import KEPT, VALUE, Tiny, compiled_only

from grouser._compile import store
from grouser._compile.fingerprint import versions

runs_generic_code = pytest.mark.skipif(
    not store.generic_target() or not store.has_generic_features(), reason="this processor cannot run shipped code"
)


@pytest.fixture
def shipping(tiny: Tiny, tmp_path: Path) -> Path:
    """The folder of compiled kernels in a copy of the engine, made for the generic processor."""
    copy = tmp_path / "copy"
    shutil.copytree(tiny.engine / "grouser", copy / "grouser", ignore=shutil.ignore_patterns("__pycache__", "compiled"))
    name, features = store.generic_target().split(":")
    assert tiny.use(NUMBA_CPU_NAME=name, NUMBA_CPU_FEATURES=features)["compiled"] == KEPT
    tiny.engine = copy
    folder = copy / "grouser" / "_compile" / "compiled"
    (tiny.cache / "kernels").rename(folder)
    (folder / "versions.txt").write_text(versions() + "\n")
    return folder


@compiled_only
@runs_generic_code
def test_shipped_code_is_used_and_what_is_missing_is_compiled(tiny: Tiny, shipping: Path) -> None:
    said = tiny.use()
    assert (said["value"], said["compiled"], said["loaded"], said["shipped"]) == (VALUE, 0, KEPT, KEPT)
    next(shipping.glob("total-*")).unlink()
    said = tiny.use()
    assert (said["value"], said["compiled"], said["loaded"], said["shipped"]) == (VALUE, 1, KEPT - 1, KEPT - 1)
    said = tiny.use()
    assert (said["value"], said["compiled"], said["loaded"], said["shipped"]) == (VALUE, 0, KEPT, KEPT - 1)
    said = tiny.use(NUMBA_BOUNDSCHECK="1")
    assert (said["value"], said["compiled"], said["shipped"]) == (VALUE, KEPT, 0)


@compiled_only
@runs_generic_code
@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_shipped_code_must_belong_to_the_owner_of_the_package(tiny: Tiny, shipping: Path) -> None:
    """Whoever installed the package could have changed its sources as well; nobody else could."""
    os.chown(shipping.parent / "store.py", 4242, -1)
    for path in shipping.iterdir():
        os.chown(path, 4242, -1)
    assert tiny.use()["shipped"] == KEPT
    os.chown(next(shipping.glob("total-*")), 4243, -1)
    said = tiny.use()
    assert (said["value"], said["compiled"], said["shipped"]) == (VALUE, 1, KEPT - 1)
    assert "belongs to another user" in said["refused"]


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Shipped code that fits, as far as can be told before any is read."""
    monkeypatch.setattr(store, "SHIPPED", tmp_path)
    monkeypatch.setattr(store, "has_generic_features", lambda: True)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    for name, value in {"CPU_NAME": None, "CPU_FEATURES": None, "DISABLE_JIT": 0}.items():
        monkeypatch.setattr(numba.config, name, value)
    (tmp_path / "versions.txt").write_text(versions() + "\n")
    return tmp_path


def _why_not() -> str:
    sentence: str = store.why_not_shipped.__wrapped__()
    return sentence


def test_shipped_code_that_fits_is_used(shipped: Path) -> None:
    assert _why_not() == ""


def test_a_clone_has_none(shipped: Path) -> None:
    (shipped / "versions.txt").unlink()
    assert _why_not() == "this installation came without compiled kernels, as a clone or a plain wheel does"


def test_of_another_numba_it_names_both(shipped: Path) -> None:
    (shipped / "versions.txt").write_text(versions().replace(f"numba-{numba.__version__}", "numba-0.1"))
    assert _why_not() == f"they were made for numba-0.1, and this is numba-{numba.__version__}"


@pytest.mark.parametrize(("name", "value"), [("CPU_NAME", "znver3"), ("CPU_FEATURES", "+avx")])
def test_a_processor_asked_for_is_named(shipped: Path, name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, name, value)
    assert _why_not() == f"NUMBA_{name}={value} asks for another processor"


def test_an_old_processor_is_told_what_it_lacks(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "has_generic_features", lambda: False)
    assert _why_not() == "this processor lacks some instructions of x86-64-v3"


def test_another_kind_of_processor_is_named(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert _why_not() == "they were not made for riscv64 processors"


def test_without_a_compiler_there_is_nothing_to_use(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert _why_not() == "NUMBA_DISABLE_JIT=1 runs kernels as plain Python"


def test_a_missing_feature_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    features = dict.fromkeys(store.GENERIC["x86_64"][1].split(), True)
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", lambda: features)
    assert store.has_generic_features()
    features["fma"] = False
    assert not store.has_generic_features()
