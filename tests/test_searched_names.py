"""Names that a searcher tries first: ``git ls-files | grep -i NAME`` leads to the file of each concept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOUND = {
    "ccd": "fairlab/methods/ccd.py",
    "cced": "fairlab/metrics/cced.py",
    "seat": "fairlab/benchmarks/seat.py",
    "weat": "fairlab/metrics/weat.py",
    "fairscore": "fairlab/metrics/fairscore.py",
    "perturber": "fairlab/methods/perturber.py",
    "biasers": "fairlab/augmentation/biasers.py",
    "db_index": "fairlab/metrics/db_index.py",
    "mb_index": "fairlab/metrics/mb_index.py",
    "razor": "fairlab/augmentation/razor.py",
    "equali[sz]ed.odds": "fairlab/metrics/equalised_odds.py",
    "acv": "fairlab/metrics/acv.py",
    "sliced.averages": "fairlab/metrics/sliced_averages.py",
    "early.stopping": "fairlab/run/early_stopping.py",
    "collator": "fairlab/data/block_collator.py",
    "pooling": "fairlab/backbones/pooling.py",
    "seeding": "fairlab/data/seeding.py",
    "cache": "fairlab/backbones/model_cache.py",
    "download": "fairlab/data/published/download.py",
    "permutation.test": "fairlab/metrics/permutation_test.py",
    "decoding": "fairlab/rewriting/decoding.py",
    "detoxify": "fairlab/methods/safety_ensemble/sources/detoxify.py",
    "calibration": "fairlab/methods/safety_ensemble/calibration.py",
    "checkpoint": "fairlab/run/checkpoints.py",
    "tokens": "fairlab/data/word_tokens.py",
    "bootstrap": "fairlab/metrics/bootstrap.py",
    "lexicon": "fairlab/lexicons/__init__.py",
}


@pytest.mark.parametrize("pattern", FOUND)
def test_a_name_leads_to_a_file_that_is_found_by_it(pattern):
    assert re.search(pattern, FOUND[pattern], re.IGNORECASE)
    assert (ROOT / FOUND[pattern]).is_file()
