import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fairlab.methods.inlp import INLP, less_components, nullspace_directions
from fairlab.types import FairlabError
from tests.methods.test_sentence_debias import make_data


def directions(embeddings, labels, classifiers):
    return nullspace_directions(embeddings, labels, classifiers, seed=0, held_out=embeddings, held_out_labels=labels)


@pytest.mark.parametrize("scale", [1.0, 1e5])
def test_in_the_plane_by_hand(scale):
    # Classes left and right of the vertical axis, alike above and below: what tells them apart is the first axis.
    embeddings = scale * np.array([[-1.0, 2.0], [-1.0, -2.0], [1.0, 2.0], [1.0, -2.0]])
    basis, accuracies = directions(embeddings, np.array([0, 0, 1, 1]), 1)
    assert np.abs(basis) == pytest.approx(np.array([[1.0, 0.0]]), abs=1e-4)
    assert accuracies == [1.0]


def test_equal_embeddings_have_no_direction():
    assert directions(np.zeros((4, 2)), np.array([0, 0, 1, 1]), 2)[0].shape == (0, 2)


def signal(count, seed):
    """Three classes that shift the first two of ten dimensions."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 3
    shifts = np.array([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])
    embeddings = rng.normal(size=(count, 10))
    embeddings[:, :2] += shifts[labels]
    return embeddings, labels


def test_no_linear_classifier_finds_the_attribute_afterwards():
    train, labels = signal(900, 0)
    held_out, held_out_labels = signal(900, 1)

    def accuracy(basis):
        probe = LogisticRegression(max_iter=1000).fit(less_components(train, basis), labels)
        return probe.score(less_components(held_out, basis), held_out_labels)

    nothing = np.empty((0, 10))
    basis, accuracies = nullspace_directions(train, labels, 3, 0, held_out=held_out, held_out_labels=held_out_labels)
    assert accuracy(nothing) > 0.85
    assert accuracy(basis) < 1 / 3 + 3 * np.sqrt(2 / 9 / 900)
    assert accuracies[0] > 0.85 > accuracies[-1]
    assert basis @ basis.T == pytest.approx(np.eye(len(basis)), abs=1e-8)
    assert np.linalg.norm(basis[:, :2]) > 1.35  # of the square root of 2: both dimensions of the signal are covered


def test_the_encoder_gets_the_projection(tiny, tmp_path):
    data = make_data(tiny, tmp_path, count=30)
    method = INLP(tiny, classifiers=3, seed=0)
    method.fit(data)
    facts = method.facts()
    assert facts["dimensions_removed"] == 32 - np.linalg.matrix_rank(tiny.projection.numpy(), tol=1e-3)
    texts = [text for group in data.groups["train"] for text in group.texts]
    labels = np.tile(np.arange(3), len(data.groups["train"]))
    score = LogisticRegression(max_iter=1000).fit(tiny.embed(texts).numpy(), labels).score(tiny.embed(texts), labels)
    assert score < facts["first_classifier_accuracy"]
    method.accuracies = [0.9, 0.7, 0.6]
    assert [method.facts()[f"{name}_classifier_accuracy"] for name in ("first", "last")] == [0.9, 0.6]


def test_bad_input(tiny, tmp_path):
    with pytest.raises(FairlabError, match="this method needs counterfactual groups"):
        INLP(tiny, classifiers=1, seed=0).fit(object())
    rng = np.random.default_rng(0)
    with pytest.raises(FairlabError, match=r"\d classifiers span all 3 dimensions of the embeddings; lower"):
        directions(rng.normal(size=(60, 3)), np.arange(60) % 3, 9)
