"""Vehicles that cannot be meant are named, each in one sentence with a remedy; those that would drive are not."""

import pytest

import grouser as gr
from grouser.vehicles import Coupling, Frame, Hull, Vehicle
from grouser.vehicles.plausible import implausible

PLACES = {"FL": (0.3, 0.2), "FR": (0.3, -0.2), "RL": (-0.3, 0.2), "RR": (-0.3, -0.2)}


def wheel(name, x, y, z=0.0, radius=0.1, **more):
    fields = {"parent": "body", "joint": "RY", "actuated": True, "mass": 1.0, "width": 0.05} | more
    return Frame(name, xyz=(x, y, z), radius=radius, **fields)


def cart(*frames, places=PLACES, scale=1.0, mass=20.0, com=(0.0, 0.0, 0.1), driven=True, tyre=1.0, **more):
    """A body with wheels of the mass `tyre` at `places`, and more frames."""
    sizes = {"radius": 0.1 * scale, "width": 0.05 * scale, "actuated": driven, "mass": tyre}
    wheels = [wheel(name, x * scale, y * scale, **sizes) for name, (x, y) in places.items()]
    return Vehicle("cart", (Frame("body", mass=mass, com=com), *wheels, *frames), **more)


@pytest.mark.parametrize("name", gr.vehicles.names())
def test_shipped_vehicles_are_plausible(name):
    assert implausible(gr.vehicle(name)) == []


def test_a_cart_is_plausible():
    assert implausible(cart()) == []


CASES = {
    "no motors": (cart(driven=False), ["no joint has a motor", "actuated = true"]),
    "no wheel driven": (cart(Frame("arm", "body", "RZ", actuated=True, mass=1.0), driven=False),
        ["motors turn arm but no wheel"]),
    "millimetres": (cart(scale=1000.0), ["radius of 100 m", "millimetres", "1000"]),
    "places in millimetres": (cart(places={n: (1000 * x, 1000 * y) for n, (x, y) in PLACES.items()}),
        ["stand up to 721.11 m apart", "millimetres"]),
    "grams": (cart(mass=20000.0), ["mass of 2e+04 kg is too large", "grams"]),
    "too light": (cart(mass=0.01, tyre=0.001), ["too small", "missing"]),
    "body without mass": (cart(mass=0.0, com=(0.0, 0.0, 0.0)), ["'body' has no mass", "4 kg are in the wheels"]),
    "the same place twice": (cart(wheel("M", 0.3, 0.2)), ["'FL' and 'M' overlap", "check their places"]),
    "wheels into each other": (cart(wheel("M", 0.15, 0.2)), ["'FL' and 'M' overlap", "0.15 m apart"]),
    "a wheel in the air": (cart(wheel("M", 0.0, 0.2, 0.05)), ["'M' does not reach the ground", "0.05 m"]),
    "a small wheel": (cart(wheel("M", 0.0, 0.2, radius=0.06)), ["'M' does not reach the ground", "0.04 m"]),
    "one side": (cart(places={"FL": (0.3, 0.2), "ML": (0.0, 0.2), "RL": (-0.3, 0.2)}),
        ["one line, +0.2 m to the left", "on one side"]),
    "one axle": (cart(places={"L": (0.0, 0.2), "R": (0.0, -0.2)}), ["one axle", "slides = 0.2"]),
    "mass ahead of the wheels": (cart(com=(0.5, 0.0, 0.1)), ["centre of mass", "x 0.417", "outside the wheels"]),
    "tilted": (cart(wheel("B", -0.1, 0.0, -0.15), places={"FL": (0.1, 0.2), "FR": (0.1, -0.2)}, com=(0.0, 0.0, 0.0)),
        ["stands tilted by 37°"]),
    "on its belly": (cart(hull=(Hull("body", "box", xyz=(0.0, 0.0, -0.1), size=(0.4, 0.2, 0.1)),)),
        ["hull of 'body' reaches 0.05 m below the wheels", "hull = false"]),
    "a mast that swings": (cart(Frame("mast", "body", "RZ", mass=1.0)), ["mast carries no wheel", "lock"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_meant_is_said_in_one_sentence(case):
    vehicle, words = CASES[case]
    found = implausible(vehicle)
    assert len(found) == 1, found
    for word in words:
        assert word in found[0], found[0]
    assert "\n" not in found[0]
    assert not found[0].endswith(".")


def test_rockers_without_a_differential_leave_the_body_free_to_pitch():
    def rover(couplings=()):
        frames = [Frame("body", mass=20.0)]
        for side, y in (("left", 0.2), ("right", -0.2)):
            frames.append(Frame(side, "body", "RY", xyz=(0.0, y, 0.0), mass=1.0))
            frames += [wheel(f"{side}{x}", x, 0.0, parent=side) for x in (0.3, -0.3)]
        return Vehicle("rover", tuple(frames), couplings=couplings)

    (one,) = implausible(rover())
    assert "left, right leave the body 1 freedom" in one
    assert "differential" in one
    assert implausible(rover((Coupling("differential", {"left": 1.0, "right": 1.0}),))) == []


def test_a_ball_that_slides_holds_up_two_wheels():
    two = cart(places={"L": (0.0, 0.2), "R": (0.0, -0.2)}, com=(-0.1, 0.0, 0.0))
    ball = Frame("ball", "body", xyz=(-0.3, 0.0, -0.08), radius=0.02, slides=0.2)
    assert implausible(two.replace(frames=(*two.frames, ball))) == []
