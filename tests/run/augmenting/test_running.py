"""Which augmentations may run, and which need a rewriter."""

import pytest

from fairlab.augmentation.benign_prompts import BenignPrompts
from fairlab.augmentation.cda import CDA
from fairlab.augmentation.counterfactual_groups import CounterfactualGroups
from fairlab.augmentation.identity import Identity
from fairlab.augmentation.perturbation import Perturbation
from fairlab.augmentation.symmetric import Symmetric
from fairlab.augmentation.z_filtered import ZFiltered
from fairlab.run.augmenting.running import refuse_unplanned
from fairlab.types import FairlabError


@pytest.mark.parametrize(
    ("augmentation", "needs"),
    [
        *((one, False) for one in (BenignPrompts, Identity, Perturbation, Symmetric, ZFiltered)),
        *((one, True) for one in (CDA, CounterfactualGroups)),
    ],
)
def test_some_augmentations_need_no_rewriter(augmentation, needs):
    values = {"augmentation": {"_target_": f"{augmentation.__module__}.{augmentation.__name__}"}, "rewriter": None}
    if needs:
        with pytest.raises(FairlabError, match="rewriter=none"):
            refuse_unplanned(values, augmentation.name)
    else:
        refuse_unplanned(values, augmentation.name)
    refuse_unplanned(values | {"rewriter": {"_target_": "any"}}, augmentation.name)
