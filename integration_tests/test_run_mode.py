"""A request leaves nothing behind that another one's answer depends on: gradients that it switched on are off again for
the next, whatever thread runs it, and however the request ended."""

import grpc
import numpy as np
import pytest
import torch
import torch.nn as nn

from integration_tests.client import triton_inputs
from integration_tests.command_line import hearth
from integration_tests.serving import fails


class Looks(nn.Module):
    """Whether gradients were on at the start and after it has switched them as it was told; raises if told so."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, switch_to: bool, fail: bool) -> torch.Tensor:
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(switch_to)
        if fail:
            raise ValueError("as told")
        return torch.tensor([int(before), int((self.weight * 2).requires_grad)])


@pytest.fixture(scope="module")
def looks(tmp_path_factory):
    path = tmp_path_factory.mktemp("run_mode") / "looks.pt"
    torch.jit.save(torch.jit.script(Looks()), str(path))
    return path


def test_a_request_does_not_leak_its_gradient_mode_into_the_next(hearthd, looks):
    # One thread: whatever a run leaves on it the next one meets.
    with hearthd({"looks": looks}, "--threads", "1").client() as client:

        def ask(switch_to, fail=False):
            inputs = triton_inputs(["switch_to", "fail"], [switch_to, fail])
            return client.infer("looks", inputs).as_numpy("OUTPUT__0").tolist()

        assert ask(True) == [0, 1]
        assert ask(False) == [0, 0]
        assert "as told" in fails(grpc.StatusCode.INTERNAL, lambda: ask(True, True))
        assert ask(False) == [0, 0]
        assert ask(True) == [0, 1]


def test_repeated_calls_of_the_command_line_do_not_either(looks, tmp_path):
    torch.save((True, False), tmp_path / "in.pt")
    done = hearth("run", looks, "--inputs", tmp_path / "in.pt", "--repeat", 3, "--output", tmp_path / "out.pt")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(torch.load(tmp_path / "out.pt"), [0, 1])
