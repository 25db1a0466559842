"""Compare the speed of this checkout with another one: python bench/compare.py --base ../other

Each checkout runs in a process of its own. They prepare the same cases through the public API and are then asked in
turn, round by round, to time one case; only one of them works at a time, and who is first alternates. A slow phase of
the machine so slows both alike, and the ratio of a round hardly changes. The rounds do not show
how two processes of one version differ, about 2 %: run it again before you trust so small a difference.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))  # our own package, whichever is installed

from compare_cases import CASES, Case  # noqa: E402

from grouser.bench.rounds import Spread, schedule  # noqa: E402

SIDES = ("base", "this")
ROUNDS = 21


class CaseError(Exception):
    """A version cannot run a case."""


class Answer(NamedTuple):
    """One timing of a case by one version."""

    cpu: float
    """CPU time of the process [s]."""
    wall: float
    """Wall time [s]."""
    units: int
    """Units of work."""


class Version(Protocol):
    """A version of Grouser that prepares and times cases."""

    def prepare(self, case: str) -> None: ...

    def time(self, case: str) -> Answer: ...


class Worker:
    """A checkout in a process of its own."""

    def __init__(self, checkout: Path, cache: Path | None) -> None:
        self.checkout = checkout.resolve()
        source = self.checkout / "src"
        if not (source / "grouser").is_dir():
            raise SystemExit(f"{checkout}: there is no src/grouser in it; give the folder of a checkout of Grouser")
        environment = os.environ | {"PYTHONPATH": str(source)}
        if cache is not None:
            environment["GROUSER_CACHE_DIR"] = str(cache.resolve())
        self._process = subprocess.Popen(
            [sys.executable, str(ROOT / "bench" / "compare_worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
            encoding="utf-8",
        )
        about = self._answer()
        if Path(about["package"]) != source / "grouser":
            self.close()
            raise SystemExit(f"{checkout}: its process imported {about['package']}, not src/grouser of the checkout")
        self.version: str = about["version"]

    def prepare(self, case: str) -> None:
        """Make a case ready and warm."""
        self._ask("prepare", case)

    def time(self, case: str) -> Answer:
        """Time a case once."""
        return Answer(**self._ask("time", case))

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def about(self) -> dict[str, str]:
        """For the report."""
        return {"checkout": str(self.checkout), "commit": commit(self.checkout), "version": self.version}

    def _ask(self, do: str, case: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        print(json.dumps({"do": do, "case": case}), file=self._process.stdin, flush=True)
        answer = self._answer()
        if "error" in answer:
            raise CaseError(answer["error"])
        return answer

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            raise SystemExit(f"{self.checkout}: its process ended with exit code {code}; see its message above")
        answer: dict[str, Any] = json.loads(line)
        return answer


def commit(checkout: Path) -> str:
    """Short hash of what is checked out, with a + if files differ from it."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", "-C", str(checkout), *arguments], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    return (git("rev-parse", "--short", "HEAD") or "unknown") + ("+" if git("status", "--porcelain", "src") else "")


def compare(
    versions: Mapping[str, Version],
    cases: Mapping[str, Case],
    rounds: int,
    *,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> dict[str, Any]:
    """Times of both versions and their ratios, by case, and the cases that one of them cannot run; JSON types only."""
    skipped: dict[str, str] = {}
    for done, name in enumerate(cases, start=1):
        for side in SIDES:
            try:
                if name not in skipped:
                    versions[side].prepare(name)
            except CaseError as error:
                skipped[name] = f"{side} cannot run it: {error}"
        progress("prepared", done, len(cases))
    names = [name for name in cases if name not in skipped]
    timed: dict[str, list[dict[str, Answer]]] = {name: [] for name in names}
    order = [names[i] for i in schedule([cases[name].every for name in names], rounds)]
    for done, name in enumerate(order, start=1):
        first_to_last = SIDES if len(timed[name]) % 2 == 0 else SIDES[::-1]
        if name not in skipped:
            try:
                timed[name].append({side: versions[side].time(name) for side in first_to_last})
            except CaseError as error:
                skipped[name] = f"it failed while it was timed: {error}"
        progress("timed", done, len(order))
    return {
        "rounds": rounds,
        "cases": [report(name, cases[name], timed[name]) for name in names if name not in skipped],
        "skipped": [{"case": name, "reason": reason} for name, reason in skipped.items()],
    }


def report(name: str, case: Case, rounds: list[dict[str, Answer]]) -> dict[str, Any]:
    """A case in the report; a ratio above 1 says that this checkout is faster."""
    clock = "cpu" if case.threads == 1 else "wall"
    seconds = {side: [getattr(each[side], clock) / each[side].units for each in rounds] for side in SIDES}
    spreads = {side: Spread.of(seconds[side], scale=1e6) for side in SIDES}
    ratios = Spread.of([base / this for base, this in zip(seconds["base"], seconds["this"], strict=True)])
    units = {side: rounds[0][side].units for side in SIDES}
    cores = {side: Spread.of([each[side].cpu / each[side].wall for each in rounds]).median for side in SIDES}
    return {
        "case": name,
        "clock": clock,
        "per": case.unit,
        "threads": case.threads,
        "timings": len(rounds),
        **{
            side: {**spreads[side].json("median", 3), "units": units[side], "cores": round(cores[side], 2)}
            for side in SIDES
        },
        "ratio": {
            "median": round(ratios.median, 3),
            "quartiles": [round(ratios.lower, 3), round(ratios.upper, 3)],
            "of_minimums": round(spreads["base"].minimum / spreads["this"].minimum, 3),
        },
    }


def table(result: dict[str, Any]) -> list[str]:
    """Lines for people."""
    lines = [f"{side}: {one['checkout']}, commit {one['commit']}" for side in SIDES if (one := result.get(side))]
    lines.append(f"µs per step or call: median (quartiles) minimum; ratio is base/this, {result['rounds']} rounds")
    rows = [("case", "clock", *SIDES, "ratio", "of minimums")]
    for case in result["cases"]:
        ratio = case["ratio"]
        lower, upper = ratio["quartiles"]
        spread = f"{ratio['median']:.3f} ({lower:.3f}–{upper:.3f})"
        sides = (_cell(case["base"]), _cell(case["this"]))
        rows.append((case["case"], case["clock"], *sides, spread, f"{ratio['of_minimums']:.3f}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines += ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += [f"skipped: {one['case']}: {one['reason']}" for one in result["skipped"]]
    return lines + remarks(result)


def remarks(result: dict[str, Any]) -> list[str]:
    """What makes a row doubtful."""
    lines = []
    for case in result["cases"]:
        base, this = case["base"], case["this"]
        if base["units"] != this["units"]:
            lines.append(f"{case['case']}: not the same work: {base['units']} and {this['units']} {case['per']}s")
        if case["threads"] > 1 and (least := min(base["cores"], this["cores"])) < 0.9 * case["threads"]:
            lines.append(
                f"{case['case']}: {case['threads']} threads had {least:.1f} cores: other programs were running, or the "
                "threads waited; its wall time says little"
            )
    return lines


def _cell(side: dict[str, Any]) -> str:
    lower, upper = side["quartiles"]
    return f"{side['median']:.2f} ({lower:.2f}–{upper:.2f}) {side['minimum']:.2f}"


def main(arguments: list[str] | None = None) -> None:
    """Parse options, run and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--base", type=Path, required=True, metavar="PATH", help="checkout to compare with")
    parser.add_argument("--this", type=Path, default=ROOT, metavar="PATH", help="checkout to judge; default: this one")
    parser.add_argument("--base-cache", type=Path, metavar="DIR", help="GROUSER_CACHE_DIR of the base")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="GROUSER_CACHE_DIR of this checkout")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"rounds, default {ROUNDS}")
    parser.add_argument("--only", metavar="TEXT", help="only cases whose name contains this text")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout and nothing else there")
    given = parser.parse_args(arguments)
    if given.rounds < 1:
        parser.error(f"--rounds: {given.rounds} is not a whole number from 1")
    cases = {name: case for name, case in CASES.items() if (given.only or "") in name}
    if not cases:
        parser.error(f"--only: no case contains {given.only!r}; cases are: {'; '.join(CASES)}")

    def progress(what: str, done: int, total: int) -> None:
        if sys.stderr.isatty() or done == total:
            end = "\n" if done == total else ""
            print(f"\r{what} {done} of {total}", end=end, file=sys.stderr, flush=True)

    workers: dict[str, Worker] = {}
    try:
        workers["base"] = Worker(given.base, given.base_cache)
        workers["this"] = Worker(given.this, given.cache)
        about = {side: workers[side].about() for side in SIDES}
        result = about | compare(workers, cases, given.rounds, progress=progress)
    finally:
        for worker in workers.values():
            worker.close()
    print(json.dumps(result, indent=2, allow_nan=False, ensure_ascii=False) if given.json else "\n".join(table(result)))


if __name__ == "__main__":
    main()
