"""Kinds of fields that the tables of a manifest have."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Finite = Annotated[float, Field(ge=-1e12, le=1e12, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0.0, le=1e12, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0.0, le=1e12, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=-60.0, le=60.0, allow_inf_nan=False)]
Vector = Annotated[list[Finite], Field(min_length=3, max_length=3)]
"""Three numbers x, y, z."""


class Table(BaseModel):
    """A table of the file: no unknown keys, no conversion of text to numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
