"""Readers of data, and LightningDataModules around them."""
