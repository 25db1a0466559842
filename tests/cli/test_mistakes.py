"""Mistakes of new users, over all commands: each is one good sentence and exit code 2, or a warning where it goes on.

A row is a command line, and words that its sentence must hold; files are made by `mistake_files.py`. Rows are by
subject, so that a new feature adds its own.
"""

from __future__ import annotations

import shlex
import socket
from pathlib import Path

import mistake_files
import pytest

from grouser.cli import run

CALLS = {
    "fly": "No such command 'fly'",
    "reproduce table-2.4": "has left the package",
    "simulate": "Missing argument 'vehicle'; see: grouser simulate --help",
    "simulate zoe --sped 1": "No such option: --sped (Possible options: --seed, --slip, --speed)",
    "simulate zoe --speed 1 --dt 0.1 --speed=2": "--speed: is given 2 times; give it once",
    "simulate zoe --speed fast": "--speed: 'fast' is not a number",
    "simulate zoe --speed 0,5": "--speed: '0,5' is not a number, such as 0.5",
    "simulate zoe --speed='1 m/s'": "--speed: '1 m/s' is not a number, such as 0.5, without a unit",
    "simulate zoe --seed 1.5": "--seed: '1.5' is not a whole number",
    "simulate zoe --speed nan": "--speed: nan is not a finite number",
    "simulate zoe --curvature inf": "--curvature: inf is not a finite number",
    "simulate zoe --dt -0.01": "--dt: -0.01 is not a positive number",
    "simulate zoe --duration 0": "--duration: 0 is not a positive number",
    "simulate zoe --duration 1 --dt 0.3": "1 s is not a whole number of steps of 0.3 s",
    "simulate zoe --start 1": "--start: '1' is neither x,y nor x,y,yaw, such as 80,40 or 80,40,90",
    "simulate cart_motors.toml": "no joint has a motor, so no speed can be commanded",
    "simulate zoe --start a,b,c": "--start: 'a,b,c' is neither x,y nor x,y,yaw",
    "simulate zoe --turn 1 --curvature 1": "--turn and --curvature both set the turn rate",
    "simulate zoe --out run.xyz": "--out: run.xyz must end in one of .npz, .csv",
    "simulate zoe --view run.png": "--view: run.png must end in .html",
    "rollout zoe --rollouts 0": "--rollouts: 0 is not between 1 and",
    "rollout zoe --seed -1": "--seed: -1 is not between 0 and",
    "rollout zoe --every 2": "--every: states are kept in a file; add --out FILE.npz",
    "rollout zoe --every 9999 --out r.npz": "--every: 9999 is not between 1 and 250",
    "rollout zoe --out r.csv": "--out: r.csv must end in .npz",
    "rollout zoe --rollouts 2 --threads 4096": "threads: 4096 is not a whole number from 1 to",
    "rollout zoe --max-speed -1": "--max-speed: -1 is not a positive number",
    "check": "FILE: is missing; name one",
    "check missing.npz": "missing.npz: no such file",
    "check notes.txt": "notes.txt: is of no known kind; files that can be checked end in .toml",
    "check .": ".: is a folder, not a file",
    "check drive.csv notes.txt": "several files must be parts of one log, with --manifest",
    "view drive.csv": "drive.csv: not a readable .npz file",
    "view run.npz --out run.png": "--out: run.png must end in .html",
    "report run.npz --gyro": "--gyro: does nothing in a report of a run",
    "report run.npz --out run.pdf": "--out: run.pdf must end in .html",
    "report drive.csv": "--manifest: is needed to read a log",
    "bench --fast": "No such option: --fast",
    "warmup wings": "unexpected extra argument",
    "demo --seed -1": "--seed: -1 is not between 0 and",
    "vehicles tank": "there is no vehicle 'tank'; shipped are crusher, husky",
}
MODELS = {
    "simulate zoe --model magic": "--model: 'magic' is not one of kinematic, dynamic",
    "simulate zoe --integrator magic": "integrator: 'magic' is not one of euler, rk4",
    "simulate zoe --contact pacejka": "--contact: is for the dynamic model; add --model dynamic",
    "simulate zoe --model dynamic --contact rubber": "contact: 'rubber' is not one of piecewise-linear, pacejka",
    "simulate zoe --model dynamic --slip 0,0,0,0,0,0": "--slip: is for the kinematic model",
    "simulate zoe --slip 1,2,3,4,5": "--slip: '1,2,3,4,5' is not 6 numbers",
    "simulate zoe --model dynamic --friction -1": "friction: -1 is negative",
    "simulate zoe --model dynamic --contact terramechanics --friction .5": "friction: terramechanics has none",
    "simulate zoe --model dynamic --torque-limit 5": "--torque-limit: exact rates have no torque limit",
    "simulate zoe --model dynamic --actuator-gain -5": "--actuator-gain: -5 is not a number of at least 0",
    "simulate zoe --samples 5": "--samples: a model alone is certain; add --fit FILE",
    "simulate zoe --fit husky_fit.toml": "is of 'husky', not of 'zoe'",
    "rollout zoe --fit husky_fit.toml": "is of 'husky', not of 'zoe'",
    "simulate husky --fit husky_fit.toml --model dynamic": "--model: the fit says how the vehicle moves",
    "simulate husky --fit missing.toml": "missing.toml: there is no such file; `grouser calibrate … --out",
    "simulate husky --fit run.npz": "run.npz: is not UTF-8 text",
    "simulate zoe --soil 0=pacejka": "--soil: the places of the classes are missing; add --soils FILE",
    "simulate husky --soils small.npz": "--soils: the soil of its classes is missing; add --soil CLASS=MODEL",
    "simulate husky --soils small.npz --soil 0=pacejka": "'pacejka' is for the dynamic model; add --model dynamic",
    "simulate husky --soils small.npz --soil ice": "--soil: 'ice' is not CLASS=MODEL, such as",
    "rolling husky": "wheel 'FL' is a thin disc, and only a round tyre can roll",
    "rolling pvc --rate wing=1": "vehicle 'pvc' has no joint 'wing'; joints are phi1, alpha1",
    "rolling pvc --rate alpha1": "--rate: 'alpha1' is not joint=number",
    "rolling pvc --terrain small.npz": "has edges, rolling without slip needs",
}
VEHICLES = {
    "simulate zoee": "there is no vehicle 'zoee'; shipped are",
    "simulate missing.toml": "missing.toml: no such file",
    "simulate cart_typo.toml": "frame 2 'left', field raduis: is not a field Grouser knows; check its spelling",
    "simulate cart_parent.toml": "field parent: 'bdy' is not a frame; frames are body, left, right",
    "simulate cart_mass.toml": "frame 'body', field mass: -10 is negative",
    "simulate cart_twice.toml": "rows 2 and 3 have this name",
    "simulate cart_axis.toml": "'RW' is not a joint type, use one of RX, RY, RZ",
    "simulate cart_syntax.toml": "is not TOML",
    "simulate cart_text.toml": "field radius: '20 cm' is not a number",
    "simulate cart_nan.toml": "field radius: nan is not a finite number",
    "simulate cart_wheels.toml": "there are no wheels: give a radius to every frame that is one",
    "simulate cart_schema.toml": "was written by a newer Grouser",
    "check half.urdf": "half.urdf: is not well-formed XML",
}
GROUNDS = {
    "simulate zoe --terrain swamp": "no terrain 'swamp'; write flat, slope, ramp, rough, or a file ending in .npz",
    "simulate zoe --terrain rough:rms=1": "terrain rough: needs length, seed; its keys are rms, length",
    "simulate zoe --terrain slope:deg=95": "deg: 95 is not a number from -85 to 85",
    "simulate zoe --terrain slope:angle=10": "no key 'angle=10'; write key=value with keys deg",
    "simulate zoe --terrain rough:rms=-1,length=1,seed=1": "rms: -1 is not a number from 0",
    "simulate zoe --terrain missing.tif": "missing.tif: no such file",
    "simulate zoe --terrain dem.asc": "dem.asc: 6 heights; its header needs columns × rows = 9",
    "simulate zoe --terrain letters.asc": "letters.asc: a height is not a number",
    "simulate zoe --terrain flat.stl": "flat.stl: faces has 0 triangles",
    "simulate zoe --terrain run.npz": "'grouser/run@1' is not a schema read here, expected 'grouser/terrain@1'",
    "simulate zoe --terrain small.npz --start 500,0,0": "x = 500, y = 0 m is not on the map, which covers x -5 to 5 m",
    "simulate zoe --terrain small.npz --start 4.9,0,0": "the ground ends under one of its wheels",
    "plan zoe --from 0,0": "Missing option '--to'",
    "plan zoe --from 0 --to 1,1": "--from: '0' is not 2 numbers with commas between",
    "plan zoe --from 0,0 --to 500,0": "goal (500, 0) m is off the map, which lies within x -20 to 20 m",
    "plan zoe --from 0,0 --to 5,0 --risk 2": "--risk: 2 is not a chance between 0 and 1",
    "plan zoe --from 0,0 --to 5,0 --samples 2": "--samples: 2 is not between 8 and",
    "plan zoe --from 0,0 --to 5,0 --minimise comfort": "'comfort' is not one of energy, time, risk",
    "plan zoe --from 0,0 --to 5,0 --keep-out 1,1": "--keep-out: '1,1' is not 3 numbers",
    "plan zoe --from 0,0 --to 5,0 --out way.npz": "--out: way.npz must end in .png",
}
LOGS = {
    "check missing.csv --manifest log.toml": "missing.csv: there is no such file",
    "check drive.csv --manifest missing.toml": "missing.toml: no such file",
    "check empty.csv --manifest log.toml": "empty.csv: is empty",
    "check heading.csv --manifest log.toml": "heading.csv: is empty except for its heading",
    "check drive.csv --manifest log_table.toml": "field rate: is not a field Grouser knows; did you mean 'rates'?",
    "check drive.csv --manifest log_column.toml": "drive.csv: has no column 'wheel_left' ([rates] FL",
    "check drive.csv --manifest log_joint.toml": "has no joint 'front_left'; joints are FL, FR, BL, BR",
    "check drive.csv --manifest log_unit.toml": "'degrees' is not one of rad, mrad, deg, rev",
    "check drive.csv --manifest log_vehicle.toml": "there is no vehicle 'wartog'",
    "check drive.csv --manifest log_schema.toml": "expected 'grouser/log@1'",
    "check drive.csv --manifest log_syntax.toml": "log_syntax.toml: is not TOML",
    "check drive.csv --manifest log_time.toml": "table [time], field column: is missing",
    "check milliseconds.csv --manifest log.toml": "is its unit ms? set unit in table [time]",
    "check still.csv --manifest log.toml": "the time stamp repeats that of the row above",
    "calibrate drive.csv drive.csv --manifest log.toml": "drive.csv: is given twice, and its drive would count twice",
    "check drive.csv --manifest log_same.toml": "table [pose], y: is column x, and so is x; name the column or field",
    "check drive.csv --manifest log_sensor.toml": "table [sensor], x: input should be less than or equal to 100",
    "check drive.csv --manifest log_rpy.toml": "imu_rpy [180.0, 0.0, 0.0] is more than a turn; it is in rad",
    "check drive.csv --manifest junk.bin": "junk.bin: is not UTF-8 text",
    "check junk.csv --manifest log.toml": "junk.csv: is not text; a CSV file, a .bag, .db3 or .mcap is read",
    "check run.npz --manifest log.toml": "run.npz: is not text",
    "calibrate rpm.csv --manifest log.toml": "are the rates in rpm?",
    "calibrate degrees.csv --manifest log.toml": 'it is likely in degrees; set unit = "deg" for yaw',
    "calibrate tilt.csv --manifest log.toml": 'set unit = "deg" for roll of [attitude]',
    "calibrate mm.csv --manifest log.toml": "is the pose (column x and column y) in mm?",
    "calibrate swapped.csv --manifest log.toml": "left and right are likely swapped; exchange",
    "calibrate ned.csv --manifest log.toml": "likely left-handed (x north, y east)",
    "calibrate backward.csv --manifest log.toml": "set sign = -1 for all of [rates]",
    "calibrate frozen.csv --manifest log.toml": "the pose never changes, though the wheels turn",
    "calibrate dead.csv --manifest log.toml": "the rate of wheel FL is zero throughout",
    "calibrate nan.csv --manifest log.toml": "there is no row with a pose, all finite numbers",
    "calibrate drive.csv": "--manifest: is missing; it names the columns, and `grouser check LOG` drafts one",
    "calibrate --manifest log.toml": "LOG: is missing; name a driving log",
    "calibrate drive.csv --manifest log.toml --parameters wings": "no parameter 'wings'",
    "calibrate drive.csv --manifest log.toml --interval -1": "--interval: -1 is not a positive number",
    "calibrate drive.csv --manifest log.toml --interval soon": "'soon' is neither a number of seconds nor whole",
    "calibrate drive.csv --manifest log.toml --loss soft": "--loss: 'soft' is not one of mixture, huber, cauchy",
    "calibrate drive.csv --manifest log.toml --model magic": "--model: 'magic' is not one of best, kinematic",
    "calibrate drive.csv --manifest log.toml --prior slip.p2=3": "is not name=value:sigma",
    "calibrate drive.csv --manifest log.toml --out fit.json": "--out: fit.json must end in .toml",
    "evaluate drive.csv --manifest log.toml": "Missing option '--fit'",
    "evaluate drive.csv --manifest log.toml --fit missing.toml": "missing.toml: there is no such file",
    "evaluate drive.csv --manifest log.toml --fit log.toml": "expected 'grouser/fit@1'",
    "odometry drive.csv --manifest log.toml --out poses.xyz": "--out: poses.xyz must end in .tum or .csv",
    "report husky_fit.toml --log drive.csv": "--log and --manifest: a log to evaluate the fit on needs both",
    "fuse drive.csv": "Missing option '--manifest'",
    "groundmap drive.csv": "Missing option '--manifest'",
    "memory missing.toml": "missing.toml: there is no such file; `grouser calibrate … --memory",
    "memory log.toml": "expected 'grouser/memory@1'",
    "node --manifest missing.toml": "missing.toml: no such file",
    "node --manifest log.toml": "names column wl of a CSV; a node needs a topic",
    "node --manifest log.toml --transport pigeon": "--transport: 'pigeon' is not one of dds, zenoh",
}
STUDIES = {
    "study study.toml": "--out: is needed to keep the rows, such as --out study",
    "study missing.toml --out s": "missing.toml: no such file",
    "study study_typo.toml --out s": "has no field 'duraton'",
    "study notes.txt --out s": "notes.txt: is not TOML",
    "study study.toml --out s --plot a.npz": "--plot: a.npz must end in .png",
    "study .": "is not the folder of a study",
}
REFUSED = CALLS | MODELS | VEHICLES | GROUNDS | LOGS | STUDIES
WARNED = {
    "simulate zoe --terrain slope:deg=60 --duration 1": "a real vehicle would tip",
    "simulate husky --terrain ramp:height=1,deg=80 --duration 1": "steep",
    "check gyro.csv --manifest log.toml": "[gyro] z: the turn rate (column gz) has the other sign",
    "check stamps.csv --manifest log.toml": "out of order: the time stamp lies before that of the row above",
    "evaluate drive.csv --manifest log.toml --fit husky_fit.toml": "the fit is of vehicle 'husky', which is used",
    "odometry drive.csv --manifest log.toml --fit husky_fit.toml": "the manifest names 'warthog'",
    "check mm.toml": "look like millimetres",
    "check drive.csv --manifest log_clock.toml": "(46 %) are left out: alone: a gap before it and a gap after it",
}
"""Mistakes that may be meant: they go on, and say so."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mistakes")
    mistake_files.make(made)
    return made


def spoken(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    monkeypatch.chdir(folder)
    assert run(shlex.split(line)) == code


def test_there_are_at_least_45() -> None:
    assert len(REFUSED) >= 45


@pytest.mark.parametrize(("line", "words"), REFUSED.items(), ids=REFUSED)
def test_a_mistake_is_one_sentence_that_says_what_would_be_right(
    line: str, words: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path.name for path in folder.iterdir())
    spoken(line, folder, monkeypatch, 2)
    printed = capsys.readouterr()
    # The planted log drives without noise, so that its poses look like wheel odometry.
    beside = ("compiling", "calibrating", "the poses equal the wheel odometry")
    said = [one for one in printed.err.splitlines() if not any(words in one for words in beside)]
    assert printed.out == ""
    assert len(said) == 1, said
    assert said[0].startswith("grouser: ")
    assert words in said[0]
    assert not any(word in said[0] for word in ("Traceback", "Error:", "Errno", "object at 0x", "None"))
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(("line", "words"), WARNED.items(), ids=WARNED)
def test_what_may_be_meant_is_warned_of(
    line: str, words: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spoken(line, folder, monkeypatch, 0)
    printed = capsys.readouterr()
    assert words in printed.out + printed.err


def test_a_port_in_use_is_named() -> None:
    pytest.importorskip("foxglove")
    from grouser.errors import GrouserError
    from grouser.node.foxglove_view import LiveView

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(GrouserError, match=f"{port}.*give a free port"):
            LiveView(port=port)
