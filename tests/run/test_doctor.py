"""What ``fairlab doctor`` says of an installation."""

from importlib.metadata import PackageNotFoundError

import pytest
import torch

from fairlab.data.published.download import FILES
from fairlab.run import doctor


def test_an_extra_names_what_it_lacks_and_how_to_get_it():
    found = doctor.extras(
        [
            "torch>=2",
            'no-such-package>=3; extra == "a"',
            'torch>=999; extra == "a"',
            'torch; extra == "b"',
            'no-such-package; sys_platform == "nowhere" and extra == "b"',
            'fairlab[a]; extra == "c"',
        ]
    )
    assert found == ["a: missing no-such-package>=3, torch>=999; pip install 'fairlab[a]'", "b: installed"]


def test_a_checkout_that_is_not_installed_says_so(monkeypatch):
    def absent(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "requires", absent)
    (said,) = doctor.extras(doctor.declared())
    assert said.endswith("pip install -e .")


def test_data_in_the_folder_and_in_the_cache_is_counted(monkeypatch, tmp_path):
    first, second, *others = FILES
    (tmp_path / "data" / first).parent.mkdir(parents=True)
    (tmp_path / "data" / first).touch()
    (tmp_path / "fairlab").mkdir()
    (tmp_path / "fairlab" / second.replace("/", "_")).touch()
    monkeypatch.setenv("FAIRLAB_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder, cache, rest = doctor.benchmark_data()
    assert folder == f"FAIRLAB_DATA={tmp_path / 'data'}: 1 of {len(FILES)} published files"
    assert cache == f"{tmp_path / 'fairlab'}: 1 downloaded"
    assert rest.startswith(f"{len(others)} are downloaded and checked")
    monkeypatch.delenv("FAIRLAB_DATA")
    assert doctor.benchmark_data()[0].startswith("FAIRLAB_DATA is not set")


def test_models_of_both_caches_are_named(monkeypatch, tmp_path):
    (tmp_path / "org--name--2").mkdir()
    (tmp_path / "org--name--2" / "manifest.json").touch()
    (tmp_path / "hub" / "models--google--bert").mkdir(parents=True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    _, kept, hub = doctor.models(tmp_path)
    assert kept == f"{tmp_path}: org/name--2"
    assert hub == f"{tmp_path / 'hub'}: google/bert"


def test_a_gpu_is_named_with_its_memory(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    facts = type("Facts", (), {"name": "Card", "total_memory": 80 * 2**30})
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: facts)
    assert doctor.devices_here()[1] == "GPU 0: Card, 80 GiB; use it with trainer=gpu"
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert doctor.devices_here()[1].startswith("no GPU")


@pytest.mark.parametrize("amx", [True, False])
def test_a_processor_that_multiplies_bfloat16_is_told_the_setting(monkeypatch, amx):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": amx}, raising=False)
    assert ("training=mixed" in doctor.devices_here()[0]) == amx


def test_free_space_is_in_gibibytes(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 3 * 2**30}))
    assert doctor.disk(tmp_path)[0].startswith("3 GiB free in ")


def test_everything_is_examined_without_an_error():
    found = doctor.examine()
    assert all(found.values())
    assert doctor.as_text({"topic": ["one", "two"]}) == "topic\n  one\n  two"
