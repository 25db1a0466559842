"""Random states of a contact, and differences of a contact model's force and torque."""

import numpy as np

WHEEL = {"radius": 0.09, "width": 0.11, "load": 60.0}


def random_states(n=2000, seed=1, *, slip=1.0, depth=0.03):
    """v (n, 3), Rω (n,), Δz (n,): driving, braking, spinning against the travel, both directions, all in contact."""
    r = np.random.default_rng(seed)
    v = r.uniform(-1.0, 1.0, (n, 3)) * (slip, 0.5, 0.1)
    return v, r.uniform(-1.2, 1.2, n), -r.uniform(5e-4, depth, n)


def differences(model, v, r_omega, dz, wheel=WHEEL):
    """Central differences of (f, τ), and at which states they are no use: a kink lies within the step."""

    def value(v, r_omega, dz):
        force, torque = (ask(v, r_omega, dz, **wheel) for ask in (model.force, model.torque))
        return np.column_stack((force, torque))

    x = np.column_stack((v, r_omega, dz))
    J = np.empty((len(x), 4, 5))
    kink = np.zeros(len(x), dtype=bool)
    middle = value(v, r_omega, dz)
    for k, step in enumerate((1e-6, 1e-6, 1e-6, 1e-6, 1e-8)):
        sides = []
        for sign in (1.0, -1.0):
            y = x.copy()
            y[:, k] += sign * step
            sides.append(value(y[:, :3], y[:, 3], y[:, 4]))
        J[..., k] = (sides[0] - sides[1]) / (2 * step)
        bend = np.abs(sides[0] - 2 * middle + sides[1]).max(axis=1) / step
        kink |= bend > 1e-3 * np.abs(J[..., k]).max(axis=1) + 1e-6 * np.abs(J[..., k]).max()
    return J, kink


def check_jacobian(model, v, r_omega, dz, wheel=WHEEL, *, most_kinks=0.02):
    """The analytic Jacobian against differences, 1e-5 of each entry and 1e-7 of the largest of its row and column.

    A step h of 1e-6 m/s leaves h²/ε² = 4e-10 of a slope that changes over ε = .05 m/s, and rounding 1e-16 f/h;
    slopes change faster by some hundred times next to the limits of friction and the kinks of shear, which are let out
    only within the step itself.
    """
    numeric, kink = differences(model, v, r_omega, dz, wheel)
    assert kink.mean() <= most_kinks
    J = model.jacobian(v, r_omega, dz, **wheel)
    scale = np.abs(numeric).max(axis=0)
    assert (scale[[0, 3]] > 0.0).any(axis=1).all()
    off = np.abs(J - numeric) - 1e-5 * np.abs(numeric) - 1e-7 * scale
    assert off[~kink].max() <= 0.0
