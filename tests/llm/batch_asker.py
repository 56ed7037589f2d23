"""A process that asks a stub of batch jobs a number of questions, to be killed while a job is at work."""

import sys

from fairlab.llm import batch_server
from fairlab.llm.batch_server import BatchServer
from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from tests.llm.conftest import requests

if __name__ == "__main__":
    url, path, count = sys.argv[1:]
    batch_server.POLL = 0.05
    ledger = Ledger(path)
    LLM(BatchServer(url, "m", ledger=ledger), "m", ledger).ask(requests(int(count)), stage="test")
