"""Laws: the swappable functions of the engine, their named parameters, and how to write your own.

A law is a C function `void(double* par, double* x, double* out, double* jac)` with its numbers. There are six kinds:
ground, drive, slip, contact, actuator and joint laws. Yours is a plain Python function that returns values:

>>> @gr.joints.law
... def friction(angle, rate, *, torque=gr.param(5.0, "N m", low=0.0)):
...     return -torque * math.tanh(rate / 0.01)
>>> light = friction.replace(torque=1.0)  # nothing is compiled again
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from grouser import checks
from grouser._kernels.law import Law
from grouser.checks import FloatArray
from grouser.errors import GrouserError, SimulationError

if TYPE_CHECKING:
    from typing import Self

__all__ = ["BoundLaw", "LawParameter", "OwnLaw", "Parametric", "Recipe", "param"]

Function = Callable[..., Any]
Memory = Mapping[str, float] | Iterable[str]
"""Names of what a law remembers, or a mapping to what that is at the start, in its unit."""


@dataclass(frozen=True, eq=False)
class BoundLaw:
    """A law made ready for the engine."""

    address: int
    """Address of the C function."""
    parameters: FloatArray
    """Its numbers, in SI units."""
    keep: Any = None
    """What must live as long as the law is called."""

    @property
    def par_address(self) -> int:
        """Address of the numbers; valid while this object is alive."""
        return int(self.parameters.ctypes.data)

    @property
    def pair(self) -> tuple[int, int]:
        """The two addresses, as the engine takes them."""
        return self.address, self.par_address


@dataclass(frozen=True)
class Recipe:
    """A model as a file holds it: its name under "law" and what it is made of. The package of its kind makes it."""

    values: Mapping[str, Any]
    """Numbers, text, lists and recipes, as in JSON."""
    soil_part: str
    """"contact" or "slip": which part of a soil it is."""

    @property
    def name(self) -> str:
        """Name of the model, for people."""
        return str(self.values.get("law"))

    def recipe(self) -> Mapping[str, Any]:
        """What it is made of."""
        return self.values

    def made(self, package: Any, kinds: Sequence[str], parts: Sequence[str] = ()) -> Any:
        """The model: one of the kinds, names of classes in a package; parts are classes that models have in them."""
        return self._made(self.values, package, kinds, parts)

    def _made(self, values: Mapping[str, Any], package: Any, kinds: Sequence[str], parts: Sequence[str]) -> Any:
        settings = dict(values)
        kind, what = settings.pop("law", None), f"{self.soil_part} model"
        if kind not in kinds:
            raise SimulationError(f"{what} {checks.shown(kind)} of a file is not one of {', '.join(kinds)}")
        for name, value in settings.items():
            if isinstance(value, Mapping):
                settings[name] = self._made(value, package, kinds if name == "model" else parts, parts)
            elif isinstance(value, list):
                settings[name] = tuple(value)
        try:
            return getattr(package, kind)(**settings)
        except TypeError as error:
            raise SimulationError(f"{what} {kind} of a file does not fit this version: {error}") from None


class LawParameter(NamedTuple):
    """A number of a law that calibration may change."""

    name: str
    """Such as friction, or longitudinal.B."""
    value: float
    """In its unit."""
    unit: str = ""
    """Such as N/m; 1 for a ratio."""
    low: float = -math.inf
    """Smallest value, in its unit."""
    high: float = math.inf
    """Largest value, in its unit."""


def param(value: float, unit: str = "", *, low: float = -math.inf, high: float = math.inf) -> Any:
    """A parameter of your own law: the default of a keyword argument of its function.

    value, low, high: its start and its bounds, in its unit.
    """
    return LawParameter("", value, unit, low, high)


def quantity(default: Any = dataclasses.MISSING, unit: str = "1", check: Any = checks.number, **bounds: float) -> Any:
    """A field of a `Parametric` model: its default, its unit, what it must be, and its bounds low and high."""
    low = bounds.get("low", -math.inf if check is checks.number else 0.0)
    metadata = {"check": check, "unit": unit, "low": low, "high": bounds.get("high", math.inf)}
    return dataclasses.field(default=default, metadata=metadata)


class Parametric:
    """A model, a frozen dataclass, whose numbers have names, units and bounds."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            value = getattr(self, field.name)
            if "check" not in field.metadata or value is None:
                continue
            name, meta = f"{type(self).__name__} {field.name}", field.metadata
            for one in value.values() if isinstance(value, Mapping) else (value,):
                found = meta["check"](one, name)
                if isinstance(found, float) and not meta["low"] <= found <= meta["high"]:
                    raise SimulationError(f"{name}: {found:g} is not between {meta['low']:g} and {meta['high']:g}")

    @property
    def parameters(self) -> tuple[LawParameter, ...]:
        """Its numbers by name; those of a part as part.name. What follows from the wheel's load is not among them."""
        found: list[LawParameter] = []
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, Parametric):
                found += [p._replace(name=f"{field.name}.{p.name}") for p in value.parameters]
            elif "check" in field.metadata and isinstance(value, (int, float)) and not isinstance(value, bool):
                unit, low, high = (field.metadata[key] for key in ("unit", "low", "high"))
                found.append(LawParameter(field.name, float(value), unit, low, high))
        return tuple(found)

    def recipe(self) -> dict[str, Any] | None:
        """Name and settings as in JSON, from which a file makes it again; None for a class of your own."""
        if not type(self).__module__.startswith("grouser."):
            return None
        fields = [field.name for field in dataclasses.fields(self) if field.init]  # type: ignore[arg-type]
        return {"law": type(self).__name__, **{name: _plain(getattr(self, name)) for name in fields}}

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed; a number of a part as in `replace(**{"longitudinal.B": 0.1})`."""
        fields: dict[str, Any] = {}
        known = [field.name for field in dataclasses.fields(self) if field.init]  # type: ignore[arg-type]
        for name, value in changes.items():
            part, _, rest = name.partition(".")
            if part not in known:
                raise SimulationError(f"{type(self).__name__}: has no {name!r:.60}; it has {', '.join(known)}")
            fields[part] = fields.get(part, getattr(self, part)).replace(**{rest: value}) if rest else value
        return dataclasses.replace(self, **fields)  # type: ignore[type-var]


class OwnLaw:
    """A law compiled from a plain Python function."""

    kind: ClassVar[str]
    """What it is called in errors."""
    arguments: ClassVar[tuple[str, ...]]
    """Leading arguments of the function."""
    returns: ClassVar[str]
    """What it must return, in words."""
    error: ClassVar[type[GrouserError]] = SimulationError

    def __init__(self, function: Function, *, jacobian: Function | None = None, memory: Memory = ()) -> None:
        self.memory = dict(memory) if isinstance(memory, Mapping) else dict.fromkeys(memory, 0.0)
        self.function = self._checked(function)
        self._jacobian = None if jacobian is None else self._checked(jacobian)
        self._laws: dict[Any, Law] = {}
        defaults = self.function.__kwdefaults__ or {}
        found = {name: defaults.get(name, math.nan) for name in _keywords(self.function)}
        declared = (p if isinstance(p, LawParameter) else LawParameter("", p) for p in found.values())
        named = (p._replace(name=name) for name, p in zip(found, declared, strict=True))
        self._parameters = tuple(self._within(p, p.value) for p in named)
        for name in set(_keywords(self._jacobian)) - {p.name for p in self.parameters}:
            raise self._wrong(f"takes '{name}', which the law does not have", self._jacobian)

    @property
    def name(self) -> str:
        """Name of the function."""
        return str(self.function.__name__)

    @property
    def parameters(self) -> tuple[LawParameter, ...]:
        """Its parameters, in the order of the function."""
        return self._parameters

    def recipe(self) -> None:
        """None: no file holds a function."""

    def replace(self, **values: float) -> Self:
        """The same law with other values of some parameters, each in its unit; nothing is compiled again."""
        names = [p.name for p in self.parameters]
        for name in values:
            if name not in names:
                raise self._wrong(f"has no parameter {name!r:.60}; it has {', '.join(names) or 'none'}")
        changed = object.__new__(type(self))
        changed.__dict__.update(self.__dict__)
        changed._parameters = tuple(self._within(p, values.get(p.name, p.value)) for p in self.parameters)
        return changed

    @property
    def values(self) -> list[float]:
        """Values of the parameters, each in its unit."""
        return [p.value for p in self.parameters]

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{p.name}={p.value!r}' for p in self.parameters)})"

    def __reduce__(self) -> NoReturn:
        what = "was compiled from a function in this process and cannot be pickled"
        raise SimulationError(f"{self.kind} '{self.name}' {what}; make it again in the other process")

    def __deepcopy__(self, memo: object) -> Self:
        return self  # immutable, and its code is alive as long as it is

    def _law(
        self, key: Any, examples: Sequence[Any], build: Any, wanted: Mapping[int, Sequence[int]], offset: int = 0
    ) -> Law:
        """The compiled law, kept under a key: `build` makes it of the adapted function, its count, and its Jacobian.

        examples: arguments to try the function with. wanted: how many numbers the function may return, and how many the
        Jacobian then. offset: where its parameters begin in par.
        """
        if key not in self._laws:
            call, count = self._adapted(self.function, examples, offset, tuple(wanted), self.returns)
            slopes = None
            if self._jacobian is not None:
                words = f"{' or '.join(map(str, wanted[count]))} derivatives, by rows"
                slopes, _ = self._adapted(self._jacobian, examples, offset, wanted[count], words)
            try:
                law: Law = build(call, count, slopes)
                _ = law.address
            except Exception as error:  # Numba raises more than its own errors
                raise self._wrong(f"does not compile: {_reason(error)}; it must return {self.returns}") from None
            self._laws[key] = law
        return self._laws[key]

    def _adapted(
        self, function: FunctionType, examples: Sequence[Any], offset: int, counts: Sequence[int], words: str
    ) -> tuple[Any, int]:
        """A function as one of (x, par), tried and compiled, and how many numbers it returns."""
        from grouser._kernels.own_law import adapt

        keywords, given = _keywords(function), {p.name: p.value for p in self.parameters}
        places = [offset + list(given).index(name) for name in keywords]
        found = counts[0]
        try:
            # In plain Python an index beyond an array is an error; compiled code reads whatever lies there.
            with np.errstate(all="ignore"):
                arguments = (np.copy(e) if np.ndim(e) else e for e in examples)
                found = _count(function(*arguments, **{name: given[name] for name in keywords}))
        except IndexError as error:
            raise self._wrong(f"reaches beyond the end of an array: {error}", function) from None
        except Exception:  # such as a division by zero, which compiled code lets pass; its rollout ends with a status
            pass
        if found in counts:
            try:
                call, typed = adapt(_positional(function), examples, places)
            except Exception as error:
                raise self._wrong(f"does not compile: {_reason(error)}", function) from None
            found = typed if typed >= 0 else found
        if found not in counts:
            said = f"{found} number{'s' if found > 1 else ''}" if found else "no numbers"
            raise self._wrong(f"returns {said}; it must return {words}", function)
        return call, found

    def _checked(self, function: Any) -> FunctionType:
        """A function that takes the leading arguments of this kind of law."""
        wanted = (*self.arguments, *self.memory, *(("dt",) if self.memory else ()))
        plain = getattr(function, "py_func", function)
        if not isinstance(plain, FunctionType):
            raise self.error(f"{self.kind}: {checks.shown(function)} is not a Python function of ({', '.join(wanted)})")
        leading = [p for p in inspect.signature(plain).parameters.values() if p.kind is not p.KEYWORD_ONLY]
        if len(leading) != len(wanted) or any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in leading):
            takes, must = ", ".join(p.name for p in leading), ", ".join(wanted)
            words = f"takes ({takes}), and must take ({must}) and after a * its parameters"
            raise self.error(f"{self.kind} '{plain.__name__}' {words}")
        return plain

    def _within(self, parameter: LawParameter, value: Any) -> LawParameter:
        try:
            number = checks.number(value, parameter.name)
        except SimulationError as error:
            raise self._wrong(f"has no value for parameter {error}; write {parameter.name}=gr.param(1.0)") from None
        if not parameter.low <= number <= parameter.high:
            bounds = f"{parameter.low:g} and {parameter.high:g} {parameter.unit}"
            raise self._wrong(f"does not take {parameter.name}: {number:g} is not between {bounds}")
        return parameter._replace(value=number)

    def _wrong(self, what: str, function: Function | None = None) -> GrouserError:
        which = "jacobian of " if function is not None and function is self._jacobian else ""
        return self.error(f"{which}{self.kind} '{self.name}' {what}")


def _plain(value: Any) -> Any:
    """A setting as in JSON."""
    if isinstance(value, Parametric):
        return value.recipe()
    if isinstance(value, (tuple, list)):
        return [_plain(one) for one in value]
    return float(value) if isinstance(value, np.floating) else value


def decorated(kind: Callable[..., Any], function: Function | None, **options: Any) -> Any:
    """A law of a function, or the decorator that makes one."""
    return partial(kind, **options) if function is None else kind(function, **options)


def _positional(function: FunctionType) -> FunctionType:
    """The function with its keyword-only arguments behind the others, as Numba takes them."""
    code = function.__code__
    code = code.replace(co_argcount=code.co_argcount + code.co_kwonlyargcount, co_kwonlyargcount=0)
    return FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)


def _keywords(function: FunctionType | None) -> tuple[str, ...]:
    """Names of the keyword-only arguments."""
    if function is None:
        return ()
    code = function.__code__
    return code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]


def _count(found: Any) -> int:
    """How many numbers a function returned; 0 if it holds anything else."""
    if isinstance(found, (tuple, list)):
        parts = [_count(one) for one in found]
        return sum(parts) if all(parts) else 0
    try:
        return np.size(np.asarray(found, dtype=np.float64)) if found is not None else 0
    except (TypeError, ValueError):
        return 0


def _reason(error: Exception) -> str:
    """The one line of a Numba message that says what is wrong."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("Failed in", "-", "During:"))]
    return (telling or lines or [type(error).__name__])[0].rstrip(".")[:300]
