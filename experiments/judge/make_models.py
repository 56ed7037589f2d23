"""Make the files of other tools in ``tests/judge/fixtures``: models, items and a task of lm-evaluation-harness.

Run in the project's environment, in an empty folder; then, in environments of their own:

    lm_eval --model hf --model_args pretrained=tiny_a --tasks sums --include_path tasks --output_path lm_eval \
        --log_samples --device cpu                       # lm-eval 0.4.13, torch 2.13.0; the same with tiny_b
    python make_inspect.py                               # inspect-ai 0.3.285
    every_eval_ever convert lm_eval --log_path lm_eval/tiny_a/results_DATE.json --output_dir every_eval_ever \
        --include_samples --source_organization_name lab --evaluator_relationship third_party   # 0.3.0, Python 3.12
    python make_mteb.py                                  # mteb 2.26.24, sentence-transformers 6.2.0
    PYTHONPATH=. helm-run --run-entries made_sums:model=simple/model1 --suite made --max-eval-instances 8 \
        --plugins make_helm                              # crfm-helm 0.5.16

To keep them small, two fields that no reader reads were then removed: the events of the samples in inspect's
``b.json``, and the metadata of the samples of Every Eval Ever.
"""

import json
import random
from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from tests.tiny_models import byte_tokenizer

TASK = """\
task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: items.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_choice: choices
doc_to_target: answer
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: acc_norm, aggregation: mean, higher_is_better: true}
metadata: {version: 1.0}
"""


def main() -> None:
    """Write the models, the items and the task to the current folder."""
    tokenizer = byte_tokenizer()
    tokenizer.model_max_length = 256
    for name, seed in (("tiny_a", 1), ("tiny_b", 2)):
        torch.manual_seed(seed)
        sizes = {"n_positions": 256, "n_embd": 32, "n_layer": 2, "n_head": 2, "bos_token_id": 0, "eos_token_id": 0}
        GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **sizes)).save_pretrained(name)
        tokenizer.save_pretrained(name)
    rng = random.Random(0)
    lines = []
    for _ in range(20):
        first, second, off = rng.randint(1, 9), rng.randint(1, 9), rng.choice([-1, 1])
        choices = [str(first + second), str(first + second + off)]
        lines.append(json.dumps({"question": f"{first} plus {second} is", "choices": choices, "answer": 0}))
    Path("items.jsonl").write_text("\n".join(lines) + "\n")
    Path("tasks").mkdir()
    Path("tasks", "sums.yaml").write_text(TASK)


if __name__ == "__main__":
    main()
