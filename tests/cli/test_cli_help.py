"""Help is quick and complete, shows an example, and fits a classic terminal; `--help-all` explains every option."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from typing import Any

import pytest

from grouser import __version__
from grouser.cli import app, run

COMMANDS = (
    "demo", "vehicles", "soils", "simulate", "drive", "view", "rollout", "plan", "study", "calibrate", "evaluate",
    "memory", "groundmap", "odometry", "fuse", "node", "report", "check", "rolling", "bench", "warmup",
)  # fmt: skip
COLUMNS, LINES = 80, 24
LOADED: dict[str, Any] = {name: app.load(name) for name in COMMANDS}


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))


def helped(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is printed, without colours."""
    assert run(arguments) == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)


def options(command: str) -> list[Any]:
    return [one for one in LOADED[command].params if one.param_type_name == "option"]


def solid(text: str) -> str:
    """Without white space: columns are narrow, and break even words."""
    return "".join(text.split())


def test_these_are_the_commands_with_their_first_sentences() -> None:
    assert tuple(app.COMMANDS) == COMMANDS
    for name, sentence in app.COMMANDS.items():
        assert LOADED[name].help.split("\n")[0] == sentence


@pytest.mark.parametrize("name", ["reproduce", "gallery"])
def test_commands_that_left_the_package_are_found_in_a_clone(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "table-2.4", "--quick"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"grouser: {name}: ")
    assert "python -m experiments" in said
    assert said.count("\n") == 1


def test_a_command_imports_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    code = "import sys; from grouser.cli import run; run(['vehicles', '--help']); print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert "grouser.cli.vehicles" in out
    assert not {"grouser.cli.simulate", "grouser.cli.calibrate", "grouser.vehicles"} & set(out.split())


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_a_terminal_of_80_by_24_with_an_example(
    command: str, narrow: None, capsys: pytest.CaptureFixture[str]
) -> None:
    text = helped(capsys, *([command] if command else []), "--help")
    lines = text.rstrip("\n").split("\n")
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    assert not [line for line in lines if line.startswith(" " * 6)], "a text does not fit on its line"
    assert re.search(rf"^Example: grouser {command}\b" if command else r"^Start with: grouser demo$", text, re.M)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_every_argument_and_option(command: str, narrow: None, capsys: pytest.CaptureFixture[str]) -> None:
    words = re.findall(r"[\w.-]+", helped(capsys, command, "--help"))
    for one in LOADED[command].params:
        names = one.opts if one.param_type_name == "option" else [(one.metavar or one.name).upper()]
        assert set(names) <= set(words)
    assert {"-h", "--help", "--help-all", "--json"} <= set(words)


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_all_explains_every_option_and_shows_every_example(
    command: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = solid(helped(capsys, command, "--help-all"))
    for one in LOADED[command].params:
        assert one.help, f"{one.name} has no text"
        assert solid(one.help).removesuffix(".") in text
    assert all(one.opts[0] in text for one in options(command))
    for example in LOADED[command].epilog.split("\n\n"):
        assert solid(example) in text
    assert solid(LOADED[command].help) in text


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_are_understood(command: str) -> None:
    for example in LOADED[command].epilog.split("\n\n"):
        start, name, *rest = shlex.split(example.removeprefix("Example: ").partition(" > ")[0])
        assert (start, name) == ("grouser", command)
        LOADED[command].make_context(command, rest)  # raises where an option or a value is wrong


@pytest.mark.parametrize("command", ["vehicles", "simulate"])
def test_first_examples_that_need_no_file_run(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    example = LOADED[command].epilog.split("\n\n")[0]
    assert helped(capsys, *shlex.split(example.removeprefix("Example: grouser ")))


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["--help-all"]])
def test_help_lists_every_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = helped(capsys, *arguments)
    assert all(command in text for command in COMMANDS)
    assert "Start with: grouser demo" in text


@pytest.mark.parametrize("columns", ["", "0", "20", "60", "100", "120", "200", "wide"])
def test_help_at_any_width_is_complete(
    columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    text = helped(capsys, "simulate", "--help")
    assert all(one.opts[0] in text for one in options("simulate"))
    # An example is one line at any width, to be copied.
    assert "\nExample: grouser simulate zoe --terrain rough:rms=.15,length=.8,seed=1\n" in text
    if columns.isdigit() and int(columns) >= COLUMNS:
        assert len(text.splitlines()) <= LINES


def test_a_wider_terminal_shows_more_sentences(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "The same seed gives the same arcs" not in helped(capsys, "rollout", "--help")
    monkeypatch.setenv("COLUMNS", "100")
    assert "Seed of the arcs. The same seed gives the same arcs [default: 0]\n" in helped(capsys, "rollout", "--help")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo terminals")
@pytest.mark.parametrize("no_color", [False, True])
def test_help_in_a_terminal_has_colours_unless_they_are_not_wanted(no_color: bool) -> None:
    import pty

    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")}
    environment |= {"TERM": "xterm", "COLUMNS": "80"} | ({"NO_COLOR": "1"} if no_color else {})
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", "from grouser.cli import run; run(['simulate', '--help'])"],
        stdout=theirs, env=environment,
    ) as process:  # fmt: skip
        os.close(theirs)
        output = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # Linux says so where the other end was closed
                part = b""
            if not part:
                break
            output += part
    os.close(ours)
    assert process.returncode == 0
    assert output.count(b"\n") <= LINES
    assert (b"\x1b[36m--speed" in output) is not no_color
    assert b"--speed" in output


def test_mistyped_options_and_commands_are_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, sentence in (
        (["simulat"], "Did you mean 'simulate'?; see: grouser --help"),
        (["simulate", "zoe", "--sped", "1"], "--speed); see: grouser simulate --help"),
        (["simulate", "--help-al"], "--help-all); see: grouser simulate --help"),
        (["simulate"], "Missing argument 'vehicle'; see: grouser simulate --help"),
    ):
        assert run(arguments) == 2
        assert sentence in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.split() == ["grouser", __version__]


def test_help_imports_neither_numba_nor_matplotlib_nor_scipy() -> None:
    code = (
        "import sys; from grouser.cli import run; "
        "run(['--help']); run(['simulate', '--help']); run(['calibrate', '--help-all']); "
        "sys.exit(bool({'numba', 'matplotlib', 'scipy', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_public_names_are_all_there_and_listed() -> None:
    import grouser

    for name in grouser.__all__:
        assert getattr(grouser, name) is not None
    assert set(grouser.__all__) <= set(dir(grouser))
    with pytest.raises(AttributeError, match="no attribute 'flying'"):
        grouser.flying  # noqa: B018
