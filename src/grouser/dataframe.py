"""Tables for pandas: named columns with units, indexed by time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grouser.errors import GrouserError

if TYPE_CHECKING:
    from pandas import DataFrame


class Column(NamedTuple):
    """One column of a table."""

    name: str
    unit: str
    """SI unit of its numbers; "" for what has none."""
    values: NDArray[Any]
    """Shape (n,)."""


def data_frame(index: Column, columns: Iterable[Column]) -> DataFrame:
    """A pandas table; `table.attrs["units"]` maps the names of the index and of each column to units."""
    try:
        import pandas
    except ImportError:
        raise GrouserError("a table for pandas needs pandas; run: pip install grouser[pandas]") from None
    several = list(columns)
    # Copies, so that writing into the table never changes the run or log it came from.
    rows = pandas.Index(np.array(index.values), name=index.name)
    table = pandas.DataFrame({name: np.array(values) for name, _, values in several}, index=rows)
    table.attrs["units"] = {name: unit for name, unit, _ in (index, *several)}
    return table
