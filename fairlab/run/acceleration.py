"""Settings that change how a device runs the model during training.

They are undone when training ends.
"""

from __future__ import annotations

from typing import Any

from lightning.pytorch.callbacks import Callback

from fairlab.backbones.attention import set_attention
from fairlab.backbones.backbone import Backbone
from fairlab.backbones.blocks import Recomputation, keep_blocks, recompute_blocks, transformer_blocks


class Acceleration(Callback):
    """Callback that sets attention, recomputation and compilation for training only.

    The model is measured and exported without these settings.

    Args:
        encoder: Backbone whose model is changed; a method may already have changed it when training begins.
        attention: Name of an attention implementation of transformers, such as ``sdpa``; None keeps the current one.
        recompute: Values that are recomputed in the backward pass; see
            :func:`fairlab.backbones.blocks.recompute_blocks`.
        compiled: Whether each block is compiled (``torch.compile``). Blocks share their code, so it is compiled once.
    """

    def __init__(self, encoder: Backbone, attention: str | None, recompute: Recomputation, compiled: bool) -> None:
        self.encoder = encoder
        self.attention = attention
        self.recompute = recompute
        self.compiled = compiled
        self._before: str | None = None

    def on_fit_start(self, *_: Any) -> None:
        """Apply the settings to the model.

        Raises:
            FairlabError: The attention implementation is not installed, or the model does not support it.
        """
        model = self.encoder.model
        if self.attention is not None:
            self._before = model.config._attn_implementation
            set_attention(model, self.attention, "trainer.attention")
        recompute_blocks(model, self.recompute)
        for block in transformer_blocks(model) if self.compiled else ():
            block.compile()  # the first batch with another shape triggers one compilation for all shapes

    def on_fit_end(self, *_: Any) -> None:
        """Restore the model to its state before training."""
        keep_blocks(self.encoder.model)
        for block in transformer_blocks(self.encoder.model):
            block._compiled_call_impl = None
        if self._before is not None:
            self.encoder.model.set_attn_implementation(self._before)
