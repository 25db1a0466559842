"""Two helps of every command: `--help` fits a terminal of 80 × 24, `--help-all` explains everything.

`--help` shows the first sentence of every text, and more where they fit on the same line. Options with a panel
(`rich_help_panel`) are only named. It shows the first example, and others while there is room. (The panels that Typer
draws take three lines more each, and cut off long words in a narrow terminal.)
"""

from __future__ import annotations

import copy
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperCommand

from grouser.errors import GrouserError

LINES = 23
"""Lines of a classic terminal, without the one where the prompt waits."""
WIDEST = 120
"""Columns; longer lines are hard to read."""
NARROWEST = 40
KINDS = {"STR": "TEXT", "INTEGER": "INT"}
"""What an option takes, where versions of Typer have different words for it."""
HELP = "Show this; --help-all explains everything."
HELP_OF_ALL = "Show what fits on one screen; --help-all shows this."

Row = tuple[str, str | None, str]
"""An option with what it takes, its text, its default."""
_STYLES = {
    r"(?m)^[A-Z][\w ,-]*:": "bold",  # headings
    r"(?<![\w-])--?[a-z][\w-]*": "cyan",  # options
}


class TwoHelps:
    """`--help` and `--help-all` of a command or group."""

    summaries: Mapping[str, str] = {}
    """First sentences of the commands below it, by name."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, and `--help-all`.

        It is a copy of `--help` with another name and action: how an option is made differs between versions of Typer.
        """
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        plain = self.get_help_option(ctx)  # type: ignore[attr-defined]
        if plain is None:
            return parameters
        option = copy.copy(plain)
        option.name, option.opts, option.callback = "help_all", ["--help-all"], _print_all
        return [*(one for one in parameters if one.name != plain.name), option, plain]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """What `--help` shows."""
        formatter.write(_painted(help_text(self, ctx, _width())))


class Command(TwoHelps, TyperCommand):
    """A command with both helps; an option is given once unless it is a list."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option that is given twice, of which the first would be silently forgotten."""
        once = {name for one in self.params if not getattr(one, "multiple", False) for name in one.opts}
        given = [one.partition("=")[0] for one in args if one.startswith("--")]
        for name in given:
            if name in once and given.count(name) > 1:
                raise GrouserError(f"{name}: is given {given.count(name)} times; give it once")
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Arguments, then required options, then the rest."""
        must = [_label(one, ctx) for one in self.params if not _is_argument(one) and one.required]
        return [*(_argument(one, usage=True) for one in self.params if _is_argument(one)), *must, "[OPTIONS]"]


def help_text(command: Any, ctx: Any, width: int, *, full: bool = False) -> str:
    """Usage, what it does, commands or arguments, options by panel, examples; in lines of a given width."""
    shown = [one for one in command.get_params(ctx) if not getattr(one, "hidden", False)]
    below: list[Row] = [(name, text, "") for name, text in command.summaries.items()]
    arguments: list[Row] = [(_argument(one), one.help, "") for one in shown if _is_argument(one)]
    panels: dict[str, list[Row]] = {"": []}
    for one in shown:
        if not _is_argument(one) and "--help-all" not in one.opts:  # the text of --help speaks of it
            panel = getattr(one, "rich_help_panel", None) or ""
            text = one.help if "--help" not in one.opts else HELP_OF_ALL if full else HELP
            panels.setdefault(panel, []).append((_label(one, ctx), text, _default(one)))
    options = panels.pop("")
    examples = (command.epilog or "").split("\n\n")

    if full:
        lines = [command.get_usage(ctx)]
        for paragraph in (command.help or "").split("\n\n"):
            lines += ["", *textwrap.wrap(paragraph, width)]
        blocks = [("", below), ("", arguments), ("", options), *panels.items()]
        lines += _blocks(blocks, width, full=True)
        return "\n".join([*lines, "", *examples, ""])

    lines = [command.get_usage(ctx), "", *textwrap.wrap(_sentences(command.help, width) + ".", width)]
    lines += _blocks([("", below), ("", arguments), ("", options)], width)
    if panels:
        names = [(f"{panel}:", " ".join(row[0].split()[0] for row in rows), "") for panel, rows in panels.items()]
        lines += _blocks([("More, explained by --help-all", names)], width)
    lines += ["", examples[0]]
    for other in examples[1:]:
        lines += [other] if len(lines) < LINES and len(other) <= width else []
    while len(lines) > LINES and "" in lines:
        lines.remove("")  # a blank line is missed less than the first line, which would roll off the screen
    if below and len(lines) > LINES + 1:  # so are two lines for --version and --help
        said = [line for line in lines if line.lstrip().startswith("--version ")]
        lines = [f"{line}; --version the version" if "--help-all" in line else line for line in lines]
        lines = [line for line in lines if line not in said]
    if below and len(lines) > LINES + 1:  # and what all commands are for
        del lines[1]
    return "\n".join([*lines, ""])


def _blocks(blocks: Sequence[tuple[str, Sequence[Row]]], width: int, *, full: bool = False) -> list[str]:
    """Lines in two columns, the same in all blocks; a blank line and maybe a heading above each."""
    left = max(len(label) for _, rows in blocks for label, _, _ in rows) + 4
    lines = []
    for heading, rows in blocks:
        lines += [""] if rows else []
        lines += [f"{heading}:"] if heading else []
        for label, text, default in rows:
            words = _sentences(text, 10**6 if full else width - left - len(default)) + default
            indent, more = f"  {label}".ljust(left), " " * left
            lines += textwrap.wrap(
                words or "–", width, initial_indent=indent, subsequent_indent=more,
                break_long_words=False, break_on_hyphens=False,
            )  # fmt: skip
    return lines


def _sentences(text: str | None, room: int) -> str:
    """The first sentence, and those after it that fit the room; without the last full stop."""
    first, *others = re.split(r"(?<=\.)\s+(?=[A-Z`])", " ".join((text or "").split()))
    for other in others:
        if len(first) + len(other) > room:  # a blank comes, a full stop goes
            break
        first = f"{first} {other}"
    return first.removesuffix(".")


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _argument(parameter: Any, *, usage: bool = False) -> str:
    """LOG..., and in the usage [LOG...] where it may be left out."""
    name = (parameter.metavar or parameter.name).upper()
    return f"[{name}]" if usage and not parameter.required else name


def _label(option: Any, ctx: Any) -> str:
    """An option's names and what it takes: `--out PATH`."""
    names = ", ".join(sorted(option.opts, key=len))
    if option.is_flag:
        return names
    if option.metavar:
        return f"{names} {option.metavar}"
    # What it takes is the last word of Click's own line: FLOAT, or in newer versions of Typer <float> or <list[Path]>.
    kind = option.get_help_record(ctx)[0].split()[-1].strip("<>").upper()
    kind = kind.removeprefix("LIST[").removesuffix("]")
    return f"{names} {KINDS.get(kind, kind)}"


def _default(option: Any) -> str:
    """The default of an option, if it is worth showing."""
    if option.is_flag or option.required or not option.show_default or option.default in (None, ""):
        return ""
    default = f"{option.default:g}" if isinstance(option.default, float) else str(option.default)
    return f" [default: {default}]"


def _print_all(ctx: Any, parameter: Any, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    typer.echo(_painted(help_text(ctx.command, ctx, _width(), full=True)), nl=False)
    ctx.exit()


def _width() -> int:
    from rich.console import Console

    return min(max(Console().width, NARROWEST), WIDEST)


def _painted(text: str) -> str:
    """With colours where stdout is a terminal that wants them."""
    from rich.console import Console
    from rich.text import Text

    painted = Text(text)
    for pattern, style in _STYLES.items():
        painted.highlight_regex(pattern, style)
    console = Console(width=WIDEST)  # lines are laid out already
    with console.capture() as captured:
        console.print(painted, soft_wrap=True, end="")
    return captured.get()
