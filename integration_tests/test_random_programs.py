"""The generator of random programs and its reducer. What the programs show of hearth is in conformance/random_programs/."""

import os
import subprocess
import sys

import pytest

from integration_tests import ROOT
from integration_tests.conformance.random_programs.program import generate
from integration_tests.conformance.random_programs.reducer import Reducer


def text_in_another_process(seed, file, hash_seed):
    code = f"from integration_tests.conformance.random_programs.program import generate; print(generate({seed}, {file}).text(), end='')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
    )  # fmt: skip
    return done.stdout


def test_a_seed_and_a_file_are_always_the_same_programs():
    assert text_in_another_process(7, 3, 1) == text_in_another_process(7, 3, 2) == generate(7, 3).text()


def test_another_seed_gives_other_programs_and_arguments():
    one, other = generate(1, 0), generate(2, 0)
    assert one.text() != other.text()
    calls = [[str(arguments) for arguments in source.calls(source.programs[0])] for source in (one, other)]
    assert calls[0] != calls[1]


class WithoutHearth(Reducer):
    """Takes a text in a program for what differs."""

    def __init__(self, source, names, folder, sought):
        super().__init__(source, names, None, folder, log=lambda _: None)
        self.sought = sought

    def _difference(self, source, names):
        text = source.text(names)
        return self.sought if self.sought in text else None


def first_file_with(text):
    return next(source for source in map(lambda file: generate(5, file), range(40)) if text in source.text())


@pytest.mark.parametrize("sought", [".sort(", "masked_fill_", "while True"])
def test_the_reducer_leaves_little_beside_what_differs(tmp_path, sought):
    source = first_file_with(sought)
    reducer = WithoutHearth(source, [program.name for program in source.programs], tmp_path, sought)
    before = len(source.text().splitlines())
    assert reducer.reduce()
    after = reducer.source.text(reducer.names)
    assert sought in after
    assert after.count(sought) == 1
    assert len(after.splitlines()) < before / 4


def test_the_reducer_says_when_nothing_differs(tmp_path):
    source = generate(5, 0)
    assert not WithoutHearth(source, ["p0"], tmp_path, "no program says this").reduce()
