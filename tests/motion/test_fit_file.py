"""Fit files: bit for bit, whole or not at all, and one-sentence errors for anything else (tests 25 to 27)."""

from __future__ import annotations

import contextlib
import os
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import grouser as gr
from grouser.actuation import PI
from grouser.contact import Ishigami, Pacejka, PiecewiseLinear
from grouser.errors import CalibrationError
from grouser.kinematics.model import Weights
from grouser.logs.log import Sensor
from grouser.motion.fit import Direction, Fit, Training
from grouser.motion.fit_file import SCHEMA, fit_text, read_fit
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.parameters import is_noise, resolve, value_of
from grouser.motion.planar import Bicycle, DifferentialDrive, FourNumbers
from grouser.motion.powertrain import Powertrain
from grouser.motion.slip_surface import Perturbative
from grouser.slip import BodySlip
from tests.motion import planted_logs as drives

LEVEL = gr.terrain.plane()
THIRD = 1.0 / 3.0
SENSOR = Sensor(x=THIRD, y=-0.1, z=0.2, yaw=0.01, lag=THIRD / 7.0, time_noise=1e-3)
KINDS = {
    "kinematics": lambda: MotionModel(model=gr.Kinematics(drives.warthog()), sensor=SENSOR),
    "slip": lambda: MotionModel(
        model=gr.Kinematics(
            drives.warthog(),
            slip=BodySlip(drives.SLIP * THIRD, lon=(1.0, 0.1, 0.0), apply="body"),
            weights=Weights(lateral=0.3),
            time_constant=0.2,
            integrator="rk4",
            tip_angle=1.0,
        ),
        noise=Noise(
            density=np.array([[2e-3, 1e-4], [1e-4, THIRD]]), components=("vx", "wz"), form="full", grows="time"
        ),
        powertrain=Powertrain(gain=0.9, delay=THIRD),
    ),
    "piecewise": lambda: MotionModel(
        model=gr.Dynamics(
            drives.warthog(), contact=PiecewiseLinear(friction=(THIRD, 0.5), cone=True), max_iterations=33, gravity=3.7
        ),
        ground=LEVEL,
        dt=0.013,
    ),
    "pacejka with PI": lambda: MotionModel(
        model=gr.Dynamics(drives.warthog(), contact=Pacejka(friction=0.7), actuator=PI(gain=50.0, integral=THIRD)),
        ground=LEVEL,
    ),
    "by the wheel": lambda: MotionModel(
        model=gr.Dynamics(
            drives.warthog(),
            contact={"FL": Pacejka(), "FR": PiecewiseLinear(friction=THIRD), "BL": Ishigami(), "BR": Pacejka()},
            actuator=PI(gain={"FL": 9.0, "FR": 8.0, "BL": THIRD, "BR": 6.0}),
        ),
        ground=LEVEL,
        start="wheels",
    ),
    "sprung": lambda: MotionModel(
        model=gr.Dynamics(
            gr.vehicle("crusher"), joints=[gr.joints.Spring(joints={"linkFL": 1.0, "linkFR": -1.0}, stiffness=THIRD)]
        ),
        ground=LEVEL,
        powertrain=Powertrain(gain=THIRD),
    ),
    "differential": lambda: MotionModel(model=DifferentialDrive(vehicle=drives.warthog(), yaw_gain=0.7, left=("FL",))),
    "bicycle": lambda: MotionModel(model=Bicycle(vehicle=drives.tricycle(), steering_offset=THIRD)),
    "four numbers": lambda: MotionModel(model=FourNumbers(vehicle=drives.warthog(), lateral=THIRD)),
    "surface": lambda: MotionModel(model=Perturbative(vehicle=drives.warthog(), slip=THIRD * np.arange(13.0))),
}


def fit_of(motion: MotionModel) -> Fit:
    names = ["sensor.x", "vehicle.radius", "noise"]
    parameters = sorted(resolve(motion, names), key=lambda p: is_noise(p.name))
    ns = sum(is_noise(p.name) for p in parameters)
    random = np.random.default_rng(0)
    A, B = random.standard_normal((2, 2)), random.standard_normal((ns, ns))
    return Fit(
        model=motion,
        parameters=tuple(parameters),
        vector=np.array([value_of(motion, p.name) for p in parameters]),
        covariance=A @ A.T,
        noise_covariance=B @ B.T,
        training=Training(
            log='a "log"\\ of ünïts\n',
            samples=7,
            intervals=3,
            interval=None,
            distance=THIRD,
            overlapping=True,
            rejected=1,
            position_rms=THIRD,
            yaw_rms=1e-300,
            method="online",
        ),
        undetermined=(Direction(parts={"sensor.x": 1.0, "vehicle.radius": -THIRD}, shrinkage=1.5),),
        warnings=('it "ran" away', "ünit"),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_comes_back_bit_for_bit(kind, tmp_path):
    fit = fit_of(KINDS[kind]())
    fit.save(tmp_path / "fit.toml")
    back = Fit.load(tmp_path / "fit.toml")
    assert fit_text(back) == fit_text(fit)
    np.testing.assert_array_equal(back.vector, fit.vector)
    np.testing.assert_array_equal(back.covariance, fit.covariance)
    np.testing.assert_array_equal(back.noise_covariance, fit.noise_covariance)
    assert back.parameters == fit.parameters
    assert asdict(back.training) == asdict(fit.training)
    assert back.undetermined == fit.undetermined
    a, b = fit.model, back.model
    assert asdict(b.sensor) == asdict(a.sensor)
    assert (b.powertrain, b.dt, b.start) == (a.powertrain, a.dt, a.start)
    assert back.warnings == fit.warnings
    np.testing.assert_array_equal(b.noise.density, a.noise.density)
    assert (b.noise.components, b.noise.form, b.noise.grows) == (a.noise.components, a.noise.form, a.noise.grows)
    assert type(b.model) is type(a.model)
    assert b.vehicle.frames == a.vehicle.frames
    if isinstance(a.model, gr.Dynamics):
        assert (b.model.contact, b.model.actuator) == (a.model.contact, a.model.actuator)
        assert (b.model.joints, b.model.hull) == (a.model.joints, a.model.hull)
        assert (b.model.max_iterations, b.model.gravity) == (a.model.max_iterations, a.model.gravity)


@pytest.mark.parametrize("kind", ["kinematics", "slip", "differential", "four numbers", "surface"])
def test_a_fit_read_again_predicts_the_same_numbers(kind, tmp_path):
    motion = KINDS[kind]().replace(powertrain=None)
    fit_of(motion).save(tmp_path / "fit.toml")
    log = drives.winding_log(drives.slipping(), seconds=6.0)
    again = Fit.load(tmp_path / "fit.toml").model
    np.testing.assert_array_equal(motion.predict(log).pose, again.predict(log).pose)


def test_a_ground_of_its_own_must_be_given_again(tmp_path):
    ground = gr.terrain.slope(5.0)
    fit_of(MotionModel(model=gr.Dynamics(drives.warthog()), ground=ground)).save(tmp_path / "fit.toml")
    with pytest.raises(CalibrationError, match="ground="):
        Fit.load(tmp_path / "fit.toml")
    assert Fit.load(tmp_path / "fit.toml", ground=ground).model.ground is ground


def test_a_newer_file_is_refused_politely(tmp_path):
    path = tmp_path / "fit.toml"
    path.write_text(fit_text(fit_of(KINDS["slip"]())).replace(SCHEMA, "grouser/fit@2"))
    with pytest.raises(CalibrationError, match="newer Grouser"):
        read_fit(path)
    path.write_text('schema = "grouser/log@1"\n')
    with pytest.raises(CalibrationError, match="expected 'grouser/fit@1'"):
        read_fit(path)
    with pytest.raises(CalibrationError, match="no such file"):
        read_fit(tmp_path / "none.toml")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "fit.toml"
    fit = fit_of(KINDS["slip"]())
    fit.save(path)
    before = path.read_bytes()

    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(CalibrationError, match="No space left"):
        fit_of(KINDS["kinematics"]()).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["fit.toml"]


def test_what_a_file_cannot_hold_is_said(tmp_path):
    motion = MotionModel(
        model=gr.Dynamics(drives.warthog(), external=[gr.dynamics.ExternalForce(frame="body", force=(1.0, 0.0, 0.0))]),
        ground=LEVEL,
    )
    fit = fit_of(motion)
    with pytest.raises(CalibrationError, match="cannot hold external forces"):
        fit.save(tmp_path / "fit.toml")
    assert not (tmp_path / "fit.toml").exists()


GOOD = fit_text(fit_of(KINDS["slip"]()))
DYNAMIC = fit_text(fit_of(KINDS["pacejka with PI"]()))


def read_or_refuse(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with contextlib.suppress(CalibrationError):
        read_fit(path)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([GOOD, DYNAMIC]),
    st.integers(0, len(GOOD)),
    st.integers(0, 40),
    st.sampled_from(['""', "nan", "-1", "[]", "{}", "1e400", "[[1.0]]", "true", "\x00", "= =", '"vx"', "10" * 30, ""]),
)
def test_a_damaged_file_gives_an_error_of_ours_or_a_fit(tmp_path, text, at, length, piece):
    read_or_refuse(tmp_path / "fit.toml", (text[:at] + piece + text[at + length :]).encode())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([GOOD, DYNAMIC]),
    st.integers(0, 10_000),
    st.sampled_from(
        ['""', "nan", "-1", "[]", "{}", "1e400", "[[1.0]]", "true", '"vx"', "[nan]", "1" * 400, "[1, [2]]"]
    ),
)
def test_a_field_of_another_kind_gives_an_error_of_ours_or_a_fit(tmp_path, text, at, value):
    lines = text.splitlines()
    fields = [k for k, line in enumerate(lines) if " = " in line]
    k = fields[at % len(fields)]
    lines[k] = lines[k].split(" = ")[0] + f" = {value}"
    read_or_refuse(tmp_path / "fit.toml", "\n".join(lines).encode())


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300))
def test_bytes_of_any_kind_give_an_error_of_ours(tmp_path, data):
    path = tmp_path / "fit.toml"
    path.write_bytes(data)
    with pytest.raises(CalibrationError):
        read_fit(path)
