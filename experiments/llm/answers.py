"""Store the answers of an LLM ledger in a small file without the prompts, and restore them.

    python -m experiments.llm.answers save LEDGER ANSWERS.jsonl.xz
    python -m experiments.llm.answers restore ANSWERS.jsonl.xz LEDGER      # then llm=replay llm.ledger=LEDGER

The prompts contain texts that must not be published. An answer is stored under the hash of its request, so a replay
finds it if the same request is made for the same text.
"""

from __future__ import annotations

import json
import lzma
import sys
from contextlib import closing
from pathlib import Path

from fairlab.files import compressed, replaced_when_written
from fairlab.llm.exchange import Reply
from fairlab.llm.ledger import Ledger


def save(ledger: Path, out: Path) -> int:
    """Write the answers of a ledger, which must contain a single model, to a file, and return their number."""
    with closing(Ledger(ledger, read_only=True)) as opened:
        (model,) = opened.models()
        rows = list(opened.replies())
    lines = [json.dumps({"model": model}), *(json.dumps([key, json.loads(reply)]) for key, reply in rows)]
    with replaced_when_written(out) as temporary:
        temporary.write_bytes(compressed("\n".join(lines)))
    return len(rows)


def restore(saved: Path, ledger: Path) -> int:
    """Add saved answers to a ledger, and return their number. Answers that the ledger already has are kept."""
    header, *lines = lzma.decompress(saved.read_bytes()).decode().splitlines()
    with closing(Ledger(ledger)) as opened:
        for line in lines:
            key, reply = json.loads(line)
            opened.put(key, header, Reply.loads(json.dumps(reply)))
    return len(lines)


if __name__ == "__main__":
    command, source, target = sys.argv[1:]
    print({"save": save, "restore": restore}[command](Path(source), Path(target)), "answers")
