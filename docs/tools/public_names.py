"""What is public: every name of `grouser` and its public parts, with its kind, signature, fields and docstring."""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import grouser

MODULES = (
    "law", "vehicles", "terrain", "simulation", "simulation.drive", "kinematics", "slip", "dynamics", "contact",
    "actuation", "joints", "collision", "logs", "motion", "calibration", "odometry", "fusion", "robot", "node",
    "traction", "rolling", "plan", "study", "view", "gym",
    "rotation", "errors",
)  # fmt: skip
"""Public parts in the order of the reference. A test compares them with `grouser.__all__`."""


@dataclass(frozen=True)
class Member:
    """A field, property, method or value of a public class."""

    owner: str
    """Name of the class, such as `grouser.terrain.Terrain`."""
    name: str
    kind: str
    """One of field, property, method, value (of an enumeration)."""
    annotation: str
    """Its type as written, or of a method its signature; empty where there is none."""
    doc: str

    @property
    def path(self) -> str:
        """Where it stands: module, class and name."""
        return f"{self.owner}.{self.name}"


@dataclass(frozen=True)
class Name:
    """A public name of a module."""

    module: str
    name: str
    value: Any

    @property
    def path(self) -> str:
        """Where users find it."""
        return f"{self.module}.{self.name}"

    @property
    def kind(self) -> str:
        """One of class, function, constant."""
        if inspect.isclass(self.value):
            return "class"
        return "function" if callable(self.value) and hasattr(self.value, "__name__") else "constant"

    @cached_property
    def doc(self) -> str:
        """Its docstring; empty where there is none, and for the one that `dataclass` makes up."""
        if self.kind == "constant":
            return _constants_doc(importlib.import_module(self.module), self.name)
        if self.kind == "class" and "__doc__" not in vars(self.value):
            return ""
        doc = inspect.getdoc(self.value) or ""
        return "" if doc.startswith(f"{self.value.__name__}(") else doc

    @cached_property
    def signature(self) -> str:
        """How it is called; empty for what is not called."""
        if self.kind == "constant" or (self.kind == "class" and issubclass(self.value, enum.Enum)):
            return ""
        return _signature(self.value, self.name)

    @cached_property
    def members(self) -> list[Member]:
        """Fields, properties and methods of a class, in the order written; private bases count as its own."""
        return list(_members(self.value, self.path)) if self.kind == "class" else []


def names_of(module: str) -> list[Name]:
    """The public names of a part: its `__all__`, or what it defines itself."""
    full = f"grouser.{module}"
    part = importlib.import_module(full)
    listed = getattr(part, "__all__", None)
    if listed is None:
        listed = [n for n, v in vars(part).items() if not n.startswith("_") and getattr(v, "__module__", "") == full]
    found = ((name, getattr(part, name)) for name in listed)
    return [Name(full, name, value) for name, value in found if not isinstance(value, ModuleType)]


def all_names() -> list[Name]:
    """Every public name once, under the first part that lists it."""
    seen: set[int] = set()
    out = []
    for module in MODULES:
        for name in names_of(module):
            if id(name.value) in seen and name.kind != "constant":
                continue
            seen.add(id(name.value))
            out.append(name)
    return out


def top_level() -> list[str]:
    """Names of `grouser` itself, without its modules."""
    return [n for n in grouser.__all__ if n != "__version__" and not isinstance(getattr(grouser, n), ModuleType)]


def _signature(value: Any, name: str) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return f"{name}(…)"
    parts, keyword_only = [], False
    for p in signature.parameters.values():
        if p.name == "self":
            continue
        if p.kind is p.KEYWORD_ONLY and not keyword_only:
            parts.append("*")
            keyword_only = True
        if p.kind is p.VAR_POSITIONAL:
            keyword_only = True
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        text = star + p.name
        if p.annotation is not p.empty:
            text += f": {_type(p.annotation)}"
        if p.default is not p.empty:
            text += f" = {_default(p.default)}"
        parts.append(text)
    returned = signature.return_annotation
    result = "" if returned is signature.empty or inspect.isclass(value) else _type(returned)
    line = f"{name}({', '.join(parts)})" + (f" → {result}" if result else "")
    if len(line) <= 110:
        return line
    body = ",\n    ".join(parts)
    return f"{name}(\n    {body},\n)" + (f" → {result}" if result else "")


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"ForwardRef\('([^']*)'\)", r"\1", text)
    return re.sub(r"\b(typing|collections\.abc|numpy|npt|np)\.", "", text)


def _default(value: Any) -> str:
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    text = repr(value)
    if "object at 0x" in text or "<factory>" in text or len(text) > 60:
        return "…"
    return text


def _members(cls: type, owner: str) -> Iterator[Member]:
    if issubclass(cls, enum.Enum):
        docs = _field_docs(cls)
        for value in cls:
            yield Member(owner, value.name, "value", repr(value.value), docs.get(value.name, ("", ""))[1])
    seen: set[str] = set()
    for base in cls.__mro__:
        if not base.__module__.startswith("grouser."):
            continue
        fields = _field_docs(base)
        for name, (annotation, doc) in fields.items():
            if name.startswith("_") or name in seen or issubclass(cls, enum.Enum):
                continue
            seen.add(name)
            yield Member(owner, name, "field", annotation, doc or _inherited_field(base, name))
        for name, value in vars(base).items():
            if name.startswith("_") or name in seen or name in fields:
                continue
            member = _callable_member(cls, owner, name, value)
            if member is not None:
                seen.add(name)
                yield member


def _inherited_field(cls: type, name: str) -> str:
    above = (_field_docs(base).get(name, ("", ""))[1] for base in cls.__mro__[1:] if "grouser." in base.__module__)
    return next(filter(None, above), "")


def _callable_member(cls: type, owner: str, name: str, value: Any) -> Member | None:
    function = getattr(value, "fget", None) or getattr(value, "func", None)
    if function is not None:  # property, cached_property
        returned = inspect.signature(function).return_annotation
        text = "" if returned is inspect.Signature.empty else _type(returned)
        return Member(owner, name, "property", text, inspect.getdoc(function) or _inherited(cls, name))
    inner = getattr(value, "__func__", value)
    if inspect.isfunction(inner) and inner.__module__.startswith("grouser."):
        return Member(owner, name, "method", _signature(inner, name), inspect.getdoc(inner) or _inherited(cls, name))
    return None


def _inherited(cls: type, name: str) -> str:
    for base in cls.__mro__[1:]:
        doc = inspect.getdoc(vars(base)[name]) if name in vars(base) else None
        if doc:
            return doc
    return ""


def _field_docs(cls: type) -> dict[str, tuple[str, str]]:
    """Annotation and docstring of each attribute that a class body declares, in order."""
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    except (OSError, TypeError, IndentationError):
        return {}
    assert isinstance(body, ast.ClassDef)
    declares = is_dataclass(cls) or issubclass(cls, tuple)
    return {
        name: (annotation, doc)
        for name, annotation, doc, valued in _declared(body.body)
        if declares or doc or not valued or issubclass(cls, enum.Enum)
    }


def _declared(body: list[ast.stmt]) -> Iterator[tuple[str, str, str, bool]]:
    for statement, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            name, annotation, valued = statement.target.id, ast.unparse(statement.annotation), bool(statement.value)
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name, annotation, valued = statement.targets[0].id, "", True
        else:
            continue
        doc = ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
            doc = inspect.cleandoc(after.value.value)
        yield name, annotation, doc, valued


def _constants_doc(module: ModuleType, name: str) -> str:
    """The string below a constant, in the module that assigns it."""
    places = [module, *(importlib.import_module(m) for m in _imported_from(module, name))]
    for place in places:
        for found, _, doc, _ in _declared(ast.parse(inspect.getsource(place)).body):
            if found == name and doc:
                return doc
    return ""


def _imported_from(module: ModuleType, name: str) -> list[str]:
    tree = ast.parse(inspect.getsource(module))
    return [
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and any(a.name == name for a in node.names)
    ]
