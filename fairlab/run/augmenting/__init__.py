"""Plans by which ``fairlab.augment`` runs an augmentation: row by row, after choosing words, or after rounds.

The interface of a plan is :class:`fairlab.protocols.Plan`; an augmentation names its plan.
"""
