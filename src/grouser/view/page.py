"""One HTML file with everything in it: viewer, scene, no network; it opens from disk and can be mailed."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grouser.errors import GrouserError
from grouser.files import write_whole
from grouser.simulation.run import Run
from grouser.terrain.ground import Terrain
from grouser.view.scene import Lines, UncertainPoses, make_scene

if TYPE_CHECKING:
    from grouser.simulation.rollout import Rollouts

VIEWER = Path(__file__).with_name("viewer")
"""What `make viewer` builds from viewer/src: scripts, style sheets, pages, and the licence of three.js."""
SUFFIXES = (".html", ".htm")


def view_runs(
    runs: Run | Sequence[Run],
    path: str | os.PathLike[str],
    *,
    names: Sequence[str] | None = None,
    fan: Rollouts | None = None,
    ground: Terrain | None = None,
    poses: UncertainPoses | Sequence[UncertainPoses] = (),
    lines: Sequence[Lines] = (),
    meshes: Mapping[str, str | os.PathLike[str]] | None = None,
    title: str = "",
) -> Path:
    """Write a page that plays runs in 3D, in one scene; returns its path.

    names: of the runs in the legend; those of their vehicles unless given.
    fan: rollouts recorded with `every`, drawn as paths coloured by how they ended.
    ground: of the fan, and of runs without one.
    poses: with covariance, drawn as 95 % ellipses; with times, as one that moves and a trail.
    lines: on the ground, such as a route.
    meshes: .stl, .obj or .dae files [m] by the name of the frame they are drawn for, in place of its visuals.
    """
    several = [runs] if isinstance(runs, Run) else list(runs)
    for run in several:
        if not isinstance(run, Run):
            raise GrouserError(f"runs: {run!r:.60} is not a run; use what gr.simulate returns")
    check_page(path)
    scene = make_scene(
        several, names=names, fan=fan, ground=ground, poses=poses, lines=lines, meshes=meshes, title=title
    )
    return write_page(path, make_page(scene))


def write_page(path: str | os.PathLike[str], text: str) -> Path:
    """Write a page, whole or not at all."""
    write_whole(path, lambda file: file.write(text.encode()), GrouserError)
    return Path(path)


def check_page(path: str | os.PathLike[str], what: str = "page to view") -> None:
    """Refuse a file name without the suffix of a page."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise GrouserError(f"{path}: a {what} ends in {SUFFIXES[0]}")


def make_page(scene: Mapping[str, Any]) -> str:
    """The page of a scene.

    Scripts and styles run only if their hash is in the page's own policy, so that no name in the data can bring any,
    and nothing is ever fetched.
    """
    parts, policy = script_and_style("viewer")
    return filled("page.html", scene, policy=policy, **parts)


def script_and_style(name: str) -> tuple[dict[str, str], str]:
    """Script and style of a built page, and a content security policy that allows these alone."""
    script, style = part(f"{name}.js"), part(f"{name}.css")
    policy = (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    return {"script": script, "style": style}, policy


def filled(template: str, scene: Mapping[str, Any], **parts: str) -> str:
    """A built page with a scene, its title, and other parts by name."""
    # Escaped, so that no name can end the script element.
    text = json.dumps(scene, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    text = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    parts |= {"title": html.escape(str(scene["title"])), "scene": text}
    page = part(template)
    for name in parts:
        if page.count(f"{{{{{name}}}}}") != 1:
            raise GrouserError(f"the viewer's {template} has no place for {name}; run: make viewer")
    # One pass over the template: inserted text is not searched for places.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], page)


def part(name: str) -> str:
    """A file that `make viewer` built; a script begins with what both pages share, above all three.js."""
    try:
        names = ("shared.js", name) if name.endswith(".js") else (name,)
        return "".join((VIEWER / one).read_text(encoding="utf-8") for one in names)
    except OSError:
        raise GrouserError(f"{VIEWER / name}: is missing; build the viewer with: make viewer") from None


def digest(text: str) -> str:
    """Hash of a script or style, as a content security policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
