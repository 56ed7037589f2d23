"""A file of torch.save is refused before torch reads it, if it declares more than it stores."""

import contextlib
import io
import pickle
import resource
import zipfile

import pytest
import torch

from fairlab.checks.tensor_archive import check_tensor_archive, described_names
from fairlab.types import FairlabError


def saved(file, content, **options):
    torch.save(content, file, **options)
    return file


def rewritten(file, change, compression=zipfile.ZIP_STORED):
    """The archive with its members changed."""
    with zipfile.ZipFile(file) as held:
        members = {name: held.read(name) for name in held.namelist()}
    change(members)
    with zipfile.ZipFile(file, "w", compression) as new:
        for name, content in members.items():
            new.writestr(name, content)
    return file


def description(content):
    """What puts another description into an archive."""

    def change(members):
        members[next(name for name in members if name.endswith("/data.pkl"))] = content

    return change


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.bool, torch.uint8])
def test_what_torch_saves_passes_and_is_read_as_before(tmp_path, dtype):
    network = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(network.parameters())
    network(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    content = {"state_dict": network.state_dict(), "optimizer": optimizer.state_dict(), "rows": [{"step": 1.5}]}
    content |= {"view": torch.zeros(4, 5).to(dtype)[1:3, ::2].T, "none": torch.zeros(0, 7), "one": torch.tensor(3)}
    check_tensor_archive(saved(tmp_path / "x.ckpt", content))


HUGE = 10**15
WRONG = {
    "sparse": lambda: torch.sparse_coo_tensor(torch.zeros(2, 1, dtype=torch.long), torch.ones(1), (HUGE, 100)),
    "sparse rows": lambda: torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, HUGE)),
    "one number repeated": lambda: torch.zeros(1).expand(HUGE),
    "without storage": lambda: torch.empty(HUGE, device="meta"),
    "quantised": lambda: torch.quantize_per_tensor(torch.zeros(2), 1.0, 0, torch.qint8),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", WRONG.values(), ids=WRONG)
def test_a_tensor_that_is_larger_than_its_bytes_is_refused(tmp_path, make):
    file = saved(tmp_path / "x.ckpt", {"state_dict": {"weight": make()}})
    assert file.stat().st_size < 10_000
    with pytest.raises(FairlabError, match=r"x\.ckpt .*(dense tensors|declares a tensor of 1000000000000000 numbers)"):
        check_tensor_archive(file)


def test_an_archive_that_unpacks_to_more_is_refused(tmp_path):
    file = rewritten(saved(tmp_path / "x.ckpt", torch.zeros(1_000_000)), lambda _: None, zipfile.ZIP_DEFLATED)
    assert file.stat().st_size < 100_000
    with pytest.raises(FairlabError, match="unpacks to 4,0"):
        check_tensor_archive(file)


class Evil:
    def __reduce__(self):
        return open, ("mark", "w")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80\x02.",
        b"(" * 1_000_000,
        pickle.dumps(Evil()),
        b"\x80\x02Nr\xff\xff\xff\x7f.",  # a place in the memo that an array would have to reach
        b"\x80\x02\x8a\xff.",
        b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",
        b"\x80\x02X\x01\x00\x00\x00aQ.",
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R.",
    ],
)
def test_a_description_that_is_none_runs_nothing_and_takes_no_memory(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    file = rewritten(saved(tmp_path / "x.ckpt", {"a": 1}), description(content))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with contextlib.suppress(FairlabError):  # of the cases, torch itself refuses the one that is well-formed
        check_tensor_archive(file)
    assert not (tmp_path / "mark").exists()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB


def test_what_is_no_archive_is_one_sentence(tmp_path):
    for content in (b"", b"x", older({"a": torch.zeros(2)})[:60]):
        (tmp_path / "x.ckpt").write_bytes(content)
        with pytest.raises(FairlabError, match=r"x\.ckpt is not an archive of torch\.save"):
            check_tensor_archive(tmp_path / "x.ckpt")


def older(content):
    """The bytes of a file as torch wrote it before 1.6."""
    written = io.BytesIO()
    torch.save(content, written, _use_new_zipfile_serialization=False)
    return written.getvalue()


def test_the_form_before_archives_passes_and_names_its_tensors(tmp_path):
    network = torch.nn.Linear(3, 2)
    file = tmp_path / "x.bin"
    file.write_bytes(older({**network.state_dict(), "view": network.weight[:, 1], "tied": network.weight}))
    assert described_names(file) == ["weight", "bias", "view", "tied"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", WRONG.values(), ids=WRONG)
def test_the_form_before_archives_declares_no_more_than_it_stores(tmp_path, make):
    file = tmp_path / "x.bin"
    file.write_bytes(older({"weight": make()}))
    with pytest.raises(FairlabError, match=r"x\.bin .*(dense tensors|declares a tensor of 1000000000000000 numbers)"):
        check_tensor_archive(file)


def test_the_form_before_archives_does_not_declare_arrays_beyond_its_end(tmp_path):
    file = tmp_path / "x.bin"
    content = older({"weight": torch.zeros(255)})
    count = b"K\xff"  # of the numbers, as it was pickled; then as four bytes
    assert content.count(count) == 2  # of the array, and of the tensor
    file.write_bytes(content.replace(count, b"J\x00\x00\x00\x10", 1))
    with pytest.raises(FairlabError, match="declares arrays of 1,073,741,824 bytes, more than its own size"):
        check_tensor_archive(file)


def test_the_form_before_archives_runs_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.bin").write_bytes(older({"weight": Evil()}))
    check_tensor_archive(tmp_path / "x.bin")  # torch itself refuses it
    assert not (tmp_path / "mark").exists()
