"""The requests that the pages show, run as they are written there."""

import json
import re
import struct
import subprocess

import pytest
import torch

from integration_tests import ROOT

FLOATS = [0.5, -2.0]


class Two(torch.nn.Module):
    def forward(self, a, b):
        return a + b, a - b


class Same(torch.nn.Module):
    def forward(self, x):
        return x


ONE = """
input [{ name: "x" data_type: TYPE_FP32 dims: [ -1 ] }]
output [{ name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ -1 ] }]
"""


def blocks(page):
    """What the page has indented by four columns, piece by piece."""
    text = (ROOT / page).read_text()
    found = re.findall(r"(?:^    .*\n)+", text, re.MULTILINE)
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in found]


@pytest.fixture(scope="module")
def server(hearthd):
    same = torch.jit.script(Same())
    return hearthd({"two": torch.jit.script(Two()), "identity": same, "one": (same, ONE)}, "--model-control-mode", "explicit", "--load-model", "*")


@pytest.fixture
def shell(server, tmp_path):
    """Runs a block with curl, in a folder that has what it names; gives what it printed."""
    (tmp_path / "two_floats.bin").write_bytes(struct.pack("<2f", *FLOATS))

    def run(block):
        assert "localhost:8000" in block
        script = block.replace("localhost:8000", f"127.0.0.1:{server.ready['http_port']}").replace("curl ", "curl -sS --fail-with-body ")
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def one_block(page, words):
    found = [block for block in blocks(page) if words in block]
    assert len(found) == 1, found
    return found[0]


def test_a_repository_is_looked_at(shell):
    block = one_block("docs/rest.md", "repository/index")
    assert block.count("curl ") == 4
    printed = shell(block)
    assert '"platform":"pytorch_libtorch"' in printed and '"state":"READY"' in printed


def test_an_inference_in_json_gives_the_answer_that_is_shown(shell):
    shown = [block for block in blocks("docs/rest.md") if block.startswith("{")]
    assert len(shown) == 1
    assert json.loads(shell(one_block("docs/rest.md", "models/two/infer"))) == json.loads(shown[0])


@pytest.mark.parametrize("model", ["identity", "one"])
def test_contents_in_binary_form_come_back(shell, tmp_path, model):
    head = shell(one_block("docs/rest.md", f"models/{model}/infer"))
    size = int(re.search(r"(?im)^inference-header-content-length: (\d+)", head)[1])
    answer = (tmp_path / "answer.bin").read_bytes()
    assert json.loads(answer[:size])["outputs"][0]["shape"] == [2]
    assert struct.unpack("<2f", answer[size:]) == tuple(FLOATS)
