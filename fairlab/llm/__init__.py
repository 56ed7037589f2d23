"""Language models that are prompted in text: servers and local models with a ledger."""
