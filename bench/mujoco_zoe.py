"""MuJoCo on the drive of our benchmark: Zoë, 10 m straight over rough ground, and what equal accuracy costs there.

The contact laws differ, so each engine is measured against its own solution at a very small step: the error is how far
apart the final positions are, mean over the terrains. MuJoCo's step of equal error is read off its errors by log-log
interpolation; the ratio is MuJoCo's CPU time per simulated second at that step over ours.

The drive's feedback is a compiled control callback and all steps are one call, mj_step(nstep=...): no Python runs in
between, so what is timed is MuJoCo's C code.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np

from experiments import zoe_benchmark
from grouser import rotation
from grouser.kinematics import Kinematics
from grouser.simulation import Status, settle, simulate
from grouser.simulation.drive import level_motion
from grouser.terrain import Terrain, plane
from grouser.vehicles import Vehicle, vehicle

try:
    import mujoco
except ImportError:  # a dependency of the tests only
    mujoco = None

SPEED, DURATION = zoe_benchmark.SPEED, zoe_benchmark.DURATION
SERVO = 2000.0
"""Torque per error of a wheel's rate [N m s/rad]. The part against the rate is joint damping, which implicitfast and
Euler both take implicitly and alike; a velocity actuator is the same law, but Euler takes it explicitly: unstable."""
LINK_MASS, LINK_INERTIA = 1e-3, 1e-5
"""Of the links that are massless in ours [kg, kg m²]: MuJoCo wants some."""
INTEGRATOR = "implicitfast"
TIMESTEPS = (0.02, 0.01, 0.005, 0.002, 0.001, 0.0005)
"""MuJoCo's [s]. Above 0.01 it softens its contact (refsafe: time constant at least two steps)."""
REFERENCE = 1e-4
OURS = (0.1, 0.04)
OUR_REFERENCE = 0.0025
WHEEL = "ellipsoid"
"""Of the wheel's radius and width: smooth, and near the thin disc that our wheel is. A thin cylinder touches the
triangles of the ground with its rim, where contacts jump; a sphere would touch side slopes beside the wheel's plane."""
AXIS = {"X": "1 0 0", "Y": "0 1 0", "Z": "0 0 1"}
DEPTH = 1.0  # of the ground below its lowest node [m]


def numbers(values: Any) -> str:
    """For an attribute."""
    return " ".join(f"{x:.17g}" for x in np.ravel(values))


def mjcf(rover: Vehicle, ground: Terrain, *, timestep: float, integrator: str = INTEGRATOR, wheel: str = WHEEL) -> str:
    """The vehicle on the ground as MuJoCo's XML; the heights are filled in by `compiled`."""

    def body(frame: Any) -> str:
        place = f'pos="{numbers(frame.xyz)}" quat="{numbers(rotation.to_quaternion(frame.rotation))}"'
        joint, geom = '<freejoint name="root"/>', ""
        if frame.joint is not None:
            damping = SERVO if frame.actuated else 0.0
            joint = f'<joint name="{frame.name}" type="hinge" axis="{AXIS[frame.joint[1]]}" damping="{damping}"/>'
        if frame.is_wheel:
            r, half = frame.radius, 0.5 * frame.width
            size = {"ellipsoid": (r, r, half), "cylinder": (r, half), "sphere": (r,)}[wheel]
            geom = (
                f'<geom type="{wheel}" size="{numbers(size)}" zaxis="0 1 0" friction="1" '
                f'condim="3" contype="1" conaffinity="0"/>'
            )
        I, mass = frame.inertia_matrix, frame.mass
        if mass == 0.0:
            I, mass = LINK_INERTIA * np.eye(3), LINK_MASS
        full = numbers([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
        inertial = f'<inertial pos="{numbers(frame.com)}" mass="{mass:.17g}" fullinertia="{full}"/>'
        children = "".join(body(f) for f in rover.frames if f.parent == frame.name)
        return f'<body name="{frame.name}" {place}>{joint}{inertial}{geom}{children}</body>'

    shape, asset = 'type="plane" size="0 0 1"', ""
    if ground.kind == "grid":
        shape, asset = _height_field(ground)
    motors = "".join(f'<general joint="{a}" gainprm="{SERVO}"/>' for a in rover.actuated)
    return (
        f'<mujoco><compiler angle="radian"/>'
        f'<option timestep="{timestep!r}" integrator="{integrator}" gravity="0 0 -9.81"/><asset>{asset}</asset>'
        f'<worldbody><geom name="ground" {shape} friction="1" condim="3" contype="0" conaffinity="1"/>'
        f"{body(rover.frames[0])}</worldbody><actuator>{motors}</actuator></mujoco>"
    )


def _height_field(ground: Terrain) -> tuple[str, str]:
    """Attributes of its geom, and its asset."""
    x, y, heights = (np.asarray(ground.settings[k], dtype=float) for k in ("x", "y", "heights"))
    low, high = float(heights.min()), float(heights.max())
    size = (0.5 * (x[-1] - x[0]), 0.5 * (y[-1] - y[0]), max(high - low, 1e-6), DEPTH)
    middle = (0.5 * (x[-1] + x[0]), 0.5 * (y[-1] + y[0]), low)
    return (
        f'type="hfield" hfield="ground" pos="{numbers(middle)}"',
        f'<hfield name="ground" nrow="{len(y)}" ncol="{len(x)}" size="{numbers(size)}"/>',
    )


def compiled(
    rover: Vehicle, ground: Terrain, *, timestep: float, integrator: str = INTEGRATOR, wheel: str = WHEEL
) -> Any:
    """MuJoCo's model, with the nodes of our grid as its height field."""
    model = mujoco.MjModel.from_xml_string(mjcf(rover, ground, timestep=timestep, integrator=integrator, wheel=wheel))
    if ground.kind == "grid":
        heights = np.asarray(ground.settings["heights"], dtype=float).T  # rows along y
        model.hfield_data[:] = ((heights - heights.min()) / max(float(np.ptp(heights)), 1e-6)).ravel()
    return model


def ground_errors(model: Any, ground: Terrain, *, points: int = 500, seed: int = 0) -> tuple[float, float]:
    """Largest |MuJoCo's height − ours| [m] by rays from above: (at nodes, anywhere).

    Within a cell ours is bilinear and MuJoCo's two triangles; at nodes they are equal.
    """
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    rng = np.random.default_rng(seed)
    x, y = (np.asarray(ground.settings[k], dtype=float) for k in ("x", "y"))
    nodes = np.column_stack([rng.choice(x[1:-1], points), rng.choice(y[1:-1], points)])
    anywhere = rng.uniform((x[1], y[1]), (x[-2], y[-2]), (points, 2))
    shape = model.geom("ground").id

    def worst(places: Any) -> float:
        above = 50.0
        return max(
            abs(
                above
                - mujoco.mj_rayHfield(model, data, shape, np.array([px, py, above]), np.array([0.0, 0.0, -1.0]), None)
                - float(ground.height(px, py))
            )
            for px, py in places
        )

    return worst(nodes), worst(anywhere)


@contextmanager
def driven(rover: Vehicle, model: Any, data: Any) -> Iterator[None]:
    """Our straight drive as MuJoCo's control callback, compiled, on this data; MuJoCo has one callback at a time."""
    segment = level_motion(rover, SPEED, 0.0, 0.0)
    names = [rover.joints[int(j)] for j in segment.joint]
    address = tuple(int(model.joint(n).qposadr[0]) for n in names)
    rate, gain, target, limit = (tuple(map(float, segment[i])) for i in (0, 1, 3, 4))
    n, nq = len(rate), model.nq
    angles, command = data.qpos.ctypes.data, data.ctrl.ctypes.data

    @numba.cfunc("void(intp, intp)")
    def control(_model, _data):  # type: ignore[no-untyped-def]
        q = numba.carray(_pointer(angles), nq)
        u = numba.carray(_pointer(command), n)
        for a in range(n):
            turn = gain[a] * (target[a] - q[address[a]])
            u[a] = rate[a] + min(max(turn, -limit[a]), limit[a])

    mujoco.set_mjcb_control(control.ctypes)
    try:
        yield
    finally:
        mujoco.set_mjcb_control(None)


@numba.extending.intrinsic
def _pointer(typing, address):  # type: ignore[no-untyped-def]
    """A whole number as a pointer to doubles."""

    def build(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return numba.types.CPointer(numba.types.float64)(numba.types.intp), build


def start(rover: Vehicle, ground: Terrain) -> tuple[Any, Any]:
    """MuJoCo's (qpos, qvel): the wheels just touch and roll as our kinematic model says."""
    q = settle(rover, ground).state
    v = simulate(Kinematics(rover), ground, zoe_benchmark.COMMAND, duration=0.01, dt=0.01, start=q).velocity[0]
    R = rotation.from_quaternion(q[:4])
    return np.concatenate([q[4:7], q[:4], q[7:]]), np.concatenate([R @ v[3:6], v[:3], v[6:]])


def run(
    rover: Vehicle,
    ground: Terrain,
    *,
    timestep: float,
    integrator: str = INTEGRATOR,
    wheel: str = WHEEL,
    duration: float = DURATION,
    repeats: int = 1,
) -> tuple[Any, float]:
    """Final position of the body [m], NaN if the simulation broke down, and the least CPU time of a step [µs]."""
    model = compiled(rover, ground, timestep=timestep, integrator=integrator, wheel=wheel)
    assert tuple(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, 1 + i) for i in range(rover.n_joints)) == (
        rover.joints
    )
    data = mujoco.MjData(model)
    qpos, qvel = start(rover, ground)
    steps = round(duration / timestep)
    best = math.inf
    with driven(rover, model, data):
        for _ in range(repeats):
            mujoco.mj_resetData(model, data)
            data.qpos[:], data.qvel[:] = qpos, qvel
            began = time.process_time()
            mujoco.mj_step(model, data, nstep=steps)
            best = min(best, time.process_time() - began)
    broke = any(w.number for w in data.warning) or not np.isfinite(data.qpos).all()
    return (np.full(3, np.nan) if broke else data.qpos[:3].copy()), 1e6 * best / steps


def call_overhead() -> float:
    """CPU time of a Python call of mj_step that takes no step [µs]: once per run of all steps."""
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    data, n = mujoco.MjData(model), 2000
    began = time.process_time()
    for _ in range(n):
        mujoco.mj_step(model, data, nstep=0)
    return 1e6 * (time.process_time() - began) / n


def step_of_equal_error(steps: Sequence[float], errors: Sequence[float], wanted: float) -> tuple[float, str]:
    """The largest step whose error is `wanted`, between those measured, and how it was found.

    "equal"; "at least" if even the largest step is more accurate; "at most" if even the smallest is less so.
    """
    known = sorted((s, e) for s, e in zip(steps, errors, strict=True) if np.isfinite(e) and e > 0.0)
    if known[-1][1] <= wanted:
        return known[-1][0], "at least"
    for (s0, e0), (s1, e1) in zip(known[-2::-1], known[:0:-1], strict=True):
        if e0 <= wanted <= e1:
            part = math.log(wanted / e0) / math.log(e1 / e0) if e1 > e0 else 1.0
            return math.exp(math.log(s0) + part * math.log(s1 / s0)), "equal"
    return known[0][0], "at most"


def measure(*, quick: bool = False) -> dict[str, Any] | None:
    """Errors and costs of both engines and the ratios; None without MuJoCo. JSON types only."""
    if mujoco is None:
        return None
    seeds = range(1, 2) if quick else range(1, 4)
    rover = vehicle("zoe")
    grounds = [zoe_benchmark.trial(zoe_benchmark.PIECEWISE, seed, 0.04).ground for seed in seeds]
    heights = [ground_errors(compiled(rover, g, timestep=0.002), g) for g in grounds]
    theirs, ours = _their_rows(rover, grounds, quick), _our_rows(seeds)
    return {
        "version": mujoco.__version__,
        "settings": {
            "vehicle": "zoe",
            "speed": SPEED,
            "duration": DURATION,
            "ground": {"rms": zoe_benchmark.RMS, "length": zoe_benchmark.LENGTH, "seeds": list(seeds)},
            "integrator": INTEGRATOR,
            "wheel": WHEEL,
            "friction": 1.0,
            "servo": SERVO,
            "link_mass": LINK_MASS,
            "link_inertia": LINK_INERTIA,
            "reference_timestep": 2.5e-4 if quick else REFERENCE,
            "our_reference_dt": OUR_REFERENCE,
            "solver": "MuJoCo's defaults: Newton, 100 iterations, tolerance 1e-8, pyramidal cone, solref 0.02 1",
            "timed": "one mj_step(nstep=all) with a compiled control callback; nothing is subtracted",
            "call_overhead_us": round(call_overhead(), 3),
            "node_height_error": max(h[0] for h in heights),
            "height_error": max(h[1] for h in heights),
        },
        "euler": _euler(rover, grounds[0]),
        "plane_us_per_step": round(run(rover, plane(), timestep=0.002, repeats=5)[1], 3),
        "mujoco": theirs,
        "grouser": ours,
        "equal_error": _equal(theirs, ours),
    }


def _their_rows(rover: Vehicle, grounds: Sequence[Terrain], quick: bool) -> list[dict[str, Any]]:
    small = 2.5e-4 if quick else REFERENCE
    references = [run(rover, g, timestep=small)[0] for g in grounds]
    rows = []
    for timestep in TIMESTEPS:
        repeats = 2 if quick or timestep < 0.002 else 5
        runs = [run(rover, g, timestep=timestep, repeats=repeats) for g in grounds]
        apart = [float(np.linalg.norm(p - r)) for (p, _), r in zip(runs, references, strict=True)]
        rows.append(_row(timestep, apart, float(np.mean([cost for _, cost in runs]))))
    return rows


def _euler(rover: Vehicle, ground: Terrain) -> dict[str, float]:
    """How far the other integrator ends from INTEGRATOR at the default timestep, and what both cost there."""
    one, other = (run(rover, ground, timestep=0.002, integrator=i, repeats=5) for i in (INTEGRATOR, "Euler"))
    return {
        "timestep": 0.002,
        "apart": float(np.linalg.norm(one[0] - other[0])),
        "us_per_step": round(other[1], 3),
        "implicitfast_us_per_step": round(one[1], 3),
    }


def _our_rows(seeds: range) -> list[dict[str, Any]]:
    def final(seed: int, dt: float) -> Any:
        run = zoe_benchmark.trial(zoe_benchmark.PIECEWISE, seed, dt).run()
        return run.position[-1] if run.status is Status.OK else np.full(3, np.nan)

    references = [final(seed, OUR_REFERENCE) for seed in seeds]
    rows = []
    for dt in OURS:
        apart = [float(np.linalg.norm(final(s, dt) - r)) for s, r in zip(seeds, references, strict=True)]
        costs = [zoe_benchmark.trial(zoe_benchmark.PIECEWISE, s, dt).us_per_step() or math.nan for s in seeds]
        rows.append(_row(dt, apart, float(np.mean(costs))))
    return rows


def _row(dt: float, apart: Sequence[float], us: float) -> dict[str, Any]:
    mean = float(np.mean(apart))
    return {
        "dt": dt,
        "position_error": mean if math.isfinite(mean) else None,
        "errors": [e if math.isfinite(e) else None for e in apart],
        "us_per_step": round(us, 3),
        "cpu_per_second": round(1e-6 * us / dt, 7),
    }


def _equal(theirs: Sequence[dict[str, Any]], ours: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    known = sorted((r for r in theirs if r["position_error"] is not None), key=lambda r: r["dt"])
    steps, errors = [r["dt"] for r in known], [r["position_error"] for r in known]
    rows = []
    for own in ours:
        if own["position_error"] is None or not known:
            continue
        timestep, found = step_of_equal_error(steps, errors, own["position_error"])
        us = float(np.interp(math.log(timestep), np.log(steps), [r["us_per_step"] for r in known]))
        load = 1e-6 * us / timestep
        rows.append(
            {
                "position_error": own["position_error"],
                "grouser_dt": own["dt"],
                "grouser_us_per_step": own["us_per_step"],
                "grouser_cpu_per_second": own["cpu_per_second"],
                "mujoco_timestep": round(timestep, 7),
                "found": found,
                "mujoco_us_per_step": round(us, 3),
                "mujoco_cpu_per_second": round(load, 7),
                "ratio": round(load / own["cpu_per_second"], 2),
                "errors_fall_with_step": bool(np.all(np.diff(errors) > 0.0)),
            }
        )
    return rows


def table(result: dict[str, Any]) -> list[str]:
    """Lines for people."""
    s = result["settings"]
    lines = [
        f"MuJoCo {result['version']} and Grouser, Zoë, {s['duration']:g} s, {len(s['ground']['seeds'])} terrain(s); "
        f"error against each one's own run at {s['reference_timestep']:g} and {s['our_reference_dt']:g} s"
    ]
    for name, rows in (("MuJoCo", result["mujoco"]), ("Grouser", result["grouser"])):
        for row in rows:
            error = "broke down" if row["position_error"] is None else f"{row['position_error']:.4f} m"
            lines.append(
                f"  {name:<8} dt {row['dt']:<7g} error {error:<10} {row['us_per_step']:7.2f} µs per step, "
                f"{1e3 * row['cpu_per_second']:8.3f} ms per simulated second"
            )
    for row in result["equal_error"]:
        sign, bound = {"equal": ("", ""), "at least": ("≥ ", "at most "), "at most": ("≤ ", "at least ")}[row["found"]]
        lines.append(
            f"  equal error {row['position_error']:.4f} m: Grouser dt {row['grouser_dt']:g}, MuJoCo {sign}"
            f"{row['mujoco_timestep']:.2g} s: {1e3 * row['grouser_cpu_per_second']:.3f} and "
            f"{1e3 * row['mujoco_cpu_per_second']:.3f} ms per simulated second, ratio {bound}{row['ratio']:.0f}"
        )
    if not all(row["errors_fall_with_step"] for row in result["equal_error"]):
        lines.append("  MuJoCo's errors do not fall with every smaller step: take the ratios as rough")
    lines.append(f"  MuJoCo on a plane: {result['plane_us_per_step']:.2f} µs per step (timestep 0.002 s)")
    return lines
