"""Models that are warm before their first request: the Warm call, and the samples of a configuration's model_warmup."""

import contextlib
import json
import pathlib

import grpc
import numpy
import pytest
import torch
from torch import Tensor, nn
from tritonclient.utils import InferenceServerException, serialize_byte_tensor

from integration_tests import values
from integration_tests.command_line import hearth
from integration_tests.native import NativeClient


class Scaled(nn.Module):
    """Counts its calls of forward, and refuses large inputs."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        self.calls += 1
        if x.size(0) > 2:
            raise ValueError("too many rows")
        return torch.relu(self.linear(x))[:, index]

    @torch.jit.export
    def count(self) -> int:
        return self.calls


WARM_UP = """
model_warmup { name: "zeros" inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 1, 4 ] zero_data: true } }
                             inputs { key: "index" value { data_type: TYPE_INT64 dims: 1 zero_data: true } } }
model_warmup { name: "random" count: 3
               inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 2, 4 ] random_data: true } }
               inputs { key: "index" value { data_type: TYPE_INT64 dims: 3 random_data: true } } }
"""


@pytest.fixture(scope="module")
def scaled():
    torch.manual_seed(0)
    return torch.jit.script(Scaled().eval())


def warm(client, model, timeout=60):
    return client.method("Warm")(client.message("WarmRequest")(model=model), timeout=timeout)


def test_after_warm_every_kind_of_call_has_its_plan(hearthd, protocol, scaled):
    server = hearthd({"scaled": scaled}, "--compiler-share", "0.000001")
    client = NativeClient(protocol, server.channel())
    assert warm(client, "scaled").plans == 0
    inputs = [(torch.ones(1, 4), torch.tensor([0])), (torch.randn(2, 4), torch.tensor([1, 2]))]
    for x, index in inputs:
        client.call("scaled", "forward", x, index)
    answer = warm(client, "scaled")
    assert (answer.model, answer.version, answer.plans, answer.failed) == ("scaled", "1", 2, 0)
    for x, index in inputs:
        assert values.difference(scaled(x, index), client.call("scaled", "forward", x, index)) is None
    plans = client.method("ListPlans")(client.message("ListPlansRequest")(model="scaled"), timeout=60).plans
    assert [plan.calls for plan in plans] == [2, 2]


class Busy(nn.Module):
    """Runs on in one method, while the other one, whose plans take a while to make, is called."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*50 * [nn.Sequential(*50 * [nn.Tanh()])])

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)

    @torch.jit.export
    def run_on(self, x: Tensor) -> Tensor:
        while bool(x.sum() == 0):
            x = x * 1
        return x


def test_beside_requests_warm_has_the_share_alone(hearthd, protocol):
    server = hearthd({"busy": torch.jit.script(Busy())}, "--compiler-share", "0.000001", "--threads", "2")
    client = NativeClient(protocol, server.channel())
    for rank in (1, 2):
        client.call("busy", "forward", torch.ones([2] * rank))
    under_way = client.method("Call").future(client.request("busy", "run_on", torch.zeros(1)))
    with pytest.raises(grpc.RpcError) as raised:
        warm(client, "busy", timeout=1)
    assert raised.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    # What may be used at once is less than it takes to make one plan.
    text = hearth("inspect", "--plans", server.address, "busy").stdout
    assert "busy version 1: 3 argument specs, 0 with a plan" in text
    assert "Busy.forward since" in text and "which rests: the compiler's share of the processor is used up" in text
    under_way.cancel()
    assert warm(client, "busy").plans == 3


def test_warm_says_what_is_not_there(hearthd, protocol, scaled):
    client = NativeClient(protocol, hearthd({"scaled": scaled}, "--compiler", "off").channel())
    client.call("scaled", "forward", torch.ones(1, 4), torch.tensor([0]))
    assert warm(client, "scaled").plans == 0
    with pytest.raises(grpc.RpcError) as raised:
        warm(client, "other")
    assert raised.value.code() == grpc.StatusCode.NOT_FOUND


def test_a_model_has_run_its_samples_before_it_serves(hearthd, protocol, scaled):
    before = scaled.calls
    server = hearthd({"scaled": (scaled, WARM_UP)}, "--operator-threads", "1")
    client = NativeClient(protocol, server.channel())
    # And each sample with its plan, with that for its sizes, and for the one number of threads that operators have here.
    assert client.call("scaled", "count") == before + 4 + 2 + 2 + 2
    plans = client.method("ListPlans")(client.message("ListPlansRequest")(model="scaled"), timeout=60).plans
    assert {"[1, 4], [1]", "[2, 4], [3]"} <= {plan.sizes for plan in plans if plan.tier == 2}
    assert "scaled version 1 is warm after" in pathlib.Path(server.log.name).read_text()


def test_a_model_whose_sample_fails_does_not_load_and_its_predecessor_serves(hearthd, protocol, scaled):
    server = hearthd({"scaled": scaled})
    with server.client() as client:
        for sample, message in [
            ('dims: [ 3, 4 ] zero_data: true', "the warm-up sample 'w' failed"),
            ('dims: [ 3, 4 ] zero_data: true', "ValueError: too many rows"),
            ('dims: [ 1, 5 ] zero_data: true', "mat1 and mat2 shapes cannot be multiplied"),
            ('dims: [ 1, 4 ] input_data_file: "../x"', "input_data_file for input 'x' of the warm-up sample 'w'"),
            ('dims: [ 1, 4 ] input_data_file: "x"', "warmup/x: No such file"),
            ('dims: [ 1000000, 1000000 ] zero_data: true', "makes the sample larger than"),
        ]:
            config = server.repository / "scaled/config.pbtxt"
            config.write_text(
                f'model_warmup {{ name: "w" inputs {{ key: "x" value {{ data_type: TYPE_FP32 {sample} }} }}\n'
                '  inputs { key: "index" value { data_type: TYPE_INT64 dims: 1 zero_data: true } } }'
            )
            with pytest.raises(InferenceServerException) as raised:
                client.load_model("scaled")
            assert message in raised.value.message()
            assert client.is_model_ready("scaled")
        config.write_text('model_warmup { name: "w" inputs { key: "x" value { data_type: TYPE_FP32 dims: 4 } } }')
        with pytest.raises(InferenceServerException, match="none of zero_data, random_data and input_data_file"):
            client.load_model("scaled")


class Recalling(nn.Module):
    """Keeps what it was called with last."""

    def __init__(self):
        super().__init__()
        self.last = torch.zeros(0)
        self.word = ""

    def forward(self, x: Tensor, words: list[str]) -> Tensor:
        self.last = x
        self.word = words[-1]
        return x

    @torch.jit.export
    def recall(self) -> tuple[Tensor, str]:
        return self.last, self.word


def test_a_sample_has_what_its_files_hold(hearthd, protocol):
    x = torch.randn(2, 3)
    server = hearthd({"recalling": torch.jit.script(Recalling())})
    client = NativeClient(protocol, server.channel())
    folder = server.repository / "recalling"
    (folder / "warmup").mkdir()
    (folder / "warmup/x.bin").write_bytes(x.numpy().tobytes())
    (folder / "warmup/words").write_bytes(serialize_byte_tensor(numpy.array([b"one", b"last"], dtype=object)).item())
    (folder / "config.pbtxt").write_text(
        'model_warmup { name: "w"\n'
        '  inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 2, 3 ] input_data_file: "x.bin" } }\n'
        '  inputs { key: "words" value { data_type: TYPE_STRING dims: 2 input_data_file: "words" } } }'
    )
    with server.client() as admin:
        admin.load_model("recalling")
        last, word = client.call("recalling", "recall")
        assert torch.equal(last, x)
        assert word == "last"
        (folder / "warmup/x.bin").write_bytes(x.numpy().tobytes()[:-1])
        with pytest.raises(InferenceServerException) as raised:
            admin.load_model("recalling")
        assert (
            "the warm-up sample 'w' failed: input 'x': the file warmup/x.bin: a tensor of shape [2,3] and datatype "
            "FP32 expects 24 bytes, got 23"
        ) in raised.value.message()


def test_a_client_may_send_a_samples_file(hearthd, protocol, tmp_path):
    server = hearthd({}, "--client-files-bytes", "16MiB")
    archive = tmp_path / "model.pt"
    torch.jit.save(torch.jit.script(Recalling()), archive)
    config = {
        "model_warmup": [
            {
                "name": "w",
                "inputs": {
                    "x": {"data_type": "TYPE_FP32", "dims": [1], "input_data_file": "x"},
                    "words": {"data_type": "TYPE_STRING", "dims": [1], "zero_data": True},
                },
            }
        ]
    }
    with server.client() as admin:
        files = {"file:1/model.pt": archive.read_bytes(), "file:warmup/x": numpy.float32(7.5).tobytes()}
        admin.load_model("sent", config=json.dumps(config), files=files)
    last, _ = NativeClient(protocol, server.channel()).call("sent", "recall")
    assert last.tolist() == [7.5]


def test_samples_count_for_the_memory_that_loading_may_take(hearthd, scaled):
    server = hearthd({"scaled": scaled}, "--load-memory-limit", "64MiB")
    config = server.repository / "scaled/config.pbtxt"
    for rows, message in [
        (4_000_000, "ValueError: too many rows"),
        (20_000_000, "beyond its memory limit of 67108864 bytes"),
    ]:
        config.write_text(
            'model_warmup { name: "w" inputs { key: "index" value { data_type: TYPE_INT64 dims: 1 zero_data: true } }\n'
            f'  inputs {{ key: "x" value {{ data_type: TYPE_FP32 dims: [ {rows // 4}, 4 ] zero_data: true }} }} }}'
        )
        with server.client() as client, pytest.raises(InferenceServerException) as raised:
            client.load_model("scaled")
        assert message in raised.value.message()
    # Not the call's, which has half of the machine's memory, but the load's.
    assert raised.value.status() == "StatusCode.RESOURCE_EXHAUSTED"


def test_a_sample_that_takes_too_long_fails_the_load(hearthd):
    class Endless(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            while bool(x.sum() == 0):
                x = x * 1
            return x

    sample = 'inputs { key: "x" value { data_type: TYPE_FP32 dims: 1 zero_data: true } }'
    server = hearthd({"endless": torch.jit.script(Endless())}, "--warmup-seconds", "0.5")
    (server.repository / "endless/config.pbtxt").write_text(f'model_warmup {{ name: "w" {sample} }}')
    with server.client() as client, pytest.raises(InferenceServerException, match="the warm-up sample 'w' failed"):
        client.load_model("endless")


def test_clients_that_do_not_wait_to_the_end_leave_no_trace(hearthd, protocol, scaled):
    server = hearthd({"scaled": scaled})
    client = NativeClient(protocol, server.channel())
    request = client.message("WarmRequest")(model="scaled")
    for i in range(40):
        # A kind of its own in every round, for the wait to have something to wait for.
        more = torch.zeros([1] * (i // 2 % 10), dtype=(torch.long, torch.int)[i // 20])
        client.call("scaled", "forward", torch.ones(1 + i % 2, 4), more)
        calls = [client.method("Warm").future(request, timeout=60) for _ in range(3)]
        calls[0].cancel()
        with contextlib.suppress(grpc.RpcError):
            client.method("Warm")(request, timeout=1e-4)
        assert calls[1].result().plans == calls[2].result().plans
    assert warm(client, "scaled").plans == 40
