"""Compiling a model for training only."""

from fairlab.backbones.backbone import body
from fairlab.run.checkpoints import Compiled


def test_a_model_is_compiled_from_the_start_of_training_to_its_end(tiny):
    names = list(tiny.state_dict())
    compiled = Compiled(tiny)
    compiled.on_fit_start()
    assert body(tiny.model)._compiled_call_impl is not None
    assert list(tiny.state_dict()) == names, "checkpoints and exports keep their names"
    compiled.on_fit_end()
    assert body(tiny.model)._compiled_call_impl is None
    assert tiny.embed(["it rained"]).shape == (1, 32)
