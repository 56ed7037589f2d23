"""A process that asks a stub a number of questions and writes the replies: to be killed, and to share a ledger with."""

import json
import sys
from pathlib import Path

from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from fairlab.llm.server import Server
from tests.llm.conftest import requests

if __name__ == "__main__":
    url, ledger, count, out = sys.argv[1:]
    llm = LLM(Server(url, "m", concurrency=4), "m", Ledger(ledger))
    replies = llm.ask(requests(int(count)), stage="test")
    Path(out).write_text(json.dumps([reply.text for reply in replies]))
