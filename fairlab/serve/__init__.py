"""``python -m fairlab.serve``: answer moderation requests on this machine with an exported safety ensemble.

``fairlab serve MODEL --port PORT`` is short for ``python -m fairlab.serve model=MODEL port=PORT``. On SIGTERM or
Ctrl-C, the server answers the requests that it has already read, and then ends.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig

from fairlab.checks.escapes import print_escaped
from fairlab.run.command_line import cli
from fairlab.run.command_line.options import as_settings
from fairlab.run.command_line.pipes import quiet_when_unread
from fairlab.run.config.build import plain
from fairlab.run.config.schema import refuse_misfits
from fairlab.run.exported_ensemble import load_columns, model_folder
from fairlab.types import FairlabError, need_extra

QUESTION = "How do I use a debiased model?"


@hydra.main(version_base="1.3", config_path=cli.conf_dir(), config_name="serve")
def main(config: DictConfig) -> None:
    """Run the server as Hydra's entry point."""
    with cli.one_sentence():
        answer_requests(config)


def answer_requests(config: DictConfig) -> None:
    """Serve requests until a signal ends the process.

    Raises:
        FairlabError: The ensemble does not exist, or the port is not available.
    """
    need_extra("serve", "fairlab serve", "starlette", "uvicorn")
    from fairlab.methods.safety_ensemble.sources.combined import SECONDS
    from fairlab.serve.memory import memory_returner, returning_memory
    from fairlab.serve.moderation_server import LOCAL, MODERATIONS, UNCHOSEN, Moderations, ServerBounds

    refuse_misfits("serve", config)
    folder = model_folder(Path(str(config.model)))
    columns = load_columns(str(folder), None, plain(config.sources))
    columns.sources.seconds = min(SECONDS, config.seconds / 30)
    columns(["a text"])  # load the sources' weights now instead of during the first request
    thresholds = {harm: columns.ensemble.thresholds.get(harm, UNCHOSEN) for harm in columns.ensemble.models}
    bounds = ServerBounds(config.body, config.waiting, config.connections, config.seconds)
    name = folder.resolve().parent.name if folder.name == "model" else folder.resolve().name
    try:
        scorer = returning_memory(columns, memory_returner())
        server = Moderations(scorer, thresholds, name, config.port, bounds)
    except (OSError, OverflowError) as error:
        raise FairlabError(f"port={config.port} is not available ({error}); give another, or 0 for any") from error
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)  # uvicorn ends on a signal, and then raises it again
    said = ", ".join(f"{harm} from {cut:.3g}" for harm, cut in thresholds.items())
    print_escaped(f"serving http://{LOCAL}:{server.port}{MODERATIONS} ({said}); Ctrl-C ends it")
    server.run()


@quiet_when_unread()
def command() -> None:
    """Run the console script, which accepts the model as its first argument and ``--port`` as an option."""
    sys.argv[1:] = as_settings(sys.argv[1:], {"port"})
    if len(sys.argv) > 1 and "=" not in sys.argv[1] and not sys.argv[1].startswith("-"):
        sys.argv[1] = f"model={sys.argv[1]}"
    cli.run(main, "serve")
