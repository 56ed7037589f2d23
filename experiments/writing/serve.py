"""Server of a GGUF file with llama-cpp-python and fast log-probabilities of prompt tokens.

The server of llama-cpp-python sorts the whole vocabulary for every token of a prompt, which takes longer than the model
itself. This server only computes the log-probability of the token. It also keeps the weights as they are in the file,
because the rearranged weights of llama.cpp 0.3.36 crash the process on processors with AMX.

PYTHON_WITH_LLAMA_CPP experiments/writing/serve.py --model FILE --logits_all true --n_ctx 512 --port 8041
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import llama_cpp
import numpy as np
from llama_cpp.server.__main__ import main


class TokenLogProbabilities:
    """Log-probabilities of a vocabulary at one position, each computed on access.

    Args:
        logits: Logits of the vocabulary.
    """

    def __init__(self, logits: Any) -> None:
        self.logits = logits

    def __getitem__(self, token: int) -> float:
        highest = self.logits.max()
        return float(self.logits[token] - highest - np.log(np.exp(self.logits - highest).sum()))

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[float]:
        return iter(())


def log_probabilities(logits: Any, axis: int = -1) -> list[TokenLogProbabilities]:
    """Return the log-probabilities at each position.

    Args:
        logits: Logits (positions, vocabulary).
        axis: Unused; part of the replaced function's signature.
    """
    del axis
    return [TokenLogProbabilities(row) for row in logits]


def plain_parameters() -> Any:
    """Return the default parameters of a model, but keep its weights as they are in the file."""
    found = default_parameters()
    found.use_extra_bufts = False
    return found


if __name__ == "__main__":
    default_parameters = llama_cpp.llama_cpp.llama_model_default_params
    llama_cpp.llama_cpp.llama_model_default_params = plain_parameters
    llama_cpp.Llama.logits_to_logprobs = staticmethod(log_probabilities)
    main()
