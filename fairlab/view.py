"""``python -m fairlab.view DIR...``: show all runs in the given folders on one page for comparison and inspection.

If a folder contains no fairlab runs, results of other tools are shown, read as in ``fairlab compare``. The page is
written to ``view.html`` in the first folder. With many runs, it contains only the table and the trade-off plot. With
``--serve``, a local server provides the rest, including texts that must not be stored in a page. Ctrl-C stops the
server.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from fairlab.checks.escapes import print_escaped
from fairlab.checks.redaction import without_secrets
from fairlab.files import write_whole
from fairlab.reporting.view.browsing import MOST_WHOLE, Browser, browse, view_page
from fairlab.reporting.view.serving import LOCAL, server
from fairlab.run.command_line.cli import Arguments, one_sentence_without_hydra
from fairlab.run.command_line.pipes import quiet_when_unread
from fairlab.types import FairlabError

QUESTION = "Does a claim hold?"


def main(arguments: Sequence[str]) -> None:
    """Write the page and print its path, or serve it."""
    parser = Arguments(
        prog="python -m fairlab.view", description=__doc__, epilog="Example: fairlab view outputs --serve"
    )
    parser.add_argument(
        "folders",
        metavar="DIR",
        nargs="+",
        type=Path,
        help="a folder that holds runs at any depth, or results of another tool",
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="where to write the page (default: DIR/view.html)")
    parser.add_argument("--serve", action="store_true", help="serve the page on this machine instead of writing it")
    parser.add_argument("--port", type=int, default=0, help="port to serve on (default: any free port)")
    chosen = parser.parse_args(arguments)
    browser = browse(chosen.folders)
    if chosen.serve:
        serve(browser, chosen.port)
        return
    first = chosen.folders[0]
    path = chosen.output or (first if first.is_dir() else first.parent) / "view.html"
    if not path.parent.is_dir():
        raise FairlabError(f"{path.parent} is not a folder; give --output a file in an existing folder")
    write_whole(path, without_secrets(view_page(browser, served=False)))
    print_escaped(f"view: {path} ({len(browser.records)} runs)")
    if len(browser.records) > MOST_WHOLE:
        print_escaped(f"more than {MOST_WHOLE} runs: items and curves of each are shown with --serve")


def serve(browser: Browser, port: int) -> None:
    """Serve the page until Ctrl-C.

    Raises:
        FairlabError: The port is not available.
    """
    try:
        serving = server(browser, port)
    except (OSError, OverflowError) as error:
        raise FairlabError(f"--port {port} is not available ({error}); give another port, or omit --port") from error
    with serving:
        print_escaped(f"view: http://{LOCAL}:{serving.server_port}/ ({len(browser.records)} runs); Ctrl-C stops it")
        serving.serve_forever()


@quiet_when_unread()
def command() -> None:
    """Run the command as the console script does."""
    with one_sentence_without_hydra():
        main(sys.argv[1:])


if __name__ == "__main__":
    command()
