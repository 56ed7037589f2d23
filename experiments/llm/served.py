"""The model of this folder's studies, behind a server of its own with a ledger."""

from __future__ import annotations

from pathlib import Path

from fairlab.llm.client import LLM
from fairlab.llm.loading import load_served


def served(ledger: Path, threads: str) -> LLM:
    """Qwen2.5-Coder-1.5B-Instruct (``python -m experiments.real_models.fetch qwen``), asked one by one."""
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
