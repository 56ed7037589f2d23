"""Train CCD's linear map on counterfactual groups of three origins, and measure each map with the reported benchmarks.

    python -m experiments.llm.linear OUT minilm_mlm mpnet

This writes OUT/BACKBONE_linear/ORIGIN/seed_SEED/record.json. The origins are the groups made by the model
(``outputs/llm/groups``), the groups made by rules from the same sample (``outputs/llm/groups_rules``), and the bundled
groups (``embedded/people``). The setting is that of ``conf/method/ccd_linear.yaml`` without short sentences, so that
pronouns are learned from the groups. The encoder embeds each text once for all maps. Existing records are kept.
"""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.ccd.measure import SEEDS, Measured
from experiments.ccd.validation.matrices import matrix_of, people, settings_of_the_map
from fairlab.data.groups import read_groups
from fairlab.files import holds_run

NUMBER = 1400  # number of groups, as in the runs that train the encoder
ORIGINS = {"rules": "outputs/llm/groups_rules", "written": None, "llm": "outputs/llm/groups"}


def main(out: Path, *backbones: str) -> None:
    """Measure every origin and every seed on every backbone."""
    settings = settings_of_the_map() | {"short": None}
    for name in backbones:
        measured = Measured(name)
        for origin, path in ORIGINS.items():
            groups = (people() if path is None else read_groups(path))[:NUMBER]
            for seed in SEEDS:
                config = {"method": settings, "data": {"path": path, "limit": NUMBER}, "seed": seed}
                folder = out / f"{name}_linear" / origin / f"seed_{seed}"
                if holds_run(folder):
                    continue
                measured.record(
                    matrix_of(measured.trained, settings, seed, groups), config, folder, f"linear.py {name}"
                )


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
