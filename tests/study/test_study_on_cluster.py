"""A whole study on a Dask cluster has the rows, bit for bit, of the same study in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from grouser.errors import StudyError
from grouser.study.run import run_study
from grouser.study.spec import Spec
from tests.study.dask_here import Cluster

pytest.importorskip("distributed")
pytest.importorskip("pyarrow")


def test_parquet_files_of_a_cluster_are_those_of_this_process(tmp_path: Path) -> None:
    spec = Spec.of(
        {
            "vehicle": "husky", "ground": "rough:rms=.1,length=1.5,seed=1", "drive": {"speed": 0.5}, "duration": 1.0,
            "dt": 0.04, "sampling": {"method": "random", "runs": 70, "chunk": 16},
            "parameters": {"drive.speed": {"range": [0.1, 1.0]}, "drive.curvature": {"range": [-0.3, 0.3]}},
            "measures": ["advance", "x", "y", "yaw_deg"],
        }
    )  # fmt: skip
    assert set(run_study(spec, tmp_path / "here", threads=2).column("status")) == {"ok"}
    cluster = Cluster(tmp_path)
    (tmp_path / "own.py").write_text("def x(run, row):\n    return run.position[-1, 0]\n")
    own = Spec.of({**spec.fields, "measures": {"own": {"function": "own:x"}}}, folder=tmp_path)
    try:
        cluster.start()
        run_study(spec, tmp_path / "there", scheduler=cluster.address)
        with (tmp_path / "own.py").open("a") as file:
            file.write("# as a worker has it whose file system is another\n")
        with pytest.raises(StudyError, match=r"worker tcp://\S+: \S+own.py: is another file than where the study"):
            run_study(own, tmp_path / "own", scheduler=cluster.address)
    finally:
        cluster.close()
    here, there = (
        {one.name: one.read_bytes() for one in (tmp_path / k / "chunks").iterdir()} for k in ("here", "there")
    )
    assert len(here) == 5
    assert here == there
