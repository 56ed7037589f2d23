import pytest

from fairlab.methods.safety_ensemble.sources.score_cache import ScoreCache
from fairlab.types import FairlabError


def test_a_file_that_is_no_cache_is_refused(tmp_path):
    (tmp_path / "x").write_text("no database at all, but long enough to be looked at as one" * 20)
    with pytest.raises(FairlabError, match="is not a cache of scores"):
        ScoreCache(tmp_path / "x")
