"""Quality of counterfactual groups by polarity, a measure of data instead of a model.

Source: "LLM-Assisted Content Conditional Debiasing for Fair Text Embedding", equation 7 and section 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairlab.benchmarks.readings import outcome, quantity
from fairlab.benchmarks.scales import percent
from fairlab.lexicons import lexicon_axes, load_lexicon
from fairlab.metrics.bootstrap import mean
from fairlab.metrics.polarity import Polarity
from fairlab.record import NotRun, Outcome
from fairlab.types import Description, Group

POLARITY = Description(
    "polarity",
    "Polarity",
    "Do the words of a version show its attribute and no other?",
    {
        "union_accuracy": percent(
            "union accuracy", "groups in which every version shows its own attribute", ideal=100.0, headline=True
        ),
        "accuracy_*": percent(
            "accuracy, '{}'", "versions whose words show their own attribute (100 is best)", ideal=100.0
        ),
    },
    needs=("texts",),
)


def measure_polarity(groups: Sequence[Group], subset: str, own: str = "") -> Outcome:
    """Measure union polarity accuracy, and the accuracy of each version, in per cent of groups (ideal: 100).

    For any number of attributes, a version counts as correct if the words of its own attribute are the most frequent.
    ``own`` is the name of an axis or the path of a lexicon, which is used if its axis is that of the groups.

    Raises:
        FairlabError: ``own`` is not a lexicon.
    """
    axis = groups[0].axis
    lexicon = load_lexicon(own) if own else None
    if lexicon is None or lexicon.axis != axis:
        if axis not in lexicon_axes():
            reason = (
                f"no lexicon for the axis '{axis}'; there are lexicons for: {', '.join(lexicon_axes())}; or give your "
                "own, axis=FILE.yaml"
            )
            return Outcome(not_run=[NotRun(POLARITY.name, subset, reason)])
        lexicon = load_lexicon(axis)
    if unknown := set(groups[0].attributes) - set(lexicon.attributes):
        reason = f"the lexicon of '{axis}' has {', '.join(lexicon.attributes)}, but not {', '.join(sorted(unknown))}"
        return Outcome(not_run=[NotRun(POLARITY.name, subset, reason)])
    polarity = Polarity(lexicon)
    correct = [polarity.correct(group) for group in groups]
    columns = {"union_accuracy": [all(versions.values()) for versions in correct]}
    columns |= {f"accuracy_{name}": [versions[name] for versions in correct] for name in groups[0].versions}
    found = [quantity(mean, 100.0 * np.array(hits), subset=subset, name=name) for name, hits in columns.items()]
    return outcome(POLARITY, found)
