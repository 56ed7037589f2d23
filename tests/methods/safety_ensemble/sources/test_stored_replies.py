"""Stored replies of moderation APIs, as JSON lines."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.methods.safety_ensemble.sources.stored_scores import StoredScores
from fairlab.types import FairlabError

OPENAI = {"results": [{"flagged": False, "category_scores": {"hate": 0.25, "violence/graphic": 0.5}}]}
PERSPECTIVE = {
    "attributeScores": {"hate": {"summaryScore": {"value": 0.25}}, "violence/graphic": {"summaryScore": {"value": 0.5}}}
}


def stored(folder, *rows):
    file = folder / "scores.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return StoredScores(path=str(file))


@pytest.mark.parametrize(
    "row",
    [
        {"text": "a", "hate": 0.25, "violence/graphic": 0.5},
        {"text": "a", **OPENAI},
        {"input": "a", "id": "modr-1", **OPENAI},
        {"text": "a", "response": OPENAI},
        {"text": "a", "response": {"status_code": 200, "body": OPENAI}},
        {"text": "a", **OPENAI["results"][0]},
        {"text": "a", "results": [], **OPENAI["results"][0]},
        {"text": "a", "response": PERSPECTIVE},
    ],
)
def test_every_form_gives_the_same_scores(tmp_path, row):
    source = stored(tmp_path, row, row | dict.fromkeys({"text", "input"} & row.keys(), "b"))
    assert source.outputs == ("hate", "violence/graphic")
    assert source.score(["b", "a"]).tolist() == [[0.25, 0.5]] * 2


def test_rows_of_other_scores_and_rows_without_any_are_named(tmp_path):
    other = {"text": "b", "results": [{"category_scores": {"hate": 0.1, "sexual": 0.2}}]}
    with pytest.raises(FairlabError, match=r"line 2 has scores that the first row lacks \(sexual, violence/graphic\)"):
        stored(tmp_path, {"text": "a", **OPENAI}, other)
    with pytest.raises(FairlabError, match="must hold rows with the column 'text' and at least one column of scores"):
        stored(tmp_path, "a")
    with pytest.raises(FairlabError, match=r"row 1, column hate: a score must be a number, not 'high'"):
        stored(tmp_path, {"text": "a", "hate": "high"})
    with pytest.raises(FairlabError, match="row 1 has no text in the column 'text'"):
        stored(tmp_path, OPENAI)


def test_stored_scores_are_those_of_a_text_and_not_of_its_rewrites(tmp_path):
    (tmp_path / "scores.csv").write_text("text,toxic\na day,0.5\n")
    sources = Sources([StoredScores(path=str(tmp_path / "scores.csv"))])
    assert sources.score(["a day"]).tolist() == [[0.5]]
    assert np.isnan(sources.score(["a day"], turned=True)).all()
