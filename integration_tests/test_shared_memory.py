"""Inputs and outputs in POSIX shared memory, with Triton's own client of it, and regions that mean harm."""

import asyncio
import contextlib
import os
import uuid
from pathlib import Path
from typing import List

import grpc
import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.grpc.aio as triton_aio
from torch import nn
from tritonclient.grpc import service_pb2
from tritonclient.utils import np_to_triton_dtype, serialize_byte_tensor, shared_memory

from integration_tests import server_models as models
from integration_tests.daemon import eventually
from integration_tests.serving import fails, floats, in_flight, spin, tensor

INVALID = grpc.StatusCode.INVALID_ARGUMENT


class Shouts(nn.Module):
    def forward(self, names: List[str]) -> List[str]:
        return [name + "!" for name in names]


@pytest.fixture(scope="module")
def server(hearthd):
    made = {"identity": models.Identity(), "shouts": Shouts(), "spin": models.Spin(), "two": models.Two()}
    repository = {name: models.scripted(model) for name, model in made.items()}
    return hearthd(repository, "--allow-client-shm", "--memory-limit", "256MiB")


@pytest.fixture(autouse=True)
def no_regions(client):
    yield
    client.unregister_system_shared_memory()
    assert not client.get_system_shared_memory_status().regions
    assert client.infer("identity", [floats("x", 1)]).as_numpy("OUTPUT__0").tolist() == [1]


@contextlib.contextmanager
def memory(size, key=None):
    """(key, handle) of a new object."""
    key = key or f"/hearth_test_{uuid.uuid4().hex}"
    handle = shared_memory.create_shared_memory_region("region", key, size)
    try:
        yield key, handle
    finally:
        shared_memory.destroy_shared_memory_region(handle)


@contextlib.contextmanager
def region(client, name, size, **part):
    """The handle of a new object that is registered."""
    with memory(size) as (key, handle):
        client.register_system_shared_memory(name, key, part.get("byte_size", size), offset=part.get("offset", 0))
        yield handle


def lies_in(name, array, region_name, size=None, offset=0, datatype=None):
    made = triton.InferInput(name, list(array.shape), datatype or np_to_triton_dtype(array.dtype))
    made.set_shared_memory(region_name, array.nbytes if size is None else size, offset)
    return made


def goes_to(name, region_name, size, offset=0):
    made = triton.InferRequestedOutput(name)
    made.set_shared_memory(region_name, size, offset)
    return made


# ---- What it is for ----


@pytest.mark.parametrize("elements", [1, 1000, 5_000_000])
def test_an_input_and_an_output_travel_in_regions(client, elements):
    array = np.random.default_rng(3).random(elements, dtype=np.float32)
    with region(client, "in", array.nbytes) as source, region(client, "out", array.nbytes) as target:
        shared_memory.set_shared_memory_region(source, [array])
        answer = client.infer(
            "identity", [lies_in("x", array, "in")], outputs=[goes_to("OUTPUT__0", "out", array.nbytes)]
        )
        assert np.array_equal(shared_memory.get_contents_as_numpy(target, np.float32, array.shape), array)
    output = answer.get_output("OUTPUT__0")
    assert list(output.shape) == [elements] and output.datatype == "FP32"
    assert output.parameters["shared_memory_region"].string_param == "out"
    assert output.parameters["shared_memory_byte_size"].int64_param == array.nbytes
    assert list(answer.get_response().raw_output_contents) == [b""]


def test_parts_of_one_region_and_raw_contents_beside_them(client):
    a, b = np.array([1, 2, 3], dtype=np.float32), np.array([10, 20, 30], dtype=np.float32)
    with region(client, "all", 100, offset=4, byte_size=96) as handle:
        shared_memory.set_shared_memory_region(handle, [b], offset=4 + 20)
        outputs = [goes_to("1", "all", 12, offset=40), triton.InferRequestedOutput("0")]
        answer = client.infer("two", [tensor("a", a), lies_in("b", b, "all", offset=20)], outputs=outputs)
        diff = shared_memory.get_contents_as_numpy(handle, np.float32, [3], offset=44)
        assert diff.tolist() == [-9, -18, -27]
        del diff
    # The output that travels in the message is found by its number.
    assert answer.as_numpy("0").tolist() == [11, 22, 33]


def test_strings_lie_in_regions(client):
    names = np.array([b"a", "zwölf".encode(), b""], dtype=object)
    raw = serialize_byte_tensor(names).item()
    with region(client, "in", len(raw)) as source, region(client, "out", 100) as target:
        shared_memory.set_shared_memory_region(source, [np.array(raw, dtype=object)])
        said = lies_in("names", names, "in", size=len(raw), datatype="BYTES")
        client.infer("shouts", [said], outputs=[goes_to("OUTPUT__0", "out", 100)])
        assert shared_memory.get_contents_as_numpy(target, np.object_, [3]).tolist() == [
            b"a!", "zwölf!".encode(), b"!"]  # fmt: skip


def test_streams_and_asyncio_use_regions(server, client):
    array = np.arange(7, dtype=np.int64)
    with region(client, "in", array.nbytes) as source:
        shared_memory.set_shared_memory_region(source, [array])

        async def ask():
            async with triton_aio.InferenceServerClient(server.address) as asking:
                status = await asking.get_system_shared_memory_status("in")
                answer = await asking.infer("identity", [lies_in("x", array, "in")])

                async def requests():
                    yield {"model_name": "identity", "inputs": [lies_in("x", array, "in")]}

                streamed = [result async for result in asking.stream_infer(requests())]
                return status, answer, streamed

        status, answer, [(streamed, error)] = asyncio.run(ask())
    assert status.regions["in"].byte_size == array.nbytes
    assert error is None
    for result in (answer, streamed):
        assert result.as_numpy("OUTPUT__0").tolist() == list(range(7))


def test_the_status_tells_what_is_registered(client):
    with memory(64) as (key, _):
        client.register_system_shared_memory("a", key, 16)
        client.register_system_shared_memory("b", key, 32, offset=8)
        regions = client.get_system_shared_memory_status(as_json=True)["regions"]
        assert regions == {
            "a": {"name": "a", "key": key, "byte_size": "16"},
            "b": {"name": "b", "key": key, "offset": "8", "byte_size": "32"},
        }
        assert list(client.get_system_shared_memory_status("b").regions) == ["b"]
        client.unregister_system_shared_memory("b")
        client.unregister_system_shared_memory("never registered")
        assert list(client.get_system_shared_memory_status().regions) == ["a"]
        message = fails(grpc.StatusCode.NOT_FOUND, lambda: client.get_system_shared_memory_status("b"))
        assert message == "Unable to find system shared memory region: 'b'"
        taken = fails(grpc.StatusCode.ALREADY_EXISTS, lambda: client.register_system_shared_memory("a", key, 16))
        assert taken == "shared memory region 'a' already in manager"


def test_a_request_keeps_its_region_while_it_runs(server, client):
    with region(client, "out", 4) as target:
        call = client.async_infer(
            "spin", spin(30_000_000), callback=lambda *_: None, outputs=[goes_to("OUTPUT__0", "out", 4)]
        )
        eventually(lambda: in_flight(server) == 1)
        client.unregister_system_shared_memory("out")
        eventually(lambda: in_flight(server) == 0)
        del call
        written = shared_memory.get_contents_as_numpy(target, np.float32, [1]).tolist()
    assert written[0] > 0


# ---- What is refused ----


def test_regions_are_off_unless_allowed(hearthd):
    server = hearthd({"identity": models.scripted(models.Identity())})
    with server.client() as client, memory(16) as (key, _):
        message = fails(grpc.StatusCode.FAILED_PRECONDITION, lambda: client.register_system_shared_memory("a", key, 16))
        assert "allow_client_shm" in message
        assert not client.get_system_shared_memory_status().regions
        client.unregister_system_shared_memory()
        assert "system_shared_memory" not in client.get_server_metadata().extensions
        fails(grpc.StatusCode.NOT_FOUND, lambda: client.infer("identity", [lies_in("x", np.zeros(4, np.float32), "a")]))


def test_what_is_no_region_is_refused(client):
    def register(key, size, offset=0, name="r", code=INVALID):
        return fails(code, lambda: client.register_system_shared_memory(name, key, size, offset=offset))

    with memory(64) as (key, _):
        assert "has 64 bytes" in register(key, 65)
        register(key, 64, offset=1)
        register(key, 1, offset=2**64 - 1)
        register(key, 2**64 - 1, offset=2)
        assert "it has no bytes" in register(key, 0)
        assert "needs a name" in register(key, 64, name="")
        assert "may have 1024" in register(key, 64, name="n" * 1025)
        register(key + "\0", 64)
        register("", 64)
        register("/" + "k" * 300, 64)
    missing = register("/hearth_test_that_is_not_there", 64, code=grpc.StatusCode.NOT_FOUND)
    assert "Unable to open shared memory region: '/hearth_test_that_is_not_there'" in missing
    for outside in ("/../../etc/passwd", "/dev/shm", "..", "."):
        with pytest.raises(Exception) as error:
            client.register_system_shared_memory("r", outside, 1)
        assert error.value.status() in ("StatusCode.NOT_FOUND", "StatusCode.INVALID_ARGUMENT")


def test_what_is_no_part_of_a_region_is_refused(client):
    array = np.zeros(4, np.float32)
    with region(client, "r", 16):
        def ask(*inputs, outputs=None, code=INVALID):  # fmt: skip
            return fails(code, lambda: client.infer("identity", list(inputs), outputs=outputs))

        assert "Invalid offset + byte size for shared memory region: 'r'" in ask(lies_in("x", array, "r", offset=4))
        assert "Invalid offset for shared memory region: 'r'" in ask(lies_in("x", array, "r", offset=17))
        ask(lies_in("x", array, "r", offset=2**62))
        assert "expects 16 bytes of shared memory, got 12" in ask(lies_in("x", array, "r", size=12))
        assert "below 0" in ask(lies_in("x", array, "r", offset=-1))
        unknown = ask(lies_in("x", array, "q"), code=grpc.StatusCode.NOT_FOUND)
        assert "Unable to find shared memory region: 'q'" in unknown
        ask(tensor("x", array), outputs=[goes_to("OUTPUT__0", "r", 17)])
        too_small = ask(tensor("x", array), outputs=[goes_to("OUTPUT__0", "r", 8)])
        assert "(8 bytes) should be at least 16 bytes to hold the results" in too_small

        request = service_pb2.ModelInferRequest(model_name="identity")
        described = request.inputs.add(name="x", datatype="FP32", shape=[4])
        described.parameters["shared_memory_region"].string_param = "r"
        infer = client._client_stub.ModelInfer
        assert "needs 'shared_memory_byte_size'" in fails(INVALID, lambda: infer(request))
        described.parameters["shared_memory_byte_size"].int64_param = 16
        described.contents.fp32_contents.extend([1] * 4)
        assert "has contents, too" in fails(INVALID, lambda: infer(request))
        described.ClearField("contents")
        request.raw_input_contents.append(bytes(16))
        assert "0 inputs and 1 raw_input_contents" in fails(INVALID, lambda: infer(request))


def test_a_region_that_shrinks_fails_its_request_and_not_the_server(client):
    array = np.ones(1024, np.float32)
    with region(client, "in", array.nbytes) as source, region(client, "out", array.nbytes) as target:
        for handle in (source, target):
            with open(f"/dev/shm/{handle._mpsm_handle.name.strip('/')}", "r+b") as file:
                os.ftruncate(file.fileno(), 100)
        precondition = grpc.StatusCode.FAILED_PRECONDITION
        message = fails(precondition, lambda: client.infer("identity", [lies_in("x", array, "in")]))
        assert "smaller than when it was registered" in message
        outputs = [goes_to("OUTPUT__0", "out", array.nbytes)]
        fails(precondition, lambda: client.infer("identity", [tensor("x", array)], outputs=outputs))
        assert os.stat(f"/dev/shm/{target._mpsm_handle.name.strip('/')}").st_size == 100


def test_what_is_read_counts_for_the_requests_memory(client):
    key = f"/hearth_test_{uuid.uuid4().hex}"
    path = Path("/dev/shm") / key[1:]
    with open(path, "wb") as file:
        file.truncate(1 << 40)
    try:
        client.register_system_shared_memory("huge", key, 1 << 40)
        wanted = triton.InferInput("x", [1 << 38], "FP32")
        wanted.set_shared_memory("huge", 1 << 40)
        message = fails(grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: client.infer("identity", [wanted]))
        assert "beyond its memory limit" in message
    finally:
        path.unlink()


def test_regions_are_bounded_in_number(client):
    with memory(16) as (key, _):
        for i in range(1024):
            client.register_system_shared_memory(f"r{i}", key, 16)
        message = fails(
            grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: client.register_system_shared_memory("one more", key, 16)
        )
        assert "1024 regions" in message
        client.unregister_system_shared_memory("r5")
        client.register_system_shared_memory("one more", key, 16)


# ---- A GPU's memory ----


def test_cuda_regions_are_not_offered_where_models_are_on_the_cpu(client):
    assert not client.get_cuda_shared_memory_status().regions
    client.unregister_cuda_shared_memory()
    fails(grpc.StatusCode.NOT_FOUND, lambda: client.get_cuda_shared_memory_status("r"))
    message = fails(grpc.StatusCode.UNIMPLEMENTED, lambda: client.register_cuda_shared_memory("r", b"aGFuZGxl", 0, 16))
    assert "'r'" in message and "models are not on a GPU here" in message
    assert "cuda_shared_memory" not in client.get_server_metadata().extensions
    assert "system_shared_memory" in client.get_server_metadata().extensions
