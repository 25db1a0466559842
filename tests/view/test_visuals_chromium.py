"""Visuals in a real browser: a hull is the same picture from every kind of mesh file, upright, and in its colours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grouser as gr
from tests.vehicles.visual_files import WRITERS, wedge, write_dae, write_robot
from tests.view.test_viewer_chromium import opened, picture

__all__ = ["opened"]

pytest.importorskip("trimesh")


def page_of(vehicle: gr.Vehicle, path: Path) -> Path:
    run = gr.simulate(gr.Kinematics(vehicle), gr.terrain.plane(), gr.drive.arc(0.5, 0.2), duration=1.0)
    run.view(path, title="visuals")
    return path


def yellow(pixels: np.ndarray) -> np.ndarray:
    """Where a picture is as yellow as the hull, lit or in shade."""
    red, green, blue = np.moveaxis(pixels, -1, 0)
    return (red > 0.35) & (green > 0.6 * red) & (green < 0.95 * red) & (blue < 0.25 * red)


def test_every_mesh_file_gives_the_same_picture_and_another_origin_another(
    opened: Any,
    tmp_path: Path,
) -> None:
    pictures = {}
    for mesh in WRITERS:
        vehicle = gr.vehicle(write_robot(tmp_path, mesh))
        with opened(page_of(vehicle, tmp_path / f"{mesh}.html")) as page:
            pictures[mesh] = picture(page, f"visual-{mesh.replace('.', '-')}")
    first = pictures["hull.stl"]
    assert yellow(first).mean() > 0.005
    for mesh, pixels in pictures.items():
        differs = np.abs(pixels - first).max(axis=-1) > 0.05
        assert differs.mean() < 2e-4, mesh  # an edge may fall on the other side of a pixel
    # The hull's origin left out, as it once was: it stands on end, and is seen elsewhere.
    path = tmp_path / "jackalish_description/urdf/hull_stl.urdf"
    text = path.read_text()
    path.write_text(text.replace('rpy="1.5707963267948966 0.0 1.5707963267948966"', 'rpy="0 0 0"', 1))
    assert path.read_text() != text
    with opened(page_of(gr.vehicle(path), tmp_path / "end.html")) as page:
        turned = picture(page, "visual-on-end")
    assert (yellow(turned) != yellow(first)).mean() > 0.003


def test_colours_of_the_mesh_and_of_the_links_are_drawn(opened: Any, tmp_path: Path) -> None:
    path = write_robot(tmp_path, "hull.dae")
    write_dae(tmp_path / "jackalish_description/meshes/hull.dae", *wedge(), mast="0.8 0.05 0.05 1")
    with opened(page_of(gr.vehicle(path), tmp_path / "colours.html")) as page:
        pixels = picture(page, "visual-colours")
    red, green, blue = np.moveaxis(pixels, -1, 0)
    assert yellow(pixels).mean() > 0.005  # the hull, by the mesh
    assert ((red > 0.35) & (green < 0.25 * red) & (blue < 0.25 * red)).mean() > 2e-4  # its mast
    assert ((green > 1.2 * red) & (green > 1.2 * blue) & (green > 0.2)).mean() > 5e-5  # the ball, by its link
    assert (pixels.max(axis=-1) < 0.2).mean() > 0.002  # tyres, by a material of the robot
