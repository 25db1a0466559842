"""Terramechanics against a wheel in real sand: what it says of angles and speeds that it was not fitted to."""

import json
from dataclasses import replace

import numpy as np
import pytest

from experiments import single_wheel as sand
from experiments.catalog import EXPERIMENTS
from experiments.single_wheel_fit import DENSITY, START_VALUES, fit, soil
from experiments.single_wheel_held_out import across_angles, across_slips, corrected, measured
from grouser.contact import Ishigami
from grouser.errors import GrouserError

PULL, LATERAL, SINKAGE = sand.QUANTITIES


@pytest.fixture(scope="module")
def points():
    return sand.read(sand.find_data())


@pytest.fixture(scope="module")
def result(points):
    calls = []
    result = EXPERIMENTS["single-wheel"].run(quick=True, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (8, 8)
    return result


def row(result, wheel, quantity, held_out=sand.SPEEDS, angle="to 45"):
    (found,) = (
        r
        for r in result.rows
        if (r["wheel"], r["quantity"], r["held_out"], r["slip_angle"]) == (wheel, quantity, held_out, angle)
    )
    return found


def test_half_of_the_points_are_fitted_and_none_of_the_others_repeats_one(points):
    assert len(points) == 216
    fitted = points.half()
    assert fitted.sum() == 108
    conditions = list(zip(points.wheel, points.angle, points.rim_speed, strict=True))
    assert not {c for c, f in zip(conditions, fitted, strict=True) if f} & {
        c for c, f in zip(conditions, fitted, strict=True) if not f
    }


def test_signs_a_yawed_wheel_is_pushed_against_its_sideways_motion(points):
    yawed = points.angle > 0
    assert (points.v[yawed, 1] * points.measured[yawed, 1] < 0.0).all()
    locked = points.rim_speed == 0
    assert (points.measured[locked & (points.angle == 0), 0] < -30.0).all()
    assert (points.measured[:, 2] > 10.0).all()
    assert (points.load > 10.0).all()


def test_predicted_sinkage_carries_the_measured_load(points):
    model = soil(START_VALUES[0])
    depth = 1e-3 * sand.predict(model, points)[:, 2]
    force = model.force(points.v, points.r_omega, -depth, radius=sand.RADIUS, width=sand.WIDTH)
    # 0.01 N is a fortieth of the scatter of forces.
    assert force[:, 2] == pytest.approx(points.load, abs=0.01)


def test_smoothing_and_damping_do_not_matter(points):
    model = Ishigami(smoothing=sand.SMOOTHING)
    # At 0° and 90° it does matter: there v_y or V_x is a misalignment of the yaw, as small as ε.
    moving = points[(points.rim_speed > 0) & (points.angle > 0) & (points.angle < 90)]
    reference = sand.predict(model, moving)
    assert sand.predict(replace(model, damping=0.0), moving) == pytest.approx(reference)
    less = sand.predict(replace(model, smoothing=0.1 * sand.SMOOTHING), moving)
    assert np.abs(less - reference).max() < 0.5 * min(sand.SCATTER)


@pytest.mark.parametrize("wheel", sand.WHEELS)
def test_the_fit_lives_on_physics_not_on_quadrature_points(result, points, wheel):
    (found,) = (f["soil"] for f in result.settings["fits"] if (f["wheel"], f["law"]) == (wheel, "mended"))
    inside = points[(points.wheel == wheel) & (points.angle <= 45)]
    coarse = sand.predict(Ishigami(**found), inside)
    fine = sand.predict(Ishigami(**{**found, "points": 32}), inside)
    assert (np.sqrt(((fine - coarse) ** 2).mean(axis=0)) < np.array(sand.SCATTER)).all()


def test_a_planted_soil_is_found_again_in_its_predictions(points):
    """At an angle that the fit has not seen."""
    planted = soil({**START_VALUES[0], "friction_angle_deg": 28.0, "slip_sinkage": 1.5, "plough_sideslip": 0.7})
    assert planted.density == DENSITY
    smooth = points[(points.wheel == "smooth") & (points.angle <= 45)]
    made = replace(smooth, measured=sand.predict(planted, smooth))
    out = made.angle == 30
    found = fit(made[~out], starts=1)
    error = sand.predict(found.model, made[out]) - made[out].measured
    assert (np.sqrt((error**2).mean(axis=0)) < 0.5 * np.array(sand.SCATTER)).all()


def test_interpolation_is_exact_where_measurements_are_linear(points):
    """In slip angle, odd for lateral force and even for the others; and in slip ratio."""
    along = np.column_stack((points.rim_speed, 0.1 * points.angle, 3.0 - 0.2 * points.rim_speed))
    line = replace(points, measured=along)
    for angle in (0, 30, 45):
        out = line.angle == angle
        assert across_angles(line[~out], line[out], measured) == pytest.approx(along[out])
    by_slip = replace(points, measured=np.column_stack([a + points.slip for a in (0.0, 1.0, 2.0)]))
    out = by_slip.rim_speed == 8
    assert across_slips(by_slip[~out], by_slip[out], measured) == pytest.approx(by_slip.measured[out])


def test_a_model_that_is_off_by_a_constant_is_corrected(points):
    model = soil(START_VALUES[0])
    part = points[(points.wheel == "smooth") & (points.angle <= 45)]
    off = replace(part, measured=sand.predict(model, part) + np.array([1.0, 0.0, -2.0]))
    out = off.angle == 30
    assert corrected(model, off[~out], off[out], across_angles) == pytest.approx(off.measured[out])


@pytest.mark.parametrize("wheel", sand.WHEELS)
def test_held_out_speeds_are_predicted_better_than_by_the_law_as_printed(result, wheel):
    for quantity, share, most in ((PULL, 0.75, 2.5), (LATERAL, 0.85, 2.5), (SINKAGE, 0.6, 4.0)):
        found = row(result, wheel, quantity)
        assert found["rms_mended"] < share * found["rms_as_printed"]
        assert found["rms_mended"] < most


@pytest.mark.parametrize("wheel", sand.WHEELS)
def test_an_angle_left_out_is_predicted_better_than_by_the_law_as_printed(result, wheel):
    for angle in (30, 45):
        found = row(result, wheel, LATERAL, sand.ONE_ANGLE, angle)
        assert found["rms_mended"] < 0.8 * found["rms_as_printed"]


@pytest.mark.parametrize("wheel", sand.WHEELS)
def test_at_45_degrees_the_model_beats_interpolation_between_30_and_90(result, wheel):
    for quantity in (LATERAL, SINKAGE):
        found = row(result, wheel, quantity, sand.ONE_ANGLE, 45)
        assert found["rms_mended"] < found["rms_interpolated"]


@pytest.mark.parametrize("wheel", sand.WHEELS)
def test_the_model_fails_beyond_the_axle_and_the_rows_say_so(result, wheel):
    sideways = row(result, wheel, LATERAL, angle=90)
    assert sideways["rms_mended"] > 10.0 * sideways["repeatability"]
    assert sideways["n"] == 27
    assert sideways["interpolated"] is None
    assert any("deeper than the radius" in note for note in result.notes)


def test_it_can_be_written_and_drawn(result, tmp_path):
    written = json.loads(json.dumps(result.to_json()))
    assert written["name"] == "single-wheel"
    assert {"wheel", "held_out", "quantity", "n", "rms_mended", "rms_interpolated", "scatter"} <= set(
        written["rows"][0]
    )
    assert len(result.table().splitlines()) > len(result.rows)
    result.plot(tmp_path / "wheel.png")
    assert (tmp_path / "wheel.png").stat().st_size > 50_000


def test_without_the_data_one_sentence_says_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv("GROUSER_DATA", str(tmp_path))
    with pytest.raises(GrouserError, match=r"robomechanics/3d-terramechanics.*--data must name"):
        EXPERIMENTS["single-wheel"].run(quick=True)


def test_a_file_without_a_column_is_refused_by_its_name(tmp_path):
    (tmp_path / "single_wheel.csv").write_text("wheel,slip\nsmooth,0.1\n")
    with pytest.raises(GrouserError, match="has no column beta_meas_deg"):
        sand.read(tmp_path / "single_wheel.csv")
