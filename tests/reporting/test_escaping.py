"""Text from data is text on every page: a script in it is shown, and does not run."""

import shlex
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from fairlab.record import Note, Reading, Record
from fairlab.reporting.many_runs.sweep import write_sweep
from fairlab.reporting.report import write_report
from fairlab.reporting.tables.grouping import headlines
from fairlab.reporting.tables.runs import read_runs
from fairlab.types import Description, QuantityInfo

EVIL = "</script><script>document.title='taken over'</script><img src=x onerror=\"document.title='taken over'\">"


@pytest.fixture
def pages(tmp_path):
    """A run's report and a sweep's, with the text wherever data can bring it."""
    for number in range(2):
        folder = tmp_path / "sweep" / str(number)
        folder.mkdir(parents=True)
        reading = Reading(EVIL, EVIL, EVIL, number, EVIL, 0.0, 3, 0.0, 2.0, headline=True, phase="x", seed=1)
        info = QuantityInfo(EVIL, EVIL, EVIL)
        told = Description("b", EVIL, EVIL, {"q": info}, topic=EVIL, subsets={"s": EVIL}, citation=EVIL)
        rank = {"headline": True, "phase": "x", "seed": 1, "description": told}
        other = Reading("b", "s", "q", number, "u", 0.0, 3, 0.0, 2.0, **rank)
        config = {"seed": 1, "model": EVIL, "benchmark": {}}
        command = ["python", "-m", "fairlab.evaluate", f"model={EVIL}{number}", f"pooling={EVIL}{number}"]
        record = Record(folder, config, shlex.join(command))
        record.readings, record.status, record.notes = [reading, other], "finished", [Note(EVIL, EVIL)]
        record.save()
    records = read_runs(tmp_path / "sweep")
    return [write_report(records[0]), write_sweep(tmp_path / "sweep", records, headlines(records))]


class Scripts(HTMLParser):
    """Collects scripts, and what is shown."""

    def __init__(self):
        super().__init__()
        self.handlers, self.within, self.scripts, self.shown = [], "", [], ""

    def handle_starttag(self, tag, attrs):
        self.within = tag
        self.handlers += [name for name, _ in attrs if name.startswith("on")]

    def handle_endtag(self, tag):
        self.within = ""

    def handle_data(self, data):
        if self.within == "script":
            self.scripts.append(data)
        elif self.within != "style":
            self.shown += data


def test_no_script_comes_from_data(pages):
    for page in pages:
        parser = Scripts()
        parser.feed(page.read_text(encoding="utf-8"))
        assert not parser.handlers
        assert not [script for script in parser.scripts if script.startswith("document.title")]
        assert EVIL in parser.shown


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
@pytest.mark.slow
def test_a_browser_shows_it_as_text(pages, tmp_path):
    for page in pages:
        done = subprocess.run(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile",
             "--virtual-time-budget=3000", "--dump-dom", page.as_uri()],
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        title = done.stdout.split("<title>")[1].split("</title>")[0]
        assert title.startswith("fairlab")
        assert "&lt;script&gt;document.title=" in done.stdout
