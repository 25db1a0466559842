"""A vehicle: frames in a tree, joints coupled or sprung, joints a drive steers. Immutable."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from grouser._kernels.vehicles.arrays import VehicleArrays
from grouser.checks import listed, set_checked
from grouser.errors import VehicleError
from grouser.vehicles import tree
from grouser.vehicles.hull import MOST_POINTS, Hull
from grouser.vehicles.rows import JOINTS, Coupling, Frame, Steering, checked

if TYPE_CHECKING:
    from grouser.vehicles.visual import Visual

COLUMNS = (
    "frame",
    "parent",
    "joint",
    "act.",
    "x y z [m]",
    "roll pitch yaw [rad]",
    "mass [kg]",
    "radius [m]",
    "rollers [deg]",
)
Row = TypeVar("Row", "Vehicle", Frame)


@dataclass(frozen=True)
class Vehicle:
    """A wheeled vehicle (T §2.2.1). Body axes: x forward, y left, z up.

    Rows may come in any order; they are sorted so that parents come first. What cannot be a vehicle raises
    `VehicleError` here, never later.
    """

    name: str
    """What the vehicle is called."""
    frames: tuple[Frame, ...]
    """The body first, then one frame per joint, parents before children."""
    couplings: tuple[Coupling, ...] = ()
    """Constraints and springs between joints."""
    steering: tuple[Steering, ...] = ()
    """The joints a drive steers."""
    hull: tuple[Hull, ...] = ()
    """Shapes, besides the wheels, that touch the ground in dynamics."""
    visuals: tuple[Visual, ...] = dataclasses.field(default=(), compare=False)
    """What it looks like; vehicles that only look different are equal."""
    drive_reference: tuple[float, float] | None = None
    """Point (x, y) of the body [m] that follows a commanded arc; None chooses `drive_point`."""
    source: str = ""
    """Where the numbers come from."""
    description: str = ""
    """One line for people."""

    def __post_init__(self) -> None:
        checked.name(self.name, "vehicle")
        for field, text in (("source", self.source), ("description", self.description)):
            where = f"vehicle '{self.name}', field {field}"
            if not isinstance(text, str):
                raise VehicleError(f"{where}: {text!r:.60} is not text")
            if any("\ud800" <= letter <= "\udfff" for letter in text):
                raise VehicleError(f"{where}: holds a character that UTF-8 cannot store")
        frames = tree.sort_frames(checked.rows(self.frames, Frame, "field frames"))
        tree.check_frames(frames)
        object.__setattr__(self, "frames", frames)
        for name, kind in (("couplings", Coupling), ("steering", Steering), ("hull", Hull)):
            set_checked(self, "field", checked.rows, name, kind=kind)
        if self.visuals != ():  # most vehicles have none, and do not need their module
            from grouser.vehicles.visual import Visual

            set_checked(self, "field", checked.rows, "visuals", kind=Visual)
        self._check_couplings()
        self._check_steering()
        self._check_shapes()
        set_checked(self, f"vehicle '{self.name}', field", checked.numbers, "drive_reference", count=2)

    def _check_couplings(self) -> None:
        names = [coupling.name for coupling in self.couplings]
        for i, coupling in enumerate(self.couplings):
            if coupling.name in names[:i]:
                raise VehicleError(f"coupling '{coupling.name}': two couplings have this name, names must differ")
            for joint in coupling.joints:
                self._check_joint(joint, f"coupling '{coupling.name}', field joints")

    def _check_steering(self) -> None:
        joints = [steering.joint for steering in self.steering]
        for i, steering in enumerate(self.steering):
            where = f"steering of '{steering.joint}', field joint"
            self._check_joint(steering.joint, where)
            if steering.joint in joints[:i]:
                raise VehicleError(f"{where}: the joint is listed twice, once is enough")
            frame = self.frames[self.frame_index(steering.joint)]
            if steering.angle < math.inf and not frame.actuated:
                raise VehicleError(
                    f"steering of '{steering.joint}', field angle: the joint has no motor, so no drive can keep to it; "
                    "leave angle out, or make the joint actuated"
                )
            if frame.joint != "RZ":
                raise VehicleError(f"{where}: a steering joint turns about z, so it must be RZ, not {frame.joint}")

    def _check_shapes(self) -> None:
        for kind, shapes in (("hull", self.hull), ("visual", self.visuals)):
            for number, one in enumerate(shapes, start=1):
                where = f"{kind} {number}, field frame: '{one.frame}'"
                if one.frame not in self._index:
                    raise VehicleError(f"{where} is not a frame; frames are {listed(self._index)}")
                if kind == "hull" and one.frame in self.wheels:
                    raise VehicleError(f"{where} is a wheel, which touches the ground as it is; name another")
        points = sum(len(one.centres) for one in self.hull)
        if points > MOST_POINTS:
            raise VehicleError(
                f"vehicle '{self.name}', field hull: has {points} points, at most {MOST_POINTS} are accepted;"
                " give a larger spacing"
            )

    def _check_joint(self, joint: str, where: str) -> None:
        if joint == self.frames[0].name:
            raise VehicleError(f"{where}: '{joint}' is the body, which has no joint; joints are {listed(self.joints)}")
        if joint not in self._index:
            raise VehicleError(f"{where}: '{joint}' is not a joint; joints are {listed(self.joints)}")
        frame = self.frames[self._index[joint]]
        if not frame.has_own_turn:
            why = "slides" if frame.turns_with is None else f"turns with '{frame.turns_with}'; name that one"
            raise VehicleError(f"{where}: '{joint}' has no joint that moves by itself, it {why}")

    @cached_property
    def _index(self) -> dict[str, int]:
        return {frame.name: i for i, frame in enumerate(self.frames)}

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints, which are the names of frames 1, 2, …"""
        return tuple(frame.name for frame in self.frames[1:])

    @cached_property
    def wheels(self) -> tuple[str, ...]:
        """Names of the wheels, in frame order."""
        return tuple(frame.name for frame in self.frames if frame.is_wheel)

    @cached_property
    def rolling_wheels(self) -> tuple[str, ...]:
        """Names of the wheels whose joint turns by itself, as an encoder measures it; neither what slides, nor wheels
        that turn with another."""
        return tuple(frame.name for frame in self.frames if frame.is_wheel and frame.has_own_turn)

    @cached_property
    def sliding(self) -> tuple[str, ...]:
        """Names of the balls and skids that slide; they are the last of `wheels`."""
        return tuple(frame.name for frame in self.frames if frame.slides is not None)

    @cached_property
    def drives_any_way(self) -> bool:
        """Whether all wheels that roll have rollers, so that it drives in any direction without turning to it."""
        return all(frame.rollers is not None for frame in self.frames if frame.is_wheel and frame.slides is None)

    @cached_property
    def actuated(self) -> tuple[str, ...]:
        """Names of the actuated joints, in frame order: the order of a command."""
        return tuple(frame.name for frame in self.frames if frame.actuated)

    @cached_property
    def kinds_of_wheels(self) -> str:
        """Its wheels counted by kind, in words: "2 wheels, 1 ball that slides", "2 rows of 5 wheels"."""
        followers = Counter(f.turns_with for f in self.frames if f.turns_with is not None)
        words: Counter[tuple[str, str]] = Counter()
        for frame in self.frames:
            if frame.is_wheel and frame.turns_with is None:
                kind = frame.kind_of_wheel
                several = kind.replace("wheel", "wheels").replace("ball that slides", "balls that slide")
                if frame.name in followers:
                    size = f"of {1 + followers[frame.name]} wheels"
                    kind, several = f"row {size}", f"rows {size}"
                words[kind, several] += 1
        return ", ".join(f"{count} {one if count == 1 else several}" for (one, several), count in words.items())

    @property
    def n_joints(self) -> int:
        """Number of joints."""
        return len(self.frames) - 1

    @property
    def n_wheels(self) -> int:
        """Number of wheels."""
        return len(self.wheels)

    @property
    def mass(self) -> float:
        """Total mass [kg]."""
        return sum(frame.mass for frame in self.frames)

    def frame_index(self, name: str) -> int:
        """Position of a frame in `frames`; the body is 0."""
        if name not in self._index:
            raise VehicleError(f"vehicle '{self.name}' has no frame {name!r:.60}; frames are {listed(self._index)}")
        return self._index[name]

    def joint_index(self, name: str) -> int:
        """Position of a joint in `joints`: entry 6 + this of a joint-space velocity, 7 + this of a state."""
        if self._index.get(name, 0) == 0:
            raise VehicleError(f"vehicle '{self.name}' has no joint {name!r:.60}; joints are {listed(self.joints)}")
        return self._index[name] - 1

    @cached_property
    def arrays(self) -> VehicleArrays:
        """The vehicle as the engine takes it. Do not write into the arrays: they belong to this vehicle.

        They stay writable because Numba compiles again for read-only arrays.
        """
        frames, index = self.frames, self._index
        is_wheel = np.array([f.is_wheel for f in frames])
        coupling = np.zeros((len(self.couplings), self.n_joints))
        for row, one in zip(coupling, self.couplings, strict=True):
            for joint, coefficient in one.joints.items():
                row[self.joint_index(joint)] = coefficient
        return VehicleArrays(
            parent=_integers(-1 if f.parent is None else index[f.parent] for f in frames),
            joint=_integers(-1 if f.joint is None else JOINTS.index(f.joint) for f in frames),
            rotation=np.array([f.rotation for f in frames]),
            offset=np.array([f.xyz for f in frames], dtype=np.float64),
            mass=np.array([f.mass for f in frames], dtype=np.float64),
            com=np.array([f.com for f in frames], dtype=np.float64),
            inertia=np.array([f.inertia_matrix for f in frames]),
            wheel=_integers(i for i, f in enumerate(frames) if f.is_wheel),
            radius=np.array([f.radius for f in frames if f.is_wheel], dtype=np.float64),
            tyre=np.array([_tube(f) for f in frames if f.is_wheel], dtype=np.float64),
            rollers=_integers(f.rollers is not None for f in frames if f.is_wheel),
            held=np.array([f.held_direction for f in frames if f.is_wheel], dtype=np.float64),
            friction=np.array([f.slides for f in frames if f.slides is not None], dtype=np.float64),
            leader=_integers(index[f.turns_with or f.name] for f in frames if f.is_wheel),
            follower=_integers(w for w, name in enumerate(self.wheels) if frames[index[name]].turns_with is not None),
            still=_integers(not f.has_own_turn for f in frames[1:]),
            wheel_of_frame=np.where(is_wheel, np.cumsum(is_wheel) - 1, -1).astype(np.int64),
            actuated=_integers(i - 1 for i, f in enumerate(frames) if f.actuated),
            coupling=coupling,
            coupling_value=np.array([one.value for one in self.couplings], dtype=np.float64),
            hull_frame=_integers(index[one.frame] for one in self.hull for _ in one.centres),
            hull_point=np.concatenate([np.zeros((0, 3)), *(one.centres for one in self.hull)]),
            hull_radius=np.array([one.ball_radius for one in self.hull for _ in one.centres], dtype=np.float64),
        )

    @property
    def rest(self) -> NDArray[np.float64]:
        """Joint displacements that satisfy the couplings and are otherwise zero, shape (nj,) [rad or m]."""
        if not self.couplings:
            return np.zeros(self.n_joints)
        arrays = self.arrays
        size = np.max(np.abs(arrays.coupling), axis=1, keepdims=True)
        found = np.linalg.lstsq(arrays.coupling / size, arrays.coupling_value / size[:, 0], rcond=None)
        return np.array(found[0], dtype=np.float64)

    @property
    def wheel_positions(self) -> NDArray[np.float64]:
        """Wheel centres in the body frame with the joints at `rest`, shape (nw, 3) [m]."""
        _, p_body = tree.forward_kinematics(self.frames, self.rest)
        return np.array(p_body[self.arrays.wheel], dtype=np.float64)

    @property
    def held_directions(self) -> NDArray[np.float64]:
        """Direction x, y along which the ground holds each wheel, body axes, joints at `rest`, unit vectors (nw, 2)."""
        R_body, _ = tree.forward_kinematics(self.frames, self.rest)
        left = R_body[self.arrays.wheel][:, :2, 1]
        ahead = np.stack([left[:, 1], -left[:, 0]], axis=1)
        return np.asarray(self.arrays.held[:, :1] * ahead + self.arrays.held[:, 1:] * left)

    @property
    def steered(self) -> tuple[bool, ...]:
        """For each wheel, whether a steering joint lies between it and the body."""
        joints = {steering.joint for steering in self.steering}
        turned: dict[str | None, bool] = {None: False}
        for frame in self.frames:
            turned[frame.name] = turned[frame.parent] or frame.name in joints
        return tuple(turned[wheel] for wheel in self.wheels)

    @property
    def drive_point(self) -> tuple[float, float]:
        """Point (x, y) of the body [m] that follows a commanded arc.

        `drive_reference` if given. Otherwise the centroid of the unsteered wheels if only some wheels are
        steered (the rear axle of a car), else of all wheels. What slides does not count.
        """
        if self.drive_reference is not None:
            return self.drive_reference
        rolls = np.array([wheel not in self.sliding for wheel in self.wheels])
        fixed = ~np.array(self.steered) & rolls
        chosen = fixed if fixed.any() else (rolls if rolls.any() else ~rolls)
        x, y, _ = self.wheel_positions[chosen].mean(axis=0)
        return float(x), float(y)

    def replace(self, **changes: Any) -> Vehicle:
        """A copy with some fields changed, checked like a new one."""
        return _changed(self, changes, "vehicle")

    def replace_frame(self, name: str, **changes: Any) -> Vehicle:
        """A copy with some fields of one frame changed: `zoe.replace_frame("body", com=(0, 0, 0.5))`."""
        frames = list(self.frames)
        i = self.frame_index(name)
        frames[i] = _changed(frames[i], changes, "frame")
        return self.replace(frames=tuple(frames))

    @cached_property
    def motors(self) -> dict[str, str]:
        """The actuated joint that turns each driven wheel, by wheel: its own, or the motor of an `elastic` vehicle."""
        from grouser.vehicles.elastic import motors

        return motors(self)

    def elastic(
        self,
        *,
        drive: tuple[float, float] | None = None,
        steering: tuple[float, float] | None = None,
        rotor_share: float = 0.1,
    ) -> Vehicle:
        """A copy whose motors turn their wheels through springs; see `grouser.vehicles.elastic`.

        drive: (stiffness [N m/rad], damping [N m s/rad]) between each driven wheel, now passive, and its motor, a new
            actuated joint '…_motor'; None: rigid. steering: likewise between what a steering joint carries and its
            motor, a new passive joint '…_twist'. rotor_share: of a wheel's mass and inertia that its motor takes over,
            a share above 0; inertia behind a gear is the actuator's `rotor_inertia`.
        """
        from grouser.vehicles.elastic import elastic

        return elastic(self, drive=drive, steering=steering, rotor_share=rotor_share)

    def mirrored(self) -> Vehicle:
        """The vehicle seen in a mirror that swaps left and right; see `grouser.vehicles.mirror`."""
        from grouser.vehicles.mirror import mirror

        return mirror(self)

    def summary(self) -> str:
        """Frames one per line as in T Table 2.2, then couplings, steering and the drive point, as text."""
        rows = [COLUMNS]
        for f in self.frames:
            turn = _spaced(f.rpy) if any(f.rpy) else ""
            radius, rollers = ("" if one is None else f"{one:.4g}" for one in (f.radius, f.rollers))
            size = f"{f.mass:.4g}", radius, rollers
            joint = f.joint or "free", "yes" if f.actuated else ""
            rows.append((f.name, f.parent or "world", *joint, _spaced(f.xyz), turn, *size))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [repr(self)[1:-1], *filter(None, [self.description])]
        lines += ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        for one in self.couplings:
            terms = " + ".join(name if k == 1.0 else f"{k:g}·{name}" for name, k in one.joints.items())
            spring = "rigid" if one.is_rigid else f"stiffness {one.stiffness:g}, damping {one.damping or 0.0:g}"
            lines.append(f"coupling {one.name}: {terms} = {one.value:g}, {spring}")
        for steering in self.steering:
            limit = "" if math.isinf(steering.limit) else f", limit {steering.limit:g}"
            angle = "" if math.isinf(steering.angle) else f", up to {math.degrees(steering.angle):.3g}°"
            lines.append(f"steering {steering.joint}: gain {steering.gain:g}{limit}{angle}")
        lines += [f"sliding {f.name}: friction {f.slides:g}" for f in self.frames if f.slides is not None]
        for leader in self.rolling_wheels:
            alike = [f.name for f in self.frames if f.turns_with == leader]
            lines += [f"turning with {leader}: {', '.join(alike)}"] if alike else []
        lines += [f"hull {one.frame}: {one.describe()}" for one in self.hull]
        if self.visuals:
            from grouser.vehicles.visual import described

            lines.append(f"visuals: {described(self.visuals)}")
        lines.append(f"drive point {_spaced(self.drive_point)} m")
        if self.source:
            lines.append(f"source: {self.source}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        coupled = f"{len(self.couplings)} coupling{'' if len(self.couplings) == 1 else 's'}"
        return (
            f"<Vehicle '{self.name}': {self.kinds_of_wheels}, {self.n_joints} joints"
            f" ({len(self.actuated)} actuated), {coupled}, {self.mass:.6g} kg>"
        )


def _changed(one: Row, changes: dict[str, Any], what: str) -> Row:
    try:
        return dataclasses.replace(one, **changes)
    except TypeError:
        fields = ", ".join(field.name for field in dataclasses.fields(one))
        raise VehicleError(f"{listed(changes)}: not all are fields of a {what}; fields are {fields}") from None


def _tube(wheel: Frame) -> float:
    """Radius [m] of the tube of a wheel that is a torus; of a ball it is the whole radius, of a thin disc nothing."""
    return (wheel.radius if wheel.slides is not None else wheel.tyre_radius) or 0.0


def _integers(values: Iterable[int]) -> NDArray[np.int64]:
    return np.array(list(values), dtype=np.int64)


def _spaced(values: Iterable[float]) -> str:
    return " ".join(f"{value + 0.0:.4g}" for value in values)
