"""Winogender's schemas and statistics of occupations, on the published files and on broken ones."""

from collections import Counter

import pytest

from fairlab.data.published.download import locate
from fairlab.data.published.winogender import read_occupation_statistics, read_winogender, schemas
from fairlab.types import FairlabError, Group


def group(name="cook.guest.0", male="The cook said he was late.", neutral="The cook said they were late."):
    versions = {"neutral": neutral, "man": male, "woman": "The cook said she was late."}
    return Group(name, "gender", versions)


def test_a_schema_by_hand():
    (schema,) = schemas([group()])
    assert (schema.occupation, schema.of_occupation) == ("cook", True)
    assert [version.pronouns for version in (schema.male, schema.female, schema.neutral)] == [
        ("he",),
        ("she",),
        ("they",),
    ]
    assert not schemas([group("cook.guest.1")])[0].of_occupation


@pytest.mark.parametrize(
    "broken",
    [
        group("cook.guest"),
        group("cook.guest.2"),
        group(male="The cook said he is late."),
        group(neutral="The cook said she was late, too."),
    ],
)
def test_what_is_no_schema_is_named(broken):
    with pytest.raises(FairlabError, match=broken.id):
        schemas([broken])


def test_broken_statistics_are_named(tmp_path):
    path = tmp_path / "occupations-stats.tsv"
    path.write_text("occupation\tbls_pct_female\ncook\t39.5\nnurse\tmany\n")
    with pytest.raises(FairlabError, match="line 3"):
        read_occupation_statistics(path)
    path.write_text("occupation\tbls_pct_female\ncook\t0\nnurse\t100\n")
    assert read_occupation_statistics(path) == {"cook": 0, "nurse": 100}
    path.write_text("occupation\tbls_pct_female\ncook\t100.5\n")
    with pytest.raises(FairlabError, match="0 to 100"):
        read_occupation_statistics(path)


@pytest.mark.data
def test_the_published_files():
    found = schemas(read_winogender(locate("winogender/all_sentences.tsv")))
    women = read_occupation_statistics(locate("winogender/occupations-stats.tsv"))
    assert len(found) == 240
    assert Counter(schema.occupation for schema in found) == dict.fromkeys(women, 4)
    assert Counter(schema.of_occupation for schema in found) == {True: 120, False: 120}
    assert Counter(schema.male.pronouns + schema.female.pronouns + schema.neutral.pronouns for schema in found) == {
        ("he", "she", "they"): 178,
        ("his", "her", "their"): 54,
        ("him", "her", "them"): 8,
    }
    assert (women["technician"], women["firefighter"]) == (40.34, 3.5)


@pytest.mark.data
def test_groups_of_the_published_sentences():
    groups = read_winogender(locate("winogender/all_sentences.tsv"))
    assert len(groups) == 240
    assert groups[0].versions == {
        "neutral": "The technician told the customer that they could pay with cash.",
        "man": "The technician told the customer that he could pay with cash.",
        "woman": "The technician told the customer that she could pay with cash.",
    }
    assert all(group.attributes == ("man", "woman") for group in groups)


def test_broken_sentences_are_named(tmp_path):
    wino = tmp_path / "wino.tsv"
    wino.write_text("sentid\tsentence\na.b.0.male.txt\tHe.\na.b.0.female.txt\tShe.\n")
    with pytest.raises(FairlabError, match=r"a\.b\.0 lacks a version"):
        read_winogender(wino)
    wino.write_text("sentid\tsentence\na.b.0.robot.txt\tIt.\n")
    with pytest.raises(FairlabError, match="does not end in male, female or neutral"):
        read_winogender(wino)
    for content in ("", "version https://git-lfs.github.com/spec/v1\n"):
        wino.write_text(content)
        with pytest.raises(FairlabError, match=r"no column 'sentid'; is it Winogender"):
            read_winogender(wino)
    wino.write_text("sentid\tsentence\n")
    with pytest.raises(FairlabError, match="holds no sentence"):
        read_winogender(wino)
