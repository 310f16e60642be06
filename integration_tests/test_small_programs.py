"""Every small program through one `hearth run --cases`, against torch.jit on the same archive: the value, or the class
and message of what it raised."""

import warnings

import oracle
import pytest
import torch
from command_line import run_cases, unescape
from small_programs import PROGRAMS
from values import difference

CALLS = [(name, index) for name, program in PROGRAMS.items() for index in range(len(program.calls))]


@pytest.fixture(scope="session")
def answers(tmp_path_factory):
    """(torch.jit's Answer, hearth's line, output file) by (program, index of the call)."""
    folder = tmp_path_factory.mktemp("small_programs")
    cases, expected = [], []
    for name, program in PROGRAMS.items():
        archive = folder / f"{name}.pt"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.jit.save(program.make(), str(archive))
        for index, call in enumerate(program.calls):
            inputs = folder / f"{name}.{index}.in.pt"
            torch.save({"args": call.args, "kwargs": call.kwargs} if call.kwargs else call.args, inputs)
            expected.append(oracle.ask(archive, inputs, call.method))
            cases.append((archive, inputs, folder / f"{name}.{index}.out.pt", call.method))
    lines = run_cases(cases)
    return {key: (expected[i], lines[i], cases[i][2]) for i, key in enumerate(CALLS)}


@pytest.mark.parametrize(("name", "index"), CALLS, ids=[f"{name}-{index}" for name, index in CALLS])
def test_hearth_answers_as_torch_does(answers, name, index):
    expected, line, output = answers[(name, index)]
    if expected.refused is not None:
        assert line.startswith("bad "), f"torch refused the arguments ({expected.refused}), hearth said: {line}"
    elif expected.raised is not None:
        assert line.startswith("raised "), f"torch raised {expected.raised!r}, hearth said: {line}"
        assert unescape(line.removeprefix("raised ")) == expected.raised
    else:
        assert line == "ok"
        found = difference(expected.value, torch.load(output, weights_only=True))
        assert not found, found
