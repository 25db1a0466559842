"""Fast driving on ice: friction is found from poses, and predictions are as good as those of the model that drove."""

from __future__ import annotations

import numpy as np

import grouser as gr
from grouser.calibration.simulated import log_of_run
from tests.motion import planted_logs as drives

LEVEL = gr.terrain.plane()
ICE = gr.Dynamics(drives.warthog(), contact=gr.contact.Pacejka(friction=0.1))


def slippery_log(seed: int) -> gr.Log:
    random = np.random.default_rng(seed)
    drive = [(1.5 * k, gr.drive.twist(*random.uniform([-1.0, 0.0, -2.0], [4.5, 0.0, 2.0]))) for k in range(40)]
    run = gr.simulate(ICE, LEVEL, gr.drive.schedule(drive), duration=60.0, dt=0.02)
    return log_of_run(run, pose_rate=10.0, position_noise=0.02, yaw_noise=0.01, rate_noise=0.05, seed=seed)


def test_friction_of_ice_is_found_and_predicts_another_drive():
    train, held_out = slippery_log(1), slippery_log(2)
    start = gr.MotionModel(
        model=ICE.replace(contact=gr.contact.Pacejka(friction=0.5)), ground=LEVEL, sensor=train.sensor
    )
    fit = gr.calibrate(start, train, ["contact.friction", "noise"])
    assert abs(fit.values["contact.friction"] - 0.1) < 3.0 * fit.sigma["contact.friction"]
    assert fit.sigma["contact.friction"] < 0.02
    found = gr.evaluate(fit, held_out).summary()
    truth = gr.evaluate(start.replace(model=ICE), held_out).summary()
    by_wheels = gr.evaluate(start.replace(model=ICE, start="wheels"), held_out).summary()
    assert found["position_rms"] < 1.2 * truth["position_rms"]
    assert truth["position_rms"] < 0.4 * by_wheels["position_rms"]
    assert found["inside_95"] > 0.85
