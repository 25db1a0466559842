"""Results of a study: rows, their statuses, and the sensitivity of measures to parameters."""

from __future__ import annotations

import os
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.checks import FloatArray, nearest
from grouser.errors import StudyError
from grouser.pictures import draw
from grouser.study.folder import Folder, arrow
from grouser.study.sensitivity import Indices, sobol_indices
from grouser.study.spec import Spec
from grouser.study.variants import NAMED

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

MOST_VALUES = 400_000_000
"""Numbers that fit in memory at once (3.2 GB)."""


class Results:
    """Rows of a study, as far as they were run."""

    def __init__(self, folder: Folder, *, run_rows: int = 0, seconds: float = 0.0) -> None:
        self.folder = folder
        self.run_rows, self.seconds = run_rows, seconds
        """Rows that were run now, and how long that took [s]."""
        self.spec = Spec.from_manifest(folder.manifest)
        self.units: dict[str, str] = dict(folder.manifest["units"])
        """Units of parameters and measures."""
        self.parameters: tuple[str, ...] = tuple(folder.manifest["columns"]["parameters"])
        self.varied: tuple[str, ...] = tuple(folder.manifest["columns"]["varied"])
        """Parameters that take more than one value."""
        self.measures: tuple[str, ...] = tuple(folder.manifest["columns"]["measures"])

    @cached_property
    def table(self) -> Any:
        """All rows as a pyarrow table."""
        if self.folder.rows * (len(self.parameters) + len(self.measures) + 9) > MOST_VALUES:
            raise StudyError(
                f"{self.folder.path}: {self.folder.rows} rows do not fit in memory; read its chunks one by one"
            )
        parts = list(self.folder.tables())
        if not parts:
            raise StudyError(f"{self.folder.path}: no chunk of the study has been run yet; run it first")
        return arrow().concat_tables(parts)

    @property
    def rows(self) -> int:
        """Rows that are there."""
        return int(self.table.num_rows)

    @property
    def complete(self) -> bool:
        """Whether all rows are there."""
        return self.rows == self.folder.rows

    def column(self, name: str) -> np.ndarray:
        """Values of a column, (rows,), in its unit."""
        return np.asarray(self.table.column(name).to_numpy(zero_copy_only=False))

    @cached_property
    def by(self) -> dict[str, np.ndarray]:
        """Rows of each combination of ground, soil and drive by its name; "all" where there is one."""
        kinds = [(name, self.column(name)) for name in NAMED if len(set(self.column(name).tolist())) > 1]
        if not kinds:
            return {"all": np.arange(self.rows)}
        names = np.array([", ".join(one) for one in zip(*(values.tolist() for _, values in kinds), strict=True)])
        return {name: np.flatnonzero(names == name) for name in dict.fromkeys(names.tolist())}

    def measure(self, name: str | None = None) -> str:
        """A measure by its name; None is the first."""
        if name is None:
            return self.measures[0]
        if name not in self.measures:
            hint = nearest(name, self.measures)
            raise StudyError(f"measure: none is called '{name:.40}'; {hint}there are {', '.join(self.measures)}")
        return name

    def indices(self, measure: str | None = None) -> dict[str, Indices] | None:
        """First-order and total Sobol indices of the varied parameters by combination; None without such a design."""
        if self.spec.fields["sampling"]["method"] != "saltelli" or not self.complete:
            return None
        d, y = len(self.varied), self.column(self.measure(measure))
        made = {}
        for name, rows in self.by.items():
            f: FloatArray = y[rows].reshape(-1, d + 2)
            made[name] = sobol_indices(f[:, 0], f[:, 1], f[:, 2:])
        return made

    def counts(self) -> dict[str, int]:
        """Rows by status."""
        return dict(Counter(self.column("status").tolist()).most_common())

    def reasons(self, most: int = 10) -> list[tuple[str, str, int]]:
        """Status, reason and number of rows that did not end ok, the most frequent first."""
        status, reason = self.column("status").tolist(), self.column("reason").tolist()
        found = Counter(pair for pair in zip(status, reason, strict=True) if pair[0] != "ok")
        return [(s, r, n) for (s, r), n in found.most_common(most)]

    def summary(self) -> dict[str, Any]:
        """Plain numbers, as JSON takes them: rows, how they ended, and each measure by combination."""
        measured = {}
        for name in self.measures:
            y = self.column(name)
            measured[name] = {"unit": self.units[name], **{k: _spread(y[rows]) for k, rows in self.by.items()}}
        return {
            "folder": str(self.folder.path), "rows": self.rows, "of": self.folder.rows, "status": self.counts(),
            "reasons": [{"status": s, "reason": r, "rows": n} for s, r, n in self.reasons()],
            "rows_run_now": self.run_rows, "seconds": round(self.seconds, 3), "measures": measured,
        }  # fmt: skip

    def to_pandas(self) -> DataFrame:
        """One row a run; `attrs["units"]` maps parameters and measures to units."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise StudyError("a table for pandas needs pandas; run: pip install grouser[pandas]") from None
        made = self.table.to_pandas()
        made.attrs["units"] = dict(self.units)
        return made

    def plot(self, path: str | os.PathLike[str] | None = None, *, measure: str | None = None) -> Figure:
        """Response curves of a measure with 95 % bands, and what it depends on; saved if a path is given."""
        figure: Figure = draw("study", self, path, measure=self.measure(measure))
        return figure

    def report(self, path: str | os.PathLike[str], *, command: str = "") -> Path:
        """One HTML page with numbers, response curves, pair plots and Sobol indices."""
        made: Path = draw("study report", self, command=command).write(path)
        return made


def _spread(y: FloatArray) -> dict[str, Any]:
    """Mean, standard deviation and quantiles of the finite values."""
    good = y[np.isfinite(y)]
    if len(good) == 0:
        return {"rows": 0}
    q = np.quantile(good, (0.05, 0.5, 0.95)).tolist()
    spread = {"mean": float(good.mean()), "std": float(good.std()), "p05": q[0], "median": q[1], "p95": q[2]}
    return {"rows": len(good), **spread}
