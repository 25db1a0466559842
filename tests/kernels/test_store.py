"""Whatever happens to the files of compiled kernels, kernels work, and no foreign code runs."""

from __future__ import annotations

import errno
import os
import subprocess
import time
from pathlib import Path

import pytest
from tiny_package import KEPT, VALUE, Tiny, compiled_only

from grouser._compile import store

YEAR = 366 * 86400.0


@pytest.fixture(autouse=True)
def counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of the process are as before after each test."""
    for name in ("refused", "not_kept"):
        monkeypatch.setattr(store.Counts, name, "")


@compiled_only
def test_damaged_and_untrusted_files_are_compiled_again_and_mended(warm: Tiny) -> None:
    files = warm.files
    files["total"].write_bytes(files["total"].read_bytes()[:-1])
    files["square"].chmod(0o666)
    said = warm.use()
    assert (said["value"], said["compiled"], said["loaded"]) == (VALUE, KEPT, 0)
    assert said["refused"].endswith("is not used")
    said = warm.use()
    assert (said["value"], said["compiled"], said["loaded"], said["refused"]) == (VALUE, 0, KEPT, "")


@compiled_only
def test_a_whole_file_that_does_not_hold_a_kernel_is_compiled_again(warm: Tiny) -> None:
    store._write(warm.files["total"], b"no pickle")
    said = warm.use()
    assert (said["value"], said["compiled"], said["loaded"]) == (VALUE, 1, 1)
    assert "cannot be used here" in said["refused"]


@compiled_only
def test_processes_that_start_at_once_with_a_cold_cache_compile_once(tiny: Tiny) -> None:
    said = [tiny.finish(process) for process in [tiny.start() for _ in range(3)]]
    assert [one["value"] for one in said] == [VALUE] * 3
    assert sum(one["compiled"] for one in said) == KEPT
    assert sum(one["loaded"] for one in said) == 2 * KEPT
    assert sorted(tiny.files) == ["square", "total"]  # nothing half written is left
    assert tiny.use()["compiled"] == 0


@compiled_only
def test_a_process_killed_while_it_compiles_stops_no_other(tiny: Tiny) -> None:
    stuck = "def stuck(*_): print('stuck', flush=True); import time; time.sleep(600)\n"
    killed = tiny.start(before=f"from grouser._compile import store\n{stuck}store._write = stuck\n")
    assert killed.stdout is not None
    try:
        assert killed.stdout.readline() == "stuck\n"  # compiled, not yet kept: it has the lock
        other = tiny.start()
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(timeout=5.0)
    finally:
        killed.kill()
        killed.communicate()
    said = tiny.finish(other)
    assert (said["value"], said["compiled"]) == (VALUE, KEPT)


@compiled_only
def test_without_a_folder_to_write_kernels_work_and_a_sentence_says_so(tiny: Tiny, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    tiny.cache = tmp_path / "file" / "cache"  # which not even root can make
    said = tiny.use(HOME=str(tiny.cache), XDG_CACHE_HOME="")
    assert (said["value"], said["compiled"]) == (VALUE, KEPT)
    assert str(tiny.cache) in said["not_kept"]


@compiled_only
def test_on_a_full_disk_kernels_work_and_a_sentence_says_so(tiny: Tiny) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
    said = tiny.use(before=limit, PYTHONDONTWRITEBYTECODE="1")
    assert (said["value"], said["compiled"]) == (VALUE, KEPT)
    assert f"could not be kept in {tiny.cache / 'kernels'} (File too large)" in said["not_kept"]
    assert tiny.files == {}  # not even what was begun


def test_what_was_written_is_read(tmp_path: Path) -> None:
    store._write(tmp_path / "new" / "k", b"code")
    assert bytes(store._read(tmp_path / "new" / "k") or b"") == b"code"
    assert (store.Counts.refused, store.Counts.not_kept) == ("", "")


def test_code_is_not_writable_by_others_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store._write(tmp_path / "k", b"code")
    finally:
        os.umask(before)
    assert store._read(tmp_path / "k") is not None


@pytest.mark.parametrize("keep", [0, 10, -1])
def test_a_file_cut_short_is_damaged(tmp_path: Path, keep: int) -> None:
    store._write(path := tmp_path / "k", b"code")
    path.write_bytes(path.read_bytes()[:keep])
    assert store._read(path) is None
    assert store.Counts.refused == f"{path} is damaged, and is not used"


@pytest.mark.parametrize("place", [0, 20, -1])
def test_a_file_with_one_other_bit_is_damaged(tmp_path: Path, place: int) -> None:
    store._write(path := tmp_path / "k", b"code")
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    assert store._read(path) is None
    assert store.Counts.refused == f"{path} is damaged, and is not used"


def _given_to(path: Path, owner: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of another user; who is not root cannot give files away and becomes someone else."""
    if os.getuid() == 0:
        os.chown(path, owner, -1)
    else:
        monkeypatch.setattr(os, "getuid", lambda: owner + 1)


def test_a_file_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store._write(path := tmp_path / "k", b"code")
    _given_to(path, 4242, monkeypatch)
    assert store._read(path) is None
    assert store.Counts.refused == f"{path} belongs to another user or is writable by all, and is not used"
    assert store._read(path, path.stat().st_uid) is not None  # shipped by the owner of the package


def test_a_file_writable_by_all_is_not_used(tmp_path: Path) -> None:
    store._write(path := tmp_path / "k", b"code")
    path.chmod(0o646)
    assert store._read(path) is None
    assert "writable by all" in store.Counts.refused
    path.chmod(0o664)
    assert store._read(path) is not None


def test_a_write_that_fails_at_the_end_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store._write(path := tmp_path / "k", b"old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    store._write(path, b"new")
    assert bytes(store._read(path) or b"") == b"old"
    assert list(tmp_path.iterdir()) == [path]
    assert "(No space left on device)" in store.Counts.not_kept


def _folder(monkeypatch: pytest.MonkeyPatch, **settings: str) -> Path:
    for name in ("GROUSER_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, settings.get(name, ""))
    place: Path = store.folder.__wrapped__()
    return place


def test_the_folder_is_the_first_that_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    ours, xdg, home, no = (str(tmp_path / name) for name in ("ours", "xdg", "home", "file/no"))
    found = _folder(monkeypatch, GROUSER_CACHE_DIR=ours, XDG_CACHE_HOME=xdg, HOME=home)
    assert found == tmp_path / "ours" / "kernels"
    assert _folder(monkeypatch, XDG_CACHE_HOME=xdg, HOME=home) == tmp_path / "xdg" / "grouser" / "kernels"
    found = _folder(monkeypatch, GROUSER_CACHE_DIR=no, HOME=home)
    assert found == tmp_path / "home" / ".cache" / "grouser" / "kernels"
    assert store.Counts.not_kept == ""


def test_a_folder_that_cannot_be_written_is_still_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "layer" / "kernels").mkdir(parents=True)
    monkeypatch.setattr(os, "access", lambda *_: False)
    found = _folder(monkeypatch, GROUSER_CACHE_DIR=str(tmp_path / "layer"), HOME=str(tmp_path))
    assert found == tmp_path / "layer" / "kernels"
    assert f"{found} is not writable" in store.Counts.not_kept


def test_old_files_go_where_there_are_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new, torn = (tmp_path / f"settle-{digit * 32}" for digit in "ab0")
    torn = torn.with_name(f"{torn.name}.{'c' * 12}")
    foreign = tmp_path / "letter.txt"
    for path in (old, new, torn, foreign):
        path.write_bytes(b"0" * 1000)
    now = time.time()
    for path in (old, torn, foreign):
        os.utime(path, (now, now - YEAR))
    store._prune(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4  # they are few
    monkeypatch.setattr(store, "_MOST_BYTES", 2999)
    store._prune(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([new, foreign])


def test_code_in_use_does_not_grow_old(tmp_path: Path) -> None:
    (path := tmp_path / "k").write_text("")
    os.utime(path, (time.time(), time.time() - YEAR))
    store._mark_used(path)
    assert time.time() - path.stat().st_mtime < 3600.0
    store._mark_used(tmp_path / "missing")
