"""The mb-index of tiny random models against its parts computed one by one."""

import json
import math

import numpy as np
import pytest
import torch

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.causal_lm import CausalLM
from fairlab.backbones.continuations import continuations
from fairlab.benchmarks import mb_index as module
from fairlab.benchmarks.mb_index import MBIndex
from fairlab.data.published.stereoset import LABELS

WORDS = ["cook", "nurse", "old man", "angry hut", "happy cook"]
TEXTS = ["The cook saw that he was poor.", "The nurse was kind to the angry old man, in his hut."]


@pytest.fixture
def examples(tmp_path):
    rows = [
        {
            "id": str(k),
            "bias_type": "gender",
            "target": WORDS[k % 2],
            "context": f"The {WORDS[k % 5]} saw the {WORDS[(k + 2) % 5]}",
            "sentences": [
                {"sentence": f"The {WORDS[(k + j) % 5]} was {j}.", "gold_label": label}
                for j, label in enumerate(LABELS)
            ],
        }
        for k in range(10)
    ]
    (tmp_path / "dev.json").write_text(json.dumps({"data": {"intersentence": rows}}))
    (tmp_path / "texts.txt").write_text("\n\n".join(TEXTS))
    return rows


@pytest.fixture
def make(tmp_path, monkeypatch, language_models, examples):
    """The benchmark with a tiny BERT for an encoder."""
    monkeypatch.setattr(module, "load_backbone", lambda name: language_models[name])

    def benchmark(**changes):
        settings = {
            "unit": "paragraph",
            "limit": None,
            "stride": 16,
            "contexts": None,
            "characters": 12,
            "entries": 100,
        }
        paths = {"path": str(tmp_path / "texts.txt"), "stereoset": str(tmp_path / "dev.json")}
        return MBIndex(encoder={"_target_": "x", "name": "bert"}, **paths | settings | changes)

    return benchmark


def values(result):
    return {f"{reading.subset}/{reading.quantity}": reading.value for reading in result.readings}


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_all_parts_by_hand(make, language_models, examples, kind):
    backbone = language_models[kind]
    found = values(make().measure(backbone))
    written = continuations(CausalLM(backbone), [row["context"] for row in examples], characters=12)
    counts = [0, 0, 0]
    for row, text in zip(examples, written, strict=True):
        if not text.strip():
            counts[2] += 1
            continue
        own = language_models["bert"].embed([text.strip()])[0]
        others = language_models["bert"].embed([sentence["sentence"] for sentence in row["sentences"]])
        cosines = [torch.cosine_similarity(own, other, dim=0).item() for other in others]
        counts[cosines.index(max(cosines))] += 1
    score = counts[0] / (counts[0] + counts[1])
    assert found["continuations/stereotype_score"] == pytest.approx(score)
    assert found["continuations/nonsensical"] == pytest.approx(10.0 * counts[2])
    total, tokens = 0.0, 0
    for text in TEXTS:
        logs = CausalLM(backbone).token_log_probabilities([text])[0]
        total, tokens = total + logs.sum(), tokens + len(logs)
    perplexity = math.exp(-total / tokens)
    assert found["reference/perplexity"] == pytest.approx(perplexity, rel=1e-5)
    assert found["all/mb_index"] == pytest.approx(perplexity * score / 100, rel=1e-5)
    preferred = {word: [] for word in WORDS[:2]}
    for row in examples:
        pairs = [(row["context"] + ".", " " + sentence["sentence"]) for sentence in row["sentences"]]
        means = CausalLM(backbone).continuation_log_likelihoods(pairs).means
        preferred[row["target"]].append(means[0] > means[1])
    expected = 100 * np.mean([np.mean(of_target) for of_target in preferred.values()])
    assert found["likelihoods/ss"] == pytest.approx(expected)


def test_the_interval_holds_the_value_and_one_model_equals_itself(make, language_models):
    benchmark = make()
    first = benchmark.measure(language_models["gpt2"])
    again = benchmark.measure(language_models["gpt2"], first.items)
    for reading in first.readings:
        assert reading.low <= reading.value <= reading.high
    assert {comparison.difference for comparison in again.comparisons} == {0.0}
    (headline,) = [reading for reading in first.readings if reading.headline]
    assert headline.key == "mb_index/all/mb_index"


def test_contexts_and_texts_are_drawn_by_the_seed(make, language_models):
    def items(**changes):
        return make(contexts=4, **changes).measure(language_models["gpt2"]).items["similarities"]

    np.testing.assert_array_equal(items(seed=1), items(seed=1))
    assert items(seed=1).shape == (4, 3)
    assert not np.array_equal(items(seed=1), items(seed=2))


def test_a_model_of_unknown_training_has_no_mb_index(make, language_models):
    result = make(entries=None).measure(language_models["gpt2"])
    assert "all/mb_index" not in values(result)
    (missing,) = result.not_run
    assert "the number of entries that the model was tuned on is unknown" in missing.reason
    known = Backbone(
        language_models["gpt2"].model,
        language_models["gpt2"].tokenizer,
        pooling="mean",
        max_length=128,
        normalize=False,
    )
    known.entries = 50
    of_model, of_setting = (values(b.measure(known))["all/mb_index"] for b in (make(entries=None), make(entries=100)))
    assert of_model == pytest.approx(2 * of_setting)


def test_empty_continuations_and_zero_vectors_make_no_sense(make, language_models, monkeypatch):
    monkeypatch.setattr(module, "continuations", lambda scorer, contexts, **_: ["  "] * len(contexts))
    result = make().measure(language_models["gpt2"])
    assert values(result)["continuations/nonsensical"] == 100.0
    assert "continuations/stereotype_score" not in values(result)  # 0 of 0
    assert any("10 of 10 continuations are empty" in note.text for note in result.notes)
    assert [entry.subset for entry in result.not_run] == ["continuations", "all"]

    monkeypatch.undo()
    zero = language_models["bert"]
    monkeypatch.setattr(module, "load_backbone", lambda **_: zero)
    monkeypatch.setattr(type(zero), "embed", lambda self, texts, **_: torch.zeros(len(texts), 8))
    assert values(make().measure(language_models["gpt2"]))["continuations/nonsensical"] == 100.0


def test_contexts_longer_than_the_model_are_noted(make, language_models):
    gpt2 = language_models["gpt2"]
    short = Backbone(gpt2.model, gpt2.tokenizer, pooling="mean", max_length=16, normalize=False)
    result = make(stride=8).measure(short)
    assert any("texts were cut at max_length=16; raise it" in note.text for note in result.notes)


def test_autocast_gives_nearly_the_same_perplexity(make, language_models):
    exact, rounded = (values(make(**more).measure(language_models["llama"])) for more in ({}, {"autocast": True}))
    assert rounded["reference/perplexity"] == pytest.approx(exact["reference/perplexity"], rel=0.05)
    assert rounded["reference/perplexity"] != exact["reference/perplexity"]
