import pytest

from fairlab.augmentation.perturbed_text import PerturbedText

TEXT = "The old woman gave her brother a letter."


@pytest.mark.slow
def test_one_word_and_target_are_drawn_and_the_rest_is_kept():
    made = {PerturbedText(axes=["gender", "age"], seed=seed).texts(TEXT)[0] for seed in range(30)}
    assert {"The old man gave his brother a letter.", "The young woman gave her brother a letter."} <= made
    assert TEXT not in made


@pytest.mark.slow
def test_one_person_is_turned_or_everybody():
    text = "The woman asked a nurse, and later another woman asked her son."
    everybody = {PerturbedText(axes=["gender"], person="everybody", seed=k).texts(text)[0] for k in range(12)}
    assert "The man asked a nurse, and later another man asked his son." in everybody
    one = {PerturbedText(axes=["gender"], seed=k).texts(text)[0] for k in range(12)}
    assert "The woman asked a nurse, and later another woman asked her daughter." in one
    assert not any("woman" not in made and "son" not in made.replace("person", "") for made in one)


def test_words_in_another_sense_are_not_drawn():
    for person in ("one", "everybody"):
        augmentation = PerturbedText(axes=["race"], person=person)
        assert augmentation.texts("Soon a white car stood there, and the sun will shine.") == [
            "Soon a white car stood there, and the sun will shine."
        ]


def test_a_text_without_a_word_is_kept_and_draws_repeat():
    augmentation = PerturbedText(axes=["gender", "race", "age"], seed=3)
    assert augmentation.texts("The bridge was closed.") == ["The bridge was closed."]
    assert augmentation.texts(TEXT) == PerturbedText(axes=["gender", "race", "age"], seed=3).texts(TEXT)


@pytest.mark.parametrize("person", ["one", "everybody"])
def test_many_texts_at_once_are_perturbed_as_one_by_one(person):
    augmentation = PerturbedText(axes=["gender", "race", "age"], person=person, seed=1)
    texts = [TEXT, "The bridge was closed.", "John met Latoya in Paris.", "My aunt is 34 years old.", "Soon it rained."]
    made = augmentation.all_texts(texts)
    assert made == [augmentation.texts(text) for text in texts]
    assert [before != after for before, (after,) in zip(texts, made, strict=True)] == [True, False, True, True, False]


def test_what_decides_is_told():
    told = PerturbedText(axes=["gender"], seed=3).described()
    assert told["person"] == "one"
    assert told != PerturbedText(axes=["gender"], seed=3, person="everybody").described()
