"""The pictures of the README and the documentation by name, and what draws each."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grouser.cli.console import Progress
from grouser.errors import GrouserError
from grouser.files import write_whole

LARGEST = 200_000
"""Bytes of a picture in the repository; a larger bitmap is reduced, so that a clone stays small."""
BESIDE = "-designs"
"""What the name of a second picture ends in, drawn by some experiments in addition."""
COLOURS = 256
"""Of a reduced one: its shaded ground takes a fifth of the bytes, and looks the same."""
QUICK = 2.0
"""Seconds that a quick drive lasts."""


@dataclass(frozen=True)
class Drawing:
    """A picture of the gallery."""

    words: str
    """What it shows."""
    draw: Callable[[Path, bool, Progress], str | None]
    """Draws it into a .png, .svg or .pdf file, quick or in full, reports progress; returns the numbers."""
    suffix: str = ""
    """Kind of its file where it is always the same, such as .webp."""
    largest: int = LARGEST
    """Bytes of its file at most."""


def drawings() -> dict[str, Drawing]:
    """All pictures by name; a name is also that of the file, without its suffix."""
    from experiments.catalog import EXPERIMENTS
    from experiments.viewer_animation import LARGEST as LARGEST_ANIMATION
    from experiments.viewer_animation import draw_animation

    out = {
        "demo": Drawing("two rovers commanded straight over rough ground (README)", _demo),
        "viewer": Drawing(
            "Rocky 7 over rough ground in the 3D page, played at twice its speed (README)",
            draw_animation,
            suffix=".webp",
            largest=LARGEST_ANIMATION,
        ),
        "run": Drawing("one run: top view, slip, attitude, height errors", _run),
        "forces": Drawing("one dynamic run: loads, grip, power, energy", _forces),
        "rollouts": Drawing("a fan of rollouts over rough ground, coloured by how each ended", _rollouts),
        "plan": Drawing("a plan round keep-outs: route, alternatives, refused way, ellipses", _plan),
    }
    out |= {name: Drawing(words, draw) for name, words, draw in _explaining()}
    seen = set()
    for name, experiment in EXPERIMENTS.items():
        if experiment.body not in seen:  # some tables of a paper are columns of another's picture
            seen.add(experiment.body)
            out[name] = Drawing(experiment.description, _reproduced(name))
    return out


def draw(drawing: Drawing, path: Path, *, quick: bool, progress: Progress) -> str:
    """Draw a picture whole or not at all, and give the table behind it; a large bitmap is reduced."""
    numbers = drawing.draw(path, quick, progress)
    for file in (path, path.with_stem(f"{path.stem}{BESIDE}")):
        if file.suffix.lower() == ".png" and file.exists() and file.stat().st_size > LARGEST:
            _reduce(file)
    return numbers or ""


def _reduce(path: Path) -> None:
    """Make a bitmap one of few colours, and smaller if that is not enough."""
    from PIL import Image

    with Image.open(path) as opened:
        full = opened.convert("RGB")
    share = 1.0
    while True:
        size = (round(share * full.width), round(share * full.height))
        scaled = full.resize(size, Image.Resampling.LANCZOS) if share < 1.0 else full
        few = scaled.quantize(COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        stream = io.BytesIO()
        few.save(stream, format="png", optimize=True)
        if stream.tell() <= LARGEST or share < 0.3:
            break
        share *= 0.85
    write_whole(path, lambda file: file.write(stream.getvalue()), GrouserError)


def _demo(path: Path, quick: bool, progress: Progress) -> None:
    from grouser.cli.demo import SCENES, drive_scene
    from grouser.view import plot_runs

    scenes = [scene._replace(duration=QUICK) if quick else scene for scene in SCENES]
    told = []
    for i, scene in enumerate(scenes):
        told.append(drive_scene(scene, None))
        progress(i + 1, len(scenes) + 1)
    runs, goals, accounts = zip(*told, strict=True)
    plot_runs(runs, path, commanded=goals, accounts=accounts)


def _run(path: Path, quick: bool, progress: Progress) -> None:
    import grouser as gr
    from grouser.view import plot_run

    model = gr.Kinematics(gr.vehicle("rocky7"))
    seconds, drive = (QUICK if quick else 10.0), gr.drive.arc(0.5, 0.2)
    run = gr.simulate(model, gr.terrain.rough(rms=0.05, length=0.2, seed=1), drive, duration=seconds)
    plot_run(run, path, commanded=gr.simulate(model, gr.terrain.plane(), drive, duration=seconds))


def _forces(path: Path, quick: bool, progress: Progress) -> None:
    import grouser as gr
    from grouser.view.plot import plot_forces

    ground = gr.terrain.rough(rms=0.15, length=0.8, seed=3)
    run = gr.simulate(gr.Dynamics(gr.vehicle("zoe")), ground, gr.drive.arc(1.0), duration=QUICK if quick else 10.0)
    plot_forces(run, path)


def _rollouts(path: Path, quick: bool, progress: Progress) -> None:
    import numpy as np

    import grouser as gr
    from grouser.view import plot_rollouts

    model, flat = gr.Kinematics(gr.vehicle("husky")), gr.terrain.plane()
    count, steps = (20, 50) if quick else (300, 250)
    arcs = [gr.drive.arc(1.0, curvature) for curvature in np.linspace(-0.5, 0.5, count)]
    rates = np.array([gr.simulate(model, flat, arc, duration=0.04).command[0] for arc in arcs])
    commands = np.repeat(rates[:, None, :], steps, axis=1)
    ground = gr.terrain.rough(rms=0.15, length=0.8, seed=3, size=18.0)
    plot_rollouts(gr.rollout(model, ground, commands, every=5, progress=progress), ground, path)


def _plan(path: Path, quick: bool, progress: Progress) -> None:
    import numpy as np

    import grouser as gr

    best = np.array([-0.1, -0.02, -0.1, 0.02, 0.0, -0.05])
    zoe = gr.Kinematics(gr.vehicle("zoe"), slip=gr.slip.BodySlip(best))
    model = gr.plan.Uncertain(
        model=zoe, draw=lambda rng: zoe.replace(slip=gr.slip.BodySlip(rng.normal(best, 0.01))), noise=gr.motion.Noise()
    )
    ground = gr.terrain.rough(rms=0.2, length=2.0, seed=3)
    keep_out = gr.plan.KeepOut.circles([(0.0, 0.0, 3.0), (6.0, 8.0, 2.0)], ground.bounds)
    goal, samples = ((-4.0, -6.0), 32) if quick else ((12.0, 10.0), 300)
    way = gr.plan.plan(model, ground, (-12.0, -8.0), goal, keep_out=keep_out, samples=samples, progress=progress)
    way.plot(path)


def _reproduced(name: str) -> Callable[[Path, bool, Progress], str]:
    def draw_it(path: Path, quick: bool, progress: Progress) -> str:
        from experiments.catalog import EXPERIMENTS

        result = EXPERIMENTS[name].run(quick=quick, progress=progress)
        result.plot(path)
        return result.table()

    return draw_it


def _explaining() -> list[tuple[str, str, Callable[[Path, bool, Progress], None]]]:
    """Those that explain the models."""
    from experiments.explaining_pictures import PICTURES

    def ignoring(one: Callable[[Path], None]) -> Callable[[Path, bool, Progress], None]:
        return lambda path, quick, progress: one(path)  # they take seconds, so that quick ones are the same

    return [(name, _first_line(one), ignoring(one)) for name, one in PICTURES.items()]


def _first_line(function: Callable[[Path], Any]) -> str:
    return (function.__doc__ or "").strip().partition("\n")[0].rstrip(".")
