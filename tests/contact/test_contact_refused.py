"""Parameters and states that make no sense get one sentence, before any kernel runs."""

import math

import numpy as np
import pytest

from grouser.contact import ErpCfm, Ishigami, MagicFormula, Pacejka, PiecewiseLinear, Table, law
from grouser.errors import SimulationError

BAD = [
    (PiecewiseLinear, {"stiffness": -1.0}, "stiffness: -1 is not positive"),
    (PiecewiseLinear, {"stiffness": math.nan}, "stiffness"),
    (PiecewiseLinear, {"damping": -1.0}, "damping: -1 is negative"),
    (PiecewiseLinear, {"friction": -0.1}, "friction: -0.1 is negative"),
    (PiecewiseLinear, {"friction": (0.5, -0.1)}, "friction y: -0.1 is negative"),
    (PiecewiseLinear, {"friction": (0.5, 0.1, 0.2)}, "friction"),
    (PiecewiseLinear, {"slip_stiffness_x": math.inf}, "slip_stiffness_x"),
    (PiecewiseLinear, {"static_penetration": 0.0}, "static_penetration"),
    (PiecewiseLinear, {"onset": -0.1}, "onset"),
    (PiecewiseLinear, {"rolling_resistance": "much"}, "rolling_resistance"),
    (Pacejka, {"friction": -1.0}, "friction"),
    (Pacejka, {"smoothing": 0.0}, "smoothing"),
    (Pacejka, {"lateral": 3.0}, "not a MagicFormula; use"),
    (MagicFormula, {"B": 0.0}, "MagicFormula B"),
    (MagicFormula, {"B": 0.1, "C": 2.5}, "above 2"),
    (MagicFormula, {"B": 0.1, "E": 1.5}, "between -10 and 1"),
    (Ishigami, {"cohesion": -1.0}, "cohesion"),
    (Ishigami, {"k_phi": 0.0}, "k_phi"),
    (Ishigami, {"friction_angle": 37.2}, "degrees"),
    (Ishigami, {"a_0": 0.9}, "outside the contact"),
    (Ishigami, {"sinkage_ratio": 2.0}, "sinkage_ratio"),
    (Ishigami, {"shear_x": (0.0, 0.1)}, "shear_x"),
    (Ishigami, {"points": 0}, "points"),
    (Ishigami, {"density": math.nan}, "density"),
    (ErpCfm, {"erp": 1.5, "cfm": 1e-3, "dt": 0.04}, "between 0 and 1"),
    (ErpCfm, {"erp": 0.5, "cfm": 0.0, "dt": 0.04}, "cfm"),
    (ErpCfm, {"erp": 0.5, "cfm": 1e-3, "dt": -0.04}, "dt"),
    (ErpCfm, {"erp": 0.5, "cfm": 1e-3, "dt": 0.04, "friction": -1.0}, "friction"),
    (Table, {"model": Ishigami(), "radius": -0.1, "width": 0.1}, "radius"),
    (Table, {"model": Ishigami(), "radius": 0.1}, "no width"),
    (Table, {"model": Ishigami(), "radius": 0.1, "width": 0.1, "cells": (1, 2, 2)}, "cells"),
    (Table, {"model": "sand", "radius": 0.1}, "not a contact model"),
]


@pytest.mark.parametrize(("kind", "values", "says"), BAD, ids=[f"{k.__name__} {list(v)[-1]}" for k, v, _ in BAD])
def test_bad_parameter_is_refused_in_one_sentence(kind, values, says):
    with pytest.raises(SimulationError, match=says) as caught:
        kind(**values)
    assert "\n" not in str(caught.value)


def test_model_that_needs_the_load_or_the_width_says_so():
    with pytest.raises(SimulationError, match="load"):
        Pacejka().force(np.zeros(3), 0.0, -0.01)
    with pytest.raises(SimulationError, match="no width"):
        Ishigami().force(np.zeros(3), 0.0, -0.01, radius=0.1)
    with pytest.raises(SimulationError, match="load: -3 is not positive"):
        PiecewiseLinear().bind(0.1, None, -3.0)


@pytest.mark.parametrize(
    ("v", "r_omega", "dz", "says"),
    [
        ([math.nan, 0, 0], 0.0, -0.01, "v: entry"),
        (np.zeros(3), math.inf, -0.01, "r_omega"),
        (np.zeros(3), 0.0, [math.nan], "dz: entry"),
        (np.zeros(2), 0.0, -0.01, r"v: has shape \(2,\)"),
        (1.0, 0.0, -0.01, "v: has shape"),
        (np.zeros((4, 3)), np.zeros(3), -0.01, "do not match"),
        ([[0, 0, 0], [0, 0]], 0.0, -0.01, "v: is not an array of numbers"),
        ("fast", 0.0, -0.01, "v: is not an array of numbers"),
    ],
)
@pytest.mark.parametrize("name", ["force", "jacobian"])
def test_bad_state_is_refused(name, v, r_omega, dz, says):
    with pytest.raises(SimulationError, match=says):
        getattr(PiecewiseLinear(stiffness=1e4), name)(v, r_omega, dz)


def test_what_is_no_function_is_refused():
    with pytest.raises(SimulationError, match="is not a Python function"):
        law(3.0)
    with pytest.raises(SimulationError, match="parameter"):
        law(lambda v, r_omega, dz, *, k=math.nan: (0.0, 0.0, 0.0))
