"""Which set of groups a report draws."""

import numpy as np
import torch
from safetensors.torch import save_file

from fairlab.record import Reading, Record
from fairlab.reporting.projections import embedded, embedding_sections


def test_an_axis_of_ones_own_is_drawn_with_its_own_attributes(tmp_path):
    rng = np.random.default_rng(0)
    for phase in ("before", "after"):
        (tmp_path / "items" / phase).mkdir(parents=True)
        sets = {"embedded": 3, "held_out_disability": 4}
        tensors = {name: torch.from_numpy(rng.normal(size=(12, n, 5)).astype("float32")) for name, n in sets.items()}
        save_file(tensors, tmp_path / "items" / phase / "cced.safetensors")
    names = ("distance", "distance_blind", "distance_deaf", "distance_lame", "distance_kept")
    readings = [
        Reading("cced", "held_out_disability", name, 0.5, "", None, 12, 0.4, 0.6, phase="after") for name in names
    ]
    config = {"benchmark": {"cced": {"sets": ["embedded"]}}, "seed": 0}
    record = Record(tmp_path, config, "", status="finished", readings=readings)
    found = embedded(record)
    assert (found.subset, list(found.attributes)) == ("held_out_disability", ["blind", "deaf", "lame"])
    assert found.texts[0] == ["held-out group 1, neutral"] + [
        f"held-out group 1, {name}" for name in ("blind", "deaf", "lame")
    ]
    sections = embedding_sections(record)
    assert sections[0].title == "Distances to neutral, held_out_disability"
    assert [cell if isinstance(cell, str) else cell.text for cell in sections[0].blocks[-1].columns][1:] == [
        "blind", "deaf", "lame"
    ]  # fmt: skip
