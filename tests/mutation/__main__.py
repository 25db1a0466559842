"""Mutation pass: change one sign, term or axis of a kernel at a time and see whether a test fails.

    python -m tests.mutation --count 200 --seed 1 --out out/mutants.json
    python -m tests.mutation --file fusion/delay.py --count 20      # one kernel file
    python -m tests.mutation --again out/mutants.json               # only the survivors of an earlier pass

Mutants run in copies of the repository; the checkout is not touched. A mutant is killed by a failing test, by an error
and by a run that takes too long. `--out` is written after each mutant; a pass that was interrupted continues with it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from threading import Lock

from tests.mutation.sites import Site, choose, sites_of
from tests.mutation.watchers import tests_of

ROOT = Path(__file__).resolve().parents[2]
KERNELS = Path("src/grouser/_kernels")
COPIED = ("src", "tests", "experiments", "examples", "pyproject.toml")
LONGEST = 900
"""Time on the processor after which a mutant counts as killed [s]: it hangs."""


def main() -> int:
    options = _options()
    if options.again:
        survivors = [m for m in json.loads(Path(options.again).read_text())["mutants"] if not m["killed"]]
        known = {_key(m) for m in survivors}
        chosen = [s for s in _all_sites(None) if _key(s.as_dict()) in known]
    else:
        chosen = choose(_all_sites(options.file), options.count, options.seed)
    done = _tried(options.out)
    print(f"{len(chosen)} mutants, {len(done)} of them tried before", flush=True)
    results = _run(chosen, done, options)
    killed = sum(r["killed"] for r in results)
    print(f"{killed} of {len(results)} killed ({100.0 * killed / max(len(results), 1):.1f} %)")
    for r in results:
        if not r["killed"]:
            print(f"survived: {r['file']}:{r['line']} {r['change']}: {r['before']}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200, help="mutants, spread over the files by their sites")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--file", help="kernel files whose path contains this")
    parser.add_argument("--jobs", type=int, default=2, help="mutants tried at a time")
    parser.add_argument("--out", help="JSON file for the results")
    parser.add_argument("--again", help="results of an earlier pass: try its survivors again")
    return parser.parse_args()


def _all_sites(part: str | None) -> list[Site]:
    paths = sorted((ROOT / KERNELS).rglob("*.py"))
    named = [str(path.relative_to(ROOT / KERNELS)) for path in paths if path.name != "law.py"]
    return [site for name in named if part is None or part in name for site in sites_of(ROOT / KERNELS, name)]


def _key(mutant: dict[str, object]) -> tuple[object, ...]:
    return mutant["file"], mutant["line"], mutant["column"], mutant["change"]


def _tried(out: str | None) -> dict[tuple[object, ...], dict[str, object]]:
    """Results that an earlier pass with this file has left."""
    if out is None or not Path(out).exists():
        return {}
    return {_key(m): m for m in json.loads(Path(out).read_text())["mutants"]}


def _run(
    chosen: list[Site], done: dict[tuple[object, ...], dict[str, object]], options: argparse.Namespace
) -> list[dict[str, object]]:
    copies: Queue[Path] = Queue()
    folders = [Path(tempfile.mkdtemp(prefix="mutant-")) for _ in range(options.jobs)]
    lock = Lock()

    def tried(site: Site) -> dict[str, object]:
        key = _key(site.as_dict())
        if key not in done:
            result = _try(site, copies)
            with lock:
                done[key] = result
                if options.out:
                    _write(Path(options.out), list(done.values()))
        return done[key]

    try:
        for folder in folders:
            copies.put(_copy(folder))
        with ThreadPoolExecutor(options.jobs) as pool:
            return list(pool.map(tried, chosen))
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


def _write(path: Path, results: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps({"killed": sum(bool(r["killed"]) for r in results), "mutants": results}, indent=1))
    part.replace(path)


def _copy(folder: Path) -> Path:
    """A copy of what tests need, with a kernel cache of its own that starts with the present one."""
    target = folder / "main"
    target.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, target / name)
    if (ROOT.parent / "shared").is_dir():
        (folder / "shared").symlink_to(ROOT.parent / "shared")
    return target


def _try(site: Site, copies: Queue[Path]) -> dict[str, object]:
    copy = copies.get()
    path = copy / KERNELS / site.file
    original = path.read_text()
    cache = copy.parent / "cache"
    _warm(cache)
    killer = ""
    try:
        path.write_text(site.applied(original))
        killer = _killer(copy, cache, tests_of(site.file))
    finally:
        path.write_text(original)
        copies.put(copy)
    result = {**site.as_dict(), "killed": bool(killer), "by": killer}
    print(f"{'killed  ' if killer else 'SURVIVED'} {site.file}:{site.line} {site.change}  {killer}", flush=True)
    return result


def _warm(cache: Path) -> None:
    """Kernels that a mutant does not reach come from the user's cache; what mutants compile is thrown away."""
    shutil.rmtree(cache, ignore_errors=True)
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    own = Path(os.environ.get("GROUSER_CACHE_DIR") or home / "grouser")
    shutil.copytree(own, cache, copy_function=os.link) if own.is_dir() else cache.mkdir()


def _killer(copy: Path, cache: Path, watchers: list[str]) -> str:
    """The first test that fails, or ""."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "GROUSER_CACHE_DIR": str(cache),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(copy.parent / "hypothesis"),
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *watchers]
    limited = ["prlimit", f"--cpu={LONGEST}", *command]  # not by the clock, which runs on while others use the machine
    done = subprocess.run(limited, cwd=copy, env=environment, capture_output=True, text=True)
    if done.returncode < 0:
        return "it hangs, or ends Python"
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0][:160] if lines else f"exit {done.returncode}: {done.stdout[-200:]}{done.stderr[-200:]}"


if __name__ == "__main__":
    sys.exit(main())
