"""The planning experiment: its table adds up, and its judgement of risk is that of the binomial distribution."""

import json

import pytest

from experiments import planning
from experiments.__main__ import run


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    import contextlib
    import io

    change = pytest.MonkeyPatch()
    change.setattr(planning, "QUICK_GROUNDS", 2)
    change.setattr(planning, "QUICK_DRIVES", 3)
    # In this process: a worker would begin with its own counts, and a spawned one compiles for itself.
    change.setattr(planning, "_all", lambda jobs, progress: [planning.run_job(job) for job in jobs])
    picture = tmp_path_factory.mktemp("planning") / "planning.png"
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert run(["planning", "--quick", "--json", "--plot", str(picture)]) == 0
    change.undo()
    assert picture.stat().st_size > 10_000
    return json.loads(said.getvalue())


def test_every_drive_is_counted_once(table):
    ends = ("reached", "stopped", "tipped", "keep_out", "left_map", "stuck")
    for row in table["rows"]:
        assert sum(row[end] for end in ends) == row["drives"], row["name"]
        assert all(row[end] >= 0 for end in ends)
    rows = {row["name"]: row for row in table["rows"]}
    assert rows["grounds, heights known"]["drives"] == table["grounds_with_a_way"] <= table["grounds"] == 2
    for level in ("1 %", "5 %", "20 %"):
        assert rows[f"risk {level}"]["drives"] == 3
    assert {"reached", "reached_planar", "realised_risk", "risk_within_band"} <= set(table)


def test_rows_of_the_scenes_add_up_to_those_of_the_level(table):
    rows = table["rows"]
    for k, row in enumerate(rows):
        if row["name"].startswith("risk") and "wider" not in row["name"]:
            for column in ("drives", "reached", "keep_out", "tipped"):
                assert row[column] == sum(one[column] for one in rows[k + 1 : k + 4])


def test_a_rate_beyond_its_band_is_said():
    def drives(failed, n=1000):
        bad, good = {"status": "tipped", "reached": False}, {"status": "ok", "reached": True}
        return [{**(bad if k < failed else good), "spent": 0.0} for k in range(n)]

    # 95 % quantile of a binomial of 1000 at 5 %: 50 + 1.645 √(1000 · 0.05 · 0.95) = 61.3 by the normal approximation
    assert planning.counted("a", drives(61), 0.05)["within"]
    assert not planning.counted("a", drives(64), 0.05)["within"]
    assert planning.counted("a", drives(64), 0.05)["realised"] == pytest.approx(0.064)
