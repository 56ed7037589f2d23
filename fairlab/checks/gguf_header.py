"""Check that the counts and lengths declared in the header of a GGUF file fit into the file.

The package ``gguf`` trusts these numbers: with a declared list of 2**60 entries, for example, it would read beyond the
end of the file until the memory is full. Versions 2 and 3 of ggml's GGUF specification are supported.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

from fairlab.types import FairlabError

NUMBERS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))  # struct formats by type
INTEGERS = {kind for kind, written in NUMBERS.items() if written not in "f?d"}
TEXT, LIST = 8, 9  # types of values that are not numbers
MOST_VALUES = 4_000_000  # a vocabulary of 262,144 tokens with its merges takes 1.3 million
MOST_TENSORS, MOST_DIMENSIONS = 100_000, 8
LONGEST_NAME = (1 << 16) - 1  # in bytes, by the specification
WEIGHTS_PER_BYTE = 8  # no format stores a weight in less than one bit
FIRST = 8  # number of bytes of signature and version
LAYERS, SIZES = ".block_count", ("_length", "_count", "_size")  # suffixes of keys
MOST_POSITIONS = 1 << 24  # rotary positions have no weights, so their number is not limited by the file


class _Damaged(Exception):
    """Error for a declaration that does not fit into the file, with the second half of a sentence as its message."""


class _Header:
    """Cursor in a file's header, with the byte order ``<`` or ``>`` of :mod:`struct`."""

    def __init__(self, content: mmap.mmap, order: str) -> None:
        self.content, self.order = content, order
        self.place = FIRST
        self.values = 0

    def number(self, kind: str) -> int:
        """Read a number in a format of :mod:`struct`, such as ``I`` (four bytes) or ``Q`` (eight bytes)."""
        start = self.place
        self.skip(struct.calcsize(self.order + kind))
        return int(struct.unpack_from(self.order + kind, self.content, start)[0])

    def skip(self, count: int) -> None:
        """Move the cursor forward by a number of bytes.

        Raises:
            _Damaged: The file ends earlier.
        """
        if count > len(self.content) - self.place:
            raise _Damaged("declares more than the file contains")
        self.place += count

    def name(self) -> str:
        """Read the name of a value or a tensor."""
        length = self.number("Q")
        if length > LONGEST_NAME:
            raise _Damaged(f"declares a name of {length:,} bytes")
        self.skip(length)
        return self.content[self.place - length : self.place].decode("utf-8", errors="replace")

    def values_of(self, kind: int, count: int) -> None:
        """Skip a number of values of one type.

        Raises:
            _Damaged: The type is unknown, lists are nested, or there are too many values.
        """
        self.values += count
        if kind not in NUMBERS and kind != TEXT:
            raise _Damaged(f"has a value of the type {kind}, which is unknown here")
        if self.values > MOST_VALUES:
            raise _Damaged(f"declares more than {MOST_VALUES:,} values")
        if kind in NUMBERS:
            self.skip(count * struct.calcsize(self.order + NUMBERS[kind]))
            return
        for _ in range(count):
            self.skip(self.number("Q"))

    def tensor(self) -> int:
        """Skip the description of a tensor, and return the declared number of weights."""
        self.name()
        dimensions = self.number("I")
        if dimensions > MOST_DIMENSIONS:
            raise _Damaged(f"declares a tensor of {dimensions} dimensions")
        weights = 1
        for _ in range(dimensions):
            weights *= self.number("Q")
        self.skip(4 + 8)  # type and offset of the weights
        return weights


def check_header(file: Path) -> None:
    """Refuse a GGUF file whose header declares more than the file contains.

    Raises:
        FairlabError: A length or count exceeds the size of the file or the limits of this module.
    """
    try:
        if file.stat().st_size < FIRST:
            raise _Damaged("is cut off")
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            _walk(content)
    except _Damaged as error:
        raise FairlabError(f"{file} is damaged: its header {error}; replace it with a complete copy") from error


def _walk(content: mmap.mmap) -> None:
    """Read the whole header.

    Raises:
        _Damaged: The header declares more than the file can contain.
    """
    swapped = struct.unpack_from("<I", content, FIRST - 4)[0] & 0xFFFF == 0  # because versions are small numbers
    header = _Header(content, ">" if swapped else "<")
    tensors, keys = header.number("Q"), header.number("Q")
    if tensors > MOST_TENSORS or keys > MOST_VALUES:
        raise _Damaged(f"declares {tensors:,} tensors and {keys:,} values")
    for _ in range(keys):
        key, kind = header.name(), header.number("I")
        if kind == LIST:
            entries = header.number("I")
            header.values_of(entries, header.number("Q"))
        elif kind in INTEGERS and key.endswith(SIZES):
            most = tensors if key.endswith(LAYERS) else max(len(content), MOST_POSITIONS)
            if not 0 <= (size := header.number(NUMBERS[kind])) <= most:
                raise _Damaged(f"declares {key}={size}, which does not fit its {tensors} tensors")
        else:
            header.values_of(kind, 1)
    if sum(header.tensor() for _ in range(tensors)) > WEIGHTS_PER_BYTE * len(content):
        raise _Damaged("declares more weights than the file can contain")
