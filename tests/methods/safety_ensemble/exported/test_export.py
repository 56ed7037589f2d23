"""An ensemble's files: they score as what was exported, and nothing else is loaded."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fairlab.methods.safety_ensemble.exported.export import load_ensemble
from fairlab.methods.safety_ensemble.exported.trust import read_description
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.methods.safety_ensemble.sources.sentiment import Sentiment
from fairlab.types import FairlabError
from tests.methods.safety_ensemble.conftest import Biased


def test_an_exported_ensemble_scores_alike_and_is_checked(fitted, tmp_path):
    fitted.finish(tmp_path)
    fitted.export(tmp_path / "new" / "model", "")
    overview = (tmp_path / "overview.json").read_text()
    assert set(json.loads(overview)) == {"toxicity"}
    largest = json.loads((tmp_path / "largest_gaps.json").read_text())["toxicity"]
    shown = {entry["text"] for entries in largest.values() for entry in entries}
    assert len(shown) > 20
    assert not any(text in overview for text in shown)  # numbers alone
    folder = tmp_path / "new" / "model"
    loaded = load_ensemble(folder)
    texts = ["An awful day.", "An awful Muslim day.", "A lovely day.", "x" * 1_000_000, ""]
    features = fitted.sources.score(texts)
    expected = fitted.models["after"]["toxicity"].score(features)
    np.testing.assert_allclose(loaded.score(Sources([Biased()]), texts)["toxicity"], expected, rtol=1e-13)
    with pytest.raises(FairlabError, match="was trained on"):
        loaded.score(Sources([Sentiment()]), texts)
    (folder / "toxicity.safetensors").write_bytes(b"something else")
    with pytest.raises(FairlabError, match="is not the file that was exported"):
        load_ensemble(folder)
    with pytest.raises(FairlabError, match="holds no ensemble"):
        load_ensemble(tmp_path)


def test_an_export_of_the_former_format_says_how_to_make_it_again(fitted, tmp_path):
    fitted.export(tmp_path, "")
    description = json.loads((tmp_path / "ensemble.json").read_text())
    description["harms"]["toxicity"]["file"] = "toxicity.skops"
    (tmp_path / "ensemble.json").write_text(json.dumps(description))
    with pytest.raises(FairlabError, match="was exported by an older fairlab; train it again, python"):
        load_ensemble(tmp_path)


TOXICITY = {"file": "toxicity.safetensors", "slope": 1.0, "intercept": 0.0, "threshold": 0.5}
DESCRIBED = {"features": ["biased.harm"], "sources": {"biased": "1"}, "harms": {"toxicity": TOXICITY}}


def of_harm(**changes):
    return {"harms": {"toxicity": TOXICITY | changes}}


def described(folder, **changes):
    (folder / "ensemble.json").write_text(json.dumps(DESCRIBED | changes))
    return read_description(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"features": "biased.harm"},
        {"features": [1]},
        {"sources": ["biased"]},
        {"harms": []},
        {"harms": {}},
        {"harms": {"toxicity": 1}},
        of_harm(slope="1"),
        of_harm(intercept=None),
        of_harm(threshold=1.1),
        of_harm(threshold=-0.1),
        of_harm(file=1),
        of_harm(file="../toxicity.safetensors"),
        of_harm(file="toxicity.pkl"),
        {"identities": "religion"},
        {"identities": [1]},
        {"identities": ["Religion"]},
        {"identities": ["identities/none.yaml"]},
        {"identities": ["other/own.yaml"]},
        {"identities": ["identities/deep/own.yaml"]},
        {"identities": ["own.yaml"]},
    ],
)
def test_a_description_that_is_none_is_refused(tmp_path, changes):
    for place in ("own.yaml", "other/own.yaml", "identities/deep/own.yaml"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    with pytest.raises(FairlabError, match=r"ensemble\.json"):
        described(tmp_path, **changes)


def test_a_description_is_read_with_its_lexicons(tmp_path):
    assert described(tmp_path) == DESCRIBED
    for cut in (0, 1):
        assert described(tmp_path, **of_harm(threshold=cut))["harms"]["toxicity"]["threshold"] == cut
    (tmp_path / "identities").mkdir()
    own = tmp_path / "identities" / "own.yml"
    own.touch()
    assert described(tmp_path, identities=["religion", "identities/own.yml"])["identities"] == ["religion", str(own)]


def test_models_of_other_scores_than_described_are_refused(fitted, tmp_path):
    fitted.export(tmp_path, "")
    description = json.loads((tmp_path / "ensemble.json").read_text())
    description["features"].append("biased.more")
    (tmp_path / "ensemble.json").write_text(json.dumps(description))
    with pytest.raises(FairlabError, match="holds models of scores that"):
        load_ensemble(tmp_path)


def test_changed_arrays_are_refused(fitted, tmp_path):
    fitted.export(tmp_path, "")
    with (tmp_path / "toxicity.safetensors").open("ab") as file:
        file.write(b"more")
    with pytest.raises(FairlabError, match=r"toxicity\.safetensors is not the file that was exported"):
        load_ensemble(tmp_path)
    (tmp_path / "toxicity.safetensors").unlink()
    with pytest.raises(FairlabError, match=r"toxicity\.safetensors is not the file that was exported"):
        load_ensemble(tmp_path)
