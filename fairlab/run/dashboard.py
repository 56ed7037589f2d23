"""``python -m fairlab.run.dashboard TEAM/PROJECT``: create a Weights & Biases workspace for the runs of a project.

``--dry-run`` only prints the layout, which requires neither a network nor a key. See ``docs/loggers.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from fairlab.checks.escapes import print_escaped
from fairlab.run.command_line.cli import Arguments, explain, stop
from fairlab.types import FairlabError, need_extra

GAPS = [*(f"{phase}/cced/embedded/gap" for phase in ("before", "after")), "after/cced/winogender/gap"]
BIAS = ["after/seat/average/absolute_effect_size", "after/bias_ir/average/deviation"]
UTILITY = [f"{phase}/stsb/dev/spearman" for phase in ("before", "after")]
# Panels of each section: their kind and content.
LAYOUT: Mapping[str, Sequence[tuple[str, list[str]]]] = {
    "Debiasing": [("bars", GAPS), ("bars", BIAS)],
    "Utility": [("bars", UTILITY)],
    "Sweep": [
        ("coordinates", ["c::method.beta", "c::method.lr", "c::seed", GAPS[1], UTILITY[1]]),
        ("scatter", [GAPS[1], UTILITY[1]]),
    ],
    "Training": [("lines", ["train/loss"]), ("lines", ["validation/loss"])],
    "Readings": [("table", ["tables/readings"]), ("table", ["tables/differences"])],
}


def main(arguments: Sequence[str]) -> None:
    """Create the workspace and print its address, or only print its layout."""
    parser = Arguments(prog="python -m fairlab.run.dashboard", description=__doc__)
    parser.add_argument("place", metavar="TEAM/PROJECT")
    parser.add_argument("--dry-run", action="store_true", help="print the layout")
    chosen = parser.parse_args(arguments)
    team, _, project = chosen.place.partition("/")
    if not team or not project:
        raise FairlabError(f"'{chosen.place}' is not TEAM/PROJECT, such as my-team/fairlab")
    if chosen.dry_run:
        for section, panels in LAYOUT.items():
            print_escaped(section)
            for kind, shown in panels:
                print_escaped(f"  {kind}: {', '.join(shown)}")
        return
    saved = workspace(team, project).save()
    print_escaped(saved.url)


def workspace(team: str, project: str) -> Any:
    """Build the Weights & Biases workspace of a project, without sending it to the server.

    Raises:
        FairlabError: The package ``wandb_workspaces`` is not installed.
    """
    need_extra("dashboard", "the dashboard", "wandb_workspaces")
    import wandb_workspaces.reports.v2 as reports
    import wandb_workspaces.workspaces as workspaces

    def panel(kind: str, shown: list[str]) -> Any:
        match kind:
            case "bars":
                return reports.BarPlot(metrics=shown)
            case "coordinates":
                return reports.ParallelCoordinatesPlot(
                    columns=[reports.ParallelCoordinatesPlotColumn(n) for n in shown]
                )
            case "scatter":
                return reports.ScatterPlot(x=shown[0], y=shown[1])
            case "table":
                return reports.WeavePanelSummaryTable(table_name=shown[0])
        return reports.LinePlot(x="trainer/global_step", y=shown)

    sections = [
        workspaces.Section(name=name, panels=[panel(*one) for one in panels], is_open=True)
        for name, panels in LAYOUT.items()
    ]
    return workspaces.Workspace(entity=team, project=project, name="fairlab", sections=sections)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except FairlabError as error:
        stop(explain(error) or str(error))
