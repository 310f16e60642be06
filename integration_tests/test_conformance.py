"""The conformance harness sees every kind of difference that it says it compares, and no difference where there is none."""

from types import SimpleNamespace

import pytest
import torch

from integration_tests import ROOT
from integration_tests.command_line import HEARTH
from integration_tests.conformance import bailouts, report, run
from integration_tests.conformance.case import Case
from integration_tests.conformance.compare import Outcome, difference, is_of_size_alone
from integration_tests.conformance.hearth import Answer, Hearth, Plans, with_plans
from integration_tests.conformance.oracle import as_python_says, judge, load_source
from integration_tests.conformance.random_programs.check import HearthProcess
from integration_tests.conformance.suites import random_programs
from integration_tests.conformance.workers import Died, Worker
from integration_tests.zoo import recipe


def value(result, args=(), kwargs=None):
    return Outcome("value", content={"result": result, "args": args, "kwargs": kwargs or {}})


def halves():
    base = torch.arange(6.0)
    return base[:3], base[3:]


BASE = torch.arange(6.0)
SAME = torch.ones(3)
DIFFERENCES = {
    "a number": (value(1), value(2), "result: expected 1, got 2"),
    "a type": (value(1), value(1.0), "result: expected int 1, got float 1.0"),
    "a container": (value([1]), value((1,)), "result: expected list"),
    "a tensor's value": (value(torch.ones(2)), value(torch.ones(2) * 1.5), "result: the largest difference is 0.5"),
    "a dtype": (value(torch.ones(2)), value(torch.ones(2, dtype=torch.float64)), "expected dtype torch.float32"),
    "a shape": (value(torch.ones(2)), value(torch.ones(2, 1)), "expected shape [2], got [2, 1]"),
    "strides": (value(torch.ones(2, 3)), value(torch.ones(3, 2).t()), "result: expected strides (3, 1), got strides (1, 2)"),
    "requires_grad": (value(torch.ones(2)), value(torch.ones(2, requires_grad=True)), "expected requires_grad False"),
    "memory shared by results": (value(halves()), value(tuple(t.clone() for t in halves()[:1]) + (BASE[3:],)), "memory of result.0"),
    "a written argument": (value(0, (torch.ones(2),)), value(0, (torch.zeros(2),)), "args.0: the largest difference"),
    "a result that is an argument": (value(SAME, (SAME,)), value(SAME.clone(), (SAME,)), "the tensor of args.0"),
    "a message": (Outcome("raised", "a", {}), Outcome("raised", "b", {}), "torch raised 'a'; hearth raised 'b'"),
    "a kind": (value(1), Outcome("raised", "b", {}), "torch gave a value; hearth raised (b)"),
    "a crash": (value(1), Outcome("failed", "the process ended with -11"), "hearth failed (the process ended with -11)"),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_difference_is_seen(name):
    expected, got, says = DIFFERENCES[name]
    assert says in difference(expected, got)


@pytest.mark.parametrize("name", DIFFERENCES)
def test_an_outcome_does_not_differ_from_itself(name):
    expected, got, _ = DIFFERENCES[name]
    assert difference(expected, expected) is None
    assert difference(got, got) is None


def test_what_is_not_to_be_compared_is_not():
    shared, apart = value(halves()), value((torch.zeros(3), torch.zeros(3)))
    assert difference(shared, apart, ("values", "strides", "aliasing")) is None
    assert "offset" in difference(shared, apart, ("values", "aliasing"))
    assert "memory" in difference(shared, apart, ("values", "strides"))


@pytest.mark.parametrize("name", DIFFERENCES)
def test_only_numbers_of_the_result_may_be_as_near_as_another_answer(name):
    expected, got, _ = DIFFERENCES[name]
    assert is_of_size_alone(expected, got) == (name == "a tensor's value")


SOURCE = """
def forward(x: Tensor, numbers: List[int]):
    numbers.append(3)
    return x.add_(1).view(-1), torch.rand(2)
"""


@pytest.fixture
def case(tmp_path):
    torch.jit.save(torch.jit.CompilationUnit(SOURCE).forward, str(tmp_path / "a.pt"))
    torch.save((torch.zeros(2, 2), [1]), tmp_path / "in.pt")
    return Case("a", "a", str(tmp_path / "a.pt"), str(tmp_path / "in.pt"), seed=3)


def judged(case, tmp_path, change=lambda content: None):
    [(line, output, _)] = Hearth(HEARTH).run([case], tmp_path)
    content = torch.load(output, weights_only=True)
    change(content)
    torch.save(content, output)
    return judge({"case": case.to_json(), "line": line, "output": str(output), "device": "cpu"})


def test_hearth_is_judged_by_what_it_wrote(case, tmp_path):
    assert judged(case, tmp_path) == {"verdict": "agree", "reason": "", "torch": "value"}
    miss = judged(case, tmp_path, lambda content: content["args"][1].append(4))
    assert miss == {"verdict": "miss", "reason": "args.1: expected 2 elements, got 3", "torch": "value"}
    other = judged(case, tmp_path, lambda content: content["result"][1].add_(1))
    assert (other["verdict"], other["of_size"]) == ("miss", True)


@pytest.fixture
def refused(tmp_path):
    """A file that torch.jit.script refuses, as a case."""
    source = tmp_path / "source.py"
    source.write_text("def f(x: int):\n    y = x + 1\n    return y.no_such_thing()\n")
    torch.save((1,), tmp_path / "in.pt")
    return Case("a", "a", str(source), str(tmp_path / "in.pt"), method="f")


def verdict_on(case, line):
    return judge({"case": case.to_json(), "line": line, "output": "/nowhere", "device": "cpu"})


def test_what_both_refuse_is_refused_with_the_same_words_or_at_the_same_line(refused):
    with pytest.raises(RuntimeError) as caught:
        torch.jit.script(load_source(refused.archive).f)
    words = str(caught.value).strip().partition("\n")[0].rstrip(":")
    assert verdict_on(refused, f"bad {words}") == {"verdict": "agree", "reason": "", "torch": "failed"}
    reworded = verdict_on(refused, f'bad an int has no methods; File "{refused.archive}", line 3; return')
    assert reworded["verdict"] == "agree" and reworded["words"] == [words, "an int has no methods"]
    assert verdict_on(refused, f'bad an int has no methods; File "{refused.archive}", line 2; y')["verdict"] == "miss"


def test_what_only_hearth_accepts_is_told_apart_from_what_it_fails_in(refused):
    assert verdict_on(refused, "ok")["verdict"] == verdict_on(refused, "raised a: b")["verdict"] == "accepts"
    assert verdict_on(refused, "the process ended with -11")["verdict"] == "miss"
    assert verdict_on(refused, "no answer within 60 s")["verdict"] == "miss"


AGREES = {"verdict": "agree", "reason": "", "torch": "value"}
PLACE = (
    '{"method": "M.forward", "arguments": "Float[*]", "tier": 1, "operator": "hearth::convolution", "node": "%y", '
    '"where": "", "exception": "in another format", "runs": 1}'
)


def test_a_plan_that_raises_where_the_baseline_does_not_is_a_miss_whatever_was_answered():
    plans = Plans.told(f"plans 1 guards 2 bailouts 1 unexplained 1 invalidated 0 recorded 0 [{PLACE}]")
    verdict = with_plans(AGREES, plans)
    assert verdict["verdict"] == "miss"
    assert "hearth::convolution (in another format)" in verdict["reason"]
    assert verdict["plans"]["raised"] == ["hearth::convolution"]
    assert with_plans(AGREES, Plans.told("plans 1 guards 2 bailouts 0 unexplained 0 invalidated 1 recorded 0 []"))["verdict"] == "miss"
    cases = {"a": {"group": "a", **verdict}}
    content = {"commit": "c", "torch": "t", "device": "cpu", "machine": "m", "cases": cases}
    text = report.page([report.summarize(content, [], "s", "Title")])
    assert "`hearth::convolution` raises in plans of 1 where the baseline does not: a." in text


def test_a_bailout_with_a_reason_is_none():
    plans = Plans.told("plans 1 guards 2 bailouts 1 unexplained 0 invalidated 0 recorded 0 []")
    assert with_plans(AGREES, plans)["verdict"] == "agree"
    assert with_plans(AGREES, None) == AGREES


def test_a_hearth_that_hangs_or_ends_costs_one_row(tmp_path):
    program = tmp_path / "hearth"
    for text, line in (("sleep 600", "no answer within 1 s"), ("exit 3", "the process ended with 3")):
        program.write_text(f"#!/bin/bash\n{text}\n")
        program.chmod(0o755)
        process = HearthProcess(Hearth(program), seconds=1)
        assert process.ask([("a.pt", "in.pt", "out.pt", "f")]) == [line]
        process.close()


def test_where_torch_dies_hearth_must_have_answered():
    assert random_programs.verdict_on_death("it died", ["ok", "raised a: b"])["verdict"] == "torch"
    assert random_programs.verdict_on_death("it died", ["ok", "no answer within 60 s"])["verdict"] == "miss"


def test_a_result_is_good_for_the_same_binary_content_and_comparison(case, tmp_path):
    binary = tmp_path / "binary"
    binary.write_bytes(b"one")
    options = SimpleNamespace(device="cpu")

    def results():
        return run.Results(tmp_path / "results.json", Hearth(binary), options, random_programs)

    first = results()
    first.add(case, AGREES)
    first.write()
    assert results().agrees(case)
    torch.save((torch.ones(2, 2), [1]), case.inputs)
    assert not results().agrees(case)
    first = results()
    first.add(case, AGREES)
    first.write()
    assert results().agrees(case)
    binary.write_bytes(b"another")
    assert not results().agrees(case)


def test_few_cases_may_say_nothing():
    assert not run.says_too_little(1, 10)
    assert not run.says_too_little(20, 1000)
    assert run.says_too_little(21, 1000)


def test_a_message_reads_as_it_does_after_torchs_python_binding():
    archive_says = torch.jit.CompilationUnit("def f(x: Tensor):\n    return torch.embedding(x, x)\n").f
    with pytest.raises(RuntimeError) as caught:
        archive_says(torch.ones(2, 2))
    assert as_python_says("but got CPUFloatType instead") in str(caught.value)
    assert as_python_says("SparseCUDALongType") == "torch.cuda.sparse.LongTensor"


def test_a_process_that_dies_costs_one_item():
    worker = Worker("integration_tests.test_conformance:ends_if_asked")
    assert worker.ask(1, 60) == 2
    with pytest.raises(Died, match="ended with 3"):
        worker.ask(0, 60)
    with pytest.raises(Died, match="no answer within 1 s"):
        worker.ask(-1, 1)
    assert worker.ask(4, 60) == 5
    worker.close()


def ends_if_asked(number):
    import os
    import time

    if number == 0:
        os._exit(3)
    if number == -1:
        time.sleep(600)
    return number + 1


def test_a_miss_needs_a_reason_and_a_reason_needs_a_miss():
    content = {
        "commit": "c", "torch": "t", "device": "cpu", "machine": "m",
        "cases": {
            "add/1": {"group": "add", "verdict": "agree", "reason": "", "torch": "value"},
            "add/2": {"group": "add", "verdict": "miss", "reason": "strides", "torch": "value"},
            "sub/1": {"group": "sub", "verdict": "miss", "reason": "values", "torch": "raised"},
            "sub/2": {"group": "sub", "verdict": "torch", "reason": "no such thing", "torch": "failed"},
        },
    }  # fmt: skip
    known = [
        {"suite": "s", "case": "add/*", "says": "strides", "reason": "because"},
        {"suite": "s", "case": "sub/*", "says": "strides", "reason": "no more"},
        {"suite": "t", "case": "*", "reason": "another suite's"},
    ]
    summary = report.summarize(content, known, "s", "Title")
    assert summary["counts"] == {
        "agree": 1, "known": 1, "miss": 1, "torch": 1, "value": 2, "raised": 1, "failed": 1,
    }  # fmt: skip
    assert summary["new"] == [("sub/1", "values")]
    assert [entry["reason"] for entry in summary["stale"]] == ["no more"]
    text = report.page([summary])
    assert "| s | 3 | 1 | 33.33 % | 2 | 0 | 2 | 1 | 1 (25.00 %) |  |" in text
    assert "| s | 3 | 1 | 33.33 % | 2 | 0 | 2 | 1 | 1 (25.00 %) | older |" in report.page([summary], older=lambda _: True)
    assert "| 1 | because | `add/2` |" in text


class Guarded:
    """In place of a Hearth: every plan has 100 guards, of which the even ones are reached."""

    def __init__(self):
        self.asked = []

    def run(self, cases, folder, guards):
        self.asked += guards
        return [Answer("ok", folder / "out.pt", Plans(1, 100, int(guard % 2 == 0))) for guard in guards]


def test_as_many_of_a_cases_guards_fail_as_are_asked_for_and_those_not_reached_are_named(tmp_path):
    hearth, case = Guarded(), Case("a", "a", "a.pt", "in.pt")

    def agrees(case, answer):
        return {"verdict": "agree", "reason": "", "torch": "value"}

    [(_, verdict)] = bailouts.verdicts([case], hearth, tmp_path, agrees, most=8)
    assert len(hearth.asked) == len(set(hearth.asked)) == 8 and set(hearth.asked) < set(range(100))
    assert verdict["plans"]["tried"] == 8
    assert verdict["plans"]["unreached"] == sorted(guard for guard in hearth.asked if guard % 2)
    again = Guarded()
    list(bailouts.verdicts([case], again, tmp_path, agrees, most=8))
    assert again.asked == hearth.asked


def test_a_result_names_files_as_the_tree_has_them(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(report, "PAGE", tmp_path / "page.md")
    reason = f'File "{ROOT}/integration_tests/a.py", line 3; File "/another/checkout/integration_tests/b.py", line 4'
    content = {"cases": {"a": {"group": "g", "verdict": "miss", "reason": reason}}}
    report.write(report.summarize(content, [], "s", "Title"))
    for written in (tmp_path / "s.json", tmp_path / "page.md"):
        assert "integration_tests/a.py" in written.read_text() and str(ROOT) not in written.read_text()
        assert "integration_tests/b.py" in written.read_text() and "/another" not in written.read_text()


def test_each_way_of_running_a_suite_has_a_heading_of_its_own():
    cases = {"a": {"group": "a", "verdict": "agree", "reason": "", "torch": "value"}}
    content = {"commit": "c", "torch": "t", "device": "cpu", "machine": "m", "cases": cases}
    ways = ["", "-tier0", "-tier1", "-tier2", "-profiled", "-bailouts", "-tier2-bailouts", "-profiled-bailouts"]
    labels = ["s" + way for way in ways]
    summaries = [report.summarize(content, [], label, "Title") for label in labels]
    headings = [line for line in report.page(summaries).splitlines() if line.startswith("## ")]
    assert len(headings) == len(labels) == len(set(headings))


class Sum(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("sum", torch.zeros(2))

    def forward(self, x):
        self.sum.add_(x)
        return self.sum.clone()


def test_a_case_that_is_repeated_has_the_last_call_compared(tmp_path):
    """On both sides, with calls of this case alone before it."""
    torch.jit.save(torch.jit.script(Sum()), tmp_path / "model.pt")
    torch.save((torch.ones(2),), tmp_path / "in.pt")
    cases = [Case(name, "g", str(tmp_path / "model.pt"), str(tmp_path / "in.pt")) for name in "abc"]
    for case, answer in zip(cases, Hearth(HEARTH, repeat=3).run(cases, tmp_path)):
        assert torch.load(answer.output)["result"].tolist() == [3, 3]
        item = {"case": case.to_json(), "line": answer.line, "output": str(answer.output), "device": "cpu", "repeat": 3}
        assert judge(item)["verdict"] == "agree"


class Range(torch.nn.Module):
    def forward(self, x):
        return x + torch.arange(2, device=x.device)


def test_models_are_traced_where_they_run():
    with recipe.tracing_on("meta"):
        module, inputs = recipe.traced(Range(), torch.ones(2))
    assert 'torch.device("meta")' in module.code and inputs[0].is_meta
    module, inputs = recipe.traced(Range(), torch.ones(2))
    assert 'torch.device("cpu")' in module.code and not inputs[0].is_meta
