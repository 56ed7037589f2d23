"""Descriptions of benchmarks: complete, each its own, the same as committed records say, and asked of everybody."""

import ast
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from fairlab.benchmarks.classification import Classification
from fairlab.benchmarks.finding import find_class, find_description, own_parts, refuse_undescribed
from fairlab.benchmarks.needs import LACKING
from fairlab.benchmarks.safety_described import TITLES
from fairlab.benchmarks.seat import SEAT
from fairlab.data.published.tasks import TASKS
from fairlab.files import read_record, record_file, run_folders
from fairlab.protocols import Benchmark, DataBenchmark
from fairlab.types import ELSE, Description, FairlabError, QuantityInfo

ROOT = Path(__file__).parents[2]
CLASSES = [part for part in own_parts() if isinstance(part, type)]
DESCRIPTIONS = [part.description if isinstance(part, type) else part for part in own_parts()]
LENGTH = QuantityInfo("mean length", "mean length of the embeddings", "norm")
LENGTHS = Description("lengths", "Lengths", "Do embeddings keep their length?", {"length": LENGTH})


def repeated(words):
    return [word for word, count in Counter(words).items() if count > 1]


def test_every_class_with_a_measure_is_found_with_what_it_is():
    found = {kind.__name__ for kind in CLASSES}
    assert len(found) >= 19
    assert {"SEAT", "CCED", "Safety", "Probe", "DBIndexBenchmark"} <= found
    assert all({Benchmark, DataBenchmark} & set(kind.__mro__) and kind.version >= 1 for kind in CLASSES)


def test_titles_and_questions_are_there_and_each_is_one_benchmarks():
    for words in ([one.title for one in DESCRIPTIONS], [one.question for one in DESCRIPTIONS]):
        assert all(word.strip() == word != "" for word in words)
        assert repeated(words) == []
    assert all(one.question.endswith("?") for one in DESCRIPTIONS)
    titles = [task.title for task in TASKS.values() if task.title]
    assert repeated(titles) == []


@pytest.mark.parametrize("one", DESCRIPTIONS, ids=lambda one: one.name)
def test_every_quantity_says_what_it_is_and_no_two_say_the_same(one):
    assert set(one.needs) <= set(LACKING)
    assert one.needs
    for words in ([info.label for info in one.quantities.values()], [info.meaning for info in one.quantities.values()]):
        assert all(word.strip() == word != "" for word in words)
        assert repeated(words) == []
    for name, info in one.quantities.items():
        low, high = (
            (-float("inf") if info.low is None else info.low),
            (float("inf") if info.high is None else info.high),
        )
        assert low < high
        assert info.ideal is None or low <= info.ideal <= high, name
        assert ("*" in name) == ("{}" in info.label), name
    assert one.citation.startswith("@") or one.name in ("polarity", "razor", "perturbation")


def test_committed_readings_have_the_unit_ideal_value_and_bounds_that_descriptions_say():
    checked = 0
    for folder in run_folders(ROOT / "experiments")[::7]:
        for reading in json.loads(read_record(record_file(folder))).get("readings", []):
            found = find_description(reading["benchmark"])
            if found is None:  # of an experiment's script
                continue
            info = found.quantity(reading["quantity"])
            assert info is not None, reading
            assert info.unit == reading["unit"], reading
            if (found.name, reading["quantity"]) != ("shortcuts", "accuracy"):  # whose ideal value is the data's
                assert (info.ideal is None) == (reading["ideal"] is None), reading
                assert info.ideal is None or info.ideal == pytest.approx(reading["ideal"], rel=1e-5), reading
            assert info.low is None or info.low <= reading["value"] + 1e-6, reading
            assert info.high is None or reading["value"] - 1e-6 <= info.high, reading
            checked += 1
    assert checked > 500


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("seat", "SEAT"),
        ("crows_pairs@meade@regular", "CrowS-Pairs"),
        ("stsb", "STS-B"),
        ("sst2", "SST-2"),
        ("sst2_probe", "SST-2"),
        ("sst2_halves_fairscore", "sst2 halves"),
        ("safety_hatecheck", "HateCheck"),
        ("safety_my_texts", "Safety (my texts)"),
        ("razor", "RAZOR"),
        ("polarity", "Polarity"),
    ],
)
def test_a_description_is_found_under_the_name_of_readings(name, title):
    assert find_description(name).title == title


@pytest.mark.parametrize("name", ["lengths", "lengths_probe", "", "fairscore_", "_probe", "seat_probe"])
def test_names_of_others_are_nobodys(name):
    assert next(own_parts("seat")) is SEAT  # whose module is searched first
    assert find_description(name) is None
    assert find_class(name) is None


def test_a_pattern_completes_the_label_by_what_the_star_is():
    one = replace(LENGTHS, quantities={"length": LENGTH, "length_*_kept": replace(LENGTH, label="kept of {}")})
    assert one.quantity("length").label == "mean length"
    assert one.quantity("length_a_b_kept").label == "kept of a_b"
    assert one.quantity("length__kept") is None
    assert one.quantity("width") is None
    evil = replace(LENGTHS, quantities={"x_*": replace(LENGTH, label="{0.__class__} {}")})  # a text, no format
    assert evil.quantity("x_y").label == "{0.__class__} y"


def test_subsets_have_words_by_name_or_by_the_star():
    assert (SEAT.description.subset("6b"), SEAT.description.subset("average")) == ("test 6b", "all tests")
    assert Classification.description.subset("dev") is None
    assert Classification.description.topic != ELSE


def own(description=LENGTHS, version=1, **more):
    members = {"measure": lambda self, backbone, before=None: None, "description": description, "version": version}
    return type("Mine", (Benchmark,), members | more | {"__module__": "mine"})()


def test_a_benchmark_from_outside_that_says_what_it_is_is_taken():
    refuse_undescribed(own())
    refuse_undescribed(SEAT(tests=["6"]))


@pytest.mark.parametrize(
    ("benchmark", "said"),
    [
        (own(description=None), "benchmark mine.Mine has no description; give its class one"),
        (own(replace(LENGTHS, title=" ")), "the description of benchmark mine.Mine has no title; add it"),
        (own(replace(LENGTHS, question="")), "the description of benchmark mine.Mine has no question; add it"),
        (own(replace(LENGTHS, quantities={})), "the description of benchmark mine.Mine has no quantities; add it"),
        (own(replace(LENGTHS, name="a/../b")), "benchmark mine.Mine cannot have the name 'a/../b'; use lower-case"),
        (
            own(replace(LENGTHS, quantities={"length": QuantityInfo("length", "")})),
            "benchmark mine.Mine does not describe 'length'; add its label and meaning",
        ),
        (own(version=None), "benchmark mine.Mine has no version; give its class version = 1"),
        (own(version=0), "benchmark mine.Mine has no version; give its class version = 1"),
        (
            own(replace(LENGTHS, name="seat")),
            "benchmark mine.Mine has the same name, 'seat', as fairlab's own SEAT; give its description another name",
        ),
        (own(replace(LENGTHS, name="rte_probe@mine")), "has the same name, 'rte_probe@mine', as fairlab's own Probe"),
        (own(replace(LENGTHS, title="seat")), "mine.Mine has the title of one of fairlab's own, 'seat'; give its"),
        (
            type("Still", (), {"__module__": "mine", "description": LENGTHS, "version": 1})(),
            "benchmark mine.Still has no method measure; add it",
        ),
        (type("Bare", (), {"__module__": "mine"})(), "a Bare is not a benchmark; give a name, such as 'seat'"),
    ],
)
def test_a_benchmark_that_does_not_say_what_it_is_is_refused_in_a_sentence(benchmark, said):
    with pytest.raises(FairlabError, match=re.escape(said)) as error:
        refuse_undescribed(benchmark)
    assert "\n" not in str(error.value)


def test_few_places_outside_of_the_benchmarks_name_one():
    """What holds for a benchmark stands on its class: nobody else needs to know its name."""
    names = {one.description.name for one in CLASSES} - {"classification", "probe", "fairscore", "counterfactual"}
    names |= {f"safety_{texts}" for texts in TITLES}
    words = {"perplexity", "perturber", "safety"}  # of methods, metrics and extras too: counted where reports are made
    places = []
    for file in sorted((ROOT / "fairlab").rglob("*.py")):
        folder = file.relative_to(ROOT / "fairlab").parts[0]
        found = names if folder in ("reporting", "run", "api") else names - words
        if folder == "benchmarks" or "published" in file.parts:  # files of data and tasks have such names too
            continue
        named = re.compile(rf"(|.*/)({'|'.join(found)})(|[@/].*)")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            text = node.value if isinstance(node, ast.Constant) else ""
            if isinstance(text, str) and named.fullmatch(text):
                places.append(f"{file.relative_to(ROOT)}:{node.lineno} {text}")
    assert len(places) <= 15, "\n".join(places)
