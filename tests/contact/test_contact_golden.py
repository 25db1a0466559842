"""Piecewise-linear and Pacejka against the thesis author's engine."""

import json

import numpy as np
import pytest

from grouser.contact import MagicFormula, Pacejka, PiecewiseLinear


def samples(golden, vehicle, kind):
    rows = json.loads((golden / f"{vehicle}_probes.json").read_text())["contact_model_probes"]
    rows = [row for row in rows if row["model"] == kind]
    return tuple(np.array([row[k] for row in rows]) for k in ("vc", "Rw", "dz", "f", "J_f_wrt_vx_vy_vz_Rw_dz"))


def parameters(golden, vehicle, name):
    return json.loads((golden / f"{vehicle}_{name}_params.json").read_text())["contact_model"]


def check(model, v, r_omega, dz, f, J):
    found = model.force(v, r_omega, dz)
    np.testing.assert_allclose(found, f, rtol=1e-9, atol=1e-9 * np.abs(f).max())
    jacobian = model.jacobian(v, r_omega, dz)[:, :3]  # the original has no torque
    np.testing.assert_allclose(jacobian, J, rtol=1e-9, atol=1e-9 * np.abs(J[:, :, :4]).max())


@pytest.mark.parametrize("vehicle", ["zoe", "rocky"])
def test_piecewise_linear_equals_the_original(golden, vehicle):
    p = parameters(golden, vehicle, "piecewise")
    model = PiecewiseLinear(
        stiffness=p["Kp"],
        damping=p["Kd"],
        slip_stiffness_x=-p["Cx"],
        slip_stiffness_y=-p["Cy"],
        friction=(p["mux"], p["muy"]),
        rolling_resistance=p["Crr"],
        onset=0.0,
    )
    check(model, *samples(golden, vehicle, "ode"))


@pytest.mark.parametrize("vehicle", ["zoe", "rocky"])
def test_pacejka_equals_the_original(golden, vehicle):
    # Every sample is kept: the original pushes |s| and |α| below 1e-10 and |V_x| below 1e-3 away from zero, and no
    # sample is that slow; ε is as good as nothing.
    p = parameters(golden, vehicle, "pacejka")
    model = Pacejka(
        stiffness=p["Kp"],
        damping=p["Kd"],
        friction=p["mu"],
        longitudinal=MagicFormula(**p["longitudinal"]),
        lateral=MagicFormula(**p["lateral"]),
        rolling_resistance=p["Crr"],
        onset=0.0,
        smoothing=1e-12,
    )
    v, r_omega, *rest = samples(golden, vehicle, "pacejka")
    V = v[:, 0] + r_omega
    assert np.abs(V).min() > 1e-3
    assert np.abs(v[:, :2]).min() > 1e-10 * np.abs(V).max()
    check(model, v, r_omega, *rest)
