"""Print the results of annotation sheets, and the rewrites that a classifier finds toxic.

    python -m experiments.perturbation.reading_sheets SHEET [SECOND_SHEET] [--toxicity]

One sheet gives the proportion of labels that are kept (appendix J of Qian et al. 2022). Two sheets with the same rows
also give the tag rates of the paper's table 9. ``--toxicity`` lists the rows that should be read again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.shared.filled_sheets import label_agreement, read_sheet, tag_rates
from experiments.shared.toxicity import made_toxic

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sheets", type=Path, nargs="+")
    parser.add_argument("--toxicity", action="store_true")
    arguments = parser.parse_args()
    sheets = [read_sheet(path) for path in arguments.sheets]
    for path, rows in zip(arguments.sheets, sheets, strict=True):
        kept, judged, low, high = label_agreement(rows)
        interval = f" [{100 * low:.0f} %, {100 * high:.0f} %]" if judged else ""
        print(f"{path}: {kept} of {judged} labels kept{interval}")
    if len(sheets) == 2:
        for tag, (occurrence, agreement) in tag_rates(*sheets).items():
            print(f"{tag}: {100 * occurrence:.1f} % of rows, agreed on in {100 * agreement:.1f} %")
    if arguments.toxicity:
        rows = sheets[0]
        places = made_toxic([row["original"] for row in rows], [row["perturbed"] for row in rows])
        print(f"{len(places)} of {len(rows)} rewrites became toxic: {', '.join(rows[place]['id'] for place in places)}")
