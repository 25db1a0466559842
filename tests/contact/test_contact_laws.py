"""What every contact model promises: derivatives, friction, no pull, no force off the ground, no jump at rest."""

import numpy as np
import pytest
from contact_states import WHEEL, check_jacobian, random_states

from grouser import contact
from grouser.contact import ErpCfm, Ishigami, MagicFormula, Pacejka, PiecewiseLinear

MODELS = {
    "pyramid": PiecewiseLinear(friction=(0.8, 0.5), rolling_resistance=20.0),
    "cone": PiecewiseLinear(friction=0.7, cone=True, rolling_resistance=20.0),
    "ellipse": PiecewiseLinear(friction=(0.8, 0.4), cone=True),
    "stick-slip": PiecewiseLinear(friction=(0.8, 0.5), dynamic_share=0.6, stribeck=0.1, slip_stiffness_x=4e3),
    "stick-slip cone": PiecewiseLinear(friction=0.7, cone=True, dynamic_share=0.5, slip_stiffness_y=2e3),
    "as printed": PiecewiseLinear(onset=0.0),
    "erp": ErpCfm(erp=0.44, cfm=4.6e-4, dt=0.04, friction=0.6),
    "pacejka": Pacejka(friction=0.8),
    "pacejka with resistance": Pacejka(rolling_resistance=50.0),
    "other tyre": Pacejka(longitudinal=MagicFormula(B=0.1, C=2.0, D=0.9, E=-2.0), lateral=MagicFormula(B=0.1, E=1.0)),
    "soil": Ishigami(),
    "soil isotropic": Ishigami(isotropic_shear=0.03, damping=0.0),
    "soil deep rut": Ishigami(sinkage_ratio=1.1, n=1.2, points=6),
    "soil no rut": Ishigami(sinkage_ratio=0.0, n=0.8, a_1=0.1, ploughing=False),
    "soil with bow wave": Ishigami(bow_wave=1.0),
    "sand": Ishigami(
        cohesion=0.0, friction_angle=0.5, slip_sinkage=0.8, sideslip_sinkage=1.2, plough_sideslip=1.0, side_friction=0.5
    ),
    "rubbing side": Ishigami(side_friction=0.7, sinkage_ratio=1.1, isotropic_shear=0.02),
}
CLAMPED = ("pyramid", "cone", "ellipse", "stick-slip", "stick-slip cone", "as printed", "erp")
SMOOTH = [name for name in MODELS if name not in CLAMPED]
each = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
each_smooth = pytest.mark.parametrize("model", [MODELS[n] for n in SMOOTH], ids=SMOOTH)


@each
@pytest.mark.parametrize("slip", [1.0, 0.05])
def test_jacobian_is_the_derivative_of_force_and_torque(model, slip):
    check_jacobian(model, *random_states(slip=slip))


@each
def test_ground_only_pushes_and_only_on_contact(model):
    v, r_omega, dz = random_states(4000, seed=2)
    f = model.force(3.0 * v, r_omega, dz, **WHEEL)
    assert np.isfinite(f).all()
    assert (f[:, 2] >= 0.0).all()
    assert (f[f[:, 2] == 0.0] == 0.0).all()
    assert (model.force(v, r_omega, -dz, **WHEEL) == 0.0).all()
    assert (model.jacobian(v, r_omega, 0.0, **WHEEL) == 0.0).all()


@pytest.mark.parametrize(
    ("name", "mu"), [("cone", 0.7), ("erp", None), ("pacejka", 0.8), ("pacejka with resistance", 1.0)]
)
def test_friction_limit_is_exact(name, mu):
    v, r_omega, dz = random_states(20_000, seed=3)
    f = MODELS[name].force(v, r_omega, dz, **WHEEL)
    bound = 1.0 + 1e-12
    if mu is None:  # a pyramid of 0.6
        assert (np.abs(f[:, :2]) <= 0.6 * f[:, 2:] * bound).all()
        return
    size = np.hypot(f[:, 0], f[:, 1])
    assert (size <= mu * f[:, 2] * bound).all()
    if name == "cone":
        assert (size > 0.999 * mu * f[:, 2]).any()


def test_friction_falls_from_static_to_dynamic_as_slip_grows():
    model = PiecewiseLinear(stiffness=1e4, slip_stiffness_x=1e6, friction=0.8, dynamic_share=0.5, stribeck=0.1)
    speed = np.array([1e-3, 0.05, 0.1, 0.2, 1.0])
    f = model.force(np.stack((speed, 0 * speed, 0 * speed), -1), 0.3, -0.01)
    expected = 0.8 * (0.5 + 0.5 * np.exp(-((speed / 0.1) ** 2)))
    np.testing.assert_allclose(-f[:, 0] / f[:, 2], expected, rtol=1e-12)
    plain = PiecewiseLinear(stiffness=1e4, slip_stiffness_x=1e6, friction=0.8, stribeck=0.1)
    assert (plain.force([1.0, 0.0, 0.0], 0.3, -0.01) == [-80.0, 0.0, 100.0]).all()


@pytest.mark.parametrize(
    "model",
    [
        PiecewiseLinear(friction=0.0, rolling_resistance=9.0),
        PiecewiseLinear(friction=0.0, rolling_resistance=9.0, cone=True),
        Pacejka(friction=0.0, rolling_resistance=9.0),
    ],
)
def test_ice_without_friction_gives_only_normal_force(model):
    states = random_states(50)
    assert (model.force(*states, **WHEEL)[:, :2] == 0.0).all()
    assert (model.jacobian(*states, **WHEEL)[:, :2] == 0.0).all()
    assert (model.force(*states, **WHEEL)[:, 2] > 0.0).any()


@each
def test_mirrored_motion_gives_mirrored_force_and_torque(model):
    v, r_omega, dz = random_states(3000, seed=4)
    f, torque = (ask(v, r_omega, dz, **WHEEL) for ask in (model.force, model.torque))
    for mirror, turn in (((1, -1, 1), 1.0), ((-1, 1, 1), -1.0)):
        mirrored = v * mirror, turn * r_omega, dz
        np.testing.assert_allclose(model.force(*mirrored, **WHEEL) * mirror, f, rtol=0, atol=1e-12 * np.abs(f).max())
        turned = turn * model.torque(*mirrored, **WHEEL)
        np.testing.assert_allclose(turned, torque, rtol=0, atol=1e-12 * np.abs(torque).max())


@each
def test_force_and_torque_have_no_jump_through_zero_slip_and_zero_speed(model):
    # Both sides of v_x = 0, v_y = 0, V_x = 0 and Rω = 0, from states around rest: the jump is a step's worth of slope.
    grid = np.array([-0.3, -1e-3, 0.0, 1e-3, 0.3])
    v_x, v_y, r_omega = (a.ravel() for a in np.meshgrid(grid, grid, grid, indexing="ij"))
    v = np.stack((v_x, v_y, 0 * v_x), -1)

    def at(v, r_omega):
        force, torque = (ask(v, r_omega, -0.01, **WHEEL) for ask in (model.force, model.torque))
        return np.concatenate((force, torque[..., None] / WHEEL["radius"]), axis=-1)

    f = at(v, r_omega)
    assert np.isfinite(f).all()
    tiny = 1e-11
    for direction in np.vstack((np.eye(3), -np.eye(3))) * tiny:
        g = at(v + direction * (1, 1, 0), r_omega + direction[2])
        assert (np.abs(g - f).max(axis=1) < 1e-6 * f[:, 2]).all()
    assert (at(np.zeros(3), 0.0)[[0, 1, 3]] == 0.0).all()


@each_smooth
def test_friction_is_linear_at_rest(model):
    slopes = [model.force([[v, 0, 0], [0, v, 0]], 0.0, -0.01, **WHEEL)[[0, 1], [0, 1]] / v for v in (1e-7, -1e-7, 1e-9)]
    np.testing.assert_allclose(slopes[1], slopes[0], rtol=1e-5)
    np.testing.assert_allclose(slopes[2], slopes[0], rtol=1e-4)
    assert (slopes[0] < 0.0).all()


@each
def test_force_is_continuous_at_touchdown_unless_it_is_as_printed(model):
    v = np.array([[0.3, 0.1, -0.5], [0.3, 0.1, 0.2]])
    f = model.force(v, 1.0, -1e-9, **WHEEL)
    jumps = model in (MODELS["as printed"], MODELS["erp"])
    assert (np.abs(f).max() > 1.0) == jumps


@each
def test_no_finite_state_gives_nan(model):
    values = np.array([-1e9, -1.0, -1e-9, 0.0, 1e-300, 1e-5, 1e9])
    v_x, v_y, v_z, w, dz = (a.ravel() for a in np.meshgrid(values, values, values, values, values, indexing="ij"))
    v = np.stack((v_x, v_y, v_z), -1)
    assert np.isfinite(model.force(v, w, dz, **WHEEL)).all()
    assert np.isfinite(model.jacobian(v, w, dz, **WHEEL)).all()


def test_force_works_on_one_state_and_on_grids_of_states():
    model = PiecewiseLinear(stiffness=1e4)
    one = model.force([0.1, 0.0, 0.0], 1.0, -0.01)
    assert one.shape == (3,)
    assert model.jacobian([0.1, 0.0, 0.0], 1, -0.01).shape == (4, 5)
    grid = model.force(np.broadcast_to([0.1, 0.0, 0.0], (4, 1, 3)), np.ones(5), -0.01)
    assert grid.shape == (4, 5, 3)
    assert (grid == one).all()


def test_defaults_follow_the_load():
    at_rest = PiecewiseLinear().force(np.zeros(3), 0.0, -0.02, load=700.0)
    np.testing.assert_allclose(at_rest, (0.0, 0.0, 700.0), rtol=1e-14)
    J = PiecewiseLinear().jacobian(np.zeros(3), 0.0, -0.02, load=700.0)
    np.testing.assert_allclose(-J[2, 2], 700.0 / 0.02 / 20)
    np.testing.assert_allclose(-J[0, 0], 0.1 * 700.0 / 0.02)


def test_erp_cfm_is_the_spring_it_was_computed_from():
    K_p, K_d, dt = 24279.75, 1213.9875, 0.04
    soft = ErpCfm(erp=dt * K_p / (dt * K_p + K_d), cfm=1 / (dt * K_p + K_d), dt=dt, force_dependent_slip=1 / 2427.975)
    spring = PiecewiseLinear(
        stiffness=K_p, damping=K_d, slip_stiffness_x=2427.975, slip_stiffness_y=2427.975, onset=0.0
    )
    states = random_states(100)
    np.testing.assert_allclose(soft.force(*states), spring.force(*states), rtol=1e-12)


@each
def test_plot_is_drawn(model, tmp_path):
    figure = model.plot(tmp_path / "model.png", load=60.0)
    assert (tmp_path / "model.png").stat().st_size > 10_000
    assert all("[" in axes.get_xlabel() and "[" in axes.get_ylabel() for axes in figure.axes)


def test_equal_models_are_equal():
    assert Pacejka() == Pacejka()
    assert Ishigami(cohesion=1.0) != Ishigami()
    assert contact.Contact in type(Pacejka()).__mro__
