"""Tables for a paper: rows, daggers and captions by hand; LaTeX that compiles."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats

from fairlab.record import Comparison, Note, Reading, Record
from fairlab.reporting.citing import bibtex, methods_paragraph
from fairlab.reporting.exports.measured_model import model_given
from fairlab.reporting.paper_table import change_p, paper_table
from fairlab.reporting.tables.rendering import Printed, latex
from fairlab.reporting.tables.tool_records import tool_records
from fairlab.reporting.verdicts import corrected_interval
from fairlab.run.papers import table
from fairlab.types import FairlabError

GAP, LIKE = ("cced", "mine", "gap"), ("stsb", "dev", "spearman")
INLP = "iterative nullspace projection (INLP)"

FIXTURES = Path(__file__).parents[1] / "judge" / "fixtures"


def run(folder, seed, gap=0.2, title=INLP, p=0.001, beta=None, notes=()):
    """A finished run whose gap was 0.5 before, and whose STS-B did not change."""
    readings, comparisons = [], []
    for place, before, after, ideal in ((GAP, 0.5, gap, 0.0), (LIKE, 80.0, 80.0, 100.0)):
        for phase, value in (("before", before), ("after", after)):
            readings.append(
                Reading(
                    *place, value, "u", ideal, 100, value - 0.01, value + 0.01, headline=True, phase=phase, version=1
                )
            )
        moved = p if before != after else 0.9
        change = after - before
        comparisons.append(
            Comparison(*place, change, "u", change - 0.01, change + 0.01, moved, 100, headline=True, phase="change")
        )
    config = {"seed": seed, "backbone": {"name": "lab/tiny_bert"}, "method": {"_target_": "fairlab.methods.inlp.INLP"}}
    config["method"] |= {} if beta is None else {"beta": beta}
    place = folder / f"{title[:3]}_{beta}_{seed}"
    place.mkdir()
    provenance = {"method": {"title": title}, "weights": {"name": "lab/tiny_bert", "sha256": "ab12"}}
    provenance |= {"data": {"path": "people_50%.jsonl", "sha256": "cd34", "trained_on": "9 groups"}}
    more = {"status": "finished", "readings": readings, "comparisons": comparisons, "provenance": provenance}
    command = f"python -m fairlab.train +experiment=inlp_bert method.beta={beta} seed={seed}"
    return Record(place, config, command, notes=list(notes), **more)


def test_rows_are_methods_by_their_short_names_after_the_model_they_started_from(tmp_path):
    table = paper_table([run(tmp_path, seed) for seed in (1, 2)])
    assert [row.name for row in table.rows] == ["tiny_bert", "INLP"]
    assert [len(row.sides) for row in table.rows] == [1, 2]
    assert table.to_markdown().splitlines()[2:4] == [
        "| tiny_bert | 0.500 [0.490, 0.510] | 80.00 [79.99, 80.01] |",
        "| INLP | 0.200 [0.190, 0.210]‡ | 80.00 [79.99, 80.01] |",  # two seeds that are one computation
    ]
    assert "n = 100" in table.caption
    assert "2 seeds" in table.caption
    assert "Holm's method for all rows of a column" in table.caption


def test_settings_tell_apart_rows_of_one_method(tmp_path):
    table = paper_table([run(tmp_path, 1, beta=beta) for beta in (1, 2)], baseline=False)
    assert [row.name for row in table.rows] == ["INLP (beta 1)", "INLP (beta 2)"]
    assert not table.p_values
    assert "†" not in table.to_latex()


def test_decimals_and_spread(tmp_path):
    records = [run(tmp_path, seed, gap) for seed, gap in ((1, 0.2), (2, 0.3))]
    deviation = paper_table(records, ["cced/mine/gap"], spread="deviation", decimals=1)
    assert deviation.to_markdown().splitlines()[3].startswith("| INLP | 0.2 ± 0.1")
    bare = paper_table(records, ["cced/mine/gap"], spread="none")
    assert bare.to_markdown().splitlines()[2] == "| tiny_bert | 0.500 |"


def test_a_change_over_seeds_and_items_by_hand():
    changes = [Comparison(*GAP, d, "u", d - 0.1, d + 0.1, 0.01, 100) for d in (-0.3, -0.2)]
    error = 0.1 / 1.959964
    t = 0.25 / (0.05**2 + error**2) ** 0.5
    assert change_p(changes) == pytest.approx(2 * stats.t.sf(t, 1), rel=1e-5)
    assert change_p(changes[:1] * 3) == 0.01  # one computation thrice


def test_what_spoils_a_row_is_in_the_caption(tmp_path):
    note = Note("training", "its loss did not fall", phase="after", mark="did not train")
    table = paper_table([run(tmp_path, 1, notes=[note])])
    assert table.caption.endswith("INLP: did not train.")
    assert not table.best


def test_p_values_are_adjusted_among_the_rows_of_a_column(tmp_path):
    records = [run(tmp_path, 1, p=p, beta=beta) for beta, p in ((1, 0.004), (2, 0.03))]
    table = paper_table(records, ["cced/mine/gap"])
    assert list(table.p_values.values()) == pytest.approx([0.008, 0.03])  # Holm: twice the smaller
    assert [line.count("†") + 2 * line.count("‡") for line in table.to_markdown().splitlines()[2:5]] == [0, 2, 1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"spread": "both"}, "spread must be interval, deviation, none, not 'both'"),
        ({"decimals": 12}, "decimals must be 0 to 9, not 12"),
        ({"readings": ["a/b/c"]}, "no run has the reading a/b/c; there are: cced/mine/gap, stsb/dev/spearman"),
    ],
)
def test_wrong_values_are_one_sentence(tmp_path, given, said):
    with pytest.raises(FairlabError, match=re.escape(said)):
        paper_table([run(tmp_path, 1)], **given)


def test_a_table_over_nothing_is_one_sentence(tmp_path):
    with pytest.raises(FairlabError, match="none of the 1 runs has finished"):
        paper_table([Record(tmp_path, {}, "", status="failed")])


def test_runs_that_are_not_in_the_table_are_named(tmp_path, capsys):
    run(tmp_path, 1).save()
    for seed, more in ((2, {"status": "failed", "reason": "no data"}), (3, {"status": "running"})):
        replace(run(tmp_path, seed), **more).save()
    table([str(tmp_path)])
    printed = capsys.readouterr()
    assert "| INLP | 0.200" in printed.out
    assert "_None_2 (failed: no data)" in printed.err
    assert "_None_3 (running, or killed)" in printed.err


def test_what_is_cited_is_every_part_once(tmp_path):
    text = bibtex([run(tmp_path, seed) for seed in (1, 2)])
    keys = re.findall(r"@\w+\{([^,]+),", text)
    assert len(keys) == len(set(keys))
    assert {"ravfogel2020null", "deng2024llm", "cer2017semeval", "fairlab"} < set(keys)
    assert {"model-lab-tiny-bert", "data-people-50-jsonl"} < set(keys)
    assert r"people\_50\%.jsonl" in text
    assert "SHA-256 ab12" in text


def test_the_tool_that_measured_is_cited():
    (record,) = tool_records(FIXTURES / "lm_eval" / "tiny_a")
    assert set(re.findall(r"@\w+\{([^,]+),", bibtex([record]))) == {"eval-harness", "model-tiny-a", "fairlab"}
    assert "year = {2024}" in bibtex([record])


def test_results_without_seeds_are_no_means():
    records = [one for name in ("tiny_a", "tiny_b") for one in tool_records(FIXTURES / "lm_eval" / name)]
    caption = paper_table(records).caption
    assert caption == "Sums acc, n = 20; sums acc norm, n = 20. In brackets: 95 % intervals over items."


def test_long_names_of_columns_break_after_an_underscore():
    text = latex(["", "equalized_odds of people_gender_neither"], [[Printed("a"), Printed("1")]], width=16)
    assert r"of people\_ \\ gender\_neither" in text


def test_a_target_of_somebody_else_is_not_imported(tmp_path):
    record = run(tmp_path, 1)
    record.config["method"]["_target_"] = "antigravity.INLP"
    assert "ravfogel" not in bibtex([record])
    record.config["method"]["_target_"] = "fairlab.methods.nothing.INLP"
    assert "ravfogel" not in bibtex([record])


def test_the_paragraph_has_exact_commands_and_tells_seeds_once(tmp_path):
    text = methods_paragraph([run(tmp_path, seed) for seed in (1, 2)])
    assert text.count("seeds 1, 2") == 1
    joined = text.replace(" \\\n  ", " ")  # lines that fit a column of text
    assert "python -m fairlab.train +experiment=inlp_bert method.beta=None seed=2\n" in joined
    assert "CCED (definition 1, up to 100 items)" in text


def test_latex_compiles(tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    records = [run(tmp_path, seed, title="a_b & 50% (A_B)") for seed in (1, 2)] + [run(tmp_path, 1)]
    names = [
        "[x] *y*",
        "*z*",
        "a_b & c % d # e $ f ~ g ^ h \\ i { j }",
        "Größe Łódź",
        "w" * 90,
        "α ≤ β",
        "two\n\nlines",
    ]
    rows = [[Printed(name), Printed("-0.5 [-0.6, 0.1]", bold=True)] for name in names]
    parts = [paper_table(records).to_latex(), methods_paragraph(records), latex(["", "[a] wide *one*"], rows, width=8)]
    start = r"\documentclass{article}\usepackage{booktabs,url}\begin{document}"
    (tmp_path / "paper.tex").write_text("\n".join([start, *parts, r"\end{document}"]), encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 1000
    assert not re.findall(r"Overfull .hbox \(\d\d", done.stdout)


def test_letters_that_pdflatex_lacks_are_said():
    text = latex(["", "gap"], [[Printed("中文 🙂"), Printed("−1")]])
    assert "% pdflatex cannot set 中文🙂; use lualatex or xelatex with a font that has them" in text
    assert "cannot set" not in latex(["", "gap"], [[Printed("Größe ≤ α"), Printed("−1")]])


def test_few_items_have_neither_interval_nor_dagger(tmp_path):
    records = [run(tmp_path, seed) for seed in (1, 2, 3)]
    assert "†" in paper_table(records).to_markdown() or "‡" in paper_table(records).to_markdown()
    for record in records:
        record.readings = [replace(one, n=8) for one in record.readings]
    table = paper_table(records)
    assert (table.p_values, table.best) == ({}, {})
    assert "(few items)" in table.to_markdown()


def test_intervals_of_other_tools_are_not_widened_again():
    (record,) = tool_records(FIXTURES / "lm_eval" / "tiny_a")
    reading = record.readings[0]
    assert corrected_interval(record, reading) == (reading.low, reading.high)


def test_results_of_one_name_are_told_apart_by_their_place(tmp_path):
    records = [one for name in ("tiny_a", "tiny_b") for one in tool_records(FIXTURES / "mteb" / name)]
    for record in records:
        record.config["model"] = "tiny"
    names = [row.name for row in paper_table(records).rows]
    assert names == ["tiny (tiny_a/model_meta.json)", "tiny (tiny_b/model_meta.json)"]


def test_long_names_of_rows_are_broken(tmp_path):
    short, long = (latex(["", "gap"], [[Printed(name), Printed("1")]], width=16) for name in ("CCD", "CCD, " * 10))
    assert r"\begin{tabular}{lr}" in short
    assert r"\begin{tabular}{p{0.3\linewidth}r}" in long


def test_a_backbone_may_be_a_name():
    assert model_given(Record(Path("x"), {"backbone": "minilm"}, "")) == "minilm"
