"""Fair subsamples."""

import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from fairlab.data.stream.manifest import Manifest, data_files
from fairlab.data.stream.subsample import WHOLE, fair_choice, subsample
from fairlab.files import sha256


@given(groups=st.lists(st.sampled_from("abcd"), max_size=60), limit=st.integers(1, 70), seed=st.integers(0, 5))
def test_groups_are_as_even_as_their_sizes_allow(groups, limit, seed):
    chosen = fair_choice(groups, limit, seed)
    assert chosen == sorted(set(chosen))
    assert len(chosen) == min(limit, len(groups))
    sizes, taken = Counter(groups), Counter(groups[place] for place in chosen)
    full = max(taken.values(), default=0)
    # A group with fewer rows than another has none left, but for one row of difference.
    assert all(taken[group] == sizes[group] or taken[group] >= full - 1 for group in sizes)


def test_rows_of_a_group_are_drawn_from_all_of_it():
    places = Counter(place for seed in range(300) for place in fair_choice(["a"] * 10, 3, seed))
    assert set(places) == set(range(10))
    assert max(places.values()) < 2 * min(places.values())


FILE = "data-00000.jsonl"


def expansion(folder):
    manifest = Manifest("0", {"name": "x"}, {})
    (folder / WHOLE).mkdir(exist_ok=True)
    for number in range(2):
        name = f"data-{number:05}.jsonl"
        lines = [{"id": f"{number}-{k}", **({"biaser": "ab"[k % 2]} if k else {})} for k in range(9)]
        (folder / WHOLE / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        manifest.add(
            {"read": 1, "reasons": {}, "counts": {}, "files": {"data": {"file": name, "rows": 9, "sha256": "x"}}}
        )
    return manifest


def test_the_manifest_lists_the_sample_in_place_of_the_data(tmp_path):
    manifest = expansion(tmp_path)
    subsample(manifest, tmp_path, 6, seed=0)
    assert manifest.made == 6
    assert manifest.files("data") == [FILE]
    assert manifest.rows()["left out by the limit"] == 12
    manifest.write(tmp_path)
    assert data_files(tmp_path) == [tmp_path / FILE]
    rows = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]
    assert Counter(row.get("biaser", "") for row in rows) == {"": 2, "a": 2, "b": 2}
    first = sha256(tmp_path / FILE)
    subsample(expansion(tmp_path), tmp_path, 6, seed=0)
    assert sha256(tmp_path / FILE) == first


def test_where_there_are_no_more_all_is_taken(tmp_path):
    manifest = expansion(tmp_path)
    subsample(manifest, tmp_path, 18, seed=0)
    assert manifest.made == 18
    made = [json.loads(line)["id"] for line in (tmp_path / FILE).read_text().splitlines()]
    assert made == [f"{number}-{k}" for number in range(2) for k in range(9)]
