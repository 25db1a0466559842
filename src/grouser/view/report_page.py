"""The HTML of a report: all in one file, pictures inside it, no script and no network; it prints on A4 or letter."""

from __future__ import annotations

import base64
import hashlib
import io
from html import escape

import matplotlib
from matplotlib.figure import Figure

from grouser.view import style
from grouser.view.report import Listing, Picture, Report, Table

LARGEST_DRAWING = 1_500_000
"""Bytes of a vector picture; a larger one, of a long log, is embedded as a bitmap."""
DPI = 160.0
"""Of such a bitmap."""

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1.2rem 3rem; color: #222; background: #fff;
  font: 16px/1.5 "DejaVu Sans", Verdana, system-ui, sans-serif; overflow-wrap: anywhere; }
header { border-bottom: 3px solid #0072B2; margin-bottom: 1.2rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2rem 0 .6rem; border-bottom: 1px solid #ccc; }
p { margin: .5rem 0; max-width: 48rem; }
.kind { color: #555; font-size: .85em; margin: 0; }
.question { font-size: 1.1em; font-style: italic; }
.answer { border-left: 4px solid #0072B2; background: #f3f8fb; padding: .3rem .9rem; margin: 1rem 0; }
.table { overflow-x: auto; margin: .9rem 0; }
table { border-collapse: collapse; font-size: .9em; }
caption { text-align: left; font-weight: bold; padding-bottom: .3rem; }
th, td { text-align: left; vertical-align: top; padding: .22rem .9rem .22rem 0; border-bottom: 1px solid #e4e4e4; }
td { max-width: 36rem; overflow-wrap: break-word; }
th { overflow-wrap: normal; color: #444; font-weight: bold; border-bottom: 1px solid #888; }
.right { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0 1.6rem; }
img { display: block; max-width: 100%; height: auto; }
figcaption, .caption { color: #444; font-size: .88em; margin-top: .3rem; }
pre { background: #f5f5f5; border: 1px solid #ddd; padding: .6rem .8rem; font-size: .82em; overflow-x: auto;
  white-space: pre-wrap; margin: .3rem 0 .9rem; }
summary { cursor: pointer; color: #444; font-size: .88em; }
@media (max-width: 40rem) { body { padding: 1rem .7rem; font-size: 15px; } }
@media print {
  @page { margin: 16mm 14mm; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  h1 { font-size: 17pt; } h2 { font-size: 13pt; break-after: avoid; }
  figure, tr, pre, .answer { break-inside: avoid; }
  caption, .caption { break-after: avoid; }
  thead { display: table-header-group; }
  .table { overflow: visible; }
  td { overflow-wrap: anywhere; }
  td, th { padding-right: .6rem; }
  img { max-height: 225mm; margin: 0 auto; }
  details:not([open]) { display: none; }
}
"""


def make_page(report: Report) -> str:
    """The page of a report. Every text is escaped, and its own policy lets no script run and nothing be fetched."""
    fingerprint = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode("ascii")
    policy = f"default-src 'none'; style-src 'sha256-{fingerprint}'; img-src data:; base-uri 'none'; form-action 'none'"
    body = [
        "<header>",
        f'<p class="kind">Grouser, report of {_article(report.kind)}</p>',
        f"<h1>{escape(report.title)}</h1>",
        "</header>",
        f'<p class="question">{escape(report.question)}</p>',
        '<div class="answer">',
        *(f"<p>{escape(line)}</p>" for line in report.answer),
        "</div>",
    ]
    for section in report.sections:
        body += ["<section>", f"<h2>{escape(section.heading)}</h2>", *map(_part, section.parts), "</section>"]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(report.title)}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            *body,
            "</body>",
            "</html>",
            "",
        ]
    )


def _article(kind: str) -> str:
    return f"an {kind} evaluation" if kind == "odometry" else f"a {escape(kind)}"


def _part(part: str | Table | Picture | Listing) -> str:
    if isinstance(part, Table):
        return _table(part)
    if isinstance(part, Picture):
        words = escape(part.caption)
        return f'<figure><img src="{embedded(part.figure)}" alt="{words}"><figcaption>{words}</figcaption></figure>'
    if isinstance(part, Listing):
        if part.folded:
            return f"<details><summary>{escape(part.caption)}</summary><pre>{escape(part.text)}</pre></details>"
        return f'<p class="caption">{escape(part.caption)}</p><pre>{escape(part.text)}</pre>'
    return f"<p>{escape(part)}</p>"


def _table(table: Table) -> str:
    def row(cells: tuple[str, ...], tag: str) -> str:
        made = []
        for i, cell in enumerate(cells):
            side = ' class="right"' if i in table.numeric else ""
            made.append(f"<{tag}{side}>{escape(cell)}</{tag}>")
        return f"<tr>{''.join(made)}</tr>"

    return (
        f'<div class="table"><table><caption>{escape(table.caption)}</caption>'
        f"<thead>{row(table.columns, 'th')}</thead>"
        f"<tbody>{''.join(row(cells, 'td') for cells in table.rows)}</tbody></table></div>"
    )


def embedded(figure: Figure) -> str:
    """A figure as the address of a picture that holds itself: vectors, or a bitmap where those are too many."""
    with style.look(), matplotlib.rc_context({"svg.fonttype": "path"}):  # letters as outlines: no font is needed
        drawn = io.BytesIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
        if drawn.tell() <= LARGEST_DRAWING:
            return _address("image/svg+xml", drawn.getvalue())
        drawn = io.BytesIO()
        figure.savefig(drawn, format="png", dpi=DPI, metadata={"Software": "grouser"})
        return _address("image/png", drawn.getvalue())


def _address(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"
