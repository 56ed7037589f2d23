"""Headers of GGUF files, written byte by byte: what declares more than the file holds is refused."""

import struct

import numpy as np
import pytest

from fairlab.checks.gguf_header import check_header
from fairlab.types import FairlabError

UINT32, TEXT, LIST, UINT64 = 4, 8, 9, 10


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def header(*values: bytes, tensors: tuple[bytes, ...] = (), order: str = "<", more: bytes = b"") -> bytes:
    counts = struct.pack(f"{order}IQQ", 3, len(tensors), len(values))
    return b"GGUF" + counts + b"".join(values) + b"".join(tensors) + more


def value(key: str, kind: int, content: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + content


def tensor(name: str, *sizes: int) -> bytes:
    return text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, 0, 0)


def listed(kind: int, count: int) -> bytes:
    return value("tokens", LIST, struct.pack("<IQ", kind, count))


BLOCKS = value("llama.block_count", UINT32, struct.pack("<I", 2))
NAME = value("general.name", TEXT, text("tiny"))


@pytest.mark.parametrize(
    "content",
    [
        header(),
        header(NAME, listed(UINT32, 0)),
        header(value("tokens", LIST, struct.pack("<IQ", TEXT, 2) + text("a") + text(""))),
        header(BLOCKS, tensors=(tensor("a", 2, 3), tensor("b", 4)), more=bytes(40)),
        header(value("x.context_length", UINT64, struct.pack("<Q", 10_485_760))),  # positions need no weights
        header(order=">"),
    ],
)
def test_a_header_that_fits_its_file(tmp_path, content):
    (tmp_path / "x.gguf").write_bytes(content)
    check_header(tmp_path / "x.gguf")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"GGUF", "is cut off"),
        (header()[:-1], "declares more than the file contains"),
        (header(NAME[:-1]), "declares more than the file contains"),
        (header(listed(UINT32, 1)), "declares more than the file contains"),
        (header(listed(UINT32, 1 << 60)), "declares more than 4,000,000 values"),
        (header(listed(TEXT, 3_000_000)), "declares more than the file contains"),
        (header(listed(LIST, 1)), "has a value of the type 9, which is unknown here"),
        (header(value("x", 77, b"")), "has a value of the type 77"),
        (header(struct.pack("<Q", 1 << 40)), "declares a name of 1,099,511,627,776 bytes"),
        (header(BLOCKS), "declares llama.block_count=2, which does not fit its 0 tensors"),
        (header(value("x.vocab_size", UINT32, b"\xff" * 4)), "declares x.vocab_size=4294967295"),
        (header(tensors=(tensor("a", 1 << 40, 1 << 40),)), "declares more weights than the file can contain"),
        (header(tensors=(tensor("a", *[1] * 9),)), "declares a tensor of 9 dimensions"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 50, 0), "declares 1,125,899,906,842,624 tensors"),
    ],
)
def test_a_header_that_declares_too_much(tmp_path, content, said):
    (tmp_path / "x.gguf").write_bytes(content)
    with pytest.raises(FairlabError, match=rf"x\.gguf is damaged: its header {said}.*; replace it") as error:
        check_header(tmp_path / "x.gguf")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("order", ["LITTLE", "BIG"])
def test_headers_of_the_gguf_package_are_read_to_their_end(tmp_path, order):
    gguf = pytest.importorskip("gguf")
    file = tmp_path / "x.gguf"
    writer = gguf.GGUFWriter(str(file), "llama", False, gguf.GGUFEndian[order])
    writer.add_block_count(1)
    writer.add_token_list(["a", "b"])
    writer.add_bool("flag", True)
    writer.add_float64("wide", 0.5)
    writer.add_tensor("token_embd.weight", np.ones((2, 4), dtype=np.float32))
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
        getattr(writer, step)()
    check_header(file)
    content = file.read_bytes()
    for cut in range(8, content.index(b"token_embd.weight"), 7):
        file.write_bytes(content[:cut])
        with pytest.raises(FairlabError, match="declares more than the file contains"):
            check_header(file)
