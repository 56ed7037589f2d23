"""Pages as a browser lays them out at two widths: no table is cut, and nothing is wider than the window."""

import re
import shutil
from pathlib import Path

import pytest

from fairlab.record import Record
from fairlab.reporting.many_runs.reproduction import cells, read_matrix
from fairlab.reporting.many_runs.study import write_study
from fairlab.reporting.many_runs.sweep import write_sweep
from fairlab.reporting.report import write_report
from fairlab.reporting.tables.grouping import headlines
from fairlab.reporting.tables.runs import read_runs
from fairlab.reporting.view.browsing import browse, view_page
from fairlab.reproduce import finished_records
from tests.reporting.chromium import dumped, needs_chromium

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
RECORDS = EXPERIMENTS / "ccd" / "records"
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
MEASURE = """<script>
for (const folded of document.querySelectorAll("details")) folded.open = true;
const cut = [...document.querySelectorAll(".table")].filter((one) => one.scrollWidth > one.clientWidth + 1);
document.body.dataset.cut = cut.map((one) => one.innerText.slice(0, 60)).join("|");
document.body.dataset.over = document.documentElement.scrollWidth - window.innerWidth;
document.body.dataset.tables = document.querySelectorAll(".table").length;
</script>"""


def run(folder):
    return write_report(Record.load(Path(shutil.copytree(RECORDS / "full", folder / "full"))))


def ensemble(folder):
    source = EXPERIMENTS / "ensemble" / "records" / "skill" / "seed_42"
    return write_report(Record.load(Path(shutil.copytree(source, folder / "ensemble"))))


def sweep(folder):
    runs = Path(shutil.copytree(RECORDS / "study", folder / "study"))
    records = read_runs(runs)
    return write_sweep(runs, records, headlines(records))


def reproduction(folder):
    matrix = read_matrix(EXPERIMENTS / "ccd" / "matrix.yaml", "quickstart")
    records = finished_records(RECORDS / "study", matrix)
    page = folder / "page.html"
    write_study([(table, cells(table, matrix, records)) for table in matrix.tables.values()], matrix, records, page)
    return page


def view(folder):
    page = folder / "view.html"
    page.write_text(view_page(browse([RECORDS / "study"]), served=False), encoding="utf-8")
    return page


@needs_chromium
@pytest.mark.parametrize(
    "make",
    [run, *(pytest.param(make, marks=pytest.mark.slow) for make in (ensemble, sweep, reproduction, view))],
    ids=lambda make: make.__name__,
)
@pytest.mark.slow
def test_nothing_is_cut_at_two_widths(make, tmp_path):
    page = make(tmp_path)
    assert page.stat().st_size < 3_000_000
    text = POLICY.sub("", page.read_text(encoding="utf-8"))
    measured = page.with_name("measured.html")
    measured.write_text(text.replace("</body>", MEASURE + "</body>"), encoding="utf-8")
    for width in (1280, 800):
        found = dumped(measured.as_uri(), tmp_path / "profile", wait=None, width=width)
        body = re.search(r"<body[^>]*>", found)[0]
        assert int(re.search(r'data-tables="(\d+)"', body)[1]) > 0
        assert re.search(r'data-cut="([^"]*)"', body)[1] == "", width
        assert int(re.search(r'data-over="(-?\d+)"', body)[1]) <= 0, width
