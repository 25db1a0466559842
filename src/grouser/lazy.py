"""Packages whose names are imported when first used, so that a program loads only the modules it needs.

`lazy(__name__)` at the end of a package that has `__all__`, and imports below `if TYPE_CHECKING:`: the block that type
checkers read is the one place that says where a name lives.
"""

import ast
import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def lazy(name: str) -> None:
    """Make the package of this name lazy."""
    sys.modules[name].__class__ = _LazyPackage


class _LazyPackage(ModuleType):
    __all__: list[str]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self.__all__:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        module, original = _homes(self)[name]
        own = module == self.__name__
        value = import_module(f"{module}.{original}") if own else getattr(import_module(module), original)
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # The import of a submodule binds it in its package; a function of the same name is what the package exports.
        submodule = isinstance(value, ModuleType) and value.__name__ == f"{self.__name__}.{name}"
        if not (submodule and name in self.__all__ and _homes(self)[name][0] != self.__name__):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *self.__all__})


def _homes(package: ModuleType) -> dict[str, tuple[str, str]]:
    """Module and name there of each name that the package imports for type checkers."""
    found: dict[str, tuple[str, str]] | None = package.__dict__.get("_homes")
    if found is None:
        assert package.__spec__ is not None
        source = package.__spec__.loader.get_source(package.__name__)  # type: ignore[union-attr]
        blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
        imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
        found = {a.asname or a.name: (str(node.module), a.name) for node in imports for a in node.names}
        package.__dict__["_homes"] = found
    return found
