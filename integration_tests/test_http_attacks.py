"""The HTTP port under attack: whatever other connections do or leave undone, a probe is answered."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import resource
import socket
import statistics
import threading
import time

import pytest
import torch
from torch import nn

from integration_tests.daemon import eventually

# What a probe gives a server before it calls it dead.
PATIENCE = 1.0
HEAD = b"GET /v2/health/live HTTP/1.1\r\nHost: h\r\n"


class Tiny(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


class Product(nn.Module):
    """Quick or slow, as it is asked, and without a loop."""

    def forward(self, n: int) -> torch.Tensor:
        x = torch.ones(n)
        if n > 2:
            x = torch.mm(x.expand(n, n), x.expand(n, n))[0]
        return x[:1]


@pytest.fixture(scope="module")
def server(hearthd, tmp_path_factory):
    """With so many models that /metrics is large."""
    archive = tmp_path_factory.mktemp("tiny") / "tiny.pt"
    torch.jit.save(torch.jit.script(Tiny()), str(archive))
    return hearthd({f"model_with_a_rather_long_name_{i}": archive for i in range(60)})


@pytest.fixture(autouse=True)
def many_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def probe(server, port="http_port"):
    """Seconds that /v2/health/live takes on a connection of its own, the median of five."""
    seconds = []
    for _ in range(5):
        start = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", server.ready[port], timeout=10)
        connection.request("GET", "/v2/health/live")
        assert connection.getresponse().status == 200
        connection.close()
        seconds.append(time.monotonic() - start)
    print(f"/v2/health/live: median {statistics.median(seconds) * 1e3:.1f} ms, worst {max(seconds) * 1e3:.1f} ms")
    return statistics.median(seconds)


@contextlib.contextmanager
def connections(server, count, sent=b"", receive_buffer=None):
    """Connections that have sent these bytes and do no more."""
    opened = []
    try:
        for _ in range(count):
            one = socket.socket()
            opened.append(one)
            if receive_buffer is not None:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            one.settimeout(10)
            one.connect(("127.0.0.1", server.ready["http_port"]))
            with contextlib.suppress(ConnectionError):
                one.sendall(sent)
        yield opened
    finally:
        for one in opened:
            one.close()


@contextlib.contextmanager
def meanwhile(work):
    """Calls `work` again and again in another thread."""
    stop = threading.Event()

    def loop():
        while not stop.is_set():
            work()

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def answer(server, request):
    """All that the server says to these bytes before it closes or falls silent."""
    with connections(server, 1, request) as [one]:
        one.settimeout(5)
        text = b""
        with contextlib.suppress(TimeoutError, ConnectionError):
            while part := one.recv(65536):
                text += part
        return text


@pytest.mark.parametrize("count, sent", [(8, HEAD), (200, b""), (1000, b""), (1000, HEAD + b"\r\n")])
def test_a_probe_is_answered_beside_connections_that_do_nothing(server, count, sent):
    with connections(server, count, sent):
        assert probe(server) < PATIENCE


def test_a_probe_is_answered_beside_headers_that_come_byte_by_byte(server):
    with connections(server, 100, HEAD + b"X: ") as opened:

        def drip():
            for one in opened:
                with contextlib.suppress(ConnectionError):
                    one.sendall(b"x")
            time.sleep(0.01)

        with meanwhile(drip):
            assert probe(server) < PATIENCE


def test_a_probe_is_answered_beside_readers_that_do_not_read(server):
    ask = b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n"
    with connections(server, 50, ask * 100, receive_buffer=4096):
        assert probe(server) < PATIENCE
        assert "nv_inference_count" in server.get("/metrics")[1]


def test_a_header_of_a_megabyte_is_refused(server):
    large = HEAD + b"X: " + b"x" * (1 << 20) + b"\r\n\r\n"
    assert answer(server, large).startswith(b"HTTP/1.1 431 ")
    with connections(server, 50, HEAD + b"X: " + b"x" * (1 << 20)):
        assert probe(server) < PATIENCE


def test_a_probe_is_answered_beside_a_model_that_was_quick_and_then_is_slow(hearthd):
    server = hearthd({"product": torch.jit.script(Product())})
    path = "/v2/models/product/infer"

    def product(connection, n):
        inputs = [{"name": "n", "shape": [1], "datatype": "INT64", "data": [n]}]
        connection.request("POST", path, json.dumps({"inputs": inputs}))
        return json.loads(connection.getresponse().read())["outputs"][0]["data"]

    def under_way():
        return 'hearth_in_flight_requests{model="product",version="1"} 1' in server.get("/metrics", "metrics_port")[1]

    client = http.client.HTTPConnection("127.0.0.1", server.ready["http_port"], timeout=60)
    for _ in range(4):  # which begins with runs elsewhere: a model has to show that it is quick
        for _ in range(200):
            assert product(client, 2) == [1]
        with concurrent.futures.ThreadPoolExecutor() as threads:
            slow = threads.submit(product, client, 4000)
            eventually(under_way)
            for _ in range(3):
                probe(server)
            assert not slow.done()
            assert slow.result() == [4000]


@pytest.mark.parametrize(
    "framing, body, status",
    [
        (b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n", 400),
        (b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", b"0\r\n\r\n", 400),
        (b"Content-Length: 4\r\nContent-Length: 5\r\n", b"abcde", 400),
        (b"Content-Length: -1\r\n", b"", 400),
        (b"Content-Length: 1e3\r\n", b"", 400),
        (b"Content-Length: 99999999999999999999999\r\n", b"", 400),
        (b"Content-Length: 18446744073709551615\r\n", b"", 413),
        (b"Transfer-Encoding: chunked\r\n", b"zz\r\n", 400),
        (b"Transfer-Encoding: chunked\r\n", b"-1\r\nab\r\n", 400),
        (b"Transfer-Encoding: chunked\r\n", b"ffffffffffffffffff\r\nab\r\n", 400),
        (b"Transfer-Encoding: gzip\r\n", b"abc", 501),
    ],
)
def test_wrong_framing_is_refused_and_ends_the_connection(server, framing, body, status):
    smuggled = HEAD + b"\r\n"
    said = answer(server, HEAD + framing + b"\r\n" + body + smuggled)
    assert said.startswith(f"HTTP/1.1 {status} ".encode()), said
    assert said.count(b"HTTP/1.1") == 1
    with connections(server, 200, HEAD + framing + b"\r\n" + body + smuggled):
        assert probe(server) < PATIENCE


def test_a_probe_is_answered_beside_a_flood_of_new_connections(server):
    def flood():
        with contextlib.suppress(OSError), connections(server, 500):
            pass

    with meanwhile(flood):
        assert probe(server) < PATIENCE


def test_as_many_connections_as_files_allow_are_carried_and_more_take_the_oldests_place(hearthd):
    server = hearthd({})
    most = min(10_000, resource.prlimit(server.pid, resource.RLIMIT_NOFILE)[0] // 4)

    own = len(os.listdir(f"/proc/{server.pid}/fd"))

    def carried():
        return len(os.listdir(f"/proc/{server.pid}/fd")) - own

    with contextlib.ExitStack() as held:
        opened = []
        for _ in range(most - 10):  # one after the other: what comes at once, a kernel's queue may lose
            opened += held.enter_context(connections(server, 1, HEAD + b"\r\n"))
            assert opened[-1].recv(65536).startswith(b"HTTP/1.1 200 ")
        # The server's own files come and go: ten less than are open is the same.
        eventually(lambda: carried() >= most - 20)
        # Each of them is still served.
        for one in opened[:: most // 50]:
            one.sendall(HEAD + b"\r\n")
            assert one.recv(65536).startswith(b"HTTP/1.1 200 ")
        assert probe(server) < PATIENCE
        assert probe(server, "metrics_port") < PATIENCE
        with connections(server, 500):
            assert probe(server) < PATIENCE
            assert carried() <= most + 20
    eventually(lambda: carried() < 50)


def test_the_limit_of_open_files_is_raised(hearthd):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, hard), hard))
    assert resource.prlimit(hearthd({}).pid, resource.RLIMIT_NOFILE) == (hard, hard)


def test_the_port_of_metrics_answers_beside_the_other_one(server):
    status, text = server.get("/metrics", port="metrics_port")
    assert status == 200 and "nv_inference_count" in text
    assert server.get("/metrics")[0] == 200
    for path in ("/v2/health/live", "/v2/health/ready"):
        assert server.get(path, port="metrics_port") == (200, "")
    assert server.get("/nothing", port="metrics_port")[0] == 404
    with connections(server, 1000, HEAD):
        assert probe(server, "metrics_port") < PATIENCE
