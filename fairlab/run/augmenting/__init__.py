"""Plans by which ``fairlab.augment`` runs an augmentation: row by row, or after a pass over the whole dataset.

Plans implement :class:`fairlab.protocols.Plan`. Each augmentation names its plan.
"""
