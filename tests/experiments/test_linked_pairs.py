"""The comparison of the pairs that two versions of the rules change."""

from experiments.perturbation import linked_pairs


def test_pairs_are_counted_by_what_both_versions_do():
    earlier = {"gender": [["a"], ["b"], None, None], "three axes": [["a"], None, ["c"], None]}
    present = {"gender": [["a"], None, ["c"], ["d"]], "three axes": [["x"], ["b"], ["c"], None]}
    found = linked_pairs.counts(earlier, present)
    assert found == {"earlier": 2, "present": 3, "new": 2, "gone": 1, "other": 2, "either": 3}


def test_every_task_of_the_record_has_a_row():
    table = linked_pairs.linked_pairs()
    assert all(title in table for _, title in linked_pairs.TASKS.values())
    assert "| SNLI, test file | 656 | 671 | 19 | 4 | 31 of 732 |" in table
