"""hearth.v1: any method with any value, against what torch.jit makes of the same call."""

import enum
import json
import threading
import time
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import grpc
import pytest
import torch
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from torch import Tensor, nn

from integration_tests.command_line import hearth
from integration_tests.daemon import eventually
from integration_tests.native import SERVICE, NativeClient

# What a method's argument may be declared as, and what a caller may give for it.
TYPES = [
    "Tensor", "float", "int", "complex", "bool", "str", "torch.device", "Optional[int]", "Optional[Tensor]", "List[int]",
    "List[float]", "List[bool]", "List[str]", "List[Tensor]", "List[complex]", "List[List[int]]", "List[Optional[int]]",
    "Tuple[int, float]", "Dict[str, int]", "Dict[int, float]", "Dict[float, int]", "Dict[bool, int]",
    "Dict[complex, int]", "Dict[str, List[Tensor]]", "Any", "Union[int, str]", "Union[float, List[int]]", "number",
]  # fmt: skip
VALUES = [
    None, True, 1, -(2**63), 1.5, float("inf"), 1 + 2j, "cpu", "é\0", torch.device("cpu"), torch.tensor(3),
    torch.tensor(1.5 + 0j), torch.tensor(1 + 2j), torch.tensor(2.0**63, dtype=torch.float64),
    torch.tensor([2.5]), torch.ones(2), [], [1], [1.5], [True], [1, 2.5], ["a"], [torch.tensor(1)], [[1], []],
    [(1,), [2]], [1, "a"], [1, None], (), (1, 2), (1, 2.0), (1, "a"), (1, (2.5, [torch.ones(1)])), {}, {"a": 1}, {1: 2},
    {1: 2.5}, {True: 1}, {1.5: 2}, {1j: 1}, {"a": 1, "b": 2.5}, {"a": None}, {"a": [torch.ones(2)], "b": []},
]  # fmt: skip


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Box(NamedTuple):
    corners: Tensor
    label: str
    scores: List[float]


@torch.jit.script
class Counter:
    def __init__(self, start: int, name: str):
        self.start = start
        self.name = name


class Methods(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.arange(3.0))

    def forward(self, x: Tensor) -> Tensor:
        return x

    @torch.jit.export
    def scaled(self, x: Tensor, scale: float = 2.0, bias: Optional[Tensor] = None, times: Tuple[int, int] = (1, 2)) -> Tensor:
        for factor in times:
            x = x * factor
        return x * scale if bias is None else x * scale + bias

    @torch.jit.export
    def weights(self) -> Tuple[Tensor, Tensor, Tensor]:
        return self.weight, self.weight, self.weight.flip(0)[:2]

    @torch.jit.export
    def box(self, box: Box, factor: int) -> Box:
        return Box(box.corners * factor, box.label + "!", box.scores + [1.0])

    @torch.jit.export
    def color(self, color: Color) -> Tuple[Color, int]:
        return color, color.value

    @torch.jit.export
    def counter(self, counter: Counter) -> Counter:
        counter.start += 1
        return counter

    @torch.jit.export
    def nested(self, depth: int) -> Any:
        if depth == 0:
            return torch.ones(1).to_sparse()
        return "\u00e9"[0:1]

    @torch.jit.export
    def deep(self, x: List[List[List[Dict[str, Tuple[Tensor, Optional[str]]]]]]):
        return x

    @torch.jit.export
    def fails(self, x: int) -> int:
        if x > 1:
            raise ValueError("too large: " + str(x))
        return x

    @torch.jit.export
    def numbers(self, x: List[int]) -> int:
        return len(x)

    @torch.jit.export
    def spins(self, x: Tensor, rounds: int) -> Tensor:
        for _ in range(rounds):
            x = x + 1
        return x

    @torch.jit.export
    def written(self, x: Tensor) -> Tensor:
        return x.add_(1)


@pytest.fixture(scope="module")
def echo():
    """A method for each of TYPES, which answers with its argument."""
    module = torch.jit.script(Methods())
    for index, type_ in enumerate(TYPES):
        module.define(f"def echo_{index}(self, x: {type_}):\n    return x\n")
    return module


@pytest.fixture(scope="module")
def server(hearthd, echo):
    return hearthd({"methods": echo})


@pytest.fixture(scope="module")
def client(protocol, server):
    with server.channel() as channel:
        yield NativeClient(protocol, channel)


def differs(expected, got):
    """Exact, types and dtypes included; NaN is itself."""
    if isinstance(expected, Tensor):
        same = isinstance(got, Tensor) and got.dtype == expected.dtype and got.shape == expected.shape
        return not same or not torch.equal(got, expected.detach())
    if type(expected) is not type(got):
        return True
    if isinstance(expected, (list, tuple)):
        return len(expected) != len(got) or any(differs(e, g) for e, g in zip(expected, got))
    if isinstance(expected, dict):
        return differs(list(expected), list(got)) or differs(list(expected.values()), list(got.values()))
    return expected != got


def error_of(call, *args, **kwargs):
    with pytest.raises(grpc.RpcError) as raised:
        call(*args, **kwargs)
    return raised.value


# Python iterates over a string, a dict or a tensor to make a list or tuple, and makes a dict of a list of pairs; the
# protocol does not.
def is_made_by_iteration(type_, value):
    makes_sequence = type_.startswith(("List", "Tuple")) and isinstance(value, (str, dict, Tensor))
    return makes_sequence or (type_.startswith("Dict") and isinstance(value, (list, tuple)))


@pytest.mark.parametrize("index", range(len(TYPES)), ids=TYPES)
def test_what_torch_jit_accepts_is_accepted_and_becomes_the_same(client, echo, index):
    method = f"echo_{index}"
    accepted = 0
    for value in VALUES:
        if is_made_by_iteration(TYPES[index], value):
            continue
        try:
            expected = getattr(echo, method)(value)
        except (RuntimeError, TypeError):
            error = error_of(client.call, "methods", method, value)
            assert error.code() == grpc.StatusCode.INVALID_ARGUMENT, (value, error)
            assert error.details().startswith("argument 'x'"), (value, error)
            continue
        accepted += 1
        got = client.call("methods", method, value)
        assert not differs(expected, got), f"{value!r}: expected {expected!r}, got {got!r}"
    assert accepted > 0


DTYPES = [
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.bool, torch.uint8, torch.int8, torch.int16,
    torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64, torch.complex32, torch.complex64,
    torch.complex128, torch.float8_e5m2, torch.float8_e4m3fn,
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_tensor_of_every_dtype_comes_back_as_it_was(client, dtype):
    for shape in ((), (0,), (3,), (64, 33)):
        bits = torch.randint(0, 2, (*shape, dtype.itemsize), dtype=torch.uint8)
        tensor = bits.view(dtype).reshape(shape)
        got = client.call("methods", "forward", tensor)
        assert got.dtype == dtype and got.shape == tensor.shape
        assert torch.equal(got.flatten().view(torch.uint8), tensor.flatten().view(torch.uint8))


def test_arguments_go_by_place_and_by_name_and_have_defaults(client, echo):
    x = torch.tensor([1.0, 2.0])
    assert torch.equal(client.call("methods", "scaled", x), echo.scaled(x))
    assert torch.equal(client.call("methods", "scaled", x, 3), echo.scaled(x, 3))
    assert torch.equal(client.call("methods", "scaled", scale=1, x=x, times=[3, 4]), echo.scaled(scale=1, x=x, times=(3, 4)))
    assert torch.equal(client.call("methods", "scaled", x, bias=x), echo.scaled(x, bias=x))
    assert torch.equal(client.call("methods", "", x), x)  # forward


def test_what_does_not_fit_the_schema_is_refused_by_name(client):
    x = torch.ones(1)

    def refusal(*args, **kwargs):
        error = error_of(client.call, "methods", *args, **kwargs)
        assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
        return error.details()

    assert "argument 'x' of scaled is missing" in refusal("scaled")
    assert "is given twice" in refusal("scaled", x, x=x)
    assert "has no argument 'y'" in refusal("scaled", x, y=1)
    assert "argument 'scale': expected float, got str" in refusal("scaled", x, "2")
    assert "argument 'times'[1]: expected int, got float" in refusal("scaled", x, times=[1, 2.5])
    assert "takes 4 arguments, got 5" in refusal("scaled", x, 1.0, x, [1, 2], 5)
    assert "argument 'box'.label: expected str, got int" in refusal("box", (x, 1, []), 2)
    assert "has no member 'GREEN'" in refusal("color", enum.Enum("Color", "GREEN").GREEN)


def test_named_tuples_enums_and_objects_cross(client, echo):
    box = Box(torch.ones(4), "cat", [0.5])
    expected = echo.box(box, 3)
    assert not differs(tuple(expected), client.call("methods", "box", box, 3))
    assert not differs(tuple(expected), client.call("methods", "box", tuple(box), 3))
    assert client.call("methods", "color", Color.BLUE) == ("BLUE", 2)
    start = Counter(4, "n")
    assert client.call("methods", "counter", start) == {"start": 5, "name": "n"}
    answer = client.method("Call")(client.request("methods", "box", box, 3))
    assert list(answer.result.tuple.field_names) == ["corners", "label", "scores"]
    assert answer.result.tuple.type.endswith("Box")


def test_answers_that_share_memory_are_whole_each(client, echo):
    assert not differs(echo.weights(), client.call("methods", "weights"))
    deep = [[[{"a": (torch.ones(2), None), "b": (torch.zeros(0), "x")}], []]]
    assert not differs(deep, client.call("methods", "deep", deep))


def test_a_model_may_write_to_its_arguments(client):
    large = torch.zeros(5000)
    assert torch.equal(client.call("methods", "written", large), large + 1)
    assert torch.equal(client.call("methods", "written", torch.zeros(2)), torch.ones(2))


def test_an_answer_without_a_form_is_the_models_failure(client):
    sparse = error_of(client.call, "methods", "nested", 0)
    assert sparse.code() == grpc.StatusCode.INTERNAL
    assert "the result: is a tensor of SparseCPUFloatType" in sparse.details()
    half_a_letter = error_of(client.call, "methods", "nested", 1)
    assert half_a_letter.code() == grpc.StatusCode.INTERNAL
    assert "not UTF-8" in half_a_letter.details()


def test_a_failure_inside_the_model_has_its_traceback(client):
    assert client.call("methods", "fails", 1) == 1
    error = error_of(client.call, "methods", "fails", 7)
    assert error.code() == grpc.StatusCode.INTERNAL
    assert "Traceback of TorchScript" in error.details()
    assert 'raise ValueError("too large: " + str(x))' in error.details()
    assert "builtins.ValueError: too large: 7" in error.details()


def test_what_is_not_there_is_not_found(client):
    for model, version, method in (("nobody", "", "forward"), ("methods", "7", "forward"), ("methods", "", "nothing")):
        request = client.request(model, method, torch.ones(1))
        request.version = version
        assert error_of(client.method("Call"), request).code() == grpc.StatusCode.NOT_FOUND
    wrong = client.request("methods", "forward", torch.ones(1))
    wrong.version = "-1"
    assert error_of(client.method("Call"), wrong).code() == grpc.StatusCode.INVALID_ARGUMENT


def bad_messages(client):
    x = torch.ones(2)
    good = client.request("methods", "forward", x)

    def changed(change):
        request = client.message("CallRequest").FromString(good.SerializeToString())
        change(request)
        return request

    yield "is not a hearth.v1.CallRequest", b"\xff\xff\xff"
    yield "is not a hearth.v1.CallRequest", good.SerializeToString()[:-1]
    yield "got a value without a kind", changed(lambda r: r.args[0].Clear())
    yield "expects payload 3; the message has 1", changed(lambda r: setattr(r.args[0].tensor, "payload", 3))
    yield "expects payload 0; the message has 0", changed(lambda r: r.ClearField("payloads"))
    yield "payload 1 belongs to no tensor", changed(lambda r: r.payloads.append(b"x"))
    yield "the dtype 'float33'", changed(lambda r: setattr(r.args[0].tensor, "dtype", "float33"))
    yield "the dtype 'quint8'", changed(lambda r: setattr(r.args[0].tensor, "dtype", "quint8"))
    yield "expects 16 bytes, got 8", changed(lambda r: setattr(r.args[0].tensor, "dtype", "float64"))
    yield "expects 16 bytes, got 8", changed(lambda r: r.args[0].tensor.shape.append(2))
    yield "a dimension of -1", changed(lambda r: r.args[0].tensor.shape.append(-1))
    yield "more elements than memory can hold", changed(lambda r: r.args[0].tensor.shape.extend([2**62, 2**62]))
    twice = client.request("methods", "scaled", x)
    twice.kwargs["bias"].CopyFrom(twice.args[0])
    yield "names payload 0, which belongs to another tensor", twice
    nested = client.request("methods", f"echo_{TYPES.index('Any')}", 1)
    for _ in range(40):
        outer = client.message("Value")()
        outer.list.items.add().CopyFrom(nested.args[0])
        nested.args[0].CopyFrom(outer)
    yield "nested deeper than 32 levels", nested
    yield "at most 16777216 are taken", client.request("methods", "forward", "x" * (17 << 20))


def test_every_malformed_message_is_an_invalid_argument(client):
    for expected, request in bad_messages(client):
        error = error_of(client.method("Call"), request)
        assert error.code() == grpc.StatusCode.INVALID_ARGUMENT, (expected, error)
        assert expected in error.details(), (expected, error.details())
    assert torch.equal(client.call("methods", "forward", torch.ones(2)), torch.ones(2))


def test_a_deadline_ends_a_call_and_so_does_cancelling_it(client, server):
    request = client.request("methods", "spins", torch.ones(1), 2**60)
    late = error_of(client.method("Call"), request, timeout=0.3)
    assert late.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    cancelled = lambda: server.metric("nv_inference_request_failure", model="methods", reason="CANCELED")  # noqa: E731
    eventually(lambda: cancelled() == 1)
    call = client.method("Call").future(request)
    eventually(lambda: server.metric("hearth_in_flight_requests", model="methods") == 1)
    call.cancel()
    eventually(lambda: cancelled() == 2)


@pytest.mark.parametrize("how", ["deadline", "cancel"])
def test_a_long_message_is_not_read_to_its_end_when_its_client_has_given_up(hearthd, protocol, tmp_path, how):
    log = tmp_path / "access.log"
    server = hearthd({"methods": torch.jit.script(Methods())}, "--access-log", log)
    with server.channel() as channel:
        client = NativeClient(protocol, channel)
        call = client.method("Call")
        # The last of a million values is wrong: read to its end, the message would be refused for that.
        request = client.request("methods", "numbers", [*range(1_000_000), "wrong"]).SerializeToString()
        start = time.monotonic()
        assert error_of(call, request).details() == "argument 'x'[1000000]: expected int, got str"
        took = time.monotonic() - start

        def given_up(seconds):
            if how == "deadline":
                error_of(call.future(request, timeout=seconds).result)
                return
            future = call.future(request)
            time.sleep(seconds)
            future.cancel()

        def ended_on_the_way():
            for share in range(1, 10):
                given_up(took * share / 10)
            return "before it was read to its end" in log.read_text()

        # When the server has the whole message and begins to read it cannot be seen: some of the times are right.
        eventually(ended_on_the_way)


def test_calls_count_as_inferences_do_and_are_logged(hearthd, protocol, tmp_path):
    log = tmp_path / "access.log"
    server = hearthd({"m": torch.jit.script(Methods())}, "--access-log", log)
    with server.channel() as channel:
        client = NativeClient(protocol, channel)
        request = client.request("m", "fails", 1)
        request.id = "first"
        answer = client.method("Call")(request)
        assert (answer.model, answer.version, answer.id) == ("m", "1", "first")
        error_of(client.call, "m", "fails", 2)
    assert server.metric("nv_inference_request_success", model="m") == 1
    assert server.metric("nv_inference_request_failure", model="m", reason="BACKEND") == 1
    server.stop()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["model"], line["code"]) for line in lines] == [("m", "OK"), ("m", "INTERNAL")]
    assert lines[0]["id"] == "first" and lines[0]["response_bytes"] > 0


def test_many_clients_get_their_own_answers(client):
    def ask(seed, wrong):
        for i in range(30):
            x = torch.full((seed + 1,), float(i))
            if not torch.equal(client.call("methods", "scaled", x, scale=seed), x * 2 * seed):
                wrong.append((seed, i))

    wrong = []
    threads = [threading.Thread(target=ask, args=(seed, wrong)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_methods_of_a_model_are_listed_with_their_schemas(client):
    listed = client.method("ListMethods")(client.message("ListMethodsRequest")(model="methods"))
    assert (listed.model, listed.version) == ("methods", "1")
    methods = {method.name: method for method in listed.methods}
    assert set(methods) >= {"forward", "scaled", "weights", "box", "color", "fails", "echo_0"}
    scaled = methods["scaled"]
    assert scaled.return_type == "Tensor"
    described = [(a.name, a.type, a.HasField("default_value")) for a in scaled.arguments]
    assert described == [
        ("x", "Tensor", False), ("scale", "float", True), ("bias", "Optional[Tensor]", True),
        ("times", "Tuple[int, int]", True),
    ]  # fmt: skip
    defaults = [client.read(a.default_value, []) for a in scaled.arguments[1:]]
    assert defaults == [2.0, None, (1, 2)]
    missing = error_of(client.method("ListMethods"), client.message("ListMethodsRequest")(model="nobody"))
    assert missing.code() == grpc.StatusCode.NOT_FOUND


def test_reflection_describes_the_service_and_health_knows_it(server):
    with server.channel() as channel:
        reflection = reflection_pb2_grpc.ServerReflectionStub(channel)
        ask = lambda **q: next(  # noqa: E731
            iter(reflection.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(**q)])))
        )
        names = [service.name for service in ask(list_services="").list_services_response.service]
        assert SERVICE in names
        files = ask(file_containing_symbol=SERVICE).file_descriptor_response.file_descriptor_proto
        assert any(b"CallRequest" in file for file in files)
        health = health_pb2_grpc.HealthStub(channel)
        assert health.Check(health_pb2.HealthCheckRequest(service=SERVICE)).status == health_pb2.HealthCheckResponse.SERVING


# hearth infer --method


def test_the_command_line_calls_a_method_and_summarizes_the_answer(server, tmp_path):
    inputs = tmp_path / "in.pt"
    torch.save({"args": (torch.tensor([1.0, 2.0]),), "kwargs": {"times": [3, 1]}}, inputs)
    done = hearth("infer", server.address, "methods", "--method", "scaled", "--inputs", inputs)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "result  float32 [2]  [6.0, 12.0]\n"
    output = tmp_path / "out.pt"
    torch.save(([[[{"a": (torch.ones(2), None)}]]],), inputs)
    done = hearth("infer", server.address, "methods", "--method", "deep", "--inputs", inputs, "--output", output)
    assert done.returncode == 0, done.stderr
    assert not differs([[[{"a": (torch.ones(2), None)}]]], torch.load(output, weights_only=True))


def test_the_command_line_lists_methods(server):
    done = hearth("infer", server.address, "methods", "--methods")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    arguments = "x: Tensor, scale: float = 2., bias: Optional[Tensor] = None, times: Tuple[int, int] = (1, 2)"
    assert f"scaled({arguments}) -> Tensor" in lines
    assert "weights() -> Tuple[Tensor, Tensor, Tensor]" in lines
    listed = json.loads(hearth("infer", server.address, "methods", "--methods", "--json").stdout)
    assert [m["name"] for m in listed["methods"]] == [line.split("(")[0] for line in lines]


def test_the_command_line_tells_failures_apart(server, tmp_path):
    inputs = tmp_path / "in.pt"
    torch.save((7,), inputs)
    raised = hearth("infer", server.address, "methods", "--method", "fails", "--inputs", inputs)
    assert raised.returncode == 1 and "builtins.ValueError: too large: 7" in raised.stderr
    for arguments, expected in (
        (["--method", "nothing", "--inputs", inputs], "has no method 'nothing'"),
        (["--method", "weights", "--inputs", inputs], "takes 0 arguments, got 1"),
        (["--method", "weights"], "--inputs"),
        (["--inputs", inputs], "--method"),
        (["--method", "weights", "--inputs", inputs, "--random"], "--method"),
    ):
        refused = hearth("infer", server.address, "methods", *arguments)
        assert refused.returncode == 2 and expected in refused.stderr, (arguments, refused.stderr)
