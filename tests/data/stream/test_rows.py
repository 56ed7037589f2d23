import json

import pytest

from fairlab.data.preparing import stream_paragraphs
from fairlab.data.published.tasks import Example
from fairlab.data.stream import rows
from fairlab.data.stream.formats import BadRow, refuse_lacking
from fairlab.data.stream.rows import read_rows
from fairlab.data.text import paragraphs, read_text
from fairlab.text import reading
from fairlab.types import DataUnavailable, FairlabError, Row


def read(path, content, field="text"):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read_rows(str(path), field))


def test_json_lines(tmp_path):
    first, second = read(tmp_path / "a.jsonl", '{"id": 7, "text": "Ä b", "label": 1}\n\n{"text": "c"}\n')
    assert first == Row("7", "Ä b", {"label": 1}, "line 1", 1)
    assert second == Row("2", "c", {}, "line 3", 2)


@pytest.mark.parametrize("indent", [None, 1])
def test_a_json_object_with_one_list_of_rows_gives_these_rows(tmp_path, indent):
    def written(content, field="text"):
        return read(tmp_path / "a.json", json.dumps(content, indent=indent), field)

    listed = [{"text": "a", "label": 1}, {"text": "b", "label": 0}]
    rows = written({"version": "1", "data": listed, "tags": ["x"]})
    assert rows == [Row("1", "a", {"label": 1}, "row 1", 1), Row("2", "b", {"label": 0}, "row 2", 2)]
    (row,) = written({"text": "one", "parts": listed})  # has the text itself
    assert (row.text, row.extra) == ("one", {"parts": listed})
    assert [row.text for row in written({"input": {"text": "in"}, "parts": listed}, "input.text")] == ["in"]
    (tmp_path / "b.json").write_text('{\n"data": [\n{"text": "a"}\n]}')  # a line that is a row of its own
    assert [row.text for row in read_rows(str(tmp_path / "b.json"))] == ["a"]
    with pytest.raises(FairlabError, match=r"a\.json holds several lists of rows \(train, test\); write one of them"):
        written({"train": listed, "test": listed})
    for columns in ({"text": ["a", "b"], "label": [1, 0]}, {"text": {"0": "a", "1": "b"}, "label": {"0": 1, "1": 0}}):
        with pytest.raises(FairlabError, match=r"a\.json holds columns \(text, label\) instead of rows; .*'records'"):
            written(columns)


def test_json_lines_in_a_json_file(tmp_path):
    first, second = read(tmp_path / "a.json", '{"text": "a", "more": [{"text": "b"}]}\n\n{"text": "c"}\n')
    assert (first.text, second.text, second.place) == ("a", "c", "line 3")
    bad, good = read(tmp_path / "a.json", '{"text": \n{"text": "c"}\n')
    assert isinstance(bad, BadRow)
    assert good.text == "c"


def test_tables_with_and_without_quotes(tmp_path):
    rows = read(tmp_path / "a.csv", '\ufeffid,body\nx,"She said ""no"",\nthen left"\ny\n', "body")
    assert rows[0] == Row("x", 'She said "no",\nthen left', {}, "line 3", 1, "body")
    assert rows[1] == BadRow("line 4", "1 column, but the header has 2", "y")
    assert read(tmp_path / "a.tsv", 'text\tlabel\n"He\t1\n')[0].text == '"He'


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"text": ["a", None, "c"], "n": [1, 2, 3], "id": [7, 8, None]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    good, bad, unnamed = read_rows(str(tmp_path / "a.parquet"))
    assert (good.text, good.extra, good.place) == ("a", {"n": 1}, "row 1")
    assert bad.place == "row 2"
    assert [good.id, unnamed.id] == ["7", "3"]
    (tmp_path / "b.parquet").write_bytes(b"no")
    with pytest.raises(FairlabError, match="is not a Parquet file"):
        list(read_rows(str(tmp_path / "b.parquet")))


def test_what_stands_around_a_book_of_project_gutenberg_is_left_out(tmp_path):
    book = "Title: A Book\n\n*** START OF THE EBOOK ***\n\nShe left\nearly.\n\n*** END OF THE EBOOK ***\n\nLicence.\n"
    (row,) = read(tmp_path / "book.txt", book)
    assert (row.text, row.place) == ("She left early.", "paragraph at line 5")


def test_a_file_of_several_books_loses_no_book(tmp_path):
    book = "Title: A Book\n\n*** START OF THE EBOOK ***\n\nShe left\nearly.\n\n*** END OF THE EBOOK ***\n\nLicence.\n"
    rows = read(tmp_path / "books.txt", book + book.replace("She", "He"))
    assert [row.text for row in rows] == ["She left early.", "He left early."]
    assert list(stream_paragraphs(tmp_path / "books.txt")) == paragraphs(read_text(tmp_path / "books.txt"))
    assert paragraphs(read_text(tmp_path / "books.txt")) == ["She left early.", "He left early."]


def test_a_text_that_is_no_book_is_not_cut_at_a_line_that_ends_one(tmp_path):
    rows = read(tmp_path / "text.txt", "She left.\n*** END OF PART ONE ***\nHe stayed.\n")
    lines = ["She left.", "*** END OF PART ONE ***", "He stayed."]
    assert [row.text for row in rows] == lines
    assert " ".join(stream_paragraphs(tmp_path / "text.txt")) == " ".join(lines)


def test_a_text_file_of_lines_and_one_of_wrapped_paragraphs(tmp_path):
    lines = read(tmp_path / "a.txt", "One. Two.\nThree.\n")
    assert [row.text for row in lines] == ["One. Two.", "Three."]
    wrapped = "Mr. Bell came\nin. She left.\n\nThe end.\n"
    rows = read(tmp_path / "b.txt", wrapped)
    assert [row.text for row in rows] == ["Mr. Bell came in.", "She left.", "The end."]
    assert [row.place for row in rows] == [*["paragraph at line 1"] * 2, "paragraph at line 4"]


SEVERAL = "which holds several values; give a field with one text"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"text": "\xff"}', "not UTF-8 (byte 10 of the line); save the file as UTF-8"),
        (b'{"text": ', "not JSON"),
        (b"[1]", "a JSON object was expected, not list"),
        (b'{"text": "  "}', "no text in the field 'text', which is empty"),
        (b'{"text": null}', "no text in the field 'text', which is empty"),
        (b'{"text": 3, "b": 1}', "no text in the field 'text', but 3 without quotes; write it in quotes"),
        (
            b'{"text": ["a", "b"]}',
            "no text in the field 'text', which holds several values; give a field with one text",
        ),
        (
            b'{"text": {"b": "a"}}',
            "no text in the field 'text', which holds several values; give a field with one text",
        ),
        (b'{"b": 1}', "no text in the field 'text'; it has: b"),
        (b'{"text": "a\\u0000b"}', "the text contains a NUL character"),
        (b'{"text": "\\ud83d"}', "the text contains half a surrogate pair"),
        (b'{"text": "a", "id": "\\ud83d"}', "the id contains half a surrogate pair"),
        (b"[" * 200_000, "not JSON (nested too deeply)"),
        (b'{"text": "a", "b": ' + b"[" * 300 + b"]" * 300 + b"}", "not JSON (nested too deeply)"),
        (b'{"text": "a", "n": ' + b"9" * 5000 + b"}", "not JSON (an integer has too many digits)"),
    ],
)
def test_a_bad_row_is_kept_with_its_line(tmp_path, line, reason):
    good, bad = read(tmp_path / "a.jsonl", b'{"text": "fine"}\n' + line + b"\n")
    assert good.text == "fine"
    assert isinstance(bad, BadRow)
    assert bad.place == "line 2"
    assert reason in bad.reason
    assert len(bad.content) <= 200


def test_a_parquet_file_with_a_column_whose_name_is_damaged(tmp_path):
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"text": ["He left."], "column": ["x"]}), tmp_path / "a.parquet")
    damaged = (tmp_path / "a.parquet").read_bytes().replace(b"column", b"\xb7\x93\x8b\xff\xfe\x80")
    (tmp_path / "a.parquet").write_bytes(damaged)
    with pytest.raises(FairlabError, match=r"a.parquet is not a Parquet file, or it is damaged: 'utf-8' codec"):
        list(read_rows(str(tmp_path / "a.parquet")))


def test_not_utf_8_in_a_table(tmp_path):
    good, bad = read(tmp_path / "a.csv", b"text\nfine\n\xe9x\n")
    assert (good.text, bad.reason, bad.content) == ("fine", "not UTF-8; save the file as UTF-8", "\ufffdx")


def test_an_ending_in_capitals(tmp_path):
    (row,) = read(tmp_path / "A.CSV", b"text\nfine\n")
    assert row.text == "fine"


def test_what_is_no_input(tmp_path):
    for source, message in (("none.csv", "none.csv is not a file"), (str(tmp_path), "holds no .txt file")):
        with pytest.raises(DataUnavailable, match=message):
            read_rows(source)
    (tmp_path / "a.doc").write_text("x")
    with pytest.raises(FairlabError, match="has an unknown ending"):
        read_rows(str(tmp_path / "a.doc"))
    with pytest.raises(FairlabError, match=r"cannot be read after line 2 .* a quote is not closed"):
        read(tmp_path / "a.csv", "text\n" + '"' + "x" * (17 << 20))


def test_a_folder_of_texts_is_read_file_by_file(tmp_path):
    (tmp_path / "b.txt").write_text("Third.\n")
    (tmp_path / "a.txt").write_bytes(b"First.\nbad \xe9\nSecond.\n")
    (tmp_path / "README").write_text("No text.\n")
    first, bad, second, third = read_rows(str(tmp_path))
    assert [row.text for row in (first, second, third)] == ["First.", "Second.", "Third."]
    assert [row.place for row in (first, bad, second, third)] == [
        "a.txt, line 1",
        "a.txt, line 2",
        "a.txt, line 3",
        "b.txt, line 1",
    ]
    assert (first.number, third.number, third.id) == (1, 4, "4")


def test_a_data_set_of_the_hub_that_cannot_be_had():
    with pytest.raises(DataUnavailable, match="nothing is not a file, and the hub does not have it as a dataset"):
        read_rows("nobody/nothing")


def test_a_line_too_long_is_a_bad_row_and_the_next_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LONGEST_LINE", 20)
    (tmp_path / "a.txt").write_bytes(b"She left.\n" + b"x" * 55 + b"\nHe left.\n" + b"y" * 21)
    first, long, last, unended = read_rows(str(tmp_path / "a.txt"))
    assert [(row.text, row.place) for row in (first, last)] == [("She left.", "line 1"), ("He left.", "line 3")]
    reason = "longer than 20 bytes; break it into lines"
    assert (long.place, long.reason, long.content) == ("line 2", reason, "x" * 21)
    assert (unended.place, unended.reason) == ("line 4", reason)


def test_a_text_too_long_to_be_parsed_is_a_bad_row(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "LONGEST_LINE", 9)
    (tmp_path / "a.csv").write_text("text\nShe left.\nShe left..\n")
    fits, long = read_rows(str(tmp_path / "a.csv"))
    assert fits.text == "She left."
    assert (long.place, long.reason) == ("line 3", "a text of more than 9 characters; shorten it")


def test_long_lines_between_blank_lines_are_paragraphs(tmp_path):
    long = f"She saw {'a very ' * 80}old boat."
    rows = read(tmp_path / "a.txt", f"{long} He left.\n\n{long} They sat.\n")
    assert [(row.text, row.place) for row in rows] == [
        (long, "paragraph at line 1"),
        ("He left.", "paragraph at line 1"),
        (long, "paragraph at line 3"),
        ("They sat.", "paragraph at line 3"),
    ]


def test_a_table_in_memory_is_read_as_a_file():
    (only,) = rows.rows_of_table([{"text": "a", 1: 2}])
    assert only == Row("1", "a", {"1": 2}, "row 1", 1)


def test_a_nested_name_needs_the_outer_column():
    refuse_lacking(["a.b", "c.d"], ["a", "c.d"], "x")
    with pytest.raises(FairlabError, match=r"x has no column 'b\.a'"):
        refuse_lacking(["a.b", "b.a"], ["a"], "x")
    for columns, remedy in ((["text;label"], "by commas"), (["a", "b;c"], "field=NAME"), (["a"], "field=NAME")):
        with pytest.raises(FairlabError, match=f"no column 'text'; it has: .*{remedy}"):
            refuse_lacking(["text"], columns, "x")


def test_examples_of_a_task_are_rows(monkeypatch):
    asked = []
    monkeypatch.setattr(rows, "read_task", lambda *given: asked.append(given) or [Example("a", "b", 1)])
    parts = (("sentence1", "a"), ("sentence2", "b"))
    row = Row("1", "a <SEP> b", {"label": "entailment"}, "row 1", 1, parts=parts)
    assert list(read_rows("task:rte")) == list(read_rows("task:rte:dev")) == [row]
    assert asked == [("rte", "train"), ("rte", "dev")]


def test_the_names_of_a_task_and_the_splits_of_a_mixture():
    assert rows.fields_of("task:rte:dev", "text") == ["sentence1", "sentence2"]
    assert rows.fields_of("a.csv", ("b", "c")) == ["b", "c"]
    with pytest.raises(FairlabError, match=r"does not name a split of .*; the splits are: train, test"):
        rows.task_examples("task:fever_two_way+vitaminc_two_way:dev")


def test_a_nested_cell_is_a_field(tmp_path):
    """The text leaves the mapping that it comes from; a column whose own name has a dot comes first."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"input": {"text": "She sings.", "n": 1}, "a.b": "own"}\n{"input": {"text": "He sings."}}\n')
    first, second = read_rows(str(path), "input.text")
    assert (first.text, first.extra, first.named) == (
        "She sings.",
        {"input": {"n": 1}, "a.b": "own"},
        {"input.text": "She sings."},
    )
    assert second.extra == {}
    own, lacking = read_rows(str(path), "a.b")
    assert own.text == "own"
    assert lacking.reason == "no text in the field 'a.b'; it has: input"
