"""Models that fairlab or transformers made: a run's folder, an exported ensemble, a pipeline, names like LABEL_0."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer, pipeline

import fairlab
from fairlab.api.auditing import as_audited
from fairlab.audit.classifiers import as_classifier
from fairlab.backbones.classification import Classifier, with_classifier
from fairlab.backbones.export import export_backbone
from fairlab.backbones.loading import load_backbone
from fairlab.methods.safety_ensemble.exported.export import save_ensemble
from fairlab.methods.safety_ensemble.model import HarmModel
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.methods.safety_ensemble.sources.sentiment import Sentiment
from fairlab.record import Record
from tests.audit.test_running import ROWS, audit

SENTIMENT = "fairlab.methods.safety_ensemble.sources.sentiment.Sentiment"


@pytest.fixture
def run_folder(tiny, tmp_path):
    """A folder as a run leaves it, with a classifier of three labels."""
    tiny.model = with_classifier(tiny, ["bad", "fair", "good"])
    export_backbone(tiny, tmp_path / "run" / "model", "card")
    Record(
        tmp_path / "run", {"backbone": {"pooling": "mean", "max_length": 32, "normalize": False}}, "", "finished"
    ).save()
    return tmp_path / "run"


@pytest.mark.parametrize("kind", [OneVsRestClassifier, MultiOutputClassifier])
def test_a_pipeline_of_several_labels_takes_a_column_of_each(kind):
    """scikit-learn names no label of an indicator matrix; the data's columns do."""
    texts = [row["text"] for row in ROWS]
    truth = np.array([[k % 2, k // 2 % 2] for k in range(len(ROWS))])
    model = make_pipeline(CountVectorizer(), kind(LogisticRegression())).fit(texts, truth)
    found = as_classifier(model)
    assert (found.kind, found.labels) == ("several", ())
    assert np.shape(found.call([[text] for text in texts[:3]])) == (3, 2)


def test_boolean_classes_are_written_as_the_data_writes_them():
    texts = [row["text"] for row in ROWS]
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, [k % 2 == 0 for k in range(len(texts))])
    assert as_classifier(model).labels == ("0", "1")


def test_a_list_of_classes_names_the_labels():
    """scikit-learn has a list of arrays if there are several labels per text; others write a list of names."""
    one = SimpleNamespace(predict_proba=lambda texts: [[0.2, 0.8]] * len(texts), classes_=["bad", "good"])
    found = as_classifier(one)
    assert (found.kind, found.labels) == (None, ("bad", "good"))


@pytest.mark.slow
def test_a_folder_of_a_run_is_its_model(run_folder):
    rows = [one | {"label": ("bad", "good", "Fair")[k % 3]} for k, one in enumerate(ROWS)]
    found = audit(str(run_folder / "model"), rows, group="sex")
    assert found.models[""].labels == ("bad", "fair", "good")
    assert "sex_good_f" in set(found.to_pandas()["subset"])
    by_run = audit(str(run_folder), rows, group="sex")
    assert by_run["audit/gender/flips"] == found["audit/gender/flips"]


def test_an_exported_ensemble_is_audited_by_harm(tmp_path):
    steps = Pipeline([("fill", SimpleImputer()), ("scale", StandardScaler()), ("model", LogisticRegression())])
    features = np.random.default_rng(0).random((20, 4))
    harm = HarmModel([steps.fit(features, features[:, 0] > 0.5)], 1.0, 0.0)
    save_ensemble({"hate": harm}, Sources([Sentiment()]), tmp_path / "ensemble")
    (tmp_path / "ensemble" / "sources.yaml").write_text(f"sentiment: {{_target_: {SENTIMENT}}}\n")
    model = as_classifier(str(tmp_path / "ensemble"))
    assert (model.labels, model.kind) == (("hate",), "several")
    found = audit(str(tmp_path / "ensemble"), [one | {"hate": one["label"]} for one in ROWS], label=["hate"])
    assert "people_gender_hate" in set(found.to_pandas()["subset"])


@pytest.mark.parametrize("form", ["pipeline", "pair"])
def test_a_transformers_pipeline_whose_labels_are_numbered(tiny_folders, form):
    model = AutoModelForSequenceClassification.from_pretrained(tiny_folders["bert"], num_labels=2).eval()
    tokenizer = AutoTokenizer.from_pretrained(tiny_folders["bert"])
    given = (
        pipeline("text-classification", model=model, tokenizer=tokenizer) if form == "pipeline" else (model, tokenizer)
    )
    found = fairlab.audit(given, ROWS, mode="lexical")
    assert found.models[""].labels == ("LABEL_0", "LABEL_1")
    assert 0 <= found["audit/all/model_accuracy"] <= 100


@pytest.mark.parametrize("form", ["folder", "pair"])
def test_a_transformer_reads_as_much_of_a_text_as_its_own_library(tiny_folders, tmp_path, form):
    """Not only the first 128 tokens, which are enough for benchmarks."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_folders["bert"], model_max_length=256)
    config = AutoConfig.from_pretrained(tiny_folders["bert"], max_position_embeddings=256, initializer_range=1.0)
    model = AutoModelForSequenceClassification.from_config(config).eval()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    text = "he saw the river " * 40 + "and she saw the boat"
    encoded = tokenizer(text, return_tensors="pt")
    assert 128 < encoded["input_ids"].shape[1] < 256
    with torch.no_grad():
        expected = model(**encoded).logits.softmax(-1).numpy()
    found = as_audited(str(tmp_path) if form == "folder" else (model, tokenizer)).call([[text]])
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)


@pytest.mark.slow
def test_several_labels_at_once_of_a_transformer(tiny_folders):
    names = {0: "toxic", 1: "insult"}
    model = AutoModelForSequenceClassification.from_pretrained(
        tiny_folders["bert"], num_labels=2, id2label=names, problem_type="multi_label_classification"
    )
    rows = [one | {"labels": ["toxic"] * (k % 2) + ["insult"] * (k % 3 == 0)} for k, one in enumerate(ROWS)]
    found = fairlab.audit(
        (model.eval(), AutoTokenizer.from_pretrained(tiny_folders["bert"])), rows, label="labels", mode="lexical"
    )
    assert {"people_gender_toxic", "people_gender_insult"} <= set(found.to_pandas()["subset"])


@pytest.mark.slow
def test_pairs_of_texts_of_a_transformer(run_folder):
    rows = [{"a": one["text"], "b": "Who is it?", "label": ("bad", "good")[k % 2]} for k, one in enumerate(ROWS)]
    found = audit(str(run_folder / "model"), rows, field=["a", "b"])
    loaded = load_backbone(str(run_folder / "model"), pooling="mean", max_length=32, normalize=False)
    outputs = Classifier(loaded, ["bad", "fair", "good"]).outputs([(one["a"], one["b"]) for one in rows])
    right = np.mean(
        [("bad", "fair", "good")[k] == one["label"] for k, one in zip(outputs.argmax(1), rows, strict=True)]
    )
    assert found["audit/all/model_accuracy"] == pytest.approx(100 * right)
