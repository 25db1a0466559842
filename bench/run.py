"""Measure the engine and write bench/results.json, with the machine it ran on: make bench."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the experiments, which the package has not

import mujoco_zoe

from grouser.bench import measure, prepare

TARGET = Path(__file__).with_name("results.json")

if __name__ == "__main__":
    prepare()
    quick = "--quick" in sys.argv[1:]
    result = measure(quick=quick)
    result["mujoco"] = mujoco_zoe.measure(quick=quick)
    TARGET.write_text(json.dumps(result, indent=2, allow_nan=False) + "\n")
    for case in result["cases"]:
        what = f"{case['vehicle']:<10} {case['model']:<10} {case['contact']:<17}"
        lower, upper = case["quartiles"]
        print(f"{what} dt {case['dt']:<5} {case['us_per_step']:6.2f} µs per step ({lower:.2f} to {upper:.2f})")
    for batch in result["batch"]:
        work = f"{batch['rollouts']} rollouts × {batch['seconds_simulated']:g} s"
        lower, upper = batch["quartiles"]
        took = f"{batch['seconds']:.3f} s ({lower:.3f} to {upper:.3f})"
        print(f"{batch['model']}, {work}, {batch['threads']} threads: {took}")
    if result["mujoco"] is None:
        print("MuJoCo is not installed (pip install mujoco): not compared")
    else:
        print("\n".join(mujoco_zoe.table(result["mujoco"])))
    print(f"wrote {TARGET}")
