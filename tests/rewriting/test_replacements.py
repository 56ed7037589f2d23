import pytest

from fairlab.rewriting.replacements import replaced

NAMES = ("neutral", "man", "woman")


def test_a_line_holds_for_further_occurrences_up_to_the_next_line_of_its_word():
    lines = [["her", "him", "him", "her"], ["her", "their", "his", "her"]]
    made = replaced("I saw her and her dog and her cat.", lines, NAMES)
    assert made["man"] == "I saw him and his dog and his cat."
    assert made["neutral"] == "I saw him and their dog and their cat."


def test_capitals_articles_and_dropped_words():
    lines = [["He", "They", "He", "She"], ["actor", "performer", "actor", "actress"], ["male", "", "male", "female"]]
    made = replaced("He, an actor, said he was the only male.", lines, NAMES)
    assert made["neutral"].startswith("They, a performer, said they were the only")
    assert made["woman"] == "She, an actress, said she was the only female."


def test_verbs_agree_with_pronouns_whose_number_changes_and_with_no_other():
    lines = [["he", "they", "he", "she"], ["his", "their", "his", "her"], ["Ann", "Alex", "Ed", "Ann"]]
    made = replaced("Now he's late; his dog barks, he doesn't care, and Ann says it is fine.", lines, NAMES)
    assert made["neutral"] == "Now they're late; their dog barks, they don't care, and Alex says it is fine."
    assert made["woman"] == "Now she's late; her dog barks, she doesn't care, and Ann says it is fine."
    back = replaced("They are late, and they go.", [["they", "he"]], ["man"])
    assert back["man"] == "He is late, and he goes."


def test_no_lines_leave_the_text():
    assert replaced("It rained.", [], NAMES) == dict.fromkeys(NAMES, "It rained.")


@pytest.mark.parametrize("word", ["she", "", "ain"])
def test_words_that_the_text_lacks(word):
    with pytest.raises(ValueError, match=f"'{word}' is not in the text"):
        replaced("It rained.", [[word, "a", "b", "c"]], NAMES)
