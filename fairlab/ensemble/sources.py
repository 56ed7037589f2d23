"""Former location of the source classifiers."""

from fairlab.methods.safety_ensemble.sources.base import Source as Source
from fairlab.methods.safety_ensemble.sources.combined import Sources as Sources
from fairlab.methods.safety_ensemble.sources.profanity import Profanity as Profanity
from fairlab.methods.safety_ensemble.sources.sentiment import Sentiment as Sentiment
from fairlab.methods.safety_ensemble.sources.stored_scores import StoredScores as StoredScores
from fairlab.methods.safety_ensemble.sources.word_list import WordList as WordList
