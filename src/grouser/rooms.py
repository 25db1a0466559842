"""Work space that is lent to one caller at a time and used again: to make it takes longer than most calls."""

from __future__ import annotations

from grouser._kernels.dynamics.scratch import DynamicModel, DynamicScratch, make_dynamic_scratch
from grouser._kernels.scratch import Scratch, make_scratch
from grouser._kernels.vehicles.arrays import VehicleArrays
from grouser.once import once_each


def take_scratch(vehicle: VehicleArrays) -> Scratch:
    """Work space of the kernels for a vehicle, which no one else has meanwhile; entries clear it."""
    try:
        return _free(vehicle).pop()
    except IndexError:
        return make_scratch(vehicle)


def give_scratch(vehicle: VehicleArrays, scratch: Scratch) -> None:
    """Lend it to the next who asks. After an error it need not be given back."""
    _free(vehicle).append(scratch)


def take_dynamic_scratch(vehicle: VehicleArrays, model: DynamicModel) -> DynamicScratch:
    """As `take_scratch`, for the steps of a dynamic model."""
    try:
        return _free_dynamic(model).pop()
    except IndexError:
        return make_dynamic_scratch(vehicle, model)


def give_dynamic_scratch(model: DynamicModel, scratch: DynamicScratch) -> None:
    """As `give_scratch`."""
    _free_dynamic(model).append(scratch)


@once_each
def _free(vehicle: VehicleArrays) -> list[Scratch]:
    return []


@once_each
def _free_dynamic(model: DynamicModel) -> list[DynamicScratch]:
    return []
