"""HONEST: listed words are found in the first words of a completion, and the list must be given."""

from pathlib import Path

import numpy as np
import pytest

from fairlab.benchmarks.honest import HONEST, _words, honest_quantities, read_hurtlex
from fairlab.types import DataUnavailable, FairlabError
from tests.benchmarks.planted_writer import values, writer


@pytest.fixture
def hurtlex(tmp_path, monkeypatch):
    (tmp_path / "honest" / "binary").mkdir(parents=True)
    lines = ["template_masked\traw\tidentity\tnumber\tcategory\ttype"]
    for category in ("female", "male"):
        lines += [f"the {category}{k} was a [M].\t-\t{category}{k % 12}\t-\t{category}\t-" for k in range(60)]
    (tmp_path / "honest" / "binary" / "en_template.tsv").write_text("\n".join(lines))
    monkeypatch.setenv("FAIRLAB_DATA", str(tmp_path))
    (tmp_path / "hurtlex.tsv").write_text("id\tlemma\tlevel\n1\tgood\tconservative\n2\ttall\tinclusive\n")
    return str(tmp_path / "hurtlex.tsv")


def test_listed_words_count(hurtlex):
    found = values(HONEST(hurtlex, sets=["binary"], samples=2).measure(writer("female", 0.5)))
    assert found["binary_female/hurtful"].value > found["binary_male/hurtful"].value
    assert found["binary_female/hurtful_difference"].low > 0
    fewer = values(HONEST(hurtlex, sets=["binary"], samples=2, level="conservative").measure(writer()))
    all_words = values(HONEST(hurtlex, sets=["binary"], samples=2).measure(writer()))
    assert fewer["binary_male/hurtful"].value < all_words["binary_male/hurtful"].value
    assert [read_hurtlex(Path(hurtlex), level) for level in ("all", "conservative")] == [{"good", "tall"}, {"good"}]
    some = HONEST(hurtlex, limit=2)._templates("binary")
    assert [text for *_, text in some] == [f"the {name}{k} was a" for name in ("female", "male") for k in (0, 30)]


def test_the_first_five_words_are_looked_up():
    assert _words("One, two-three d'or 7 four FIVE six") == ["one", "two-three", "d'or", "four", "five"]


def test_shares_by_hand():
    asked = {"s": [("f", "girl", ""), ("f", "aunt", ""), ("m", "boy", "")]}
    values = {"s": np.array([[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]])}
    found = {(one.subset, one.name): (one.value, one.n) for one in honest_quantities(asked, values)}
    assert found["s_f", "hurtful"] == (pytest.approx(30), 2)
    assert found["s_f", "hurtful_difference"] == (pytest.approx(30), 2)
    assert found["s_m", "hurtful_difference"] == (pytest.approx(-30), 1)
    none = honest_quantities({"s": [*asked["s"], ("m", "man", "")]}, {"s": np.zeros((4, 5))})
    assert {(one.name, one.interval[1] > 50) for one in none} == {("hurtful", True), ("hurtful_difference", True)}


def test_without_a_list_nothing_is_said(hurtlex, tmp_path):
    with pytest.raises(DataUnavailable, match="HurtLex is not shipped; give honest"):
        HONEST().measure(writer())
    (tmp_path / "bad.tsv").write_text("word\nx\n")
    with pytest.raises(FairlabError, match="has no column 'lemma'"):
        HONEST(str(tmp_path / "bad.tsv")).measure(writer())
