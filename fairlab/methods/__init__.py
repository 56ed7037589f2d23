"""Methods: LightningModules that train something."""
