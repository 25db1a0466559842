"""What `grouser check` says of a terrain."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

import grouser as gr
from grouser.cli import console, values
from grouser.terrain.source import covers

PLACES = 400
"""Places along each side at which slopes are looked up."""
SHARES = (50, 95, 99)
"""Percentiles of the slopes that are printed."""


def look(text: str, out: Path | None) -> tuple[str, dict[str, Any], list[Path]]:
    """Words and numbers on a terrain file or a part of it, and the picture that was drawn of it."""
    with console.progress(f"reading {text:.60}", patience=console.SLOW) as report:
        ground = gr.terrain.parse(text, progress=report)
    files = values.make_folders([out])
    for file in files:
        ground.plot(file)
    numbers = facts(ground)
    words = console.pair_lines(_pairs(ground, numbers))
    words += [f"note: {note}" for note in ground.notes]
    words += [f"warning: {numbers['warning']}"] * bool(numbers["warning"])
    return "\n".join(words), numbers, files


def facts(ground: gr.terrain.Terrain) -> dict[str, Any]:
    """A terrain in numbers, for JSON."""
    finite = all(map(math.isfinite, ground.bounds))
    found: dict[str, Any] = {
        "terrain": ground.kind,
        "description": ground.description,
        "bounds": [None if math.isinf(value) else float(value) for value in ground.bounds],
        "size": [ground.bounds[1] - ground.bounds[0], ground.bounds[3] - ground.bounds[2]] if finite else None,
    }
    relief, s = ground.relief, ground.settings
    slopes, low, high, inside = _sampled(ground)
    found["slopes_deg"] = slopes
    if relief is not None:
        nx, ny = np.shape(s["heights"])
        found |= {
            "nodes": [nx, ny],
            "cell": [float(s["x"][-1] - s["x"][0]) / (nx - 1), float(s["y"][-1] - s["y"][0]) / (ny - 1)],
            "stored": str(np.asarray(s["heights"]).dtype),
            "holes": relief.holes,
            "hole_share": relief.holes / (nx * ny),
        }
        low, high = relief.lowest, relief.highest
    else:
        found["hole_share"] = 1.0 - inside
    found["heights"] = [low, high] if math.isfinite(low) else None
    source = ground.source
    found["source"] = None if source is None else source.tree()
    found |= {"steepest": gr.terrain.steepest(ground)._asdict(), "warning": gr.terrain.steep_warning(ground)}
    found["notes"] = list(ground.notes)
    return found


def _sampled(ground: gr.terrain.Terrain) -> tuple[dict[str, float], float, float, float]:
    """Percentiles of the slope [°], lowest and highest height [m], and the share of places with ground."""
    sides = [(low, high) if math.isfinite(low) and math.isfinite(high) else (-20.0, 20.0) for low, high in
             (ground.bounds[:2], ground.bounds[2:])]  # fmt: skip
    x, y = (low + (high - low) * (np.arange(PLACES) + 0.5) / PLACES for low, high in sides)
    sample = ground.sample(x[:, None], y[None, :])
    if not sample.inside.any():
        return {}, math.nan, math.nan, 0.0
    degrees = np.degrees(np.arctan(np.linalg.norm(sample.gradient[sample.inside], axis=-1)))
    height = sample.height[sample.inside]
    slopes = {str(q): float(v) for q, v in zip(SHARES, np.percentile(degrees, SHARES), strict=True)}
    return slopes, float(height.min()), float(height.max()), float(sample.inside.mean())


def _pairs(ground: gr.terrain.Terrain, n: dict[str, Any]) -> list[tuple[str, str]]:
    pairs = [("what", ground.description or ground.kind)]
    if n["size"] is None:
        pairs.append(("extent", "endless"))
    else:
        pairs.append(("extent", covers(ground.bounds)))
    source = ground.source
    if source is not None and source.whole is not None:
        pairs.append(("part of", covers(source.whole)))
    if "nodes" in n:
        (nx, ny), (dx, dy) = n["nodes"], n["cell"]
        width, height = n["size"]
        cell = f"{dx:.6g} m" if abs(dx - dy) < 1e-6 * dx else f"{dx:.6g} × {dy:.6g} m"
        pairs += [("size", f"{nx} × {ny} nodes, {width:.10g} × {height:.10g} m"), ("cell", cell)]
    elif n["size"] is not None:
        pairs.append(("size", "{:.10g} × {:.10g} m".format(*n["size"])))
    if n["heights"] is not None:
        pairs.append(("heights", "{:.6g} to {:.6g} m".format(*n["heights"])))
    share = 100.0 * n["hole_share"]
    percent = f"{share:.2g} %" if share < 10.0 else f"{share:.0f} %"
    if "nodes" in n:
        pairs.append(("holes", f"{n['holes']} nodes ({percent})" if n["holes"] else "none"))
    elif n["size"] is not None:
        pairs.append(("holes", f"{percent} of the rectangle" if n["hole_share"] else "none"))
    if source is not None and source.file:
        epsg = f" (EPSG:{source.epsg})" if source.epsg else ""
        pairs.append(
            ("coordinates", f"{source.crs}{epsg}, metres" if source.crs else "no system named; taken as metres")
        )
        no = "none" if source.nodata is None else f"{source.nodata:.6g}".replace("-", "−", 1)
        pairs.append(("no data", f"{no}, guessed" if source.guessed else no))
        pairs.append(("stored as", f"{source.stored}, kept as {n['stored']}"))
    steepest = n["steepest"]
    at = f"{steepest['degrees']:.1f}° at x {steepest['x']:.10g}, y {steepest['y']:.10g} m"
    spread = ", ".join(f"{n['slopes_deg'][str(q)]:.1f}° ({q} %)" for q in SHARES if n["slopes_deg"])
    return [*pairs, ("steepest", at), ("slopes", spread)]
