"""One recorded run: arrays with time first, its files, pictures and summary."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser import rotation
from grouser._kernels.constants import GRAVITY
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.pictures import draw
from grouser.simulation.engine import Records
from grouser.simulation.records import ContactRecord, HullRecord, RollingRecord, RutRecord, SolverRecord
from grouser.simulation.samples import Samples, spread_at_end
from grouser.simulation.status import Status
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from grouser.contact import Ruts
    from grouser.dynamics import Dynamics
    from grouser.kinematics import Kinematics, RolloverMargin
    from grouser.simulation.rollout import Rollouts


@dataclass(frozen=True)
class Run:
    """A simulated run. T rows, one per recorded state; velocities and contacts are those at that state."""

    vehicle: Vehicle
    """The vehicle that drove."""
    time: FloatArray
    """[s], shape (T,)."""
    state: FloatArray
    """[quaternion w x y z, position x y z, joints], shape (T, nq)."""
    velocity: FloatArray
    """[ω rad/s, v m/s, joint rates], body coordinates, shape (T, nv)."""
    command: FloatArray
    """Commanded rates of the actuated joints [rad/s or m/s], shape (T, na)."""
    contact: ContactRecord
    """The contacts."""
    status: Status
    """How it ended."""
    steps: int
    """Steps completed."""
    dt: float
    """Step [s]."""
    deficient_steps: int = 0
    """Steps whose constraints left a velocity open; the solution of smallest norm was taken there."""
    torque: FloatArray | None = None
    """Torque of each actuator over the step that begins here [N m], shape (T, na); dynamics only."""
    power: FloatArray | None = None
    """Mean mechanical power of each actuator over that step [W], shape (T, na); dynamics only. Of each wheel:
    `contact.power`."""
    solver: SolverRecord | None = None
    """How each step was solved; dynamics only."""
    hull: HullRecord | None = None
    """How the ground carries the hull; dynamics of a vehicle that has one only."""
    rolling: RollingRecord | None = None
    """Motion of the contacts without slip; of `grouser.rolling` only."""
    ruts: RutRecord | None = None
    """Ruts at the end; None where no soil remembers (`Dynamics.ruts`)."""
    gravity: float = GRAVITY
    """[m/s²]."""
    halved_steps: int = 0
    """Steps that were taken in parts because they did not converge whole, or the body or a joint (not a wheel's) turned
    by more than 0.25 rad in them."""
    model: str = field(default="", compare=False)
    """The model and its settings, as text for people; empty in files of older versions."""
    drive: str = field(default="", compare=False)
    """Its drive: "commands" that do not depend on what it does, a function, a plan; empty in older files."""
    path: FloatArray | None = field(default=None, compare=False)
    """The path it was to follow: corners x, y [m], shape (n, 2); None where its drive knows of no path."""
    ground: Terrain | None = field(default=None, compare=False)
    """The ground it drove on; None after loading a file whose ground could not be stored."""
    samples: Samples | None = field(default=None, compare=False)
    """The same drive with drawn parameters and noise, where a fit drove; a file does not keep it."""

    @classmethod
    def from_records(
        cls, model: Kinematics | Dynamics, ground: Terrain, records: Records, *, dt: float, every: int
    ) -> Run:
        """The first rollout of a batch, cut where it ended; dt: step [s], every: steps per recorded row."""
        rows = int(records.rows[0])
        f = records.forces
        extra: dict[str, Any] = {}
        if f is not None:
            extra = {
                "hull": HullRecord.from_columns(f.hull[0, :rows]) if model.vehicle.hull else None,
                "torque": f.torque[0, :rows, :, 0],
                "power": f.torque[0, :rows, :, 1],
                "solver": SolverRecord(*f.solver[0, :rows].T),
                "halved_steps": int(f.halved[0]),
            }
        ruts: Ruts | None = getattr(model, "ruts", None)
        if ruts is not None and records.pressed is not None:
            extra["ruts"] = RutRecord.from_cells(records.pressed, ruts)
        return cls(
            vehicle=model.vehicle,
            time=dt * every * np.arange(rows, dtype=np.float64),
            state=records.state[0, :rows],
            velocity=records.velocity[0, :rows],
            command=records.command[0, :rows],
            contact=ContactRecord.from_columns(records.contact[0, :rows], None if f is None else f.contact[0, :rows]),
            status=records.status[0],
            steps=int(records.steps[0]),
            dt=dt,
            deficient_steps=int(records.deficient[0]),
            gravity=float(model.gravity),
            model=model.describe(),
            ground=ground,
            **extra,
        )

    @property
    def quaternion(self) -> FloatArray:
        """Orientation of the body, w x y z, shape (T, 4)."""
        return self.state[:, :4]

    @property
    def position(self) -> FloatArray:
        """Position of the body frame, world [m], shape (T, 3)."""
        return self.state[:, 4:7]

    @property
    def joints(self) -> FloatArray:
        """Joint displacements [rad or m] in the order of `vehicle.joints`, shape (T, nj)."""
        return self.state[:, 7:]

    @property
    def joint_rates(self) -> FloatArray:
        """Rates of `joints` [rad/s or m/s], shape (T, nj)."""
        return self.velocity[:, 6:]

    @cached_property
    def rpy(self) -> FloatArray:
        """Roll, pitch, yaw [rad], shape (T, 3); yaw does not jump at ±π."""
        angles = rotation.to_rpy(rotation.from_quaternion(self.quaternion)).reshape(-1, 3)
        angles[:, 2] = np.unwrap(angles[:, 2])
        return angles

    @property
    def roll(self) -> FloatArray:
        """[rad], shape (T,)."""
        return self.rpy[:, 0]

    @property
    def pitch(self) -> FloatArray:
        """[rad], nose down positive, shape (T,)."""
        return self.rpy[:, 1]

    @property
    def yaw(self) -> FloatArray:
        """[rad], left positive, unwrapped, shape (T,)."""
        return self.rpy[:, 2]

    @cached_property
    def covariance(self) -> FloatArray | None:
        """Covariance of (x, y, z, yaw) [m, rad] by the spread of the samples, shape (T, 4, 4); None without samples."""
        return None if self.samples is None else self.samples.covariance[: len(self.time)]

    @property
    def distance(self) -> float:
        """Length of the path of the body frame [m]."""
        return float(np.linalg.norm(np.diff(self.position, axis=0), axis=1).sum())

    def joint(self, name: str) -> FloatArray:
        """Displacement of one joint over time [rad or m], shape (T,)."""
        return self.joints[:, self.vehicle.joint_index(name)]

    @cached_property
    def camber(self) -> FloatArray:
        """Lean of each wheel's plane against the ground [rad], top to the right positive, shape (T, nw)."""
        from grouser.collision.contacts import camber

        return camber(self.vehicle, self.state, self.contact.normal)

    @cached_property
    def contact_offset(self) -> FloatArray:
        """Offset of each contact to the left of its wheel's middle plane [m]; zero on thin wheels, shape (T, nw)."""
        from grouser.collision.contacts import contact_on_wheel

        return contact_on_wheel(self.vehicle, self.state, self.contact.point)[..., 1]

    def rollover_margin(self) -> RolloverMargin:
        """Rollover margin of each state, and the wheel that would lift first."""
        from grouser.kinematics import rollover_margin

        return rollover_margin(self.vehicle, self.state, self.velocity, self.contact.point, gravity=self.gravity)

    @property
    def rolled_over(self) -> bool:
        """Whether it ended so, or the body's z axis ever pointed below the horizon."""
        return self.status is Status.ROLLED_OVER or bool((rotation.upright(self.quaternion) < 0.0).any())

    @property
    def hull_touched(self) -> float | None:
        """Time of the first recorded step in which the hull touches the ground [s]; None if it never does."""
        if self.hull is None or not self.hull.touching.any():
            return None
        return float(self.time[np.argmax(self.hull.touching > 0.0)])

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Path, contact tracks, slip and attitude in one picture; saved if a path is given.

        Of a vehicle that rolls without slip: joint angles and rates, platform velocities, errors and paths.
        """
        figure: Figure = draw("run" if self.rolling is None else "rolling", self, path)
        return figure

    def view(
        self,
        path: str | os.PathLike[str],
        *others: Run,
        names: Sequence[str] | None = None,
        fan: Rollouts | None = None,
        ground: Terrain | None = None,
        poses: Any = (),
        meshes: Mapping[str, str | os.PathLike[str]] | None = None,
        title: str = "",
    ) -> Path:
        """Write one self-contained HTML page that plays this run in 3D, others laid over it; returns where it is.

        The options are those of `grouser.view.view_runs`.
        """
        options = {"names": names, "fan": fan, "ground": ground, "poses": poses, "meshes": meshes, "title": title}
        page: Path = draw("run as page", [self, *others], path, **options)
        return page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a .npz file that `Run.load` reads back exactly."""
        from grouser.simulation.files import save_run

        save_run(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Run:
        """Read a run that `save` wrote."""
        from grouser.simulation.files import load_run

        return load_run(path)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a table with a header: time, pose, joints, velocity, commands, contacts."""
        from grouser.simulation.files import write_csv

        write_csv(self, path)

    def to_tum(self, path: str | os.PathLike[str]) -> None:
        """Write the poses in TUM's trajectory format: t x y z qx qy qz qw."""
        from grouser.simulation.files import write_tum

        write_tum(self, path)

    def to_kitti(self, path: str | os.PathLike[str]) -> None:
        """Write the poses in KITTI's format: the 12 entries of the 3×4 matrix [R p], row by row, no time stamps."""
        from grouser.simulation.files import write_kitti

        write_kitti(self, path)

    def to_mcap(self, path: str | os.PathLike[str], *, start: float = 0.0) -> None:
        """Write an MCAP file with Foxglove's schemas: transforms, scene, body pose, wheels and joints.

        start: time stamp of the first state, seconds since 1970. Needs the optional package mcap.
        """
        draw("run as mcap", self, path, start=start)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file of the kind its name ends in: .npz .csv .tum .kitti .mcap, .html, or .png .svg .pdf."""
        kinds: dict[str, Callable[[Any], object]] = {
            ".npz": self.save,
            ".csv": self.to_csv,
            ".tum": self.to_tum,
            ".kitti": self.to_kitti,
            ".mcap": self.to_mcap,
            **dict.fromkeys((".html", ".htm"), self.view),
            **dict.fromkeys((".png", ".svg", ".pdf"), self.plot),
        }
        suffix = Path(path).suffix.lower()
        if suffix not in kinds:
            raise SimulationError(f"{path}: ends in '{suffix}'; a run is written as {', '.join(kinds)}")
        kinds[suffix](path)

    def to_pandas(self) -> DataFrame:
        """The table of `to_csv` for pandas, indexed by time t [s]; `attrs["units"]` names the unit of each column."""
        from grouser.dataframe import data_frame
        from grouser.simulation.files import run_columns

        time, *columns = run_columns(self)
        return data_frame(time, columns)

    def summary(self) -> dict[str, Any]:
        """The run in a few numbers and remarks, of which most are explained in `simulation.outcome.happened`."""
        from grouser.simulation.outcome import happened

        done = len(self.time) > 0
        return {
            "vehicle": self.vehicle.name,
            "status": str(self.status),
            "seconds": float(self.steps * self.dt),
            "distance": self.distance,
            "final_position": [float(x) for x in self.position[-1]] if done else [],
            "final_yaw": float(self.yaw[-1]) if done else 0.0,
            "mean_contact_speed": float(np.linalg.norm(self.contact.velocity, axis=-1).mean()) if done else 0.0,
            **happened(self),
            "deficient_steps": self.deficient_steps,
            "halved_steps": self.halved_steps,
            **({} if self.solver is None else {"iterated_steps": int((self.solver.iterations > 1).sum())}),
            **({} if self.hull is None else {"hull_touched": self.hull_touched}),
            **spread_at_end(self),
            **({} if self.ruts is None else {"deepest_rut": float(self.ruts.depth.max(initial=0.0))}),
        }

    def __repr__(self) -> str:
        return (
            f"<Run of '{self.vehicle.name}': {self.steps} steps of {self.dt:g} s, {self.distance:.3f} m, {self.status}>"
        )
