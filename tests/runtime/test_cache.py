# SPDX-License-Identifier: Apache-2.0
"""The cache folder gives back exactly what was written, or nothing."""

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ngraph_rewrite import cache as cache_module
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import ArgumentError, CacheWarning

drawn = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@drawn
@given(st.binary(max_size=200))
def test_what_was_written_is_read(tmp_path: Path, data: bytes) -> None:
    cache = Cache(tmp_path)
    path = cache.write("key", "bin", data)
    assert path == tmp_path / "key.bin"
    assert cache.read("key", "bin") == data


def test_a_missing_entry_is_none(tmp_path: Path) -> None:
    assert Cache(tmp_path).read("nothing", "o") is None


@drawn
@given(st.binary(max_size=60), st.data())
def test_a_damaged_entry_reads_as_missing(tmp_path: Path, data: bytes, where: st.DataObject) -> None:
    cache = Cache(tmp_path)
    path = cache.write("key", "bin", data)
    whole = path.read_bytes()
    position = where.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[position] ^= where.draw(st.integers(1, 255))
    for damaged in (whole[:position], bytes(changed), whole + b"more", b"foreign"):
        path.write_bytes(damaged)
        assert cache.read("key", "bin") is None


def test_a_source_stays_a_source(tmp_path: Path) -> None:
    path = Cache(tmp_path).write("module", "py", b"x = 1\n")
    compile(path.read_text(), str(path), "exec")
    assert path.read_text().startswith("x = 1\n\n# sha256 ")


def test_nothing_is_left_but_the_entry(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for _ in range(3):
        cache.write("key", "bin", b"data")
    assert [path.name for path in tmp_path.iterdir()] == ["key.bin"]


def test_the_variable_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NGRAPH_REWRITE_CACHE", str(tmp_path / "here"))
    assert Cache().folder == tmp_path / "here"
    assert Cache(tmp_path / "there").folder == tmp_path / "there"


def test_without_a_variable_it_is_the_users_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NGRAPH_REWRITE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(cache_module.platformdirs, "user_cache_dir", lambda name: str(tmp_path / name))
    assert Cache().folder == tmp_path / "ngraph_rewrite"


def test_an_unwritable_folder_gives_a_temporary_one_and_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "_fallback", [])
    file = tmp_path / "file"
    file.write_text("a folder cannot be made below a file")
    with pytest.warns(CacheWarning) as raised:
        caches = [Cache(file / "below"), Cache(file / "other")]
    assert len(raised) == 1
    assert str(file / "below") in str(raised[0].message)
    assert "NGRAPH_REWRITE_CACHE" in str(raised[0].message)
    assert caches[0].folder == caches[1].folder
    caches[0].write("key", "bin", b"data")
    assert caches[1].read("key", "bin") == b"data"


def test_a_folder_that_vanishes_is_replaced_when_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_fallback", [])
    cache = Cache(tmp_path / "folder")
    cache.folder.rmdir()
    cache.folder.write_text("now a file")
    with pytest.warns(CacheWarning):
        cache.write("key", "bin", b"data")
    assert cache.read("key", "bin") == b"data"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Cache(cache.folder / "again")


def test_a_folder_is_tried_once_and_again_when_it_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each transformer asks: a file is made and removed for the first one."""
    monkeypatch.setattr(cache_module, "_fallback", [])
    folder, new_file, tried = tmp_path / "folder", cache_module._new_file, list[Path]()

    def counted(where: Path, data: bytes) -> Path:
        tried.append(where)
        if where == folder and len(tried) > 1:
            raise OSError("it is full")
        return new_file(where, data)

    monkeypatch.setattr(cache_module, "_new_file", counted)
    cache, other = Cache(folder), Cache(folder)
    assert cache.folder == other.folder == folder and tried == [folder]
    with pytest.warns(CacheWarning):
        cache.write("key", "bin", b"data")
    assert Cache(folder).folder == cache.folder != folder


# -- the bound ---------------------------------------------------------------------------------------


def age(path: Path, days: float) -> None:
    """Make it look as if it was written so long ago."""
    then = time.time() - 86_400 * days
    os.utime(path, (then, then))


def test_what_was_not_read_for_longest_goes(tmp_path: Path) -> None:
    cache, block = Cache(tmp_path, megabytes=0.01), bytes(1000)
    for number in range(8):
        age(cache.write(f"k{number}", "o", block), days=10 - number)
    assert cache.read("k0", "o") == block  # it was read today
    cache.write("new", "o", bytes(2500))
    left = {path.stem for path in tmp_path.iterdir()}
    assert {"k0", "k7", "new"} <= left and not {"k1", "k2"} & left
    assert cache.size() <= cache.bound


@drawn
@given(st.lists(st.integers(0, 3000), max_size=30))
def test_the_folder_never_grows_beyond_its_bound_by_more_than_the_newest(tmp_path: Path, sizes: list[int]) -> None:
    cache = Cache(tmp_path, megabytes=0.005)
    for number, size in enumerate(sizes):
        cache.write(f"k{number}", "o", bytes(size))
        assert cache.size() <= max(cache.bound, size + 100)
        assert cache.read(f"k{number}", "o") == bytes(size)
    cache.clear()


def test_a_folder_is_not_looked_through_for_each_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor by each object anew: of 100 entries of which 1280 would fill a hundredth, few are worth a look."""
    looks = []
    monkeypatch.setattr("ngraph_rewrite.cache._files", lambda folder: looks.append(folder) or iter(()))
    for number in range(100):
        Cache(tmp_path, megabytes=1.28).write(f"k{number}", "o", b"%d" % number)
    assert len(looks) < 10


def test_what_many_write_a_little_of_is_bounded_too(tmp_path: Path) -> None:
    for number in range(1000):
        Cache(tmp_path, megabytes=0.1).write(f"k{number}", "o", b"%d" % number * 50)
    assert Cache(tmp_path, megabytes=0.1).size() <= 1.1 * 100_000


def test_files_of_others_stay(tmp_path: Path) -> None:
    """Those that are being written too, unless whoever wrote them is gone."""
    for name in ("precious.txt", ".writing-now", ".writing-before"):
        (tmp_path / name).write_bytes(bytes(5000))
        age(tmp_path / name, days=0 if name == ".writing-now" else 100)
    cache = Cache(tmp_path, megabytes=0.004)
    cache.write("k", "o", b"data")
    assert {path.name for path in tmp_path.iterdir()} == {"precious.txt", ".writing-now", "k.o"}
    assert [path.name for path in cache.entries()] == ["k.o"]
    cache.clear()
    assert {path.name for path in tmp_path.iterdir()} == {"precious.txt", ".writing-now"}


def test_the_variable_sets_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Cache(tmp_path).bound == 512_000_000
    monkeypatch.setenv("NGRAPH_REWRITE_CACHE_MEGABYTES", "1.5")
    assert Cache(tmp_path).bound == 1_500_000
    monkeypatch.setenv("NGRAPH_REWRITE_CACHE_MEGABYTES", "much")
    with pytest.raises(ArgumentError, match="NGRAPH_REWRITE_CACHE_MEGABYTES is 'much'"):
        Cache(tmp_path)


@pytest.mark.parametrize("told", ["nan", "inf", "-1"])
def test_a_bound_is_a_number_from_0(told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NGRAPH_REWRITE_CACHE_MEGABYTES", told)
    for bound in (None, float(told)):
        with pytest.raises(ArgumentError, match=rf"of {float(told)} megabytes\n.* \(NGRAPH_REWRITE_CACHE_MEGABYTES\)"):
            Cache(tmp_path / "folder", bound)
    assert not list(tmp_path.iterdir())


def test_a_folder_is_a_path() -> None:
    with pytest.raises(ArgumentError, match="a cache in 3 of 512"):
        Cache(3)  # type: ignore[arg-type]


WRITES = """
import sys
from ngraph_rewrite.cache import Cache
cache, wrong = Cache(sys.argv[1], megabytes=0.02), 0
for number in range(300):
    key = f"k{(number * int(sys.argv[2])) % 17}"
    found = cache.read(key, "o")
    wrong += found is not None and found != key.encode() * 500
    cache.write(key, "o", key.encode() * 500)
print(wrong, cache.size() <= 2 * cache.bound)
"""


def test_processes_may_read_write_and_shrink_one_folder(tmp_path: Path) -> None:
    """What one removes another one reads at this moment: whole, or not at all."""
    command = [sys.executable, "-c", WRITES, str(tmp_path)]
    started = [subprocess.Popen([*command, step], stdout=subprocess.PIPE, text=True) for step in ("3", "5")]
    assert [process.communicate()[0] for process in started] == ["0 True\n"] * 2
