"""Language model used by the studies in this folder, on a local server with a ledger."""

from __future__ import annotations

from pathlib import Path

from fairlab.llm.client import LLM
from fairlab.llm.loading import load_served


def served(ledger: Path, threads: str) -> LLM:
    """Load Qwen2.5-Coder-1.5B-Instruct, which answers one request at a time.

    ``python -m experiments.real_models.fetch qwen`` provides the model.
    """
    return load_served(
        model="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        program=None,
        arguments=["--threads", threads, "--threads-batch", threads],
        port=None,
        context=4096,
        concurrency=1,
        budget={"calls": None, "tokens": None, "dollars": None},
        ledger=str(ledger),
        total_timeout=600.0,
    )
