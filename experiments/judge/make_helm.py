"""HELM scenario of synthetic sums, answered by HELM's own ``simple/model1``; see ``make_models.py``."""

from helm.benchmark.adaptation.common_adapter_specs import get_generation_adapter_spec
from helm.benchmark.metrics.common_metric_specs import get_exact_match_metric_specs
from helm.benchmark.run_spec import RunSpec, run_spec_function
from helm.benchmark.scenarios.scenario import (
    CORRECT_TAG,
    TEST_SPLIT,
    Input,
    Instance,
    Output,
    Reference,
    Scenario,
    ScenarioSpec,
)


class MadeSums(Scenario):
    """Scenario with eight sums.

    The model repeats the last word of the prompt, which is right for every other sum.
    """

    name = "made_sums"
    description = "made sums"
    tags = ()

    def get_instances(self, output_path: str) -> list[Instance]:
        """Return the sums as instances."""
        made = []
        for k in range(8):
            first, second = k + 1, k % 3 + 1
            text = f"{first} plus {second} is not {first + second if k % 2 else 0}"
            right = Reference(Output(text=str(first + second)), tags=[CORRECT_TAG])
            made.append(Instance(input=Input(text=text), references=[right], split=TEST_SPLIT))
        return made


@run_spec_function("made_sums")
def made_sums() -> RunSpec:
    """Return the specification of the run."""
    return RunSpec(
        name="made_sums",
        scenario_spec=ScenarioSpec(class_name="make_helm.MadeSums"),
        adapter_spec=get_generation_adapter_spec(max_train_instances=0),
        metric_specs=get_exact_match_metric_specs(),
        groups=[],
    )
