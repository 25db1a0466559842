"""L §5.3.4, validation: 838 m on a rough flank of two soils, by odometry with and without slip.

The rover is a dynamic model in published soils, which the slip model with its six parameters only approximates. They
are fitted to 17 short drives, half of them in either soil.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from experiments.experiment import Row
from grouser import terrain
from grouser.checks import FloatArray
from grouser.contact import Contact, Ishigami
from grouser.dynamics import Dynamics
from grouser.errors import SimulationError
from grouser.kinematics import Kinematics
from grouser.kinematics.inverse import Limits
from grouser.motion.velocity import Inputs
from grouser.odometry import EncoderNoise, Odometry
from grouser.simulation import Run, Status, simulate
from grouser.slip import BodySlip
from grouser.terrain import Terrain
from grouser.traction.mode_driver import ModeDriver
from grouser.traction.path import Path, PurePursuit
from grouser.vehicles import Vehicle, vehicle

SOILS: dict[str, Contact] = {
    # T Table C.2, Ishigami's lunar simulant.
    "simulant": Ishigami(),
    # Dry sand of the Land Locomotion Laboratory (Wong, Theory of Ground Vehicles, Table 2.3); shear moduli of C.2 (a).
    "dry sand": Ishigami(cohesion=1040.0, friction_angle=math.radians(28.0), k_c=990.0, k_phi=1.52843e6, n=1.1),
}
DISTANCE, QUICK_DISTANCE = 838.0, 60.0  # m
SPEED, DT, SAMPLE = 0.5, 0.01, 0.05  # m/s, s, s
STRETCH = 5.0  # s: how long the soil under the rover is taken to be one
PATCH = 20.0  # m: side of a patch of one soil (a)
SLOPE = 7.0  # °, of the flank on the whole
HILL_RMS, HILL_LENGTH = 0.5, 25.0  # m: slopes from about 3 to 11° (a)
ROUGH_RMS, ROUGH_LENGTH = 0.02, 1.0  # m (a)
DOWN, ALONG, CORNER = 100.0, 100.0, 6.0  # m: sides of the two large rounds, radius of their corners
SMALL = 20.0  # m: sides of the small third round
LOOKAHEAD = 1.2  # m
WHEEL_RATE = 6.0  # rad/s
ENCODER_NOISE = 0.042  # rad/s at 20 Hz, as 0.093 at 100 Hz, mean of L (4.43)
ATTITUDE_NOISE, GYRO_NOISE = 0.005, 0.005  # rad, rad/s
EVERY = 1.0
"""Distance is summed over positions this far apart in time [s], as those of a satellite receiver."""


@dataclass(frozen=True)
class LongDrive:
    """The drive and two estimates of it, at samples a second apart."""

    time: FloatArray
    """[s], (n,)."""
    true: FloatArray
    """Position [m], (n, 3)."""
    estimates: dict[str, FloatArray]
    """Position by odometry [m], (n, 3), by name."""
    soil: list[str]
    """Under the rover, (n,)."""

    def distance(self, position: FloatArray) -> FloatArray:
        """Way driven up to each sample [m], (n,)."""
        return np.append(0.0, np.cumsum(np.linalg.norm(np.diff(position, axis=0), axis=1)))

    def offset(self, name: str) -> FloatArray:
        """Estimated less true distance [m], (n,): L Fig. 5.9."""
        result: FloatArray = self.distance(self.estimates[name]) - self.distance(self.true)
        return result

    def error_percent(self, name: str) -> float:
        """Of the distance at the end, with its sign."""
        return 100.0 * float(self.offset(name)[-1] / self.distance(self.true)[-1])

    def end_error(self, name: str) -> float:
        """Horizontal error of position at the end [m]."""
        return float(np.hypot(*(self.estimates[name] - self.true)[-1, :2]))


def soil_at(x: float, y: float) -> str:
    """The soil at a place: patches like the fields of a chess board."""
    names = list(SOILS)
    return names[(math.floor(x / PATCH) + math.floor(y / PATCH)) % 2]


def drive_long(slip: BodySlip, distance: float, *, seed: int = 1) -> LongDrive:
    """Drive a distance [m], and run odometry with and without a slip along it."""
    rover = vehicle("lru1")
    run, soil = _driven(rover, distance, seed)
    stride = round(EVERY / SAMPLE)
    models = {"without slip": Kinematics(rover), "with slip": Kinematics(rover, slip=slip)}
    inputs, gyro = _sensed(run, seed)
    estimates = {name: _odometry(model, run, inputs, gyro)[::stride] for name, model in models.items()}
    rows = np.arange(0, len(run.time), stride)
    return LongDrive(run.time[rows], run.position[rows], estimates, [soil[k] for k in rows])


def settings(distance: float) -> Row:
    """What decides the numbers."""
    return {
        "distance": distance,
        "plant": "dynamics, ideal motors, step 0.01 s",
        "soils": {name: repr(soil) for name, soil in SOILS.items()},
        "patch": PATCH,
        "speed": SPEED,
        "slope_deg": SLOPE,
        "hills": {"rms": HILL_RMS, "length": HILL_LENGTH},
        "roughness": {"rms": ROUGH_RMS, "length": ROUGH_LENGTH},
        "noise": {"rate": ENCODER_NOISE, "attitude": ATTITUDE_NOISE, "gyro": GYRO_NOISE},
        "sample": SAMPLE,
    }


def rounds() -> Path:
    """L Fig. 5.7: along the slope, 100 m down, back along it and up again, all of it twice, then a small round."""
    large, small = _round(DOWN, ALONG), _round(SMALL, SMALL)
    return Path(np.concatenate([large[:-1], large[:-1], small]))


def flank(seed: int) -> Terrain:
    """Rough ground with hills that rises along x."""
    size = (DOWN + 20.0, ALONG + 20.0)
    hills = terrain.rough(HILL_RMS, HILL_LENGTH, seed, size=size, spacing=HILL_LENGTH / 10.0, interpolation="bicubic")
    small = terrain.rough(ROUGH_RMS, ROUGH_LENGTH, seed + 1, size=size, spacing=0.25 * ROUGH_LENGTH)
    x, y = (np.linspace(-0.5 * s + 1.0, 0.5 * s - 1.0, round(4.0 * (s - 2.0)) + 1) for s in size)
    at = np.meshgrid(x, y, indexing="ij")
    rise = math.tan(math.radians(SLOPE)) * x
    return terrain.grid(hills.height(*at) + small.height(*at) + rise[:, None], x, y, interpolation="bicubic")


def _round(down: float, along: float) -> FloatArray:
    """Clockwise from the upper right corner, where the flank rises along x: along, down, back, up; closed, (n, 2)."""
    top, right = 0.5 * DOWN, 0.5 * ALONG
    corner = np.linspace(0.0, 0.5 * math.pi, 40)
    r = CORNER
    # Centre of each rounded corner and the direction in which its arc begins.
    centres = (
        (top - r, right - along + r, 0.0),
        (top - down + r, right - along + r, -0.5 * math.pi),
        (top - down + r, right - r, math.pi),
        (top - r, right - r, 0.5 * math.pi),
    )
    arcs = [np.column_stack([x + r * np.cos(a - corner), y + r * np.sin(a - corner)]) for x, y, a in centres]
    start = np.array([[top, right - r]])
    return np.concatenate([start, *arcs])


class _Driver:
    """Pure pursuit with all wheels steered; it sees the true pose."""

    def __init__(self, rover: Vehicle, path: Path) -> None:
        self.planner = PurePursuit(path, speed=SPEED, lookahead=LOOKAHEAD)
        self._wheels = ModeDriver(rover, mode="ackermann", limits=Limits(wheel_rate=WHEEL_RATE))
        self._steering = [7 + rover.joint_index(j) for j in self._wheels.inverse.steering_joints]
        self._next, self._rates = -1.0, np.zeros(len(rover.actuated))

    def begin(self) -> None:
        """Restart the clock."""
        self._next = -1.0

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        if time > self._next - 1e-9:
            self._next = time + SAMPLE
            w, x, y, z = state[:4]
            yaw = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
            forward, left, turn = self.planner.desired(float(state[4]), float(state[5]), yaw)
            done = self._wheels.update(forward, left, turn, SAMPLE, angles=state[self._steering])
            self._rates = done.rates
        return self._rates


def _driven(rover: Vehicle, distance: float, seed: int) -> tuple[Run, list[str]]:
    """The run, a row a sample, and the soil under each."""
    path, ground = rounds(), flank(seed)
    driver = _Driver(rover, path)
    (x, y), towards = path.points[0], path.points[1] - path.points[0]
    start: FloatArray = np.array([x, y, math.atan2(towards[1], towards[0])])
    velocity: FloatArray | None = None
    parts: list[Run] = []
    soil: list[str] = []
    way = 0.0
    while way < distance:
        soil_here = soil_at(*(start[:2] if len(start) == 3 else start[4:6]))
        driver.begin()
        run = simulate(
            Dynamics(rover, contact=SOILS[soil_here]),
            ground,
            driver,
            duration=STRETCH,
            dt=DT,
            start=start,
            velocity=velocity,
            every=round(SAMPLE / DT),
        )
        if run.status is not Status.OK or driver.planner.finished:
            raise SimulationError(f"lru-slip: the long drive ended as {run.status} after {way:.0f} m of {distance:g} m")
        parts.append(run)
        soil += [soil_here] * (len(run.time) - 1)
        start, velocity = run.state[-1], run.velocity[-1]
        way += float(np.linalg.norm(np.diff(run.position, axis=0), axis=1).sum())
    state = np.concatenate([*(p.state[:-1] for p in parts), parts[-1].state[-1:]])
    speed = np.concatenate([*(p.velocity[:-1] for p in parts), parts[-1].velocity[-1:]])
    time = SAMPLE * np.arange(len(state), dtype=np.float64)
    return replace(parts[-1], time=time, state=state, velocity=speed), [*soil, soil[-1]]


def _sensed(run: Run, seed: int) -> tuple[Inputs, FloatArray]:
    """Readings of encoders, inclinometer and gyro at each sample; rates are of the step before it."""
    random = np.random.default_rng(seed)
    rover, n = run.vehicle, len(run.time)
    rates = np.diff(run.joints, axis=0, prepend=run.joints[:1]) / SAMPLE
    rates[0] = run.velocity[0, 6:]
    wheels = rover.arrays.wheel - 1
    rates[:, wheels] += ENCODER_NOISE * random.standard_normal((n, len(wheels)))
    attitude = run.rpy[:, :2] + ATTITUDE_NOISE * random.standard_normal((n, 2))
    gyro = run.velocity[:, :3] + GYRO_NOISE * random.standard_normal((n, 3))
    return Inputs(time=run.time, attitude=attitude, rates=rates, angles=run.joints), gyro


def _odometry(model: Kinematics, run: Run, inputs: Inputs, gyro: FloatArray) -> FloatArray:
    """Estimated positions, (n, 3)."""
    noise = EncoderNoise(rate=ENCODER_NOISE**2, attitude=ATTITUDE_NOISE, gyro=GYRO_NOISE, period=SAMPLE)
    odometry = Odometry(model, noise=noise, position=run.position[0], yaw=float(run.yaw[0]))
    position = np.empty((len(run.time), 3))
    for k in range(len(position)):
        position[k] = odometry.update(
            inputs.time[k], inputs.rates[k], inputs.angles[k], inputs.attitude[k], gyro[k]
        ).position
    return position
