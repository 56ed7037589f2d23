"""An ensemble's files: they score as what was exported, and nothing else is loaded."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fairlab.methods.safety_ensemble.exported.export import load_ensemble, save_ensemble
from fairlab.methods.safety_ensemble.exported.trust import load_fitted
from fairlab.methods.safety_ensemble.model import HarmModel
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.methods.safety_ensemble.sources.sentiment import Sentiment
from fairlab.types import FairlabError
from tests.methods.safety_ensemble.conftest import Biased


def test_an_exported_ensemble_scores_alike_and_is_checked(fitted, tmp_path):
    fitted.finish(tmp_path)
    fitted.export(tmp_path / "model", "")
    overview = (tmp_path / "overview.json").read_text()
    assert set(json.loads(overview)) == {"toxicity"}
    largest = json.loads((tmp_path / "largest_gaps.json").read_text())["toxicity"]
    shown = {entry["text"] for entries in largest.values() for entry in entries}
    assert len(shown) > 20
    assert not any(text in overview for text in shown)  # numbers alone
    folder = tmp_path / "model"
    loaded = load_ensemble(folder)
    texts = ["An awful day.", "A lovely day.", "x" * 1_000_000, ""]
    features = fitted.sources.score(texts)
    expected = fitted.models["after"]["toxicity"].score(features)
    np.testing.assert_allclose(loaded.score(Sources([Biased()]), texts)["toxicity"], expected, rtol=1e-13)
    with pytest.raises(FairlabError, match="was trained on"):
        loaded.score(Sources([Sentiment()]), texts)
    (folder / "toxicity.skops").write_bytes(b"something else")
    with pytest.raises(FairlabError, match="is not the file that was exported"):
        load_ensemble(folder)
    with pytest.raises(FairlabError, match="holds no ensemble"):
        load_ensemble(tmp_path)


def test_skops_loads_the_same_models_and_a_folder_without_arrays_is_read(fitted, tmp_path):
    fitted.export(tmp_path, "")
    features = fitted.sources.score(["An awful day.", "A lovely day.", ""])
    expected = fitted.models["after"]["toxicity"].score(features)
    description = json.loads((tmp_path / "ensemble.json").read_text())
    entry = description["harms"]["toxicity"]
    pipelines = load_fitted(tmp_path / entry["file"])
    model = HarmModel(pipelines, entry["slope"], entry["intercept"])
    np.testing.assert_array_equal(model.score(features), expected)
    (tmp_path / entry.pop("arrays")).unlink()
    (tmp_path / "ensemble.json").write_text(json.dumps(description))
    np.testing.assert_array_equal(load_ensemble(tmp_path).of_features(features)["toxicity"], expected)


def test_changed_arrays_are_refused(fitted, tmp_path):
    fitted.export(tmp_path, "")
    with (tmp_path / "toxicity.npz").open("ab") as file:
        file.write(b"more")
    with pytest.raises(FairlabError, match=r"toxicity\.npz is not the file that was exported"):
        load_ensemble(tmp_path)
    (tmp_path / "toxicity.npz").unlink()
    with pytest.raises(FairlabError, match=r"toxicity\.npz is not the file that was exported"):
        load_ensemble(tmp_path)


class Strange:
    """What no ensemble holds."""


def test_a_file_with_strange_content_is_refused(fitted, tmp_path):
    save_ensemble({"toxicity": HarmModel([Strange()], 1.0, 0.0)}, fitted.sources, tmp_path)
    with pytest.raises(FairlabError, match="which no ensemble holds"):
        load_ensemble(tmp_path)
