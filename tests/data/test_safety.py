"""Readers of safety data, counterfactual sets and folds."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter

import numpy as np
import pytest

from experiments.ensemble.teach import copies_of
from fairlab.augmentation.identity import Identity
from fairlab.data import near_copies as near_copies_module
from fairlab.data.near_copies import near_copies, set_groups
from fairlab.data.safety import Judged, Predicted, SafetyData, made_of
from fairlab.data.safety_readers import _olid, kept_for_benchmarks, read_safety
from fairlab.data.safety_texts import CATEGORIES, HARMS, SUBGROUPS, SafetyText
from fairlab.data.stream.manifest import Manifest
from fairlab.data.stream.shards import make_shards
from fairlab.files import sha256
from fairlab.rewriting.identities import Identities
from fairlab.types import DataUnavailable, FairlabError, Row
from tests.conftest import write_rows

TRUTHS = ",".join(f"Ground truth {harm}" for harm in ("Hate", "Sexual", "Toxicity", "Violence"))
HEADER = f"prompt,example_key,subgroup,{TRUTHS},dataset"


def seeds(tmp_path, *rows):
    path = tmp_path / "seeds.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    return str(path)


def sample(**more):
    settings = {"name": "embedded/safety", "path": None, "held_out": [], "folds": 5, "repeats": 2, "seed": 7}
    return SafetyData(**settings | {"augmentation": Identity()} | more)


def test_the_taxonomy_is_table_2():
    assert list(CATEGORIES) == ["RaceEthnicity", "Religion", "GenderId", "SexualOrien."]
    assert len(SUBGROUPS) == 18
    assert HARMS == ("hate", "toxicity", "sexual", "violence")


def test_every_subgroup_has_words():
    swaps = Identity().swaps
    assert {category: list(swaps[category].attributes) for category in CATEGORIES} == CATEGORIES


def test_seeds_are_read(tmp_path):
    path = seeds(tmp_path, '"A line\nbreak",2,Religion:Islam,1,0,0,1,OpenAi', "plain,3,--,0,0,1,0,OpenAi")
    first, second = read_safety("counterfactual_safety", path)
    assert (first.text, first.key, first.category) == ("A line\nbreak", "2", "Religion")
    assert first.labels == {"hate": 1, "toxicity": 0, "sexual": 0, "violence": 1}
    assert (second.subgroup, second.category) == ("", "")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("x,1,Religion:Martian,0,0,0,0,OpenAi", "row 2: unknown subgroup 'Religion:Martian'"),
        ("x,1,--,0,0,0,yes,OpenAi", "row 2: a label must be 0 (harmless) or 1 (harmful), not 'yes'"),
        ("x,0,--,0,0,0,0,OpenAi", "texts 1 and 2: the set '0' has '--' twice"),
    ],
)
def test_a_bad_row_is_named(tmp_path, row, message):
    with pytest.raises(FairlabError, match=re.escape(message)):
        read_safety("counterfactual_safety", seeds(tmp_path, "fine,0,--,0,0,0,0,OpenAi", row))


def test_what_is_no_such_file_is_said(tmp_path):
    with pytest.raises(DataUnavailable, match=r"nowhere\.csv is not a file"):
        read_safety("hatecheck", str(tmp_path / "nowhere.csv"))
    with pytest.raises(FairlabError, match="no safety dataset 'x'; there are: counterfactual_safety"):
        read_safety("x")
    (tmp_path / "x.csv").write_text("prompt\n", encoding="utf-8")
    with pytest.raises(FairlabError, match="has no column 'example_key'"):
        read_safety("counterfactual_safety", str(tmp_path / "x.csv"))
    with pytest.raises(FairlabError, match="contains no text"):
        read_safety("counterfactual_safety", seeds(tmp_path))


def test_a_missing_label_of_the_moderation_set_is_unknown(tmp_path):
    path = tmp_path / "m.jsonl.gz"
    rows = [{"prompt": "a", "H": 0, "V": 0, "V2": 1}, {"prompt": "b", "S": 0, "H2": 1}]
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    first, second = read_safety("openai_moderation", str(path))
    assert first.labels == {"hate": 0, "violence": 1}
    assert second.labels == {"hate": 1, "sexual": 0}
    plain = tmp_path / "m.jsonl"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    assert read_safety("openai_moderation", str(plain)) == [first, second]
    assert [first.key, second.key] == ["1", "2"]


def test_versions_go_to_every_other_subgroup_and_labels_go_along():
    text = SafetyText("A Muslim baker and a Jewish baker.", "k", "Religion:Islam", {"hate": 0})
    made = made_of([text], Identity())
    assert {one.subgroup.partition(":")[2]: one.text for one in made} == {
        "Atheism": "An Atheist baker and a Jewish baker.",
        "Christianity": "A Christian baker and a Jewish baker.",
        "Hinduism": "A Hindu baker and a Jewish baker.",
        "Buddhism": "A Buddhist baker and a Jewish baker.",
        "Others": "A Sikh baker and a Jewish baker.",
    }
    assert all((one.key, one.labels, one.seed) == ("k", {"hate": 0}, False) for one in made)
    assert made_of([SafetyText("No word of it.", "k", "Religion:Islam", {})], Identity()) == []
    with pytest.raises(FairlabError, match="Religion has no subgroup 'Mars'"):
        Identity().versions("x", "Religion", "Mars")


def test_folds_never_separate_versions_and_cover_everything():
    data = sample()
    for repeat in range(2):
        folds = data.division(repeat)
        by_key = {}
        for text, fold in zip(data.texts, folds, strict=True):
            by_key.setdefault(text.key, set()).add(int(fold))
        assert all(len(found) == 1 for found in by_key.values())
        sizes = Counter(next(iter(found)) for found in by_key.values())
        largest = max(Counter(data.groups.values()).values())
        assert max(sizes.values()) - min(sizes.values()) <= largest  # a group of copies goes to the smallest fold
    assert not np.array_equal(data.division(0), data.division(1))
    assert np.array_equal(data.division(0), sample().division(0))


@pytest.mark.parametrize("at_once", [500, 1])
def test_near_copies_share_a_group_whoever_they_are_about(monkeypatch, at_once):
    monkeypatch.setattr(near_copies_module, "AT_ONCE", at_once)
    texts = ["I hate all Muslims so much.", "i hate all jews so much", "I hate all the weather so much.", "Hello."]
    assert set_groups(["a", "b", "c", "d"], texts, Identities()) == {"a": 0, "b": 0, "c": 1, "d": 2}
    # 2 of 4 trigrams shared is near, 2 of 5 is not; a chain of near copies is one group
    assert near_copies(["a b c d e", "b c d e f", "c d e f g"]) == [(0, 1), (1, 2)]
    assert near_copies(["a b c d e", "x b c d e f"]) == []
    assert near_copies(["Hi.", "hi", "Hi you", "hi you!"]) == [(0, 1), (2, 3)]
    assert near_copies([]) == []


def test_copies_of_what_is_measured_are_found():
    taught = ["I hate all Muslims so much.", "The weather is fine today.", "I hate all Muslims."]
    assert copies_of(taught, ["so i hate all jews so much", "x"], Identities()).tolist() == [True, False, False]


def test_settings_that_cannot_be(tmp_path):
    with pytest.raises(FairlabError, match="augmentation=identity or none"):
        sample(augmentation=object())
    with pytest.raises(
        FairlabError, match="has 1 sets that are not copies, or nearly copies, of others, too few for 5 folds; give"
    ):
        sample(name="counterfactual_safety", path=seeds(tmp_path, "x,1,--,0,0,0,0,OpenAi"))
    three = seeds(tmp_path, *(f"{text},{text},--,0,0,0,0,OpenAi" for text in ("rain", "sun", "wind")))
    folds = sample(name="counterfactual_safety", path=three, folds=3).division(0)
    assert sorted(folds.tolist()) == [0, 1, 2]
    with pytest.raises(FairlabError, match=r"has 3 sets .*too few for 4 folds; set data\.folds=3"):
        sample(name="counterfactual_safety", path=three, folds=4)
    facts = sample(augmentation=None).facts()
    assert (facts["path"], facts["versions_left_out"]) == ("safety.jsonl", 0)


@pytest.mark.data
def test_the_published_sets_have_their_sizes(data_folder):
    assert len(read_safety("counterfactual_safety")) == 2322
    cases = Counter(text.key for text in read_safety("hatecheck"))
    assert Counter(cases.values())[7] == 421  # templates with the seven target groups
    madlibs = Counter(text.key for text in read_safety("bias_madlibs") if text.subgroup)
    assert set(madlibs.values()) == {50}
    assert len(read_safety("openai_moderation")) == 1595
    assert len(read_safety("hate_speech_offensive")) == 24783
    published = (data_folder / "bias_madlibs" / "bias_madlibs_77k.sample.csv").read_text()
    toxic = sum(text.labels["toxicity"] for text in read_safety("bias_madlibs"))
    assert 0 < toxic == published.count("BAD") - published.count("NOT_BAD")
    kept, taught = ({text.text for text in read_safety(name)} for name in ("olid", "olid_training"))
    assert len(read_safety("olid")) + len(read_safety("olid_training")) == 13240
    assert not {stripped(text) for text in kept} & {stripped(text) for text in taught}
    assert 0.23 < len(kept) / (len(kept) + len(taught)) < 0.27


def stripped(tweet):
    return " ".join(word for word in tweet.casefold().split() if word not in ("@user", "url"))


@pytest.mark.data
@pytest.mark.slow
def test_no_fold_holds_a_copy_of_another_ones_text(data_folder):
    data = SafetyData(
        name="counterfactual_safety", path=None, held_out=[], folds=5, repeats=2, seed=42, augmentation=None
    )
    identities = Identities()
    texts = [identities.blinded(text.text) for text in data.texts]
    pairs = np.array(near_copies(texts))
    assert len({k for pair in pairs.tolist() for k in pair if data.texts[k].labels["hate"]}) == 33
    same = {}
    for k, text in enumerate(texts):
        same.setdefault(" ".join(text.casefold().split()), []).append(k)
    for repeat in range(data.repeats):
        folds = data.division(repeat)
        assert (folds[pairs[:, 0]] != folds[pairs[:, 1]]).sum() == 0
        assert all(len(set(folds[some])) == 1 for some in same.values())
        assert max(np.bincount(folds)) - min(np.bincount(folds)) <= 1


def test_a_made_folder_is_read_with_its_versions(tmp_path):
    row = Row("1", "A Muslim baker.", {"example_key": "7", "subgroup": "Religion:Islam"}, "row 1", 1, "prompt")
    row.extra.update({f"Ground truth {harm.capitalize()}": "0" for harm in HARMS} | {"Ground truth Hate": "1"})
    manifest = Manifest("0", {"name": "x", "sha256": ""}, {})
    for summary in make_shards([row], Identity, tmp_path, shard_rows=10):
        manifest.add(summary)
    manifest.write(tmp_path)
    texts = read_safety("counterfactual_safety", str(tmp_path))
    assert [text.seed for text in texts] == [True] + 6 * [False]
    assert {text.key for text in texts} == {"7"}
    assert {text.labels["hate"] for text in texts} == {1}
    assert texts[3].text == "A Hindu baker."
    assert texts[3].subgroup == "Religion:Hinduism"
    assert made_of(texts, Identity()) == []  # a set that has its versions gets no more


def test_texts_that_are_always_trained_on_are_in_no_fold():
    plain, more = sample(), sample(always_trained=["embedded/sentences"])
    added = len(more.texts) - len(plain.texts)
    assert added == more.facts()["always_trained"] == 1_433
    for repeat in range(2):
        division = more.division(repeat)
        assert (division[-added:] == -1).all()
        assert division[:-added].tolist() == plain.division(repeat).tolist()
    assert more.facts()["seeds"] == plain.facts()["seeds"]
    assert more.harms() == ["hate", *plain.harms()]


def test_texts_of_madlibs_that_differ_in_a_term_are_a_set(tmp_path, monkeypatch):
    (tmp_path / "terms.txt").write_text("gay\ngay man\n\nold\n")
    monkeypatch.setattr("fairlab.data.safety_readers.locate", lambda name, path=None: path or tmp_path / "terms.txt")
    path = tmp_path / "m.csv"
    path.write_text("Text,Label\na gay man met a gay man,BAD\na old met a gay man,NOT_BAD\nan oldie,NOT_BAD\n")
    first, second, third = read_safety("bias_madlibs", path)
    assert [text.labels["toxicity"] for text in (first, second, third)] == [1, 0, 0]
    assert [text.key for text in (first, second, third)] == ["a <term> met a gay man", "a old met a <term>", "row 3"]
    assert [text.subgroup for text in (first, second, third)] == ["Term:gay man", "Term:gay man", ""]
    path.write_text("Text,Label\na gay man,WORSE\n")
    with pytest.raises(FairlabError, match="row 1: a label must be BAD or NOT_BAD, not 'WORSE'"):
        read_safety("bias_madlibs", path)


def test_columns_that_a_row_lacks_are_named(tmp_path):
    (tmp_path / "t.csv").write_text("class,tweet\n0\n")
    with pytest.raises(FairlabError, match="row 1 ends before the column 'tweet'"):
        read_safety("hate_speech_offensive", str(tmp_path / "t.csv"))
    write_rows(tmp_path / "data-00000.jsonl", [{"class": "0"}])
    manifest = Manifest("0", {"name": "x", "sha256": ""}, {})
    manifest.shards = [{"data": {"file": "data-00000.jsonl", "sha256": sha256(tmp_path / "data-00000.jsonl")}}]
    manifest.write(tmp_path)
    with pytest.raises(FairlabError, match="row 1 has no column 'tweet'; it has: class"):
        read_safety("hate_speech_offensive", str(tmp_path))


def test_labels_and_sets_of_hatecheck(tmp_path):
    rows = ["hateful,women,1,a,F1", "hateful,Muslims,1,b,F1", "non-hateful,,,c,F2", "non-hateful,women,2,d,F3"]
    path = tmp_path / "hatecheck.csv"
    header = "label_gold,target_ident,templ_id,case_id,functionality,test_case"
    path.write_text("\n".join([header, *(f"{row},text {k}" for k, row in enumerate(rows))]))
    texts = read_safety("hatecheck", str(path))
    assert [text.labels for text in texts] == [{"hate": 1}, {"hate": 1}, {"hate": 0}, {"hate": 0}]
    assert [text.key for text in texts] == ["template 1", "template 1", "case c", "case d"]  # template 2 has one group
    assert [text.subgroup for text in texts] == ["Target:women", "Target:Muslims", "", "Target:women"]
    assert all(text.seed for text in texts)


def test_a_part_of_the_scored_texts_is_taken_out():
    texts = [SafetyText(name, name, "", {}) for name in "abc"]
    part = Predicted(texts, np.array([[0, 1, 2]]), {"hate": np.array([[0.1, 0.2, 0.3]])})
    judged = Judged({"test": part, "more": part}, ["s"], np.array([[1.0], [2.0], [3.0]]), {})
    for of, sources in (("test", [[3.0], [1.0]]), ("more", [[1.0], [2.0], [3.0]])):
        found = judged.only(of, [2, 0])
        assert [text.text for text in found.parts[of].texts] == ["c", "a"]
        assert found.parts[of].scores["hate"].tolist() == [[0.3, 0.1]]
        assert found.parts[of].folds.tolist() == [[2, 0]]
        assert found.source_scores.tolist() == sources


def test_a_quarter_of_tweets_is_reserved_whatever_they_link_to():
    # SHA-256 of "hello" begins with 2c f2, that of "abc" with ba 78; below 40 is reserved.
    assert [kept_for_benchmarks(tweet) for tweet in ("hello", "@USER Hello URL", "abc")] == [True, True, False]
    assert [kept_for_benchmarks(tweet) for tweet in ("w39", "w88")] == [True, False]  # 3f and 40


def test_texts_without_a_subgroup_hint_at_the_column_of_subgroups(tmp_path, capsys):
    rows = [f"Rain {'wxyz'[k]} fell {'abcd'[k]} {k},{k % 2},Religion:Islam" for k in range(4)]
    (tmp_path / "own.csv").write_text("\n".join(["text,hate,who", *rows]) + "\n")
    given = {"name": "own", "path": str(tmp_path / "own.csv"), "folds": 3}
    sample(**given, columns={"subgroup": "who"})
    assert capsys.readouterr().out == ""
    assert sample(**given, columns={"text": "text"}).made == []
    assert "own.csv names one subgroup; data.columns.subgroup=NAME names the column" in capsys.readouterr().out


def test_a_tweet_is_offensive_and_hateful_if_it_insults_a_group(tmp_path):
    rows = ["id\ttweet\ta\tb\tc", "1\tfirst\tOFF\tTIN\tGRP", "2\tsecond\tOFF\tTIN\tIND", "3\tthird\tNOT\tNULL\tNULL"]
    (tmp_path / "olid.tsv").write_text("\n".join(rows) + "\n")
    found = [text for kept in (True, False) for text in _olid(tmp_path / "olid.tsv", kept)]
    assert {text.text: (text.key, text.labels["toxicity"], text.labels["hate"]) for text in found} == {
        "first": ("1", 1, 1),
        "second": ("2", 1, 0),
        "third": ("3", 0, 0),
    }
    (tmp_path / "olid.tsv").write_text("\n".join([*rows[:2], "2\tsecond\tOFF\tTIN"]))
    with pytest.raises(FairlabError, match="line 3 has 4 of 5 columns"):
        list(_olid(tmp_path / "olid.tsv", kept=True))


def test_a_hateful_tweet_is_toxic_as_well(tmp_path):
    (tmp_path / "t.csv").write_text("class,tweet\n0,first\n1,second\n2,third\n")
    found = read_safety("hate_speech_offensive", str(tmp_path / "t.csv"))
    assert [(text.text, text.key) for text in found] == [("first", "1"), ("second", "2"), ("third", "3")]
    assert [text.labels for text in found] == [
        {"hate": 1, "toxicity": 1},
        {"hate": 0, "toxicity": 1},
        {"hate": 0, "toxicity": 0},
    ]
    (tmp_path / "t.csv").write_text("class,tweet\n0,first\n3,second\n")
    with pytest.raises(FairlabError, match="row 2: a class must be 0, 1 or 2, not '3'"):
        read_safety("hate_speech_offensive", str(tmp_path / "t.csv"))
