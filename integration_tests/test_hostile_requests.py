"""Requests that mean harm: each is refused, or answered, in bounded memory and time, and the daemon goes on serving."""

import asyncio
import re
import struct
import time
from pathlib import Path

import grpc
import pytest
import torch
from tritonclient.grpc import InferRequestedOutput, service_pb2
from tritonclient.utils import InferenceServerException

from integration_tests import hostile, rest
from integration_tests.daemon import CHANNEL_OPTIONS, NO_READING_AHEAD
from integration_tests.hostile import MEBIBYTE
from integration_tests.native import NativeClient
from integration_tests.serving import Stream, fails, floats, tensor

SEND_SECONDS = 2
INFER = "/inference.GRPCInferenceService/ModelInfer"


@pytest.fixture(scope="module")
def server(hearthd):
    return hearthd(hostile.models(), "--memory-limit", "2GiB", "--requests-memory-limit", "3GiB", "--send-seconds",
                   SEND_SECONDS)  # fmt: skip


@pytest.fixture
def native(protocol, server):
    with server.channel() as channel:
        yield NativeClient(protocol, channel)


@pytest.fixture(autouse=True)
def still_serves(server, client):
    yield
    assert client.infer("identity", [floats("x", 1)]).as_numpy("OUTPUT__0").tolist() == [1]


class Memory:
    """How much more memory a process came to hold, at most, within the block."""

    def __init__(self, server):
        self.folder = Path("/proc") / str(server.pid)

    def __enter__(self):
        (self.folder / "clear_refs").write_text("5")
        self.before = self.now("VmRSS")
        return self

    def __exit__(self, *error):
        self.grown = self.now("VmHWM") - self.before

    def now(self, field):
        lines = (self.folder / "status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def refused(server, message, method=INFER):
    """Of a message that is: why, and how much memory it took at most."""
    with Memory(server) as memory, server.channel() as channel, pytest.raises(grpc.RpcError) as error:
        channel.unary_unary(method)(message, timeout=60)
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    return error.value.details(), memory.grown


# ---- Keys that are chosen for the table ----


def test_int_keys_that_collide(server, native):
    with Memory(server) as memory, pytest.raises(grpc.RpcError) as error:
        native.call("hostile", "ints", {key: 1 for key in hostile.COLLIDING})
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert error.value.details() == "argument 'd': the keys of a dict have hashes that collide too often"
    assert memory.grown < 64 * MEBIBYTE


def test_int_keys_that_collide_in_the_standard_protocol(server, client):
    inputs = [floats(f"d.{key}", 1) for key in hostile.COLLIDING]
    with Memory(server) as memory:
        message = fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: client.infer("of_ints", inputs))
    assert "the keys of a dict have hashes that collide too often" in message
    assert memory.grown < 64 * MEBIBYTE


def test_usual_keys_of_many_kinds_do_not_collide_too_often(native):
    for step in (1, 2, 3, 8, 1000, 1 << 20, 1 << 40, -1, 4096 * 8):
        assert native.call("hostile", "ints", {i * step: 1 for i in range(2000)}) == 2000
    assert native.call("hostile", "texts", {f"key{i}": 1 for i in range(20000)}) == 20000


def test_a_key_is_not_copied_for_each_value_below_it(native):
    request = native.request("hostile", "lists", {"": list(range(900_000))})
    # A copy for each would be 7 TB, to read the message and to write the answer.
    key = request.args[0].dict.entries[0].key.str_value = "k" * 8 * MEBIBYTE
    answer = native.read_answer(native.method("Call")(request, timeout=60))
    assert list(answer) == [key] and len(answer[key]) == 900_000


# ---- Messages that grow when they are read ----


@pytest.mark.parametrize("field", [4, 5, 6, 7])
def test_empty_entries_by_the_million(server, field):
    message = hostile.empty_entries(field)
    reason, grown = refused(server, message)
    assert "the request" in reason and str(1 << 16) in reason
    assert grown < 6 * len(message)


def test_empty_texts_by_the_million(server):
    message = hostile.empty_texts()
    reason, grown = refused(server, message)
    assert "holds 2 messages and 4194305 texts" in reason
    assert grown < 8 * len(message)


def test_empty_values_by_the_million(server):
    message = hostile.empty_values()
    _, grown = refused(server, message, "/hearth.v1.ModelService/Call")
    assert grown < 8 * len(message)


def test_an_output_that_is_named_many_times_is_sent_once(server, client):
    with Memory(server) as memory:
        result = client.infer("identity", [floats("x", *range(1000))], outputs=[InferRequestedOutput("OUTPUT__0")] * 20000)
    assert [output.name for output in result.get_response().outputs] == ["OUTPUT__0"]
    assert memory.grown < 64 * MEBIBYTE


# ---- Answers ----


def test_an_answer_that_grows_when_it_is_written_counts_for_the_request(server, client):
    elements = tensor("elements", 1 << 32)  # 16 GiB as bytes, four in the model
    with Memory(server) as memory:
        message = fails(grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: client.infer("large", [elements]))
    assert "beyond its memory limit of 2147483648 bytes" in message
    assert memory.grown < 64 * MEBIBYTE


def test_an_answer_that_is_one_tensor_many_times(server, client):
    with Memory(server) as memory:
        message = fails(grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: client.infer("repeated", [tensor("n", 100_000)]))
    assert "beyond its memory limit of 2147483648 bytes" in message
    assert memory.grown < 2200 * MEBIBYTE


def test_an_answer_of_more_bytes_than_a_message_may_have_is_not_sent(hearthd):
    server = hearthd({"empty": torch.jit.script(hostile.Empty())}, "--memory-limit", "4GiB")
    with Memory(server) as memory, server.client() as client, rest.rest_client(server) as rest_client:
        message = fails(grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: client.infer("empty", [tensor("elements", 1 << 29)]))
        assert re.search(r"the answer has 21474836\d\d bytes; at most 2147483647 can be sent", message)
        with pytest.raises(InferenceServerException, match="the answer has 2147483[78]"):
            rest_client.infer("empty", [rest.tensor("elements", 1 << 29)])
    assert memory.grown < 64 * MEBIBYTE


def test_lists_that_hold_each_other(server, native, client):
    start = time.monotonic()
    message = fails(grpc.StatusCode.INTERNAL, lambda: client.infer("doubled", [tensor("n", 40)], client_timeout=60))
    assert "one of more than 1048576 parts" in message
    with pytest.raises(grpc.RpcError) as error:
        native.call("doubled", "forward", 30)
    assert "is one of more than 1048576 values" in error.value.details()
    assert time.monotonic() - start < 60


def test_what_a_model_raises_reaches_stream_and_log_as_text(server):
    with Stream(server) as stream:
        stream.send("forger", [floats("x", 1)])
        _, error = stream.next()
        assert "forged\N{REPLACEMENT CHARACTER}" in str(error)
        stream.send("identity", [floats("x", 2)])
        result, _ = stream.next()
        assert result.as_numpy("OUTPUT__0").tolist() == [2]
    log = Path(server.log.name).read_bytes()
    assert b"\\x1b[2J\n  | 2026-01-01T00:00:00.000+0000 E api: forged" in log
    assert b"\x1b" not in log and b"\n2026-01-01" not in log


def test_a_name_that_is_no_text_is_refused_and_leaves_nothing_in_the_log(server):
    before = Path(server.log.name).stat().st_size
    with server.channel() as channel:
        call = channel.unary_unary("/inference.GRPCInferenceService/ModelReady")
        for _ in range(100):
            with pytest.raises(grpc.RpcError):
                call(b"\x0a\x04\xff\xfe\xfd\xfc", timeout=20)
    assert Path(server.log.name).read_bytes()[before:] == b""


# ---- Others wait for nobody ----


def test_the_server_answers_while_large_messages_are_read(server, native):
    request = native.request("hostile", "total", list(range(900_000))).SerializeToString()
    calls = [native.method("Call").future(request, timeout=300) for _ in range(8)]
    with server.client() as client:
        while not all(call.done() for call in calls):
            assert client.is_server_live(client_timeout=2)
    assert [native.read_answer(call.result()) for call in calls] == [900_000] * 8


def test_the_requests_of_a_model_have_a_limit_together(hearthd):
    own = "parameters { key: 'requests_memory_limit' value { string_value: '100000000' } }"
    zeros = torch.jit.script(hostile.Zeros())
    with hearthd({"narrow": (zeros, own), "wide": zeros}, "--model-memory-limit", "300MB").client() as client:

        def ask(model, megabytes):
            answer = client.infer(model, [tensor("elements", megabytes * 250_000)])
            return answer.as_numpy("OUTPUT__0").nbytes // 1_000_000

        assert ask("wide", 200) == 200
        for model, megabytes in (("narrow", 200), ("wide", 400)):
            message = fails(grpc.StatusCode.RESOURCE_EXHAUSTED, lambda model=model, size=megabytes: ask(model, size))
            assert "while all requests of the model held" in message
        assert ask("narrow", 50) == 50


def test_answers_that_nobody_reads_are_bounded_and_given_up(server):
    request = service_pb2.ModelInferRequest(model_name="zeros")
    request.inputs.add(name="elements", datatype="INT64", shape=[1])
    request.raw_input_contents.append(struct.pack("<q", 2 * MEBIBYTE))  # answers of 8 MiB
    message = request.SerializeToString()

    async def read_nothing(channel):
        stream = channel.stream_stream("/inference.GRPCInferenceService/ModelStreamInfer")()
        writing = asyncio.create_task(write(stream))
        call = channel.unary_unary(INFER)(message)
        await asyncio.sleep(4 * SEND_SECONDS)  # one answer or two fit into what a connection buffers
        writing.cancel()
        with pytest.raises(grpc.aio.AioRpcError) as ended:
            for _ in range(60):  # what the transport had taken before comes first
                assert await stream.read() is not grpc.aio.EOF
        assert ended.value.code() == grpc.StatusCode.CANCELLED
        assert len(await call) > 8 * MEBIBYTE  # a client asks for the answer of such a call as soon as it makes it

    async def write(stream):
        for _ in range(60):
            await stream.write(message)

    async def attack():
        async with grpc.aio.insecure_channel(server.address, [*CHANNEL_OPTIONS, NO_READING_AHEAD]) as channel:
            await asyncio.gather(*(read_nothing(channel) for _ in range(8)))

    with Memory(server) as memory:
        asyncio.run(attack())
    # Each client: the first requests of a stream, while nothing is known of their answers, and the answer of its call.
    assert memory.grown < 8 * 6 * 10 * MEBIBYTE
