"""Python interface of fairlab: functions for models, results and runs, with the same defaults as the command line.

>>> import fairlab
>>> fairlab.rewrite("The chairman kissed his wife.", axis="gender", to="woman")
'The chairwoman kissed her wife.'
"""

from fairlab.api.auditing import audit
from fairlab.api.augmenting import augment, rewrite
from fairlab.api.debiasing import Run, debias
from fairlab.api.evaluating import compare, evaluate
from fairlab.api.loading import load
from fairlab.api.mending import Mended, mend
from fairlab.api.results import Changes, Results
from fairlab.api.several import Runs, runs

__all__ = [
    "Changes", "Mended", "Results", "Run", "Runs", "audit", "augment", "compare", "debias", "evaluate", "load", "mend",
    "rewrite", "runs"
]  # fmt: skip
