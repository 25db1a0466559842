"""Build hook: puts machine code into the wheel of `make wheel`; any other build is pure Python.

`release/build_wheel.py` compiles the kernels and names the folder they are in.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledKernels(BuildHookInterface[Any]):
    """Adds the files of $GROUSER_WHEEL_OBJECTS, and pins the compiler they were made with."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by Hatchling before it builds."""
        folder = os.environ.get("GROUSER_WHEEL_OBJECTS")
        if not folder or self.target_name != "wheel" or version == "editable":
            return
        made_for = (Path(folder) / "versions.txt").read_text(encoding="utf-8").split()
        pinned = [one.replace("-", "==", 1) for one in made_for if one.startswith(("numba-", "llvmlite-"))]
        build_data["dependencies"] += pinned
        build_data["force_include"][folder] = "grouser/_compile/compiled"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
