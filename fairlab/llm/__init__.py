"""Language models that answer text prompts: served and local models, with a ledger of their answers."""
