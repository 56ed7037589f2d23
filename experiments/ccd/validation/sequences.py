"""Run the sequences of the second study on the bench: each trained method, and then each eraser.

    python -m experiments.ccd.validation.sequences minilm mpnet

Both methods of a sequence have the setting that the rule of choice gives each alone, so a trained method waits until it
was tried in all its settings on both encoders.
"""

from __future__ import annotations

import argparse
import time

from experiments.ccd.second import ENCODERS, all_settings, chosen
from experiments.ccd.validation.bench import Bench
from experiments.ccd.validation.matrices import kept_embeddings, people
from experiments.ccd.validation.trials import ERASERS, SEED, TRAINED, add, losses, trained, tried


def run(encoder: str) -> None:
    """Run the sequences of an encoder that are known by now and that the record lacks."""
    trials = tried()
    done = [(one["encoder"], one["method"], one["settings"]) for one in trials]
    settings = all_settings(trials)
    before = Bench(kept_embeddings(encoder))
    for method in TRAINED:
        first = chosen(method, settings)
        for eraser in ERASERS:
            then = chosen(eraser, settings)
            if first is None or then is None:
                continue
            name, both = f"{method}+{eraser}", {"first": first.settings, "then": then.settings}
            if (encoder, name, both) in done:
                continue
            begun = time.perf_counter()
            record = trained(encoder, method, first.settings)
            embedded = kept_embeddings(encoder, record.folder)
            matrix = ERASERS[eraser](**then.settings)(embedded, people(), SEED)
            found = losses(record) | Bench(embedded).read(matrix, before)
            add(encoder, name, both, {"seconds": time.perf_counter() - begun} | found)


def main() -> None:
    """Run the sequences of the encoders that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("encoders", nargs="+", choices=ENCODERS)
    for encoder in parser.parse_args().encoders:
        run(encoder)


if __name__ == "__main__":
    main()
