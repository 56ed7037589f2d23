"""Language models that are asked in words: servers and local models behind a ledger."""
