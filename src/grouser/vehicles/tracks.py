"""A track: a row of road wheels that one motor turns alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grouser.checks import set_checked
from grouser.vehicles.rows import Frame, checked, wheel_inertia

MOST_WHEELS = 50


@dataclass(frozen=True)
class Track:
    """A row of equal wheels along x that a belt turns alike; `frames` are what a vehicle gets of it.

    The first wheel, in front, has the track's name: it is the joint that a motor turns, a log measures and a command
    drives. The others turn with it. The ground is touched at each wheel; between two the belt does not touch it, so
    take as many wheels as the belt is to bear on stones between them.
    """

    name: str
    """Name of the track, of its joint and of its front wheel; the other wheels are `name`_2, `name`_3, …"""
    frame: str
    """Name of the frame it is attached to, such as the body."""
    xyz: Sequence[float]
    """Middle of the row, between the first and the last axle, in that frame [m]."""
    length: float
    """Distance from the first to the last axle [m], > 0."""
    radius: float
    """Radius of the wheels with the belt on them [m], > 0."""
    mass: float
    """Mass of the belt and all its wheels [kg], > 0; each wheel is a solid cylinder of its share of it."""
    wheels: int = 5
    """Number of wheels, at least 2."""
    width: float | None = None
    """Width of the belt [m], > 0; None: the radius, in the inertia of the wheels alone."""
    actuated: bool = True
    """Whether a motor drives it."""

    def __post_init__(self) -> None:
        where = f"track '{checked.name(self.name, 'track')}', field"
        checked.name(self.frame, f"{where} frame")
        set_checked(self, where, checked.numbers, "xyz", count=3)
        set_checked(self, where, checked.positive, "length", "radius", "mass", "width")
        set_checked(self, where, checked.count, "wheels", least=2, most=MOST_WHEELS)
        checked.flag(self.actuated, f"{where} actuated")

    @property
    def frames(self) -> tuple[Frame, ...]:
        """Its wheels, the front one first."""
        x, y, z = self.xyz
        mass = self.mass / self.wheels
        inertia = wheel_inertia(mass, self.radius, self.radius if self.width is None else self.width)
        return tuple(
            Frame(
                name=f"{self.name}_{k + 1}" if k else self.name,
                parent=self.frame,
                joint="RY",
                actuated=self.actuated and k == 0,
                xyz=(x + self.length * (0.5 - k / (self.wheels - 1)), y, z),
                mass=mass,
                inertia=inertia,
                radius=self.radius,
                width=self.width,
                turns_with=self.name if k else None,
            )
            for k in range(self.wheels)
        )
