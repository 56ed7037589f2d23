"""No number in a fitted model leads compiled code to where there is nothing."""

import io
import json
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from fairlab.methods.safety_ensemble.exported.trust import load_fitted
from fairlab.types import FairlabError

X = np.random.default_rng(0).random((200, 4))
KINDS = {
    "forest": RandomForestClassifier(2, max_depth=3, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=5),
}


@pytest.fixture(params=KINDS)
def fitted(request):
    return Pipeline([("impute", SimpleImputer()), ("model", KINDS[request.param])]).fit(X, X[:, 0] > 0.5)


def rewritten(pipeline, file, names, value, row=0):
    """A file of the pipeline in which one of some fields of nodes has another value in a row."""
    skops.io.dump([pipeline], file)
    made = io.BytesIO()
    with zipfile.ZipFile(file) as held, zipfile.ZipFile(made, "w") as new:
        for name in held.namelist():
            content = held.read(name)
            if name.endswith(".npy"):
                array = np.load(io.BytesIO(content))
                if array.dtype.names and (field := set(names) & set(array.dtype.names)):
                    array = array.copy()
                    array[field.pop()][row] = value
                    changed = io.BytesIO()
                    np.save(changed, array)
                    content = changed.getvalue()
            new.writestr(name, content)
    file.write_bytes(made.getvalue())
    return file


def test_a_whole_model_scores_as_before(fitted, tmp_path):
    skops.io.dump([fitted], tmp_path / "f.skops")
    (found,) = load_fitted(tmp_path / "f.skops")
    assert np.array_equal(found.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize(
    ("names", "value"),
    [
        (("left_child", "left"), 2**31),
        (("right_child", "right"), 2**31),
        (("left_child", "left"), 0),  # itself: without end
        (("right_child", "right"), 10_000),
        (("feature", "feature_idx"), 4),
        (("feature", "feature_idx"), 2**31 - 1),
    ],
)
def test_a_tree_that_leads_out_is_refused(fitted, tmp_path, names, value):
    with pytest.raises(FairlabError, match="holds a tree that leads out of itself"):
        load_fitted(rewritten(fitted, tmp_path / "f.skops", names, value))


def test_a_model_that_claims_more_scores_than_it_has_is_refused(fitted, tmp_path):
    fitted[-1].n_features_in_ = 0
    skops.io.dump([fitted], tmp_path / "f.skops")
    with pytest.raises(FairlabError, match="do not use this ensemble"):
        load_fitted(tmp_path / "f.skops")


def test_a_count_of_nodes_beyond_the_nodes_is_refused_or_of_no_effect(tmp_path):
    forest = Pipeline([("model", KINDS["forest"])]).fit(X, X[:, 0] > 0.5)
    skops.io.dump([forest], tmp_path / "f.skops")
    made = io.BytesIO()
    with zipfile.ZipFile(tmp_path / "f.skops") as held, zipfile.ZipFile(made, "w") as new:
        for name in held.namelist():
            content = held.read(name)
            if name == "schema.json":
                text = json.dumps(change_counts(json.loads(content)))
                content = text.encode()
            new.writestr(name, content)
    (tmp_path / "f.skops").write_bytes(made.getvalue())
    (found,) = load_fitted(tmp_path / "f.skops")
    assert np.array_equal(found.predict_proba(X), forest.predict_proba(X))


def change_counts(node):
    if isinstance(node, dict):
        return {
            key: {**value, "content": "1000000"} if key == "node_count" else change_counts(value)
            for key, value in node.items()
        }
    return [change_counts(one) for one in node] if isinstance(node, list) else node
