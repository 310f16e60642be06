"""Archives of every age and kind: read as torch.jit.load reads them, or refused with a reason."""

import io

import pytest
import torch

from integration_tests.archive_cases import GROUPS, Answer, Raised, Refused
from integration_tests.command_line import run_cases, unescape
from integration_tests.values import difference, plain


def _cases():
    return [(group, case) for group, cases in GROUPS.items() for case in cases()]


CASES = _cases()


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """What `hearth run --cases` says of each case, and where its output lies."""
    folder = tmp_path_factory.mktemp("archives")
    tasks = []
    for number, (_, case) in enumerate(CASES):
        (folder / f"{number}.pt").write_bytes(case.archive)
        torch.save(case.inputs, folder / f"{number}.in")
        tasks.append((folder / f"{number}.pt", folder / f"{number}.in", folder / f"{number}.out", ""))
    return list(zip(run_cases(tasks), [task[2] for task in tasks]))


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{group}: {case.says}" for group, case in CASES])
def test(lines, number):
    case = CASES[number][1]
    line, output = lines[number]
    if isinstance(case.verdict, (Raised, Refused)):
        assert line.startswith("bad " if isinstance(case.verdict, Refused) else "raised "), line
        message = unescape(line)
        assert [word for word in case.verdict.words if word not in message] == [], message
        return
    if isinstance(case.verdict, Answer):
        expected = case.verdict.value
    else:
        expected, failed = torch_answer(case)
        if failed:
            assert line.startswith(failed + " "), (unescape(line), expected)
            return
    assert line.startswith("ok"), unescape(line)
    found = difference(expected, torch.load(output, weights_only=True))
    assert not found, found


def torch_answer(case):
    """(the answer, "") or (the error, "bad" where the archive is refused and "raised" where the call fails)"""
    try:
        module = torch.jit.load(io.BytesIO(case.archive))
    except RuntimeError as error:
        return error, "bad"
    try:
        return plain(module(*[value.clone() for value in case.inputs])), ""
    except RuntimeError as error:
        return error, "raised"


def test_every_upgrader_of_torch_has_a_case():
    said = " ".join(case.says for group, case in CASES if group == "upgraders")
    for operator in torch._C._get_operator_version_map():
        assert operator.removeprefix("aten::") in said, operator
