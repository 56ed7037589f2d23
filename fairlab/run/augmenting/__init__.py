"""Plans that ``fairlab.augment`` follows to run an augmentation: row by row, or after a pass over the whole dataset.

The interface of a plan is :class:`fairlab.protocols.Plan`. Each augmentation names its plan.
"""
