"""REST against clients that are not ours: tritonclient.http and its aio, http.client; and against gRPC's answers."""

import asyncio
import concurrent.futures
import contextlib
import gzip
import json
import math
import os
import socket
import struct
import zlib

import numpy as np
import pytest
import tritonclient.grpc as grpc_triton
import tritonclient.http as triton
import tritonclient.http.aio as aio_triton
from tritonclient.utils import InferenceServerException, triton_to_np_dtype

from integration_tests import server_models, serving
from integration_tests.daemon import eventually
from integration_tests.rest import ask, ask_json, floats, one_input, refused, rest_client, tensor

VALUES = {
    "BOOL": [True, False, True],
    "UINT8": [0, 1, 255],
    "UINT16": [0, 1, 2**16 - 1],
    "UINT32": [0, 1, 2**32 - 1],
    "UINT64": [0, 2**53 + 1, 2**64 - 1],
    "INT8": [-128, 0, 127],
    "INT16": [-(2**15), 0, 2**15 - 1],
    "INT32": [-(2**31), 0, 2**31 - 1],
    "INT64": [-(2**63), 2**53 + 1, 2**63 - 1],
    "FP16": [0.5, -2.0, 65504.0],
    "FP32": [0.1, -1e-45, 3.4028234663852886e38],
    "FP64": [0.1, -5e-324, 1.7976931348623157e308],
}
IN_JSON = [datatype for datatype in VALUES if datatype != "FP16"]


@pytest.fixture(scope="module")
def rest(server):
    with rest_client(server, concurrency=16) as made:
        yield made


def array_of(datatype):
    return np.array(VALUES[datatype], dtype=triton_to_np_dtype(datatype)).reshape(1, 3)


def through_grpc(client, array, datatype):
    given = grpc_triton.InferInput("x", list(array.shape), datatype).set_data_from_numpy(array)
    return client.infer("identity", [given]).get_response().raw_output_contents[0]


@pytest.mark.parametrize("datatype", VALUES)
def test_every_datatype_passes_in_binary_form_and_is_what_grpc_answers(rest, client, datatype):
    array = array_of(datatype)
    answer = rest.infer("identity", [tensor("x", array, datatype=datatype)]).as_numpy("OUTPUT__0")
    assert answer.dtype == array.dtype and answer.tobytes() == array.tobytes()
    assert answer.tobytes() == through_grpc(client, array, datatype)


@pytest.mark.parametrize("datatype", IN_JSON)
def test_every_datatype_that_json_carries_passes_as_json(rest, client, datatype):
    array = array_of(datatype)
    wanted = [triton.InferRequestedOutput("OUTPUT__0", binary_data=False)]
    result = rest.infer("identity", [tensor("x", array, binary=False, datatype=datatype)], outputs=wanted)
    assert "data" in result.get_output("OUTPUT__0")
    answer = result.as_numpy("OUTPUT__0")
    assert answer.shape == (1, 3) and answer.tobytes() == array.tobytes() == through_grpc(client, array, datatype)


@pytest.mark.parametrize("datatype", ["FP16", "BF16"])
def test_what_json_does_not_carry_is_refused_with_advice(server, rest, datatype):
    body = one_input(datatype, [1], [1.0])
    assert "send it as binary data" in refused(server, "POST", "/v2/models/identity/infer", body)
    half = triton.InferInput("x", [1], datatype)
    half._raw_data, half._parameters = b"\0\0", {"binary_data_size": 2}
    with pytest.raises(InferenceServerException, match="ask for it with binary_data"):
        rest.infer("identity", [half], outputs=[triton.InferRequestedOutput("OUTPUT__0", binary_data=False)])
    answer = rest.infer("identity", [half], outputs=[triton.InferRequestedOutput("OUTPUT__0", binary_data=True)])
    assert answer.get_output("OUTPUT__0")["datatype"] == datatype


def nested_inputs(names):
    return [
        tensor("images.0", np.ones((1, 2), np.float32)),
        tensor("pair.0", np.array(1)),
        floats("pair.1", 1),
        floats("options.a", 1),
        names,
    ]


@pytest.mark.parametrize("binary", [True, False])
def test_strings_pass(rest, binary):
    names = np.array([b"a", "\u00e9\"\n".encode(), b""] + ([b"\xff\0"] if binary else []), dtype=np.object_)
    wanted = [triton.InferRequestedOutput("4", binary_data=binary)]
    inputs = nested_inputs(tensor("names", names, binary, datatype="BYTES"))
    answer = rest.infer("nested", inputs, outputs=wanted).as_numpy("4")
    as_bytes = [one if isinstance(one, bytes) else one.encode() for one in answer.tolist()]
    assert as_bytes == [name + b"!" for name in names.tolist()]


def test_strings_that_are_not_text_are_refused_as_json(rest):
    inputs = nested_inputs(tensor("names", np.array([b"\xff"], dtype=np.object_), datatype="BYTES"))
    with pytest.raises(InferenceServerException, match="an element that is not UTF-8"):
        rest.infer("nested", inputs, outputs=[triton.InferRequestedOutput("4", binary_data=False)])


def test_nested_answers_have_paths_and_no_outputs_means_all(server):
    body = {
        "id": "7",
        "inputs": [
            {"name": "images.0", "shape": [1, 2], "datatype": "FP32", "data": [[1, 2]]},
            {"name": "images.1", "shape": [1], "datatype": "FP32", "data": [5]},
            {"name": "pair.0", "shape": [], "datatype": "INT64", "data": [10]},
            {"name": "pair.1", "shape": [1], "datatype": "FP32", "data": [0.5]},
            {"name": "options.a", "shape": [1], "datatype": "FP32", "data": [0.25]},
            {"name": "names", "shape": [2], "datatype": "BYTES", "data": ["p", "q"]},
        ],
    }
    status, answer = ask_json(server, "POST", "/v2/models/nested/versions/1/infer", body)
    assert status == 200
    assert (answer["id"], answer["model_name"], answer["model_version"]) == ("7", "nested", "1")
    outputs = {output["name"]: (output["datatype"], output["shape"], output["data"]) for output in answer["outputs"]}
    assert outputs == {
        "0.0.boxes": ("FP32", [1, 2], [11, 12]),
        "0.0.sum": ("FP32", [], [3]),
        "0.1.boxes": ("FP32", [1], [15]),
        "0.1.sum": ("FP32", [], [5]),
        "1.boxes": ("FP32", [1], [0.75]),
        "1.label": ("BYTES", [], ["sum"]),
        "3": ("INT64", [2], [2, 1]),
        "4": ("BYTES", [2], ["p!", "q!"]),
        "5": ("BOOL", [], [True]),
    }


def test_data_is_read_in_order_however_it_is_nested_and_fields_come_in_any_order(server):
    for data in ([1, 2, 3, 4], [[1, 2], [3, 4]], [[[1], [2]], [3, 4]]):
        body = json.dumps({"inputs": [{"data": data, "datatype": "INT32", "name": "x", "shape": [2, 2]}]}).encode()
        answer = json.loads(ask(server, "POST", "/v2/models/identity/infer", body)[2])
        assert answer["outputs"][0]["data"] == [1, 2, 3, 4] and answer["outputs"][0]["shape"] == [2, 2]


def test_nan_and_infinity_pass_in_both_forms(server, rest):
    odd = np.array([np.nan, np.inf, -np.inf, -0.0], dtype=np.float32)
    wanted = [triton.InferRequestedOutput("OUTPUT__0", binary_data=False)]
    for binary in (True, False):
        answer = rest.infer("identity", [tensor("x", odd, binary)], outputs=wanted).as_numpy("OUTPUT__0")
        np.testing.assert_array_equal(answer, odd)
        assert math.copysign(1, answer[3]) == -1
    text = ask(server, "POST", "/v2/models/identity/infer", one_input("FP64", [3], [math.nan, math.inf, -math.inf]))[2]
    assert b"[NaN,Infinity,-Infinity]" in text


def test_outputs_say_each_by_itself_how_they_are_sent(rest):
    inputs = [floats("a", 5, 7), floats("b", 1, 2)]
    outputs = [triton.InferRequestedOutput("1", binary_data=False), triton.InferRequestedOutput("0", binary_data=True)]
    result = rest.infer("plain_two", inputs, outputs=outputs)
    assert [output["name"] for output in result.get_response()["outputs"]] == ["1", "0"]
    assert "data" in result.get_output("1") and result.get_output("0")["parameters"] == {"binary_data_size": 8}
    assert result.as_numpy("0").tolist() == [6, 9] and result.as_numpy("1").tolist() == [4, 5]


@pytest.fixture(scope="module")
def server(hearthd):
    repository = server_models.everyday()
    repository["plain_two"] = server_models.scripted(server_models.Two())
    repository["one"] = (
        server_models.scripted(server_models.Identity()),
        'input { name: "x" data_type: TYPE_FP32 dims: [ 2, -1 ] } output { name: "y" data_type: TYPE_FP32 dims: [ -1, -1 ] }',
    )
    repository["batched"] = (
        server_models.scripted(server_models.Identity()),
        'max_batch_size: 4 input { name: "x" data_type: TYPE_INT16 dims: [ -1 ] }'
        ' output { name: "y" data_type: TYPE_INT16 dims: [ -1 ] }',
    )
    return hearthd(repository, "--max-request-bytes", "16MiB")


def test_the_default_form_of_answers_is_json_or_what_the_request_says(server):
    body = one_input("FP32", [1], [1.5])
    status, headers, text = ask(server, "POST", "/v2/models/identity/infer", body)
    assert (status, headers["content-type"]) == (200, "application/json")
    assert "inference-header-content-length" not in headers
    body["parameters"] = {"binary_data_output": True}
    status, headers, text = ask(server, "POST", "/v2/models/identity/infer", body)
    size = int(headers["inference-header-content-length"])
    assert (status, headers["content-type"]) == (200, "application/octet-stream")
    assert text[size:] == struct.pack("<f", 1.5)
    body["outputs"] = [{"name": "OUTPUT__0", "parameters": {"binary_data": False}}]
    assert json.loads(ask(server, "POST", "/v2/models/identity/infer", body)[2])["outputs"][0]["data"] == [1.5]


def test_a_body_without_json_is_the_only_inputs_contents(server):
    contents = np.arange(6, dtype=np.float32).tobytes()
    status, headers, text = ask(server, "POST", "/v2/models/one/infer", contents, {"Inference-Header-Content-Length": "0"})
    size = int(headers["inference-header-content-length"])
    assert status == 200 and text[size:] == contents
    assert json.loads(text[:size])["outputs"][0]["shape"] == [2, 3]
    status, headers, text = ask(server, "POST", "/v2/models/batched/infer", b"\1\0\2\0", {"Inference-Header-Content-Length": "0"})
    size = int(headers["inference-header-content-length"])
    assert json.loads(text[:size])["outputs"][0]["shape"] == [1, 2]
    raw = {"Inference-Header-Content-Length": "0"}
    assert "configuration has one input" in refused(server, "POST", "/v2/models/identity/infer", contents, raw)
    assert "expects 16 bytes, got 17" in refused(server, "POST", "/v2/models/one/infer", contents[:17], raw)


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
@pytest.mark.parametrize("binary", [True, False])
def test_requests_and_answers_are_compressed(rest, algorithm, binary):
    array = np.arange(10_000, dtype=np.float32)
    result = rest.infer(
        "identity",
        [tensor("x", array, binary)],
        outputs=[triton.InferRequestedOutput("OUTPUT__0", binary_data=binary)],
        request_compression_algorithm=algorithm,
        response_compression_algorithm=algorithm,
    )
    np.testing.assert_array_equal(result.as_numpy("OUTPUT__0"), array)


def test_the_preferred_coding_is_taken(server):
    body = one_input("FP32", [1000], [0] * 1000)
    for accepted, coding in [
        ("gzip", "gzip"),
        ("deflate, gzip", "deflate"),
        ("gzip;q=0.5, deflate;q=0.8", "deflate"),
        ("br, zstd;q=0.1", None),
        ("gzip;q=0", None),
        ("gzip;q=oops", None),
        ("identity, gzip;q=0.5", None),
    ]:
        _, headers, text = ask(server, "POST", "/v2/models/identity/infer", body, {"Accept-Encoding": accepted})
        assert headers.get("content-encoding") == coding, accepted
        decode = {"gzip": gzip.decompress, "deflate": zlib.decompress, None: bytes}[coding]
        assert json.loads(decode(text))["outputs"][0]["data"] == [0] * 1000
        assert coding is None or len(text) < 500


def test_what_is_not_compressed_as_it_says_is_refused(server):
    plain = json.dumps(one_input("FP32", [1], [1])).encode()
    path = "/v2/models/identity/infer"
    packed = gzip.compress(plain)
    assert ask(server, "POST", path, packed, {"Content-Encoding": "gzip"})[0] == 200
    assert ask(server, "POST", path, gzip.compress(plain[:9]) + gzip.compress(plain[9:]), {"Content-Encoding": "gzip"})[0] == 200
    for body, coding in [(plain, "gzip"), (packed[:-9], "gzip"), (packed + b"x", "gzip"), (zlib.compress(plain) + b"x", "deflate"), (b"", "gzip")]:
        assert "is not " + coding in refused(server, "POST", path, body, {"Content-Encoding": coding})
    message = refused(server, "POST", path, plain, {"Content-Encoding": "br"}, status=501)
    assert "gzip and deflate" in message
    assert ask(server, "POST", path, plain, {"Content-Encoding": "br"})[1]["accept-encoding"] == "gzip, deflate"


def test_what_is_too_large_is_refused(server):
    path = "/v2/models/identity/infer"
    assert "16777216" in refused(server, "POST", path, b"x" * ((16 << 20) + 1), status=413)
    bomb = gzip.compress(b" " * (64 << 20), 9)
    assert "more than 16777216 bytes" in refused(server, "POST", path, bomb, {"Content-Encoding": "gzip"}, status=413)


@pytest.mark.parametrize(
    "path, body, status, message",
    [
        ("nothing/infer", one_input("FP32", [1], [1]), 404, "unknown model 'nothing'"),
        ("identity/versions/9/infer", one_input("FP32", [1], [1]), 404, "does not serve version 9"),
        ("identity/infer", one_input("FP32", [1], [1], name="y"), 400, "y"),
        ("identity/infer", one_input("FP32", [2], [1]), 400, "of shape [2] expects 2 elements, got 1"),
        ("identity/infer", one_input("FP32", [1], ["a"]), 400, "has the element \"a\""),
        ("identity/infer", b"{", 400, "is no JSON at byte 1"),
        ("identity/infer", b"", 400, "is no JSON at byte 0"),
        ("identity/infer", {"inputs": 5}, 400, "has a number for 'inputs'"),
        ("identity/infer", {"inputs": [], "outputs": [{"name": "z"}]}, 400, "output 'z'"),
        ("identity/infer", one_input("FP32", [1], [1]) | {"outputs": [{"name": "z"}]}, 400, "z"),
        ("raises/infer", one_input("FP32", [2], [1, 2]), 500, "Traceback"),
    ],
)
def test_errors_have_tritons_form_and_statuses(server, path, body, status, message):
    assert message in refused(server, "POST", "/v2/models/" + path, body, status=status)


def test_binary_contents_must_be_as_long_as_they_say(server):
    path = "/v2/models/identity/infer"

    def send(size, contents, header=None):
        described = {"name": "x", "shape": [2], "datatype": "FP32", "parameters": {"binary_data_size": size}}
        text = json.dumps({"inputs": [described]}).encode()
        headers = {"Inference-Header-Content-Length": str(len(text) if header is None else header)}
        return refused(server, "POST", path, text + contents, headers)

    assert "should have 8 bytes behind the request's JSON, where 7 are left" in send(8, bytes(7))
    assert "1 bytes follow the contents" in send(8, bytes(9))
    assert "expects 8 bytes, got 4" in send(4, bytes(4))
    assert "not a number of bytes" in send(2**64 - 1, bytes(8))
    assert f"should have {2**63 - 1} bytes" in send(2**63 - 1, bytes(8))
    assert "Inference-Header-Content-Length is 9999" in send(8, bytes(8), 9999)
    assert "should be a number of bytes, not 'x'" in send(8, bytes(8), "x")
    assert "should be a number of bytes, not '-1'" in send(8, bytes(8), -1)


@pytest.mark.parametrize("name", ["Inference-Header-Content-Length", "Content-Encoding"])
def test_a_header_that_says_where_the_json_is_comes_once(server, name):
    value = {"Inference-Header-Content-Length": "2", "Content-Encoding": "gzip"}[name]
    with socket.create_connection(("127.0.0.1", server.ready["http_port"]), timeout=20) as one:
        twice = f"{name}: {value}\r\n" * 2
        head = f"POST /v2/models/identity/infer HTTP/1.1\r\nHost: h\r\n{twice}Content-Length: 2\r\n\r\n"
        one.sendall(head.encode() + b"{}")
        answer = one.recv(1 << 16).decode()
    assert answer.startswith("HTTP/1.1 400") and f"the header {name.lower()} more than once" in answer


def test_a_client_that_sends_no_more_has_its_answer(server):
    rounds = {"name": "rounds", "shape": [], "datatype": "INT64", "data": [300_000]}
    x = {"name": "x", "shape": [1], "datatype": "FP32", "data": [0]}
    body = json.dumps({"inputs": [x, rounds]}).encode()
    with socket.create_connection(("127.0.0.1", server.ready["http_port"]), timeout=60) as one:
        head = f"POST /v2/models/spin/infer HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n"
        one.sendall(head.encode() + body)
        one.shutdown(socket.SHUT_WR)
        answer = one.makefile("rb").read()
    assert b"HTTP/1.1 200 OK" in answer and b"outputs" in answer


def test_errors_are_json_whatever_bytes_the_path_has(server):
    for method, path in (("GET", "/v2/models/%ff"), ("GET", "/v2/%ff%00"), ("POST", "/v2/repository/models/%c3%28/unload")):
        message = refused(server, method, path, status=404)
        assert "?" in message or "\ufffd" in message


def test_unknown_paths_and_methods(server):
    for path in ("/v1", "/v1/models", "/v2/models", "/v2/models/identity/versions/-x/infer", "/v2/models//infer", "/v2/x"):
        assert path in refused(server, "GET", path, status=404)
    for method, path, allowed in [
        ("POST", "/v2", "GET, HEAD"),
        ("GET", "/v2/models/identity/infer", "POST"),
        ("DELETE", "/v2/models/identity", "GET, HEAD"),
        ("GET", "/v2/repository/index", "POST"),
        ("PUT", "/v2/health/live", "GET, HEAD"),
    ]:
        status, headers, text = ask(server, method, path)
        assert (status, headers["allow"]) == (405, allowed)
        assert json.loads(text)["error"]
    assert ask(server, "HEAD", "/v2/models/identity")[2] == b""
    for path in ("/v2/models/identity", "/v2", "/v2/models/identity/infer"):
        assert ask(server, "GET", path, port="metrics_port")[0] == 404


def check_fields(message, required, optional=()):
    """Field by field: the names and types that the protocol's OpenAPI document gives."""
    assert set(required) <= set(message) <= set(required) | set(optional), message
    for name, value in message.items():
        assert isinstance(value, {**required, **dict(optional)}[name]), (name, value)


def check_tensor(message, **optional):
    check_fields(message, {"name": str, "datatype": str, "shape": list}, optional)
    assert all(isinstance(size, int) for size in message["shape"])


def test_answers_have_the_specifications_fields(server):
    _, metadata = ask_json(server, "GET", "/v2")
    check_fields(metadata, {"name": str, "version": str, "extensions": list})
    assert ask_json(server, "GET", "/v2/") == (200, metadata)
    _, metadata = ask_json(server, "GET", "/v2/models/two/versions/1")
    check_fields(metadata, {"name": str, "platform": str, "versions": list, "inputs": list, "outputs": list})
    for one in metadata["inputs"] + metadata["outputs"]:
        check_tensor(one)
    _, answer = ask_json(server, "POST", "/v2/models/identity/infer", one_input("FP32", [1], [1]) | {"id": "a"})
    check_fields(answer, {"model_name": str, "model_version": str, "id": str, "outputs": list})
    check_tensor(answer["outputs"][0], data=list)


def test_every_look_up_of_tritonclient_says_what_grpc_says(rest, client):
    assert rest.is_server_live() and rest.is_server_ready()
    assert rest.is_model_ready("identity") and rest.is_model_ready("identity", "1")
    assert not rest.is_model_ready("identity", "7") and not rest.is_model_ready("nothing")
    theirs = client.get_server_metadata(as_json=True)
    assert rest.get_server_metadata() == theirs
    theirs = client.get_model_metadata("two", as_json=True)
    ours = rest.get_model_metadata("two")
    for one in ours["inputs"] + ours["outputs"]:
        one["shape"] = [str(size) for size in one["shape"]]  # Protobuf's JSON has 64-bit integers as text
    assert ours == theirs
    config = rest.get_model_config("two")
    assert (config["name"], config["max_batch_size"], config["backend"]) == ("two", 4, "pytorch")
    assert config["input"][0]["dims"] == [3] and config["input"][0]["data_type"] == "TYPE_FP32"
    of_grpc = client.get_model_config("two", as_json=True)["config"]
    assert set(of_grpc) <= set(config)
    assert {model["name"] for model in rest.get_model_repository_index()} >= {"identity", "two", "nested"}
    rest.infer("scaled", [floats("x", 1)])
    statistics = rest.get_inference_statistics("scaled")["model_stats"]
    assert [one["name"] for one in statistics] == ["scaled"]
    assert statistics[0]["inference_count"] >= 1 and statistics[0]["inference_stats"]["success"]["count"] >= 1
    assert statistics[0]["inference_stats"]["success"]["ns"] > 0 and statistics[0]["version"] == "1"
    assert len(rest.get_inference_statistics()["model_stats"]) >= 7
    with pytest.raises(InferenceServerException, match="unknown model"):
        rest.get_model_metadata("nothing")


def test_models_are_loaded_and_unloaded(hearthd):
    server = hearthd({"a": server_models.constant(1), "b": server_models.constant(2)})
    with rest_client(server) as rest:
        rest.unload_model("a")
        eventually(lambda: not rest.is_model_ready("a"))
        index = {model["name"]: model for model in rest.get_model_repository_index()}
        assert index["a"]["state"] == "UNAVAILABLE" and index["b"]["state"] == "READY"
        rest.load_model("a")
        assert rest.is_model_ready("a")
        rest.load_model("a", config=json.dumps({"max_batch_size": 3}))
        assert rest.get_model_config("a")["max_batch_size"] == 3
        with pytest.raises(InferenceServerException):
            rest.load_model("a", config="{no")
        with pytest.raises(InferenceServerException):
            rest.load_model("nothing")
        path = "/v2/repository/models/a/"
        assert "parameters" in refused(server, "POST", path + "load", {"parameters": 5})
        assert "no object" in refused(server, "POST", path + "load", [])
        assert "no JSON" in refused(server, "POST", path + "load", b"{")
        assert "should be a boolean" in refused(server, "POST", "/v2/repository/index", {"ready": 5})
        status, text = ask_json(server, "POST", "/v2/repository/index", {"ready": True})
        assert status == 200 and {model["name"] for model in text} == {"a", "b"}
        assert ask(server, "POST", path + "unload", {"parameters": {"unload_dependents": True}})[0] == 200


def test_names_are_percent_decoded(hearthd):
    server = hearthd({"a model \u00e9": server_models.constant(4)})
    assert ask(server, "GET", "/v2/models/a%20model%20%c3%a9")[0] == 200
    with rest_client(server) as rest:
        assert rest.is_model_ready("a model \u00e9")
        assert rest.infer("a model \u00e9", [floats("x", 0)]).as_numpy("OUTPUT__0").tolist() == [4]


def test_sixteen_clients_at_once(server):
    def work(number):
        with rest_client(server) as rest:
            for step in range(40):
                array = np.full((number + 1, 50), step, dtype=np.float32)
                answer = rest.infer("identity", [tensor("x", array, binary=step % 2 == 0)]).as_numpy("OUTPUT__0")
                np.testing.assert_array_equal(answer, array)
        return number

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert list(pool.map(work, range(16))) == list(range(16))


def test_one_clients_asynchronous_requests(rest):
    asked = [rest.async_infer("identity", [floats("x", number)]) for number in range(50)]
    assert [one.get_result().as_numpy("OUTPUT__0").tolist() for one in asked] == [[number] for number in range(50)]


def test_tritons_aio_client(server):
    async def work():
        async with aio_triton.InferenceServerClient(f"127.0.0.1:{server.ready['http_port']}") as rest:
            assert await rest.is_server_ready() and await rest.is_model_ready("identity")
            assert (await rest.get_model_metadata("identity"))["name"] == "identity"
            asked = [rest.infer("identity", [floats("x", number, binary=number % 2 == 0)]) for number in range(32)]
            answers = await asyncio.gather(*asked)
            assert [one.as_numpy("OUTPUT__0").tolist() for one in answers] == [[number] for number in range(32)]
            with pytest.raises(InferenceServerException, match="unknown model"):
                await rest.infer("nothing", [floats("x", 1)])

    asyncio.run(work())


SPIN = {
    "inputs": [
        {"name": "x", "shape": [1], "datatype": "FP32", "data": [0]},
        {"name": "rounds", "shape": [], "datatype": "INT64", "data": [serving.LONG]},
    ]
}


@contextlib.contextmanager
def spinning(server, count):
    """So many requests that run for long, whose clients hang up at the end."""
    text = json.dumps(SPIN).encode()
    head = f"POST /v2/models/spin/infer HTTP/1.1\r\nHost: h\r\nContent-Length: {len(text)}\r\n\r\n".encode()
    with contextlib.ExitStack() as opened:
        for _ in range(count):
            one = opened.enter_context(socket.create_connection(("127.0.0.1", server.ready["http_port"])))
            one.sendall(head + text)
        # The others may wait until a thread is free to read them.
        eventually(lambda: serving.in_flight(server) >= 1)
        yield


def test_probes_and_look_ups_are_answered_while_inferences_run_and_wait(server):
    with spinning(server, 32):
        for _ in range(5):
            for path in ("/v2/health/live", "/v2/health/ready", "/v2/models/spin/ready", "/v2", "/v2/models/spin", "/v2/models/spin/config"):
                assert ask(server, "GET", path)[0] == 200


def test_a_client_that_hangs_up_cancels_its_run(server):
    with spinning(server, 3):
        pass
    eventually(lambda: serving.in_flight(server) == 0)


def test_settings_are_told_and_changed(rest, server):
    settings = rest.get_trace_settings()
    assert settings["trace_level"] == ["OFF"] and settings["trace_rate"] == "1000"
    assert rest.get_trace_settings("identity") == settings
    assert rest.update_trace_settings(settings={"trace_level": ["OFF"], "trace_rate": None}) == settings
    with pytest.raises(InferenceServerException, match="does not trace"):
        rest.update_trace_settings(settings={"trace_level": ["TIMESTAMPS"]})
    assert "trace_level" in refused(server, "POST", "/v2/trace/setting", {"trace_level": [5]})
    refused(server, "GET", "/v2/models/nothing/trace/setting", status=404)
    log = rest.get_log_settings()
    assert log["log_info"] is True and log["log_verbose_level"] == 0
    assert rest.update_log_settings({"log_verbose_level": 1})["log_verbose_level"] == 1
    assert rest.update_log_settings({"log_verbose_level": 0, "log_error": None}) == log
    assert "log_info" in refused(server, "POST", "/v2/logging", {"log_info": 5})
    assert "log_info" in refused(server, "POST", "/v2/logging", {"log_info": [True]})


def test_top_classes_are_told(rest):
    scores = tensor("x", np.array([0.1, 3.0, -1.0, 2.0], dtype=np.float32))
    for binary in (True, False):
        wanted = [triton.InferRequestedOutput("OUTPUT__0", binary_data=binary, class_count=2)]
        classes = rest.infer("identity", [scores], outputs=wanted).as_numpy("OUTPUT__0").tolist()
        texts = [one.decode() if isinstance(one, bytes) else one for one in classes]
        assert [(float(text.split(":")[0]), int(text.split(":")[1])) for text in texts] == [(3, 1), (2, 3)]


@pytest.fixture
def region():
    """A POSIX object of 64 bytes, with two floats at its beginning."""
    with open("/dev/shm/hearth_rest_test", "wb+") as file:
        try:
            file.write(np.array([5, 7], dtype=np.float32).tobytes() + bytes(56))
            file.flush()
            yield file
        finally:
            os.unlink(file.name)


def test_tensors_pass_through_shared_memory(hearthd, region):
    server = hearthd({"identity": server_models.scripted(server_models.Identity())}, "--allow-client-shm")
    with rest_client(server) as rest:
        assert rest.get_system_shared_memory_status() == []
        rest.register_system_shared_memory("r", "/hearth_rest_test", 64)
        assert rest.get_system_shared_memory_status("r") == [
            {"name": "r", "key": "/hearth_rest_test", "offset": 0, "byte_size": 64}
        ]
        given = triton.InferInput("x", [2], "FP32")
        given.set_shared_memory("r", 8)
        wanted = triton.InferRequestedOutput("OUTPUT__0")
        wanted.set_shared_memory("r", 8, offset=16)
        result = rest.infer("identity", [given], outputs=[wanted])
        described = result.get_output("OUTPUT__0")
        assert "data" not in described
        assert described["parameters"] == {
            "shared_memory_region": "r", "shared_memory_byte_size": 8, "shared_memory_offset": 16
        }  # fmt: skip
        region.seek(16)
        assert np.frombuffer(region.read(8), dtype=np.float32).tolist() == [5, 7]
        with pytest.raises(InferenceServerException):
            rest.register_system_shared_memory("s", "/hearth_no_such_object", 64)
        assert "byte_size" in refused(server, "POST", "/v2/systemsharedmemory/region/s/register", {"key": "/a"})
        rest.unregister_system_shared_memory("r")
        assert rest.get_system_shared_memory_status() == []
        assert rest.get_cuda_shared_memory_status() == []
        body = {"raw_handle": {"b64": "AAAA"}, "device_id": 0, "byte_size": 4}
        refused(server, "POST", "/v2/cudasharedmemory/region/s/register", body, status=501)
        assert "b64" in refused(server, "POST", "/v2/cudasharedmemory/region/s/register", {})
        assert ask(server, "POST", "/v2/cudasharedmemory/unregister")[0] == 200


def test_a_requests_time_is_its_own(server):
    body = dict(SPIN, parameters={"timeout": 50_000})
    assert "deadline" in refused(server, "POST", "/v2/models/spin/infer", body, status=503).lower()
