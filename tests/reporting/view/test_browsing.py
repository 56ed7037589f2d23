"""The page of all runs, in a real browser: sort, filter, two runs against one another, an item, the runs none beats."""

import json
import re
import threading
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from fairlab import view
from fairlab.data.reads import portable_name
from fairlab.files import sha256
from fairlab.record import TRAINING, Note, Reading, Record
from fairlab.reporting.view.browsing import browse, view_page
from fairlab.reporting.view.items import items_of
from fairlab.reporting.view.serving import server
from fairlab.types import FairlabError
from tests.conftest import make_groups, row, write_rows
from tests.reporting.chromium import dumped, needs_chromium, ready_after

EVIL = "</script><script>document.title='taken over'</script><img src=x onerror=\"document.title='taken over'\">"
GAP, LIKE = ("cced", "mine", "gap"), ("stsb", "dev", "spearman")


def reading(place, value, seed, phase="after"):
    ideal = 0.0 if place == GAP else 100.0
    return Reading(*place, value, "u", ideal, 90, value - 0.1, value + 0.1, headline=True, phase=phase, seed=seed)


def run(folder, name, gap, like, seed=1, **more):
    place = folder / name
    place.mkdir(parents=True)
    config = {"seed": seed, "method": {"_target_": "fairlab.methods.ccd.CCD"}, "backbone": {"name": "a/b"}}
    record = Record(place, config, f"python -m fairlab.train method.beta={gap} seed={seed}", status="finished")
    record.readings = [reading(GAP, 9.0, seed, "before"), reading(GAP, gap, seed), reading(LIKE, like, seed)]
    record.history = [{"step": step, "train/loss": 1 / step} for step in range(1, 30)]
    for name_, value in more.items():
        setattr(record, name_, value)
    record.save()
    return record


@pytest.fixture
def folder(tmp_path):
    """Four runs; the third is beaten by the second in both readings, the fourth holds hostile texts."""
    made = tmp_path / "runs"
    run(made, "first", 1.0, 80.0)
    run(made, "second", 2.0, 85.0, seed=2)
    run(made, "third", 3.0, 84.0, seed=3)
    run(made, "fourth", 10.0, 90.0, notes=[Note(EVIL, EVIL)], reason=EVIL)
    return made


@pytest.fixture
def opened(tmp_path, request):
    """The page after a script has done something in it: what the browser then holds."""

    def do(script="", anchor="", page=None):
        page = page or view_page(browse([request.getfixturevalue("folder")]), served=False)
        file = tmp_path / "view.html"
        acting = f"<script>setTimeout(async () => {{ {script}; document.body.dataset.done = 1; }}, 300)</script>"
        file.write_text(page.replace("</body>", acting + "</body>"), encoding="utf-8")
        return dumped(file.as_uri() + anchor, tmp_path / "profile")

    return do


def names(page):
    """Runs in the table, in their order."""
    return re.findall(r'<a href="#run=\d+">([^<]+)</a>', page.split('<section id="trade"')[0])


@needs_chromium
@pytest.mark.slow
def test_the_table_is_sorted_by_a_click_on_a_heading(opened):
    click = "document.querySelector('[data-column=\"cced/mine/gap\"] button').click()"
    assert names(opened()) == ["first", "fourth", "second", "third"]
    assert names(opened(click)) == ["first", "second", "third", "fourth"]
    page = opened(f"{click}; {click}")
    assert names(page) == ["fourth", "third", "second", "first"]
    assert 'data-done="1"' in page


@needs_chromium
@pytest.mark.slow
def test_the_table_is_filtered_by_words(opened):
    typed = "box.value = 'seed=1 beta=10'; box.dispatchEvent(new Event('input'))"
    page = opened(f"const box = document.getElementById('filter'); {typed}")
    assert names(page) == ["fourth"]
    assert "1 of 4 runs" in page


@needs_chromium
@pytest.mark.slow
def test_two_runs_are_set_against_one_another(opened):
    tick = "for (const place of [0, 2]) document.querySelector(`tr[data-run='${place}'] input`).click()"
    page = opened(f"{tick}; document.querySelector('[data-tab=compare]').click()")
    assert "Run against run (2 of 2)" in page
    table = page.split('<section id="compare"')[1].split("</section>")[0]
    gap = re.search(r'data-key="cced/mine/gap".*?</tr>', table, re.DOTALL)[0]
    assert re.findall(r'<td class="number[^"]*">([^<]+)', gap) == ["1", "2", "▼ +1"]  # first and second, worse
    like = re.search(r'data-key="stsb/dev/spearman".*?</tr>', table, re.DOTALL)[0]
    assert re.findall(r'<td class="number[^"]*">([^<]+)', like) == ["80", "85", "▲ +5"]


@needs_chromium
@pytest.mark.slow
def test_an_untrained_run_and_one_over_few_items_are_neither_better_nor_on_the_front(opened, tmp_path):
    made = tmp_path / "some"
    run(made, "a", 2.0, 80.0)
    run(made, "b", 1.0, 85.0, seed=2, notes=[Note(TRAINING, "flat", phase="after", mark="did not train")])
    few = run(made, "c", 0.5, 90.0, seed=3)
    few.readings = [replace(one, n=8) for one in few.readings]
    few.save()
    for name, value in (("e", 49.0), ("f", 51.05)):  # as far from 50, on either side of it
        one = run(made, name, 3.0, 79.0, seed=4)
        score = Reading("crows_pairs", "all", "metric_score", value, "%", 50.0, 400, value - 0.1, value + 0.1)
        one.readings.append(replace(score, phase="after", headline=True))
        one.save()
    page = view_page(browse([made]), served=False)
    for first, other in ((0, 1), (0, 2), (3, 4)):
        tick = (
            f"for (const place of [{first}, {other}]) document.querySelector(`tr[data-run='${{place}}'] input`).click()"
        )
        shown = opened(f"{tick}; document.querySelector('[data-tab=compare]').click()", page=page)
        assert not re.search("[▲▼]", shown.split('<section id="compare"')[1].split("</table>")[0])
    assert "Of 3 headline readings, none are nearer to the ideal value in f, none in e" in shown
    shown = opened("document.querySelector('[data-tab=trade]').click()", page=page)
    assert "1" not in re.findall(r'data-front="(\d)"', shown)


@needs_chromium
@pytest.mark.slow
def test_the_runs_that_none_beats_are_joined(opened):
    page = opened("document.querySelector('[data-tab=trade]').click()")
    assert re.findall(r'data-front="(\d)"', page) == ["0", "2", "1"]  # first, second, fourth
    assert len(re.findall(r'<circle class="dot grey"', page)) == 4


@needs_chromium
def test_hostile_texts_are_shown_as_text(opened):
    page = opened("", "#run=1")
    assert page.split("<title>")[1].startswith("fairlab: 4 runs")
    assert "&lt;script&gt;document.title=" in page
    assert page.count("<img") == 0


@pytest.fixture
def with_items(tmp_path):
    """A run on a set of three groups of one's own, whose second changed most, and a curve."""
    path = write_rows(tmp_path / "mine.jsonl", [row(group) for group in make_groups(3)])
    record = run(tmp_path / "runs", "only", 1.0, 80.0)
    record.config["benchmark"] = {"cced": {"sets": [path]}}
    record.provenance["benchmarks"] = {"cced": {"version": 1, "files": {portable_name(Path(path)): sha256(Path(path))}}}
    record.save()
    before = np.zeros((3, 3, 2), dtype=np.float32)
    before[:, 1:, 0] = 1.0
    after = before.copy()
    after[1, 1, 0] = 4.0
    after[2, 2, 0] = 3.0
    for phase, embeddings in (("before", before), ("after", after)):
        (record.folder / "items" / phase).mkdir(parents=True)
        save_file({"mine": embeddings}, record.folder / "items" / phase / "cced.safetensors")
    return record


def test_items_have_their_texts_and_scores_and_those_that_changed_most_come_first(with_items):
    (found,) = items_of(Record.load(with_items.folder))
    assert (found.name, found.values, found.free) == ("cced/mine", ["distance of man", "distance of woman"], False)
    assert [found.ids[place] for place in found.changed] == ["g1", "g2", "g0"]
    assert found.scores["after"].tolist() == [[1, 1], [4, 1], [1, 3]]
    assert found.texts[1][1] == "he saw the boat bread 1"


@pytest.mark.parametrize("recorded", [None, 5, {}, {"cced": 5}, {"cced": {"files": {"mine.jsonl": "another"}}}])
def test_no_file_is_shown_whose_hash_the_record_does_not_hold(with_items, recorded):
    record = Record.load(with_items.folder)
    record.provenance["benchmarks"] = recorded
    assert items_of(record) == []


def test_items_whose_texts_are_gone_are_numbers(with_items, tmp_path):
    (tmp_path / "mine.jsonl").write_text("")
    assert items_of(Record.load(with_items.folder)) == []  # embeddings are no scores
    scores = {"cosines": np.array([0.5, 0.25], dtype=np.float32)}
    save_file(scores, with_items.folder / "items" / "after" / "own.safetensors")
    (found,) = items_of(Record.load(with_items.folder))
    assert (found.name, found.texts, found.scores["after"].tolist()) == ("own/cosines", [], [[0.5], [0.25]])


@needs_chromium
def test_an_item_is_opened_and_a_page_holds_no_text_that_may_not_be_passed_on(with_items, opened):
    page = view_page(browse([with_items.folder.parent]), served=False)
    assert "he saw the boat bread" not in page
    shown = opened("document.querySelector('tr.item').click()", "#run=0", page)
    items = shown.split("<h3>Items</h3>")[1]
    assert re.search(r'<tr class="item"[^>]*><td>g1</td><td class="number">1</td><td class="number">1</td>', items)
    assert 'tr class="texts"><td' in items  # the first is open
    assert "--serve they are read from your files" in items
    assert "train/loss" in shown


@needs_chromium
@pytest.mark.slow
def test_a_server_reads_texts_from_the_files_of_the_user(with_items, tmp_path):
    with server(browse([with_items.folder.parent]), 0) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{serving.server_port}/"
        page = dumped(f"{address}#run=0", tmp_path / "profile")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{address}run/1")
        elsewhere = urllib.request.Request(address, headers={"Host": "elsewhere.example:80"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(elsewhere)
        details = json.load(urllib.request.urlopen(f"{address}run/0"))
        serving.shutdown()
    assert "he saw the boat bread 1" in page
    assert details["items"][0]["rows"][0][2][1] == "he saw the boat bread 1"


def test_what_cannot_be_viewed_is_said_in_a_sentence(tmp_path, folder):
    with pytest.raises(FairlabError, match="is not a folder"):
        view.main([str(tmp_path / "none")])
    (tmp_path / "empty").mkdir()
    with pytest.raises(FairlabError, match="holds no run"):
        view.main([str(tmp_path / "empty")])
    with pytest.raises(FairlabError, match="is not a folder; give --output"):
        view.main([str(folder), "--output", str(tmp_path / "none" / "view.html")])
    with pytest.raises(FairlabError, match="--port 70000 is not available"):
        view.main([str(folder), "--serve", "--port", "70000"])


def test_the_command_writes_the_page_and_says_where(folder, capsys):
    view.main([str(folder)])
    assert capsys.readouterr().out == f"view: {folder / 'view.html'} (4 runs)\n"
    assert "<title>fairlab: 4 runs</title>" in (folder / "view.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("count", "seconds"), [(200, 2), pytest.param(5000, 5, marks=pytest.mark.slow)], ids=["200 runs", "5,000 runs"]
)
@needs_chromium
@pytest.mark.slow
def test_many_runs_open_in_time(tmp_path, count, seconds):
    template = run(tmp_path, "template", 111.0, 222.0, seed=333)
    template.readings += [replace(reading(LIKE, 222.0, 333), subset=f"part_{k}") for k in range(10)]
    template.save()
    record = (tmp_path / "template" / "record.json").read_text(encoding="utf-8")
    for number in range(count):
        place = tmp_path / "runs" / str(number)
        place.mkdir(parents=True)
        written = record.replace("111.0", f"{number % 97 / 10}").replace("222.0", f"{60 + number % 31}")
        (place / "record.json").write_text(written.replace("333", str(number)), encoding="utf-8")
    view.main([str(tmp_path / "runs")])
    page = dumped((tmp_path / "runs" / "view.html").as_uri(), tmp_path / "profile", wait=None)
    assert ready_after(page) < seconds
    assert f"{count} of {count} runs" in page
    assert page.count("<tr data-run=") == 100
