"""Report of a study: how its runs ended, its measures, what they depend on, and how to repeat it."""

import json
from typing import Any

import numpy as np

from grouser.study.results import Results
from grouser.study.sensitivity import response
from grouser.view.report import Listing, Picture, Report, Section, Table, number, repeat_sections
from grouser.view.study import label, plot_pairs, plot_study, title

CURVES = (
    "Mean of the runs in bins of the parameter; the band is its 95 % confidence interval. Bars: share of the variance."
)


def report_study(results: Results, *, command: str = "") -> Report:
    """A report of a study; `command` is how the page was made."""
    fields = results.spec.fields
    summary = results.summary()
    pictures = []
    for name in results.measures:
        if results.varied:
            pictures.append(Picture(plot_study(results, measure=name), f"{label(results, name)}. {CURVES}"))
        if len(results.varied) > 1 and name == results.measures[0]:
            words = f"Pairs of parameters, coloured by {label(results, name)}."
            pictures.append(Picture(plot_pairs(results, measure=name), words))
    sections = [Section("Numbers", (_ended(summary), _measured(results, summary), *_reasons(summary)))]
    if pictures:
        sections += [Section("Pictures", tuple(pictures)), Section("What it depends on", tuple(_depends(results)))]
    listing = Listing("The study", json.dumps(fields, indent=1, ensure_ascii=False), folded=True)
    settings = [
        ("vehicle", str(fields["vehicle"])),
        ("model", str(fields["model"])),
        ("rows", f"{results.rows} of {results.folder.rows}"),
        ("sampling", ", ".join(f"{k} {v}" for k, v in fields["sampling"].items() if k != "chunk")),
        ("seed", str(fields["seed"])),
        ("run and step", f"{fields['duration']:g} s, {fields['dt']:g} s"),
        ("digest of the study", results.folder.digest),
    ]
    varied = ", ".join(results.varied) or "ground, soil and drive"
    return Report(
        kind="study",
        title=title(results),
        question=f"How do {', '.join(results.measures)} depend on {varied}?",
        answer=_answer(results, summary),
        sections=(*sections, *repeat_sections(settings, command=command, listings=(listing,))),
        numbers=summary,
    )


def _answer(results: Results, summary: dict[str, Any]) -> tuple[str, ...]:
    name = results.measures[0]
    lines = []
    for group, s in summary["measures"][name].items():
        if group != "unit" and s["rows"]:
            of = "" if group == "all" else f" ({group})"
            mean, low, high = (number(s[k], digits=3) for k in ("mean", "p05", "p95"))
            lines.append(f"{label(results, name)}{of}: {mean} on average, {low} to {high} in 90 % of the runs.")
    lines.append(f"{summary['status'].get('ok', 0)} of {summary['rows']} runs ended ok.")
    return tuple(lines)


def _ended(summary: dict[str, Any]) -> Table:
    n = summary["rows"]
    rows = []
    for name, k in summary["status"].items():
        low, high = wilson(k, n)
        interval = f"{100.0 * low:.3g} to {100.0 * high:.3g} %"
        rows.append((name.replace("_", " "), str(k), f"{100.0 * k / n:.3g} %", interval))
    return Table("How the runs ended", ("status", "runs", "share", "95 % interval"), tuple(rows), numeric=(1, 2, 3))


def wilson(k: int, n: int) -> tuple[float, float]:
    """95 % interval of a share of k out of n (Wilson 1927)."""
    z = 1.96
    middle, half = (k + 0.5 * z * z) / (n + z * z), z / (n + z * z) * np.sqrt(k * (n - k) / n + 0.25 * z * z)
    return max(float(middle - half), 0.0), min(float(middle + half), 1.0)


def _measured(results: Results, summary: dict[str, Any]) -> Table:
    rows = []
    for name, table in summary["measures"].items():
        for group, s in table.items():
            if group != "unit":
                found = (number(s[k]) if k in s else "–" for k in ("mean", "std", "p05", "median", "p95"))
                rows.append((label(results, name), group, str(s["rows"]), *found))
    heads = ("measure", "of", "runs", "mean", "std", "5 %", "median", "95 %")
    return Table("Measures", heads, tuple(rows), numeric=tuple(range(2, 8)))


def _reasons(summary: dict[str, Any]) -> list[Table]:
    rows = tuple((one["status"].replace("_", " "), one["reason"], str(one["rows"])) for one in summary["reasons"])
    return [Table("Why runs did not end ok", ("status", "reason", "runs"), rows, numeric=(2,))] if rows else []


def _depends(results: Results) -> list[Table]:
    """Sobol indices where the design gives them, else shares of variance."""
    made = []
    for name in results.measures:
        indices, rows = results.indices(name), []
        for group, where in results.by.items():
            for k, one in enumerate(results.varied):
                if indices is not None:
                    i = indices[group]
                    found = [
                        f"{v[k]:.3f} ({b[0][k]:.3f} to {b[1][k]:.3f})" if np.isfinite(v[k]) else "–"
                        for v, b in ((i.first, i.first_interval), (i.total, i.total_interval))
                    ]
                else:
                    found = [f"{response(results.column(one)[where], results.column(name)[where]).share:.3f}"]
                rows.append((group, one, *found))
        heads = ("first order (95 %)", "total (95 %)") if indices is not None else ("share of variance, alone",)
        what = "Sobol indices" if indices is not None else "share of variance that a parameter explains"
        made.append(
            Table(f"{name}: {what}", ("of", "parameter", *heads), tuple(rows), numeric=tuple(range(2, 2 + len(heads))))
        )
    return made
