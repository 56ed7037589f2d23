"""Write the tables of all pages from the committed records.

    python experiments/tables.py

A table is placed between ``<!-- NAME -->`` and ``<!-- /NAME -->``; the rest of a page is unchanged. The function for
each table is given by ``PAGES`` in the ``tables.py`` next to the records: ``experiments/PAPER/tables.py`` or
``perf/tables.py``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the path of a script contains only its own folder
from experiments.agreement import tables as agreement
from experiments.atlas import tables as atlas
from experiments.audit import tables as audit
from experiments.biasers import tables as biasers
from experiments.causal_lm import tables as causal_lm
from experiments.ccd import tables as ccd
from experiments.cluster import tables as cluster
from experiments.ensemble import skill as ensemble_skill
from experiments.ensemble import tables as ensemble
from experiments.glue import tables as glue
from experiments.judge import tables as judge
from experiments.llm import tables as llm
from experiments.mend import tables as mend
from experiments.minilm_mlm import tables as minilm_mlm
from experiments.model_kinds import tables as model_kinds
from experiments.own_axis import tables as own_axis
from experiments.perturbation import tables as perturbation
from experiments.perturbation import whole_pairs_tables as whole_pairs
from experiments.razor import tables as razor
from experiments.rewriting import tables as rewriting
from experiments.smollm2 import tables as smollm2
from experiments.writing import tables as writing
from perf import tables as performance

ROOT = Path(__file__).parents[1]
PAGES: dict[str, dict[str, Callable[[], str]]] = {}  # a page may have tables of several modules
for module in (
    ccd,
    ensemble,
    ensemble_skill,
    biasers,
    razor,
    glue,
    judge,
    rewriting,
    smollm2,
    writing,
    causal_lm,
    mend,
    minilm_mlm,
    model_kinds,
    own_axis,
    perturbation,
    whole_pairs,
    agreement,
    atlas,
    audit,
    cluster,
    llm,
    performance,
):
    for page, tables in module.PAGES.items():
        PAGES.setdefault(page, {}).update(tables)


def filled(page: str) -> str:
    """Return the text of a page with its tables replaced."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for name, table in PAGES[page].items():
        text, count = re.subn(
            rf"<!-- {name} -->.*<!-- /{name} -->",
            lambda _, name=name, table=table: f"<!-- {name} -->\n\n{table()}\n\n<!-- /{name} -->",
            text,
            flags=re.DOTALL,
        )
        if count != 1:
            raise SystemExit(f"{page} has no place for the table '{name}'")
    return text


if __name__ == "__main__":
    for page in PAGES:
        (ROOT / page).write_text(filled(page), encoding="utf-8")
