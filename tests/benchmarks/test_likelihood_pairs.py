import csv
import math

import numpy as np
import pytest
import torch
from scipy.stats import binomtest

from fairlab.backbones.loading import load_backbone
from fairlab.benchmarks.likelihood_pairs import LikelihoodPairs, quantities_of_attributes
from fairlab.record import Note
from fairlab.types import CannotScore, DataUnavailable, FairlabError, Group
from tests.conftest import row, write_rows

WHO = {"neutral": "a person", "blind": "a kind cook", "deaf": "the poor nurse", "x": "an old man"}


def groups(count):
    rest = ["saw the boat", "was angry", "met her king", "left", "was happy and kind"]
    return [
        Group(f"g{k}", "disability", {name: f"{who} {rest[k % 5]} {k}" for name, who in WHO.items()})
        for k in range(count)
    ]


def load(folder):
    return load_backbone(str(folder), pooling="mean", max_length=64, normalize=False)


def values(result):
    return {(one.subset, one.quantity): one for one in result.readings}


def test_shares_and_their_distance_from_even_by_hand():
    scored = {
        "a_than_b": np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 0.0], [0.0, 1.0]]),  # hit, hit, tie, miss: 50
        "a_than_c": np.array([[1.0, 0.0]] * 4),  # 100
        "b_than_c": np.array([[0.0, 1.0]] * 3 + [[np.nan, np.nan]]),  # 0 of 3
    }
    found = {one.name: one for one in quantities_of_attributes("s", scored)}
    assert [found[f"likelier_{name}"].value for name in scored] == [50.0, 100.0, 0.0]
    assert found["likelier_b_than_c"].n == 3
    assert found["ties_a_and_b"].value == 25.0
    assert found["distance_from_even_all_pairs"].value == pytest.approx((0 + 50 + 50) / 3)
    assert LikelihoodPairs.description.quantities["distance_from_even_all_pairs"].headline
    raw = [binomtest(k, n).pvalue for k, n in ((2, 3), (4, 4), (0, 3))]
    assert [found[f"likelier_{name}"].p for name in scored] == pytest.approx(raw)
    assert found["likelier_a_than_c"].p_holm == pytest.approx(3 * raw[1])
    (two,) = [
        one
        for one in quantities_of_attributes("s", {"a_than_b": scored["a_than_c"]})
        if one.name.startswith("distance")
    ]
    assert (two.name, two.value, two.p) == ("distance_from_even", 50.0, pytest.approx(raw[1]))
    assert found["distance_from_even_all_pairs"].p is None


def test_a_causal_model_by_one_sentence_at_a_time(tiny_folders, tmp_path):
    backbone = load(tiny_folders["llama"])
    some = groups(4)
    path = write_rows(tmp_path / "Mine.jsonl", [row(group) for group in some])
    result = LikelihoodPairs([path]).measure(backbone)

    def likelihood(text):
        start = backbone.tokenizer.bos_token_id or backbone.tokenizer.eos_token_id
        ids = torch.tensor([[start, *backbone.tokenizer(text, add_special_tokens=False)["input_ids"]]])
        with torch.no_grad():
            logits = backbone.model(input_ids=ids).logits[0].double()
        return torch.log_softmax(logits[:-1], dim=-1).gather(1, ids[0, 1:, None]).sum().item()

    found = values(result)
    pairs = [("blind", "deaf"), ("blind", "x"), ("deaf", "x")]
    for one, other in pairs:
        hits = sum(likelihood(g.versions[one]) > likelihood(g.versions[other]) for g in some)
        assert found["mine", f"likelier_{one}_than_{other}"].value == pytest.approx(25 * hits)
    assert set(result.items) == {f"mine/{one}_than_{other}" for one, other in pairs}


def test_a_masked_model_before_and_after(tiny_folders):
    backbone = load(tiny_folders["bert_mlm"])
    benchmark = LikelihoodPairs(limit=6)
    benchmark.own["held_out_disability"] = groups(12)
    first = benchmark.measure(backbone)
    again = benchmark.measure(backbone, first.items)
    headline = values(again)["held_out_disability", "distance_from_even_all_pairs"]
    assert headline.n == 6
    assert {c.quantity for c in again.comparisons} == {one.quantity for one in first.readings}
    assert all(c.difference == 0 for c in again.comparisons)
    with torch.no_grad():
        for weight in backbone.model.parameters():
            weight.mul_(-1.7)
    moved = benchmark.measure(backbone, first.items)
    for c in moved.comparisons:
        place = (c.subset, c.quantity)
        assert c.difference == pytest.approx(values(moved)[place].value - values(first)[place].value)


@pytest.mark.parametrize("protocol", ["nangia", "meade"])
def test_pairs_of_a_file_have_the_quantities_of_crows_pairs_for_types_of_ones_own(tiny_folders, tmp_path, protocol):
    from fairlab.benchmarks.crows_pairs import CrowSPairs

    def write(name, kind):
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as out:
            rows = csv.writer(out)
            rows.writerow(["", "sent_more", "sent_less", "stereo_antistereo", "bias_type"])
            for k, group in enumerate(groups(8)):
                texts = group.versions["blind"], group.versions["deaf"]
                rows.writerow([k, *texts, ("stereo", "antistereo")[k % 2], kind])
        return str(tmp_path / name)

    backbone = load(tiny_folders["bert_mlm"])
    own = values(LikelihoodPairs([write("my pairs.csv", "eye-sight")], protocol=protocol).measure(backbone))
    published = CrowSPairs(protocol, ["age"], path=write("age.csv", "age")).measure(backbone)
    assert len(own) == len(published.readings)
    for reading in published.readings:
        other = own["my_pairs_eye_sight", reading.quantity]
        assert other.value == reading.value
        assert math.isclose(other.p or 0, reading.p or 0)


def test_a_note_on_all_texts_is_given_once(tiny_folders, monkeypatch):
    texts = lambda name, protocol, pairs, backbone: ([t for one in pairs for t in (one.more, one.less)], [note])  # noqa: E731
    note = Note("likelihood_pairs", "the texts are odd")
    monkeypatch.setattr("fairlab.benchmarks.likelihood_pairs.texts_to_score", texts)
    benchmark = LikelihoodPairs()
    benchmark.own["mine"] = groups(2)
    assert benchmark.measure(load(tiny_folders["llama"])).notes == [note]


def test_what_is_measured_is_said_by_set(tmp_path):
    path = write_rows(tmp_path / "mine.jsonl", [row(group) for group in groups(2)])
    benchmark = LikelihoodPairs([path, str(tmp_path / "none.jsonl")])
    benchmark.own["held"] = groups(1)
    assert benchmark.measured_axes == {"mine": {"disability"}, "held": {"disability"}}


def test_what_cannot_be_measured(tiny, tmp_path):
    with pytest.raises(DataUnavailable, match=r"give benchmark.likelihood_pairs.sets=\[FILE\], or train on groups"):
        LikelihoodPairs().measure(tiny)
    with pytest.raises(CannotScore):
        LikelihoodPairs([write_rows(tmp_path / "a.jsonl", [row(group) for group in groups(2)])]).measure(tiny)
    with pytest.raises(FairlabError, match="have the same name in results"):
        LikelihoodPairs(["x/a.jsonl", "y/a.csv"])
