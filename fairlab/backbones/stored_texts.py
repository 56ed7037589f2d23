"""Writer that returns stored texts, which a model wrote earlier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from fairlab.backbones.model_object import ModelObject
from fairlab.backbones.writers import END, ENDINGS, Sampling, TextPrompt, Written
from fairlab.checks.json_text import from_json
from fairlab.text.reading import text_lines
from fairlab.types import CannotScore, FairlabError

SHOWN = 60  # characters of a prompt in messages


def read_texts(path: Path) -> dict[tuple[str, int], Written]:
    """Load the texts in a file, by prompt and sample number.

    Each line holds ``{"prompt": ..., "text": ...}`` and optionally ``sample``, ``ended`` and ``tokens``. Without
    ``sample``, the texts of the same prompt are numbered in file order.

    Raises:
        FairlabError: The file cannot be read, a line does not have this form, or the file holds no text.
    """
    found: dict[tuple[str, int], Written] = {}
    counts: dict[str, int] = {}
    try:
        for number, line in enumerate(text_lines(path), start=1):
            if not line.strip():
                continue
            prompt, sample, written = _read_line(path, number, line)
            place = counts.get(prompt, 0) if sample is None else sample
            counts[prompt] = place + 1
            found[prompt, place] = written
    except OSError as error:
        raise FairlabError(f"{path} cannot be read ({error}); give a .jsonl file of written texts") from error
    if not found:
        raise FairlabError(f"{path} contains no text; give a file with a prompt and a text on each line")
    return found


def _read_line(path: Path, number: int, line: str) -> tuple[str, int | None, Written]:
    try:
        row = from_json(line)
        prompt, text = row["prompt"], row["text"]
        sample, ended, tokens = row.get("sample"), row.get("ended", END), row.get("tokens", 0)
        counts = (0 if sample is None else sample, tokens)
        numbers = all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in counts)
        if not (isinstance(prompt, str) and isinstance(text, str) and ended in ENDINGS and numbers):
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FairlabError(
            f'{path}, line {number} is not like {{"prompt": ..., "text": ..., "sample": 0}}; fix or remove it'
        ) from error
    return prompt, sample, Written(text, ended, tokens)


class StoredWriter:
    """Writer that looks up stored texts by prompt and sample number.

    Sampling settings have no effect.

    Args:
        path: File of texts, or folder of such files (``generations/PHASE`` of a run).

    Raises:
        FairlabError: A file cannot be read, or the folder has no such file.
    """

    def __init__(self, path: Path) -> None:
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not files:
            raise FairlabError(f"{path} holds no .jsonl file of written texts; give a folder that holds one")
        self.path = path
        self.texts = {key: text for file in files for key, text in read_texts(file).items()}

    def write(
        self,
        prompts: Sequence[TextPrompt],
        sampling: Sampling,
        *,
        done: Callable[[int, Written], None] | None = None,
        progress: str = "",
    ) -> list[Written]:
        """Return the stored text for each prompt.

        Raises:
            CannotScore: A prompt has no stored text.
        """
        del sampling, progress
        missing = [one for one in prompts if (one.text, one.sample) not in self.texts]
        if missing:
            first = missing[0]
            shown = first.text if len(first.text) <= SHOWN else f"{first.text[:SHOWN]}..."
            raise CannotScore(
                f"{self.path} lacks {len(missing)} of {len(prompts)} texts, the first after '{shown}' (sample "
                f"{first.sample}); generate them too, or lower limit"
            )
        found = [self.texts[one.text, one.sample] for one in prompts]
        for place, text in enumerate(found):
            if done is not None:
                done(place, text)
        return found


def load_stored(path: str) -> ModelObject:
    """Return a model that consists of stored texts, from a file or folder, and is measured only by these texts."""
    found = ModelObject(path)
    found.writer = StoredWriter(Path(path))
    return found
