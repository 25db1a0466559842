"""Every code block of the README and of the documentation runs as printed: page by page, in order, in one folder."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import doc_stand_ins
import pytest
from doc_blocks import Block, blocks_of, commands_of

from grouser.cli import run
from grouser.cli.app import load

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "release").glob("*.md")),
]
SOURCES = ROOT / "src" / "grouser"
DOCTESTS = [path for path in sorted(SOURCES.rglob("__init__.py")) if ">>> " in path.read_text(encoding="utf-8")]
"""Packages whose docstring has an example; those of classes are sketches with names of the reader's own program."""
RUN = ("python", "sh")
READ = ("toml",)
SHOWN = ("", "text")
"""Languages of blocks that are run, read as files, and only shown: tables, output, trees."""

LONG = {
    "demo": "tests/cli runs it",
    "bench": "tests/cli runs it",
    "warmup": "it compiles the engine",
    "drive": "it waits for a driver; tests/cli and tests/live run it",
    "node": "it waits for a robot; tests/node runs it",
}
"""Commands of which only the arguments are checked, and why."""
STANDS_FOR = {"LOG": "drive.csv", "M.toml": "log.toml", "FILE": "drive.csv", "RUN": "run.npz", "100000": "200"}
"""What a test says in place of a placeholder, or of a number that would take long."""
SHORTER = {"duration=120.0": "duration=1.0", "duration=60.0": "duration=4.0", "duration=30.0": "duration=4.0"}
"""Python text that is replaced so that a page takes seconds."""
BEFORE = {
    "docs/traction.md": """
from types import SimpleNamespace
import numpy as np
import grouser as gr
measured = np.zeros(4)
fit_p6 = -0.06
desired, odometry, model_slip, fused = np.array([0.4, 0.0, 0.3]), np.array([0.38, 0.0, 0.28]), np.zeros(3), None
slipping = gr.Kinematics(gr.vehicle("lru2"), slip=gr.slip.DriveFrameSlip([-0.7, -0.1, -0.03, 0.0, 0.0, -0.06]))
fit = SimpleNamespace(model=SimpleNamespace(model=slipping))
dynamics, ground = gr.Dynamics(slipping.vehicle), gr.terrain.plane()
""",
}
"""What a page takes as known: names of the reader's own program."""
MOST_NOT_RUN = 3
"""Blocks that may be marked `<!-- not run: reason -->`; more would need a reason here."""


@pytest.fixture(scope="session")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stand_ins")
    doc_stand_ins.make(folder)
    return folder


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_blocks_of_a_page_run(page: Path, stand_ins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [block for block in blocks_of(page) if block.not_run is None]
    unknown = {block.language for block in blocks} - {*RUN, *READ, *SHOWN}
    assert not unknown, f"blocks in {unknown} are neither run nor only shown; use python, sh, toml or text"
    folder = tmp_path / "here"
    shutil.copytree(stand_ins, folder)
    monkeypatch.chdir(folder)
    names: dict[str, object] = {"__name__": "page"}
    exec(BEFORE.get(name(page), ""), names)
    for block in blocks:
        where = f"{name(page)}:{block.line}"
        if block.language == "python":
            run_python(block, where, names)
        elif block.language == "sh":
            for words in commands_of(block.text):
                run_command(words, where)
        elif block.language == "toml":
            read_toml(block, where)


def run_python(block: Block, where: str, names: dict[str, object]) -> None:
    text = block.text
    for long, short in SHORTER.items():
        text = text.replace(long, short)
    exec(compile("\n" * (block.line - 1) + text, where, "exec"), names)


def run_command(words: list[str], where: str) -> None:
    program, *rest = [STANDS_FOR.get(word, word) for word in words]
    if program == "grouser":
        command = rest[0]
        if command in LONG:
            parses(rest)
            return
        if "--follow" in rest:
            rest += ["--idle-exit", "0.2", "--poll", "0.05"]
        assert run(rest) == 0, f"{where}: grouser {' '.join(rest)}"
    elif program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
        assert rest[0] in targets, f"{where}: the Makefile has no target {rest[0]}"
    elif program in ("pip", "git"):
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        wanted = [e for group in re.findall(r"\[([\w,]+)\]", " ".join(rest)) for e in group.split(",")]
        assert set(wanted) <= set(extras), f"{where}: there are extras {', '.join(extras)}"
    elif program == "python" and rest[0] == "-m":
        run_experiments(rest[1], rest[2:], where)
    elif program == "python":
        assert (ROOT / rest[0]).is_file(), f"{where}: there is no {rest[0]}"
    else:
        assert (ROOT / program).is_file(), f"{where}: {program} is neither grouser, make, pip, python nor a file here"


def parses(words: list[str]) -> None:
    """Raises where a command does not take these arguments."""
    load(words[0]).make_context(words[0], words[1:])


def run_experiments(module: str, words: list[str], where: str) -> None:
    """The list is printed; of anything longer only the name is checked, tests/experiments runs them."""
    from experiments import __main__ as experiments
    from experiments import gallery
    from experiments.catalog import EXPERIMENTS

    if module == "experiments.gallery":
        assert gallery.run(["--list"]) == 0, where
        return
    assert module == "experiments", f"{where}: {module} is not a program of this repository"
    if words:
        assert words[0] in EXPERIMENTS, f"{where}: there is no experiment {words[0]}"
    else:
        assert experiments.run([]) == 0, where


def read_toml(block: Block, where: str) -> None:
    """A vehicle file or a manifest must be read, any other must be TOML; it is saved where the page says so."""
    tables = tomllib.loads(block.text)
    schema = str(tables.get("schema", ""))
    file = Path(block.file or "read.toml")
    file.write_text(block.text, encoding="utf-8")
    if schema.startswith("grouser/vehicle"):
        import grouser as gr

        assert gr.vehicle(file).n_wheels > 0, where
    elif schema.startswith("grouser/log"):
        from grouser.logs.manifest import load_manifest

        assert load_manifest(file).rates, where


@pytest.mark.parametrize("source", DOCTESTS, ids=lambda path: str(path.relative_to(SOURCES)))
def test_examples_in_docstrings_of_packages_run(source: Path, stand_ins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import grouser as gr

    monkeypatch.chdir(stand_ins)
    names: dict[str, object] = {"gr": gr}
    for line in re.findall(r"^\s*>>> (.*)$", source.read_text(encoding="utf-8"), flags=re.MULTILINE):
        exec(compile(line, str(source), "exec"), names)


def test_blocks_that_are_not_run_say_why_and_are_few(capsys: pytest.CaptureFixture[str]) -> None:
    left = [(page, block) for page in PAGES for block in blocks_of(page) if block.not_run is not None]
    with capsys.disabled():
        print(f"\n{len(left)} blocks are not run")
        for page, block in left:
            print(f"  {name(page)}:{block.line}: {block.not_run}")
    assert all(len(str(block.not_run)) > 10 for _, block in left)
    assert len(left) <= MOST_NOT_RUN


def test_a_block_that_fails_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("x\n\n```python\n1 / 0\n```\n\n<!-- not run: needs a robot -->\n\n```sh\ngrouser fly\n```\n")
    wrong, marked = blocks_of(page)
    with pytest.raises(ZeroDivisionError):
        run_python(wrong, "page.md:4", {})
    assert marked.not_run == "needs a robot"
    with pytest.raises(AssertionError, match="grouser fly"):
        run_command(commands_of(marked.text)[0], "page.md:10")
    with pytest.raises(AssertionError, match="no target fly"):
        run_command(["make", "fly"], "page.md")


def test_a_file_to_save_is_seen_before_or_after_its_block(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    first, second = "```toml\nx = 1\n```", "```toml\ny = 1\n```"
    page.write_text(f"Save this as `a.toml`:\n\n{first}\n\nThen:\n\n{second}\n\nSave it as `b.toml`.\n")
    assert [block.file for block in blocks_of(page)] == ["a.toml", "b.toml"]


def test_commands_are_read_as_a_shell_reads_them() -> None:
    text = "grouser check FILE   # says what\n# nothing\ngrouser vehicles [NAME] \\\n  --json\n"
    assert commands_of(text) == [["grouser", "check", "FILE"], ["grouser", "vehicles", "--json"]]
