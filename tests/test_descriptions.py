"""Every method, augmentation, rewriter, debiasing and source says on its class what it is."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
import yaml
from hydra.utils import get_class

CONF = Path(__file__).parents[1] / "conf"
GROUPS = ("method", "debiasing", "augmentation", "rewriter", "source")


def targets(node, group):
    """Classes of a file that are parts of its own group, not those of a part of theirs."""
    if not isinstance(node, dict):
        return
    if "_target_" in node:
        yield node["_target_"]
    elif group == "source":
        for value in node.values():
            yield from targets(value, group)


def classes(group):
    files = sorted((CONF / group).rglob("*.yaml"))
    nodes = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]
    return sorted({name for node in nodes for name in targets(node, group)})


CLASSES = {name: group for group in GROUPS for name in classes(group)}


def test_classes_of_every_group_are_found():
    assert len(CLASSES) >= 45
    assert set(CLASSES.values()) == set(GROUPS)


@pytest.mark.parametrize("name", CLASSES)
def test_a_part_says_what_it_is(name):
    part = get_class(name)
    for field in ("title", "limits", "citation"):
        assert isinstance(getattr(part, field), str), field
        assert getattr(part, field).strip() == getattr(part, field) != "", field
    assert part.limits.endswith("."), part.limits
    if part.citation.startswith("@"):
        entry = re.fullmatch(r"@(inproceedings|article|misc)\{[a-z]+\d{4}[a-z]+,\n(.*)\n\}", part.citation, re.DOTALL)
        assert entry, part.citation
        fields = re.findall(r"^  (\w+) = \{", entry[2], re.MULTILINE)
        assert fields[:2] == ["title", "author"]
        assert fields[2] in ("booktitle", "journal", "howpublished")
        assert fields[-1] == "year"
        assert set(fields[3:-1]) <= {"volume", "number", "pages"}
        assert part.citation.count("{") == part.citation.count("}")
    else:
        assert part.citation.endswith("."), part.citation


def test_a_publication_is_cited_alike_everywhere():
    found = defaultdict(set)
    for file in (CONF.parent / "fairlab").rglob("*.py"):
        for entry in re.findall(r"@\w+\{[a-z]+\d{4}[a-z]+,\n.*?\n *\}", file.read_text(encoding="utf-8"), re.DOTALL):
            kind, key = re.match(r"@(\w+)\{(\w+)", entry).groups()
            fields = dict(re.findall(r"(\w+) = \{(.*?)\},?\n", entry, re.DOTALL))
            title, author = (" ".join(fields[name].split()) for name in ("title", "author"))
            found[key].add((kind, title, author, fields["year"].strip()))
    assert len(found) >= 30
    assert not {key: entries for key, entries in found.items() if len(entries) > 1}
    titles = [title for ((_, title, *_),) in found.values()]
    assert len(set(titles)) == len(titles), "a publication has two keys"


def test_no_two_parts_have_the_same_title():
    found = defaultdict(list)
    for name in CLASSES:
        found[get_class(name).title].append(name)
    assert not {title: names for title, names in found.items() if len(names) > 1}


def test_entries_with_the_same_key_say_the_same():
    found = defaultdict(set)
    for name in CLASSES:
        citation = get_class(name).citation
        if citation.startswith("@"):
            found[citation.partition(",")[0]].add(citation)
    assert not [key for key, entries in found.items() if len(entries) > 1]
