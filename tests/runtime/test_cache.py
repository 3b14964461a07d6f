# SPDX-License-Identifier: Apache-2.0
"""The cache folder gives back exactly what was written, or nothing."""

import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ngraph_rewrite import cache as cache_module
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import CacheWarning

drawn = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


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
