"""Table 2's measures on a model whose rewritings are known."""

import copy
import math

import pytest
import torch
from transformers import BartConfig, BartForConditionalGeneration

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks.perturber import PerturberQuality, by_rules, examples, offset
from fairlab.data.perturbation_pairs import PerturbationPair, part_of
from fairlab.methods.perturber import add_markers
from fairlab.rewriting.perturber import Perturber, source_text
from fairlab.types import CannotScore, FairlabError
from tests.conftest import write_rows

PAIRS = [
    ("She saw her boat near the old bridge.", "She", "man", "He saw his boat near the old bridge."),
    ("The man left early and slept well.", "man", "woman", "The woman left early and slept well."),
    ("A father told his son about the rain.", "father", "non-binary", "A parent told their son about the rain."),
]
FIELDS = ("original", "selected_word", "target_attribute", "perturbed")


@pytest.fixture
def backbone(tokenizer):
    torch.manual_seed(0)
    size = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    ids = {"pad_token_id": 0, "bos_token_id": 101, "eos_token_id": 102, "decoder_start_token_id": 102}
    config = BartConfig(vocab_size=30522, max_position_embeddings=64, **ids, **size, **heads)
    model = BartForConditionalGeneration(config).eval()
    made = Backbone(model, copy.deepcopy(tokenizer), pooling="mean", max_length=64, normalize=False)
    add_markers(made, seed=0)
    return made


@pytest.fixture
def path(tmp_path):
    return write_rows(tmp_path / "pairs.jsonl", [dict(zip(FIELDS, pair, strict=True)) for pair in PAIRS])


def values(outcome):
    return {(reading.subset, reading.quantity): reading.value for reading in outcome.readings}


def test_rewriters_side_by_side(backbone, path, monkeypatch):
    made = [PAIRS[0][3], PAIRS[1][0], PAIRS[2][3]]  # right, unchanged, right
    monkeypatch.setattr(Perturber, "rewrite", lambda *_, **__: made)
    benchmark = PerturberQuality(path, ["no/such/text.txt"], [], None, format="paper")  # a path is taken, not both
    outcome = benchmark.measure(backbone)
    found = values(outcome)
    assert found["perturber", "exact"] == pytest.approx(200 / 3)
    assert found["perturber", "levenshtein"] == pytest.approx(1 / 3)
    assert found["original", "levenshtein"] == pytest.approx((2 + 1 + 2) / 3)
    assert found["original", "exact"] == 0
    assert found["rules", "exact"] > found["original", "exact"]
    assert found["perturber", "bleu"] > found["original", "bleu"]
    assert 0 < found["word_swap", "rouge_2"] <= 100
    again = benchmark.measure(backbone, outcome.items)
    assert {entry.difference for entry in again.comparisons} == {0.0}
    assert outcome.items["log_likelihoods"].shape == outcome.items["tokens_changed"].shape == (3,)


def test_the_first_rewrite_of_each_kind_is_shown():
    pairs = [PerturbationPair(*pair) for pair in PAIRS]
    made = [PAIRS[0][3], PAIRS[1][0], PAIRS[2][3]]  # right, unchanged, right
    said = examples(pairs, made)
    assert 0 < said.index(PAIRS[0][0]) < said.index("not as the reference") < said.index(PAIRS[1][0])
    assert PAIRS[2][0] not in said
    assert "not as" not in examples(pairs, [pair.perturbed for pair in pairs])


def test_only_pairs_that_training_left_out_are_measured(backbone, tmp_path, monkeypatch):
    rows = [dict(zip(FIELDS, (f"He saw {k}.", "He", "woman", f"She saw {k}."), strict=True)) for k in range(100)]
    file = write_rows(tmp_path / "panda.jsonl", rows)
    asked = []
    monkeypatch.setattr(Perturber, "rewrite", lambda _, texts, *__, **___: asked.extend(texts) or texts)
    benchmark = PerturberQuality(None, ["no/such/text.txt"], [], None, "paper", test_of=file, test=0.1)
    found = values(benchmark.measure(backbone))
    assert asked == [row["original"] for row in rows if part_of(row["original"], 0.2, 0.1) == "test"]
    assert 3 <= len(asked) <= 20
    assert ("rules", "bleu") in found  # the references are not the rules' own
    with pytest.raises(FairlabError, match=r"give benchmark\.perturber\.path"):
        PerturberQuality(None, None, [], None, "paper", test_of=file, test=0.0)


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("The nurse said that he left.", "he", 20),  # not in "The"
        ("Then she saw her shed.", "she", 5),
        ("He left.", "he", 0),
        ("Mother and the other.", "other", 15),
        ("The others left.", "other", -1),
        ("A man (him) left.", "him", 7),
    ],
)
def test_the_selected_word_is_a_word_and_no_part_of_one(text, word, expected):
    assert offset(PerturbationPair(text, word, "woman", "")) == expected


def test_rules_turn_the_selected_word_and_not_a_part_of_another():
    pairs = [
        PerturbationPair("The mother said he left.", "he", "woman", "The mother said she left."),
        PerturbationPair("The boat left.", "he", "woman", "The boat left."),  # which does not hold the word
        PerturbationPair("She met her Asian friend.", "Asian", "black", "She met her black friend."),
    ]
    assert by_rules(pairs)[:2] == [pair.perturbed for pair in pairs[:2]]
    assert "Asian" not in by_rules(pairs)[2]


def test_perplexity_of_all_and_of_changed_tokens_pair_by_pair(backbone, path):
    outcome = PerturberQuality(path, None, [], None, format="perturbers").measure(backbone)
    sums, counts = [0.0, 0.0], [0, 0]
    for original, word, target, perturbed in PAIRS:
        source = backbone.tokenizer(source_text("perturbers", word, target, original), return_tensors="pt")["input_ids"]
        targets = backbone.tokenizer(perturbed)["input_ids"]
        with torch.no_grad():
            logits = backbone.model(input_ids=source, labels=torch.tensor([targets])).logits[0]
        scores = logits.log_softmax(-1)[range(len(targets)), targets].tolist()
        old = backbone.tokenizer(original)["input_ids"]
        changed = [token not in old for token in targets]  # these pairs repeat no word that changes
        for kind, kept in enumerate(([True] * len(targets), changed)):
            sums[kind] += sum(score for score, keep in zip(scores, kept, strict=True) if keep)
            counts[kind] += sum(kept)
    found = values(outcome)
    assert found["perturber", "perplexity"] == pytest.approx(math.exp(-sums[0] / counts[0]), rel=1e-4)
    assert found["perturber", "perplexity_changed"] == pytest.approx(math.exp(-sums[1] / counts[1]), rel=1e-4)
    assert {reading.n for reading in outcome.readings if reading.quantity == "perplexity"} == {counts[0]}


def test_silver_references_are_said_to_be_the_rules_own(backbone, tmp_path):
    (tmp_path / "x.txt").write_text("\n\n".join(pair[0] for pair in PAIRS))
    backbone.model.config.perturber_format = "paper"
    outcome = PerturberQuality(None, [str(tmp_path / "x.txt")], ["gender"], None, None).measure(backbone)
    assert any("includes its errors" in note.text for note in outcome.notes)
    assert ("rules", "bleu") not in values(outcome)
    assert ("word_swap", "bleu") in values(outcome)


def test_what_cannot_be_measured_is_said(backbone, path):
    with pytest.raises(CannotScore, match="not trained as a perturber"):
        PerturberQuality(path, None, [], None, None).measure(backbone)
    with pytest.raises(FairlabError, match=r"give benchmark\.perturber\.path"):
        PerturberQuality(None, None, [], None, None)
    with pytest.raises(FairlabError, match="must be at least 2"):
        PerturberQuality(path, None, [], 1, None)


def test_two_pairs_are_the_fewest(backbone, path, tmp_path, monkeypatch):
    monkeypatch.setattr(Perturber, "rewrite", lambda _, texts, *__, **___: texts)
    found = PerturberQuality(path, None, [], 2, "paper").measure(backbone)
    assert {one.n for one in found.readings if not one.quantity.startswith("perplexity")} == {2}
    one = write_rows(tmp_path / "one.jsonl", [dict(zip(FIELDS, PAIRS[0], strict=True))])
    with pytest.raises(FairlabError, match="yield 1 pairs"):
        PerturberQuality(one, None, [], None, "paper").measure(backbone)
    assert PerturberQuality("pairs.jsonl", None, [], 2, "paper").limit == 2
    pairs = PerturberQuality("pairs.jsonl", None, [], 2, "paper", test_of="others.jsonl", test=0.1)
    assert (pairs.path, pairs.test) == ("pairs.jsonl", 0)
    with pytest.raises(FairlabError, match=r"perturber\.limit must be at least 2, not 1"):
        PerturberQuality("pairs.jsonl", None, [], 1, "paper")
