"""The page's table of fine-tuned tasks, on records made up by hand."""

import pytest

from experiments.ccd import tables
from fairlab.record import Reading, Record

VALUES = {"mrpc_original": (70, 80), "mrpc_ccd": (74, 76)}


def test_rows_are_methods_with_what_the_commonest_label_reaches(tmp_path):
    for run, values in VALUES.items():
        for seed, value in zip((42, 43), values, strict=True):
            folder = tmp_path / run / f"seed_{seed}"
            folder.mkdir(parents=True)
            found = {"accuracy": value, "f1": value + 5, "majority": 68.4, "majority_f1": 81.2}
            readings = [
                Reading("mrpc", "dev", name, float(of), "%", 100.0, 408, of - 4.0, of + 4.0, phase="after")
                for name, of in found.items()
            ]
            Record(folder, {}, "", readings=readings, status="finished").save()
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in tables.fine_tuned(tmp_path).splitlines()]
    place = next(k for k, title in enumerate(lines[0]) if title.startswith("MRPC accuracy"))
    rows = {line[0]: line for line in lines[2:]}
    assert list(rows) == ["original", "CCD (written versions)", "commonest label"]
    assert rows["original"][place] == "75 ± 7.1 [66, 84]"
    assert rows["CCD (written versions)"][place] == "75 ± 1.4 [70, 80]"
    assert rows["CCD (written versions)"][place + 1] == "80 ± 1.4 [75, 85]"
    assert rows["commonest label"][place : place + 2] == ["68.4 [64.4, 72.4]", "81.2 [77.2, 85.2]"]
    assert rows["original"][1] == "not run"


def test_without_records_the_page_says_so(tmp_path):
    assert tables.fine_tuned(tmp_path) == "No run of this table is recorded yet."


@pytest.mark.parametrize("run", ["sst2_original", "rte_ccd"])
def test_the_matrix_has_the_runs_of_the_table(run):
    from fairlab.reporting.many_runs.reproduction import read_matrix

    assert run in read_matrix(tables.FOLDER / "matrix.yaml", "quickstart").runs
