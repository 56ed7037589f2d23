"""What the code may not do: run what it reads, unpack archives, or trust what it was sent."""

import ast
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "fairlab"
# The first takes dictionaries alone; the second hands a process of one's own what it was given.
PICKLE = {"methods/safety_ensemble/sources/bilstm.py", "data/stream/shards.py"}
# No member of an archive is written out by the name that it has there, so none can leave its folder.
UNPACKING = {"tarfile.open", "shutil.unpack_archive", "pooch.Untar", "pooch.Unzip"}
RUNNING = {"eval", "exec", "os.system", "yaml.load", "yaml.unsafe_load", "joblib.load", "torch.hub.load"}


@cache
def calls():
    """Every call of the package, with its file; found where a test asks, not as the tests are collected."""
    return [
        (path, node)
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    ]


def name_of(node):
    return ast.unparse(node.func)


def keywords(node):
    return {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}


def test_nothing_that_was_read_is_run_or_unpacked():
    assert len(calls()) > 1000
    found = [f"{path}: {name_of(node)}" for path, node in calls() if name_of(node) in UNPACKING | RUNNING]
    assert not found
    extracting = [str(path) for path, node in calls() if name_of(node).endswith((".extractall", ".extract"))]
    assert not extracting


def test_pickles_are_read_where_they_must_be_alone():
    reading = {
        str(path.relative_to(PACKAGE))
        for path, node in calls()
        if name_of(node).startswith("pickle.load") or name_of(node) in ("pickle.Unpickler", "_DictsOnly")
    }
    assert reading <= PICKLE


@pytest.mark.parametrize(
    ("call", "keyword", "allowed"),
    [("torch.load", "weights_only", {"True"}), ("np.load", "allow_pickle", {None, "False"})],
)
def test_tensors_and_arrays_are_read_without_pickles(call, keyword, allowed):
    assert {keywords(node).get(keyword) for _, node in calls() if name_of(node) == call} <= allowed


def test_whatever_transformers_loads_is_told_to_run_no_code_of_a_folder():
    loading = [
        (path, node)
        for path, node in calls()
        if name_of(node).endswith((".from_pretrained", ".from_config")) or name_of(node).startswith("Given.load")
    ]
    assert len(loading) > 12
    assert not [str(path) for path, node in loading if keywords(node).get("trust_remote_code") != "False"]


def test_no_remote_code_is_trusted():
    trusting = [str(path) for path, node in calls() if keywords(node).get("trust_remote_code") not in (None, "False")]
    assert not trusting
    shell = [str(path) for path, node in calls() if keywords(node).get("shell") not in (None, "False")]
    assert not shell
