"""Former location of the source that compares texts with a policy."""

from fairlab.methods.safety_ensemble.sources.policy import PolicySimilarity as PolicySimilarity
from fairlab.methods.safety_ensemble.sources.policy import read_policy as read_policy
