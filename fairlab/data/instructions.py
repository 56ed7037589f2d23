"""LightningDataModule over instructions with answers, for tuning a causal language model on the answers alone.

Conversations are formatted with the model's chat template and packed into blocks. Tokens attend only to their own
conversation.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.causal_lm import CausalLM
from fairlab.data.batch_stream import Streamed
from fairlab.data.block_collator import PackedBatch, collated
from fairlab.data.dialogues import Dialogue, read_dialogue
from fairlab.data.entry_blocks import packed, refuse_block
from fairlab.data.stream.formats import BadRow, found_in
from fairlab.files import sha256
from fairlab.text.fingerprints import Fingerprints
from fairlab.types import Count, FairlabError

NAMED = 3  # maximum number of faulty rows named in a message


class Conversation(NamedTuple):
    """Tokenized conversation.

    Attributes:
        text: Text of the conversation.
        token_ids: Token ids of the text.
        scored: Whether each token belongs to an answer, including the token that ends the answer.
    """

    text: str
    token_ids: list[int]
    scored: list[bool]


class Instructions(Streamed):
    """Fine-tuning data of a causal LM: instructions with answers.

    A row has ``messages``, or ``prompt`` and ``completion``, see :func:`fairlab.data.dialogues.read_dialogue`. Only the
    answers and their end tokens are targets. Conversations that are longer than a block are left out and counted,
    because truncation would remove the end of an answer.

    Args:
        path: Path of the rows: JSON lines, JSON, Parquet, or a saved or hub dataset.
        validation: Number of conversations that are held out, sampled with ``seed``.
        limit: Maximum number of conversations to train on, sampled with ``seed``; None for all.
        block: Length of a block in tokens, at most ``backbone.max_length``.
        batch_size: Number of blocks in a training batch, over all processes.
        encoder: Causal LM with its tokenizer.
        epochs: Number of passes over the conversations.
        seed: Seed for the choice of conversations and the order of the batches.

    Attributes:
        texts: Texts of the conversations of each split.
        left_out: Number of conversations that are longer than a block.

    Raises:
        FairlabError: A row is faulty, there are too few rows, or a value is out of range.
    """

    def __init__(
        self,
        *,
        path: str,
        validation: Count,
        limit: Count | None,
        block: int,
        batch_size: Count,
        encoder: Backbone,
        epochs: int,
        seed: int,
    ) -> None:
        super().__init__()
        refuse_block(block, encoder, least=2)
        self.path, self.batch_size, self.encoder, self.epochs, self.seed = path, batch_size, encoder, epochs, seed
        self.start_id = CausalLM(encoder).start_id
        found = [self._tokens(one) for one in read_dialogues(path, encoder.tokenizer)]
        fitting = [one for one in found if len(one.token_ids) <= block and any(one.scored[1:])]
        self.left_out = len(found) - len(fitting)
        if len(fitting) < validation + 1:
            raise FairlabError(
                f"{path} has {len(fitting)} conversations of at most {block} tokens among {len(found)}, fewer than "
                f"data.validation={validation} and one to train on; raise data.block or lower data.validation"
            )
        order = np.random.default_rng(seed).permutation(len(fitting))
        parts = {"validation": order[:validation], "train": order[validation:][:limit]}
        self.examples = {split: [fitting[k] for k in chosen] for split, chosen in parts.items()}
        self.texts = {split: [one.text for one in examples] for split, examples in self.examples.items()}
        self.blocks = {
            split: packed([len(one.token_ids) for one in examples], block) for split, examples in self.examples.items()
        }

    def _tokens(self, dialogue: Dialogue) -> Conversation:
        encoded = self.encoder.tokenizer(
            dialogue.text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
        scored = [
            any(start < end and first < end and start < last for first, last in dialogue.answers)
            for start, end in encoded["offset_mapping"]
        ]
        token_ids = list(encoded["input_ids"])
        if dialogue.starts and token_ids[:1] != [self.start_id]:
            token_ids, scored = [self.start_id, *token_ids], [False, *scored]
        return Conversation(dialogue.text, token_ids, scored)

    def facts(self) -> dict[str, object]:
        """Return the facts for the run's record: path, hash, and sizes."""
        scored = sum(sum(one.scored) for one in self.examples["train"])
        file = Path(self.path)
        return {
            "path": self.path,
            **({"sha256": sha256(file)} if file.is_file() else {}),
            "trained_on": f"{len(self.texts['train'])} conversations, answers alone",
            "train_entries": len(self.texts["train"]),
            "validation_entries": len(self.texts["validation"]),
            "answer_tokens": scored,
            "longer_than_a_block": self.left_out,
        }

    def fingerprints(self) -> Fingerprints:
        """Return fingerprints of the training conversations and their sentences."""
        return Fingerprints.from_running_texts(self.texts["train"])

    def sizes(self) -> dict[str, int]:
        """Return the number of training conversations and of their tokens, excluding padding."""
        examples = self.examples["train"]
        return {"entries": len(examples), "tokens": sum(len(one.token_ids) for one in examples)}

    def lengths(self, split: str) -> list[int]:
        """Return the number of tokens of every block."""
        examples = self.examples[split]
        return [sum(len(examples[k].token_ids) for k in chosen) for chosen in self.blocks[split]]

    def collate(self, split: str, positions: list[int]) -> PackedBatch:
        """Return the blocks at ``positions`` as a padded batch, in which only the answers are targets."""
        examples = self.examples[split]
        blocks = [[examples[k] for k in self.blocks[split][position]] for position in positions]
        return collated(
            [[one.token_ids for one in block] for block in blocks],
            positions,
            self.encoder.padding_id,
            scored=[[one.scored for one in block] for block in blocks],
        )


def read_dialogues(path: str, tokenizer: object) -> list[Dialogue]:
    """Read the conversations from all rows of a file or dataset.

    Raises:
        FairlabError: A row is faulty, or there are no rows.
    """
    found: list[Dialogue] = []
    faults: list[str] = []
    for row in itertools.chain.from_iterable(found_in(path).values()):
        if isinstance(row, BadRow):
            faults.append(f"{row.place}: {row.reason}")
            continue
        place, content = row
        try:
            found.append(read_dialogue(content, tokenizer))
        except ValueError as error:
            faults.append(f"{place}: {error}")
    if faults:
        raise FairlabError(f"{path} has rows that are not instructions ({_some(faults)}); fix or remove them")
    if not found:
        raise FairlabError(f"{path} holds no row; give rows with messages, or with prompt and completion")
    return found


def _some(faults: Sequence[str]) -> str:
    more = f"; and {len(faults) - NAMED} more" if len(faults) > NAMED else ""
    return "; ".join(faults[:NAMED]) + more
