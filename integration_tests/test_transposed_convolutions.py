"""Transposed convolutions in plans, which make them of others (jit/passes/spread_convolutions): every kind of step."""

import itertools

import pytest
import torch
from torch import nn

from integration_tests import values
from integration_tests.command_line import run_cases

KINDS = [(kernel, stride, padding, output_padding)
         for kernel, stride, padding, output_padding in itertools.product((1, 2, 3, 4, 5, 7), (1, 2, 3), (0, 1, 2), (0, 1))
         if output_padding < stride and 3 * stride - 2 * padding + kernel - stride + output_padding > 0]  # fmt: skip


class Stack(nn.Module):
    """A convolution, two transposed ones with a norm and an activation between, and what depends on the result."""

    def __init__(self, of_images, kernel, stride, padding, output_padding):
        super().__init__()
        kind, norm, plain = ((nn.ConvTranspose2d, nn.BatchNorm2d, nn.Conv2d) if of_images else
                             (nn.ConvTranspose1d, nn.BatchNorm1d, nn.Conv1d))  # fmt: skip
        self.before = plain(5, 6, 1)
        self.first = kind(6, 7, kernel, stride, padding, output_padding, bias=stride != 2)
        self.norm = norm(7)
        self.second = kind(7, 3, kernel, stride, padding, output_padding)

    def forward(self, x):
        y = torch.relu(self.norm(self.first(self.before(x))))
        z = self.second(y)
        return z, y.sum(), z.flatten(1)


@pytest.mark.parametrize("tier", ["1", "2"])
@pytest.mark.parametrize("of_images", [True, False])
def test_answers_are_those_of_the_model(tmp_path, of_images, tier):
    torch.manual_seed(0)
    cases, expected = [], []
    for i, kind in enumerate(KINDS):
        model = Stack(of_images, *kind).eval()
        for parameter in model.parameters():
            nn.init.normal_(parameter)
        x = torch.randn(2, 5, 3, 4) if of_images else torch.randn(2, 5, 4)
        if i % 3 == 1 and of_images:
            x = x.to(memory_format=torch.channels_last)
        try:
            with torch.no_grad():
                answer = model(x)
        except RuntimeError:  # a result without pixels, of which LibTorch's kernels raise, but not all
            continue
        if answer[0].numel() == 0:
            continue
        expected.append((kind, answer))
        torch.jit.trace(model, x, check_trace=False).save(tmp_path / f"{i}.pt")
        torch.save((x,), tmp_path / f"{i}.in")
        cases.append((tmp_path / f"{i}.pt", tmp_path / f"{i}.in", tmp_path / f"{i}.out"))
    assert len(cases) > 50
    lines = run_cases(cases, extra=["--tier", tier])
    assert all(line.endswith("ok") for line in lines), lines
    for (kind, answer), case in zip(expected, cases):
        found = torch.load(case[2], weights_only=True)
        assert values.difference(answer, found, tolerance="largest") is None, (kind, tier)
        assert [y.stride() for y in found] == [y.stride() for y in answer], (kind, tier)
