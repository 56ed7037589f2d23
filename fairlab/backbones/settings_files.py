"""Files next to a model's weights that affect its computations."""

from __future__ import annotations

from pathlib import Path

from fairlab.files import sha256

DECIDING = {".json", ".txt", ".model", ".jinja"}  # configuration, tokenizer, modules, vocabularies, templates
MODULES = "[0-9]*_*"  # folders of sentence-transformers' modules


def settings_sha256(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of configuration, tokenizer and module files, by file name in the model's folder."""
    places = [*folder.glob("*"), *folder.glob(f"{MODULES}/*")]
    files = sorted(place for place in places if place.suffix in DECIDING and place.is_file())
    return {str(file.relative_to(folder)): sha256(file) for file in files}
