import json
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.loading import find_weights
from fairlab.backbones.scoring import LogLikelihoods
from fairlab.benchmarks import holistic_bias
from fairlab.benchmarks.holistic_bias import HolisticBias, drawn_descriptors, of_axis, percent_of_pairs, significances
from fairlab.types import CannotScore, FairlabError
from tests.conftest import MINILM
from tests.tiny_models import SMALL

SIZE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
NOUNS = ["aunt", "boy", "chef", "dad", "friend", "guest", "host", "kid", "lady", "man", "niece", "parent"]
DESCRIPTORS = {"age": ["old", "elderly"], "religion": ["Hindu", "Catholic", "Jewish"]}
TEMPLATES = ["I love {plural_noun_phrase}.", "I'm {noun_phrase}."]


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A small set: two axes, two templates, twelve nouns, which is above what an exact test would take."""
    monkeypatch.setenv("FAIRLAB_DATA", str(tmp_path))
    folder = tmp_path / "holistic_bias"
    folder.mkdir()
    contents = {
        "descriptors": {axis: {"all": words} for axis, words in DESCRIPTORS.items()},
        "nouns": {"neutral": [[noun, f"{noun}s"] for noun in NOUNS]},
        "sentence_templates": {template: {} for template in TEMPLATES},
        "standalone_noun_phrases": {},
    }
    for name, content in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(content))


def masked(tokenizer):
    torch.manual_seed(3)
    model = BertForMaskedLM(BertConfig(**SMALL, **SIZE)).eval()
    return Backbone(model, tokenizer, pooling="mean", max_length=32, normalize=False)


def causal():
    torch.manual_seed(4)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=30522, n_embd=32, n_layer=2, n_head=2, n_positions=64)).eval()
    tokenizer = AutoTokenizer.from_pretrained(find_weights(**MINILM), bos_token="[CLS]")
    return Backbone(model, tokenizer, pooling="mean", max_length=32, normalize=False)


@torch.no_grad()
def plain_pseudo_log_likelihood(backbone, text):
    ids = backbone.tokenizer(text)["input_ids"]
    total = 0.0
    for k in range(1, len(ids) - 1):
        tokens = [*ids[:k], backbone.tokenizer.mask_token_id, *ids[k + 1 :]]
        logits = backbone.model(input_ids=torch.tensor([tokens])).logits[0, k].double()
        total += float(logits.log_softmax(-1)[ids[k]])
    return total


@torch.no_grad()
def plain_perplexity(backbone, text):
    ids = [backbone.tokenizer.bos_token_id, *backbone.tokenizer(text, add_special_tokens=False)["input_ids"]]
    logits = backbone.model(input_ids=torch.tensor([ids])).logits[0].double().log_softmax(-1)
    return float(torch.exp(-torch.stack([logits[k, token] for k, token in enumerate(ids[1:])]).mean()))


def by_axis(outcome):
    return {reading.subset: reading for reading in outcome.readings}


@pytest.mark.parametrize("kind", ["masked", "causal"])
@pytest.mark.slow
def test_by_a_plain_computation(kind, published, tokenizer, monkeypatch):
    monkeypatch.setattr(holistic_bias, "AT_ONCE", 17)  # blocks that end amid a sample
    backbone = masked(tokenizer) if kind == "masked" else causal()
    score = plain_pseudo_log_likelihood if kind == "masked" else plain_perplexity
    outcome = HolisticBias("1.1", ["religion", "age"]).measure(backbone)
    shares = {}
    for axis, words in DESCRIPTORS.items():
        tests = []
        for template in ("I love {1}s.", "I'm {0}."):
            samples = {}
            for word in words:
                phrases = [f"{'an' if word[0] in 'aeiou' else 'a'} {word} {noun}" for noun in NOUNS]
                samples[word] = [
                    score(backbone, template.format(phrase, f"{word} {noun}"))
                    for phrase, noun in zip(phrases, NOUNS, strict=True)
                ]
            tests += [mannwhitneyu(samples[a], samples[b]).pvalue < 0.05 for a, b in combinations(words, 2)]
        shares[axis] = 100 * np.mean(tests)
    # So few descriptors have no interval, so that their readings are not run.
    used = "perplexity" if kind == "causal" else "pseudo_log_likelihood"
    found = {axis: of_axis(axis, outcome.items[f"{axis}/{used}"]).value for axis in DESCRIPTORS}
    assert found == pytest.approx(shares)


def test_names_say_what_is_not_the_default():
    assert HolisticBias("1.1").name == "holistic_bias"
    assert HolisticBias("1.1", score="perplexity").name == "holistic_bias@perplexity"
    assert HolisticBias("1.0", score="perplexity").name == "holistic_bias@1.0_perplexity"


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(9, 20), st.sampled_from([3, 50, 10**6]))
def test_tests_equal_scipys_one_by_one(seed, count, nouns, values):
    """Few values make ties."""
    scores = np.random.default_rng(seed).integers(0, values, size=(count, 2, nouns)).astype(float)
    scores[0] += values / 3
    found = significances(scores)
    for i, j in combinations(range(count), 2):
        p = [mannwhitneyu(scores[i, k], scores[j, k]).pvalue for k in range(2)]
        assert found[i, j] == found[j, i] == sum(value < 0.05 for value in p) / 2
    assert not found.diagonal().any()


def test_samples_of_one_distribution_differ_in_about_five_percent():
    scores = np.random.default_rng(0).normal(size=(40, 100, 32))
    assert of_axis("age", scores).value == pytest.approx(5, abs=1)


def test_descriptors_that_make_no_difference_never_differ():
    nouns = np.random.default_rng(0).normal(size=(1, 2, 32))
    quantity = of_axis("age", np.repeat(nouns, 10, axis=0) + np.random.default_rng(1).normal(0, 0.01, (10, 2, 32)))
    assert (quantity.value, quantity.draws.max()) == (0, 0)


def test_drawn_descriptors_are_paired_with_others_only():
    shares = np.array([[0, 1, 0], [1, 0, 0.5], [0, 0.5, 0]])

    def percent(*positions):
        return float(percent_of_pairs(np.array(positions, dtype=float), significance_DD=shares))

    assert percent(0, 1, 2) == pytest.approx(100 * 1.5 / 3)
    assert percent(0, 0, 1) == 100  # two pairs of 0 and 1; none of 0 and 0
    assert percent(2, 1, 2) == 50
    assert np.isnan(percent(1, 1, 1))


@given(st.lists(st.integers(0, 5), min_size=6, max_size=6), st.integers(0, 1000))
def test_percent_of_pairs_by_a_loop(positions, seed):
    shares = np.triu(np.random.default_rng(seed).uniform(size=(6, 6)), 1)
    shares += shares.T
    pairs = [shares[a, b] for a, b in combinations(positions, 2) if a != b]
    found = percent_of_pairs(np.array([positions] * 2, dtype=float), significance_DD=shares)
    expected = 100 * np.mean(pairs) if pairs else np.nan
    assert found == pytest.approx([expected] * 2, nan_ok=True)


@pytest.mark.slow
def test_the_interval_covers_descriptors_drawn_anew():
    """Descriptors whose level varies: the share among 20 of them, against that of a large population."""
    rng = np.random.default_rng(5)
    level = rng.normal(0, 0.5, size=400)
    scores = rng.normal(size=(400, 1, 32)) + level[:, None, None]
    truth = of_axis("age", scores).value
    hits = 0
    for trial in range(60):
        chosen = np.random.default_rng(trial).choice(400, size=20, replace=False)
        low, high = np.quantile(of_axis("age", scores[chosen]).draws, [0.025, 0.975])
        hits += low <= truth <= high
    assert hits >= 52


def test_readings_notes_and_comparisons(published, tokenizer, monkeypatch):
    """Scores by formula, the place of the descriptor added to that of the noun: far ones differ, near ones do not."""
    spread = np.arange(10)[:, None, None] * 3.0 + np.arange(12.0)
    items = {"age": np.repeat(spread, 2, axis=1), "religion": np.repeat(spread * 0 + np.arange(12.0), 2, axis=1)}
    monkeypatch.setattr(HolisticBias, "_scores", lambda self, scorer, score, axis, *rest: items[axis])
    bench = HolisticBias("1.1", ["age", "religion"])
    before = {f"{axis}/pseudo_log_likelihood": scores for axis, scores in items.items()}
    outcome = bench.measure(masked(tokenizer), before)
    readings = by_axis(outcome)
    # Samples of twelve consecutive numbers, moved against each other by three per place.
    p = {d: mannwhitneyu(np.arange(12), np.arange(12) + 3 * d).pvalue for d in range(1, 10)}
    differ = sum((10 - d) * (p[d] < 0.05) for d in p)
    assert readings["age"].value == pytest.approx(100 * differ / 45)
    assert 0 < differ < 45
    assert readings["religion"].value == 0
    assert readings["average"].value == pytest.approx(50 * differ / 45)
    assert [subset for subset, reading in readings.items() if reading.headline] == ["average"]
    assert (readings["age"].n, readings["average"].n) == (90, 180)
    assert [entry.difference for entry in outcome.comparisons] == [0, 0, 0]
    by_another_score = {f"{axis}/perplexity": scores for axis, scores in items.items()}
    assert not bench.measure(masked(tokenizer), by_another_score).comparisons
    (note,) = outcome.notes
    assert note.text.startswith("480 of the 549,120 sentences of HolisticBias 1.1 scored by pseudo_log_likelihood: ")


def test_each_version_of_the_data_has_its_size():
    note, _ = HolisticBias("1.0")._notes({"age": np.zeros((2, 2, 3))}, "perplexity", 26)
    assert note.text.startswith("12 of the 460,980 sentences of HolisticBias 1.0 ")


def test_one_score_everywhere_is_noted(published, tokenizer, monkeypatch):
    monkeypatch.setattr(HolisticBias, "_scores", lambda *given: np.ones((9, 2, 12)))
    outcome = HolisticBias("1.1", ["age"]).measure(masked(tokenizer))
    assert by_axis(outcome)["age"].value == 0
    assert "same score" in outcome.notes[-1].text


def test_an_axis_that_the_data_lacks_is_not_run(published, tokenizer, monkeypatch):
    monkeypatch.setattr(HolisticBias, "_scores", lambda *given: np.random.default_rng(0).normal(size=(9, 2, 12)))
    outcome = HolisticBias("1.1", ["age", "nonce"]).measure(masked(tokenizer))
    assert [entry.subset for entry in outcome.not_run] == ["nonce", "average"]
    assert set(by_axis(outcome)) == {"age"}
    outcome = HolisticBias("1.1", ["nonce"]).measure(masked(tokenizer))
    assert not outcome.readings


def test_draws_grow_and_keep_their_order():
    assert drawn_descriptors(range(50), None, [1]) == list(range(50))
    few, more = drawn_descriptors(range(50), 5, [1]), drawn_descriptors(range(50), 9, [1])
    assert set(few) < set(more)
    assert more == sorted(more)
    assert drawn_descriptors(range(50), 5, [2]) != few


@pytest.mark.parametrize(("sentences", "enough"), [(2 * 2 * 12 * 8, True), (2 * 2 * 12 * 8 - 1, False)])
def test_eight_descriptors_of_each_axis_are_the_fewest(sentences, enough):
    benchmark = HolisticBias("1.1", ["age", "religion"], sentences=sentences)
    descriptors = {str(k): [k] * 12 for k in range(9)}
    if enough:
        assert len(benchmark._descriptors("age", descriptors, [1, 2])) == 8
    else:
        with pytest.raises(FairlabError, match="gives 7 descriptors"):
            benchmark._descriptors("age", descriptors, [1, 2])


def test_settings_that_cannot_be_are_named(published, tokenizer):
    with pytest.raises(FairlabError, match=r"1\.0, 1\.1, not '2'"):
        HolisticBias("2")
    with pytest.raises(FairlabError, match=r"\['gender'\]"):
        HolisticBias("1.1", ["gender"])
    with pytest.raises(FairlabError, match="axes"):
        HolisticBias("1.1", [])
    with pytest.raises(FairlabError, match="gives 2 descriptors to each of 2 axes with 2 templates"):
        HolisticBias("1.1", ["age", "religion"], sentences=96).measure(masked(tokenizer))
    with pytest.raises(CannotScore, match="no pseudo-log-likelihood"):
        HolisticBias("1.1", score="pseudo_log_likelihood").measure(causal())


@pytest.mark.data
def test_what_the_default_configuration_draws(tokenizer, monkeypatch):
    from omegaconf import OmegaConf

    from fairlab.run.command_line.cli import conf_dir

    node = OmegaConf.to_container(OmegaConf.load(f"{conf_dir()}/benchmark/holistic_bias.yaml"))["holistic_bias"]
    asked = []

    def score(scorer, texts):
        assert len(texts) <= holistic_bias.AT_ONCE
        asked.extend(texts)
        values = np.array([float(len(text)) for text in texts])
        return LogLikelihoods(values, np.full(len(texts), 2))

    monkeypatch.setattr(holistic_bias, "sentence_log_likelihoods", score)
    del node["_target_"]
    outcome = HolisticBias(**node).measure(masked(tokenizer))
    shapes = {name.partition("/")[0]: scores.shape for name, scores in outcome.items.items()}
    assert shapes == dict.fromkeys(node["axes"], (26, 2, 32))
    assert 4900 < len(asked) <= node["sentences"]
    lengths = np.concatenate([scores.reshape(-1) for scores in outcome.items.values()])
    assert lengths.tolist() == [len(text) for text in asked]
    assert "2 of 26 templates, 26 descriptors of gender_and_sex" in outcome.notes[0].text
