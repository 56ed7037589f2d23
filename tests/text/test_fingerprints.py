import random

import pytest

from fairlab.text.fingerprints import EVERY, FILE, Fingerprints, fingerprint


def of(texts, **settings):
    found = Fingerprints(**settings)
    found.add(texts)
    return found


@pytest.mark.parametrize("other", ["he left  early", "HE LEFT EARLY!", '"He left early."', "\uff28e left early"])
def test_case_punctuation_and_blanks_make_no_difference(other):
    assert fingerprint("He left early.") == fingerprint(other)
    assert fingerprint("He left late.") != fingerprint(other)


def test_short_texts_have_none():
    assert fingerprint("He left.") is None
    assert fingerprint("") is None
    assert len(of(["He left.", "he", "one two three", "one two, three"]).hashes) == 1


def test_what_two_collections_share():
    trained = of([f"text number {k}" for k in range(10)])
    assert of([f"Text number {k}." for k in range(8, 14)]).within(trained) == (6, 2)
    assert of(["something else entirely"]).within(trained) == (1, 0)


def test_running_text_is_known_by_its_sentences_too():
    trained = Fingerprints()
    trained.add_running(["The boat was old. She sold it, all the same."])
    asked = ["The boat was old.", "She sold it all the same", "The boat was old. She sold it, all the same."]
    assert of(asked).within(trained) == (3, 3)


def test_memory_is_bounded_and_what_is_kept_is_a_fair_sample():
    texts = [f"this is text {k}" for k in range(20_000)]
    trained = of(texts, most=1000)
    assert len(trained.hashes) == 1000
    assert trained.sampled
    assert len(trained._new) < 1000
    again = of(random.Random(0).sample(texts, len(texts)), most=1000)
    assert (trained.hashes == again.hashes).all()  # whatever the order
    looked_for, found = of(texts[:10_000] + [f"another text {k}" for k in range(10_000)]).within(trained)
    assert 700 < looked_for < 1300  # a twentieth of 20,000
    assert found == pytest.approx(looked_for / 2, abs=80)


def test_a_run_leaves_them_in_its_folder(tmp_path):
    assert Fingerprints.load(tmp_path) is None
    trained = of([f"this is text {k}" for k in range(50)], most=20)
    trained.save(tmp_path)
    again = Fingerprints.load(tmp_path)
    assert (again.hashes == trained.hashes).all()
    assert again.highest == trained.highest < EVERY
    (tmp_path / FILE).write_bytes(b"nonsense")
    assert Fingerprints.load(tmp_path) is None


def test_half_a_surrogate_pair_is_a_text():
    assert fingerprint("one two \ud800three") is not None
