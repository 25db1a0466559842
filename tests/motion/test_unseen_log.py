"""Samples of a fit on logs it has not seen: as wide as the prediction says, and the measured ends lie within them."""

from functools import cache

import numpy as np
import pytest

import grouser as gr
from experiments.data import folder
from experiments.warthog_ridge import log_of
from grouser.motion import MotionModel, Perturbative
from grouser.motion.log_prediction import predict_log
from tests.motion.windows import coverage, measured_noise, sensed_ends

TRAINED, UNSEEN = "grass_20240808_1619", ("grass_20240729_1446", "grass_20240808_1556")


@cache
def log(name):
    return log_of(folder("warthog", f"warthog_{name}.csv", "Warthog logs of the DRIVE data set"), name)


@cache
def fit():
    trained = log(TRAINED)
    motion = MotionModel(model=Perturbative(vehicle=gr.vehicle("warthog")), sensor=trained.sensor)
    return gr.calibrate(motion, trained)


def test_measured_ends_of_unseen_logs_lie_within_the_ellipses_of_the_samples():
    """Windows of 5 s on level ground: 0.95 expected; of 60 windows the share scatters by 0.028, three of these."""
    found = [coverage(fit(), log(name), 5.0, samples=60) for name in UNSEEN]
    windows = sum(n for _, _, n in found)
    assert windows >= 55
    with_sensor = sum(share * n for _, share, n in found) / windows
    assert with_sensor >= 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / windows)
    # The stamps of the measured poses scatter by 0.04 s: ellipses without them are too small for a measured end.
    alone = sum(share * n for share, _, n in found) / windows
    assert 0.6 < alone < with_sensor


def test_samples_are_as_wide_as_the_linearised_prediction():
    """Sigma of 200 samples is known to 5 %; the median over the windows better. Gravity on slopes is left out."""
    ends, cut = sensed_ends(fit(), log(UNSEEN[0]), 10.0, samples=200)
    predicted = predict_log(fit(), log(UNSEEN[0]), interval=10.0)
    sampled = np.array([np.cov(one.T) for one in ends]) + measured_noise(log(UNSEEN[0]), fit().model, cut)
    ratio = np.sqrt(np.diagonal(sampled, axis1=1, axis2=2) / np.diagonal(predicted.covariance, axis1=1, axis2=2))
    assert np.median(ratio, axis=0) == pytest.approx(1.0, abs=0.1)
    # The log's slopes are not those of a plane: a few centimetres in 10 s.
    assert np.median(np.abs(ends.mean(axis=1)[:, :2] - predicted.pose[:, :2])) < 0.05
