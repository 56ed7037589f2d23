import csv
import math

import numpy as np
import pytest
import torch
from scipy.stats import binomtest

from fairlab.benchmarks.bias_ir import BiasIR, cosines, deviation, reciprocal_ranks
from fairlab.data.published.bias_ir import CATEGORIES
from fairlab.metrics.bootstrap import percentile_interval
from fairlab.metrics.significance import holm

HEADER = "q_id,d_id,relevant,query,doc_title,document,content_gender,exp_stereotype"
# Angle to its query of every relevant document (male, female, neutral), per query. Queries lie 10 degrees apart, the
# non-relevant documents of a gender between them, at 5 degrees.
MALE, FEMALE, TIE = (1, 2, 3), (2, 1, 3), (2, 2, 1)
PLANS = [[MALE, FEMALE], [MALE, MALE], [FEMALE, FEMALE], [MALE, TIE], [TIE], [MALE, FEMALE], [FEMALE]]
COUNT = sum(len(plan) for plan in PLANS)
DEGREE, TWO_DEGREES = math.cos(math.radians(1)), math.cos(math.radians(2))


class Angles:
    """An encoder that reads a text's last word as an angle in degrees."""

    def embed(self, texts, progress=""):
        angles = torch.tensor([math.radians(float(text.split()[-1])) for text in texts])
        return torch.stack([angles.cos(), angles.sin()], dim=-1)


def write_collection(folder, plans=PLANS):
    """The seven files; the order of genders varies from query to query, as it does in the published ones."""
    query = 0
    (folder / "bias_ir").mkdir(exist_ok=True)
    for category, plan in zip(CATEGORIES.values(), plans, strict=True):
        lines = [HEADER]
        for angles in plan:
            at = 10 * query
            rows = [f"{query},0,1,query {at},title 77,text {at + a},{g},-" for a, g in zip(angles, "MFN", strict=True)]
            rows += [f"{query},0,0,query {at},title 77,text {at + 5},{g},-" for g in "MFN"]
            lines += rows[query % 3 :] + rows[: query % 3]
            query += 1
        (folder / "bias_ir" / f"queries-documents_{category}.csv").write_text("\n".join(lines) + "\n")


@pytest.fixture
def collection(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRLAB_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_collection(tmp_path)
    return tmp_path / "bias_ir"


def by_place(outcome):
    return {(reading.subset, reading.quantity): reading for reading in outcome.readings}


def test_readings_by_hand(collection):
    outcome = BiasIR("document").measure(Angles())
    readings = by_place(outcome)
    ratios = [readings[subset, "male_ratio"] for subset in CATEGORIES]
    assert [reading.value for reading in ratios] == [0.5, 1.0, 0.0, 0.75, 0.5, 0.5, 0.0]
    assert [reading.n for reading in ratios] == [2, 2, 2, 2, 1, 2, 1]
    assert (ratios[1].low, ratios[1].high) == pytest.approx((0.3424, 1.0), abs=5e-5)  # Wilson, 2 of 2
    assert [reading.p for reading in ratios] == [1.0, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0]  # ties left out
    assert {reading.p_holm for reading in ratios} == {1.0}
    average = readings["average", "deviation"]
    assert average.value == pytest.approx((0 + 0.5 + 0.5 + 0.25 + 0 + 0 + 0.5) / 7)
    assert (average.n, average.headline, average.ideal) == (COUNT, True, 0.0)
    pooled = readings["average", "male_ratio"]  # every query counts once, where the deviation counts fields
    assert pooled.value == pytest.approx(sum(one.value * one.n for one in ratios) / COUNT)
    assert pooled.n == COUNT
    headlines = {reading.quantity for reading in outcome.readings if reading.headline}
    assert headlines == {"deviation", "male_ratio", "margin"}
    assert readings["average", "neutral_first"].value == pytest.approx(2 / COUNT)  # in the two ties
    # Five queries prefer male and five female documents, by the same margin.
    assert readings["average", "margin"].value == pytest.approx(0.0, abs=1e-7)
    three = math.cos(math.radians(3))
    expected = np.array([[DEGREE, TWO_DEGREES, three, 1.0], [TWO_DEGREES, DEGREE, three, 1.0]])
    assert outcome.items["appearance"] == pytest.approx(expected, abs=1e-6)
    # A relevant document is at most 3 degrees away, any other at least 5.
    assert readings["average", "reciprocal_rank"].value == 1.0
    assert not outcome.not_run


def test_comparisons_are_paired(collection):
    before = BiasIR("document").measure(Angles()).items
    same = BiasIR("document").measure(Angles(), before).comparisons
    assert all(entry.difference == 0 and entry.p == 1 for entry in same)
    assert "average/deviation" in {f"{entry.subset}/{entry.quantity}" for entry in same}
    swapped = {subset: items[:, [1, 0, 2, 3]] for subset, items in before.items()}  # women's documents for men's
    found = {entry.subset: entry for entry in BiasIR("document").measure(Angles(), swapped).comparisons}
    assert (found["child_care"].difference, found["child_care"].low, found["child_care"].high) == (1, 1, 1)


def test_the_title_takes_part_only_where_asked_for(collection):
    class Titles(Angles):
        def embed(self, texts, progress=""):
            self.seen = texts
            return super().embed(texts)

    for document, expected in (("document", "text 11"), ("title_and_document", "title 77 text 11")):
        encoder = Titles()
        BiasIR(document).measure(encoder)
        assert expected in encoder.seen


def test_the_far_bound(collection):
    write_collection(collection.parent, [[MALE] * 3] * 7)
    readings = by_place(BiasIR("document").measure(Angles()))
    assert {readings[subset, "male_ratio"].value for subset in CATEGORIES} == {1.0}
    assert readings["average", "deviation"].value == 0.5
    assert readings["average", "margin"].value == pytest.approx(DEGREE - TWO_DEGREES, abs=1e-7)


def test_a_collapsed_encoder_is_fair_and_useless(collection):
    class Constant:
        def embed(self, texts, progress=""):
            return torch.ones(len(texts), 3)

    readings = by_place(BiasIR("document").measure(Constant()))
    assert readings["average", "deviation"].value == 0.0
    assert readings["average", "neutral_first"].value == pytest.approx(1 / 3)
    assert readings["average", "reciprocal_rank"].value == pytest.approx(2 / (2 * COUNT + 1))  # mean of 24 ranks


def test_a_missing_file_is_named_and_nothing_is_averaged_over_it(collection):
    (collection / "queries-documents_Sex & Relationship.csv").unlink()
    outcome = BiasIR("document").measure(Angles())
    assert [entry.subset for entry in outcome.not_run] == ["sex_relationship", "average"]
    assert "Sex & Relationship.csv" in outcome.not_run[0].reason
    assert "sex_relationship" in outcome.not_run[1].reason
    subsets = {reading.subset for reading in outcome.readings}
    assert subsets == set(CATEGORIES) - {"sex_relationship"} == set(outcome.items)
    for path in collection.iterdir():
        path.unlink()
    outcome = BiasIR("document").measure(Angles())
    assert not outcome.readings
    assert [entry.subset for entry in outcome.not_run] == [*CATEGORIES, "average"]


def test_irregular_queries_are_noted_and_can_be_left_out(collection):
    file = collection / "queries-documents_Physical Capabilities.csv"
    first = file.read_text().splitlines()[1].split(",")[0]
    rows = [
        row.replace(",M,-", ",both,-") if row.startswith(f"{first},0,0,") else row
        for row in file.read_text().splitlines()
    ]
    file.write_text("\n".join(rows) + "\n")
    everything, regular = (BiasIR("document", items).measure(Angles()) for items in ("all", "regular"))
    assert {reading.benchmark for reading in regular.readings} == {"bias_ir@regular"}
    assert by_place(everything)["average", "deviation"].n == COUNT
    assert by_place(regular)["average", "deviation"].n == COUNT - 1
    for outcome, done in ((everything, "items=regular leaves it out"), (regular, "left out")):
        (note,) = outcome.notes
        assert note.item == first
        assert note.text.startswith("1 of its non-relevant documents have no single gender")
        assert note.text.endswith(done)


def test_equal_documents_tie_to_the_last_bit():
    torch.manual_seed(0)
    queries, documents = torch.randn(7, 384).double(), torch.randn(53, 384).double()
    found = cosines(queries, torch.cat([documents, documents]))
    assert (found[:, :53] == found[:, 53:]).all()
    plain = torch.nn.functional.normalize(queries) @ torch.nn.functional.normalize(documents).T
    assert found[:, :53] == pytest.approx(plain.numpy())


def test_ranks_of_ties():
    similarities = {
        "M": np.array([[0.9, 0.1, 0.5], [0.9, 0.2, 0.5]]),  # ranks 1 and 3
        "F": np.array([[0.5, 0.5, 0.1], [0.9, 0.2, 0.2]]),  # ranks 1.5 and 2.5
    }
    assert reciprocal_ranks(similarities) == pytest.approx([(1 + 1 / 1.5) / 2, (1 / 3 + 1 / 2.5) / 2])


def test_the_interval_resamples_queries_within_their_category():
    fixed = [np.ones(14), np.zeros(12)]  # no resample can change these
    assert percentile_interval(deviation(fixed).draws) == (0.5, 0.5)
    coins = [np.repeat([0.0, 1.0], 10)]
    low, high = percentile_interval(deviation(coins).draws)
    # |Binomial(20, 1/2) / 20 - 1/2|: at least 0.2 with probability 0.115, at least 0.25 with 0.041.
    assert low == 0.0
    assert high in (0.2, 0.25)


@pytest.mark.data
@pytest.mark.parametrize(
    ("weights", "document"),
    [
        ("tiny", "title_and_document"),
        ("tiny", "document"),
        pytest.param("MiniLM", "title_and_document", marks=[pytest.mark.slow, pytest.mark.long]),
    ],
)
def test_the_published_files_by_a_plain_computation(weights, document, data_folder, tiny_folders):
    from sentence_transformers import SentenceTransformer

    from fairlab.backbones.loading import find_weights, load_backbone
    from tests.conftest import MINILM

    named, length = (MINILM, 128) if weights == "MiniLM" else ({"name": str(tiny_folders["bert"])}, 64)
    encoder = load_backbone(**named, pooling="mean", max_length=length, normalize=True)
    readings = by_place(BiasIR(document).measure(encoder))
    model = SentenceTransformer(str(find_weights(**named)), device="cpu")
    model.max_seq_length = length
    deviations, p_values = [], []
    for subset, name in CATEGORIES.items():
        with (data_folder / "bias_ir" / f"queries-documents_{name}.csv").open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["relevant"] == "1"]
        texts = [f"{row['doc_title']} {row['document']}" if "title" in document else row["document"] for row in rows]
        asked = [row["query"] for row in rows]
        embedded = model.encode(texts + asked, normalize_embeddings=True)
        vectors = dict(zip(texts + asked, embedded, strict=True))
        score = {}
        for row, text in zip(rows, texts, strict=True):
            score[row["q_id"], row["content_gender"]] = float(np.dot(vectors[row["query"]], vectors[text]))
        ids = list(dict.fromkeys(row["q_id"] for row in rows))
        wins = sum(score[q, "M"] > score[q, "F"] for q in ids)
        ties = sum(score[q, "M"] == score[q, "F"] for q in ids)
        ratio = (wins + 0.5 * ties) / len(ids)
        deviations.append(abs(ratio - 0.5))
        reading = readings[subset, "male_ratio"]
        assert (reading.value, reading.n) == (pytest.approx(ratio), len(ids))
        p_values.append(binomtest(wins, len(ids) - ties).pvalue)
        assert reading.p == pytest.approx(p_values[-1])
    assert readings["average", "deviation"].value == pytest.approx(np.mean(deviations))
    assert [readings[subset, "male_ratio"].p_holm for subset in CATEGORIES] == pytest.approx(list(holm(p_values)))
