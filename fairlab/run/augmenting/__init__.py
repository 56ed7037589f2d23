"""Plans for running an augmentation with ``fairlab.augment``: row by row, or after a pass over the whole dataset.

Plans implement :class:`fairlab.protocols.Plan`. Each augmentation names its plan.
"""
