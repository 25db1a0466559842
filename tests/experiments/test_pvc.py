"""R §16.4 again: three freedoms, contacts that close, camber that stays small, and what locking it costs."""

import json

import numpy as np
import pytest

from experiments import pvc as chapter
from experiments.catalog import EXPERIMENTS
from grouser.rolling import RollingModel, roll
from grouser.vehicles import vehicle

NAMES = ("pvc-plateau", "pvc-random")


@pytest.fixture(scope="module")
def results():
    return {name: EXPERIMENTS[name].run(quick=name == "pvc-plateau") for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_three_degrees_of_freedom_and_contacts_that_close_for_every_sigma(results, name):
    result = results[name]
    assert [row["sigma"] for row in result.rows] == ([5.0] if name == "pvc-plateau" else [1.0, 5.0, 10.0])
    for row in result.rows:
        assert row["status"] == "ok"
        assert row["distance"] > 19.0
        assert row["degrees_of_freedom"] == 3  # in every row: None where it changes
        assert row["rank_gap_log10"] > 6.0
        assert row["closure_error_max"] < 3e-4
        assert row["contact_gap_max"] < 1e-6
        assert row["normal_error_max"] < 1e-6
        assert row["rolling_residual_max"] < 1e-5
        assert row["camber_max_deg"] < 5.0
        assert {"degrees_of_freedom", "closure_error_max", "rolling_residual_max", "seconds"} <= set(row)
    json.dumps(result.to_json(), allow_nan=False)
    assert "the paper says below 0.0003" in result.table()


@pytest.mark.parametrize("name", NAMES)
def test_only_the_locked_design_must_slip(results, name):
    designs = {one["vehicle"]: one for one in results[name].settings["designs"]}
    assert set(designs) == set(chapter.DESIGNS)
    locked = designs.pop("pvc_locked")
    assert locked["degrees_of_freedom"] < designs["pvc"]["degrees_of_freedom"] == 3
    assert locked["slip_per_metre"] > 1e-4
    for one in designs.values():
        assert one["status"] == "ok"
        assert one["slip_per_metre"] < 1e-6
        assert one["energy_per_metre"] < 1e-3 * locked["energy_per_metre"]


def test_the_plateau_is_left_down_a_steep_hill_and_the_random_ground_is_hilly():
    ground = chapter.plateau()
    assert ground.height(0.0, 0.0) == pytest.approx(3.0, abs=1e-3)
    assert ground.height(18.0, 0.0) == pytest.approx(0.0, abs=1e-3)
    assert np.abs(ground.gradient(np.linspace(0, 18, 400), 0.0)).max() > np.tan(np.radians(30.0))
    random = chapter.random_ground()
    x = np.linspace(-2.0, 22.0, 300)
    assert np.ptp(random.height(x, 0.0)) > 1.0


def test_the_locked_vehicle_cannot_roll_as_told():
    """Its only rolling motion on hills is another: told the same, it falls far behind, and its wheels turn wrongly."""
    rates = {"alpha1": 1.0, "alpha2": 1.0, "alpha3": 1.0}
    ground = chapter.random_ground()
    free, locked = (
        roll(RollingModel(vehicle(name), ground), rates=rates, duration=5.0, dt=0.01) for name in ("pvc", "pvc_locked")
    )
    assert locked.rolling.degrees_of_freedom.max() == 1
    assert locked.distance < 0.5 * free.distance
    wheels = [free.vehicle.joint_index(name) for name in rates], [locked.vehicle.joint_index(name) for name in rates]
    assert np.abs(free.joint_rates[:, wheels[0]] - 1.0).max() < 0.05
    assert np.abs(locked.joint_rates[:, wheels[1]] - 1.0).max() > 0.5


def test_pictures_are_written_whole(results, tmp_path):
    results["pvc-plateau"].plot(tmp_path / "plateau.png")
    for name in ("plateau.png", "plateau-designs.png"):
        assert (tmp_path / name).read_bytes()[:4] == b"\x89PNG"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["plateau-designs.png", "plateau.png"]
