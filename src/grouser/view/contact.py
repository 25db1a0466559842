"""Pictures of a contact model, in the manner of T Fig. C.1–C.5."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from grouser.checks import FloatArray
from grouser.contact.base import Contact
from grouser.view import style

STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
"""Dashes by curve, for readers who do not see its colour."""
SPEED = 1.0
"""Speed of travel in a plot, or of the rim for models whose slip ratio is over rim speed [m/s]."""


def plot_slip_velocity(contact: Contact, dz: float, wheel: dict[str, Any], path: style.File) -> Figure:
    """f_x/f_z over v_x and f_y/f_z over v_y, the other at rest."""
    with style.picture(path, 5.0, 4.0) as figure:
        axes = figure.add_subplot()
        v = np.linspace(-0.4, 0.4, 401)
        for axis, name in enumerate("xy"):
            velocity = np.zeros((len(v), 3))
            velocity[:, axis] = v
            f = contact.force(velocity, 0.0, dz, **wheel)
            _curve(axes, axis, v, _over(f[:, axis], f[:, 2]), f"f_{name}/f_z over v_{name}")
        _finish(axes, "slip velocity [m/s]", "normalised force [1]")
    return figure


def plot_slip(contact: Contact, dz: float, wheel: dict[str, Any], path: style.File) -> Figure:
    """f_x/f_z over slip ratio, f_y/f_z over slip angle, and f_z over slip ratio."""
    with style.picture(path, 15.0, 4.0) as figure:
        left, middle, right = figure.subplots(1, 3)
        over = "Rω" if contact.slip_by_wheel_speed else "V_x"
        s = np.linspace(-1.0, 1.0, 401)
        for k, degrees in enumerate((0.0, 5.0, 10.0, 20.0, 40.0)):
            f = _force_at(contact, s, np.full_like(s, np.radians(degrees)), dz, wheel)
            _curve(left, k, s, _over(f[:, 0], f[:, 2]), f"slip angle {degrees:g}°")
            _curve(right, k, s, f[:, 2], f"slip angle {degrees:g}°")
        angle = np.linspace(-60.0, 60.0, 401)
        for k, ratio in enumerate((0.0, 0.1, 0.2, 0.4, 0.8)):
            f = _force_at(contact, np.full_like(angle, ratio), np.radians(angle), dz, wheel)
            _curve(middle, k, angle, _over(f[:, 1], f[:, 2]), f"slip ratio {ratio:g}")
        _finish(left, f"slip ratio −v_x/{over} [1]", "longitudinal force f_x/f_z [1]")
        _finish(middle, "slip angle [°]", "lateral force f_y/f_z [1]")
        _finish(right, f"slip ratio −v_x/{over} [1]", f"normal force at {-1e3 * dz:g} mm penetration [N]")
        right.set_ylim(bottom=0.0)
    return figure


def _force_at(contact: Contact, s: FloatArray, angle: FloatArray, dz: float, wheel: dict[str, Any]) -> FloatArray:
    """Force at slip ratios and slip angles, travelling ahead."""
    r_omega, travel = SPEED * (1.0 + s), np.full_like(s, SPEED)
    if contact.slip_by_wheel_speed:
        r_omega, travel = np.full_like(s, SPEED), SPEED * (1.0 - s)
    v = np.stack((travel - r_omega, travel * np.tan(angle), np.zeros_like(s)), axis=-1)
    return contact.force(v, r_omega, dz, **wheel)


def _over(force: FloatArray, normal: FloatArray) -> FloatArray:
    return np.divide(force, normal, out=np.zeros_like(force), where=normal > 0.0)


def _curve(axes: Axes, k: int, x: FloatArray, y: FloatArray, label: str) -> None:
    axes.plot(x, y, color=style.PALETTE[k], linestyle=STYLES[k], label=label)


def _finish(axes: Axes, x: str, y: str) -> None:
    style.label(axes, x=x, y=y)
    axes.legend()
