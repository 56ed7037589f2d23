"""Controls and rivals in the report of an ensemble."""

from __future__ import annotations

from fairlab.record import Reading, Record
from fairlab.reporting.safety import rivals, safety_sections


def test_the_debiased_model_stands_beside_its_rivals(tmp_path):
    values = {
        "average_precision_change": -1.0,
        "acv_change": -60.0,
        "average_precision_change_of_smooth": -2.0,
        "acv_change_of_smooth": -30.0,
        "average_precision_change_of_paired_0.3": 1.0,
        "acv_change_of_paired_0.3": -50.0,
        "acv_change_from_smooth": -43.0,
    }
    readings = [
        Reading("safety", "hate", name, value, "%", None, 9, value - 1, value + 1, phase="after")
        for name, value in values.items()
    ]
    record = Record(tmp_path, {"method": {"harms": ["hate", "violence"]}}, "", readings=readings)
    found = {one.name: (one.precision, one.variance) for one in rivals(record, "safety", "hate")}
    assert found == {"debiased": (-1.0, -60.0), "smooth": (-2.0, -30.0), "paired 0.3": (1.0, -50.0)}
    page = str(safety_sections(record))
    assert "Controls and rivals, hate" in page
    assert "Controls and rivals, violence" not in page  # nothing was measured of it
    assert rivals(record, "safety_hatecheck", "hate") == []
