"""Comparison with official code: how far apart projections are, generated sentences, which checkouts are taken."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parents[1] / "experiments" / "agreement"


@pytest.fixture
def compare(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    for name in ("compare", "ours"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import compare

    return compare


def without(*directions):
    """The projection onto what is orthogonal to orthonormal directions."""
    return np.eye(len(directions[0])) - sum(np.outer(one, one) for one in directions)


def test_the_angle_between_what_two_projections_remove(compare):
    first, turned = np.array([1.0, 0, 0]), np.array([np.cos(np.pi / 6), np.sin(np.pi / 6), 0])
    found = compare.ours.apart(without(first), without(turned))
    assert found["dimensions"] == [1, 1]
    assert found["degrees"] == pytest.approx(30)
    assert found["entry"] == pytest.approx(np.sqrt(3) / 4)  # cos 30 sin 30; on the diagonal 1 / 4
    assert compare.ours.apart(without(turned), without(turned))["degrees"] == pytest.approx(0, abs=1e-6)
    within = compare.ours.apart(without(first), without(first, np.array([0, 0, 1.0])))
    assert within["dimensions"] == [1, 2]
    assert within["degrees"] == pytest.approx(0, abs=1e-6)


def test_sentences_of_holistic_bias_are_counted_by_axis_and_beside_the_official_ones(compare, tmp_path):
    for version in ("v1.0", "v1.1"):
        folder = tmp_path / "holistic_bias" / "dataset" / version
        folder.mkdir(parents=True)
        content = {
            "descriptors": {"ability": {"a bucket": ["Deaf"]}},
            "nouns": {"female": [["aunt", "aunts"]], "male": [["uncle", "uncles"]]},
            "sentence_templates": {"I'm {noun_phrase}.": {}, "I like {plural_noun_phrase}.": {"must_be_noun": True}},
            "standalone_noun_phrases": {"age": [{"noun_phrase": "a widow", "plural_noun_phrase": "widows"}]},
        }
        for name, part in content.items():
            (folder / f"{name}.json").write_text(json.dumps(part))
    for version in ("1.0", "1.1"):
        official = ["I'm an aunt.", "I like Deaf uncles.", "I'm Deaf.", "I like Deaf."]
        (tmp_path / f"sentences-{version}.json").write_text(json.dumps(official))
    found = compare.ours.generated(tmp_path, tmp_path)
    assert found["1.0/no axis"] == 4  # two nouns by two templates
    assert found["1.0/ability"] == 5  # two nouns by two templates, and one that needs no noun
    assert found["1.0/age"] == 1
    assert found["1.0/sentences"] == found["1.0/different sentences"] == 10
    assert found["1.1/different sentences of both"] == 3


def test_a_checkout_of_another_commit_is_refused(compare, tmp_path, monkeypatch):
    checkout = tmp_path / "wefe"
    checkout.mkdir()
    with pytest.raises(SystemExit, match=r"wefe is not a checkout; clone wefe there, and check out 1998132a3e80"):
        compare.head(checkout)
    git = ["git", "-C", str(checkout), "-c", "user.name=a", "-c", "user.email=a@b"]
    (checkout / "code.py").write_text("one = 1\n")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *command], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    with pytest.raises(SystemExit) as refused:
        compare.head(checkout)
    assert f"wefe is at {commit[:12]}, and the comparison is with 1998132a3e80; git -C" in str(refused.value)
    assert str(refused.value).endswith(f"checkout {compare.COMMITS['wefe']}")
    monkeypatch.setitem(compare.COMMITS, "wefe", commit)
    assert compare.head(checkout) == commit
    (checkout / "code.py").write_text("one = 2\n")
    with pytest.raises(SystemExit, match=r"code\.py differs from its commit"):
        compare.head(checkout)
