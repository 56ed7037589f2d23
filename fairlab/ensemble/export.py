"""Former location of the export of an ensemble."""

from fairlab.methods.safety_ensemble.exported.export import Ensemble as Ensemble
from fairlab.methods.safety_ensemble.exported.export import load_ensemble as load_ensemble
from fairlab.methods.safety_ensemble.exported.export import save_ensemble as save_ensemble
