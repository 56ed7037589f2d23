"""Columns of scored texts: variances of sets that a source scores only in part, and other stored scores."""

from __future__ import annotations

import numpy as np
import pytest

from fairlab.methods.safety_ensemble.exported.columns import Columns
from fairlab.methods.safety_ensemble.exported.export import Ensemble
from fairlab.methods.safety_ensemble.sources.base import Source
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.methods.safety_ensemble.sources.stored_scores import StoredScores
from fairlab.rewriting.identities import Identities
from fairlab.types import FairlabError

MUSLIM, HINDU = "A Muslim baker.", "A Hindu baker."


class Lengths(Source):
    name, version, outputs = "lengths", "1", ("length",)

    def score(self, texts):
        return np.array([[len(text) / 100] for text in texts])


class MeanWithHalf:
    """A model whose score is the mean of the source scores, with 0.5 for missing ones."""

    def score(self, features, owner=None):
        return np.nan_to_num(features, nan=0.5).mean(axis=1)


def columns(folder, rows, trained=None):
    (folder / "scores.csv").write_text("text,toxic\n" + "".join(f"{text},{score}\n" for text, score in rows.items()))
    sources = Sources([Lengths(), StoredScores(path=str(folder / "scores.csv"))])
    versions = {source.name: source.version for source in sources.sources}
    description = {"features": sources.features, "sources": versions | (trained or {}), "harms": {"hate": {}}}
    return Columns(Ensemble({"hate": MeanWithHalf()}, description), sources, versions=True)


def test_versions_without_a_score_of_a_source_give_no_variance(tmp_path):
    nobody = "A long day."
    (one, other) = columns(tmp_path, {MUSLIM: 0.1, nobody: 0.4})([MUSLIM, nobody])
    assert one["hate"] == pytest.approx((0.15 + 0.1) / 2)
    assert (one["hate_variance"], other["hate_variance"]) == (None, None)
    versions = Identities().versions(MUSLIM)
    assert HINDU in versions
    (one,) = columns(tmp_path, dict.fromkeys([MUSLIM, *versions], 0.1))([MUSLIM])
    assert one["hate_variance"] == pytest.approx(np.var([len(text) / 200 for text in (MUSLIM, *versions)]), rel=1e-4)
    (one,) = columns(tmp_path, {nobody: 0.1})([MUSLIM])  # no text of the set has the score, so all have the same median
    assert one["hate_variance"] > 0


def test_other_stored_scores_name_the_setting_for_scores_of_the_same_version(tmp_path):
    with pytest.raises(
        FairlabError,
        match=r"version old of the source stored, not with version [0-9a-f]{64}; .* add \+sources\.stored\.version=old",
    ):
        columns(tmp_path, {MUSLIM: 0.1}, {"stored": "old"})
    with pytest.raises(FairlabError, match=r"version 0 of the source lengths, not with version 1; .*, or train again$"):
        columns(tmp_path, {MUSLIM: 0.1}, {"lengths": "0"})
    found = columns(tmp_path, {MUSLIM: 0.1})
    with pytest.raises(FairlabError, match=r"trained on the scores lengths\.length, stored\.toxic, not on stored\.t"):
        found.ensemble.refuse_others(Sources(found.sources.sources[1:]))
