"""The rounds of `grouser bench`: their order, and the statistics of their timings. Time is made up."""

import pytest

from grouser.bench import benchmark
from grouser.bench.rounds import REST, Sample, Spread, Work, interleave, schedule
from grouser.cli.bench import SPREAD, _spread


class Machine:
    """Time that passes only when work is done, `slow(now)` times slower than usual."""

    def __init__(self, slow=lambda now: 1.0):
        self.now, self.slow, self.done = 0.0, slow, []

    def work(self, name, *, units=10, each=1.0, **options):
        def run():
            self.done.append(name)
            self.now += units * each * self.slow(self.now)
            return units

        return Work(run, report=lambda samples: {}, **options)

    def clocks(self):
        return 0.5 * self.now, self.now

    def time(self, works, rounds, **options):
        return interleave(works, rounds, clocks=self.clocks, rest=lambda seconds: None, **options)


def test_each_round_times_every_case_once():
    machine = Machine()
    machine.time([machine.work("a"), machine.work("b"), machine.work("c")], 3)
    assert machine.done == ["a", "b", "c"] * 3


def test_slow_cases_take_part_in_some_rounds_from_the_first_on():
    assert list(schedule([1, 2, 3], 5)) == [0, 1, 2, 0, 0, 1, 0, 2, 0, 1]
    machine = Machine()
    samples = machine.time([machine.work("a"), machine.work("batch", every=5)], 10)
    assert [len(s) for s in samples] == [10, 2]


def test_a_sample_is_time_per_unit_by_both_clocks():
    machine = Machine()
    [samples] = machine.time([machine.work("a", units=4, each=3.0)], 2)
    assert samples == [Sample(cpu=1.5, wall=3.0)] * 2


def test_a_slow_phase_of_the_machine_leaves_the_ratio_of_two_cases():
    # Of 1200 s of work. One case after the other, most of it would meet the second case.
    machine = Machine(slow=lambda now: 3.0 if 300.0 < now < 900.0 else 1.0)
    one, two = machine.time([machine.work("one", each=1.0), machine.work("two", each=2.0)], 40)
    assert max(s.wall for s in one) == 3.0
    medians = [Spread.of([s.wall for s in samples]).median for samples in (one, two)]
    assert medians[1] / medians[0] == pytest.approx(2.0)
    assert Spread.of([s.wall for s in two]).minimum == 2.0


def test_the_machine_rests_after_work_on_several_threads_outside_the_timing():
    machine, rests = Machine(), []
    works = [machine.work("one"), machine.work("two", threads=2), machine.work("three")]

    def rest(seconds):
        rests.append((machine.done[-1], seconds))
        machine.now += 1000.0

    samples = interleave(works, 2, clocks=machine.clocks, rest=rest)
    assert rests == [("two", REST)] * 2
    assert {s.wall for one in samples for s in one} == {1.0}


def test_progress_counts_timings():
    machine, seen = Machine(), []
    works = [machine.work("a"), machine.work("b", every=2)]
    machine.time(works, 3, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]


def test_spread_of_known_values():
    assert Spread.of([5.0, 1.0, 4.0, 2.0, 3.0]) == (3.0, 2.0, 4.0, 1.0)
    assert Spread.of([1.0, 2.0], scale=10.0) == pytest.approx((15.0, 12.5, 17.5, 10.0))
    assert Spread.of([7.0]) == (7.0, 7.0, 7.0, 7.0)


def test_spread_as_json_and_in_a_table():
    row = Spread(2.71828, 2.5, 3.0, 2.25).json("us_per_step", 3)
    assert row == {"us_per_step": 2.718, "quartiles": [2.5, 3.0], "minimum": 2.25}
    assert dict(zip(SPREAD, _spread(row, "us_per_step", 2), strict=True)) == {
        "median": "2.72",
        "quartiles": "2.50–3.00",
        "minimum": "2.25",
    }


def test_reports_hold_median_quartiles_and_minimum(monkeypatch):
    """The work is prepared but not timed: a unit is said to take 1, 2, 3 s of CPU time, and twice that by wall."""
    samples = [Sample(cpu, 2.0 * cpu) for cpu in (3.0, 1.0, 2.0)]
    monkeypatch.setattr(benchmark, "interleave", lambda works, rounds, progress: [samples] * len(works))
    result = benchmark.measure()
    for case in result["cases"]:
        assert (case["us_per_step"], case["quartiles"], case["minimum"]) == (2e6, [1.5e6, 2.5e6], 1e6)
        assert case["realtime_factor"] == round(case["dt"] / 2.0, 1)
        assert case["repeats"] == 3
    for batch in result["batch"]:
        assert (batch["seconds"], batch["quartiles"], batch["minimum"]) == (4.0, [3.0, 5.0], 2.0)
        assert batch["cores"] == 0.5
    for one in result["calibration"]:
        assert (one["ms_per_update"], one["quartiles"], one["minimum"]) == (2e3, [1.5e3, 2.5e3], 1e3)
        assert one["ms_fastest"] == one["minimum"]
    stepping = [(one["model"], one["us_per_step"], one["us_kernel"], one["us_overhead"]) for one in result["stepping"]]
    assert stepping == [("kinematic", 2e6, 2e6, 0.0), ("dynamic", 2e6, 2e6, 0.0)]
    odometry = result["odometry"]
    assert (odometry["us_per_update"], odometry["us_wall"], odometry["us_fastest"]) == (2e6, 4e6, 1e6)
    assert odometry["quartiles"] == [1.5e6, 2.5e6]
    plans = result["planning"]
    assert [(one["model"], one["threads"]) for one in plans] == [
        ("kinematic", 1),
        ("kinematic", 2),
        ("dynamic", 1),
        ("dynamic", 2),
    ]
    for one in plans:
        assert (one["samples"], one["steps"], one["dt"]) == (1000, 35, 0.08)
        # a command takes 4 s by wall
        assert (one["seconds"], one["hertz"], one["steps_per_second"]) == (4.0, 0.25, 8750)
