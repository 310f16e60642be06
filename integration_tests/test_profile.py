"""hearth profile: a trace of a served model's operators, within its bounds, for who may administer."""

import json
import threading

import grpc
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from integration_tests import server_models as models
from integration_tests.command_line import hearth
from integration_tests.daemon import eventually
from integration_tests.serving import floats, tensor

BATCHED = """
max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: 2 }
output { name: "OUTPUT__0" data_type: TYPE_FP32 dims: 2 }
dynamic_batching { max_queue_delay_microseconds: 20000 }
"""


class Sine(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.linalg.norm(torch.flip(x, [0]), dim=-1)


class Double(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cumsum(x, 1)


@pytest.fixture(scope="module")
def server(hearthd):
    served = {"sine": torch.jit.script(Sine()), "batched": (torch.jit.script(Double()), BATCHED)}
    return hearthd({**served, "idle": models.scripted(models.Identity())})


@pytest.fixture(scope="module")
def traffic(server):
    """Both models are called until the tests are done."""
    end = threading.Event()

    def ask(model, inputs):
        with server.client() as client:
            while not end.is_set():
                client.infer(model, inputs())

    calls = [("sine", lambda: [floats("x", 1, 2, 3)])]
    calls += [("batched", lambda: [tensor("x", np.ones((1, 2), np.float32))])] * 2
    threads = [threading.Thread(target=ask, args=call) for call in calls]
    for thread in threads:
        thread.start()
    yield
    end.set()
    for thread in threads:
        thread.join()


def profile(server, tmp_path, model, *flags):
    done = hearth("profile", server.address, model, "--output", tmp_path / "trace.json", *flags)
    return done, json.loads((tmp_path / "trace.json").read_text()) if done.returncode == 0 else None


def test_a_trace_has_calls_with_their_operators_within(server, traffic, tmp_path):
    done, trace = profile(server, tmp_path, "sine", "--calls", "20")
    assert done.returncode == 0, done.stderr
    assert "20 calls" in done.stdout and "aten::flip" in done.stdout
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    calls = [event for event in slices if event["cat"] == "call"]
    assert len(calls) == 20 and {call["args"]["tier"] for call in calls} <= {0, 1, 2}
    flips = [event for event in slices if event["name"] == "aten::flip"]
    assert len(flips) == 20 and all(each["cat"] == "operator" for each in flips)
    for event in flips:
        assert any(
            call["tid"] == event["tid"] and call["ts"] <= event["ts"]
            and event["ts"] + event["dur"] <= call["ts"] + call["dur"] + 0.001
            for call in calls
        )  # fmt: skip
    assert any(":" in event["args"]["where"] for event in flips)
    names = [event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "process_name"]
    assert names == ["sine 1"]


def test_batches_are_profiled_as_the_calls_that_they_are(server, traffic, tmp_path):
    done, trace = profile(server, tmp_path, "batched", "--calls", "5")
    assert done.returncode == 0, done.stderr
    assert sum(event.get("cat") == "call" for event in trace["traceEvents"]) == 5


def test_a_profile_ends_with_its_time(server, tmp_path):
    done, _ = profile(server, tmp_path, "idle", "--seconds", "0.2")
    assert done.returncode == 2 and "not called within 0.2 s" in done.stderr
    with server.client() as client:
        client.infer("idle", [floats("x", 1)])


def test_one_profile_of_a_version_is_made_at_a_time_and_its_client_ends_it(server):
    with server.channel() as channel:
        call = channel.unary_unary("/hearth.v1.ModelService/Profile")
        long, short = b"\x0a\x04idle", b"\x0a\x04idle\x19\xfc\xa9\xf1\xd2\x4d\x62\x50\x3f"  # seconds: 0.001
        under_way = []

        def is_refused():
            try:
                call(short, timeout=20)
            except grpc.RpcError as error:
                return error.code() == grpc.StatusCode.UNAVAILABLE and "another profile" in error.details()
            return False

        def is_busy():
            # The short one of the time before may have come first.
            if not under_way or under_way[-1].done():
                under_way.append(call.future(long, timeout=60))
            return is_refused()

        eventually(is_busy)
        under_way[-1].cancel()
        eventually(lambda: not is_refused(), seconds=5)


def test_wrong_requests_are_refused(server):
    for flags, says in [(["--calls", "5000"], "1000"), (["--seconds", "100"], "60")]:
        done = hearth("profile", server.address, "sine", *flags)
        assert done.returncode == 2 and says in done.stderr
    done = hearth("profile", server.address, "nothing")
    assert done.returncode == 2 and "nothing" in done.stderr
    with server.channel() as channel:
        call = channel.unary_unary("/hearth.v1.ModelService/Profile")
        for request, says in [
            (b"\x0a\x04sine\x20\xe9\x07", "1000"),  # calls: 1001
            (b"\x0a\x04sine\x19\x00\x00\x00\x00\x00\x80\x4e\x40", "60"),  # seconds: 61
            (b"\x0a\x04sine\x19\x00\x00\x00\x00\x00\x00\xf8\x7f", "60"),  # seconds: nan
        ]:
            with pytest.raises(grpc.RpcError) as refused:
                call(request, timeout=20)
            assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT and says in refused.value.details()


def test_it_is_administration(hearthd):
    closed = hearthd({"identity": models.scripted(models.Identity())}, "--admin", "off")
    done = hearth("profile", closed.address, "identity")
    assert done.returncode == 2 and "administration is off" in done.stderr
