"""A robot like a TurtleBot: two driven wheels and a castor ball behind them."""

from grouser.vehicles import Frame, Vehicle

BALL = {"name": "ball", "parent": "body", "xyz": (-0.08, 0.0, -0.023), "radius": 0.01, "slides": 0.2}
WHEEL = {"parent": "body", "joint": "RY", "actuated": True, "radius": 0.033, "width": 0.018, "mass": 0.03,
         "inertia": (1e-5, 1.8e-5, 1e-5)}  # fmt: skip


def turtle(friction=0.2, y=0.0, ahead=False):
    """1 kg, its centre of mass between axle and ball; y: of the ball [m]; ahead: the ball in front of the axle."""
    x = 0.08 if ahead else -0.08
    body = Frame("body", mass=0.94, com=(0.3 * x, 0.0, 0.02), inertia=(2e-3, 2e-3, 3e-3))
    ball = Frame(**{**BALL, "slides": friction, "xyz": (x, y, -0.023)})
    left, right = (Frame(name, xyz=(0.0, side, 0.0), **WHEEL) for name, side in (("left", 0.08), ("right", -0.08)))
    return Vehicle("turtle", (body, ball, left, right))
