"""fairlab.evaluate and fairlab.compare against the entry point and against differences computed by hand."""

from types import ModuleType

import numpy as np
import pytest
from safetensors.numpy import load_file
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoTokenizer

import fairlab
import fairlab.augment as augment_entry
from fairlab.metrics.bootstrap import percentile_interval, two_sided_p
from fairlab.protocols import Benchmark
from fairlab.types import Description, FairlabError, QuantityInfo
from tests.conftest import make_groups, row, write_rows


@pytest.fixture
def groups(tmp_path):
    """Settings of a benchmark that takes a moment."""
    return {"benchmark.cced.sets": [write_rows(tmp_path / "groups.jsonl", [row(group) for group in make_groups(20)])]}


def test_the_package_lists_its_functions_whatever_was_imported():
    assert {"augment", "compare", "debias", "evaluate", "load", "rewrite", "runs"} <= set(dir(fairlab))
    assert not isinstance(fairlab.augment, ModuleType)
    assert augment_entry is fairlab.augment  # of a name of both, the function is meant
    with pytest.raises(AttributeError, match="no attribute 'rewrit'"):
        getattr(fairlab, "rewrit")  # noqa: B009


@pytest.mark.slow
def test_models_in_memory_are_measured_as_from_their_folder(tiny_folders, groups, tmp_path):
    folder = tiny_folders["bert"]
    expected = fairlab.evaluate(fairlab.load(folder, max_length=32), "cced", settings=groups)
    pair = (AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder))
    measured = fairlab.evaluate(fairlab.load(pair, max_length=32), "cced", settings=groups)
    assert measured.record.metrics() == expected.record.metrics()
    sentence = SentenceTransformer(str(folder))
    sentence.save(str(tmp_path / "saved"))
    of_object = fairlab.evaluate(sentence, ["cced"], settings=groups)
    assert of_object.record.metrics() == fairlab.evaluate(tmp_path / "saved", "cced", settings=groups).record.metrics()
    found = [of_object[f"cced/groups/distance_{attribute}"] for attribute in ("man", "woman")]
    assert found == pytest.approx(distances(sentence), abs=1e-5)


def distances(sentence):
    """Mean distances to neutral of both attributes, by sentence-transformers alone."""
    groups = make_groups(20)
    embedded = sentence.encode([text for group in groups for text in group.texts]).reshape(len(groups), 3, -1)
    return np.linalg.norm(embedded[:, 1:] - embedded[:, :1], axis=2).mean(axis=0)


@pytest.mark.slow
def test_a_comparison_afterwards_is_that_of_one_measurement(tiny_folders, groups):
    models = {
        label: fairlab.load(tiny_folders[name], max_length=32) for label, name in (("a", "bert"), ("b", "bert_mlm"))
    }
    together = fairlab.evaluate(models, "cced", settings=groups)
    assert list(dict.fromkeys(reading.phase for reading in together.readings)) == ["a", "b"]
    apart = [fairlab.evaluate(model, "cced", settings=groups) for model in models.values()]
    changes = fairlab.compare(*apart)
    expected = {(c.subset, c.quantity): c for c in together.comparisons}
    found = {(c.subset, c.quantity): c for c in changes.comparisons}
    assert found.keys() == expected.keys()
    for key, comparison in found.items():
        assert comparison.difference == expected[key].difference
        assert (comparison.low, comparison.high) == pytest.approx((expected[key].low, expected[key].high), abs=1e-6)
        assert (comparison.p, comparison.p_holm) == pytest.approx((expected[key].p, expected[key].p_holm))
    draws = [load_file(one.record.folder / "items" / "cced.draws.safetensors")["groups/gap"] for one in apart]
    by_hand = draws[1].astype(float) - draws[0]
    gap = found["groups", "gap"]
    assert (gap.low, gap.high) == percentile_interval(by_hand)
    assert gap.p == two_sided_p(by_hand)
    assert "CCED gap" in changes.to_markdown()
    assert "booktabs" in changes.to_latex()
    assert list(changes.to_pandas()["difference"]) == [c.difference for c in changes.comparisons]


def test_results_are_shown_saved_and_found_again(tiny_folders, groups, tmp_path):
    results = fairlab.evaluate(fairlab.load(tiny_folders["bert"], max_length=32), ["cced"], settings=groups, limit=5)
    table = results.to_pandas()
    (gap,) = table[table.quantity == "gap"].to_dict("records")
    assert (gap["value"], gap["n"]) == (results["cced/groups/gap"], 5)
    assert "limit=5: only some items" in str(results)
    assert r"\begin{tabular}{lrrr}" in results.to_latex("A caption & more")
    assert r"\caption{A caption \& more}" in results.to_latex("A caption & more")
    assert "limit=5" in results.report(tmp_path / "report.html").read_text()
    results.save(tmp_path / "runs" / "first")
    (record,) = fairlab.runs(tmp_path / "runs")
    assert record.metrics() == results.record.metrics()
    assert record.status == "finished"
    assert fairlab.compare(tmp_path / "runs" / "first", results).comparisons[0].difference == 0
    with pytest.raises(FairlabError, match="first already exists; give a new folder"):
        results.save(tmp_path / "runs" / "first")
    with pytest.raises(FairlabError, match="there is no reading cced/gap; there are: cced/groups/gap"):
        results["cced/gap"]


class Lengths(Benchmark):
    """A benchmark of one's own."""

    version = 1
    description = Description(
        "lengths", "Lengths", "How long are embeddings?", {"norm": QuantityInfo("norm", "mean length", "norm")}
    )

    def measure(self, backbone, before=None):
        from fairlab.benchmarks.readings import outcome, quantity
        from fairlab.metrics.bootstrap import mean

        values = backbone.embed(["a", "b c", "d"]).norm(dim=1).numpy()
        return outcome(self.description, [quantity(mean, values, subset="all", name="norm")])


def test_a_benchmark_may_be_an_object_of_ones_own(tiny):
    results = fairlab.evaluate(tiny, Lengths())
    expected = tiny.embed(["a", "b c", "d"]).norm(dim=1).mean().item()
    assert results["lengths/all/norm"] == pytest.approx(expected)


def test_what_a_model_cannot_run_is_listed_and_alone_an_error(tiny, groups):
    results = fairlab.evaluate(tiny, ["cced", "crows_pairs"], settings=groups)
    assert [entry.benchmark for entry in results.not_run] == ["crows_pairs"]
    with pytest.raises(FairlabError, match=r"no benchmark could be measured \(crows_pairs: .*head.*\); choose another"):
        fairlab.evaluate(tiny, "crows_pairs")


BAD = {
    "no benchmark": ((["bert"], []), {}, "benchmarks is an empty list; give at least one, such as"),
    "no items": ((["bert"], "seat"), {"limit": 0}, "limit must be a whole number of at least 1 or null, not 0"),
    "an unknown benchmark": (
        (["bert"], "seeat"),
        {},
        "benchmark=seeat: no such choice; the nearest is seat; there are: bbq, bias_ir, bold, cced",
    ),
    "an unknown setting": (
        (["bert"], "seat"),
        {"settings": {"benchmark.seat.test": 1}},
        "there is no key 'test' in 'bench",
    ),
    "an object that is no model": ((3, "seat"), {}, "a int is not a model that fairlab knows; give a name, a folder"),
    "an object that is not a benchmark": ((["bert"], [3]), {}, "a int is not a benchmark; give a name, such as 'seat'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(case, tiny_folders):
    (model, benchmarks), more, message = BAD[case]
    model = tiny_folders[model[0]] if isinstance(model, list) else model
    with pytest.raises(FairlabError) as raised:
        fairlab.evaluate(model, benchmarks, **more)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_models_of_unknown_kinds(tiny, tiny_folders):
    model = AutoModel.from_pretrained(tiny_folders["bert"])
    with pytest.raises(FairlabError, match=r"a BertModel needs its tokenizer; give the pair \(model, tokenizer\)"):
        fairlab.load(model)
    with pytest.raises(FairlabError, match=r"the second element of \(model, tokenizer\) is a str; give the tokenizer"):
        fairlab.load((model, "bert"))
    with pytest.raises(FairlabError, match="a Backbone has its own settings; leave out pooling"):
        fairlab.load(tiny, pooling="cls")
    with pytest.raises(FairlabError, match="no setting 'poolng' of a model; there are: pooling, normalize"):
        fairlab.load(tiny_folders["bert"], poolng="cls")


def test_a_model_is_not_given_more_tokens_than_it_can_read(tiny_folders):
    folder = tiny_folders["bert"]
    pair = (AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder))
    assert fairlab.load(pair).max_length == fairlab.load(folder).max_length == 64  # fewer than the usual 128
    with pytest.raises(FairlabError, match=r"max_length must be in 4..64 for this BertModel, not 128"):
        fairlab.load(pair, max_length=128)


@pytest.mark.slow
def test_what_cannot_be_compared(tiny, tiny_folders, groups, tmp_path):
    whole, some = (fairlab.evaluate(tiny, "cced", settings=groups, limit=limit) for limit in (None, 5))
    with pytest.raises(FairlabError, match=r"cannot be compared: cced/groups/gap is over 20 and 5 items"):
        fairlab.compare(whole, some)
    with pytest.raises(FairlabError, match="share no reading; measure both with the same benchmarks"):
        fairlab.compare(whole, fairlab.evaluate(tiny, Lengths()))
    two = fairlab.evaluate({"a": tiny, "b": tiny}, "cced", settings=groups)
    with pytest.raises(FairlabError, match=r"measured several models \(a, b\); give a run of one model"):
        fairlab.compare(whole, two)
    with pytest.raises(FairlabError, match=r"holds no run \(no record.json\)"):
        fairlab.compare(whole, tmp_path)
    with pytest.raises(FairlabError, match="a int is not a measurement"):
        fairlab.compare(whole, 3)
    (whole.record.folder / "items" / "cced.draws.safetensors").unlink()
    with pytest.raises(FairlabError, match="keeps no draws of cced/groups/gap, as runs of older versions"):
        fairlab.compare(whole, fairlab.evaluate(tiny, "cced", settings=groups))


def test_folders_without_runs(tmp_path):
    with pytest.raises(FairlabError, match=r"holds no run \(no record.json below it\)"):
        fairlab.runs(tmp_path)
    with pytest.raises(FairlabError, match="nowhere is not a folder; give a folder of runs"):
        fairlab.runs("nowhere")
