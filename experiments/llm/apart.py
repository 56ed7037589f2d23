"""Compare one request for all versions of a text with one request per attribute, on the same texts.

    python -m experiments.llm.apart TEXTS.jsonl LEDGER OUT.json [THREADS]

Each attribute's request also asks for the neutral version, which is taken from the first attribute's answer. Only
counts are written.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.llm.compare import counted
from experiments.llm.served import served
from fairlab.files import write_whole
from fairlab.lexicons import load_lexicon
from fairlab.metrics.polarity import Polarity
from fairlab.rewriting.by_llm.llm_rewriter import LLMRewriter, Versions
from fairlab.rewriting.verifiers import TextVerifier, load_verifiers
from fairlab.types import NEUTRAL

TEXTS = 40
VERIFIERS = (["polarity"], ["polarity", "kinds"])


def asked(rewriter: LLMRewriter, texts: Sequence[str], attributes: Sequence[str]) -> list[dict[str, str]]:
    """Return the versions of every text from one request per text. A failed request gives an empty neutral version."""
    stage = " and ".join(attributes)
    made = rewriter.groups(texts, axis="gender", attributes=attributes, stage=stage)
    return [one.versions if isinstance(one, Versions) else {NEUTRAL: ""} for one in made]


def right(text: str, versions: Mapping[str, str], verifiers: Sequence[TextVerifier]) -> bool:
    """Return whether all versions exist and no verifier finds a fault with them."""
    return all(versions.values()) and not any(one.fault(text, versions) for one in verifiers)


def main(source: Path, ledger: Path, out: Path, threads: str = "1") -> None:
    """Make the requests in both ways, and write how many texts are correct in each."""
    texts = [json.loads(line)["text"] for line in source.read_text(encoding="utf-8").splitlines()[:TEXTS]]
    lexicon = load_lexicon("gender")
    llm = served(ledger, threads)
    rewriter = LLMRewriter(llm, group_prompt="counterfactual_marked", polarity=Polarity(lexicon))
    together = asked(rewriter, texts, lexicon.attributes)
    each = {name: asked(rewriter, texts, [name]) for name in lexicon.attributes}
    first = lexicon.attributes[0]
    apart = [
        {NEUTRAL: each[first][row].get(NEUTRAL, ""), **{name: each[name][row].get(name, "") for name in each}}
        for row in range(len(texts))
    ]
    spent = {
        stage: {"calls": one.calls, "prompt_tokens": one.prompt_tokens, "completion_tokens": one.completion_tokens}
        for stage, one in llm.ledger.stages().items()
    }
    found: dict[str, Any] = {"spent": spent}
    for names in VERIFIERS:
        verifiers = load_verifiers(names, lexicon)
        pairs = [
            (right(text, one, verifiers), right(text, other, verifiers))
            for text, one, other in zip(texts, together, apart, strict=True)
        ]
        found[" and ".join(names)] = counted(pairs)
    write_whole(out, json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    folder, ledger_file, result, *rest = sys.argv[1:]
    main(Path(folder), Path(ledger_file), Path(result), *rest)
