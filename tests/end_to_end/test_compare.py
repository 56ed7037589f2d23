"""``fairlab compare`` from the command line."""

from pathlib import Path

import pandas
import pytest

FIXTURES = Path(__file__).parents[1] / "judge" / "fixtures"


def test_two_runs_of_another_tool(run, tmp_path):
    given = [str(FIXTURES / "lm_eval" / name) for name in ("tiny_a", "tiny_b")]
    done = run(*given, "--margin", "0.6", "--output", "new/verdicts.csv", entry="compare")
    assert done.returncode == 0, done.stderr
    assert "sums, acc (20 items): A 0.4, B 0.55" in done.stdout
    assert "is within the margin of 0.6" in done.stdout
    assert pandas.read_csv(tmp_path / "new" / "verdicts.csv").difference.tolist() == pytest.approx([0.15, 0.15])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "nowhere"], "nowhere does not exist"),
        ([str(FIXTURES / "inspect" / "a.eval")], "a single run cannot be compared"),
        ([str(FIXTURES / "lm_eval"), "--adjust", "all"], "adjust must be holm or bh"),
        ([str(FIXTURES / "lm_eval"), "--output", "there.csv"], "there.csv already exists"),
    ],
)
def test_bad_input_is_one_sentence(run, tmp_path, arguments, message):
    (tmp_path / "there.csv").write_text("")
    done = run(*arguments, entry="compare")
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
