"""Bodies of REST that mean harm: each is refused, or answered, in bounded memory, and probes are answered meanwhile."""

import contextlib
import gzip
import json
import socket
import threading
import zlib

import pytest

from integration_tests import hostile, server_models
from integration_tests.hostile import MEBIBYTE
from integration_tests.rest import ask, floats, one_input, refused, rest_client
from integration_tests.test_hostile_requests import Memory
from integration_tests.test_http_attacks import PATIENCE, meanwhile, probe

INFER = "/v2/models/identity/infer"
# What a body may be; the requests' own copies of it and the allocator's slack come on top.
BODY = 16 * MEBIBYTE


@pytest.fixture(scope="module")
def server(hearthd):
    return hearthd(hostile.models(), "--max-request-bytes", "16MiB", "--memory-limit", "256MiB",
                   "--requests-memory-limit", "1GiB")  # fmt: skip


@pytest.fixture(autouse=True)
def still_serves(server):
    yield
    with rest_client(server) as rest:
        assert rest.infer("identity", [floats("x", 1)]).as_numpy("OUTPUT__0").tolist() == [1]


def input_with(data, shape="[1]", datatype="FP32"):
    text = '{"inputs":[{"name":"x","shape":%s,"datatype":"%s","data":%s}]}' % (shape, datatype, data)
    return text.encode()


LATE = b'{"inputs":[{"data":%s,"name":"x","shape":[1],"datatype":"FP32"}]}'
ATTACKS = {
    "nested arrays": (input_with("[" * (8 << 20)), "nests deeper than 100 levels"),
    "nested objects": (b'{"a":' * (2 << 20), "nests deeper than 100 levels"),
    "nested where the datatype is not known yet": (LATE % (b"[" * (8 << 20)), "nests deeper than 100 levels"),
    "empty arrays": (input_with("[" + "[]," * (4 << 20) + "1,2]"), "its data has more"),
    "empty inputs": (b'{"inputs":[' + b"{}," * (4 << 20) + b"{}]}", "more than 65536 inputs"),
    "empty outputs": (b'{"outputs":[' + b"{}," * (4 << 20) + b"{}]}", "more than 65536 inputs"),
    "parameters": (b'{"parameters":{' + b",".join(b'"%d":1' % i for i in range(100_000)) + b"}}", "more than 65536"),
    "dimensions": (input_with("[1]", "[" + "1," * (4 << 20) + "1]"), "more than 64 dimensions"),
    "a shape without elements": (input_with("[1]", "[1000000000000]", "FP64"), "expects 1000000000000 elements"),
    "a long number": (input_with("[" + "1" * (15 << 20) + "]"), "is no JSON"),
    "a long fraction": (input_with("[0." + "1" * (15 << 20) + ",1]"), "its data has more"),
    "a small exponent": (input_with("[1.11111111111e-2147483639,1]"), "its data has more"),
    "many numbers too many": (input_with("[" + "1," * (7 << 20) + "1]"), "its data has more"),
    "strings": (input_with("[" + '"",' * (4 << 20) + '""]', "[3]", "BYTES"), "its data has more"),
    "escapes": (input_with('["' + "\\u0000" * (2 << 20) + '"]'), "which is not one"),
    "unknown fields": (b'{"a":[' + b'{"b":null},' * (1 << 20) + b"1]}", "has no 'inputs'"),
    "a long name": (b'{"' + b"a" * (15 << 20) + b'":1}', "has no 'inputs'"),
    "blanks": (b" " * (15 << 20), "is no JSON"),
    "bytes": (b"\xff" * (15 << 20), "is no JSON"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_body_is_refused_in_little_memory(server, attack):
    body, message = ATTACKS[attack]
    with Memory(server) as memory:
        assert message in refused(server, "POST", INFER, body)
    assert memory.grown < 3 * BODY + 100 * MEBIBYTE


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_bomb_stops_at_the_bound(server, coding):
    compressor = zlib.compressobj(6, zlib.DEFLATED, 31 if coding == "gzip" else 15)
    bomb = b"".join(compressor.compress(b" " * MEBIBYTE) for _ in range(512)) + compressor.flush()
    assert len(bomb) < MEBIBYTE
    with Memory(server) as memory:
        message = refused(server, "POST", INFER, bomb, {"Content-Encoding": coding}, status=413)
    assert "more than 16777216 bytes when it is decoded" in message
    assert memory.grown < 3 * BODY


def test_what_a_compressed_body_becomes_counts_for_its_request(hearthd):
    server = hearthd({"identity": server_models.scripted(server_models.Identity())}, "--memory-limit", "16MiB")
    body = gzip.compress(json.dumps(one_input("FP32", [1], [1])).encode() + b" " * (60 << 20))
    message = refused(server, "POST", INFER, body, {"Content-Encoding": "gzip"}, status=503)
    assert "memory limit" in message


@pytest.mark.parametrize("attack", ["empty arrays", "many numbers too many", "strings", "unknown fields"])
def test_probes_are_answered_while_hostile_bodies_are_read(server, attack):
    body, message = ATTACKS[attack]

    def send():
        assert message in refused(server, "POST", INFER, body)

    with meanwhile(send), meanwhile(send):
        assert probe(server) < PATIENCE


def test_probes_are_answered_beside_bodies_that_do_not_come(server):
    head = b"POST " + INFER.encode() + b" HTTP/1.1\r\nHost: h\r\nContent-Length: 16000000\r\n\r\n{"
    with contextlib.ExitStack() as opened, Memory(server) as memory:
        for _ in range(200):
            one = opened.enter_context(socket.create_connection(("127.0.0.1", server.ready["http_port"])))
            one.sendall(head)
        assert probe(server) < PATIENCE
    assert memory.grown < 100 * MEBIBYTE


def test_clients_that_leave_in_the_middle_of_everything(server):
    body = input_with("[" + "1," * (1 << 20) + "1]", "[1048577]")
    request = b"POST " + INFER.encode() + b" HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body) + body

    def leave(part):
        for size in range(part, len(request) + 1, len(request) // 7):
            with socket.create_connection(("127.0.0.1", server.ready["http_port"])) as one:
                one.sendall(request[:size])

    threads = [threading.Thread(target=leave, args=(part,)) for part in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_bodies_of_other_methods_are_bounded_too(server):
    large = b" " * (2 << 20)
    assert "1048576" in refused(server, "POST", "/v2/repository/index", large, status=413)
    many = b"[" + b"[]," * 100_000 + b"1]"
    assert "more than 4096 values" in refused(server, "POST", "/v2/repository/index", many)
    with Memory(server) as memory:
        assert "more than 4096 values" in refused(server, "POST", "/v2/repository/models/identity/load", b"[" + b"[]," * (4 << 20))
        deep = b"[" * (8 << 20)
        assert "deeper than 100" in refused(server, "POST", "/v2/repository/models/identity/load", deep)
    assert memory.grown < 3 * BODY
    # A body where none is wanted.
    assert ask(server, "GET", "/v2/models/identity", b"x" * (2 << 20))[0] == 413
