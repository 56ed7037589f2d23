"""Every benchmark has a card, every card says all that a card must say, and what it cites is in the list of sources."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
PARTS = ["Question", "Ideal value", "Known criticism", "About its files", "When not to use it"]
TEXT, SOURCES = PAGE.split("\n## Sources\n")
CITED = re.compile(r"(?:\w+ et al\.|\w+ and \w+) (?:19|20)\d\d")


def cards():
    """Text of each card by the names of its benchmarks, as ``conf/benchmark`` has them."""
    found = {}
    for title, text in re.findall(r"^### (.+?)\n(.*?)(?=^###? |\Z)", TEXT, flags=re.DOTALL | re.MULTILINE):
        found |= dict.fromkeys(re.findall(r"`(\w+)`", title), text)
    return found


CARDS = cards()


def test_every_benchmark_has_a_card_and_no_card_is_left_over():
    files = (ROOT / "conf" / "benchmark").glob("*.yaml")
    benchmarks = {path.stem for path in files if set(yaml.safe_load(path.read_text())) - {"defaults"}}
    assert set(CARDS) == benchmarks
    assert len(re.findall(r"`\w+`", "".join(re.findall(r"^### .*", TEXT, flags=re.MULTILINE)))) == len(CARDS)


@pytest.mark.parametrize("name", sorted(CARDS))
def test_a_card_has_all_its_parts_in_order(name):
    parts = re.findall(r"^\*\*(.+?)\.\*\* (.+)$", CARDS[name], flags=re.MULTILINE)
    assert [part for part, _ in parts] == PARTS
    assert all(len(text.split()) >= 5 for _, text in parts)
    criticism = dict(parts)["Known criticism"]
    assert CITED.search(criticism) or re.search("None published|no published|never published", criticism)


def test_every_source_that_is_cited_is_listed_and_the_other_way_round():
    listed = [re.fullmatch(r"- (.+? \d{4}), \".+\", .+\.", line) for line in SOURCES.strip().splitlines()]
    assert all(listed)
    names = [line[1] for line in listed if line]
    assert len(set(names)) == len(names)
    for cited in CITED.findall(TEXT):
        assert any(name.endswith(cited) for name in names), cited
    assert [name for name in names if name not in TEXT] == []
