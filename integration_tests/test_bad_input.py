"""What is no good is refused with a clear message, by the command line and by a server that goes on living."""

import os

import numpy as np
import pytest
import torch
import torch.nn as nn
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from integration_tests.bad_archives import bad_archives
from integration_tests.command_line import hearth, run_cases

NAMES = [
    "empty", "text", "cut in half", "cut near its end", "flipped weights", "flipped pickle",
    "flipped source", "flipped constants", "no data.pkl", "no weights", "short weights", "version 99", "a command", "a pickle of garbage", "a syntax error",
    "an unknown operator", "an unknown name", "a zip bomb", "a torch.save file",
]  # fmt: skip


@pytest.fixture(scope="session")
def archives(tmp_path_factory):
    """name -> (file, words that the error must have)"""
    folder = tmp_path_factory.mktemp("bad_archives")
    made = {}
    for name, (data, words) in bad_archives().items():
        path = folder / f"{name}.pt"
        path.write_bytes(data)
        made[name] = (path, words)
    assert list(made) == NAMES
    return made


@pytest.mark.parametrize("name", NAMES)
def test_the_command_line_refuses_a_bad_archive_with_one_clear_line(archives, name, tmp_path):
    path, words = archives[name]
    torch.save((torch.ones(1, 4),), tmp_path / "in.pt")
    done = hearth("run", path, "--inputs", tmp_path / "in.pt")
    assert done.returncode == 2, done
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert str(path) in done.stderr
    for word in words:
        assert word in done.stderr
    assert not os.path.exists("/tmp/hearth-was-here")


def test_bad_archives_never_end_a_batch(archives, tmp_path):
    torch.save((torch.ones(1, 4),), tmp_path / "in.pt")
    lines = run_cases([(path, tmp_path / "in.pt", "-") for path, _ in archives.values()])
    assert len(lines) == len(archives), lines
    assert [line for line in lines if not line.startswith("bad ")] == []


# Through a server. Requests that are no good are test_wrong_requests.py's.


class Fine(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


@pytest.fixture(scope="module")
def server(archives, hearthd):
    models = {f"bad {name}": path for name, (path, _) in archives.items()}
    models["fine"] = torch.jit.script(Fine())
    return hearthd(models, "--exit-on-error=false")


def ask_fine(client):
    tensor = triton.InferInput("x", [2], "FP32").set_data_from_numpy(np.array([1, 2], dtype=np.float32))
    return client.infer("fine", [tensor]).as_numpy("OUTPUT__0").tolist()


@pytest.mark.parametrize("name", NAMES)
def test_a_server_says_why_a_bad_archive_does_not_serve_and_lives_on(archives, server, name):
    words = archives[name][1]
    with server.client() as client:
        index = {model.name: model for model in client.get_model_repository_index().models}
        bad = index[f"bad {name}"]
        assert bad.state == "UNAVAILABLE"
        assert bad.reason
        for word in words:
            assert word in bad.reason
        with pytest.raises(InferenceServerException) as refused:
            client.load_model(f"bad {name}")
        for word in words:
            assert word in str(refused.value)
        assert not client.is_model_ready(f"bad {name}")
        assert ask_fine(client) == [2, 3]


def test_a_syntax_error_is_shown_with_file_line_and_caret(archives, server):
    with server.client() as client, pytest.raises(InferenceServerException) as refused:
        client.load_model("bad a syntax error")
    message = str(refused.value)
    assert "line 11 is still open" in message  # where the parenthesis was never closed
    assert 'File "code/__torch__/integration_tests/bad_archives.py", line 12' in message
    assert "~ <--- HERE" in message
