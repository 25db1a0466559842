"""A tiny package of kernels, used in processes of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import pytest

import grouser

SOURCE = '''"""Kernels to try the compiler with."""

from typing import NamedTuple

import numpy as np

from grouser._compile.jit import entry, exact_entry, inlined, kernel
from grouser._kernels.law import call_law, law
from grouser._compile.struct import Struct, array, number

SCALE = 2.0
WEIGHTS = (10.0, 100.0)


class Pair(NamedTuple):
    first: float
    second: float


class Body(Struct):
    mass = number()
    width = number()
    lever = array("n")


@law
def square(par, x, out, jac):
    """The square."""
    out[0] = par[0] * x[0] * x[0]


@inlined
def tripled(x):
    """Three times a number."""
    return 3.0 * x


@kernel
def weighed(x):
    # A remark.
    return WEIGHTS[0] * tripled(x)


@kernel
def bystander(x):
    return 5.0 * x


@entry
def total(x, body, pair, address, par, room):
    """The sum of all."""
    call_law(address, par, room[:1], room[1:], room[1:])
    return SCALE * weighed(x) + body.mass * body.lever[0] + 0.125 * pair.first + room[1]


def run():
    par, room = np.array([7.0]), np.array([2.0, 0.0])
    body = Body(mass=0.5, width=0.25, lever=[4.0])
    return float(total(1.0, body, Pair(1.0, 2.0), square.address, par.ctypes.data, room))
'''
VALUE = 2.0 * 10.0 * 3.0 + 0.5 * 4.0 + 0.125 * 1.0 + 7.0 * 4.0
"""What it gives."""
KEPT = 2
"""How many files it leaves: one for its entry, one for its law."""
_SCRIPT = """
import json
from tiny import kernels
from grouser._compile.store import Counts
value = kernels.run()
names = ("compiled", "loaded", "shipped", "refused", "not_kept")
print(json.dumps({"value": value, **{name: getattr(Counts, name) for name in names}}))
"""

compiled_only = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


class Tiny:
    """The package `tiny` in a folder, its cache in another."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder, self.cache = folder, cache
        self.engine = Path(grouser.__file__).parents[1]
        """Folder that grouser is imported from."""
        self.write(SOURCE)

    def write(self, source: str) -> None:
        """Replace its source."""
        package = self.folder / "tiny"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text("")
        (package / "kernels.py").write_text(source)

    def edit(self, old: str, new: str) -> None:
        """Replace a piece of its source."""
        assert SOURCE.count(old) == 1
        self.write(SOURCE.replace(old, new))

    @property
    def files(self) -> dict[str, Path]:
        """What is kept, by the name of its function."""
        return {path.name.rpartition("-")[0]: path for path in (self.cache / "kernels").iterdir()}

    def start(self, *, before: str = "", **settings: str) -> subprocess.Popen[str]:
        """Use it in a new process, after some other statements."""
        own = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_CPU_")}
        environment = own | {
            "PYTHONPATH": f"{self.folder}{os.pathsep}{self.engine}", "GROUSER_CACHE_DIR": str(self.cache), **settings,
        }  # fmt: skip
        pipe, command = subprocess.PIPE, [sys.executable, "-c", before + _SCRIPT]
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)

    def finish(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        """Its value and counts."""
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        said: dict[str, Any] = json.loads(out)
        return said

    def use(self, *, before: str = "", **settings: str) -> dict[str, Any]:
        """`start` and `finish`."""
        return self.finish(self.start(before=before, **settings))
