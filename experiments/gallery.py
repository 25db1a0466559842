"""`python -m experiments.gallery`: draws the pictures of the README and the documentation."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from grouser.cli import console, values
from grouser.cli.app import run_app
from grouser.errors import GrouserError

SUFFIXES = ("png", "svg", "pdf")


def gallery(
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("docs/images"),
    only: Annotated[
        list[str] | None, typer.Option(help="A picture by name; may be repeated. All, unless given.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer trials and shorter drives: not for the README.")
    ] = False,
    kind: Annotated[str, typer.Option(help="png, svg or pdf.")] = "png",
    listed: Annotated[bool, typer.Option("--list", help="Say which pictures there are, and draw none.")] = False,
    as_json: console.Json = False,
) -> None:
    """Draw the pictures of README and documentation.

    They come from the demo and the reproduced experiments.
    """
    if kind not in SUFFIXES:
        raise GrouserError(f"--kind: {kind!r:.20} is not one of {', '.join(SUFFIXES)}")
    from experiments.gallery_page import Entry, write_page
    from experiments.gallery_pictures import draw, drawings

    there = drawings()
    if listed:
        words = {name: one.words for name, one in there.items()}
        if as_json:
            console.print_json({"pictures": words})
        else:
            console.print_pairs("pictures", list(words.items()))
        return
    for name in only or []:
        if name not in there:
            raise GrouserError(f"--only: there is no picture {name!r:.60}; there are {', '.join(there)}")
    chosen = list(dict.fromkeys(only)) if only else list(there)
    values.make_folder(out)

    from grouser.bench import machine, prepare

    prepare()  # before the progress bar, whose line the compiler's notice would cross
    written: dict[str, dict[str, object]] = {}
    failed: dict[str, str] = {}
    entries: list[Entry] = []
    for i, name in enumerate(chosen):
        began = time.monotonic()
        path = out / f"{name}{there[name].suffix or f'.{kind}'}"
        console.remark(f"{i + 1} of {len(chosen)}: {name}")
        try:
            with console.progress(name) as report:
                numbers = draw(there[name], path, quick=quick, progress=report)
        except GrouserError as error:
            # An experiment whose measured data is not on this machine must not keep the others from being drawn.
            failed[name] = str(error)
            console.remark(f"grouser: {name}: {error}")
            continue
        seconds = round(time.monotonic() - began, 1)
        entries.append(Entry(name, there[name].words, path, numbers))
        written[name] = {"file": str(path), "bytes": path.stat().st_size, "seconds": seconds}
        if not as_json:
            typer.echo(f"wrote {path}")
    if not only and not failed:
        here = machine()
        write_page(out / "README.md", entries, quick=quick, machine=f"{here['cpu']}, {here['cores']} cores")
        if not as_json:
            typer.echo(f"wrote {out / 'README.md'}")
    if as_json:
        console.print_json({"pictures": written, "failed": failed, "quick": quick})
    if failed:
        raise typer.Exit(1)


def run(arguments: Sequence[str]) -> int:
    """Run the command line; returns the exit code, as that of `grouser`."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(
        epilog="Example: python -m experiments.gallery --list\n\n"
        "Example: python -m experiments.gallery --only demo --only rollover --out docs/images\n\n"
        "Example: python -m experiments.gallery --quick --out /tmp/pictures --json"
    )(gallery)
    return run_app(app, arguments, name="python -m experiments.gallery")


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
