"""hearth run --explain: what ran, how often each operator was called and how long it took."""

import json
import subprocess
import sys

import pytest
import torch
from torch import Tensor, nn

from integration_tests.command_line import hearth


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: Tensor, rounds: int) -> Tensor:
        for i in range(rounds):
            x = torch.relu(self.linear(x))
            if i % 2 == 0:
                x = torch.tanh(x)
        other = torch.jit.fork(torch.sigmoid, x)
        return x + torch.jit.wait(other)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    module = torch.jit.script(Layers().eval())
    module.save(str(folder / "layers.pt"))
    arguments = (torch.randn(4, 8), 5)
    torch.save(arguments, folder / "in.pt")
    return folder, arguments


def explain(folder, *flags):
    ran = hearth("run", folder / "layers.pt", "--inputs", folder / "in.pt", "--explain", *flags)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


COUNT_IN_TORCH = """
import json, sys, torch
module, arguments = torch.jit.load(sys.argv[1]), torch.load(sys.argv[2])
with torch.no_grad(), torch.jit.optimized_execution(False):
    with torch.autograd.profiler.profile() as profile:
        module(*arguments)
print(json.dumps({event.key: event.count for event in profile.key_averages()}))
"""


def calls_in_torch(folder):
    """How often LibTorch's own executor calls each operator, by its profiler, which reads wild memory where threads of
    gRPC clients have come and gone: in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-c", COUNT_IN_TORCH, folder / "layers.pt", folder / "in.pt"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def test_graphs_of_plans_and_their_kernels(saved):
    text = explain(saved[0], "--tier", "2", "--graphs")
    assert "plan of tier 2 of " in text and "hearth::linear(" in text
    plans = json.loads(explain(saved[0], "--tier", "2", "--graphs", "--json"))["plans"]
    assert plans and all(plan["graph"] in text for plan in plans)
    kernels = [kernel for plan in plans for kernel in plan["kernels"]]
    assert kernels and all(kernel["code"].startswith("kernel(") and kernel["code"] in text for kernel in kernels)
    assert json.loads(explain(saved[0], "--tier", "0", "--graphs", "--json"))["plans"] == []


@pytest.mark.parametrize(
    "flags", [("--tier", "0"), ("--tier", "1", "--no-fuse"), ("--tier", "1", "--no-fuse", "--fail-guards", "3")]
)
def test_calls_are_those_of_torch_and_times_add_up(saved, flags):
    folder, arguments = saved
    (run,) = json.loads(explain(folder, "--json", *flags))["explanation"]
    assert run["method"].endswith("forward") and run["tier"] == int(flags[1])
    operators = {operator["name"]: operator for operator in run["operators"]}
    expected = calls_in_torch(folder)
    # A plan has an operator of hearth's own for a linear layer, which the activation after it is a part of.
    in_plan = operators.get("hearth::linear", {"calls": 0})["calls"]
    assert (in_plan > 0) == (flags[1] == "1")
    for name, elsewhere in (("aten::linear", in_plan), ("aten::relu", in_plan), ("aten::tanh", 0), ("aten::sigmoid", 0)):
        # A plan writes results in place of operands that nothing else reads.
        here = [operators[form] for form in (name, name + "_") if form in operators]
        # The baseline may do once more what the plan did between the last effect and the guard that failed.
        again = sum(form["calls"] for form in here) + elsewhere - expected[name]
        assert again == 0 or again == 1 and "--fail-guards" in flags, (name, operators)
        assert all(form["seconds"] > 0 for form in here)
    if "--fail-guards" not in flags:
        assert (operators["prim::Loop"]["calls"], operators["prim::If"]["calls"]) == (1, arguments[1])
    assert sum(operator["share"] for operator in operators.values()) == pytest.approx(1)
    seconds = [operator["seconds"] for operator in run["operators"]]
    assert seconds == sorted(seconds, reverse=True)
    assert run.get("bailouts", 0) == (1 if "--fail-guards" in flags else 0)


def test_the_table_names_the_plan_and_what_a_plan_was_made_for(saved):
    folder, _ = saved
    assert "forward: the interpreter's baseline\n" in explain(folder, "--tier", "0")
    text = explain(folder, "--tier", "1", "--repeat", "3")
    assert "forward: the plan for (Float[4: *, 8: *]" in text or "forward: the plan for (Float[2: *, *]" in text
    assert "0 bailouts" in text and "share" in text and "hearth::linear" in text


def test_passes_that_made_the_plan_are_listed_with_their_times(saved):
    folder, _ = saved
    (run,) = json.loads(explain(folder, "--json", "--tier", "1"))["explanation"]
    passes = {each["name"]: each for each in run["passes"]}
    assert passes["fold_facts"]["runs"] > 1 and passes["pack_linears"]["changes"] == 1
    seconds = [each["seconds"] for each in run["passes"]]
    assert seconds == sorted(seconds, reverse=True) and 0 < sum(seconds)
    assert "pack_linears " in explain(folder, "--tier", "1")
    (run,) = json.loads(explain(folder, "--json", "--tier", "0"))["explanation"]
    assert "passes" not in run


def test_explain_is_for_one_run(saved):
    folder, _ = saved
    assert hearth("run", "--cases", "-", "--explain").returncode == 2
