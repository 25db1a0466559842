"""The rows of a study: which ground, soil, drive and which values of the parameters each of them has."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from grouser import terrain
from grouser.checks import Checker, FloatArray, nearest, shown
from grouser.errors import GrouserError, StudyError
from grouser.motion.fit import Fit
from grouser.motion.on_ground import engine_model
from grouser.motion.parameters import ParameterVector, available, unit_of
from grouser.simulation.simulate import step_count
from grouser.study.design import METHODS, Design
from grouser.study.drives import OF_DRIVE, Driven
from grouser.study.laws import base_models, refuse_name
from grouser.study.measures import Measure, measures_of
from grouser.study.quantity import LEFT_OUT, FitDraws, Quantity
from grouser.study.spec import Spec
from grouser.terrain import Terrain
from grouser.terrain.source import covers
from grouser.terrain.spec import KINDS, file_of

checks = Checker(StudyError)
OF_START = {"start.x": "m", "start.y": "m", "start.yaw": "rad"}
OF_GROUND = {"deg": "1", "heading_deg": "1", "height": "m", "rms": "m", "length": "m", "seed": "1", "width": "m"}
"""Keys of a ground written in one line that may vary, as ground.deg; degrees where a name says so."""
NAMED = ("ground", "soil", "drive")
COLUMNS = ("row", "variant", *NAMED, "status", "reason", "seed", "version")
"""Columns of the rows besides parameters and measures."""
PLANNED = ("goal", "minimise", "risk", "samples", "draws", "reached")
"""What a study may say of its plans."""
MOST_ROWS = 10**12
COST = {"kinematic": 3.5, "dynamic": 12.0}
"""Time of a step by model [µs], from which the size of a chunk follows."""
SOIL_COST = 25.0
"""Time of a dynamic step in soil [µs]."""
CHUNK_TIME = 2e6
"""Work of a chunk [µs]: what is lost when it is interrupted."""
LARGEST_CHUNK = 8192


class Inputs(NamedTuple):
    """What some rows are made of."""

    row: np.ndarray
    variant: np.ndarray
    ground: np.ndarray
    soil: np.ndarray
    drive: np.ndarray
    """Numbers of ground, soil and drive in the order of the study, (n,) each."""
    values: FloatArray
    """Values of the parameters, (n, number of parameters), in their units."""


class Variants:
    """A study made ready: its parameters, its rows, the models, grounds and drives they need."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        fields = spec.fields
        self.models = base_models(spec)
        self.soils, self.grounds = tuple(self.models), tuple(fields["grounds"])
        self.dynamic = bool(getattr(next(iter(self.models.values())).model, "dynamic", False))
        self.drives = {name: Driven.of(drive, f"drives.{name}") for name, drive in fields["drives"].items()}
        self.measures: dict[str, Measure] = measures_of(spec, self.dynamic)
        self.steps, self.dt = step_count(fields["duration"], fields["dt"]), float(fields["dt"])
        self._check_grounds()
        if fields["plan"]:
            _check_plan(fields["plan"])
        self.quantities, self.fit = self._parameters()
        self.names = tuple(self.quantities) + (self.fit.names if self.fit else ())
        for name in self.measures:
            if name in (*COLUMNS, *self.names):
                raise StudyError(f"measures.{name}: is the name of another column of the rows; give another name")
        self.units = {name: q.unit for name, q in self.quantities.items()}
        base = next(iter(self.models.values()))
        self.units |= {name: unit_of(base, name) for name in (self.fit.names if self.fit else ())}
        self.design = self._design()
        if self.rows > MOST_ROWS:
            raise StudyError(f"the study has {self.rows} rows; at most {MOST_ROWS} are run")

    @property
    def combinations(self) -> int:
        """Rows of each variant: every ground with every soil and drive."""
        return len(self.grounds) * len(self.soils) * len(self.drives)

    @property
    def rows(self) -> int:
        """Runs of the study."""
        return self.design.variants * self.combinations

    @cached_property
    def chunk(self) -> int:
        """Rows of a chunk, a power of two."""
        given = checks.count(self.spec.fields["sampling"]["chunk"], "sampling, chunk", least=0, most=2**20)
        if given:
            if given & (given - 1):
                raise StudyError(f"sampling, chunk: {given} is not a power of two, such as 64 or 256")
            return int(given)
        soil = any("Ishigami" in repr(getattr(m.model, "contact", None))[:20] for m in self.models.values())
        step = SOIL_COST if soil else COST["dynamic" if self.dynamic else "kinematic"]
        tries = max([1, *(m.tries for m in self.measures.values())])
        plan = 2e6 if self.spec.fields["plan"] else 0.0
        most = max(1, min(LARGEST_CHUNK, int(CHUNK_TIME / (step * self.steps * tries + plan))))
        return int(2 ** (most.bit_length() - 1))

    def inputs(self, first: int, last: int) -> Inputs:
        """What the rows from first to before last are made of."""
        row = np.arange(first, last)
        variant, rest = np.divmod(row, self.combinations)
        ground, rest = np.divmod(rest, len(self.soils) * len(self.drives))
        soil, drive = np.divmod(rest, len(self.drives))
        used, where = (variant, slice(None)) if self.combinations == 1 else np.unique(variant, return_inverse=True)
        u = self.design.levels(used)
        columns, k = [], 0
        for q in self.quantities.values():
            if not q.varies:
                columns.append(np.full(len(used), q.numbers[0]))
                continue
            grid = self.design.method == "grid"
            columns.append(q.levels()[(u[:, k] * self.design.sizes[k]).astype(np.int64)] if grid else q.values(u[:, k]))
            k += 1
        if "ground.seed" in self.quantities:  # drawn from a range: whole numbers, as the ground takes them
            which = list(self.quantities).index("ground.seed")
            columns[which] = np.floor(columns[which])
        if self.fit is not None:
            columns += list(self.fit.values(u[:, k:]).T)
        values = np.stack(columns, axis=1)[where] if columns else np.empty((len(row), 0))
        return Inputs(row, variant, ground, soil, drive, values)

    def seeds(self, row: np.ndarray) -> np.ndarray:
        """A seed of its own for each row, 0 … 2⁶³ − 1: SplitMix64 of the study's seed and the number of the row."""
        with np.errstate(over="ignore"):
            golden = np.uint64(0x9E3779B97F4A7C15)
            first = np.uint64(self.spec.fields["seed"]) * np.uint64(0xD1342543DE82EF95)
            z = first + (row.astype(np.uint64) + 1) * golden
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            return ((z ^ (z >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)

    @cached_property
    def of_model(self) -> list[int]:
        """Columns of parameters that are of the vehicle or a law."""
        mine = ("drive.", "start.", "ground.")
        return [k for k, name in enumerate(self.names) if not name.startswith(mine)]

    @cached_property
    def of_ground(self) -> list[int]:
        """Columns that are of the ground."""
        return [k for k, name in enumerate(self.names) if name.startswith("ground.")]

    @cached_property
    def vectors(self) -> list[ParameterVector]:
        """The numbers of the models by name, one a soil."""
        return [ParameterVector(m, [self.names[k] for k in self.of_model]) for m in self.models.values()]

    def model(self, soil: int, values: FloatArray) -> Any:
        """The model on a soil with a row's values (all parameters)."""
        if not self.of_model:
            return engine_model(list(self.models.values())[soil])
        return engine_model(self.vectors[soil].model(values[self.of_model]))

    def ground(self, ground: int, values: FloatArray) -> Terrain:
        """A ground with a row's values (all parameters)."""
        text = self.spec.fields["grounds"][self.grounds[ground]]
        given = {self.names[k].partition(".")[2]: float(values[k]) for k in self.of_ground}
        file = file_of(text)
        if file is not None and file in self.spec.files:
            text = str(self.spec.path(file)) + text.strip()[len(file) :]
        elif given:
            kind, _, rest = text.partition(":")
            keys = dict(part.split("=", 1) for part in rest.split(",") if "=" in part)
            keys |= {key: str(int(v)) if key == "seed" else repr(v) for key, v in given.items()}
            text = kind + ":" + ",".join(f"{key.strip()}={value}" for key, value in keys.items())
        return _ground(text)

    def _check_grounds(self) -> None:
        for name, text in self.spec.fields["grounds"].items():
            if not isinstance(text, str):
                raise StudyError(f"grounds.{name}: {shown(text)} is not a ground, such as rough:rms=.1,length=1,seed=1")
            if file_of(text) not in self.spec.files:
                _ground(text)  # one that is written wrong is refused now, not in every row
            elif not {"start.x", "start.y"} & set(self.spec.fields["parameters"]):
                self._check_start(name)
        if not self.grounds or not self.drives:
            raise StudyError("the study is empty: it has no ground or no drive; give at least one of each")

    def _check_start(self, name: str) -> None:
        """Refuse a start outside a map; coordinates of a survey are far from the origin."""
        x, y, _ = self.spec.fields["start"]
        text = self.spec.fields["grounds"][name]
        file = file_of(text)
        assert file is not None
        map_ = _ground(str(self.spec.path(file)) + text.strip()[len(file) :])
        xmin, xmax, ymin, ymax = map_.bounds
        if not (xmin <= x <= xmax and ymin <= y <= ymax):
            raise StudyError(
                f"start: x = {x:.10g}, y = {y:.10g} m is not on ground '{name}', which lies within "
                f"{covers(map_.bounds)}; "
                f"give another, such as start = [{0.5 * (xmin + xmax):.10g}, {0.5 * (ymin + ymax):.10g}, 0]"
            )

    def _parameters(self) -> tuple[dict[str, Quantity], FitDraws | None]:
        fields, base = self.spec.fields, next(iter(self.models.values()))
        law_names = [n for n in available(base) if n.partition(".")[0] not in LEFT_OUT]
        kinds = [str(g).partition(":")[0] for g in fields["grounds"].values()]
        shared = [key for key in OF_GROUND if all(key in KINDS.get(kind, ("", {}, ()))[1] for kind in kinds)]
        own = {
            **({} if fields["plan"] else OF_DRIVE),
            **OF_START,
            **{f"ground.{key}": OF_GROUND[key] for key in shared},
        }
        found: dict[str, Quantity] = {}
        for name, given in fields["parameters"].items():
            if name in own:
                unit = own[name]
            else:
                try:
                    ParameterVector(base, [name])
                    unit = unit_of(base, name)
                except GrouserError:
                    raise refuse_name(name, [*own, *law_names]) from None
            found[name] = Quantity.of(name, given, unit)
            if name == "ground.seed" and found[name].form in ("fixed", "values"):
                for one in found[name].numbers:
                    checks.count(one, name, least=0, most=2**53)
        fit = None
        if fields["fit"]:
            fit = FitDraws.of(Fit.load_for(self.spec.path(fields["fit"]), terrain.plane()), list(found), fields["fit"])
            try:
                ParameterVector(base, fit.names)
            except GrouserError as error:
                raise StudyError(f"fit: {error}") from None
        return found, fit

    def _design(self) -> Design:
        sampling = self.spec.fields["sampling"]
        method = checks.choice(sampling["method"], "sampling, method", METHODS)
        varied = [q for q in self.quantities.values() if q.varies]
        self.varied = tuple(q.name for q in varied) + (self.fit.names if self.fit else ())
        dims = len(varied) + (len(self.fit.names) if self.fit else 0)
        if method == "grid":
            if self.fit is not None:
                raise StudyError("sampling, method: a fit is drawn, not laid on a grid; use latin, sobol or random")
            return Design(method, 1, dims, 0, tuple(len(q.levels()) for q in varied))
        runs = checks.count(sampling["runs"], "sampling, runs", most=MOST_ROWS)
        if method == "saltelli" and self.fit is not None:
            what = "saltelli needs independent parameters, and those of a fit are correlated"
            raise StudyError(f"sampling, method: {what}; use latin, sobol or random")
        if method == "saltelli" and dims == 0:
            raise StudyError("sampling, method: saltelli needs parameters that vary; give some, or use random")
        return Design(method, runs, dims, self.spec.fields["seed"])


def _check_plan(given: Mapping[str, Any]) -> None:
    for name in given:
        if name not in PLANNED:
            raise StudyError(f"plan: has no '{name:.40}'; {nearest(name, PLANNED)}it has {', '.join(PLANNED)}")
    goal = checks.rows(given.get("goal", ()), object, "plan, goal", "numbers")
    if len(goal) not in (2, 3):
        raise StudyError("plan: needs a goal of x, y [m] and maybe yaw [rad], such as goal = [5.0, 2.0]")
    checks.numbers(goal, len(goal), "plan, goal")


@lru_cache(maxsize=32)
def _ground(text: str) -> Terrain:
    return terrain.parse(text)
