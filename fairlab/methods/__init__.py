"""Methods: LightningModules that train a model."""
