"""A drive by hand without page, threads or clock: time passes as the test says."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import grouser as gr
from grouser.kinematics.rollover import rollover_margin
from grouser.live import frame
from grouser.live.pilot import Pilot
from grouser.live.session import Session
from grouser.live.settings import Garage, Settings, loaded

FRAME = 1.0 / 60.0
DT = 1.0 / 120.0


def session_of(
    name: str = "husky", ground: Any = None, *, kind: Any = gr.Dynamics, keep: Any = None, start: Any = None
) -> Session:
    vehicle = gr.vehicle(name)
    ground = ground or gr.terrain.plane()
    sim = gr.Simulation(kind(vehicle), ground, dt=DT, start=start)
    pilot = Pilot(gr.Kinematics(vehicle), ground)
    return Session(sim, limits=gr.plan.Limits.of(vehicle), pilot=pilot, keep=keep)


def drive(session: Session, seconds: float) -> None:
    """Time passes while the stick is held as it is."""
    for _ in range(round(seconds / FRAME)):
        session._silent = 0.0  # the page tells it again and again
        session.advance(FRAME)


@pytest.mark.parametrize("kind", [gr.Kinematics, gr.Dynamics])
def test_ahead_is_ahead_and_left_is_left(kind: Any) -> None:
    session = session_of(kind=kind)
    session.steer(1.0, 0.0, 0.0)
    drive(session, 1.0)
    x, y, yaw = session.pose
    # Up to 1 m/s at 2 m/s², then 0.5 s of it: 0.25 + 0.5 m, less a little slip of tyres.
    assert 0.68 < x < 0.76
    assert abs(y) < 0.01
    assert abs(yaw) < 0.01
    session.steer(0.0, 0.0, 1.0)
    drive(session, 1.0)
    assert session.pose[2] > 0.1
    session.steer(-1.0, 0.0, 0.0)
    drive(session, 1.0)
    before = session.pose
    drive(session, 0.5)
    moved = session.pose[:2] - before[:2]
    assert moved @ [math.cos(before[2]), math.sin(before[2])] < -0.3


def test_the_tip_margin_of_a_frame_is_that_of_the_models_gravity() -> None:
    session = session_of(kind=partial(gr.Dynamics, gravity=1.62))
    session.steer(1.0, 0.0, 1.0)
    drive(session, 1.0)
    sim = session.sim
    head = np.frombuffer(frame.picture(session, np.zeros(3), 1.0)[8:], "<f8")[: len(frame.HEAD)]
    moon, earth = (
        rollover_margin(sim.model.vehicle, sim.state[None], sim.velocity[None], sim.contact.point[None], gravity=g)
        for g in (1.62, 9.81)
    )
    margin = head[frame.HEAD.index("margin")]
    assert margin == pytest.approx(moon.angle[0], abs=1e-12)
    assert margin < earth.angle[0] - 0.01  # a turn tips it more easily there


def test_backwards_a_car_with_the_wheel_to_the_left_turns_its_nose_right() -> None:
    """As every driver knows: steered wheels stay where the stick turns them."""
    cars = (name for name in ("rocky7", "zoe") if math.isfinite(gr.plan.Limits.of(gr.vehicle(name)).curvature))
    car = next(cars)
    for forward, sign in ((1.0, 1.0), (-1.0, -1.0)):
        session = session_of(car, kind=gr.Kinematics)
        session.steer(forward, 0.0, 1.0)
        drive(session, 2.0)
        assert np.sign(session.pose[2]) == sign


def test_simulated_time_passes_by_the_factor_in_whole_steps() -> None:
    session = session_of(kind=gr.Kinematics)
    assert session.advance(0.0124) == pytest.approx(DT, abs=1e-12)
    assert session.advance(0.0043) == pytest.approx(DT, abs=1e-12)  # 16.7 ms in all: two steps
    session.hurry(5.0)
    drive(session, 1.0)
    assert session.sim.time == pytest.approx(2 * DT + 5.0, abs=1.5 * DT)
    session.hurry(0.1)
    before = session.sim.time
    drive(session, 1.0)
    assert session.sim.time - before == pytest.approx(0.1, abs=1.5 * DT)


def test_what_the_machine_cannot_keep_up_with_is_dropped() -> None:
    """A step that takes as long as it is: simulated time goes slower, and does not race to catch up."""
    session = session_of(kind=gr.Kinematics)
    for _ in range(10):
        assert session.advance(1.0, stop=lambda: True) == pytest.approx(DT)
    assert session.advance(0.0) <= 0.1 + DT


def test_paused_it_stands_and_steps_one_by_one() -> None:
    session = session_of()
    session.steer(1.0, 0.0, 0.0)
    drive(session, 0.5)
    session.paused = True
    time, state = session.sim.time, session.sim.state
    drive(session, 1.0)
    np.testing.assert_array_equal(session.sim.state, state)
    session.step()
    assert session.sim.time == pytest.approx(time + DT)
    session.paused = False
    session.advance(FRAME)
    assert session.sim.time == pytest.approx(time + 3 * DT)


def test_reset_is_at_the_start_at_rest() -> None:
    session = session_of(start=(1.0, 2.0, 0.5))
    session.steer(1.0, 0.0, 0.3)
    drive(session, 1.0)
    assert math.dist(session.pose[:2], (1.0, 2.0)) > 0.3
    session.reset()
    np.testing.assert_allclose(session.pose, [1.0, 2.0, 0.5], rtol=0.0, atol=1e-12)
    drive(session, 0.5)
    np.testing.assert_allclose(session.pose, [1.0, 2.0, 0.5], rtol=0.0, atol=1e-3)  # nobody holds the stick any more
    assert session.distance < 0.05


def test_a_driver_who_is_not_heard_from_has_let_go() -> None:
    session = session_of(kind=gr.Kinematics)
    session.steer(1.0, 0.0, 0.0)
    for _ in range(round(3.0 / FRAME)):
        session.advance(FRAME)
    assert session.sim.velocity[3] == pytest.approx(0.0, abs=1e-9)
    assert 1.0 < session.pose[0] < 2.0


def test_a_vehicle_on_a_slope_slides_when_friction_goes() -> None:
    session = session_of(ground=gr.terrain.slope(deg=15.0))
    drive(session, 1.0)
    parked = session.pose
    drive(session, 1.0)
    assert math.dist(session.pose, parked) < 1e-3
    settings = session.garage.changed(session.settings, {"friction": 0.1})
    session.use(settings, session.garage.built(settings))
    drive(session, 1.0)
    # It gains g (sin 15° − 0.1 cos 15°) = 1.59 m/s² along 15°: 0.8 m along the ground in a second, to −x, downhill.
    assert session.pose[0] - parked[0] == pytest.approx(-0.5 * 1.59 * math.cos(math.radians(15.0)), rel=0.1)


def test_a_soil_that_the_vehicle_would_sink_into_is_doubted() -> None:
    session = session_of()
    settings = session.settings
    assert session.garage.doubt(settings) == ""
    assert session.garage.doubt(replace(settings, soil="ice_road")) == ""
    assert session.garage.doubt(replace(settings, soil="sandy_loam_wet")) == ""
    assert "sinks in to its axle" in session.garage.doubt(replace(settings, soil="snow"))
    heavy = replace(settings, soil="sandy_loam_wet", payload=session.garage.most_payload)
    assert "sinks in to its axle" in session.garage.doubt(heavy)
    assert session_of(kind=gr.Kinematics).garage.doubt(settings) == ""


def test_payload_is_carried_by_the_wheels() -> None:
    session = session_of()
    mass = session.sim.model.vehicle.mass
    drive(session, 1.0)
    settings = session.garage.changed(session.settings, {"payload": 20.0})
    session.use(settings, session.garage.built(settings))
    drive(session, 2.0)
    force = session.sim.force
    assert force is not None
    assert force[:, 2].sum() == pytest.approx((mass + 20.0) * 9.81, rel=2e-3)


def test_payload_is_spread_as_the_body() -> None:
    vehicle = gr.vehicle("husky")
    heavy = loaded(vehicle, 10.0)
    body, more = vehicle.frames[0], heavy.frames[0]
    assert heavy.mass == pytest.approx(vehicle.mass + 10.0)
    np.testing.assert_allclose(
        np.asarray(more.inertia_matrix) / more.mass, np.asarray(body.inertia_matrix) / body.mass, rtol=1e-12
    )
    assert more.com == body.com


def test_soils_change_the_contact_model_and_begin_with_their_own_friction() -> None:
    garage = Garage(gr.Dynamics(gr.vehicle("husky"), contact=gr.contact.PiecewiseLinear(friction=0.7)))
    own = Settings()
    assert garage.friction_of(own) == 0.7
    slick = garage.changed(own, {"friction": 0.2})
    assert garage.friction_of(slick) == 0.2
    tyre = garage.changed(slick, {"soil": "pacejka"})
    assert isinstance(garage.built(tyre).contact, gr.contact.Pacejka)  # type: ignore[union-attr]
    assert garage.friction_of(tyre) == gr.contact.Pacejka().friction
    assert garage.friction_of(garage.changed(own, {"soil": "terramechanics"})) is None


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ({"speed": 9.0}, "speed: 9 is not a number from 0.05 to 5 m/s"),
        ({"friction": math.nan}, "friction: nan is not a number from 0.02 to 1.5"),
        ({"friction": "1"}, "friction: '1' is not a number"),
        ({"friction": True}, "friction: True is not a number"),
        ({"payload": 1e9}, r"payload: 1e\+09 is not a number from 0 to 100 kg"),
        ({"soil": "custard"}, "soil: 'custard' is not one of own, piecewise-linear"),
        ({"soil": "terramechanics", "friction": 0.5}, "friction: terramechanics has no coefficient of friction"),
        ({"__class__": 1}, "no setting '__class__'; settings are speed, friction, soil, payload"),
    ],
)
def test_impossible_settings_are_refused_in_a_sentence(wanted: dict[str, Any], sentence: str) -> None:
    with pytest.raises(gr.GrouserError, match=sentence.replace("(", r"\(")):
        Garage(gr.Dynamics(gr.vehicle("husky"))).changed(Settings(), wanted)


def test_without_forces_only_the_speed_can_be_set() -> None:
    garage = Garage(gr.Kinematics(gr.vehicle("husky")))
    assert (garage.soils, garage.most_payload) == (("own",), 0.0)
    assert garage.changed(Settings(), {"speed": 2.0}).speed == 2.0
    with pytest.raises(gr.GrouserError, match="a kinematic model has no coefficient of friction"):
        garage.changed(Settings(), {"friction": 0.5})


def test_speed_limit_limits_speed() -> None:
    session = session_of(kind=gr.Kinematics)
    session.use(session.garage.changed(session.settings, {"speed": 0.3}), session.sim.model)
    session.steer(1.0, 0.0, 0.0)
    drive(session, 1.0)
    assert session.sim.velocity[3] == pytest.approx(0.3, rel=1e-6)


@pytest.mark.parametrize("kind", [gr.Kinematics, gr.Dynamics])
def test_it_drives_to_a_place_and_says_so(kind: Any) -> None:
    ground = gr.terrain.rough(rms=0.05, length=1.5, seed=2, size=16.0)
    session = session_of("zoe", ground, kind=kind)
    session.go(3.0, -2.0)
    drive(session, 0.5)
    assert len(session.pilot.path) > 10
    np.testing.assert_allclose(session.pilot.path[0, :2], session.pose[:2], rtol=0.0, atol=0.1)
    drive(session, 12.0)
    assert session.pilot.goal is None
    assert session.pilot.news == "arrived"
    assert math.dist(session.pose[:2], (3.0, -2.0)) < 0.35
    assert len(session.pilot.path) == 0


def test_on_ice_the_planner_follows_what_the_wheels_really_do() -> None:
    """It plans with a model that rolls without slip, and is given the bias that it sees."""
    vehicle = gr.vehicle("husky")
    model = gr.Dynamics(vehicle, contact=gr.contact.PiecewiseLinear(friction=0.15))
    ground = gr.terrain.plane()
    sim = gr.Simulation(model, ground, dt=DT)
    session = Session(sim, limits=gr.plan.Limits.of(vehicle), pilot=Pilot(gr.Kinematics(vehicle), ground))
    session.go(3.0, 3.0)
    drive(session, 15.0)
    assert session.pilot.news == "arrived"


def test_a_stick_that_moves_or_a_cancel_ends_the_drive_to_a_place() -> None:
    session = session_of(kind=gr.Kinematics)
    session.go(4.0, 0.0)
    drive(session, 1.0)
    session.steer(0.0, 0.0, 0.0)  # a stick at rest does not
    assert session.pilot.goal == (4.0, 0.0)
    session.steer(0.0, 0.0, 1.0)
    assert session.pilot.goal is None
    session.go(4.0, 0.0)
    session.pilot.cancel("cancelled")
    drive(session, 1.5)
    at = session.pose
    drive(session, 1.0)
    np.testing.assert_allclose(session.pose, at, rtol=0.0, atol=1e-9)


def test_a_place_off_the_map_is_refused_and_one_out_of_reach_is_given_up() -> None:
    ground = gr.terrain.rough(rms=0.05, length=1.0, seed=1, size=12.0)
    session = session_of(ground=ground, kind=gr.Kinematics)
    with pytest.raises(gr.GrouserError, match=r"\(50.00, 0.00\) m is off the map; click on the ground"):
        session.go(50.0, 0.0)
    session = session_of(ground=gr.terrain.slope(deg=15.0))
    settings = session.garage.changed(session.settings, {"friction": 0.05})
    session.use(settings, session.garage.built(settings))
    session.go(3.0, 0.0)  # uphill on ice
    drive(session, 16.0)
    assert session.pilot.goal is None
    assert session.pilot.news.startswith("gave up")


def test_the_same_drive_twice_is_the_same_to_the_bit() -> None:
    ends = []
    for _ in range(2):
        session = session_of("zoe", gr.terrain.rough(rms=0.05, length=1.5, seed=2, size=16.0))
        session.steer(0.7, 0.0, -0.4)
        drive(session, 1.0)
        session.go(2.0, 1.0)
        drive(session, 2.0)
        ends.append(session.sim.state)
    np.testing.assert_array_equal(*ends)


def test_recordings_are_kept_when_they_end() -> None:
    runs: list[gr.Run] = []
    session = session_of(keep=runs.append)
    session.steer(1.0, 0.0, 0.0)
    drive(session, 1.0)
    settings = session.garage.changed(session.settings, {"friction": 0.4})
    session.use(settings, session.garage.built(settings))
    drive(session, 1.0)
    session.reset()  # ends one and begins another
    assert len(runs) == 1
    run = runs[0]
    assert run.time[-1] == pytest.approx(2.0, abs=4 * DT)
    assert run.time[1] == pytest.approx(4 * DT)
    assert run.position[-1, 0] > 1.0
    assert "driven by hand; t = 1 s: friction 0.4" in run.model
    assert run.contact.force is not None
    session.reset()  # nothing moved: not worth a file
    assert len(runs) == 1
    drive(session, 0.2)
    session.record(False, always=True)
    assert len(runs) == 2


def test_without_a_file_nothing_is_recorded() -> None:
    session = session_of()
    assert session.recorder is None
    with pytest.raises(gr.GrouserError, match=r"start with --out run.npz"):
        session.record(True)


def test_off_the_map_it_ends_until_it_is_reset() -> None:
    session = session_of(ground=gr.terrain.rough(rms=0.02, length=1.0, seed=1, size=6.0), kind=gr.Kinematics)
    session.steer(1.0, 0.0, 0.0)
    drive(session, 6.0)
    assert session.sim.reason == "the ground ended under a wheel"
    assert session.advance(1.0) == 0.0
    session.reset()
    assert session.advance(FRAME) > 0.0


@pytest.mark.parametrize("values", [(math.nan, 0.0, 0.0), (0.0, math.inf, math.nan)])
def test_a_stick_that_is_no_number_is_refused(values: tuple[float, float, float]) -> None:
    with pytest.raises(gr.GrouserError, match="steer: forward, left and turn are numbers from -1 to 1"):
        session_of(kind=gr.Kinematics).steer(*values)
    with pytest.raises(gr.GrouserError, match=r"factor: 99.0 is not from 0.1 to 20"):
        session_of(kind=gr.Kinematics).hurry(99.0)
