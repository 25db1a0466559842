"""The mean rim speed of measured wheels."""

from __future__ import annotations

import numpy as np
import pytest

import grouser as gr
from grouser._compile.jit import entry
from grouser._kernels.motion import rim_speed as kernels
from grouser.motion.velocity import rim_speed


@entry
def rolled(vehicle, rates):
    return kernels.rim_speed(vehicle, rates)


def test_wheels_that_are_not_measured_do_not_count():
    rover = gr.vehicle("zoe")
    rates = np.zeros(rover.n_joints)
    wheels = [rover.joint_index(w) for w in rover.wheels]
    rates[wheels] = (1.0, -3.0, np.nan, np.inf)
    radius = rover.arrays.radius
    expected = (radius[0] + 3.0 * radius[1]) / 2.0
    speed, count = rolled(rover.arrays, rates)
    assert (speed, count) == (pytest.approx(expected, rel=1e-15), 2)
    assert rim_speed(rover, rates) == pytest.approx(expected, rel=1e-15)
    assert rolled(rover.arrays, np.full(rover.n_joints, np.nan)) == (0.0, 0)
    np.testing.assert_allclose(rim_speed(rover, np.stack([rates, np.zeros_like(rates)])), [expected, 0.0])
