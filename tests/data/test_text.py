import pytest

from fairlab.data import text as plain_text
from fairlab.data.preparing import stream_paragraphs
from fairlab.data.stream.rows import read_rows
from fairlab.data.text import cut_sentences, held_out, paragraphs, read_text

NOVEL = """The Project Gutenberg EBook of Nothing

*** START OF THIS PROJECT GUTENBERG EBOOK NOTHING ***

The clock of Mr. Hale
stood _still_.  "Did it?" she asked.

He nodded.
End of the Project Gutenberg EBook of Nothing

*** END OF THIS PROJECT GUTENBERG EBOOK NOTHING ***
Licence.
"""


def test_a_book_loses_its_frame_and_its_paragraphs_their_line_ends(tmp_path):
    file = tmp_path / "book.txt"
    file.write_bytes(NOVEL.replace("\n", "\r\n").encode())
    found = paragraphs(read_text(file))
    assert found == ['The clock of Mr. Hale stood still. "Did it?" she asked.', "He nodded."]
    assert plain_text.SENTENCE_END.split(found[0]) == ["The clock of Mr. Hale stood still.", '"Did it?" she asked.']


def test_where_lines_are_long_every_line_is_a_paragraph():
    assert paragraphs("word " * 50 + "\nAnother line.\n") == [" ".join(["word"] * 50), "Another line."]


@pytest.mark.parametrize("text", ["He left\n\nShe stayed\nIt rained.\nshe read\n", "he left\nshe stayed\n"])
def test_short_texts_on_lines_of_their_own_are_not_joined(tmp_path, text):
    lines = [line for line in text.split("\n") if line]
    (tmp_path / "a.txt").write_text(text)
    assert paragraphs(text) == lines
    assert list(stream_paragraphs(tmp_path / "a.txt")) == lines
    assert [row.text for row in read_rows(str(tmp_path / "a.txt"))] == lines


def test_windows_join_sentences_up_to_a_number_of_tokens():
    sentences, lengths = ["a", "b", "c", "d"], [3, 4, 9, 1]
    assert cut_sentences(sentences, lengths, 0) == [["a"], ["b"], ["c"], ["d"]]
    assert cut_sentences(sentences, lengths, 7) == [["a", "b"], ["c"], ["d"]]
    assert cut_sentences(sentences, lengths, 100) == [sentences]
    assert cut_sentences([], [], 5) == []
    assert cut_sentences(["", "a"], [0, 1], 5) == [["", "a"]]
    with pytest.raises(ValueError, match="shorter"):
        cut_sentences(["a", "b"], [1], 5)


def test_latin_1_is_read_where_utf_8_fails(tmp_path):
    file = tmp_path / "old.txt"
    file.write_bytes("a café".encode("latin-1"))
    assert read_text(file) == "a café"


def test_the_share_held_out():
    assert sum(held_out(str(k), 0.02) for k in range(20_000)) == pytest.approx(400, rel=0.15)
