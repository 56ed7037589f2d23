import pytest

from fairlab.data.glue import TASKS, Example, parse, read_task
from fairlab.types import FairlabError

MRPC = '\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t1\t2\tHe " hi\tHe hi "\r\n0\t3\t4\ta\tb\r\n'


def test_unquoted_fields_with_a_byte_order_mark_and_crlf(tmp_path):
    path = tmp_path / "dev.tsv"
    path.write_bytes(MRPC.encode())
    assert parse(path, TASKS["mrpc"]) == [Example('He " hi', 'He hi "', 1), Example("a", "b", 0)]


@pytest.mark.parametrize(
    ("task", "content", "message"),
    [
        ("sst2", "good\t1\nbad 0\n", "line 2 has 1 columns, not 2; is it sst2's"),
        ("sst2", "good\t2\n", "line 1 has the label '2'; sst2 has 0, 1"),
        ("rte", "index\tsentence1\tsentence2\tlabel\n", "holds no example"),
        ("rte", "0\ta\tb\tneutral\n0\ta\tb\tneutral\n", "line 2 has the label 'neutral'"),
    ],
)
def test_another_file_is_refused_in_a_sentence(tmp_path, task, content, message):
    path = tmp_path / "dev.tsv"
    path.write_text(content)
    with pytest.raises(FairlabError, match=message):
        parse(path, TASKS[task])


def test_tasks_that_do_not_exist():
    with pytest.raises(FairlabError, match="no task 'cola2'; there are: sst2, mrpc, rte"):
        read_task("cola2", "dev")


@pytest.mark.data
@pytest.mark.parametrize(
    ("task", "train", "dev", "positive"), [("sst2", 6920, 872, 444), ("mrpc", 3667, 408, 279), ("rte", 2490, 277, 146)]
)
def test_published_sizes(task, train, dev, positive):
    assert len(read_task(task, "train")) == train
    examples = read_task(task, "dev")
    assert len(examples) == dev
    assert sum(example.label for example in examples) == positive
