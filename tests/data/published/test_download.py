"""Where published data is found: the files themselves, and what is said where they cannot be had."""

import pytest

from fairlab.data.published.download import FILES, locate
from fairlab.files import sha256
from fairlab.types import DataUnavailable


@pytest.mark.data
@pytest.mark.parametrize("name", FILES)
def test_local_files_are_those_the_download_would_check(name):
    assert sha256(locate(name)) == FILES[name][1]


@pytest.mark.parametrize("name", {name.rpartition("/")[0]: name for name in FILES}.values())
def test_data_that_cannot_be_had_says_all_that_was_tried(monkeypatch, tmp_path, name):
    monkeypatch.setenv("FAIRLAB_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(DataUnavailable) as error:
        locate(name)
    for part in ("no path given", "FAIRLAB_DATA", "could not be fetched", name):
        assert part in str(error.value)
    monkeypatch.delenv("FAIRLAB_DATA")
    with pytest.raises(DataUnavailable, match="FAIRLAB_DATA is not set"):
        locate(name)


def test_an_explicit_path_wins(tmp_path):
    (tmp_path / "mine.tsv").touch()
    assert locate("glue/STS-B/dev.tsv", tmp_path / "mine.tsv") == tmp_path / "mine.tsv"
    with pytest.raises(DataUnavailable, match="is not a file"):
        locate("glue/STS-B/dev.tsv", tmp_path / "none.tsv")
