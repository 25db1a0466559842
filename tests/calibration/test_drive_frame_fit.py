"""Slip in the drive frame calibrates like body slip: names, planted values from crab drives, fit files."""

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.batch import gauss_newton
from grouser.calibration.simulated import log_of_motion
from grouser.motion.fit_file import _model, model_tables
from grouser.motion.intervals import cut_log
from grouser.motion.model import MotionModel
from grouser.motion.parameters import resolve, with_values
from grouser.motion.predict import LogProblem
from grouser.slip import BodySlip, DriveFrameSlip

P = np.array([-0.75, -0.11, -0.3, -0.19, 0.06, -0.4])


def lru_motion(parameters):
    return MotionModel(model=gr.Kinematics(gr.vehicle("lru1"), slip=DriveFrameSlip(parameters)))


def crab_log(motion):
    """Straight, crab and combined driving of an LRU-1 at several speeds, on ground that tilts both ways."""
    vehicle = motion.vehicle
    t = 0.05 * np.arange(1201)
    crab = 1.2 * np.sin(0.21 * t)
    turn = 0.25 * np.sin(0.37 * t)
    steer = {f"steer{wheel}": crab + (turn if wheel[0] == "F" else -turn) for wheel in vehicle.wheels}
    rates = {wheel: 4.0 + 2.5 * np.sin(0.5 * t) for wheel in vehicle.wheels}
    attitude = 0.15 * np.stack([np.sin(0.31 * t), np.cos(0.23 * t)], axis=1)
    return log_of_motion(motion, t, rates, angles=steer, attitude=attitude, seed=None, poses_every=1)


@pytest.mark.parametrize("planted", [P, np.append(P, -0.15)], ids=["six", "seven"])
def test_planted_parameters_are_found_again_from_crab_drives(planted):
    truth = lru_motion(planted)
    log = crab_log(truth)
    start = lru_motion(np.zeros(len(planted)))
    parameters = resolve(start, ["slip"])
    assert [p.name for p in parameters] == [f"slip.p{i}" for i in range(1, len(planted) + 1)]
    problem = LogProblem(log, start, cut_log(log, start, interval=2.0))
    found = gauss_newton(problem, start, parameters, loss="none", prior=False)
    np.testing.assert_allclose(found.values, planted, rtol=0.0, atol=1e-6)


def test_a_fit_file_keeps_the_kind_of_slip_and_old_ones_are_body_slip():
    motion = lru_motion(np.append(P, -0.15))
    tables = model_tables(motion)
    again = _model(dict(tables), motion.vehicle)
    assert type(again.slip) is DriveFrameSlip
    assert again.slip.pack().tobytes() == motion.model.slip.pack().tobytes()
    old = model_tables(MotionModel(model=gr.Kinematics(motion.vehicle, slip=BodySlip(P))))
    assert "kind" not in old["slip"]
    assert type(_model(old, motion.vehicle).slip) is BodySlip
    with pytest.raises(gr.GrouserError, match="BodySlip, DriveFrameSlip"):
        _model({**tables, "slip": {**tables["slip"], "kind": "Magic"}}, motion.vehicle)


def test_the_kind_of_slip_survives_a_change_of_one_parameter():
    changed = with_values(lru_motion(P), {"slip.p3": -0.9}).model.slip
    assert type(changed) is DriveFrameSlip
    np.testing.assert_array_equal(changed.coefficients, [*P[:2], -0.9, *P[3:]])
