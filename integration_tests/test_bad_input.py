"""What is no good is refused with a clear message, by the command line and by a server that goes on living."""

import os

import pytest
import torch
from bad_archives import bad_archives
from command_line import hearth, run_cases

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
