"""An archive whose code calls operators that nobody registered is refused when it is loaded, and all of them are named:
one look tells which libraries are missing."""

import subprocess

import grpc
import pytest
import torch
import torch.nn as nn

from integration_tests.command_line import hearth
from integration_tests.daemon import binary, put_model
from integration_tests.serving import fails, floats

NAMES = ["absent::first", "absent::second", "elsewhere::third"]


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    for name in NAMES:
        torch.library.define(name, "(Tensor x) -> Tensor")

    class Inner(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.ops.absent.second(torch.ops.absent.first(x))

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x)

        @torch.jit.export
        def other(self, x: torch.Tensor) -> torch.Tensor:
            return torch.ops.elsewhere.third(torch.ops.absent.first(x))

    path = tmp_path_factory.mktemp("unknown_operators") / "model.pt"
    torch.jit.save(torch.jit.script(Outer()), str(path))
    return path


def assert_names_them_all(message):
    for name in NAMES:
        assert message.count(f"{name}  (first used at code/__torch__/") == 1, message
    assert "Operators named absent:: come from a library" in message


@pytest.mark.parametrize("command", ["check", "inspect", "run"])
def test_the_command_line_names_them_all(archive, tmp_path, command):
    torch.save((torch.ones(2),), tmp_path / "in.pt")
    arguments = ["--inputs", tmp_path / "in.pt"] if command == "run" else []
    done = hearth(command, archive, *arguments)
    assert done.returncode != 0
    assert_names_them_all(done.stderr)


def test_a_check_of_the_repository_names_them_all(archive, tmp_path):
    put_model(tmp_path, "lacking", archive)
    command = [binary(), "--check", "--model-repository", tmp_path]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert_names_them_all(done.stdout)


def test_the_server_names_them_all_when_asked_to_load_it_and_in_its_index(hearthd, archive):
    with hearthd({"lacking": archive}, "--exit-on-error=false").client() as client:
        assert_names_them_all(fails(grpc.StatusCode.UNIMPLEMENTED, lambda: client.load_model("lacking")))
        (entry,) = client.get_model_repository_index().models
        assert entry.state == "UNAVAILABLE"
        assert_names_them_all(entry.reason)
        fails(grpc.StatusCode.UNAVAILABLE, lambda: client.infer("lacking", [floats("x", 1)]))
