"""The estimate of one moment is a row of what a whole log gives."""

from __future__ import annotations

import numpy as np

from grouser.fusion.estimate import at_body, at_body_once


def test_one_state_is_moved_to_the_body_as_many_are():
    rng = np.random.default_rng(3)
    nominal, gyro, lever = rng.normal(size=(20, 22)), rng.normal(size=(20, 3)), rng.normal(size=3)
    root = rng.normal(size=(20, 21, 25))
    spread = root @ root.swapaxes(1, 2)
    whole = at_body(nominal, gyro, spread, lever)
    for k in range(20):
        for one, many in zip(at_body_once(nominal[k], gyro[k], spread[k], lever), whole, strict=True):
            assert one.shape == many[k].shape
            np.testing.assert_allclose(one, many[k], rtol=1e-11, atol=1e-11)
