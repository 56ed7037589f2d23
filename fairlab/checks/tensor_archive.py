"""Check of an untrusted ``torch.save`` file before torch reads it.

Torch reads such a file with ``weights_only=True``, so it runs none of the file's code. However, torch builds tensors of
any declared size: sparse tensors, tensors that repeat one stored number, and tensors without storage. The check reads
the description of the tensors with substitutes for all classes, and compares the size of every tensor with the number
of bytes stored for it.

Before torch 1.6, such a file was not a ZIP archive. It contained a series of pickles (a magic number, a version, facts
about the machine, the description of the tensors and the keys of the arrays), followed by the arrays. Many published
models still have this format.
"""

from __future__ import annotations

import io
import math
import pickle
import zipfile
from pathlib import Path
from typing import IO, Any

from fairlab.types import FairlabError

MOST_DESCRIPTION = 64 << 20  # maximum size in bytes of the description of the tensors
DESCRIPTION = "data.pkl"
BEFORE_DESCRIPTION = 3  # pickles in the old format before the description: magic number, version, machine
MARK = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # first bytes of a file in the old format
BUILDERS = {"_rebuild_tensor_v2", "_rebuild_parameter"}  # functions that build dense tensors from stored numbers
BYTES = {  # bytes per element, by type of storage
    **dict.fromkeys(("UntypedStorage", "ByteStorage", "CharStorage", "BoolStorage"), 1),
    **dict.fromkeys(("HalfStorage", "BFloat16Storage", "ShortStorage"), 2),
    **dict.fromkeys(("FloatStorage", "IntStorage"), 4),
    **dict.fromkeys(("DoubleStorage", "LongStorage", "ComplexFloatStorage"), 8),
    "ComplexDoubleStorage": 16,
}


def check_tensor_archive(file: Path) -> None:
    """Refuse a ``torch.save`` file that declares more than it stores.

    Raises:
        FairlabError: The file was not written by ``torch.save``, is compressed, or contains a tensor that is sparse or
            has more numbers than are stored for it.
    """
    described_names(file)


def described_names(file: Path) -> list[str]:
    """Check a ``torch.save`` file, and return the keys of its outermost dictionary.

    Raises:
        FairlabError: As for :func:`check_tensor_archive`.
    """
    try:
        with file.open("rb") as opened:
            found = _read_older(opened, file) if opened.read(len(MARK)) == MARK else _read_archive(file)
        return [key for key in found if isinstance(key, str)] if isinstance(found, dict) else []
    except FairlabError:
        raise
    except Exception as error:  # a damaged description can raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise FairlabError(
            f"{file} is not an archive of torch.save ({reason}); replace it with a complete copy"
        ) from error


def _read_archive(file: Path) -> Any:
    """Return the object stored in a ZIP archive, with a substitute for every tensor."""
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        stored = sum(member.file_size for member in members)
        if stored > file.stat().st_size:
            raise FairlabError(
                f"{file} unpacks to {stored:,} bytes, more than its own size; save it again with torch.save"
            )
        described = next(member for member in members if member.filename.endswith(f"/{DESCRIPTION}"))
        if described.file_size > MOST_DESCRIPTION:
            raise FairlabError(f"{file} describes its tensors in more than {MOST_DESCRIPTION >> 20} MiB; do not use it")
        root = described.filename.removesuffix(DESCRIPTION)
        sizes = {member.filename.removeprefix(f"{root}data/"): member.file_size for member in members}
        return _Described(io.BytesIO(archive.read(described)), sizes, file).load()


def _read_older(opened: IO[bytes], file: Path) -> Any:
    """Return the object stored in a file of the old format, with a substitute for every tensor."""
    opened.seek(0)
    for _ in range(BEFORE_DESCRIPTION):
        _Described(opened, {}, file).load()
    described = _DeclaredSizes(opened, {}, file)
    found = described.load()
    if (declared := sum(described.sizes.values())) > file.stat().st_size:
        raise FairlabError(
            f"{file} declares arrays of {declared:,} bytes, more than its own size; save it again with torch.save"
        )
    return found


class _Substitute(dict[Any, Any]):
    """Substitute for an object of any class, which accepts all calls of the unpickler and does nothing."""

    def __new__(cls, *_: Any, **__: Any) -> _Substitute:
        return super().__new__(cls)

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def __hash__(self) -> int:  # type: ignore[override]  # it may be a key
        return id(self)

    def __setstate__(self, _: Any) -> None:
        pass

    def append(self, _: Any) -> None:
        pass

    def extend(self, _: Any) -> None:
        pass

    add = append


class _Described(pickle._Unpickler):  # in Python, so that no opcode allocates memory that the file only declares
    """Unpickler that builds no tensor and imports nothing.

    Args:
        content: File opened at the start of the pickle.
        sizes: Size in bytes of each stored array, by key.
        file: File to name in error messages.
    """

    def __init__(self, content: IO[bytes], sizes: dict[str, int], file: Path) -> None:
        super().__init__(content)
        self.sizes, self.file = sizes, file

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] == "torch" and name.startswith("_rebuild"):
            if name not in BUILDERS:
                raise FairlabError(
                    f"{self.file} contains a tensor built by {module}.{name}; save it again with dense tensors"
                )
            return self._tensor if name == "_rebuild_tensor_v2" else _Substitute
        return type(name, (_Substitute,), {})

    def persistent_load(self, pid: Any) -> Any:
        """Return the key of a stored array and the number of bytes per element."""
        _, kind, key, *_ = pid
        return key, BYTES[kind.__name__]

    def _tensor(self, storage: tuple[str, int], _: int, size: tuple[int, ...], *__: Any) -> _Substitute:
        key, width = storage
        if math.prod(size) * width > self.sizes[key]:
            raise FairlabError(
                f"{self.file} declares a tensor of {' x '.join(map(str, size))} numbers but stores "
                f"{self.sizes[key]:,} bytes for it; save it again with torch.save"
            )
        return _Substitute()


class _DeclaredSizes(_Described):
    """Unpickler for the old format, in which the pickle itself declares the sizes of the arrays."""

    def persistent_load(self, pid: Any) -> Any:
        """Return the key of an array and the number of bytes per element, and add the declared size to ``sizes``."""
        what, kind, key, _, count, *view = pid
        if what != "storage" or (view and view[0] is not None) or not isinstance(count, int) or count < 0:
            raise FairlabError(f"{self.file} shares its arrays, which is not supported; save it again with torch.save")
        width = BYTES[kind.__name__]
        self.sizes[key] = max(self.sizes.get(key, 0), count * width)
        return key, width
