"""Export in the format that the hub shows on the page of a model: ``.eval_results/fairlab.yaml``.

Datasets are named ``fairlab/BENCHMARK``, because fairlab's benchmarks are not on the hub. To take part in a
leaderboard, replace these names with names of benchmarks on the hub.

Source: https://huggingface.co/docs/hub/eval-results.
"""

from __future__ import annotations

import yaml

from fairlab.reporting.exports.measured_model import MeasuredModel
from fairlab.reporting.headlines import title
from fairlab.reporting.tables.marks import marks_beside
from fairlab.reporting.verdicts import interval_text


def hub_files(model: MeasuredModel) -> dict[str, str]:
    """Return the content of the file with the headline readings, by path, or an empty dict if there are none."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    entries = [
        EvalResultEntry(
            dataset_id=f"fairlab/{reading.benchmark.replace('@', '.')}",
            task_id=f"{reading.subset or 'all'}_{reading.quantity}",
            value=reading.value,
            notes=f"{title(reading)}; 95 % interval: {interval_text(model.record, reading, ' to ')}, n {reading.n}"
            + ("" if reading.ideal is None else f", ideal {reading.ideal:g}")
            + "".join(f"; {mark}" for mark in marks_beside(model.record, reading)),
        )
        for reading in model.readings
        if reading.headline
    ]
    if not entries:
        return {}
    return {".eval_results/fairlab.yaml": yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False)}
