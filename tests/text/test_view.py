import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlab.text.cleaning import PARAGRAPH, clean
from fairlab.text.view import _UNUSUAL, Edit, is_plain, read_view

PIECES = [*"ab e'\"-_*<>&;#/()\n\r\t", "<b>", "&amp;", "\u200b", "é", "\u0301", "he"]
SIGNS = st.lists(st.sampled_from(PIECES)).map("".join)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("She lost  her\tkeys.", "She lost her keys."),
        ("We kept her\r\nold photographs.", "We kept her old photographs."),
        ("First.\n\nSecond.", f"First.{PARAGRAPH}Second."),
        ("A film.<br /><br />She left.", f"A film.{PARAGRAPH}She left."),
        ("<b>S</b>he <i class='x'>left</i>", "She left"),
        ("&quot;Her&nbsp;book&quot; &amp;amp; his", '"Her book" & his'),
        ("<!-- her --><style>her</style>She left", "She left"),
        ("> We kept her\n> old photographs.\nYes.", f"We kept her old photographs.{PARAGRAPH}Yes."),
        ("- She left.\n- He came.", f"She left.{PARAGRAPH}He came."),
        (
            "It was a long and winding road\n- The end of it was near",
            "It was a long and winding road - The end of it was near",
        ),
        (
            "It was her list of the things\n- Milk\n- Eggs",
            f"It was her list of the things{PARAGRAPH}Milk{PARAGRAPH}Eggs",
        ),
        ("''She\nleft'' **her\nbag**", "She left her bag"),
        ("# News\nShe left.", f"News{PARAGRAPH}She left."),
        ("1\n00:00:01,000 --> 00:00:02,000\nShe left\nearly.", "She left early."),
        ("his hus-\nband, an ex-\nsoldier", "his husband, an ex-soldier"),
        ("mother-in-\nlaw", "mother-in-law"),
        ("so we look-\nif you want", "so we look - if you want"),
        ("**her** _book_ [her page](http://x.org/y)", "her book her page"),
        ("\ufeffShe\u00ad left\u200b", "She left"),
        ("Jose\u0301 and 𝐒𝐡𝐞", "José and She"),
        ("“She’s here,” he said", '"She\'s here," he said'),
        ("🎉She left😀", "She left"),
        ("s/he, (S)he, he(she), him/herself", "she/he, She/he, he/she, himself/herself"),
        ("S/HE", "SHE/HE"),
        ("\ud800she\x00left", "she left"),
        ("cell|her|cell", "cell | her | cell"),
        ("She[1] left her[12] dog.[citation needed]", "She left her dog."),
        ("¶She left, ‹her› dog", "¶ She left, 'her' dog"),
        (r"\textbf{She} left \emph{her} bag~\cite{her}.", "She left her bag."),
        (r"\section{Her life}She left {\it her} bag\\", f"Her life{PARAGRAPH}She left her bag"),
        (r"Jos\'e, Ren\'{e}e and Zo\"e didn\'t", "José, Renée and Zoë didn't"),
        (r"She~left; \nu \to \tau", "She left; \\ nu \\ to \\ tau"),
        (r'{"a": "We kept her\nold \u201cphotos\u201d"}', '{"a": "We kept her old "photos""}'),
        (r"{\an8}We kept her\Nold photographs.", "We kept her old photographs."),
        ("[b]She[/b] left [i]her[/i] bag [u]", "She left her bag [u]"),
        (
            "'''her''' bag, ''She'' left [[Mary Smith|Mary]] {{cite|her}}<ref name='a'>her</ref>",
            "her bag, She left Mary",
        ),
        ("``her'' and ``his''", "``her'' and ``his''"),
        ("“[h]er bag” [S]he", '"her bag" She'),
        ("her* bag, *her dog, her† cat, her™ car", "her bag, her dog, her cat, her car"),
        ("She left。Her bag，her dog！", "She left. Her bag, her dog!"),
        ("hus‐\nband, grand‑mother, she⁄he", "husband, grand-mother, she/he"),
        ("steward(ess), actor(s), boy/girlfriend", "steward/stewardess, actor (s), boyfriend/girlfriend"),
        ("he/she/they, s/he/they", "he/she, she/he"),
        ("S HE left.", "SHE left."),
        ("H\ner bag", "Her bag"),
        ("3,She left her bag,4.5", f"3{PARAGRAPH}She left her bag{PARAGRAPH}4.5"),
        ("ⓢⓗⓔ left Ⓜ", "she left"),
        ("•her bag", "her bag"),
        ("She left. <SEP> her bag<SEP>x", f"She left.{PARAGRAPH}her bag{PARAGRAPH}x"),
    ],
)
def test_a_text_is_read_without_layout_and_markup(text, seen):
    assert read_view(text).text == seen


@pytest.mark.parametrize("text", ["She left.", "It's a well-known fact (he said).", "<user> and <it>", "a < b", ""])
def test_a_plain_text_is_read_as_it_stands(text):
    assert read_view(text).text == text


@given(SIGNS | st.text(st.sampled_from("ab S.,!?;:()'\"$£#@/-–—…é"), max_size=30))
def test_a_text_that_is_told_to_be_plain_at_once_is_what_it_would_be_cleaned_to(text):
    if read_view(text).is_plain:
        assert clean(text)[0] == text or not clean(text)[0]


@pytest.mark.parametrize("text", ["<b her", "<!-- never ends", "&nbsp", "**her", "[her](", "```she"])
def test_markup_that_never_ends_is_text(text):
    assert read_view(text).write([]) == text


@given(SIGNS)
def test_nothing_is_lost_and_reading_twice_is_reading_once(text):
    view = read_view(text)
    assert view.write([]) == text
    assert view.is_plain or len(view.starts) == len(view.ends) == len(view.text)
    assert all(0 <= start <= end <= len(text) for start, end in zip(view.starts, view.ends, strict=True))


@given(SIGNS)
def test_what_stands_between_edited_words_stays_to_the_byte(text):
    view = read_view(text)
    words = [Edit(*match.span(), "x") for match in re.finditer(r"[a-e]+", view.text)]
    made = read_view(view.write(words)).text
    assert view.write([]) == text
    assert made.count("x") >= (1 if words else 0)


def test_a_word_with_markup_within_keeps_the_markup():
    assert read_view("<b>S</b>he left").write([Edit(0, 3, "He")]) == "<b>He</b> left"
    assert read_view("hus-\nband left").write([Edit(0, 7, "wife")]) == "wife\n left"


def test_blanks_of_terms_of_several_words_stay():
    assert read_view("an African\nAmerican man").write([Edit(3, 19, "Native American")]) == "an Native\nAmerican man"


def test_new_apostrophes_are_those_of_the_text():
    assert read_view("“Luis’ car”").write([Edit(1, 6, "Ann's")]) == "“Ann’s car”"


def test_two_pronouns_in_one_are_changed_as_one():
    assert read_view("(s)he left").write([Edit(0, 3, "he"), Edit(4, 6, "she")]) == "he/she left"


def test_offsets_of_the_original_are_found():
    view = read_view("<i>Her</i>  own")
    assert view.span(0, 3) == (3, 6)
    assert [view.place(offset) for offset in (3, 12)] == [0, 4]


def test_composed_and_decomposed_text_is_read_alike():
    text = "Zoë, José and Đức left."
    assert read_view(unicodedata.normalize("NFD", text)).text == read_view(text).text


@pytest.mark.parametrize("text", ["Later L*wenthal won.", "Schr*der said it.", "The Folies Berg*re closed."])
def test_a_star_for_a_letter_stays_within_its_word(text):
    assert read_view(text).text == text


@given(st.text(alphabet="Aa1 .,'-\"!?$&@/#(s)%_é", max_size=9))
def test_classes_of_characters_judge_as_the_pattern_does(text):
    assert is_plain(text) == (_UNUSUAL.search(text) is None and "  " not in text and text == text.strip(" "))
