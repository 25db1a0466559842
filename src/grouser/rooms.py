"""Work space that is lent to one caller at a time and used again: to make it takes longer than most calls."""

from __future__ import annotations

from grouser._kernels.scratch import Scratch, make_scratch
from grouser._kernels.vehicle import VehicleArrays
from grouser.once import once_each


def take_scratch(vehicle: VehicleArrays) -> Scratch:
    """Work space of the kernels for a vehicle, which no one else has meanwhile; entries clear it."""
    try:
        return _free(vehicle).pop()
    except IndexError:
        made: Scratch = make_scratch(vehicle)
        return made


def give_scratch(vehicle: VehicleArrays, scratch: Scratch) -> None:
    """Lend it to the next who asks. After an error it need not be given back."""
    _free(vehicle).append(scratch)


@once_each
def _free(vehicle: VehicleArrays) -> list[Scratch]:
    return []
