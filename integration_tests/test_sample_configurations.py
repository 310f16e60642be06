"""The files of config/ are what they say: each starts a daemon, or a model in one, that answers."""

import re
import subprocess

import numpy as np
import pytest
import torch
from torch import nn
from tritonclient.utils import InferenceServerException

from integration_tests import ROOT
from integration_tests.certificates import Authority, token_line
from integration_tests.daemon import Hearthd, binary
from integration_tests.serving import bad, tensor

CONFIG = ROOT / "config"


class Classifier(nn.Module):
    def forward(self, x):
        return x.mean([2, 3])


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 4)

    def forward(self, ids, mask):
        return self.embedding(ids) * mask.unsqueeze(2)


def keys(file):
    """The names of the settings that a file has, in its order."""
    return re.findall(r"^(\w+):", file.read_text(), flags=re.MULTILINE)


@pytest.fixture
def started():
    """Starts daemons with a file of config/; flags as given win over it, and both ports are free ones."""
    daemons = []

    def start(file, repository, *flags):
        daemons.append(Hearthd(repository, "--config", CONFIG / file, *flags))
        return daemons[-1]

    yield start
    assert [daemon.stop() for daemon in daemons] == [0] * len(daemons)


def test_no_file_is_without_a_test():
    files = sorted(str(path.relative_to(CONFIG)) for path in CONFIG.rglob("*") if path.is_file())
    assert files == ["full.pbtxt", "hardened.pbtxt", "models/image_classifier.pbtxt", "models/text_encoder.pbtxt", "small.pbtxt"]


def test_the_small_one_serves_the_demo(started):
    [repository] = re.findall(r'^model_repository: "(.*)"', (CONFIG / "small.pbtxt").read_text(), flags=re.MULTILINE)
    with started("small.pbtxt", ROOT / repository).client() as client:
        assert client.is_model_ready("digits") and client.is_model_ready("text")


def test_the_hardened_one_serves_who_has_a_token_over_tls(started, tmp_path):
    authority = Authority(tmp_path)
    certificate, key = authority.issue("server")
    tokens = tmp_path / "tokens"
    tokens.write_text(token_line("infer,read", "client", "secret"))
    flags = ["--grpc-server-cert", certificate, "--grpc-server-key", key, "--token-file", tokens]
    server = started("hardened.pbtxt", ROOT / "deploy/demo/models", *flags, "--access-log", tmp_path / "access.log")
    pixels = tensor("images", np.zeros((1, 8, 8), np.float32))
    with server.client(ssl=True, root_certificates=str(authority.certificate)) as client:
        assert client.is_model_ready("digits")
        with pytest.raises(InferenceServerException, match="a bearer token is needed"):
            client.infer("digits", [pixels])
        headers = {"authorization": "Bearer secret"}
        assert client.infer("digits", [pixels], headers=headers).as_numpy("OUTPUT__0").shape == (1, 10)
        with pytest.raises(InferenceServerException, match="does not have the role admin"):
            client.unload_model("digits", headers=headers)


def test_the_full_one_has_every_setting_and_serves(started, tmp_path):
    table = subprocess.run([binary(), "--print-settings"], capture_output=True, text=True, check=True).stdout
    documented = re.findall(r"^\| `--[^|]*?\| `(\w+)`", table.replace("\\|", " "), flags=re.MULTILINE)
    assert keys(CONFIG / "full.pbtxt") == documented
    log = tmp_path / "access.log"
    flags = ["--cache-dir", tmp_path / "cache", "--access-log", log, "--log-file", tmp_path / "hearth.log"]
    server = started("full.pbtxt", ROOT / "deploy/demo/models", *flags)
    with server.client() as client:
        pixels = tensor("images", np.zeros((1, 8, 8), np.float32))
        assert client.infer("digits", [pixels]).as_numpy("OUTPUT__0").shape == (1, 10)
    server.stop()  # writes what its log still holds
    assert "digits" in log.read_text()
    assert "digits version 1 is loaded" in (tmp_path / "hearth.log").read_text()


def test_a_classifier_of_pictures_is_warm_and_holds_requests_to_its_sizes(hearthd):
    config = (CONFIG / "models" / "image_classifier.pbtxt").read_text()
    server = hearthd({"pictures": (torch.jit.script(Classifier()), config)})
    with server.client() as client:
        pictures = np.random.default_rng(0).random((2, 3, 224, 224), np.float32)
        answer = client.infer("pictures", [tensor("INPUT__0", pictures)]).as_numpy("OUTPUT__0")
        np.testing.assert_allclose(answer, pictures.mean((2, 3)), rtol=1e-4)
        assert server.metric("hearth_plans", model="pictures", tier="1") >= 1
        bad(client, "pictures", tensor("INPUT__0", pictures[:, :, :100]))
        bad(client, "pictures", tensor("INPUT__0", np.zeros((33, 3, 224, 224), np.float32)))


def test_an_encoder_of_text_takes_any_length(hearthd):
    config = (CONFIG / "models" / "text_encoder.pbtxt").read_text()
    model = torch.jit.script(Encoder())
    server = hearthd({"text": (model, config)})
    with server.client() as client:
        for length in (1, 5, 9):
            ids, mask = np.arange(2 * length).reshape(2, length), np.ones((2, length), np.int64)
            answer = client.infer("text", [tensor("ids", ids), tensor("mask", mask)]).as_numpy("OUTPUT__0")
            expected = model(torch.from_numpy(ids), torch.from_numpy(mask)).detach().numpy()
            np.testing.assert_allclose(answer, expected, rtol=1e-5)
        bad(client, "text", tensor("ids", ids.astype(np.int32)), tensor("mask", mask))
