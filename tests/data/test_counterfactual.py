from dataclasses import replace
from pathlib import Path

import pytest

from fairlab.augmentation.cda import CDA
from fairlab.augmentation.cda_text import CDAText
from fairlab.data.counterfactual import CounterfactualData, groups_of, hold_out
from fairlab.files import sha256
from fairlab.types import FairlabError, Group
from tests.conftest import make_groups, row, write_rows


def make(path, encoder, **changes):
    settings = {"validation": 4, "batch_size": 3, "limit": None, "epochs": 1, "seed": 0}
    return CounterfactualData(path=path, encoder=encoder, **settings | changes)


@pytest.fixture
def path(tmp_path):
    return write_rows(tmp_path / "groups.jsonl", [row(group) for group in make_groups(20)])


def test_the_last_groups_are_validation(path, tiny):
    data = make(path, tiny)
    assert [group.id for group in data.groups["validation"]] == ["g16", "g17", "g18", "g19"]
    assert len(data.groups["train"]) == 16
    assert len(make(path, tiny, validation=0.1).groups["validation"]) == 2


@pytest.mark.parametrize(
    ("validation", "said"), [(0, " must"), (-1, " must"), (20, "=20"), (0.01, r"=0\.01"), (0.99, r"=0\.99")]
)
def test_a_split_that_leaves_nothing(path, tiny, validation, said):
    with pytest.raises(FairlabError, match=rf"data\.validation{said}"):
        make(path, tiny, validation=validation)


def test_splits_of_the_file_are_kept(tmp_path, tiny):
    rows = [
        row(group) | {"split": split}
        for group, split in zip(make_groups(3), ["train", "test", "validation"], strict=True)
    ]
    data = make(write_rows(tmp_path / "g.jsonl", rows), tiny)
    assert [group.id for group in data.groups["train"]] == ["g0"]
    assert [group.id for group in data.groups["validation"]] == ["g2"]
    del rows[1]["split"]
    with pytest.raises(FairlabError, match="1 groups have no 'split'"):
        make(write_rows(tmp_path / "g.jsonl", rows), tiny)
    with pytest.raises(FairlabError, match="group 'g0' has the split 'dev'; use train, validation, test"):
        make(write_rows(tmp_path / "g.jsonl", [rows[0] | {"split": "dev"}, rows[2]]), tiny)
    with pytest.raises(FairlabError, match=r"data\.validation=4 takes 4 of the 1 groups"):
        make(write_rows(tmp_path / "g.jsonl", rows[:1]), tiny)


def test_workers_make_the_same_batches(path, tiny):
    here, ahead = make(path, tiny, epochs=2), make(path, tiny, epochs=2)
    ahead.num_workers = 2
    assert (here.train_dataloader().num_workers, ahead.train_dataloader().num_workers) == (0, 2)
    pairs = list(zip(here.train_dataloader(), ahead.train_dataloader(), strict=True))
    assert len(pairs) == here.total_batches
    assert all(one.ids == other.ids and one.input_ids.equal(other.input_ids) for one, other in pairs)


def test_other_data_has_no_groups(path, tiny):
    data = make(path, tiny)
    assert groups_of(data) is data.groups
    with pytest.raises(FairlabError, match="needs counterfactual groups"):
        groups_of(object())


def test_a_batch_holds_whole_groups_neutral_first(path, tiny):
    data = make(path, tiny)
    for batch in data.train_dataloader():
        assert batch.input_ids.shape[0] == 3 * len(batch.ids)
        for k, (name, position) in enumerate(zip(batch.ids, batch.positions, strict=True)):
            group = data.groups["train"][position]
            assert group.id == name
            for version, text in enumerate(group.texts):
                line = 3 * k + version
                ids = batch.input_ids[line][batch.attention_mask[line].bool()].tolist()
                assert ids == tiny.tokenize([text])[0]


def test_limit_and_truncation_are_counted(path, tiny):
    data = make(path, tiny, limit=5)
    assert len(data.groups["train"]) == 5
    assert data.total_batches == 2
    mask = [batch.attention_mask.sum().item() for batch in data.train_dataloader()]
    assert data.sizes() == {"groups": 5, "tokens": sum(mask)}
    lengths = [len(ids) for ids in tiny.tokenize([text for group in make_groups(16) for text in group.texts])]
    tiny.max_length = 10
    assert 0 < make(path, tiny).num_truncated() == sum(length >= 10 for length in lengths) < len(lengths)


def test_further_groups_are_trained_on_alone(path, tiny, tmp_path):
    alone, more = make(path, tiny), write_rows(tmp_path / "more.jsonl", [row(group) for group in make_groups(5)])
    data = make(path, tiny, more=[more])
    assert data.groups["validation"] == alone.groups["validation"]
    assert data.groups["train"] == [*alone.groups["train"], *make_groups(5)]
    assert data.facts()["more"] == {more: sha256(Path(more))}


def test_nothing_that_is_measured_on_comes_back_by_further_groups(path, tiny, tmp_path):
    held_out = [row(replace(group, id=f"t{k}")) | {"split": "test"} for k, group in enumerate(make_groups(30)[25:])]
    more = write_rows(tmp_path / "more.jsonl", [*map(row, make_groups(25)), *held_out])
    data = make(path, tiny, more=[more])
    measured = {text for group in data.groups["validation"] for text in group.texts}
    assert len(data.groups["validation"]) == 4
    assert measured.isdisjoint(text for group in data.groups["train"] for text in group.texts)
    assert len(data.groups["train"]) == 16 + 21  # of 25 four are validated on, and five are of a test split


def test_further_groups_of_a_test_split_alone_are_refused(path, tiny, tmp_path):
    more = write_rows(tmp_path / "more.jsonl", [row(group) | {"split": "test"} for group in make_groups(3)])
    with pytest.raises(FairlabError, match=r"no group of the split train; give data\.more groups to train on"):
        make(path, tiny, more=[more])


def test_further_groups_have_the_same_attributes(path, tiny, tmp_path):
    versions = {"neutral": "They won.", "old": "They won, old.", "young": "They won, young."}
    other = write_rows(tmp_path / "age.jsonl", [{"id": "1", "axis": "age", "versions": versions}])
    with pytest.raises(FairlabError, match="has the attributes old, young, but the training groups have man, woman"):
        make(path, tiny, more=[other])


def test_an_augmentation_is_applied_to_both_splits_and_what_it_drops_is_counted(tmp_path, tiny):
    plain = Group("plain", "gender", {"neutral": "a river", "man": "the river", "woman": "one river"})
    path = write_rows(tmp_path / "more.jsonl", [row(group) for group in [plain, *make_groups(20)]])
    data = make(path, tiny, augmentation=CDA())
    assert data.dropped == {"train": 1, "validation": 0}
    for split in ("train", "validation"):
        assert all(group.extra["augmentation"] == "cda" for group in data.groups[split])


def test_an_augmentation_of_plain_text_is_refused(path, tiny):
    with pytest.raises(
        FairlabError, match="works on plain text, not on counterfactual groups; choose augmentation=none or cda"
    ):
        make(path, tiny, augmentation=CDAText(axis="gender"))


def test_groups_are_held_out_by_their_neutral_text(tmp_path, tiny):
    groups = make_groups(20)
    again = [replace(group, id=f"{group.id} again") for group in groups]
    file = write_rows(tmp_path / "twice.jsonl", [row(group) for group in [*groups, *again]])
    data = make(file, tiny, test=5)
    out = {group.versions["neutral"] for group in data.held_out}
    others = {group.versions["neutral"] for part in data.groups.values() for group in part}
    assert len(data.held_out) == 6  # groups of the same texts stay together
    assert out.isdisjoint(others)
    assert len(data.held_out) + sum(map(len, data.groups.values())) == 40
    assert data.facts()["test_groups"] == 6
    shuffled = write_rows(tmp_path / "other.jsonl", [row(group) for group in [*again, *groups]])
    assert {group.id for group in make(shuffled, tiny, test=5).held_out} == {group.id for group in data.held_out}


def test_groups_that_share_any_version_are_held_out_together(tmp_path, tiny):
    groups = make_groups(12)
    shared = groups[0].versions["man"]
    groups[5] = replace(groups[5], versions=groups[5].versions | {"woman": groups[9].versions["woman"]})
    groups[9] = replace(groups[9], versions=groups[9].versions | {"man": shared})
    file = write_rows(tmp_path / "g.jsonl", [row(group) for group in groups])
    for test in range(1, 6):  # g0, g9 and g5 hang together
        out = {group.id for group in make(file, tiny, test=test, validation=1).held_out}
        assert len(out & {"g0", "g5", "g9"}) in (0, 3)
        assert test <= len(out) <= test + 2


@pytest.mark.parametrize(("test", "out"), [(1, 1), (2, 2), (19, 19), (0.05, 1), (0.95, 19)])
def test_so_many_groups_are_held_out(test, out):
    assert [len(side) for side in hold_out(make_groups(20), test, 0, "x")] == [20 - out, out]
    assert [len(side) for side in hold_out(make_groups(20), None, test, "x")] == [20 - out, out]


def test_groups_that_all_share_a_version_cannot_be_divided():
    groups = [replace(group, versions=group.versions | {"neutral": "they left"}) for group in make_groups(3)]
    with pytest.raises(FairlabError, match="takes 1 of the 3 groups in x, which leaves none to train on"):
        hold_out(groups, 1, 0, "x")


def test_what_is_held_out_by_itself(path, tiny):
    assert make(path, tiny).held_out == []
    assert "test_groups" not in make(path, tiny).facts()
    assert len(make(path, tiny, input="texts.txt").held_out) == 4  # as many as validation
    assert make(path, tiny, input="texts.txt", test=0).held_out == []
    assert len(make(path, tiny, test=0.25).held_out) == 5


@pytest.mark.parametrize(
    ("test", "message"),
    [
        (0.01, r"data.test=0.01 takes 0 of the 20 groups in .*, which leaves none to measure on; give more groups"),
        (20, r"data.test=20 takes 20 of the 20 groups .* leaves none to train on; give a smaller number or more"),
        (0.99, r"data.test=0.99 takes 20 of the 20"),
        (18, r"data.validation=4 takes 4 of the 2 groups"),
    ],
)
def test_a_held_out_part_that_leaves_nothing(path, tiny, test, message):
    with pytest.raises(FairlabError, match=message):
        make(path, tiny, test=test)


def test_a_file_with_splits_says_itself_what_is_held_out(tmp_path, tiny):
    splits = ["train"] * 4 + ["validation"] * 2 + ["test"] * 2
    rows = [row(group) | {"split": split} for group, split in zip(make_groups(8), splits, strict=True)]
    file = write_rows(tmp_path / "g.jsonl", rows)
    assert make(file, tiny, input="texts.txt").held_out == []
    with pytest.raises(FairlabError, match=r"has splits, which define the held-out groups; leave data\.test out"):
        make(file, tiny, test=2)


def test_groups_that_differ_behind_the_cut_alone_are_refused(tiny, tmp_path):
    start = "the nurse saw the old house near the river and "
    names = {"neutral": "they left", "man": "he left", "woman": "she left"}
    long = [
        {"id": f"l{k}", "axis": "gender", "versions": {name: f"{start} {text} {k}" for name, text in names.items()}}
        for k in range(12)
    ]
    tiny.max_length = 8
    with pytest.raises(
        FairlabError, match=r"are identical up to backbone\.max_length=8, so training on them has no effect"
    ):
        make(write_rows(tmp_path / "long.jsonl", long), tiny)
    data = make(write_rows(tmp_path / "some.jsonl", [*long[:3], *(row(group) for group in make_groups(20))]), tiny)
    assert data.facts()["groups_alike_up_to_max_length"] == 3
