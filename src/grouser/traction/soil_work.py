"""The soil's work in a run: what motors must give beyond the force at the rim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from grouser import checks
from grouser.checks import FloatArray
from grouser.collision.contacts import rolling_radius
from grouser.contact.base import Wheel
from grouser.dynamics import Dynamics
from grouser.errors import SimulationError
from grouser.simulation import Run


@dataclass(frozen=True)
class SoilWork:
    """Torque and power of the wheels of a run, wheels in the order of `vehicle.wheels`.

    The run itself is as it was: its motors did not feel `missing_torque`. Where they are strong enough to hold their
    rates it would have been the same with it; one near its torque limit would have turned slower.
    """

    torque: FloatArray
    """Torque of the ground about each axle [N m], positive against spinning ahead, shape (T, nw)."""
    power: FloatArray
    """That torque times the rate of the wheel [W], shape (T, nw)."""
    missing_torque: FloatArray
    """Part of the torque that the run's motors lack [N m], shape (T, nw): all but R f_x and rolling resistance.
    Zero for laws whose force acts at the contact point."""
    motor_power: FloatArray
    """`run.power` with the missing torque added at every driven wheel [W], shape (T, na). What soil takes from a wheel
    without a motor is in none of them."""


def soil_work(run: Run, model: Dynamics) -> SoilWork:
    """The soil's torque on every wheel of a run, and the power its motors would need.

    run: of the dynamic model. model: the one it was simulated with, whose contact gives the torque, see
    `Contact.axle_torque`. Contacts are those at the recorded states.
    """
    checks.instance(run, Run, "run", "use what grouser.simulate(…) returns")
    checks.instance(model, Dynamics, "model", "use the grouser.Dynamics(…) that was simulated")
    if run.torque is None or run.power is None:
        raise SimulationError("run: a kinematic model has no torque; simulate a grouser.Dynamics(…)")
    vehicle = model.vehicle
    if run.vehicle.frames != vehicle.frames:
        raise SimulationError(f"model: is of '{vehicle.name}', the run of '{run.vehicle.name}', or of another version")
    contact = f"contact={model.contact!r}"
    if run.model and " at 0x" not in contact and contact not in run.model:
        raise SimulationError(f"model: its {contact:.60}… is not the contact the run was simulated with")
    frames = {frame.name: frame for frame in vehicle.frames}
    spins = [vehicle.joint_index(name) for name in vehicle.wheels]
    rates = run.velocity[:, 6:][:, spins]
    radii = _rolling_radii(run)
    torque, felt = np.empty_like(rates), np.empty_like(rates)
    for w, name in enumerate(vehicle.wheels):
        law = model.contact[name] if isinstance(model.contact, Mapping) else model.contact
        v, r_omega, dz = run.contact.velocity[:, w], radii[:, w] * rates[:, w], run.contact.height_error[:, w]
        wheel: Wheel = {"radius": frames[name].radius, "width": frames[name].width, "load": model.wheel_load}
        torque[:, w] = law.axle_torque(v, r_omega, dz, **wheel)
        f = law.force(v, r_omega, dz, **wheel)
        rolling = np.where(f[:, 2] > 0.0, law.rolling_resistance * r_omega, 0.0)
        felt[:, w] = (frames[name].radius or 0.0) * (f[:, 0] + rolling)
    missing = torque - felt
    motor_power = run.power.copy()
    for a, joint in enumerate(vehicle.arrays.actuated):
        if joint in spins:
            w = spins.index(int(joint))
            motor_power[:, a] += missing[:, w] * rates[:, w]
    return SoilWork(torque=torque, power=torque * rates, missing_torque=missing, motor_power=motor_power)


def _rolling_radii(run: Run) -> FloatArray:
    """Distance of each contact from its axle [m], shape (T, nw); on a round tyre it falls with lean."""
    vehicle = run.vehicle
    frames = {frame.name: frame for frame in vehicle.frames}
    radii: FloatArray = np.tile([float(frames[name].radius or 0.0) for name in vehicle.wheels], (len(run.time), 1))
    if any(frames[name].tyre_radius for name in vehicle.wheels):
        for row, (q, p) in enumerate(zip(run.state, run.contact.point, strict=True)):
            radii[row] = rolling_radius(vehicle, q, p)
    return radii
