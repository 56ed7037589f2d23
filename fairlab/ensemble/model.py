"""Former location of the fitted model of a harm."""

from fairlab.methods.safety_ensemble.model import HarmModel as HarmModel
from fairlab.methods.safety_ensemble.model import logits as logits
