from fairlab.augmentation.perturbed_text import PerturbedText

TEXT = "The old woman gave her brother a letter."


def test_one_word_and_target_are_drawn_and_the_rest_is_kept():
    made = {PerturbedText(axes=["gender", "age"], seed=seed).texts(TEXT)[0] for seed in range(30)}
    assert {"The old man gave his brother a letter.", "The young woman gave her brother a letter."} <= made
    assert TEXT not in made


def test_a_text_without_a_word_is_kept_and_draws_repeat():
    augmentation = PerturbedText(axes=["gender", "race", "age"], seed=3)
    assert augmentation.texts("The bridge was closed.") == ["The bridge was closed."]
    assert augmentation.texts(TEXT) == PerturbedText(axes=["gender", "race", "age"], seed=3).texts(TEXT)
