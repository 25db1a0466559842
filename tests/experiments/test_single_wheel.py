"""Terramechanics against a wheel in real sand: fitted to half of the points, it says what it can of the rest."""

import json
from dataclasses import replace

import numpy as np
import pytest

from experiments import single_wheel as sand
from experiments.catalog import EXPERIMENTS
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
    assert calls[-1] == (4, 4)
    return result


def row(result, wheel, quantity, angle="all", fitted_to=sand.TO_45, held="held out"):
    (found,) = (
        r
        for r in result.rows
        if (r["wheel"], r["quantity"], r["slip_angle"], r["fitted_to"], r["set"])
        == (wheel, quantity, angle, fitted_to, held)
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
    model = sand.soil(np.array(sand.STARTS[1]))
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
    (found,) = (f["soil"] for f in result.settings["fits"] if (f["wheel"], f["fitted_to"]) == (wheel, sand.TO_45))
    inside = points[(points.wheel == wheel) & (points.angle <= 45)]
    coarse = sand.predict(Ishigami(**found), inside)
    fine = sand.predict(Ishigami(**{**found, "points": 32}), inside)
    assert (np.sqrt(((fine - coarse) ** 2).mean(axis=0)) < np.array(sand.SCATTER)).all()


def test_a_planted_soil_is_found_again_in_its_predictions(points):
    planted = sand.soil(np.array([0.8, 31.0, 4.1, 1.1, 0.45, 0.1, -1.6, 0.03, -1.8, 0.03, 0.8, 0.45]))
    smooth = points[(points.wheel == "smooth") & (points.angle <= 45)]
    made = replace(smooth, measured=sand.predict(planted, smooth))
    fitted = made.half()
    found = sand.fit(made[fitted], starts=2)
    error = sand.predict(found.model, made[~fitted]) - made[~fitted].measured
    assert (np.sqrt((error**2).mean(axis=0)) < 0.25 * np.array(sand.SCATTER)).all()


@pytest.mark.parametrize("wheel", sand.WHEELS)
def test_up_to_45_degrees_held_out_points_are_predicted_within_a_few_newtons(result, wheel):
    assert row(result, wheel, PULL)["rms"] < 3.5
    assert row(result, wheel, LATERAL)["rms"] < 4.0
    assert row(result, wheel, SINKAGE)["rms"] < (8.0 if wheel == "smooth" else 11.0)


@pytest.mark.parametrize("wheel", sand.WHEELS)
def test_the_fitted_soil_beats_that_of_table_c2_on_points_it_has_not_seen(result, wheel):
    for quantity in (PULL, SINKAGE):
        found = row(result, wheel, quantity)
        assert found["rms"] < 0.6 * found["rms_table_c2"]
    assert row(result, wheel, LATERAL)["rms"] < 1.2 * row(result, wheel, LATERAL)["rms_table_c2"]


@pytest.mark.parametrize("wheel", sand.WHEELS)
def test_the_model_fails_beyond_the_axle_and_the_rows_say_so(result, wheel):
    sideways = row(result, wheel, LATERAL, angle=90)
    assert sideways["rms"] > 10.0 * sideways["repeatability"]
    assert sideways["n"] == 27
    assert any("deeper than the radius" in note for note in result.notes)


def test_it_can_be_written_and_drawn(result, tmp_path):
    written = json.loads(json.dumps(result.to_json()))
    assert written["name"] == "single-wheel"
    assert {"wheel", "set", "quantity", "n", "rms", "median", "scatter"} <= set(written["rows"][0])
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
