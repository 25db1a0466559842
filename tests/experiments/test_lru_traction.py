"""L §6.3 in small: one soil, one ground, a small ellipse; and the soil that lets go where slip is fast."""

import json
import math

import numpy as np
import pytest

from experiments.lru_running_gear import GEARS
from experiments.lru_traction import LRU_TRACTION
from experiments.wedged_soil import WedgedSoil
from grouser.contact import Ishigami

WHEEL = {"radius": 0.125, "width": 0.1, "load": 98.0}


@pytest.fixture(scope="module")
def result():
    calls = []
    result = LRU_TRACTION.run(quick=True, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (2, 2)
    return result


def test_the_json_has_a_row_with_and_without_control(result):
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    order = [(row["gear"], row["control"]) for row in data["rows"]]
    assert order == [("rigid", "off"), ("rigid", "on"), ("elastic", "off"), ("elastic", "on")]
    assert data["settings"]["control"]["acceleration_slope"] == 1.7
    assert len(data["settings"]["slip_parameters"]["wedged gravel"]) == 6


@pytest.mark.parametrize("gear", ["rigid", "elastic"])
def test_control_lowers_slip_acceleration_and_energy_and_takes_longer(result, gear):
    off, on = (row for row in result.rows if row["gear"] == gear)
    for name in ("slip_mean", "az_peak", "az_rms", "energy_per_m"):
        assert on[name] < off[name], name
        assert on[f"lower_{name}"] == 1
    assert on["seconds"] > off["seconds"]
    assert any("takes longer" in note for note in result.notes)


def test_elastic_running_gear_shakes_the_body_more(result):
    rigid, elastic = (next(r for r in result.rows if (r["gear"], r["control"]) == (g, "off")) for g in GEARS)
    for name in ("slip_peak", "az_rms"):
        assert elastic[name] > rigid[name], name


def test_both_drives_follow_the_same_path(result):
    for row in result.rows:
        assert row["off_most"] < 0.2


def test_calibrated_slip_goes_downhill(result):
    p = result.settings["slip_parameters"]["wedged gravel"]
    assert -1.5 < p[0] < -0.3  # p₁ of our sign: slip downhill, L (5.35) has 0.75


def test_the_plot_is_written(result, tmp_path):
    path = tmp_path / "traction.png"
    result.plot(path)
    assert path.read_bytes()[:4] == b"\x89PNG"


def test_slow_slip_finds_the_soil_at_full_strength_and_fast_slip_at_what_is_left():
    # Ploughing and bow wave know cohesion and friction too, but not the strength of the sheared layer.
    full_soil = Ishigami(bow_wave=0.0)
    soil = WedgedSoil(soil=full_soil, residual=0.75, speed=0.1)
    slow, fast = ([-1e-6, 0.0, 0.0], 0.5, -0.02), ([-3.0, 1.0, 0.0], 4.0, -0.02)
    assert soil.force(*slow, **WHEEL) == pytest.approx(full_soil.force(*slow, **WHEEL), rel=1e-4)
    weak = full_soil.replace(cohesion=0.75 * 800.0, friction_angle=math.atan(0.75 * math.tan(math.radians(37.2))))
    weak_force = weak.force(*fast, **WHEEL)
    assert soil.force(*fast, **WHEEL)[[0, 2]] == pytest.approx(weak_force[[0, 2]], rel=1e-9)
    halfway = soil.force([-0.1, 0.0, 0.0], 0.5, -0.02, **WHEEL)[0]
    full = full_soil.force([-0.1, 0.0, 0.0], 0.5, -0.02, **WHEEL)[0]
    assert 0.75 * full < halfway < full


def test_the_jacobian_of_the_soil_is_its_derivative():
    soil = WedgedSoil()
    x = np.array([-0.05, 0.02, 0.01, 0.5, -0.02])
    J = soil.jacobian(x[:3], x[3], x[4], **WHEEL)
    for k in range(5):
        h = np.zeros(5)
        h[k] = 1e-6
        ahead, behind = ((x + s * h) for s in (1.0, -1.0))
        sides = [
            (*soil.force(y[:3], y[3], y[4], **WHEEL), soil.torque(y[:3], y[3], y[4], **WHEEL)) for y in (ahead, behind)
        ]
        slope = np.subtract(*sides) / 2e-6
        assert J[:3, k] == pytest.approx(slope[:3], rel=1e-5, abs=1e-5 * np.abs(J[:3]).max())
        assert J[3, k] == pytest.approx(slope[3], rel=1e-5, abs=1e-5 * np.abs(J[3]).max())
