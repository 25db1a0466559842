"""`bench/compare.py`: who is asked when, the ratios, and what is said of cases that cannot be compared."""

import importlib
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("compare")


class Fake:
    """A version that takes the times it is given, and writes down when it was asked."""

    def __init__(self, bench, side, asked, times, *, lacks=(), breaks=(), units=100, cores=1.0):
        self.bench, self.side, self.asked, self.times = bench, side, asked, iter(times)
        self.lacks, self.breaks, self.units, self.cores = lacks, breaks, units, cores

    def prepare(self, case):
        self.asked.append(("prepare", self.side, case))
        if case in self.lacks:
            raise self.bench.CaseError("AttributeError: module 'grouser' has no attribute 'rollout'")

    def time(self, case):
        self.asked.append(("time", self.side, case))
        if case in self.breaks:
            raise self.bench.CaseError("RuntimeError: the run ended after 3 of 2000 steps")
        seconds = next(self.times)
        return self.bench.Answer(cpu=self.cores * seconds, wall=seconds, units=self.units)


def compared(bench, cases, rounds, *, base=(), this=(), **options):
    asked = []
    versions = {
        "base": Fake(bench, "base", asked, base or [1.0] * 99, **options),
        "this": Fake(bench, "this", asked, this or [1.0] * 99),
    }
    return bench.compare(versions, cases, rounds), asked


def test_all_is_prepared_first_and_who_is_first_alternates(bench):
    cases = {"a": bench.Case(make=None), "b": bench.Case(make=None, every=2)}
    _, asked = compared(bench, cases, 3)
    assert asked == [
        ("prepare", "base", "a"),
        ("prepare", "this", "a"),
        ("prepare", "base", "b"),
        ("prepare", "this", "b"),
        ("time", "base", "a"),
        ("time", "this", "a"),
        ("time", "base", "b"),
        ("time", "this", "b"),
        ("time", "this", "a"),
        ("time", "base", "a"),
        ("time", "base", "a"),
        ("time", "this", "a"),
        ("time", "this", "b"),  # its second timing, whichever round that is
        ("time", "base", "b"),
    ]


def test_ratios_are_taken_round_by_round(bench):
    # The machine is three times slower in the last two rounds: times spread, ratios do not.
    base, this = [2.0, 2.2, 2.0, 6.0, 6.6], [1.0, 1.0, 1.0, 3.0, 3.0]
    result, _ = compared(bench, {"a": bench.Case(make=None)}, 5, base=base, this=this)
    [case] = result["cases"]
    assert (case["clock"], case["timings"]) == ("cpu", 5)
    assert case["base"]["median"] == pytest.approx(1e6 * 2.2 / 100)
    assert case["this"]["quartiles"] == pytest.approx([1e4, 3e4])
    assert case["ratio"] == {"median": 2.0, "quartiles": [2.0, 2.2], "of_minimums": 2.0}
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_threads_are_judged_by_wall_time(bench):
    result, _ = compared(bench, {"a": bench.Case(make=None, threads=2)}, 2, base=[1.0, 1.0], this=[0.5, 0.5], cores=1.9)
    [case] = result["cases"]
    assert case["clock"] == "wall"
    assert case["base"]["median"] == pytest.approx(1e4)
    assert case["ratio"]["median"] == 2.0


def test_a_case_that_a_version_lacks_is_skipped_with_a_sentence(bench):
    cases = {"a": bench.Case(make=None), "b": bench.Case(make=None)}
    result, asked = compared(bench, cases, 2, lacks=("a",))
    assert [case["case"] for case in result["cases"]] == ["b"]
    assert ("prepare", "this", "a") not in asked
    reason = "base cannot run it: AttributeError: module 'grouser' has no attribute 'rollout'"
    assert result["skipped"] == [{"case": "a", "reason": reason}]
    assert f"skipped: a: {reason}" in bench.table(result)


def test_a_case_that_fails_while_timed_is_not_asked_again(bench):
    cases = {"a": bench.Case(make=None), "b": bench.Case(make=None)}
    result, asked = compared(bench, cases, 3, breaks=("a",))
    assert asked.count(("time", "base", "a")) == 1
    assert [case["case"] for case in result["cases"]] == ["b"]
    assert result["skipped"][0]["reason"].startswith("it failed while it was timed: RuntimeError")


def test_doubtful_rows_are_remarked(bench):
    cases = {"a": bench.Case(make=None), "b": bench.Case(make=None, threads=2)}
    result, _ = compared(bench, cases, 2, units=90)
    lines = bench.remarks(result)
    assert lines[0] == "a: not the same work: 90 and 100 steps"
    assert any(line.startswith("b: 2 threads had 1.0 cores") for line in lines)
    result, _ = compared(bench, {"a": cases["a"]}, 2)
    assert bench.remarks(result) == []


def test_checkouts_without_the_api_skip_every_case(bench, tmp_path, capsys):
    package = tmp_path / "src" / "grouser"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "0.0"\nprint("what a version prints is no answer")\n')
    bench.main(["--base", str(tmp_path), "--this", str(tmp_path), "--rounds", "1", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert result["cases"] == []
    assert result["base"]["version"] == "0.0"
    assert [one["case"] for one in result["skipped"]] == list(bench.CASES)
    assert all(one["reason"].startswith("base cannot run it: AttributeError: ") for one in result["skipped"])


def test_mistakes_are_said_in_one_sentence(bench, tmp_path, capsys):
    with pytest.raises(SystemExit, match=r"there is no src/grouser in it; give the folder of a checkout"):
        bench.main(["--base", str(tmp_path)])
    for wrong, said in ((["--rounds", "0"], "--rounds: 0 is not"), (["--only", "x-ray"], "no case contains 'x-ray'")):
        with pytest.raises(SystemExit):
            bench.main(["--base", str(tmp_path), *wrong])
        assert said in capsys.readouterr().err
