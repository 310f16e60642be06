"""Plans that hearthd compiles while it serves: what calls answer meanwhile and after, and what can be seen of them."""

import json

import pytest
import torch
from torch import Tensor, nn

from integration_tests import values
from integration_tests.command_line import hearth, run_cases
from integration_tests.daemon import eventually
from integration_tests.native import NativeClient


class Mixed(nn.Module):
    """Branches on what the spec of the arguments decides and on what only the values do, and may raise."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, limit: float) -> Tensor:
        if x.dim() == 1:
            x = x.unsqueeze(0)
        y = torch.relu(self.linear(x))
        if bool(y.sum() > limit):
            raise ValueError("more than " + str(limit))
        y.add_(1)
        return y.view(-1)


@pytest.fixture(scope="module")
def mixed():
    torch.manual_seed(0)
    return torch.jit.script(Mixed().eval())


def plans_of(client, model="mixed"):
    return client.method("ListPlans")(client.message("ListPlansRequest")(model=model, graphs=True), timeout=60).plans


def test_calls_of_each_kind_get_a_plan_and_the_same_answers(hearthd, protocol, mixed):
    server = hearthd({"mixed": mixed})
    client = NativeClient(protocol, server.channel())
    inputs = [torch.ones(4), torch.ones(1, 4), torch.randn(3, 4), torch.randn(3, 4).double().float().t().contiguous().t()]

    def call_all():
        for x in inputs:
            assert values.difference(mixed(x, 1e6), client.call("mixed", "forward", x, 1e6)) is None
        return [plan.state for plan in plans_of(client)]

    compiled = client.message("Plan").COMPILED
    eventually(lambda: call_all().count(compiled) >= 3)
    assert call_all().count(compiled) >= 3
    plan = max(plans_of(client), key=lambda plan: plan.calls)
    assert plan.method.endswith("forward") and "Float[" in plan.arguments and "graph(" in plan.graph
    assert plan.compile_seconds > 0 and plan.bytes > 0 and plan.bailouts == 0
    assert server.metric("hearth_plans", model="mixed") >= 3
    assert server.metric("hearth_compilations_total", outcome="failed") == 0


def test_what_a_plan_raises_the_baseline_reports(hearthd, protocol, mixed):
    server = hearthd({"mixed": mixed})
    client = NativeClient(protocol, server.channel())
    request = client.request("mixed", "forward", torch.ones(2, 4), -1.0)

    def error():
        with pytest.raises(Exception) as raised:
            client.method("Call")(request, timeout=60)
        return raised.value.details()

    first = error()
    assert "more than -1." in first and "raise ValueError" in first
    eventually(lambda: error() == first and any(plan.bailouts for plan in plans_of(client)))


class Resized(nn.Module):
    """One method changes the sizes of a buffer that the other asks for."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.arange(6.0))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.kept.size(0)

    @torch.jit.export
    def resize(self, n: int) -> int:
        self.kept.resize_(n)
        return n


def test_a_plan_relies_on_no_size_that_another_method_changes(hearthd, protocol):
    server = hearthd({"resized": torch.jit.script(Resized().eval())})
    client = NativeClient(protocol, server.channel())

    def call():
        return client.call("resized", "forward", torch.ones(2))[0].item()

    eventually(lambda: call() == 6 and any(plan.calls and plan.bytes for plan in plans_of(client, "resized")))
    client.call("resized", "resize", 4)
    assert call() == 4


class Flagged(nn.Module):
    """Which way it goes is up to a value, and to a number that callers give."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, rounds: int) -> Tensor:
        if bool(x.sum() > 0):
            y = self.linear(x).relu()
        else:
            y = x.neg().exp().cos()
        for _ in range(rounds):
            y = y * 2 + 1
        return y


@pytest.fixture(scope="module")
def flagged():
    torch.manual_seed(0)
    return torch.jit.script(Flagged().eval())


def test_what_calls_always_show_is_assumed_until_it_fails(hearthd, protocol, flagged):
    server = hearthd({"flagged": flagged})
    client = NativeClient(protocol, server.channel())

    def call(x, rounds):
        assert values.difference(flagged(x, rounds), client.call("flagged", "forward", x, rounds)) is None
        (plan,) = plans_of(client, "flagged")
        return {claim.text: claim.failures for claim in plan.claims}

    def always_so():
        return call(torch.ones(2, 4), 3)

    def otherwise():
        return call(-torch.ones(2, 4), 5)

    eventually(lambda: len(always_so()) >= 2)
    claims = always_so()
    assert "rounds is 3" in claims and set(claims.values()) == {0}
    assert any(otherwise().values())
    assert "speculates on: rounds is 3" in hearth("inspect", "--plans", server.address, "flagged").stdout
    # The next plans do without what failed, and at last there is one that assumes nothing.
    eventually(lambda: "rounds is 3" not in otherwise() and not always_so())
    eventually(lambda: plans_of(client, "flagged")[0].state == client.message("Plan").COMPILED or always_so())
    assert server.metric("hearth_compilations_total", outcome="failed") == 0


class Sized(nn.Module):
    """Branches on sizes."""

    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) > 4:
            return x.view(x.size(0), -1).sum(1)
        return x.view(-1) * x.size(1)


def test_a_shape_that_is_called_often_has_a_plan_of_its_own(hearthd, protocol):
    sized = torch.jit.script(Sized())
    server = hearthd({"sized": sized}, "--exact-after", "20")
    client = NativeClient(protocol, server.channel())

    def call(*sizes):
        x = torch.randn(*sizes)
        assert values.difference(sized(x), client.call("sized", "forward", x)) is None
        return {plan.sizes: plan for plan in plans_of(client, "sized")}

    eventually(lambda: "[2, 3]" in call(2, 3))
    plans = call(2, 3)
    assert plans["[2, 3]"].tier == 2 and plans[""].tier == 1
    assert "prim::If" not in plans["[2, 3]"].graph and "prim::If" in plans[""].graph
    assert server.metric("hearth_plans", model="sized", tier="2") == 1
    before = plans["[2, 3]"].calls
    eventually(lambda: call(2, 3)["[2, 3]"].calls > before)
    for other in [(3, 3), (5, 3), (2, 3)]:
        assert call(*other)["[2, 3]"].bailouts == 0
    text = hearth("inspect", "--plans", server.address, "sized").stdout
    assert "tier 2 for [2, 3] alone" in text
    assert "1 argument specs, 1 with a plan; 2 plans" in text


class Pictures(nn.Module):
    """Down to pictures of one pixel, where the smallest ones are given."""

    def __init__(self):
        super().__init__()
        widths = [3, 16, 32, 64, 64]
        self.layers = nn.Sequential(*(
            layer
            for narrow, wide in zip(widths, widths[1:])
            for layer in (nn.Conv2d(narrow, wide, 3, 2, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU())
        ))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x).mean([2, 3])


def test_no_plan_gives_up_where_a_model_is_called_with_pictures_of_many_sizes(hearthd, protocol):
    torch.manual_seed(0)
    pictures = torch.jit.script(Pictures().eval())
    server = hearthd({"pictures": pictures}, "--exact-after", "16")
    client = NativeClient(protocol, server.channel())
    sizes = [(batch, 3, side, side + more) for batch in (1, 3) for side in (16, 48) for more in (0, 16)]

    def call_all():
        for size in sizes:
            x = torch.randn(*size)
            assert values.difference(pictures(x), client.call("pictures", "forward", x)) is None
        plans = plans_of(client, "pictures")
        assert not any(plan.bailouts for plan in plans)
        return {plan.sizes for plan in plans} >= {str(list(size)) for size in sizes}

    eventually(call_all)
    assert call_all()


def test_hearth_run_waits_for_the_plan_of_the_tier(tmp_path):
    sized = torch.jit.script(Sized())
    archive, inputs, output = tmp_path / "model.pt", tmp_path / "in.pt", tmp_path / "out.pt"
    sized.save(archive)
    x = torch.randn(2, 3)
    torch.save((x,), inputs)
    for tier in ["0", "1", "2"]:
        run = hearth("run", archive, "--inputs", inputs, "--output", output, "--tier", tier, "--explain")
        assert run.returncode == 0, run.stderr
        explained = run.stdout + run.stderr
        assert ("prim::If" in explained) == (tier != "2")
        assert torch.equal(torch.load(output), sized(x))


def test_without_the_compiler_there_are_no_plans(hearthd, protocol, mixed):
    server = hearthd({"mixed": mixed}, "--compiler", "off")
    client = NativeClient(protocol, server.channel())
    for _ in range(5):
        client.call("mixed", "forward", torch.ones(2, 4), 1e6)
    assert not plans_of(client)
    assert server.metric("hearth_argument_specs", model="mixed") == 0


def test_inspect_shows_the_plans_of_a_served_model(hearthd, protocol, mixed):
    server = hearthd({"mixed": mixed})
    client = NativeClient(protocol, server.channel())

    def listed():
        client.call("mixed", "forward", torch.ones(2, 4), 1e6)
        return json.loads(hearth("inspect", "--plans", server.address, "mixed", "--json", "--graph").stdout)["plans"]

    eventually(lambda: listed()[0]["state"] == "compiled")
    assert listed()[0]["arguments"].startswith("Float[") and "graph(" in listed()[0]["graph"]
    text = hearth("inspect", "--plans", server.address, "mixed").stdout
    assert "compiled, about" in text and "0 bailouts" in text
    assert hearth("inspect", "--plans", server.address, "other").returncode != 0


class Squashes(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(torch.tanh(x)) + 1


def test_inspect_shows_the_kernels_of_a_plan(hearthd, protocol):
    server = hearthd({"squashes": torch.jit.script(Squashes())})
    client = NativeClient(protocol, server.channel())

    def kernels():
        client.call("squashes", "forward", torch.ones(2, 4))
        plans = json.loads(hearth("inspect", "--plans", server.address, "squashes", "--json", "--graph").stdout)["plans"]
        return [kernel for plan in plans for kernel in plan["kernels"]]

    eventually(kernels)
    (results,) = kernels()[0]["results"]
    assert results.startswith("%") and kernels()[0]["bytes"] > 0 and not kernels()[0]["set_aside"]
    text = hearth("inspect", "--plans", server.address, "squashes", "--graph").stdout
    assert f"kernel of {results}, " in text and kernels()[0]["code"] in text
    assert "tanh" in kernels()[0]["code"]
    page = server.get("/status/models/squashes/versions/1")[1]
    assert f"Kernel of <code>{results}</code>" in page and "tanh" in page
    assert "kernel of" not in hearth("inspect", "--plans", server.address, "squashes").stdout


def test_answers_of_plans_are_checked_in_the_background(hearthd, protocol, mixed):
    server = hearthd({"mixed": mixed}, "--shadow-share", "1")
    client = NativeClient(protocol, server.channel())

    def checked():
        x = torch.randn(3, 4)
        assert values.difference(mixed(x, 1e6), client.call("mixed", "forward", x, 1e6)) is None
        return server.metric("hearth_shadow_runs_total") >= 3

    eventually(checked)
    assert server.metric("hearth_shadow_differences_total") == 0


def test_nothing_is_checked_if_nobody_asked(hearthd, protocol, mixed):
    server = hearthd({"mixed": mixed})
    client = NativeClient(protocol, server.channel())

    def compiled():
        client.call("mixed", "forward", torch.ones(2, 4), 1e6)
        return any(plan.state == client.message("Plan").COMPILED for plan in plans_of(client))

    eventually(compiled)
    client.call("mixed", "forward", torch.ones(2, 4), 1e6)
    assert server.metric("hearth_shadow_runs_total") == 0


class Transposing(nn.Module):
    """Transposes what it made where its argument is positive, and only there."""

    def forward(self, x: Tensor) -> Tensor:
        y = torch.exp(x)
        print("made")
        z = x
        if bool(x.sum() > 0):
            y.t_()
            z = y * 2
        return y + z


def test_where_a_plan_bails_out_the_baseline_may_reshape_what_it_was_handed(tmp_path):
    """The calls after it find the memory of the plan as they need it."""
    model = torch.jit.script(Transposing())
    model.save(tmp_path / "model.pt")
    inputs = {"negative": -torch.rand(12, 12), "positive": torch.rand(12, 12)}
    for name, x in inputs.items():
        torch.save((x,), tmp_path / f"{name}.in.pt")
    order = ["negative", "negative", "positive", "negative", "positive", "positive", "negative"]
    cases = [
        (tmp_path / "model.pt", tmp_path / f"{name}.in.pt", tmp_path / f"{i}.pt") for i, name in enumerate(order)
    ]
    cases[-1] += ("", "", 0)  # so that it says how many runs bailed out
    lines = run_cases(cases, extra=["--keep-loaded", "--tier", "1", "--profiled"])
    assert all(line.endswith("ok") for line in lines), lines
    assert "bailouts 3" in lines[-1], lines
    for i, name in enumerate(order):
        answer = torch.load(tmp_path / f"{i}.pt", weights_only=True)
        assert values.difference(model(inputs[name]), answer) is None, (i, name)
        assert answer.stride() == model(inputs[name]).stride(), (i, name)


class Growing(nn.Module):
    """Holds lists and a dict, to which one method writes and of which the other one's answers depend."""

    def __init__(self):
        super().__init__()
        self.numbers = [1, 2]
        self.names = {"a": 1}
        self.words = ["x"]
        self.fixed = {"kept": 0.5}
        self.rows = [[True], [False]]
        self.scales = [0.5, 2.0]

    def forward(self, x: Tensor) -> Tensor:
        y = x * self.numbers[0] + len(self.numbers) * 100 + self.fixed["kept"]
        y = y + len(self.rows[0]) * 10000 + len(self.rows[1]) * 20000
        # Writes to lists that nobody else has.
        scales, first = self.scales.copy(), self.scales[:1]
        if x.size(0) > 2:
            scales[0] = 3.0
        first.append(0.25)
        y = y * scales[0] * self.scales[0] + len(first) + len(self.scales)
        if "b" in self.names:
            y = y + 1000
        if "q" in self.words:
            y = y + 5000
        return y

    @torch.jit.export
    def grow(self, x: Tensor) -> Tensor:
        self.numbers[0] = 7
        self.numbers.append(5)
        self.names["b"] = 2
        self.words.append("q")
        self.rows.copy()[1].append(True)
        row = self.rows[0]
        row.append(False)
        return x


@pytest.mark.parametrize("tier", ["0", "1", "2"])
def test_what_another_method_puts_into_a_list_or_dict_is_seen(tmp_path, tier):
    model = torch.jit.script(Growing())
    model.save(tmp_path / "model.pt")
    x = torch.rand(3)
    torch.save((x,), tmp_path / "in.pt")
    order = ["forward", "forward", "grow", "forward", "forward"]
    lines = run_cases([(tmp_path / "model.pt", tmp_path / "in.pt", tmp_path / f"{i}.pt", method)
                       for i, method in enumerate(order)], extra=["--keep-loaded", "--tier", tier])
    assert all(line.endswith("ok") for line in lines), lines
    for i, method in enumerate(order):
        expected = getattr(model, method)(x)
        assert values.difference(expected, torch.load(tmp_path / f"{i}.pt", weights_only=True)) is None, (i, method)
