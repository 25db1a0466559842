"""Every public function that takes a vehicle, model, log or array says by name when it was given something else."""

import inspect

import numpy as np
import pytest

import grouser as gr

FUNCTIONS = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module, names in (
        (gr, ["simulate", "rollout", "settle", "vehicle", "calibrate", "evaluate", "read_log", "actuate"]),
        (gr, ["Kinematics", "Dynamics", "Odometry", "MotionModel", "Noise", "Parameter", "ExternalForce"]),
        (gr.rotation, ["from_quaternion", "from_rpy", "to_quaternion", "to_rpy"]),
        (gr.kinematics, ["frame_jacobian", "frame_poses", "rollover_margin"]),
        (gr.collision, ["contacts"]),
        (gr.terrain, ["parse", "read", "grid", "mesh", "spline", "rough", "slope", "stack", "moved", "law"]),
        (gr.vehicles, ["to_toml", "write_toml"]),
        (gr.fusion, ["Fusion", "fuse"]),
        (gr.odometry, ["body_slip", "ground_angles", "judge", "odometry_of", "ros_odometry"]),
        (gr.odometry, ["travel_slip", "ContactAngleEstimator", "WheelSlipDetector", "Encoders"]),
        (gr.rolling, ["RollingModel", "compare", "find_start", "judge", "load_shares", "roll"]),
        (gr.calibration, ["cut_log", "log_of_motion", "log_of_run"]),
        (gr.motion, ["available", "resolve"]),
        (gr.slip, ["BodySlip", "DriveFrameSlip", "law"]),
        (gr.contact, ["Table", "law"]),
        (gr.drive, ["arc", "twist", "constant", "schedule", "table", "law"]),
    )
    for name in names
}
NONSENSE = [None, "x", float("nan"), object(), [1, "a"], {}, np.zeros((2, 2)), np.array([1j])]


def required(function):
    """Names of the arguments that must be given, those by name apart."""
    must = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    must = [p for p in must if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return [p.name for p in must if p.kind is not p.KEYWORD_ONLY], [p.name for p in must if p.kind is p.KEYWORD_ONLY]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nonsense_is_an_error_of_ours(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function = FUNCTIONS[name]
    places, named = required(function)
    for value in NONSENSE:
        try:
            function(*[value] * len(places), **dict.fromkeys(named, value))
        except gr.GrouserError as error:
            said = str(error)
        else:
            said = ""  # some take what others do not
        assert "\n" not in said
