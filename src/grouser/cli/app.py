"""The command `grouser`: its subcommands, each imported when it is called, and how errors leave it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from itertools import pairwise
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from grouser._version import __version__
from grouser.cli.help import Command, TwoHelps
from grouser.errors import GrouserError

# Typer brings its own copy of Click or uses the installed one, by version; this is the root of its errors in both.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

COMMANDS = {
    "demo": "Drive two rovers straight over rough ground; show where they end.",
    "vehicles": "List the shipped vehicles, or show the frames of one.",
    "soils": "List the soils and tyres with sources, or show the numbers of one.",
    "simulate": "Simulate one drive of a vehicle over a ground and print the result.",
    "drive": "Drive a vehicle by hand in a live 3D page; keys, gamepad or clicks.",
    "view": "Make one HTML file that shows runs in 3D.",
    "rollout": "Roll out random arcs from one start; print where and how they end.",
    "plan": "Plan a path across a map; predict its cost and chance of failure.",
    "study": "Run many variants from one file; continue where it was interrupted.",
    "calibrate": "Fit the parameters of a motion model to a driving log.",
    "evaluate": "Predict every moving interval of a log and compare its end.",
    "memory": "List the grounds of a memory; name, merge, remove or export them.",
    "groundmap": "Map slip and friction by place from driving logs.",
    "odometry": "Compute wheel odometry along a log and compare it with the poses.",
    "fuse": "Fuse wheels, IMU and other sensors along a log as on board.",
    "node": "Estimate the pose of a robot live, from its ROS 2 topics.",
    "report": "Make one HTML page of a run, a fit or the odometry of a log.",
    "check": "Check a file: print what it holds, or what is wrong with it.",
    "rolling": "Roll a vehicle without slip: its freedoms and where it goes.",
    "bench": "Measure how fast the engine is on this machine.",
    "warmup": "Compile all kernels now, so that later commands start at once.",
}
"""Name and first sentence of each; module `grouser.cli.NAME` has the function NAME and its EXAMPLES."""
MOVED = {"reproduce": "python -m experiments", "gallery": "python -m experiments.gallery"}
"""Commands of earlier versions, and what does their work in a clone of the repository."""


class Commands(TwoHelps, TyperGroup):
    """The commands by name."""

    summaries = COMMANDS

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]  # imported when asked for

    def invoke(self, ctx: Any) -> Any:
        """Run the command; Ctrl-C that it did not take ends it with a sentence."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            print("grouser: interrupted, by Ctrl-C", file=sys.stderr)
            raise typer.Exit(130) from None

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, imported now; None if there is none."""
        if cmd_name in MOVED:
            raise GrouserError(f"{cmd_name}: has left the package; in a clone of the repository run: {MOVED[cmd_name]}")
        return load(cmd_name) if cmd_name in COMMANDS else None


def load(name: str) -> Any:
    """A command with its options."""
    module = import_module(f"grouser.cli.{name}")
    one = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    examples = "\n\n".join(f"Example: grouser {name}{' ' * bool(line)}{line}" for line in module.EXAMPLES)
    one.command(name, cls=Command, epilog=examples)(getattr(module, name))
    return typer.main.get_command(one)


app = typer.Typer(
    name="grouser", cls=Commands, add_completion=False, pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]}, epilog="Start with: grouser demo",
)  # fmt: skip


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Predict how wheeled robots move on rough ground."""
    if version or context.invoked_subcommand is None:
        typer.echo(f"grouser {__version__}" if version else context.get_help())
        raise typer.Exit


def main() -> None:
    """Run the command line and exit: 0 success, 1 a run that failed, 2 a user's mistake, 130 interrupted."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run the command line; returns the exit code."""
    return run_app(app, arguments, name="grouser")


def run_app(app: typer.Typer, arguments: Sequence[str], *, name: str) -> int:
    """Run a Typer app as a command line of that name: errors become one sentence and an exit code."""
    warnings.showwarning = _remark
    try:
        code = app(list(arguments), prog_name=name, standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except GrouserError as error:
        return _mistake(str(error))
    except _UsageError as error:
        message = _not_a_number(error, arguments) or str(getattr(error, "format_message", error.__str__)()).rstrip(".")
        context = getattr(error, "ctx", None)
        return _mistake(f"{message}; see: {'grouser' if context is None else context.command_path} --help")
    except (BrokenPipeError, SystemExit) as end:  # SystemExit is Typer's own answer to a broken pipe
        # What is still buffered goes nowhere, instead of raising at exit.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = getattr(end, "code", 141)
        return code if isinstance(code, int) else 1
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except MemoryError:
        return _mistake("this does not fit in memory; ask for fewer rollouts, steps or recorded rows")
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _mistake(f"{place}{error.strerror or error}")


def _not_a_number(error: Exception, arguments: Sequence[str]) -> str | None:
    """What was typed where an option takes a number; None for other mistakes."""
    parameter, said = getattr(error, "param", None), str(getattr(error, "message", ""))
    whole = "valid integer" in said
    if parameter is None or not (whole or "valid number" in said or "valid float" in said):
        return None
    for name in parameter.opts:
        given = [text for before, text in pairwise(arguments) if before == name]
        given += [text.partition("=")[2] for text in arguments if text.startswith(f"{name}=")]
        if given:
            wanted = "a whole number, such as 5" if whole else "a number, such as 0.5"
            return f"{name}: {given[-1]!r:.40} is not {wanted}, without a unit"
    return None


def _remark(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning of the library as a line on stderr, without the place in its source."""
    print(f"grouser: warning: {' '.join(str(message).split())}", file=sys.stderr)


def _mistake(message: str) -> int:
    print(f"grouser: {' '.join(message.split())}", file=sys.stderr)
    return 2
