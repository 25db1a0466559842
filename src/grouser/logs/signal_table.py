"""Source and unit of a signal of a log; kinds of fields of a manifest."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

Finite = Annotated[float, Field(ge=-1e12, le=1e12, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0.0, le=1e12, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0.0, le=1e12, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=-60.0, le=60.0, allow_inf_nan=False)]
Vector = Annotated[list[Finite], Field(min_length=3, max_length=3)]
"""Three numbers x, y, z."""
DEGREE = math.pi / 180.0
TURN = 2.0 * math.pi
CLOCK = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
LENGTH = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "km": 1e3}
ANGLE = {"rad": 1.0, "mrad": 1e-3, "deg": DEGREE, "rev": TURN}
DEGREES = {"deg": 1.0, "rad": 1.0 / DEGREE}
LENGTH_SIGMA = {**LENGTH, "m^2": 1.0}
SPEED = {"m/s": 1.0, "cm/s": 1e-2, "mm/s": 1e-3, "km/h": 1.0 / 3.6}
TURNING = {"rad/s": 1.0, "mrad/s": 1e-3, "deg/s": DEGREE, "rev/s": TURN, "rpm": TURN / 60.0}
CURRENT = {"A": 1.0, "mA": 1e-3}
EFFORT = {"N m": 1.0, "N": 1.0}
FORCE = {"m/s^2": 1.0, "m/s²": 1.0, "mm/s^2": 1e-3, "g": 9.80665}
UNITS: dict[str, dict[str, float]] = {
    "angles": {**ANGLE, **LENGTH}, "attitude": ANGLE, "gyro": TURNING, "acceleration": FORCE,
    "currents": CURRENT, "efforts": EFFORT,
    "body_command.speed": SPEED, "body_command.turn": TURNING,
    **dict.fromkeys(("pose.x", "pose.y", "pose.z"), LENGTH),
    **dict.fromkeys(("pose.roll", "pose.pitch", "pose.yaw", "pose.heading"), ANGLE),
    **dict.fromkeys(("pose.latitude", "pose.longitude"), DEGREES), "pose.altitude": LENGTH,
    **dict.fromkeys(("pose.sigma_x", "pose.sigma_y"), LENGTH_SIGMA),
    "pose.sigma_yaw": {**ANGLE, "rad^2": 1.0, "deg^2": DEGREE**2},
}  # fmt: skip
"""Units of a table or of one of its signals, with their factor to SI; those of rates and commands go by their kind."""


class Table(BaseModel):
    """A table of the file: no unknown keys, no conversion of text to numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Signal(Table):
    """Source of a signal, and the meaning of its numbers: value = sign · scale · number · unit."""

    column: str | int | None = None
    """Column of a CSV by name, or by index from 0."""
    topic: str | None = None
    """Topic of a bag."""
    field: str | None = None
    """Path inside the topic's messages: "twist.twist.linear.x"."""
    joint: str | None = None
    """Joint of a sensor_msgs/JointState; `field` is then position, velocity or effort."""
    unit: str | None = None
    """Unit of the numbers; SI if left out."""
    sign: Literal[1, -1] = 1
    """−1 turns the signal round."""
    scale: Finite = 1.0
    """Factor, e.g. radians per encoder count."""
    lag: Seconds = 0.0
    """A value stamped t was true at t − lag [s]; it is moved there, inside segments only."""
    ticks_per_turn: Positive | None = None
    """Counts of an encoder for one turn of its shaft, instead of a unit."""
    gear: Positive | None = None
    """Turns of that shaft, or of the motor, for one turn of the joint."""
    wraps: Positive | None = None
    """A position wraps to zero after so many counts, or so much of its unit: 65536 of a counter of 16 bits."""
    kind: Literal["rate", "increment", "position"] | None = None
    """Source of a rate: itself, a count since the last sample, or a position that is differenced."""

    @model_validator(mode="after")
    def _one_source(self) -> Signal:
        if (self.column is None) == (self.topic is None):
            raise ValueError("needs either column (of a CSV) or topic (of a bag)")
        if self.topic is None and (self.field is not None or self.joint is not None):
            raise ValueError("field and joint belong to a topic, a CSV has a column")
        if self.topic is not None and self.field is None:
            raise ValueError("needs a field, the path inside the topic's messages")
        if isinstance(self.column, int) and self.column < 0:
            raise ValueError("a column's index counts from 0")
        if self.ticks_per_turn is not None and self.unit is not None:
            raise ValueError("has both ticks_per_turn and unit; ticks have no other unit, give one")
        if self.wraps is not None and self.kind != "position":
            raise ValueError('has wraps, which is of positions; add kind = "position"')
        return self

    def units(self, key: str) -> dict[str, float]:
        """The units it may have under a key of the manifest, "rates.FL", with their factor to SI."""
        table = key.split(".", 1)[0]
        if table in ("rates", "commands"):
            return {**TURNING, **SPEED} if self.kind in (None, "rate") else {**ANGLE, **LENGTH}
        return UNITS.get(key, UNITS.get(table, {"1": 1.0}))

    def factor(self, key: str, word: str | None = None) -> float:
        """Factor from a number to SI: sign · scale · unit in SI, or turns of an encoder, by gear.

        word: the unit that a heading says, where the manifest does not.
        """
        unit = word if self.unit is None else self.unit
        size = 1.0 if unit is None else self.units(key)[unit]
        if self.ticks_per_turn is not None:
            size = TURN / self.ticks_per_turn
        return self.sign * self.scale * size / (self.gear or 1.0)

    @property
    def says_unit(self) -> bool:
        """Whether the manifest gives the unit of the numbers."""
        return self.unit is not None or self.scale != 1.0 or self.ticks_per_turn is not None

    @property
    def source(self) -> str:
        """The column or topic, for messages."""
        if self.topic is None:
            return f"column {self.column}"
        return f"topic {self.topic} {self.field}" + (f" of {self.joint}" if self.joint else "")


def _as_table(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("should be a column's name, its index, or a table with column = …")
    return {"column": value} if isinstance(value, (str, int)) else value


Source = Annotated[Signal, BeforeValidator(_as_table)]


def given(table: Any) -> list[tuple[str, Signal]]:
    """The signals of a table, by name."""
    pairs = table.items() if isinstance(table, dict) else table or ()
    return [(name, signal) for name, signal in pairs if isinstance(signal, Signal)]
