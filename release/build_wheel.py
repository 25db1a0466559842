"""Builds dist/grouser-…-linux_x86_64.whl with all kernels as machine code: `make wheel`.

The code is for x86-64-v3 or generic aarch64 (`GENERIC` in `_compile/store.py`), for the Python, Numba and llvmlite that
run this. Files are the same as in a user's cache, made in a process that compiles for that processor.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from grouser._compile.store import GENERIC, generic_target, has_generic_features

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
WARMUP = "from grouser.cli import main; main()"
VERSIONS = """
from grouser._compile.fingerprint import target, versions
from grouser._compile.store import generic_target
assert target() == generic_target(), f"Numba compiles for {target()}, not for {generic_target()}"
print(versions())
"""


def main() -> None:
    """Compile, build, and say how large it is."""
    if not generic_target():
        sys.exit(f"there is no generic processor to compile for here; known are {', '.join(GENERIC)}")
    if not has_generic_features():
        sys.exit("this processor cannot run the code it would compile; build on a newer one")
    with tempfile.TemporaryDirectory(prefix="grouser-wheel-") as work:
        objects = compile_kernels(Path(work))
        files = len(list(objects.iterdir())) - 1
        built = build(objects, Path(work) / "wheel")
        DIST.mkdir(exist_ok=True)
        wheel = Path(shutil.copy(built, DIST))
    print(f"wrote dist/{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, {files} kernels compiled")


def compile_kernels(work: Path) -> Path:
    """Compile everything for the generic processor; the folder of the files, with what they were made for."""
    name, features = generic_target().split(":")
    settings = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    settings |= {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features, "GROUSER_CACHE_DIR": str(work)}
    subprocess.run([sys.executable, "-P", "-c", WARMUP, "warmup"], env=settings, check=True)
    made_for = subprocess.run(
        [sys.executable, "-P", "-c", VERSIONS], env=settings, check=True, stdout=subprocess.PIPE, text=True
    )
    (work / "kernels" / "versions.txt").write_text(made_for.stdout, encoding="utf-8")
    return work / "kernels"


def build(objects: Path, folder: Path) -> Path:
    """The wheel with these files."""
    settings = os.environ | {"GROUSER_WHEEL_OBJECTS": str(objects)}
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(ROOT)], env=settings, check=True)
    return next(folder.glob("grouser-*.whl"))


if __name__ == "__main__":
    main()
