import pytest
from datasets import ClassLabel, Dataset, Features, Value

from fairlab.data.published.task_files import examples_digest, label_counts, parse_examples, read_task
from fairlab.data.published.tasks import TASKS, Example, find_task
from fairlab.types import DataUnavailable, FairlabError

MRPC = '\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t1\t2\tHe " hi\tHe hi "\r\n0\t3\t4\ta\tb\r\n'
A, B = Example("a", None, 0), Example("b", None, 1)
AB, CD = Example("a", "b", 0), Example("c", "d", 1)

# A file's name, its content, and the examples in it: every layout in which a task is published.
FILES = {
    "cola": ("train.tsv", "gj04\t0\t*\ta\ngj04\t1\t\tb\n", [A, B]),
    "sst2": ("train.tsv", "a\t0\nb\t1\n", [A, B]),
    "sst2 with a blank line": ("train.tsv", "a\t0\n\nb\t1\n", [A, B]),
    "sst2 as a table": ("train.csv", "label,sentence\n0,a\n1,b\n", [A, B]),
    "sst2 of Booleans": (
        "train.jsonl",
        '{"sentence": "a", "label": false}\n{"sentence": "b", "label": true}\n',
        [A, B],
    ),
    "sst2 with a header": ("train.tsv", "sentence\tlabel\na\t0\nb\t1\n", [A, B]),
    "mrpc": ("train.tsv", MRPC, [Example('He " hi', 'He hi "', 1), AB]),
    "stsb": (
        "train.tsv",
        "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
        "0\tg\tf\ty\to\ts\ts\ta\tb\t2.600\n1\tg\tf\ty\to\ts\ts\tc\td\t0\n",
        [Example("a", "b", 2.6), Example("c", "d", 0.0)],
    ),
    "qqp": (
        "train.tsv",
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n0\t1\t2\ta\tb\t0\n1\t3\t4\tc\td\t1\n",
        [AB, CD],
    ),
    "qqp as JSON": (
        "dev.json",
        '{"0": {"text_a": "a", "text_b": "b", "label": "0"}, "1": {"text_a": "c", "text_b": "d", "label": 1}}',
        [AB, CD],
    ),
    "mnli": (
        "dev_matched.tsv",
        "index\tgenre\tsentence1\tsentence2\tlabel1\tgold_label\n"
        "0\tg\ta\tb\tneutral\tentailment\n1\tg\tc\td\tneutral\tneutral\n",
        [AB, CD],
    ),
    "mnli without a header": ("mnli_matched", "entailment\ta\tb\nneutral\tc\td\n", [AB, CD]),
    "mnli as JSON lines": (
        "dev.jsonl",
        '{"premise": "a", "hypothesis": "b", "label": "entailment"}\n\n'
        '{"premise": "c", "hypothesis": "d", "label": "neutral"}\n',
        [AB, CD],
    ),
    "qnli": ("dev.tsv", "index\tquestion\tsentence\tlabel\n0\ta\tb\tnot_entailment\n1\tc\td\tentailment\n", [AB, CD]),
    "rte": ("dev.tsv", "index\tsentence1\tsentence2\tlabel\n0\ta\tb\tnot_entailment\n1\tc\td\tentailment", [AB, CD]),
    "wnli": ("dev.tsv", "index\tsentence1\tsentence2\tlabel\n0\ta\tb\t0\n1\tc\td\t1\n", [AB, CD]),
    "race": (
        "dev.json",
        '[{"article": "a", "question": "q _ ?", "options": ["1", "2", "3", "4"], "answer": "C"}]',
        [Example("a", "q _ ?", 2, ("1", "2", "3", "4"))],
    ),
    "snli": ("dev.tsv", "premise\thypothesis\tlabel\na\tb\t0\nc\td\t1\n", [AB, CD]),
    "snli as published": (
        "dev.jsonl",
        '{"sentence1": "a", "sentence2": "b", "gold_label": "entailment"}\n'
        '{"sentence1": "x", "sentence2": "y", "gold_label": "-"}\n'
        '{"sentence1": "x", "sentence2": "y", "gold_label": null}\n'
        '{"sentence1": "c", "sentence2": "d", "gold_label": "neutral"}\n',
        [AB, CD],
    ),
    "hans": (
        "heuristics_evaluation_set.txt",
        "gold_label\tsentence1\tsentence2\tpairID\nnon-entailment\ta\tb\tex0\nentailment\tc\td\tex1\n",
        [AB, CD],
    ),
    "hans_mnli": ("mnli_contradicting_examples", "a\tb\tentailment\nc\td\tneutral\n", [AB, CD]),
    "mnli_two_way": (
        "dev.jsonl",
        '{"premise": "c", "hypothesis": "d", "label": "entailment"}\n'
        '{"premise": "x", "hypothesis": "y", "label": "neutral"}\n'
        '{"premise": "x", "hypothesis": "y", "label": null}\n'
        '{"premise": "a", "hypothesis": "b", "label": "contradiction"}\n',
        [CD, AB],
    ),
    "fever": (
        "dev.jsonl",
        '{"claim": "b", "evidence": [["Page", "3", "a"]], "label": "REFUTES"}\n'
        '{"claim": "d", "evidence": [["P", "0", "c1"], ["Q", "1", "c2"]], "label": "NOT ENOUGH INFO"}\n',
        [AB, Example("c1 c2", "d", 2)],
    ),
    "fever_two_way": (
        "dev.jsonl",
        '{"claim": "b", "evidence": "a", "label": "REFUTES"}\n'
        '{"claim": "x", "evidence": [], "label": "NOT ENOUGH INFO"}\n'
        '{"claim": "d", "evidence": ["of it", "too"], "label": "SUPPORTS"}\n'
        '{"claim": "d", "evidence": "of it", "label": "SUPPORTS"}\n',
        [AB, Example("of it too", "d", 1), Example("of it", "d", 1)],
    ),
    "fever_claims": (
        "dev.jsonl",
        '{"text": "a", "label": "refuted"}\n{"text": "b", "label": "supported"}\n',
        [A, B],
    ),
    "vitaminc_two_way": (
        "test.jsonl",
        '{"claim": "b", "evidence": "of it", "label": "refutes"}\n'
        '{"claim": "d", "evidence": "c", "label": "supports"}\n'
        '{"claim": "x", "evidence": "y", "label": "not enough info"}\n',
        [Example("of it", "b", 0), CD],
    ),
    "fool_me_twice": (
        "train.jsonl",
        '{"text": "b", "gold_evidence": [{"section_header": "S", "text": "a1"}, {"text": "a2"}], "label": "REFUTES"}\n',
        [Example("a1 a2", "b", 0)],
    ),
    "fever_symmetric": (
        "dev.jsonl",
        '{"claim": "b", "evidence_sentence": "a", "label": "REFUTES"}\n'
        '{"claim": "d", "evidence": "c", "sentence1": "c", "sentence2": "d", "label": "SUPPORTS"}\n',
        [AB, CD],
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_every_layout(tmp_path, case):
    name, content, examples = FILES[case]
    (tmp_path / name).write_bytes(content.encode())
    assert parse_examples(tmp_path / name, TASKS[case.split()[0]]) == examples


@pytest.mark.parametrize(
    ("task", "name", "content", "message"),
    [
        ("sst2", "dev.tsv", "good\t1\nbad 0\n", "line 2 has 1 columns, not 2; is it sst2's"),
        ("sst2", "dev.tsv", "good\t2\n", "line 1 has the label '2'; sst2 has 0, 1"),
        ("sst2", "dev.tsv", "", "holds no example; is it sst2's"),
        ("rte", "dev.tsv", "index\tsentence1\tsentence2\tlabel\n", "holds no example"),
        ("sst2", "dev.csv", "sentence,label\n", r"dev\.csv holds no example"),
        ("sst2", "dev.csv", "sentence,label\na,1\nb\n", r"dev\.csv line 3: "),
        ("sst2", "dev.csv", "sentence,label\na,1\nb,2\n", r"dev\.csv line 3 has the label '2'"),
        ("sst2", "dev.jsonl", '{"sentence": "a", "label": null}\n', "line 1 has no label"),
        ("snli", "dev.jsonl", '{"sentence1": "a", "sentence2": "b", "gold_label": true}\n', "has the label 'True'"),
        ("stsb", "dev.jsonl", '{"sentence1": "a", "sentence2": "b", "score": true}\n', "has the score 'True'"),
        (
            "rte",
            "dev.tsv",
            "0\ta\tb\tneutral\n",
            "names the columns 0, a, b, neutral; rte has sentence1, sentence2, la",
        ),
        ("rte", "dev.tsv", "index\tsentence1\tsentence2\tlabel\n0\ta\tb\tneutral\n", "line 2 has the label 'neutral'"),
        ("rte", "dev.tsv", "index\tsentence1\tsentence2\tlabel\n0\ta\tb\t1\n", "the label '1'; rte has not_entailment"),
        ("mrpc", "dev.tsv", "index\tsentence1\tlabel\n0\ta\t1\n", "names the columns index, sentence1, label; mrpc ha"),
        (
            "stsb",
            "dev.tsv",
            "sentence1\tsentence2\tscore\na\tb\t5.1\n",
            "the score '5.1'; stsb has numbers from 0 to 5",
        ),
        ("stsb", "dev.tsv", "sentence1\tsentence2\tscore\na\tb\tnan\n", "the score 'nan'"),
        ("qqp", "dev.json", '{"0": {"text_a": "a", "label": "0"}}', "row 0 has the columns text_a, label; qqp has"),
        ("qqp", "dev.json", '{"0": 5}', "row 0 is not an object of named fields"),
        (
            "qqp",
            "dev.json",
            '{"0": {"text_a": null, "text_b": "b", "label": "0"}}',
            "row 0 has a cell that is not text in one of",
        ),
        (
            "qqp",
            "dev.json",
            '{"0": {"text_a": ["a", "b"], "text_b": "b", "label": "0"}}',
            "row 0 has a cell that is not text in one of",
        ),
        ("qqp", "dev.json", "{", "dev.json is not JSON"),
        ("qqp", "dev.jsonl", "{}\n3\n", "line 1 has the columns ; qqp has"),
        (
            "race",
            "dev.json",
            '[{"article": "a", "question": "q", "options": ["1"], "answer": "A"}]',
            "row 1 has 1 answers, not 4",
        ),
        (
            "race",
            "dev.json",
            '[{"article": "a", "question": "q", "options": 3, "answer": "A"}]',
            "has a cell that is not text in one",
        ),
    ],
)
def test_another_file_is_refused_in_a_sentence(tmp_path, task, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(FairlabError, match=message):
        parse_examples(tmp_path / name, TASKS[task])


@pytest.mark.parametrize("evidence", ["[]", '[{"title": "x"}]', "[[]]", "[3]", "null"])
def test_evidence_without_text_is_refused(tmp_path, evidence):
    (tmp_path / "dev.jsonl").write_text(f'{{"claim": "b", "evidence": {evidence}, "label": "REFUTES"}}\n')
    with pytest.raises(FairlabError, match=r"dev.jsonl line 1 has a cell that is not text in one of evidence, claim"):
        parse_examples(tmp_path / "dev.jsonl", TASKS["fever_two_way"])


def test_a_set_that_is_measured_on_has_nothing_to_train_on():
    with pytest.raises(FairlabError, match="fever_symmetric has no split 'train'; it is only for evaluation"):
        read_task("fever_symmetric", "train")
    with pytest.raises(FairlabError, match="vitaminc has no split 'dev'; it has: train, test"):
        read_task("vitaminc", "dev")
    with pytest.raises(DataUnavailable, match="fever_symmetric is not on the hub"):
        read_task("fever_symmetric", "test", "hub")


def claims(folder, *texts):
    folder.mkdir()
    rows = [f'{{"claim": "{text}", "evidence": "e", "label": "{label}"}}\n' for text, label in texts]
    (folder / "train.jsonl").write_text("".join(rows))


def test_a_mixture_has_an_example_of_each_in_turn(tmp_path):
    claims(tmp_path / "fever_two_way", ("a", "SUPPORTS"), ("b", "REFUTES"), ("c", "REFUTES"))
    claims(tmp_path / "vitaminc_two_way", ("x", "refutes"), ("n", "not enough info"), ("y", "supports"))
    found = read_task("fever_two_way+vitaminc_two_way", "train", str(tmp_path))
    assert [(example.second, example.label) for example in found] == [("a", 1), ("x", 0), ("b", 0), ("y", 1), ("c", 0)]
    assert find_task("fever_two_way+vitaminc_two_way").field_names == ["evidence", "claim"]


def test_the_layouts_of_a_mixture_end_with_those_of_its_first_task():
    evidence = ("evidence", "claim", "label")
    assert find_task("fool_me_twice+fever_symmetric").layouts == (
        *(("evidence_sentence", "claim", "label"), evidence),
        ("gold_evidence", "text", "label"),
    )


def test_fields_have_names_and_can_be_replaced():
    assert TASKS["race"].field_names == ["article", "question", *(f"option_{letter}" for letter in "ABCD")]
    assert TASKS["qqp"].field_names == ["text_a", "text_b"]
    assert Example("a", "b", 1, ("x", "y")).with_fields(["c", "d", "e", "f"]) == Example("c", "d", 1, ("e", "f"))
    assert Example("a", None, 1, ("x",)).with_fields(["c", "e"]) == Example("c", None, 1, ("e",))


def test_tasks_of_other_labels_or_fields_are_not_mixed():
    with pytest.raises(
        FairlabError, match="fool_me_twice and vitaminc cannot be mixed: they have the fields and labels"
    ):
        find_task("fool_me_twice+vitaminc")
    with pytest.raises(FairlabError, match="fever and fever_claims cannot be mixed"):
        find_task("fever+fever_claims")
    with pytest.raises(FairlabError, match="no task 'x'"):
        find_task("rte+x")


def test_tasks_that_do_not_exist():
    with pytest.raises(FairlabError, match="no task 'cola2'; there are: cola, sst2, sst2_halves, mrpc, stsb, qqp"):
        read_task("cola2", "dev")


def test_a_folder_of_ones_own_may_have_other_splits(tmp_path):
    claims(tmp_path / "own", ("a", "SUPPORTS"), ("b", "REFUTES"))
    assert [example.label for example in read_task("fever_symmetric", "train", str(tmp_path / "own"))] == [1, 0]


def test_a_folder_of_ones_own(tmp_path):
    (tmp_path / "train.jsonl").write_text('{"sentence": "a", "label": 0}\n{"sentence": "b", "label": "positive"}\n')
    assert read_task("sst2", "train", str(tmp_path)) == [A, B]
    with pytest.raises(DataUnavailable, match=r"contains none of dev.tsv, dev.json, dev.jsonl"):
        read_task("sst2", "dev", str(tmp_path))


def test_examples_of_one_label_alone(tmp_path):
    (tmp_path / "dev.tsv").write_text("a\t1\n")
    with pytest.raises(FairlabError, match=r"dev.tsv has only examples of the label positive"):
        read_task("sst2", "dev", str(tmp_path))
    (tmp_path / "dev.tsv").write_text("sentence1\tsentence2\tscore\na\tb\t3\n")
    with pytest.raises(FairlabError, match=r"only examples of the label 3.0"):
        read_task("stsb", "dev", str(tmp_path))


def test_the_hubs_numbers_are_read_by_the_names_it_gives_them(monkeypatch):
    label = ClassLabel(names=["entailment", "not_entailment"])  # as on the hub: the other way round than here
    features = Features({"sentence1": Value("string"), "sentence2": Value("string"), "label": label})
    rows = {"sentence1": ["a", "c"], "sentence2": ["b", "d"], "label": [1, 0]}
    asked = []

    def load_dataset(*names, split):
        asked.append((*names, split))
        return Dataset.from_dict(rows, features=features)

    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    assert read_task("rte", "dev", "hub") == [AB, CD]
    assert asked == [("nyu-mll/glue", "rte", "validation")]
    rows["label"] = [-1, 0]  # as in the test split
    with pytest.raises(FairlabError, match=r"nyu-mll/glue \(rte, validation\) row 1 has the label '-1'"):
        read_task("rte", "dev", "hub")
    rows["label"] = [0, 0]
    with pytest.raises(FairlabError, match=r"nyu-mll/glue \(rte, dev\) has only examples of the label entailment"):
        read_task("rte", "dev", "hub")


def test_the_hub_out_of_reach(monkeypatch):
    def load_dataset(*names, split):
        raise ConnectionError(f"no way to\n{split}")

    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    with pytest.raises(
        DataUnavailable, match=r"does not provide nyu-mll/glue \(mnli, validation_matched\): no way to val"
    ):
        read_task("mnli", "dev_matched", "hub")


def test_an_answer_stands_where_the_question_has_its_blank():
    options = ("red", "blue")
    assert Example("t", "It is _ .", 0, options).pairs == [("t", "It is red ."), ("t", "It is blue .")]
    assert Example("t", "Which?", 0, options).pairs == [("t", "Which? red"), ("t", "Which? blue")]
    assert CD.pairs == [("c", "d")]


def test_the_hash_is_of_the_content():
    assert examples_digest([AB, CD]) != examples_digest([CD, AB]) != examples_digest([CD])
    assert examples_digest([AB]) != examples_digest([Example("a", "b", 1)])
    assert examples_digest([Example("a", "b", 0, ("x",))]) != examples_digest([Example("a", "b", 0, ("y",))])


def test_label_counts():
    assert label_counts([A, B, B], TASKS["sst2"]) == {"negative": 1, "positive": 2}
    assert label_counts([Example("a", "b", 2.5)], TASKS["stsb"]) == {}


# Task and split: examples, and how many have each label.
SIZES = {
    ("cola", "train"): (8551, [2528, 6023]),
    ("cola", "dev"): (1043, [322, 721]),
    ("sst2", "train"): (6920, [3310, 3610]),
    ("sst2", "dev"): (872, [428, 444]),
    ("sst2_halves", "train"): (4880, [2370, 2510]),
    ("qqp_halves", "dev"): (5068, [3239, 1829]),
    ("bios", "dev"): (666, [151, 515]),
    ("mrpc", "train"): (3667, [1194, 2473]),
    ("mrpc", "dev"): (408, [129, 279]),
    ("stsb", "train"): (5749, []),
    ("stsb", "dev"): (1500, []),
    ("qqp", "train"): (8999, [5747, 3252]),
    ("qqp", "dev"): (1000, [623, 377]),
    ("mnli", "train"): (8999, [3061, 2980, 2958]),
    ("mnli", "dev"): (1000, [347, 333, 320]),
    ("mnli", "dev_matched"): (1000, [373, 311, 316]),
    ("mnli", "dev_mismatched"): (1000, [346, 319, 335]),
    ("qnli", "dev"): (5463, [2761, 2702]),
    ("rte", "train"): (2490, [1241, 1249]),
    ("rte", "dev"): (277, [131, 146]),
    ("wnli", "train"): (635, [323, 312]),
    ("wnli", "dev"): (71, [40, 31]),
    ("mnli_two_way", "train"): (6019, [2958, 3061]),
    ("snli", "dev"): (9842, [3329, 3235, 3278]),
    ("snli_validation", "train"): (9842, [3329, 3235, 3278]),
    ("snli_validation", "test"): (9824, [3368, 3219, 3237]),
    ("hans_mnli", "test"): (261, [0, 82, 179]),
    ("fool_me_twice", "train"): (500, [244, 256]),
    ("vitaminc", "train"): (300, [100, 100, 100]),
    ("vitaminc_two_way", "train"): (200, [100, 100]),
    ("vitaminc", "test"): (100, [34, 54, 12]),
    ("fever_symmetric", "dev"): (708, [354, 354]),
    ("fever_symmetric", "test"): (712, [356, 356]),
    ("fever_symmetric_v01", "full"): (956, [478, 478]),
    ("fever_symmetric_v01", "generated"): (717, [338, 379]),
}


@pytest.mark.data
@pytest.mark.parametrize(("task", "split"), SIZES)
def test_published_sizes(task, split):
    examples = read_task(task, split)
    assert (len(examples), list(label_counts(examples, TASKS[task]).values())) == SIZES[task, split]
    assert all(example.first.strip() and (example.second is None or example.second.strip()) for example in examples)
    assert all("\t" not in example.first and "\ufeff" not in example.first for example in examples)


@pytest.mark.data
def test_the_published_scores_are_those_of_the_reader_of_sts(data_folder):
    from fairlab.data.published.stsb import read_sts

    pairs = read_sts(data_folder / "glue" / "STS-B" / "dev.tsv")
    assert [(pair.first, pair.second, pair.score) for pair in pairs] == [
        (example.first, example.second, example.label) for example in read_task("stsb", "dev")
    ]


def test_every_split_is_named_and_measured():
    for task in TASKS.values():
        assert task.files
        assert task.halves == (len(set(task.files.values())) < len(task.files))  # one file for both splits
        assert set(task.metrics) <= {"accuracy", "f1", "macro_f1", "matthews", "pearson", "spearman"}
        assert set(task.merged.values()) <= set(task.labels)
        assert set(task.spellings.values()) <= {*task.labels, *task.left_out}
    assert TASKS["mnli"].dev_splits == ["dev", "dev_matched", "dev_mismatched"]
    assert {name for name, task in TASKS.items() if "train" not in task.files} == {
        *("fever_symmetric", "fever_symmetric_v01", "hans", "hans_mnli")
    }
    glue = ("cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte", "wnli")
    assert {TASKS[name].hub for name in glue} == {("nyu-mll/glue", name) for name in glue}
