"""How ``fairlab.augment`` carries an augmentation out: row by row, after words were chosen, or after rounds.

What a plan is asked for stands in :class:`fairlab.protocols.Plan`; an augmentation names its plan.
"""
