"""A fit made by hand: slip surface of a husky with two uncertain numbers."""

import numpy as np

import grouser as gr
from grouser.motion import Fit, MotionModel, Noise, Parameter, Perturbative, Training

TRAINING = Training(
    log="planted", samples=100, intervals=10, interval=2.0, distance=None, overlapping=False, rejected=0,
    position_rms=0.01, yaw_rms=0.01, method="batch",
)  # fmt: skip


def fit_of(sigma=0.02, noise=None, powertrain=None, vehicle="husky", names=("slip.a1", "slip.a10")):
    """A fit of two or more of its slip numbers, sigma each with correlation 0.5; grounds are all alike."""
    slip = np.zeros(13)
    slip[[0, 3, 9]] = -0.02, 0.01, -0.3
    motion = MotionModel(
        model=Perturbative(vehicle=gr.vehicle(vehicle), slip=slip), noise=noise or Noise(), powertrain=powertrain
    )
    rows = [int(name.removeprefix("slip.a")) - 1 for name in names]
    parameters = tuple(
        Parameter(name=n, value=v, sigma=0.5, lower=-1.0, upper=1.0) for n, v in zip(names, slip[rows], strict=True)
    )
    P = sigma**2 * 0.5 * (np.eye(len(rows)) + 1.0)
    return Fit(
        model=motion, parameters=parameters, vector=slip[rows], covariance=P, noise_covariance=np.zeros((0, 0)),
        training=TRAINING, spread=np.zeros_like(P),
    )  # fmt: skip


def dynamic_fit(stiffness=500.0, sigma=20.0):
    """A fit of one number of the contact model of a husky, far below its prior."""
    model = gr.Dynamics(gr.vehicle("husky")).replace(contact=gr.contact.PiecewiseLinear(slip_stiffness_x=stiffness))
    motion = MotionModel(model=model, ground=gr.terrain.plane(), noise=Noise(density=np.eye(3) * 1e-9))
    wide = Parameter(name="contact.slip_stiffness_x", value=3000.0, sigma=3000.0, lower=60.0, upper=60000.0)
    return Fit(
        model=motion, parameters=(wide,), vector=np.array([stiffness]), covariance=np.array([[sigma**2]]),
        noise_covariance=np.zeros((0, 0)), training=TRAINING,
    )  # fmt: skip
