"""The workspace of a project, which is built and not sent."""

import sys
from types import SimpleNamespace

import pytest

from fairlab.run import dashboard
from fairlab.types import FairlabError

AFTER, BEFORE = ("after/cced/embedded/gap", "after/stsb/dev/spearman"), "before/cced/embedded/gap"


@pytest.fixture
def _package(monkeypatch):
    """The package that makes workspaces, of which every class keeps its arguments."""

    def kind(name):
        return lambda *given, **named: (name, *given, named)

    kinds = ("BarPlot", "ParallelCoordinatesPlot", "ScatterPlot", "WeavePanelSummaryTable", "LinePlot")
    reports = SimpleNamespace(
        **{name: kind(name) for name in kinds}, ParallelCoordinatesPlotColumn=lambda name: f"column {name}"
    )
    saved = SimpleNamespace(Section=lambda **named: named, Workspace=lambda **named: SimpleNamespace(**named))
    package = SimpleNamespace(reports=SimpleNamespace(v2=reports), workspaces=saved)
    for name, module in (
        ("", package),
        (".reports", package.reports),
        (".reports.v2", reports),
        (".workspaces", saved),
    ):
        monkeypatch.setitem(sys.modules, f"wandb_workspaces{name}", module)
    monkeypatch.setattr(dashboard, "need_extra", lambda *_: None)


@pytest.mark.usefixtures("_package")
def test_panels_by_hand():
    found = dashboard.workspace("team", "project")
    assert (found.entity, found.project, found.name) == ("team", "project", "fairlab")
    assert all(section["is_open"] for section in found.sections)
    panels = {section["name"]: section["panels"] for section in found.sections}
    assert panels["Debiasing"][0] == ("BarPlot", {"metrics": [BEFORE, AFTER[0], "after/cced/winogender/gap"]})
    columns = [f"column {name}" for name in ("c::method.beta", "c::method.lr", "c::seed", *AFTER)]
    assert panels["Sweep"] == [
        ("ParallelCoordinatesPlot", {"columns": columns}),
        ("ScatterPlot", {"x": AFTER[0], "y": AFTER[1]}),
    ]
    assert panels["Training"][0] == ("LinePlot", {"x": "trainer/global_step", "y": ["train/loss"]})
    assert panels["Readings"][1] == ("WeavePanelSummaryTable", {"table_name": "tables/differences"})


@pytest.mark.parametrize("place", ["team", "team/", "/project", ""])
def test_a_place_has_a_team_and_a_project(place):
    with pytest.raises(FairlabError, match=f"'{place}' is not TEAM/PROJECT"):
        dashboard.main([place])
