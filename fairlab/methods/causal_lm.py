"""Tuning of a causal language model: all weights or low-rank adapters, optionally on 4-bit weights.

Sources: Hu et al. 2022, "LoRA"; Dettmers et al. 2023, "QLoRA"; used as in Mondal and Lipizzi 2024, "Mitigating Large
Language Model Bias: Automated Dataset Augmentation and Prejudice Quantification", section 4.
Shape letters: B blocks, T tokens, M scored tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torchmetrics import MeanMetric

from fairlab.backbones.adapters import (
    ALL_LINEAR,
    FILE,
    LoRA,
    add_adapters,
    drop_inputs,
    merge_adapters,
    remove_adapters,
    save_adapters,
    save_peft_folder,
)
from fairlab.backbones.backbone import Backbone, body
from fairlab.backbones.causal_lm import CausalLM
from fairlab.backbones.quantization import dequantize, is_in_4_bits, quantize, refuse_without_cuda
from fairlab.backbones.scoring import apply_head
from fairlab.data.block_collator import PackedBatch
from fairlab.data.entries import Entries
from fairlab.distributed import BatchShare
from fairlab.methods.base import Trained
from fairlab.methods.optimizing import linear
from fairlab.types import CannotScore, Count, FairlabError, NotAll, NotNegative, Positive, Texts

APART = 0.05  # largest change of a hidden state due to rounding (bfloat16), relative to the largest state


class CausalLMTuning(Trained):
    """Method that trains a backbone to predict the next token of the training entries.

    The loss is the mean cross-entropy over the tokens of a batch, each conditioned on the earlier tokens of its own
    entry. Several entries share a block, but attention and positions are limited to one entry, and the first token of
    an entry is not predicted from the preceding entry. The model is not trained to predict the end of an entry. Dropout
    is off, except in the adapters.

    A checkpoint holds only the trained weights; all other weights are the initial weights of the run.

    Args:
        encoder: Causal LM, trained in place.
        rank: Rank of the adapters on the linear layers of the model's body, with all other weights frozen; None trains
            all weights.
        alpha: Numerator of the adapters' scale alpha / rank; None for a scale of 1.
        adapter_dropout: Dropout probability of the adapters' inputs in training, from 0 to below 1.
        targets: Names of the adapted layers, such as ``[q_proj, v_proj]``, or ``all-linear``.
        bias: Biases that are trained with the adapters: ``none``, ``all`` or ``lora_only``.
        quantize: Whether the frozen linear layers are kept in 4 bits during training (QLoRA); requires CUDA. A model
            that is already in memory is quantized in place. The adapters are then merged into the dequantized 4-bit
            values.
        checkpointing: Whether activations are recomputed in the backward pass, which uses less memory and takes about a
            third more time.
        lr: Peak learning rate of AdamW; it rises linearly over ``warmup`` and decays linearly to 0.
        warmup: Share of the training steps in which the learning rate rises, from 0 to below 1.
        weight_decay: Weight decay of AdamW, >= 0.
        epochs: Number of passes over the entries.
        validate_every: Number of training steps between validations.
        seed: Seed of the adapters' initial weights; the rest of the method is deterministic.

    Raises:
        FairlabError: This machine cannot quantize or, in training, the loss is not finite.
        CannotScore: The backbone is not a causal LM or, in ``setup``, entries of a block attend to each other.
    """

    title = "causal-language-model tuning"
    clip = 1.0
    schedule = staticmethod(partial(linear, from_zero=True))
    limits = (
        "Tuned on few texts of one kind: its output reflects their time and subjects, and may repeat their stereotypes."
    )
    citation = """@inproceedings{hu2022lora,
  title = {{LoRA}: Low-Rank Adaptation of Large Language Models},
  author = {Hu, Edward J. and Shen, Yelong and Wallis, Phillip and Allen-Zhu, Zeyuan and Li, Yuanzhi and Wang,
    Shean and Wang, Lu and Chen, Weizhu},
  booktitle = {Proceedings of ICLR},
  year = {2022}
}"""

    def __init__(
        self,
        encoder: Backbone,
        *,
        rank: Count | None,
        quantize: bool,
        checkpointing: bool,
        lr: Positive,
        warmup: NotAll,
        weight_decay: NotNegative,
        epochs: Count,
        validate_every: Count,
        seed: int,
        alpha: Positive | None = None,
        adapter_dropout: NotAll = 0.0,
        targets: str | Texts = ALL_LINEAR,
        bias: Literal["none", "all", "lora_only"] = "none",
    ) -> None:
        super().__init__()
        if quantize:
            if rank is None:
                raise FairlabError("method.quantize=true trains only adapters; give method.rank, for example 64")
            refuse_without_cuda()
        CausalLM(encoder)  # raises a clear error if the encoder is not a causal LM
        self.encoder = encoder
        self.rank = rank
        self.lora = None if rank is None else LoRA(rank, alpha, adapter_dropout, targets, bias)
        self.quantize = quantize
        self.checkpointing = checkpointing
        self.lr = lr
        self.warmup = warmup
        self.weight_decay = weight_decay
        self.epochs = epochs
        self.validate_every = validate_every
        self.seed = seed
        self.loss_mean = MeanMetric()

    def setup(self, stage: str) -> None:
        """Check that the model keeps entries separate, then quantize and add adapters."""
        if stage != "fit":
            return
        model = self.encoder.model
        self.encoder.to(self.trainer.strategy.root_device)
        refuse_mixing(self.encoder)
        if self.quantize:
            if self.device_mesh is not None:
                raise FairlabError("4-bit weights are not sharded; give trainer=ddp, or method.quantize=false")
            if not is_in_4_bits(model):
                quantize(model)
        torch.manual_seed(self.seed)
        if self.lora is not None:
            add_adapters(model, self.lora)
            head = model.get_output_embeddings()
            if head is not None:
                head.requires_grad_(False)
        self.encoder.to(self.trainer.strategy.root_device)
        self.encoder.eval()
        if self.checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": False})
            for name, module in model.named_modules():
                if isinstance(module, nn.Dropout) and "lora_dropout" not in name:
                    module.p = 0.0
            self.encoder.train()  # transformers recomputes only in training mode

    def loss(self, batch: PackedBatch) -> tuple[Tensor, int]:
        """Return the mean cross-entropy of a batch, in nats, and the number M of scored tokens."""
        if not len(batch.positions):
            return self.empty_share(), 0
        model = self.encoder.model
        output = body(model)(input_ids=batch.input_ids, position_ids=batch.position_ids, use_cache=False)
        hidden_MD = output.last_hidden_state.flatten(0, 1).index_select(0, batch.scored)
        logits_MV = apply_head(model, output, hidden_MD).float()
        targets_M = batch.targets.flatten().index_select(0, batch.scored)
        total = nn.functional.cross_entropy(logits_MV, targets_M, reduction="sum")
        return total / max(1, len(targets_M)), len(targets_M)

    def training_step(self, batch: PackedBatch, batch_idx: int) -> Tensor:
        """Return the loss on one batch."""
        if self.lora is not None and self.lora.dropout:
            drop_inputs(self.encoder.model)
        own, tokens = self.loss(batch)
        share = BatchShare(tokens, self.device)
        loss = share.mean(own)
        self.log_training({"loss": loss}, tokens)
        return share.loss(own)

    def validation_step(self, batch: PackedBatch, batch_idx: int) -> None:
        """Compute the loss on held-out entries."""
        loss, tokens = self.loss(batch)
        self.loss_mean.update(loss, weight=tokens)

    def on_validation_epoch_end(self) -> None:
        """Log the mean loss over all held-out tokens, and its exponential, the perplexity."""
        loss = self.loss_mean.compute()
        self.loss_mean.reset()
        self.log_dict({"validation/loss": loss, "validation/perplexity": loss.exp()})

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Remove frozen weights from the checkpoint."""
        super().on_save_checkpoint(checkpoint)
        weights, trained = checkpoint["state_dict"], set(self.trained_names())
        # If the model is sharded, only rank 0 has the weights.
        checkpoint["state_dict"] = {name: value for name, value in weights.items() if name in trained}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Load the trained weights and leave the frozen weights unchanged.

        Raises:
            RuntimeError: The weights belong to a different model.
        """
        if strict and set(state_dict) != set(self.trained_names()):
            raise RuntimeError("Error(s) in loading state_dict: its trained weights belong to another model")
        return super().load_state_dict(state_dict, strict=False, assign=assign)

    def trained_names(self) -> list[str]:
        """Return the names of the trained weights."""
        return [name for name, parameter in self.named_parameters() if parameter.requires_grad]

    def finish(self, folder: Path) -> None:
        """Write the trained adapters to ``folder``, and merge the stored values into the weights.

        ``folder/adapters`` holds the adapters in PEFT's format, for the original base model.
        """
        data: Entries = self.trainer.datamodule  # type: ignore[attr-defined]
        self.encoder.entries = len(data.texts["train"])
        model = self.encoder.model
        if self.checkpointing:
            model.gradient_checkpointing_disable()
        if self.lora is not None:
            save_peft_folder(model, self.lora, folder / "adapters")
            save_adapters(model, folder / FILE, torch.float32)
            remove_adapters(model)
            if self.quantize:
                dequantize(model)
            merge_adapters(model, folder / FILE)
        self.encoder.eval()

    def facts(self) -> dict[str, object]:
        """Return the facts about the trained model that the record holds in addition to the configuration."""
        return super().facts() | {"trained_parameters": self.trained_parameters}


def refuse_mixing(backbone: Backbone) -> None:
    """Check that an entry does not attend to the preceding entry in its block.

    The check runs the model on a block of two entries with three tokens each.

    Raises:
        CannotScore: The second entry attends to the first, because the architecture separates entries by the attention
            mask instead of positions.
    """
    ids = torch.arange(6, device=backbone.device)[None]
    positions = torch.arange(3, device=backbone.device).repeat(1, 2)
    model = body(backbone.model)
    with backbone.measuring():
        together = model(input_ids=ids, position_ids=positions, use_cache=False).last_hidden_state[0, 3:]
        alone = model(input_ids=ids[:, 3:], use_cache=False).last_hidden_state[0]
    if (together - alone).abs().max() > APART * alone.abs().max():
        raise CannotScore(
            f"{type(backbone.model).__name__} lets entries of a block attend to each other, so it cannot be tuned on "
            "packed entries; use another backbone"
        )
