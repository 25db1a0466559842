"""The command `grouser`: its subcommands, and how errors leave it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

import typer

from grouser._version import __version__
from grouser.cli import (
    bench,
    calibrate,
    check,
    demo,
    evaluate,
    odometry,
    report,
    rolling,
    rollout,
    simulate,
    vehicles,
    view,
    warmup,
)
from grouser.cli.help import Command, Group
from grouser.errors import GrouserError

# Typer brings its own copy of Click or uses the installed one, by version; this is the root of its errors in both.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="grouser",
    cls=Group,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: grouser demo",
)
for command in (
    demo, vehicles, simulate, view, rollout, calibrate, evaluate, rolling, odometry, report, check,
    bench, warmup,
):  # fmt: skip
    command.register(app)
for registered in app.registered_commands:
    registered.cls = Command


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Predict how wheeled robots move on rough ground."""
    if version:
        typer.echo(f"grouser {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


def main() -> None:
    """Run the command line and exit: 0 success, 1 a run that failed, 2 a user's mistake, 130 interrupted."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run the command line; returns the exit code."""
    return run_app(app, arguments, name="grouser")


def run_app(app: typer.Typer, arguments: Sequence[str], *, name: str) -> int:
    """Run a Typer app as a command line of that name: errors become one sentence and an exit code."""
    try:
        code = app(list(arguments), prog_name=name, standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except GrouserError as error:
        return _mistake(str(error))
    except _UsageError as error:
        return _mistake(_usage(error))
    except BrokenPipeError:
        _silence()
        return 141
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except SystemExit as end:  # Typer's own answer to a broken pipe
        _silence()
        return end.code if isinstance(end.code, int) else 1
    except MemoryError:
        return _mistake("this does not fit in memory; ask for fewer rollouts, steps or recorded rows")
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _mistake(f"{place}{error.strerror or error}")


def _mistake(message: str) -> int:
    print(f"grouser: {' '.join(message.split())}", file=sys.stderr)
    return 2


def _usage(error: Exception) -> str:
    """What Click says, with the way to the help."""
    message = str(getattr(error, "format_message", lambda: str(error))()).rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "grouser"
    return f"{message}; see: {command} --help"


def _silence() -> None:
    """Nobody reads stdout any more: what is still buffered goes nowhere instead of raising at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
