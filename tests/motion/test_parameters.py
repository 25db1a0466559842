"""Parameters by name: each can be read, changed and read back; what changes is what the name says."""

from __future__ import annotations

import numpy as np
import pytest

import grouser as gr
from grouser.actuation import PI
from grouser.contact import Ishigami, Pacejka, PiecewiseLinear
from grouser.errors import CalibrationError
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.parameter_table import meaning
from grouser.motion.parameters import (
    Parameter,
    available,
    default,
    is_noise,
    resolve,
    unit_of,
    value_of,
    with_values,
)
from grouser.motion.planar import Bicycle, DifferentialDrive, FourNumbers
from grouser.motion.powertrain import Powertrain
from grouser.motion.slip_surface import Perturbative
from grouser.vehicles import names as shipped
from tests.motion import planted_logs as drives

LEVEL = gr.terrain.plane()
SPRING = gr.joints.Spring(joints=gr.vehicle("crusher").joints[0], stiffness=100.0)


@gr.contact.law
def brush(v, r_omega, dz, *, spring=gr.param(5e4, "N/m", low=1e3), grip=gr.param(0.0, "N s/m", low=0.0)):
    return -grip * v[0], -grip * v[1], max(0.0, -spring * dz)


@gr.joints.law
def damper(angle, rate, *, drag=gr.param(0.0, "N m s/rad", low=0.0)):
    return -drag * rate


def on_level(**laws) -> MotionModel:
    return MotionModel(model=gr.Dynamics(drives.warthog(), **laws), ground=LEVEL)


MODELS = {
    "kinematics": lambda: drives.slipping(),
    "commands": lambda: drives.slipping().replace(powertrain=Powertrain()),
    "full noise": lambda: drives.slipping(noise=Noise(form="full")),
    "cholesky noise": lambda: drives.slipping(noise=Noise(form="cholesky")),
    "piecewise": lambda: MotionModel(
        model=gr.Dynamics(drives.warthog(), contact=PiecewiseLinear(), actuator=PI(gain=50.0, integral=10.0)),
        ground=LEVEL,
    ),
    "sand": lambda: on_level(contact=Ishigami(), actuator=PI(gain={"FL": 9.0, "FR": 8.0, "BL": 7.0, "BR": 6.0})),
    "soil by the wheel": lambda: on_level(
        contact={"FL": Ishigami(), "FR": Pacejka(), "BL": PiecewiseLinear(friction=(0.5, 0.7)), "BR": brush}
    ),
    "sprung": lambda: MotionModel(
        model=gr.Dynamics(gr.vehicle("crusher"), joints=[SPRING, SPRING, damper.on(gr.vehicle("crusher").joints[0])]),
        ground=LEVEL,
    ),
    "pacejka": lambda: MotionModel(model=gr.Dynamics(drives.warthog(), contact=Pacejka()), ground=LEVEL),
    "differential": lambda: MotionModel(model=DifferentialDrive(vehicle=drives.warthog())),
    "four numbers": lambda: MotionModel(model=FourNumbers(vehicle=drives.warthog())),
    "bicycle": lambda: MotionModel(model=Bicycle(vehicle=drives.tricycle())),
    "surface": lambda: MotionModel(model=Perturbative(vehicle=drives.warthog())),
    **{name: lambda name=name: MotionModel(model=gr.Kinematics(gr.vehicle(name))) for name in shipped()},
}


@pytest.mark.parametrize("kind", MODELS)
def test_every_parameter_can_be_read_changed_and_read_back(kind):
    motion = MODELS[kind]()
    for name in available(motion):
        parameter = default(motion, name)
        assert parameter.value == pytest.approx(value_of(motion, name)) or is_noise(name)
        assert parameter.lower <= parameter.value <= parameter.upper, name
        wanted = parameter.clip(parameter.value + 0.037 * parameter.scale)
        changed = with_values(motion, {name: wanted})
        assert value_of(changed, name) == pytest.approx(wanted, rel=1e-9, abs=1e-12), name
        back = with_values(changed, {name: parameter.value})
        assert value_of(back, name) == pytest.approx(parameter.value, rel=1e-9, abs=1e-12), name


def test_groups_and_wildcards_are_expanded():
    motion = drives.slipping()

    def found(*names):
        return [p.name for p in resolve(motion, names)]

    assert found("slip") == [f"slip.p{i}" for i in range(1, 7)]
    assert found("sensor") == ["sensor.x", "sensor.y", "sensor.z", "sensor.yaw", "sensor.lag"]
    assert found("noise") == ["noise.vx", "noise.vy", "noise.wz"]
    assert found("vehicle.*.radius") == [f"vehicle.{w}.radius" for w in motion.vehicle.wheels]
    assert found("sensor.x", "sensor.x") == ["sensor.x"]
    own = Parameter(name="slip.p6", value=-0.3, sigma=0.01)
    assert resolve(motion, ["slip", own])[5] is own


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("slip.p7", "slip.p6"),
        ("sensor.lagg", "sensor.lag"),
        ("vehicle.raduis", "vehicle.radius"),
        ("contact.friction", "no parameter"),
        ("powertrain.gain", "no parameter"),
        ("powertrain", "no parameter"),
        ("vehicle.*.wings", "no parameter"),
        ("noise.vz", "noise.v"),
        ("", "no parameter"),
    ],
)
def test_unknown_names_get_one_sentence_with_near_ones(name, near):
    with pytest.raises(CalibrationError, match=near.replace(".", r"\.")) as error:
        resolve(drives.slipping(), [name])
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    "name", ["slip.p7", "sensor.lagg", "noise.up", "powertrain.gain", "vehicle.wings", "contact.mu"]
)
def test_unknown_names_are_not_set_either(name):
    with pytest.raises(CalibrationError):
        with_values(drives.slipping(), {name: 1.0})


def test_a_radius_of_the_left_is_of_the_left_wheels_alone():
    motion = drives.slipping()
    changed = with_values(motion, {"vehicle.radius.left": 0.33}).vehicle
    for wheel, place in zip(changed.wheels, changed.wheel_positions, strict=True):
        radius = changed.frames[changed.frame_index(wheel)].radius
        assert radius == pytest.approx(0.33 if place[1] > 0.0 else 0.3)
    assert motion.vehicle.arrays.radius.max() == 0.3  # the model given is not touched


def test_track_and_wheelbase_move_the_wheels_and_nothing_else():
    changed = with_values(drives.slipping(), {"vehicle.track": 1.3, "vehicle.wheelbase": 1.0}).vehicle
    np.testing.assert_allclose(np.ptp(changed.wheel_positions, axis=0), [1.0, 1.3, 0.0])
    np.testing.assert_allclose(changed.wheel_positions.mean(axis=0), 0.0, rtol=0.0, atol=1e-12)
    assert changed.mass == drives.warthog().mass


def test_mass_scales_the_inertia_and_cg_moves_the_body():
    changed = with_values(drives.slipping(), {"vehicle.mass": 504.0, "vehicle.cg.x": 0.1}).vehicle.frames[0]
    body = drives.warthog().frames[0]
    np.testing.assert_allclose(changed.inertia_matrix, 2.0 * body.inertia_matrix)
    assert changed.com[0] == 0.1
    assert changed.com[2] == body.com[2]


def test_contact_and_actuator_are_changed_where_they_act():
    motion = MODELS["piecewise"]()
    changed = with_values(motion, {"contact.friction": 0.3, "actuator.gain": 70.0}).model
    assert changed.contact.friction == 0.3
    assert changed.actuator.gain == 70.0


def test_noise_parameters_are_told_apart():
    assert is_noise("noise.vx")
    assert is_noise("sensor.position_noise")
    assert not is_noise("sensor.x")
    assert not is_noise("slip.p1")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["vehicle.radius", "vehicle.radius.left"], "vehicle.radius and vehicle.radius.left set the same number"),
        (["vehicle.radius", "vehicle.FL.radius"], "vehicle.radius and vehicle.FL.radius set the same number"),
        (["vehicle.FL.radius", "vehicle.radius.left"], "vehicle.radius.left and vehicle.FL.radius set the same number"),
        (["vehicle.track", "vehicle.BR.y"], "vehicle.track and vehicle.BR.y set the same number"),
    ],
)
def test_two_names_of_one_number_are_refused(names, message):
    motion = MotionModel(model=gr.Kinematics(gr.vehicle("warthog")))
    with pytest.raises(CalibrationError, match=message):
        resolve(motion, names)
    assert len(resolve(motion, ["vehicle.track", "vehicle.cg.y", "vehicle.radius.left", "vehicle.radius.right"])) == 4


def test_every_number_of_every_law_is_listed_with_unit_and_meaning():
    motion = MODELS["sand"]()
    names = [n.removeprefix("contact.") for n in available(motion) if n.startswith("contact.")]
    assert set(names) == {
        "cohesion", "friction_angle", "destructive_angle", "k_c", "k_phi", "n", "a_0", "a_1", "density",
        "sinkage_ratio", "shear_x.at_zero", "shear_x.growth", "shear_y.at_zero", "shear_y.growth", "bow_wave",
        "damping", "smoothing", "slip_sinkage", "sideslip_sinkage", "plough_sideslip", "side_friction",
    }  # fmt: skip
    assert unit_of(motion, "contact.cohesion") == "Pa"
    assert meaning("contact.cohesion") == "cohesion of the soil"
    assert "actuator.gain.FL" in available(motion)
    assert meaning("actuator.gain.FL") == "torque per rate error, FL"
    by_wheel = MODELS["soil by the wheel"]()
    assert {"contact.FL.cohesion", "contact.FR.lateral.E", "contact.BL.friction.y", "contact.BR.grip"} <= set(
        available(by_wheel)
    )
    assert meaning("contact.FR.lateral.B") == "stiffness factor of the force over slip angle, FR"
    assert with_values(by_wheel, {"contact.BL.friction.y": 0.2}).model.contact["BL"].friction == (0.5, 0.2)
    joint = SPRING.joints
    sprung = available(MODELS["sprung"]())
    assert {f"joints.{joint}.stiffness", f"joints.{joint}:2.stiffness", f"joints.{joint}:3.drag"} <= set(sprung)


def test_a_prior_has_the_scale_of_its_unit_and_of_the_vehicle():
    # 0.1 s/m of the load of a wheel: 239 N s/m for a vehicle of 1950 kg, 12 for one of 50 kg.
    for name, load in (("landtamer", 2391.7), ("husky", 122.6)):
        motion = MotionModel(model=gr.Dynamics(gr.vehicle(name)), ground=LEVEL)
        p = default(motion, "contact.rolling_resistance")
        assert (p.value, p.lower) == (0.0, 0.0)
        assert p.sigma == pytest.approx(0.1 * load, rel=1e-3)
        assert p.upper > 5.0 * p.sigma
    sprung = MODELS["sprung"]()
    assert default(sprung, f"joints.{SPRING.joints}.damping").sigma > 100.0
    assert default(MODELS["soil by the wheel"](), "contact.BR.grip").sigma == pytest.approx(68.67)


def test_bounds_are_what_the_law_accepts_with_its_other_numbers():
    motion = MODELS["sand"]()
    angle = default(motion, "contact.friction_angle")
    assert angle.upper + motion.model.contact.destructive_angle < np.pi / 2
    for name in available(motion):
        if name.startswith("contact."):
            p = default(motion, name)
            for bound in (p.lower, p.upper):
                with_values(motion, {name: bound})


def test_a_group_leaves_settings_out():
    found = [p.name for p in resolve(MODELS["pacejka"](), ["contact"])]
    assert found == [
        f"contact.{n}"
        for n in ("stiffness", "damping", "rolling_resistance", "friction", "longitudinal.B", "lateral.B")
    ]
