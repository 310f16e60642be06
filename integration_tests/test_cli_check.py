"""hearth check: what an archive offers, and in what it differs from another one, on disk or served."""

import pytest
import torch
from torch import Tensor, nn

from integration_tests.command_line import hearth


class Before(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x

    @torch.jit.export
    def gone(self, x: Tensor) -> int:
        return x.size(0)


class After(nn.Module):
    def forward(self, x: Tensor, times: int = 2) -> Tensor:
        return x * times

    @torch.jit.export
    def new(self) -> str:
        return "new"


DIFFERENCES = [
    "method 'forward' was (Tensor x) -> Tensor, is (Tensor x, int times=...) -> Tensor",
    "method 'gone' is gone",
    "method 'new' is new: () -> str",
]


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    folder = tmp_path_factory.mktemp("check")
    made = {}
    for module in (Before, After):
        made[module] = folder / f"{module.__name__}.pt"
        torch.jit.save(torch.jit.script(module()), str(made[module]))
    return made


def test_the_methods_of_an_archive_are_told(archives):
    done = hearth("check", archives[After])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "forward(Tensor x, int times=...) -> Tensor",
        "new() -> str",
        "batches of forward: rows are independent",
    ]


def test_differences_from_another_archive_are_told(archives):
    done = hearth("check", archives[After], "--against", archives[Before])
    assert (done.returncode, done.stdout.splitlines()) == (1, DIFFERENCES)
    same = hearth("check", archives[After], "--against", archives[After])
    assert (same.returncode, same.stdout, same.stderr) == (0, "", "")


def test_differences_from_what_is_served_are_told(archives, hearthd):
    server = hearthd({"m": archives[Before]})
    done = hearth("check", archives[After], "--against", server.address, "m")
    assert (done.returncode, done.stdout.splitlines()) == (1, DIFFERENCES)
    same = hearth("check", archives[Before], "--against", server.address, "m", "--model-version", "1")
    assert (same.returncode, same.stdout) == (0, "")
    unknown = hearth("check", archives[Before], "--against", server.address, "n")
    assert unknown.returncode == 2 and "unknown model 'n'" in unknown.stderr


def test_what_cannot_be_served_is_no_good(archives, tmp_path):
    (tmp_path / "broken.pt").write_bytes(b"no archive")
    broken = hearth("check", tmp_path / "broken.pt")
    assert broken.returncode == 2 and broken.stderr.startswith("hearth check: ")
    source = tmp_path / "two.py"
    source.write_text("def one(x: int) -> int:\n    return x\n\n\ndef two(x: int) -> int:\n    return x\n")
    without = hearth("check", source)
    assert without.returncode == 2 and "has no method 'forward'" in without.stderr
