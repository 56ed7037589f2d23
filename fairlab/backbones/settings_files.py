"""Files beside a model's weights that decide what it computes."""

from __future__ import annotations

from pathlib import Path

from fairlab.files import sha256

DECIDING = {".json", ".txt", ".model", ".jinja"}  # configuration, tokenizer, modules, vocabularies, templates
MODULES = "[0-9]*_*"  # folders of sentence-transformers' modules


def settings_sha256(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of configuration, tokenizer and modules by the name of the file in the model's folder.

    Args:
        folder: folder of the model; its weights are not among the files.
    """
    places = [*folder.glob("*"), *folder.glob(f"{MODULES}/*")]
    files = sorted(place for place in places if place.suffix in DECIDING and place.is_file())
    return {str(file.relative_to(folder)): sha256(file) for file in files}
