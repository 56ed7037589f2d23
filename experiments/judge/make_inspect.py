"""Write inspect logs of 12 sums in groups of 3, answered by a mock model; see ``make_models.py``."""

import random

from inspect_ai import Task
from inspect_ai import eval as run
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate

SAMPLES = [
    Sample(id=f"q{k}", input=f"What is {k} plus {k}?", target=str(2 * k), metadata={"passage": k // 3})
    for k in range(12)
]


def answers(share: float, seed: int) -> list[ModelOutput]:
    """Return one answer per sample, each right with the given probability."""
    rng = random.Random(seed)
    made = [ModelOutput.from_content("mockllm/model", str(2 * k) if rng.random() < share else "no") for k in range(12)]
    for one in made:
        one.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # otherwise a tokenizer is downloaded
    return made


for name, share, seed, kind in (("a", 0.5, 1, "eval"), ("b", 0.9, 2, "json")):
    task = Task(name="sums", dataset=SAMPLES, solver=generate(), scorer=match(numeric=True))
    model = get_model("mockllm/model", custom_outputs=answers(share, seed))
    one_by_one = {"max_connections": 1, "max_samples": 1}
    (log,) = run(task, model=model, log_dir=f"inspect/{name}", log_format=kind, display="none", **one_by_one)
    print(name, log.results.scores[0].metrics["accuracy"].value)
