"""Tables for the documentation of the bundled masked language model, minilm_mlm."""

from __future__ import annotations

from pathlib import Path

from experiments.rendering import ideal, markdown, significant
from fairlab.record import Record
from fairlab.reporting.headlines import title

RECORDS = Path(__file__).parent / "records"
BESIDE_HEADLINES = ["minilm_mlm/stereoset/gender/lms", "minilm_mlm/stereoset/gender/ss"]


def training() -> str:
    """Return a table of the data, duration and machine of minilm_mlm's training."""
    record = Record.load(RECORDS / "training")
    facts, last = record.provenance, [row for row in record.history if "validation/accuracy" in row][-1]
    hardware, throughput = facts["hardware"], facts["throughput"]
    rows = [
        ["revision", f"`{facts['revision']}`"],
        ["texts", f"{facts['data']['train_texts']:,} for training, {facts['data']['validation_texts']:,} held out"],
        ["steps", f"{last['step']:,.0f}"],
        ["trained parameters", f"{facts['method']['trained_parameters']:,}"],
        ["tokens per second", f"{throughput['tokens_per_second']:,.0f}"],
        ["minutes at this rate", f"{facts['data']['train_texts'] / throughput['texts_per_second'] / 60:.0f}"],
        ["machine", f"{hardware['processor']}, {hardware['cores']} cores"],
        ["masked tokens predicted correctly, held-out text", f"{last['validation/accuracy']:.1%}"],
        ["perplexity of masked tokens, held-out text", f"{last['validation/perplexity']:.1f}"],
        ["cosine to MiniLM's embeddings, held-out text", f"{1 - last['validation/preservation_loss']:.3f}"],
    ]
    return markdown(["quantity", "value"], rows)


def quality() -> str:
    """Return a table of minilm_mlm's headline readings next to MiniLM's, if MiniLM has any."""
    rows = []
    for row in Record.load(RECORDS / "evaluation").table():
        ours = row.get("minilm_mlm")
        if ours is None or not (ours.headline or ours.key in BESIDE_HEADLINES):
            continue
        cells = [significant(reading) if reading else "" for reading in (row.get("minilm"), ours)]
        rows.append([title(ours), *cells, ideal(ours), str(ours.n)])
    return markdown(["result", "minilm", "minilm_mlm", "ideal", "n"], rows)


PAGES = {"fairlab/backbones/embedded/minilm_mlm/README.md": {"training": training, "quality": quality}}
