"""Runs that leave their plan: what is said of why they did, most of all where the plan alone raised, which is a defect."""

import json
import re

import pytest
import torch
from torch import Tensor, nn

from integration_tests.command_line import BUILD, hearth, run_cases
from integration_tests.daemon import eventually
from integration_tests.native import NativeClient

LIBRARY = BUILD / "lib" / "libtest_operators.so"
TEXT = "not the first time"


@pytest.fixture(scope="module", autouse=True)
def library():
    torch.classes.load_library(str(LIBRARY))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The folder of a model whose plan raises where the baseline, which does the same once more, does not."""

    class Moody(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.ops.prepacked.hearth_test_raise_first(x) * 2

    folder = tmp_path_factory.mktemp("moody")
    torch.jit.script(Moody()).save(str(folder / "model.pt"))
    torch.save((torch.tensor(3.0),), folder / "in.pt")
    return folder


def test_a_case_says_what_its_plan_alone_raised(saved):
    case = (saved / "model.pt", saved / "in.pt", saved / "out.pt", "", "", 0)
    (line,) = run_cases([case], extra=["--tier", "1", "--operator-library", LIBRARY])
    plans, _, answer = line.partition("\t")
    assert answer == "ok"
    counts, told = re.fullmatch(r"plans (.*) (\[.*\])", plans).groups()
    assert counts == "1 guards 0 bailouts 1 unexplained 1 invalidated 0 recorded 0"
    (exception,) = json.loads(told)
    assert exception["operator"] == "prepacked::hearth_test_raise_first" and exception["operator"] in exception["node"]
    assert exception["exception"] == TEXT and exception["runs"] == 1 and exception["tier"] == 1
    assert exception["method"].endswith("Moody.forward") and exception["arguments"].startswith("Float[0]")
    assert re.search(r"test_bailouts\.py:\d+$", exception["where"])


def test_a_failed_guard_explains_a_bailout(saved):
    case = (saved / "model.pt", saved / "in.pt", saved / "out.pt", "", "", 0)
    (line,) = run_cases([case], extra=["--tier", "1", "--fail-guards", "0", "--operator-library", LIBRARY])
    # The guard fails before the operator, which then raises in the baseline.
    assert re.match(r"plans 1 guards \d+ bailouts 1 unexplained 0 invalidated 0 recorded 0 \[\]\traised", line), line


def test_an_explanation_and_the_log_name_the_operator(saved):
    done = hearth("run", saved / "model.pt", "--inputs", saved / "in.pt", "--tier", "1", "--explain",
                  "--operator-library", LIBRARY)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "1 bailouts\n" in done.stdout
    where = r"test_bailouts\.py:\d+"
    assert re.search(rf"left for the baseline: prepacked::\S+ raised \(\S*{where}\): {TEXT}\n", done.stdout), done.stdout
    assert re.search(rf"raised in a plan, and the baseline does not, at \S*{where}: {TEXT};", done.stderr), done.stderr


def test_a_server_tells_of_it_until_it_does_without_the_plan(hearthd, protocol, saved):
    server = hearthd({"moody": saved / "model.pt"}, "--operator-library", LIBRARY)
    client = NativeClient(protocol, server.channel())

    def plans():
        return client.method("ListPlans")(client.message("ListPlansRequest")(model="moody"), timeout=60).plans

    compiled = client.message("Plan").COMPILED
    quiet = torch.tensor(-1.0)
    eventually(lambda: client.call("moody", "forward", quiet) == 0 and any(plan.state == compiled for plan in plans()))
    assert client.call("moody", "forward", torch.tensor(3.0)) == 8
    (plan,) = plans()
    assert (plan.bailouts, plan.guard_failures, plan.model_exceptions, plan.plan_exceptions) == (1, 0, 0, 1)
    (exception,) = plan.exceptions
    assert exception.text == TEXT and exception.runs == 1
    done = hearth("inspect", "--plans", server.address, "moody")
    assert "1 bailouts (0 guards failed, 0 exceptions of the model's own, 1 of the plan alone)" in done.stdout
    assert f"the plan alone raised 1 times: {exception.operator}, at {exception.where}: {TEXT}\n" in done.stdout
    assert server.metric("hearth_plan_exceptions_total", model="moody") == 1
    eventually(lambda: client.call("moody", "forward", torch.tensor(3.0)) == 8 and plans()[0].state != compiled)
