"""Fit files: TOML with schema and version; they hold all of a calibrated model, the vehicle included."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from grouser import actuation, contact, dynamics, joints, kinematics, slip, terrain
from grouser import motion as models
from grouser._version import __version__
from grouser.errors import CalibrationError, GrouserError
from grouser.files import check_schema, parse_toml, read_toml, toml_value, write_whole
from grouser.logs.log import Sensor
from grouser.motion.fit import Direction, Fit, Training
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.parameters import Parameter
from grouser.motion.powertrain import Powertrain
from grouser.motion.velocity import VelocityModel, is_dynamic
from grouser.vehicles import Vehicle
from grouser.vehicles.toml import SCHEMA as VEHICLE_SCHEMA
from grouser.vehicles.toml import to_toml, vehicle_of_tables

SCHEMA = "grouser/fit@1"
MAX_BYTES = 2_000_000
CONTACTS = ("PiecewiseLinear", "Pacejka", "Ishigami", "ErpCfm")
SLIPS = ("BodySlip", "DriveFrameSlip")
ACTUATORS = ("PI", "DCMotor", "SharedDrive")
JOINTS = ("Spring", "Stops")
VELOCITY_MODELS = ("DifferentialDrive", "Bicycle", "FourNumbers", "Holonomic", "Perturbative", "Corrected")
"""Names of classes in their packages, which are loaded when a file has them."""
OPTIONS = (
    "newton", "tolerance", "max_iterations", "fixed_inertia", "single_body_bias", "gravity", "tip_angle",
    "coupling_time_constant",
)  # fmt: skip
"""Plain fields of a `Dynamics`."""
LEVEL = "plane"
ROWS = {
    "prior": "value", "prior_sigma": "sigma", "lower": "lower", "upper": "upper", "scale": "scale", "drift": "drift",
}  # fmt: skip
"""Columns of a row of [[parameters]] and the fields of `Parameter` they hold; a row also has name, value and sigma."""


def write_fit(fit: Fit, path: str | os.PathLike[str]) -> None:
    """Write a fit whole or not at all."""
    write_whole(path, lambda stream: stream.write(fit_text(fit).encode()), CalibrationError)


def fit_text(fit: Fit) -> str:
    """The text of a fit file."""
    motion, sigma = fit.model, fit.sigma
    tables = {
        "model": model_tables(motion),
        "sensor": dataclasses.asdict(motion.sensor),
        "noise": vars_of(motion.noise),
        "powertrain": None if motion.powertrain is None else dataclasses.asdict(motion.powertrain),
        "training": dataclasses.asdict(fit.training),
        "result": {
            "covariance": fit.covariance,
            "noise_covariance": fit.noise_covariance,
            "undetermined": [dataclasses.asdict(d) for d in fit.undetermined],
            "spread": fit.spread,
            "warnings": list(fit.warnings),
        },
    }
    lines = [f'schema = "{SCHEMA}"', f'grouser = "{__version__}"', ""]
    for name, values in tables.items():
        lines += [] if values is None else table_lines(name, values)
    for p, value in zip(fit.parameters, fit.vector.tolist(), strict=True):
        row = {"name": p.name, "value": value, "sigma": sigma[p.name], **{k: getattr(p, v) for k, v in ROWS.items()}}
        lines += ["[[parameters]]", *(f"{k} = {toml_value(v)}" for k, v in row.items()), ""]
    return "\n".join(lines) + "\n[vehicle]\n" + to_toml(motion.vehicle)


def read_fit(path: str | os.PathLike[str], *, ground: terrain.Terrain | None = None) -> Fit:
    """Read a fit file; every fault is one sentence that names file and field."""
    where = Path(path)
    if not where.exists():
        raise CalibrationError(f"{where}: there is no such file; `grouser calibrate … --out fit.toml` makes one")
    return _checked(read_toml(where, SCHEMA, CalibrationError, limit=MAX_BYTES), where, ground)


def fit_of_text(text: str, file: str, *, ground: terrain.Terrain | None = None) -> Fit:
    """The fit that `fit_text` wrote; `file` stands for it in messages."""
    return _checked(parse_toml(text, file, SCHEMA, CalibrationError), Path(file), ground)


def _checked(tables: dict[str, Any], where: Path, ground: terrain.Terrain | None) -> Fit:
    with whole(where, "fit file"):
        try:
            return _fit(tables, where.name, ground)
        except GrouserError as error:
            raise CalibrationError(f"{where.name}: {error}") from None


@contextmanager
def whole(path: Path, what: str) -> Iterator[None]:
    """Fields that are missing or of another kind are one sentence."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        reason = f"field {error} is missing" if isinstance(error, KeyError) else f"{error!s:.200}"
        raise CalibrationError(f"{path.name}: is not a whole {what}: {reason}") from None


def _fit(tables: dict[str, Any], file: str, ground: terrain.Terrain | None) -> Fit:
    shape = dict(tables["vehicle"])
    check_schema(shape.pop("schema", None), "table [vehicle]", VEHICLE_SCHEMA, CalibrationError)
    rows, noise, model = tables["parameters"], tables["noise"], tables["model"]
    result, training, train = tables["result"], tables["training"], tables.get("powertrain")
    parameters = [Parameter(name=str(r["name"]), **{v: float(r[k]) for k, v in ROWS.items()}) for r in rows]
    covariance = _matrix(result["covariance"], "result.covariance")
    noise_covariance = _matrix(result["noise_covariance"], "result.noise_covariance")
    if len(covariance) + len(noise_covariance) != len(parameters):
        raise CalibrationError(
            f"has {len(parameters)} parameters but covariances of {len(covariance)} and {len(noise_covariance)}"
        )
    spread = _matrix(result["spread"], "result.spread") if "spread" in result else None
    if spread is not None and spread.shape != covariance.shape:
        raise CalibrationError(f"result.spread is of {len(spread)} parameters; those of the fit are {len(covariance)}")
    motion = MotionModel(
        model=_model(model, vehicle_of_tables(shape, file)),
        sensor=Sensor(**{k: _number(v, f"sensor.{k}") for k, v in tables["sensor"].items()}),
        noise=Noise(
            components=tuple(noise["components"]),
            form=noise["form"],
            grows=noise["grows"],
            density=_matrix(noise["density"], "noise.density"),
            wander=np.array(noise["wander"], dtype=np.float64) if "wander" in noise else None,
            length=_number(noise.get("length", Noise.length), "noise.length"),
        ),
        powertrain=None if train is None else Powertrain(**{k: _number(v, k) for k, v in train.items()}),
        ground=_ground(model, ground),
        dt=_number(model.get("dt", 0.04), "model.dt"),
        start=str(model.get("start", "poses")),
    )
    return Fit(
        model=motion,
        parameters=tuple(parameters),
        vector=np.array([_number(r["value"], str(r["name"])) for r in rows]),
        covariance=covariance,
        noise_covariance=noise_covariance,
        spread=spread,
        training=Training(**{f.name: training.get(f.name) for f in dataclasses.fields(Training)}),
        undetermined=tuple(
            Direction(parts={str(k): float(v) for k, v in d["parts"].items()}, shrinkage=float(d["shrinkage"]))
            for d in result.get("undetermined", [])
        ),
        warnings=tuple(str(sentence) for sentence in result.get("warnings", [])),
    )


def model_tables(motion: MotionModel) -> dict[str, Any]:
    model = motion.model
    if isinstance(model, VelocityModel):
        return {"kind": type(model).__name__, **model.spec, "parameters": model.parameters}
    if not is_dynamic(model):
        out: dict[str, Any] = {"kind": "Kinematics", "penetration": model.penetration, "integrator": model.integrator}
        out |= {"tip_angle": model.tip_angle, "weights": dataclasses.asdict(model.weights)}
        if model.time_constant is not None:
            out["time_constant"] = model.time_constant
        if isinstance(model.slip, slip.BodySlip):
            axes = dict(zip(("lon", "lat", "ang", "up"), model.slip.axes.tolist(), strict=True))
            out["slip"] = {"parameters": model.slip.coefficients.tolist(), "apply": model.slip.apply, **axes}
            if type(model.slip) is not slip.BodySlip:  # without a kind it is BodySlip, as in files of older versions
                out["slip"]["kind"] = type(model.slip).__name__
        elif model.slip is not None:
            raise CalibrationError("a slip law of your own cannot be written into a fit file; keep it in code")
    else:
        out = {"kind": "Dynamics", **_dynamics_tables(model)}
    if motion.ground is not None:
        out["ground"] = LEVEL if motion.ground.kind == LEVEL else "other"
        out |= {"dt": motion.dt, "start": motion.start}
    return out


def _dynamics_tables(model: dynamics.Dynamics) -> dict[str, Any]:
    if model.external:
        raise CalibrationError("a fit file cannot hold external forces; keep them in code")
    out: dict[str, Any] = {}
    if isinstance(model.contact, Mapping):
        out["contacts"] = {wheel: _plain(law, CONTACTS) for wheel, law in model.contact.items()}
    else:
        out["contact"] = _plain(model.contact, CONTACTS)
    if len(model.vehicle.arrays.hull_frame):
        out["hull"] = _plain(model.hull, CONTACTS)
    if model.joints:
        out["joints"] = [_plain(law, JOINTS) for law in model.joints]
    out |= {name: getattr(model, name) for name in OPTIONS if getattr(model, name) is not None}
    if model.actuator is not None:
        out["actuator"] = _plain(model.actuator, ACTUATORS)
    return out


def _plain(value: Any, kinds: Sequence[str]) -> dict[str, Any]:
    """A dataclass of one of the kinds as plain values."""
    kind = type(value).__name__
    if kind not in kinds:
        raise CalibrationError(f"a fit file can hold {', '.join(kinds)}, not {kind}")
    fields = vars_of(value).items()
    return {"kind": kind, **{k: vars_of(v) if dataclasses.is_dataclass(v) else v for k, v in fields}}


def vars_of(value: Any) -> dict[str, Any]:
    """Fields of a dataclass by name."""
    return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}


def _rebuilt(data: dict[str, Any], package: Any, kinds: Sequence[str], what: str) -> Any:
    fields: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in data.items()}
    kind = fields.pop("kind", None)
    if kind not in kinds:
        raise CalibrationError(f"{what} {kind!r:.40} is not one of {', '.join(kinds)}")
    if kind in ("Pacejka", "Ishigami"):
        part = contact.MagicFormula if kind == "Pacejka" else contact.ShearModulus
        fields = {name: part(**v) if isinstance(v, dict) else v for name, v in fields.items()}
    return getattr(package, kind)(**fields)


def _model(data: dict[str, Any], vehicle: Vehicle) -> Any:
    kind, data = data["kind"], {name: v for name, v in data.items() if name not in ("kind", "ground", "dt", "start")}
    if kind in VELOCITY_MODELS:
        parameters = data.pop("parameters")
        model = getattr(models, kind)(vehicle=vehicle, **data)
        return model.with_parameters({name: _number(value, name) for name, value in parameters.items()})
    if kind == "Kinematics":
        if "slip" in data:
            data["slip"] = _rebuilt({"kind": "BodySlip", **data["slip"]}, slip, SLIPS, "slip")
        return kinematics.Kinematics(vehicle, **{**data, "weights": kinematics.Weights(**data["weights"])})
    if kind == "Dynamics":
        options = {name: data[name] for name in OPTIONS if name in data}
        if "actuator" in data:
            options["actuator"] = _rebuilt(data["actuator"], actuation, ACTUATORS, "actuator")
        if "contacts" in data:
            laws = data["contacts"].items()
            options["contact"] = {w: _rebuilt(law, contact, CONTACTS, f"contact of {w}") for w, law in laws}
        else:
            options["contact"] = _rebuilt(data["contact"], contact, CONTACTS, "contact model")
        if "hull" in data:
            options["hull"] = _rebuilt(data["hull"], contact, CONTACTS, "hull")
        options["joints"] = [_rebuilt(law, joints, JOINTS, "joint model") for law in data.get("joints", [])]
        return dynamics.Dynamics(vehicle, **options)
    raise CalibrationError(
        f"model kind {kind!r:.40} is not Kinematics, Dynamics or one of {', '.join(VELOCITY_MODELS)}"
    )


def _ground(data: dict[str, Any], given: terrain.Terrain | None) -> terrain.Terrain | None:
    stood_on = data.get("ground")
    if given is not None or stood_on is None:
        return given
    if stood_on == LEVEL:
        return terrain.plane()
    raise CalibrationError("the model was calibrated on a ground of its own, which is not in the file; give ground=…")


def _matrix(rows: Any, name: str) -> np.ndarray:
    matrix = np.array(rows, dtype=np.float64)
    if matrix.size == 0:
        return np.zeros((0, 0))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
        raise CalibrationError(f"{name} is not a square matrix of finite numbers")
    return matrix


def _number(value: Any, name: str) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise CalibrationError(f"{name} is {number:g}, not a finite number")
    return number


def table_lines(name: str, values: dict[str, Any]) -> list[str]:
    """A table with a row for each value that is not None."""
    return [f"[{name}]", *(f"{k} = {toml_value(v)}" for k, v in values.items() if v is not None), ""]
