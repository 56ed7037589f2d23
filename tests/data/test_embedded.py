"""The sentences that come with fairlab: size, variety, splits and polarity."""

import json
import re
from collections import Counter
from itertools import combinations

import pytest
import yaml

from fairlab.data.groups import EMBEDDED, read_groups
from fairlab.lexicons import load_lexicon
from fairlab.metrics.polarity import Polarity

GROUPS = read_groups("embedded/people")


def four_grams(text):
    words = re.findall(r"\w+", text.lower())
    return list(zip(*(words[start:] for start in range(4)), strict=False))


NEUTRAL = [four_grams(group.versions["neutral"]) for group in GROUPS]


def test_enough_distinct_texts_in_varied_registers():
    assert len({group.versions["neutral"] for group in GROUPS}) == len(GROUPS) >= 1500
    registers = Counter(group.extra["register"] for group in GROUPS)
    wanted = {"news", "biography", "workplace", "family", "medicine", "sport", "law", "letters", "dialogue"}
    assert wanted <= set(registers)
    assert min(registers.values()) >= 100


def test_four_grams_hardly_ever_repeat():
    counts = Counter(gram for grams in NEUTRAL for gram in grams)
    assert sum(count == 1 for count in counts.values()) >= 0.8 * sum(counts.values())


def test_no_two_texts_share_over_half_of_their_four_grams():
    holders: dict[tuple[str, ...], list[int]] = {}
    for number, grams in enumerate(NEUTRAL):
        for gram in set(grams):
            holders.setdefault(gram, []).append(number)
    shared = Counter(pair for numbers in holders.values() for pair in combinations(numbers, 2))
    for (first, second), count in shared.items():
        assert count <= min(len(set(NEUTRAL[first])), len(set(NEUTRAL[second]))) / 2


def test_splits_are_fixed_and_the_test_split_is_gold():
    splits = Counter(group.extra["split"] for group in GROUPS)
    assert splits == {"train": 1440, "validation": 120, "test": 300}
    assert all(group.extra["gold"] for group in GROUPS if group.extra["split"] == "test")
    assert sum(group.extra["gold"] for group in GROUPS) >= 300


def test_no_text_leaks_from_train_to_a_held_out_split():
    train = {
        gram for group, grams in zip(GROUPS, NEUTRAL, strict=True) if group.extra["split"] == "train" for gram in grams
    }
    for group, grams in zip(GROUPS, NEUTRAL, strict=True):
        if group.extra["split"] != "train":
            assert sum(gram in train for gram in grams) <= len(grams) / 2


def test_the_versions_of_every_group_differ():
    assert all(len(set(group.versions.values())) == 3 for group in GROUPS)


def test_nearly_every_version_has_its_own_polarity():
    polarity = Polarity(load_lexicon("gender"))
    wrong = [group.id for group in GROUPS if not all(polarity.correct(group).values())]
    assert len(wrong) <= 0.01 * len(GROUPS), wrong


IN_PASSING = {"home", "family", "business", "painting", "patience", "rival"}  # as the README beside the data says
PRONOUNS = {"he", "him", "his", "she", "her", "hers"}


def words_learned_from():
    """All words of what the linear map learns from beside passages."""
    texts = []
    for name in ("short", "names", "terms"):
        texts += [text for group in read_groups(f"embedded/{name}") for text in group.versions.values()]
    texts += [json.loads(line)["text"] for line in (EMBEDDED / "things.jsonl").read_text().splitlines()]
    return {word for text in texts for word in re.findall("[a-z]+", text.lower())}


def test_what_a_map_learns_from_shares_no_word_with_what_its_setting_is_chosen_by():
    tests = yaml.safe_load((EMBEDDED / "associations.yaml").read_text())["tests"].values()
    sets = [one for test in tests for part in test.values() for one in part.values()]
    single = {text.lower().split()[-1] for part in sets for text in part}  # the noun of "a job interview"
    assert len(single) > 100
    assert words_learned_from() & single <= IN_PASSING


@pytest.mark.data
def test_what_a_map_learns_from_shares_no_word_with_seat_and_no_sentence_with_winogender():
    from fairlab.data.published.download import locate
    from fairlab.data.published.seat import read_association_test
    from fairlab.data.published.winogender import read_winogender

    tests = [read_association_test(locate(f"seat/weat{name}.jsonl")) for name in ("6", "6b", "7", "7b", "8", "8b")]
    words = {text.lower() for test in tests for part in test.sets for text in part}
    assert words_learned_from() & words <= IN_PASSING | PRONOUNS
    held_out = {text for group in read_winogender(locate("winogender/all_sentences.tsv")) for text in group.texts}
    assert not held_out & {text for group in read_groups("embedded/short") for text in group.texts}
