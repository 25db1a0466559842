"""The library of soils and tyres: numbers have sources; a rover stands, sinks in and drives on each as it should."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

import grouser as gr
from grouser.contact import library
from grouser.contact.library import contact_of
from grouser.contact.named import contact_named, stuck
from grouser.law import Recipe

SOILS, TYRES = gr.contact.names("soil"), gr.contact.names("tyre")
FIRM_TO_LOOSE = ("lete_sand", "mars_sand", "hit_simulant", "dry_sand", "mars_simulant")
"""Sands by how much they carry, by their tables: plates of 12 cm press them by 10 mm with 133, 34, 16, 10 and 6 kPa."""
R, B, LOAD = 0.15, 0.12, 49.0  # m, m, N: a wheel of a rover of 20 kg


@pytest.fixture(scope="module")
def rover(tmp_path_factory: pytest.TempPathFactory) -> gr.Vehicle:
    """Four wheels, 20 kg."""
    places = {"FL": (0.25, 0.25), "FR": (0.25, -0.25), "BL": (-0.25, 0.25), "BR": (-0.25, -0.25)}
    wheel = gr.vehicles.wheel_inertia(0.5, R, B)
    frames = [gr.vehicles.Frame("body", mass=18.0, com=(0, 0, 0.05), inertia=(0.5, 0.8, 1.0))]
    for name, (x, y) in places.items():
        frames.append(
            gr.vehicles.Frame(name, "body", "RY", True, xyz=(x, y, 0), radius=R, width=B, mass=0.5, inertia=wheel)
        )
    return gr.Vehicle("rover", tuple(frames))


def force(soil: gr.contact.Contact, depth: float, slip: float = 0.0) -> np.ndarray:
    """On a wheel that turns at 0.5 m/s of rim speed [N]."""
    return soil.force([-0.5 * slip, 0.0, 0.0], 0.5, -depth, radius=R, width=B)


def sinkage(soil: gr.contact.Contact, slip: float = 0.0, load: float = LOAD) -> float:
    """Depth at which the soil carries the load [m]."""
    return float(brentq(lambda h: force(soil, h, slip)[2] - load, 1e-7, 0.99 * R))


def test_names_titles_and_sources_are_complete() -> None:
    assert len(SOILS) >= 12
    assert len(TYRES) >= 6
    assert gr.contact.names() == SOILS + TYRES
    for name in gr.contact.names():
        one = gr.contact.entry(name)
        assert one.title
        assert len(one.title) < 50
        for field, number in one.numbers.items():
            assert number.source == "assumed" or len(number.source) > 20, (name, field)
            assert number.unit, (name, field)
            assert hasattr(one.model, field), (name, field)
    # What nobody measured is called so.
    assert gr.contact.entry("sandy_loam").numbers["isotropic_shear"].source == "assumed"
    assert "Table 2.3" in gr.contact.entry("sandy_loam").numbers["k_phi"].source


def test_numbers_of_a_table_arrive_in_si_units() -> None:
    """Wong's table has kN and kPa: dry sand n 1.1, k_c 0.99, k_φ 1528.43, c 1.04, φ 28°."""
    soil = gr.contact.soil("dry_sand")
    assert isinstance(soil, gr.contact.Ishigami)
    assert (soil.n, soil.k_c, soil.k_phi, soil.cohesion) == (1.1, 990.0, 1528430.0, 1040.0)
    assert soil.friction_angle == pytest.approx(28.0 * math.pi / 180.0, rel=1e-12)
    assert soil.destructive_angle == pytest.approx(31.0 * math.pi / 180.0, rel=1e-12)
    # Pressed by a plate 0.1 m wide to 5 cm, it carries (990/0.1 + 1528430) 0.05^1.1 Pa.
    assert (soil.k_c / 0.1 + soil.k_phi) * 0.05**soil.n == pytest.approx(57.0e3, rel=0.01)
    loam = gr.contact.soil("clayey_loam")
    assert (loam.n, loam.k_c, loam.k_phi, loam.cohesion) == (0.73, 41600.0, 2471000.0, 6100.0)


def test_the_simulant_is_the_default_of_the_law() -> None:
    assert gr.contact.soil("lunar_simulant") == gr.contact.Ishigami()
    assert gr.contact.tyre("tyre") == gr.contact.Pacejka()


@pytest.mark.parametrize("name", SOILS)
def test_a_wheel_sinks_in_as_far_as_its_stresses_carry_it(name: str) -> None:
    """f_z at zero slip against an integral of its own: σ(θ) = (k_c/b + k_φ) R^n (cos θ − cos θ_f)^n, T (C.24), shear
    with the path of the rim through the soil, and c + σ tan φ."""
    soil, load = gr.contact.soil(name), 20.0 if name == "snow" else LOAD
    h = sinkage(soil, load=load)
    assert 1e-4 < h < 0.6 * R
    if soil.isotropic_shear is None:
        return  # the simulant has its own tests
    θ_f = math.acos(1.0 - h / R)
    assert soil.sinkage_ratio == 0.0
    θ_m = soil.a_0 * θ_f

    def σ(θ: float) -> float:
        above = θ if θ >= θ_m else θ_f - θ / θ_m * (θ_f - θ_m)
        return (soil.k_c / B + soil.k_phi) * (R * max(math.cos(above) - math.cos(θ_f), 0.0)) ** soil.n

    def τ(θ: float) -> float:
        # Zero slip: the rim point has moved R (θ_f − θ) along the rim, the soil sin θ_f − sin θ with it.
        j = R * (θ_f - θ - (math.sin(θ_f) - math.sin(θ)))
        return (soil.cohesion + σ(θ) * math.tan(soil.friction_angle)) * (1.0 - math.exp(-j / soil.isotropic_shear))

    carried = R * B * quad(lambda θ: σ(θ) * math.cos(θ) + τ(θ) * math.sin(θ), 0.0, θ_f, points=[θ_m])[0]
    assert carried == pytest.approx(load, rel=2e-3)


@pytest.mark.parametrize("name", SOILS)
def test_pull_grows_with_slip_and_stays_within_what_the_soil_holds(name: str) -> None:
    soil = gr.contact.soil(name)
    load = 20.0 if name == "snow" else LOAD
    pulls = []
    for slip in (0.0, 0.1, 0.3, 0.6, 0.9):
        h = sinkage(soil, slip, load)
        pulls.append(force(soil, h, slip)[0] / load)
        area = B * R * math.acos(1.0 - h / R)
        # The rim's normal stress is more than the load by its slant, at most 1/cos θ_f.
        holds = soil.cohesion * area / load + math.tan(soil.friction_angle) / math.cos(math.acos(1.0 - h / R))
        assert pulls[-1] < holds
    assert pulls[0] < 0.0  # rolled along it resists
    assert np.all(np.diff(pulls) > 0.0)
    assert pulls[-1] > 0.02  # and drives itself at a large slip


def test_looser_sand_lets_wheels_sink_more_and_resists_more() -> None:
    depths = [sinkage(gr.contact.soil(name)) for name in FIRM_TO_LOOSE]
    assert depths == sorted(depths)
    assert depths[-1] > 5.0 * depths[0]
    resists = [-force(gr.contact.soil(name), h)[0] for name, h in zip(FIRM_TO_LOOSE, depths, strict=True)]
    assert resists[0] < 0.1 * LOAD
    assert resists[0] < resists[1] < resists[3]
    for name, h, found in zip(FIRM_TO_LOOSE, depths, resists, strict=True):
        soil = gr.contact.soil(name)
        # Bekker: pressing a rut costs b k h^(n+1)/(n+1) a metre; the bow wave adds, thrust at zero slip takes off.
        compaction = B * (soil.k_c / B + soil.k_phi) * h ** (soil.n + 1.0) / (soil.n + 1.0)
        assert 0.5 * compaction < found < 1.3 * compaction, name


@pytest.mark.parametrize("name", SOILS)
def test_a_rover_stands_on_each_soil_and_drives(rover: gr.Vehicle, name: str) -> None:
    light = rover.replace_frame("body", mass=6.0) if name == "snow" else rover
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        contact = contact_named(name, light, speed=0.3)
    model = gr.Dynamics(light, contact=contact, actuator=gr.actuation.PI(gain=100.0))
    still = gr.simulate(model, gr.terrain.plane(), gr.drive.arc(0.0), duration=1.0, dt=0.02)
    assert still.status == gr.Status.OK
    weight = light.mass * 9.81
    assert still.contact.force[-1, :, 2].sum() == pytest.approx(weight, rel=2e-3)
    expected = sinkage(gr.contact.soil(name), load=weight / 4.0)
    # A wheel at rest is not carried by the soil it shears, which in snow is as cohesive as it is soft.
    shear = 0.15 if name == "snow" else 0.05
    assert R - still.position[-1, 2] == pytest.approx(expected, rel=shear, abs=2e-4)
    run = gr.simulate(model, gr.terrain.plane(), gr.drive.arc(0.3), duration=3.0, dt=0.02)
    assert run.status == gr.Status.OK
    assert 0.3 < run.velocity[-1, 3] / 0.3 < 1.0  # it slips, and gets ahead


def test_a_vehicle_too_heavy_for_a_soil_is_warned_of() -> None:
    husky = gr.vehicle("husky")
    assert "has no pull at any slip" in stuck(gr.contact.soil("mars_simulant"), husky)  # type: ignore[arg-type]
    assert "sinks in to its axle" in stuck(gr.contact.soil("snow"), husky)  # type: ignore[arg-type]
    assert stuck(gr.contact.soil("dry_sand"), husky) == ""  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match=r"contact: in mars_simulant a wheel of 0.165 m with 12\d N on it"):
        contact_named("mars_simulant", husky)


@pytest.mark.parametrize("name", TYRES)
def test_a_tyre_holds_no_more_than_its_friction(name: str) -> None:
    tyre = gr.contact.tyre(name)
    slip = np.linspace(0.0, 3.0, 301)
    v = np.stack([-slip, np.zeros_like(slip), np.zeros_like(slip)], axis=-1)
    f = tyre.force(v, 3.5, -0.02, radius=R, width=B, load=200.0)
    used = f[:, 0] / f[:, 2]
    assert used.max() <= tyre.friction + 1e-9
    assert used.max() > 0.85 * tyre.friction
    if name not in ("tyre", "tyre_dry_tarmac"):
        share = gr.contact.entry(name).numbers["dynamic_share"].value
        assert used[-1] == pytest.approx(share * tyre.friction, rel=1e-3)


def test_ice_holds_less_than_snow_and_snow_less_than_gravel() -> None:
    friction = [gr.contact.tyre(name).friction for name in ("ice_road", "snow_packed", "gravel", "asphalt_dry")]
    assert friction == sorted(friction)
    # Wong's averages: peak and sliding.
    for name, peak, sliding in (("gravel", 0.6, 0.55), ("snow_packed", 0.2, 0.15), ("ice_road", 0.1, 0.07)):
        tyre = gr.contact.tyre(name)
        assert tyre.friction == peak
        assert tyre.friction * tyre.dynamic_share == pytest.approx(sliding, abs=2e-3)


def test_dry_tarmac_peaks_at_a_slip_of_a_fifth() -> None:
    """D sin(C atan(B s (1 − E) + E atan(B s))) with B 10, C 1.9, D 1, E 0.97, on both axes at small angles.

    T joins both by Nicolas and Comstock: along one axis it is f k s/√(k² s² + f²), k = BCD the slope of the other.
    """
    slip = np.linspace(0.0, 0.6, 601)
    curve = np.sin(1.9 * np.arctan(10.0 * slip * 0.03 + 0.97 * np.arctan(10.0 * slip)))
    tyre = gr.contact.tyre("tyre_dry_tarmac").replace(smoothing=1e-6, stiffness=1e4)
    still = np.zeros_like(slip)
    f = tyre.force(np.stack([-slip, still, still], axis=-1), 1.0 + slip, -0.02, radius=R)
    joined = curve * 19.0 * slip / np.sqrt((19.0 * slip) ** 2 + curve**2 + 1e-30)
    np.testing.assert_allclose(f[:, 0] / f[:, 2], joined, rtol=0.0, atol=1e-6)
    assert 0.15 < slip[np.argmax(curve)] < 0.25
    side = tyre.force([0.0, -0.02, 0.0], 1.0, -0.02, radius=R)
    assert side[1] / side[2] == pytest.approx(np.interp(0.02, slip, joined), rel=1e-3)


def test_wrong_names_are_told_what_there_is() -> None:
    for call, said in (
        (
            lambda: gr.contact.soil("dry sand"),
            r"there is no soil 'dry sand'; did you mean 'dry_sand'\? soils are dry_s",
        ),
        (lambda: gr.contact.tyre("rubber"), "there is no tyre 'rubber'; tyres are tyre, "),
        (lambda: gr.contact.soil("gravel"), r"'gravel' is a tyre, not a soil; use grouser.contact.tyre\('gravel'\)"),
        (lambda: gr.contact.entry("mud"), "there is no soil or tyre 'mud'"),
        (lambda: contact_named("mud", gr.vehicle("husky")), "is not one of piecewise-linear, pacejka"),
        (lambda: contact_named("clay", gr.vehicle("husky"), friction=0.5), "terramechanics has none"),
        (lambda: contact_named("clay", gr.vehicle("zoe").replace_frame("FL", width=None)), "has no width"),
    ):
        with pytest.raises(gr.errors.SimulationError, match=said):
            call()


def test_an_entry_makes_its_model_again_from_a_file(tmp_path: Path) -> None:
    for name in gr.contact.names():
        one = gr.contact.entry(name)
        assert contact_of(Recipe(one.model.recipe() or {}, "contact")) == one.model
    where = gr.terrain.SoilRaster(classes=[[0, 1]], cell=1.0)
    ground = gr.terrain.soils(gr.terrain.plane(), where, [gr.contact.soil("clay"), gr.contact.tyre("gravel")])
    ground.save(tmp_path / "ground.npz")
    assert gr.terrain.read(tmp_path / "ground.npz").soils is not None
    assert library.entries() is library.entries()
