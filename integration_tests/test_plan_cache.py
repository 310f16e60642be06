"""What models were called with is compiled before anybody asks: by the next daemon, which finds it in a folder, and for
the next version."""

import signal

import pytest
import torch
from torch import Tensor, nn

from integration_tests import values
from integration_tests.daemon import eventually, put_model
from integration_tests.native import NativeClient


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.linear(x)) * 2


class Flagged(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, flag: bool) -> Tensor:
        if flag:
            return self.linear(x).relu()
        return x.neg().exp().cos()


def flagged(seed):
    torch.manual_seed(seed)
    return torch.jit.script(Flagged().eval())


@pytest.fixture(scope="module")
def scale():
    torch.manual_seed(0)
    return torch.jit.script(Scale().eval())


def start(hearthd, protocol, model, folder, *flags):
    server = hearthd({"scale": model}, "--cache-dir", folder, *flags)
    return server, NativeClient(protocol, server.channel())


def plans_of(client):
    return client.method("ListPlans")(client.message("ListPlansRequest")(model="scale"), timeout=60).plans


def compiled_kinds(client):
    compiled = client.message("Plan").COMPILED
    return {plan.arguments: plan.calls for plan in plans_of(client) if plan.state == compiled}


def call_until_compiled(client, *inputs):
    def called():
        for x in inputs:
            client.call("scale", "forward", x)
        return len(compiled_kinds(client)) >= len(inputs)

    eventually(called)


def test_a_restarted_daemon_has_plans_before_the_first_call(hearthd, protocol, scale, tmp_path):
    server, client = start(hearthd, protocol, scale, tmp_path)
    call_until_compiled(client, torch.ones(4), torch.randn(3, 4))
    kinds = set(compiled_kinds(client))
    assert server.stop() == 0

    server, client = start(hearthd, protocol, scale, tmp_path)
    assert compiled_kinds(client) == dict.fromkeys(kinds, 0)
    x = torch.randn(5, 4)
    assert values.difference(scale(x), client.call("scale", "forward", x)) is None
    assert sorted(compiled_kinds(client).values()) == [0, 1]


def claims(client):
    return [claim.text for plan in plans_of(client) for claim in plan.claims]


def call_until_claimed(client):
    eventually(lambda: client.call("scale", "forward", torch.ones(4), True) is not None and claims(client))
    assert claims(client) == ["flag is True"]


def test_what_calls_showed_is_known_to_the_next_daemon(hearthd, protocol, tmp_path):
    model = flagged(0)
    server, client = start(hearthd, protocol, model, tmp_path)
    call_until_claimed(client)
    assert server.stop() == 0

    server, client = start(hearthd, protocol, model, tmp_path)
    assert claims(client) == ["flag is True"]
    for flag in (True, False):
        x = torch.randn(4)
        assert values.difference(model(x, flag), client.call("scale", "forward", x, flag)) is None
    # Not what turned out wrong.
    eventually(lambda: client.call("scale", "forward", torch.ones(4), False) is not None and not claims(client))
    assert server.stop() == 0
    _, client = start(hearthd, protocol, model, tmp_path)
    assert not claims(client)


def exact_plans(client):
    return {plan.sizes: plan.calls for plan in plans_of(client) if plan.tier == 2}


def call_until_exact(client):
    eventually(lambda: client.call("scale", "forward", torch.ones(3, 4)) is not None and exact_plans(client))


def test_a_restarted_daemon_has_plans_for_the_shapes_that_are_called_most(hearthd, protocol, scale, tmp_path):
    flags = ("--exact-after", "10")
    server, client = start(hearthd, protocol, scale, tmp_path, *flags)
    call_until_exact(client)
    client.call("scale", "forward", torch.ones(7, 4))
    assert server.stop() == 0

    server, client = start(hearthd, protocol, scale, tmp_path, *flags)
    assert exact_plans(client) == {"[3, 4]": 0}
    for x in torch.randn(3, 4), torch.randn(7, 4):
        assert values.difference(scale(x), client.call("scale", "forward", x)) is None
    assert exact_plans(client) == {"[3, 4]": 1}


def test_the_next_version_has_plans_for_the_shapes_that_are_called_most(hearthd, protocol, scale):
    server = hearthd({"scale": scale}, "--exact-after", "10")
    client = NativeClient(protocol, server.channel())
    call_until_exact(client)
    other = torch.jit.script(Scale().eval())
    put_model(server.repository, "scale", other, version=2)
    server.client().load_model("scale")
    assert list(exact_plans(client)) == ["[3, 4]"]
    x = torch.randn(3, 4)
    assert values.difference(other(x), client.call("scale", "forward", x)) is None


def test_the_next_version_has_plans_before_its_first_call(hearthd, protocol):
    server = hearthd({"scale": flagged(0)})
    client = NativeClient(protocol, server.channel())
    call_until_claimed(client)
    kinds = compiled_kinds(client)
    other = flagged(1)
    put_model(server.repository, "scale", other, version=2)
    server.client().load_model("scale")
    assert compiled_kinds(client) == dict.fromkeys(kinds, 0)
    assert claims(client) == ["flag is True"]
    x = torch.randn(4)
    assert values.difference(other(x, True), client.call("scale", "forward", x, True)) is None


def test_another_archive_knows_nothing_of_it(hearthd, protocol, scale, tmp_path):
    server, client = start(hearthd, protocol, scale, tmp_path)
    call_until_compiled(client, torch.ones(4))
    assert server.stop() == 0
    other = torch.jit.script(Scale().eval())
    with torch.no_grad():
        other.linear.weight.mul_(2)
    _, client = start(hearthd, protocol, other, tmp_path)
    assert not plans_of(client)


@pytest.mark.parametrize("spoil", ["empty", "cut", "changed", "folder"])
def test_a_file_that_is_broken_is_ignored_with_a_warning(hearthd, protocol, scale, tmp_path, spoil):
    server, client = start(hearthd, protocol, scale, tmp_path)
    call_until_compiled(client, torch.ones(4))
    assert server.stop() == 0
    (file,) = tmp_path.glob("*.profiles")
    bytes_ = file.read_bytes()
    if spoil == "folder":
        file.unlink()
        file.mkdir()
    else:
        file.write_bytes({"empty": b"", "cut": bytes_[:-1], "changed": bytes_[:-1] + bytes([bytes_[-1] ^ 1])}[spoil])

    server, client = start(hearthd, protocol, scale, tmp_path)
    assert not plans_of(client)
    call_until_compiled(client, torch.ones(4))
    assert server.stop() == 0
    with open(server.log.name) as log:
        assert file.name in log.read()
    if spoil != "folder":
        _, client = start(hearthd, protocol, scale, tmp_path)
        assert len(compiled_kinds(client)) == 1


def test_two_daemons_share_a_folder(hearthd, protocol, scale, tmp_path):
    first, first_client = start(hearthd, protocol, scale, tmp_path)
    second, second_client = start(hearthd, protocol, scale, tmp_path)
    call_until_compiled(first_client, torch.ones(4))
    call_until_compiled(second_client, torch.randn(3, 4))
    assert first.stop() == 0
    assert second.stop() == 0
    _, client = start(hearthd, protocol, scale, tmp_path)
    assert len(compiled_kinds(client)) == 2


def test_a_daemon_that_is_killed_leaves_a_folder_that_can_be_used(hearthd, protocol, scale, tmp_path):
    server, client = start(hearthd, protocol, scale, tmp_path)
    call_until_compiled(client, torch.ones(4))
    server.process.send_signal(signal.SIGKILL)
    server.wait()
    server, client = start(hearthd, protocol, scale, tmp_path)
    call_until_compiled(client, torch.ones(4))
    assert server.stop() == 0
