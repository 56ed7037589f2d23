import codecs

import pytest

from fairlab.augmentation.identity import read_review
from fairlab.benchmarks.perplexity import read_lines
from fairlab.data.association_tests import read_own_tests
from fairlab.data.groups import read_groups
from fairlab.data.published.crows_pairs import read_crows_pairs
from fairlab.data.published.seat import read_association_test
from fairlab.data.published.stereoset import read_stereoset
from fairlab.data.published.stsb import read_sts
from fairlab.data.published.task_files import parse_examples
from fairlab.data.published.tasks import find_task
from fairlab.data.safety_readers import read_safety
from fairlab.data.stream.rows import read_rows
from fairlab.data.text import read_text
from fairlab.methods.ccd_linear import anchor_texts
from fairlab.methods.safety_ensemble.sources.policy import read_policy
from fairlab.methods.safety_ensemble.sources.stored_scores import StoredScores
from fairlab.methods.safety_ensemble.sources.word_list import WordList
from fairlab.rewriting.by_llm.prompt import load_prompt
from fairlab.text import reading
from fairlab.text.reading import read_json_file, read_json_lines, read_table_rows, read_yaml_text, text_lines
from fairlab.types import FairlabError

GROUP = '{"id": "1", "axis": "gender", "versions": {"neutral": "They left.", "man": "He left.", "woman": "She left."}}'
STEREO = (
    '[{"id": "1", "bias_type": "gender", "target": "nurse", "context": "The nurse is BLANK.", "sentences": ['
    '{"sentence": "The nurse is kind.", "gold_label": "stereotype"}, '
    '{"sentence": "The nurse is rude.", "gold_label": "anti-stereotype"}, '
    '{"sentence": "The nurse is fish.", "gold_label": "unrelated"}]}]'
)
SETS = ", ".join(f'"{key}": {{"examples": ["{key} text"]}}' for key in ("targ1", "targ2", "attr1", "attr2"))
SAFETY = '{"text": "x", "key": "k", "subgroup": "", "labels": {"hate": 0}}\n'
# Every reader of a file that a user brings: content, name of the file, what is read of it.
READERS = {
    "rows of text": ("He left.\n", "a.txt", lambda file: [row.text for row in read_rows(str(file))]),
    "rows of JSON lines": (
        '{"text": "Zoë left."}\n',
        "a.jsonl",
        lambda file: [row.text for row in read_rows(str(file))],
    ),
    "rows of a list": ('[{"text": "Zoë left."}]', "a.json", lambda file: [row.text for row in read_rows(str(file))]),
    "rows of CSV": ('text\n"She, too."\n', "a.csv", lambda file: [row.text for row in read_rows(str(file))]),
    "rows of TSV": ('text\tid\nA "b.\t1\n', "a.tsv", lambda file: [row.text for row in read_rows(str(file))]),
    "groups": (GROUP + "\n", "a.jsonl", lambda file: [group.versions for group in read_groups(str(file))]),
    "groups as a list": (f"[{GROUP}]", "a.json", lambda file: [group.versions for group in read_groups(str(file))]),
    "corpus": ("He left.\n\nShe came.\n", "a.txt", lambda file: read_text(file).split()),
    "CrowS-Pairs": (
        "sent_more,sent_less,stereo_antistereo,bias_type\nMen lie.,Women lie.,stereo,gender\n",
        "a.csv",
        read_crows_pairs,
    ),
    "StereoSet": (STEREO, "a.json", read_stereoset),
    "association test": (f"{{{SETS}}}", "a.json", read_association_test),
    "association tests": (f"{{{SETS}}}", "a.json", lambda file: read_own_tests(file).tests),
    "STS-B": ("sentence1\tsentence2\tscore\na\tb\t1.5\n", "a.tsv", read_sts),
    "task, TSV": ("sentence\tlabel\nZoë\t1\n", "a.tsv", lambda file: parse_examples(file, find_task("sst2"))),
    "task, JSON lines": (
        '{"sentence": "Zoë", "label": 1}\n',
        "a.jsonl",
        lambda file: parse_examples(file, find_task("sst2")),
    ),
    "task, CSV": ("sentence,label\nZoë,1\n", "a.csv", lambda file: parse_examples(file, find_task("sst2"))),
    "safety": (SAFETY, "a.jsonl", lambda file: read_safety("embedded/safety", str(file))),
    "perplexity": ("He left.\nShe came.\n", "a.txt", lambda file: read_lines(file, None, 0)),
    "anchors": ('{"text": "a"}\n', "a.jsonl", lambda file: anchor_texts(str(file))),
    "review": ('{"id": "1-a", "keep": true}\n', "a.jsonl", read_review),
    "word list": ("stab\nshoot\n", "a.txt", lambda file: WordList(path=str(file)).score(["stab him"]).tolist()),
    "policy": ("violence: It wants to hurt.\n", "a.txt", read_policy),
    "stored scores": ("text,toxic\nx,0.5\n", "a.csv", lambda file: StoredScores(path=str(file)).held),
    "prompt": ("version: 1\ntask: Zoë\n", "a.yaml", lambda file: load_prompt(str(file)).task),
}
FORMS = {
    "UTF-8 with a byte-order mark": lambda text: codecs.BOM_UTF8 + text.encode(),
    "UTF-16 little": lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
    "UTF-16 big": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "CR LF": lambda text: text.replace("\n", "\r\n").encode(),
    "CR": lambda text: text.replace("\n", "\r").encode(),
    "no line end at the end": lambda text: text.rstrip("\n").encode(),
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_takes_every_form_of_a_file(tmp_path, reader):
    content, name, read = READERS[reader]
    file = tmp_path / name
    file.write_bytes(content.encode())
    plain = read(file)
    assert plain
    for form, written in FORMS.items():
        file.write_bytes(written(content))
        assert read(file) == plain, form


@pytest.mark.parametrize("reader", READERS)
def test_bytes_that_are_no_text_are_one_sentence_for_every_reader(tmp_path, reader):
    content, name, read = READERS[reader]
    if reader in ("corpus", "rows of text", "rows of JSON lines", "rows of CSV", "rows of TSV"):
        pytest.skip("old books are Latin-1, and a stream of rows sets a bad row aside")
    file = tmp_path / name
    for bad in (content.encode() + b"\xe9", codecs.BOM_UTF16_LE + b"\x00\xd8a", content.encode() + b"\xed\xa0\x80"):
        file.write_bytes(bad)
        with pytest.raises(FairlabError, match=name.replace(".", r"\.")):
            read(file)


def test_only_lf_cr_lf_and_cr_end_a_line(tmp_path):
    file = tmp_path / "a.txt"
    text = "one\u2028still one\x0cand\x85on\n\ntwo\rthree\r\nfour"
    file.write_bytes(text.encode())
    assert list(text_lines(file)) == ["one\u2028still one\x0cand\x85on", "", "two", "three", "four"]
    file.write_text('{"text": "one\u2028one"}\n{"text": "two"}\n')
    assert [row for _, row in read_json_lines(file)] == [{"text": "one\u2028one"}, {"text": "two"}]


def test_a_line_without_end_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LONGEST_LINE", 1000)
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a"}\n' + "x" * 90_000 + '\n{"text": "b"}\n')
    good, bad, after = read_rows(str(path), "text")
    assert (good.text, after.text) == ("a", "b")
    assert "longer than 1,000 bytes" in bad.reason
    path.write_text('{"text": "a"}\n' + "x" * 110_000)
    with pytest.raises(FairlabError, match=rf"{path} has a line of over 100,000 characters, .*; break it into lines"):
        list(read_rows(str(path), "text"))
    path.write_text('{"text": "a"}\n')
    with path.open("ab") as file:
        file.truncate(1 << 40)  # a terabyte of zeros that takes no room on the disk
    with pytest.raises(FairlabError, match=rf"{path} has a line of over 1,000 characters, .*; break it into lines"):
        list(read_rows(str(path), "text"))
    monkeypatch.setattr(reading, "LONGEST_ROW", 100_000)
    for suffix in (".csv", ".tsv"):
        path = path.rename(path.with_suffix(suffix))
        path.write_text("text\na\n")
        with path.open("ab") as file:
            file.truncate(1 << 40)
        with pytest.raises(FairlabError, match=rf"{path} has a line of over 100,000 characters, as no table has"):
            list(read_rows(str(path), "text"))


def test_a_file_of_two_encodings_names_both_lines(tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes("plain\ncafé\n".encode() + "naïf\n".encode("latin-1"))
    with pytest.raises(FairlabError, match=r"a\.txt has two encodings: line 2 is UTF-8 and line 3 is not"):
        read_text(file)
    file.write_bytes("naïf café".encode("latin-1"))
    assert read_text(file) == "naïf café"
    with pytest.raises(FairlabError, match=r"a\.txt line 1 is not UTF-8 text \(byte 2 of the line\)"):
        list(text_lines(file))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text,label,text\na,b,c\n", "has the column 'text' more than once"),
        ("te\x07xt,label\na,b\n", r"has a column named 'te\\x07xt', with a character that is not text"),
        ("text,label\na,b\0\n", "line 2 is not plain text"),
        ('text\n"never closed\n' + "x" * (1 << 24), "a quote is not closed"),
        ("", "has no column 'text'; it is empty"),
        ("other\n", "has no column 'text'; it has: other"),
    ],
)
def test_bad_tables_are_one_sentence(tmp_path, content, message):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(FairlabError, match=message):
        list(read_table_rows(tmp_path / "a.csv", columns=["text"]))


def test_columns_without_a_name_may_repeat(tmp_path):
    (tmp_path / "a.csv").write_text("text,,\na,,\n")
    assert list(read_table_rows(tmp_path / "a.csv")) == [(2, {"text": "a", "": ""})]


def test_a_repeated_key_is_refused(tmp_path):
    file = tmp_path / "a.json"
    file.write_text('{"text": "a", "text": "b"}')
    with pytest.raises(FairlabError, match=r"a\.json is not JSON \(the key 'text' occurs more than once\)"):
        read_json_file(file, "mend it")
    with pytest.raises(FairlabError, match=r"the key 'text' occurs more than once"):
        read_yaml_text(file)
    file.write_text("base: &b {x: 1}\nother:\n  <<: *b\n  x: 2\n")
    assert read_yaml_text(file)["other"] == {"x": 2}


def test_parquet_with_a_repeated_column_is_refused(tmp_path):
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.Table.from_arrays([pyarrow.array(["a"]), pyarrow.array(["b"])], names=["text", "text"])
    parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(FairlabError, match="has the column 'text' more than once"):
        list(read_rows(str(tmp_path / "a.parquet")))
