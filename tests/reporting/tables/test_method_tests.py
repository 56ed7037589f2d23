"""Tables of a sweep, and the tests between its methods, against values computed by hand from readings and draws."""

import math
import re

import numpy as np
import pandas
import pytest
from safetensors.numpy import save_file
from scipy import stats

import fairlab
from fairlab.benchmarks.kept_items import draws_file
from fairlab.metrics.bootstrap import RESAMPLES, two_sided_p
from fairlab.metrics.significance import holm
from fairlab.record import Note, Reading, Record
from fairlab.reporting.paper_table import paper_table
from fairlab.reporting.tables.folder_tables import write_tables
from fairlab.reporting.tables.grouping import identity
from fairlab.reporting.tables.long_form import long_form, write_long_form
from fairlab.reporting.tables.method_tests import Measured, difference_p
from fairlab.reporting.tables.runs import read_runs
from fairlab.types import FairlabError

GAP, STSB = ("cced", "mine", "gap"), ("stsb", "dev", "spearman")
N = 50
# Two methods, two values of beta and three seeds: gaps and correlations by seed.
SWEEP = {
    ("ccd", 0.5): ([0.30, 0.32, 0.31], [80.0, 81.0, 80.5]),
    ("ccd", 1.0): ([0.10, 0.11, 0.12], [80.2, 80.9, 80.4]),
    ("dpce", 0.5): ([0.20, 0.22, 0.24], [79.0, 81.5, 80.0]),
    ("dpce", 1.0): ([0.25, 0.27, 0.23], [80.1, 80.8, 80.7]),
}
SEEDS = [1, 2, 3]
SPREAD = {GAP: 0.002, STSB: 0.5}


def draws_of(place, value):
    """Draws that resample the same items for every run: one pattern, moved to the value."""
    noise = np.random.default_rng(len(place[0])).normal(0, SPREAD[place], RESAMPLES)
    own = np.random.default_rng(int(value * 1000)).normal(0, SPREAD[place] / 2, RESAMPLES)
    return (value + noise + own).astype(np.float32)


def write_run(folder, method, beta, seed, values, draws=True, status="finished"):
    folder.mkdir(parents=True)
    config = {
        "seed": seed,
        "limit": None,
        "method": {"_target_": method, "beta": beta},
        "logger": {"x": {"seed": seed}},
    }
    readings = [
        Reading(*place, value, "u_1 %", ideal, N, value - 1, value + 1, headline=True, phase="after", seed=seed)
        for place, value, ideal in zip((GAP, STSB), values, (0.0, 100.0), strict=True)
    ]
    command = f"python -m fairlab.train method={method} method.beta={beta} seed={seed}"
    Record(folder, config, command, status=status, readings=readings).save()
    for place, value in zip((GAP, STSB), values, strict=True):
        file = draws_file(folder, "after", place[0])
        file.parent.mkdir(parents=True, exist_ok=True)
        save_file({"/".join(place[1:]): draws_of(place, value)} if draws else {}, file)


@pytest.fixture
def sweep(tmp_path):
    for (method, beta), (gaps, correlations) in SWEEP.items():
        for seed, gap, correlation in zip(SEEDS, gaps, correlations, strict=True):
            write_run(tmp_path / "sweep" / f"{method}_{beta}_{seed}", method, beta, seed, (gap, correlation))
    write_run(tmp_path / "sweep" / "failed", "ccd", 7.0, 1, (0.0, 100.0), status="failed")
    return tmp_path / "sweep"


def p_by_hand(place, first, second):
    """Welch and Satterthwaite over the variance of items and that of paired seeds."""
    difference = np.array(first) - np.array(second)
    drawn = np.mean([draws_of(place, a).astype(float) - draws_of(place, b) for a, b in zip(first, second)], axis=0)  # noqa: B905
    items, seeds = drawn.var(ddof=1), difference.var(ddof=1) / 3
    freedom = (items + seeds) ** 2 / (seeds**2 / 2 + items**2 / (N - 1))
    return 2 * stats.t.sf(abs(difference.mean()) / math.sqrt(items + seeds), freedom)


def test_means_deviations_and_tests_are_those_by_hand(sweep):
    table = fairlab.runs(sweep).table(spread="deviation")
    names = {f"{method} (beta {beta:g})": (method, beta) for method, beta in SWEEP}
    assert sorted(row.name for row in table.rows) == sorted(names)
    frame = table.to_pandas().set_index(["method", "quantity"])
    for name, key in names.items():
        for values, quantity in zip(SWEEP[key], ("gap", "spearman"), strict=True):
            cell = frame.loc[name, quantity]
            assert cell["mean"] == pytest.approx(np.mean(values))
            assert cell.deviation == pytest.approx(np.std(values, ddof=1))
            assert cell.seeds == 3
    for column, place in enumerate((GAP, STSB)):
        pairs = list(table.pairs[place])
        assert len(pairs) == 6
        by_hand = [p_by_hand(place, SWEEP[names[a]][column], SWEEP[names[b]][column]) for a, b in pairs]
        assert [table.pairs[place][pair] for pair in pairs] == pytest.approx(list(holm(by_hand)), rel=1e-4)


@pytest.mark.parametrize("readings", [5, "cced/mine/gap", [5], {"cced/mine/gap"}])
def test_readings_are_a_list_of_texts(sweep, readings):
    with pytest.raises(FairlabError, match="readings must be a list of texts"):
        paper_table(list(fairlab.runs(sweep)), readings)


def test_the_best_is_bold_only_beyond_chance(sweep):
    table = fairlab.runs(sweep).table(spread="deviation")
    best = "ccd (beta 1)"
    assert max(p for pair, p in table.pairs[GAP].items() if best in pair) < 0.05
    assert table.best == {GAP: best}  # the means of STS-B are within a point of one another
    frame = table.to_pandas()
    assert frame[frame.best].method.tolist() == [best]
    assert f"| {best} | **0.110 ± 0.010** | 80.50 ± 0.36 |" in str(table)


def test_the_table_is_sound_latex(sweep):
    text = fairlab.runs(sweep).table(spread="deviation").to_latex("CCD & DPCE, 100 % of runs")
    assert r"\caption{CCD \& DPCE, 100 \% of runs}" in text
    assert_sound(text)
    assert r"\textbf{0.110 $\pm$ 0.010}" in text
    body = text.split(r"\midrule")[1].split(r"\bottomrule")[0]
    assert len(re.findall(r"\\\\$", body, flags=re.MULTILINE)) == 4


def assert_sound(text):
    """Environments close in order, braces balance, every row has as many columns, and no sign stands unescaped."""
    text = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    open_now = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        open_now.append(name) if kind == "begin" else None
        assert kind == "begin" or open_now.pop() == name
    assert not open_now
    bare = re.sub(r"\\[\\{}%&#_$]", lambda found: found[0] if found[0] == r"\\" else "", text)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert not re.search(r"[%#_]|(?<!\$)\^", bare)
    (columns,) = re.findall(r"\\begin\{tabular\}\{([lr]+)\}", text)
    rows = [line for line in bare.splitlines() if line.endswith(r"\\")]
    assert rows
    assert {row.count("&") for row in rows} == {len(columns) - 1}


def test_one_seed_each_is_the_paired_bootstrap(tmp_path):
    for name, beta, gap in (("a", 0.5, 0.30), ("b", 1.0, 0.30004)):
        write_run(tmp_path / name, "ccd", beta, 1, (gap, 80.0))
    table = fairlab.runs(tmp_path).table(["cced/mine/gap"])
    by_hand = two_sided_p(draws_of(GAP, 0.30).astype(float) - draws_of(GAP, 0.30004))
    assert list(table.pairs[GAP].values()) == [by_hand]
    assert table.places == [GAP]


def test_runs_without_draws_are_compared_over_seeds_alone(tmp_path):
    values = {0.5: [0.30, 0.32, 0.31], 1.0: [0.10, 0.14, 0.11]}
    for beta, gaps in values.items():
        for seed, gap in zip(SEEDS, gaps, strict=True):
            write_run(tmp_path / f"{beta}_{seed}", "ccd", beta, seed, (gap, 80.0), draws=False)
    table = fairlab.runs(tmp_path).table(["cced/mine/gap"])
    ((_, p),) = table.pairs[GAP].items()
    assert p == pytest.approx(stats.ttest_rel(values[0.5], values[1.0]).pvalue)


def test_other_seeds_are_compared_by_their_pooled_variance(tmp_path):
    values = {0.5: {1: 0.30, 2: 0.32}, 1.0: {3: 0.10, 4: 0.14, 5: 0.11}}
    for beta, by_seed in values.items():
        for seed, gap in by_seed.items():
            write_run(tmp_path / f"{beta}_{seed}", "ccd", beta, seed, (gap, 80.0), draws=False)
    table = fairlab.runs(tmp_path).table(["cced/mine/gap"])
    ((_, p),) = table.pairs[GAP].items()
    assert p == pytest.approx(stats.ttest_ind(*(list(one.values()) for one in values.values())).pvalue)


def test_a_model_measured_once_without_draws_is_never_bold(tmp_path):
    for beta, gap in ((0.5, 0.3), (1.0, 0.1)):
        write_run(tmp_path / str(beta), "ccd", beta, 1, (gap, 80.0), draws=False)
    table = fairlab.runs(tmp_path).table()
    assert (table.pairs[GAP], table.best) == ({}, {})


def test_the_long_form_is_keyed_by_what_a_run_does(sweep, tmp_path):
    runs = fairlab.runs(sweep)
    frame = runs.to_pandas()
    assert len(frame) == 13 * 2
    assert frame.configuration.nunique() == 5
    one = frame[(frame["method.beta"] == "1") & (frame.method == "ccd") & (frame.quantity == "gap")]
    assert one.seed.tolist() == SEEDS
    assert one.value.tolist() == SWEEP["ccd", 1.0][0]
    assert one.configuration.nunique() == 1
    for ending in ("csv", "parquet"):
        file = tmp_path / f"table.{ending}"
        runs.save(file)
        again = pandas.read_csv(file) if ending == "csv" else pandas.read_parquet(file)
        assert again.value.tolist() == frame.value.tolist()
    with pytest.raises(FairlabError, match=r"ends in .csv or .parquet"):
        write_long_form(list(runs), tmp_path / "table.xlsx")
    assert long_form([]).empty


def test_half_a_surrogate_pair_in_a_setting_or_label_is_written_escaped(tmp_path):
    write_run(tmp_path / "1", "c\ud800d", 1.0, 1, (0.1, 80.0), draws=False)
    write_run(tmp_path / "2", "ccd", 1.0, 1, (0.1, 80.0), draws=False)
    for name, read in (("table.csv", pandas.read_csv), ("table.parquet", pandas.read_parquet)):
        fairlab.runs(tmp_path).save(tmp_path / name)
        assert "c\\ud800d" in read(tmp_path / name).method.tolist()


def test_methods_measured_on_other_data_are_not_tested(tmp_path):
    read = [{"audit": {"version": 2, "items": {"": digest}}} for digest in "aab"]
    records = [Record(tmp_path, {}, "", provenance={"benchmarks": one}) for one in read]
    reading = Reading("audit", "gender", "flips", 1.0, "%", 0.0, N, 0.0, 2.0)
    normal = np.random.default_rng(0).normal(0, 1, RESAMPLES)
    first, same, other = (
        Measured({1: value}, {1: value + normal * value / 4}, reading, record=record)
        for value, record in zip((1.0, 9.0, 9.0), records, strict=True)
    )
    assert difference_p(first, same) < 0.05
    assert math.isnan(difference_p(first, other))


def test_what_no_table_can_be_made_of(sweep, tmp_path):
    with pytest.raises(FairlabError, match="no run has the reading cced/gap; there are: cced/mine/gap"):
        fairlab.runs(sweep).table(["cced/gap"])
    write_run(tmp_path / "other" / "1", "ccd", 1.0, 1, (0.1, 80.0), status="running")
    with pytest.raises(FairlabError, match="none of the 1 runs has finished"):
        fairlab.runs(tmp_path / "other").table()
    with pytest.raises(FairlabError, match=r"there is no run 99; they are numbered 0..12"):
        fairlab.compare(*(fairlab.runs(sweep)[k] for k in (0, 99)))


def test_two_runs_are_compared_by_their_numbers(sweep):
    runs = fairlab.runs(sweep)
    numbers = {record.folder.name: k for k, record in enumerate(runs)}
    changes = fairlab.compare(*(runs[numbers[name]] for name in ("ccd_0.5_1", "ccd_1.0_1")))
    gap = next(c for c in changes.comparisons if c.quantity == "gap")
    assert gap.difference == pytest.approx(0.10 - 0.30)
    assert gap.p == two_sided_p(draws_of(GAP, 0.10).astype(float) - draws_of(GAP, 0.30))


def test_data_and_weights_count_by_what_they_are_not_where_they_lie(tmp_path):
    config = {"data": {"path": "a/groups.jsonl"}, "backbone": {"name": "/tmp/1/start"}, "seed": 1}
    provenance = {"data": {"sha256": "a" * 64}, "weights": {"sha256": "b" * 64}}
    first = Record(tmp_path, config, "", provenance=provenance)
    moved = {"data": {"path": "b/groups.jsonl"}, "backbone": {"name": "/tmp/2/start"}, "seed": 2}
    assert identity(Record(tmp_path, moved, "", provenance=provenance)) == identity(first)
    other = {**provenance, "data": {"sha256": "c" * 64}}
    assert identity(Record(tmp_path, config, "", provenance=other)) != identity(first)
    assert identity(Record(tmp_path, config, "")) != identity(Record(tmp_path, moved, ""))


def test_a_folder_of_runs_gets_its_tables(sweep, tmp_path):
    write_tables(read_runs(sweep), sweep)
    assert len(pandas.read_csv(sweep / "readings.csv")) == 13 * 2
    assert (sweep / "methods.md").read_text() == fairlab.runs(sweep).table().to_markdown() + "\n"
    assert_sound((sweep / "methods.tex").read_text())
    write_run(tmp_path / "other" / "1", "ccd", 1.0, 1, (0.1, 80.0), status="failed")
    write_tables(read_runs(tmp_path / "other"), tmp_path / "other")
    assert not (tmp_path / "other" / "methods.md").exists()


def test_a_method_that_did_not_train_is_never_the_best(tmp_path):
    for seed in SEEDS:
        for method, gap in (("a", 0.30), ("b", 0.10), ("c", 0.20)):
            write_run(tmp_path / f"{method}{seed}", method, 1.0, seed, (gap + seed / 1000, 80.0))
    assert paper_table(read_runs(tmp_path)).best[GAP] == "b"
    for seed in SEEDS:
        record = Record.load(tmp_path / f"b{seed}")
        record.notes = [Note("training", "the loss did not fall", phase="after", mark="did not train")]
        record.save()
    table = paper_table(read_runs(tmp_path))
    assert table.best[GAP] == "c"
    assert "b: did not train." in table.caption
