"""What many connections, and connections without end, do to the ports of a daemon."""

import re
import resource
import socket
import struct
import threading
import urllib.error

import grpc
import pytest
from tritonclient.utils import InferenceServerException

from integration_tests import server_models
from integration_tests.daemon import eventually
from integration_tests.serving import fails, in_flight, spin


@pytest.fixture
def few_files():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return lambda server: resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (200, hard))


def live(server):
    with server.client() as client:
        try:
            return client.is_server_live(client_timeout=20)
        except InferenceServerException:
            return False


def connect(server, port="grpc_port"):
    return socket.create_connection(("127.0.0.1", server.ready[port]), timeout=20)


def test_the_port_of_grpc_outlives_a_lack_of_files(hearthd, few_files):
    server = hearthd({})
    few_files(server)  # after the start, so that the bound on connections does not keep enough of them free
    held = [connect(server) for _ in range(400)]
    for each in held:
        each.close()
    eventually(lambda: live(server))


def test_connections_of_grpc_are_bounded_and_ends_make_room(hearthd):
    server = hearthd({}, "--grpc-max-connections", "20")
    held = [connect(server) for _ in range(60)]
    # Those that are too many are closed at once; gRPC's own say something first.
    closed = 0
    for each in held:
        each.settimeout(5)
        try:
            closed += each.recv(1) == b""
        except (ConnectionResetError, TimeoutError):
            closed += 1
    assert closed >= 40
    for each in held:
        each.close()
    eventually(lambda: live(server))


def test_a_call_with_too_much_metadata_ends_alone(hearthd):
    server = hearthd({})
    with server.channel() as channel:
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"")
        next(watch)
        call = channel.unary_unary("/inference.GRPCInferenceService/ServerLive")
        for metadata in ([("x", "a" * 8000)], [("x", "a" * 60_000)], [(f"x{i}", "a" * 1000) for i in range(50)]):
            call(b"", metadata=[("x", "a" * 4096)], timeout=20)
            message = fails(grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: call(b"", metadata=metadata, timeout=20))
            assert re.search(r"the metadata of the call has \d+ bytes; it may have 8192", message)
        call(b"", timeout=20)
        assert watch.is_active()
        watch.cancel()


def test_a_connection_whose_call_brings_metadata_without_end_is_closed(hearthd):
    server = hearthd({})
    with server.channel() as channel, pytest.raises(grpc.RpcError):
        call = channel.unary_unary("/inference.GRPCInferenceService/ServerLive")
        call(b"", metadata=[("x", "a" * 200_000)], timeout=20)
    eventually(lambda: live(server))


def test_the_calls_of_one_connection_are_bounded_and_more_wait_in_the_client(hearthd):
    server = hearthd({}, "--max-in-flight-requests", "1")
    with server.channel() as channel:
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")
        held = [watch(b"") for _ in range(1025)]
        for call in held:
            next(call)
        one_more = channel.unary_unary("/inference.GRPCInferenceService/ServerLive").future(b"")
        with pytest.raises(grpc.FutureTimeoutError):
            one_more.result(timeout=1)
        held[0].cancel()
        assert one_more.result(timeout=20)


def test_a_connection_that_never_speaks_http2_is_closed(hearthd):
    server = hearthd({})
    with connect(server) as silent:
        silent.settimeout(60)
        while silent.recv(1 << 16):
            continue


def pings(connection):
    """The pings of HTTP/2 that come to a connection which has done no more than to say that it speaks HTTP/2; RFC 9113."""
    no_settings = struct.pack(">HBBBI", 0, 0, 4, 0, 0)
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + no_settings)
    frames = connection.makefile("rb")
    while header := frames.read(9):
        high, low, kind, flags, _ = struct.unpack(">BHBBI", header)
        contents = frames.read(high << 16 | low)
        if kind == 6 and not flags & 1:
            yield contents


def test_a_connection_of_grpc_without_traffic_is_pinged_and_closed_if_it_does_not_answer(hearthd):
    server = hearthd({}, "--grpc-keepalive-time", "400", "--grpc-keepalive-timeout", "2000")
    with connect(server) as answers, connect(server) as is_silent:
        came = pings(answers)
        for _ in range(3):
            answers.sendall(struct.pack(">HBBBI", 0, 8, 6, 1, 0) + next(came))
        assert len(list(pings(is_silent))) == 1  # and then it ends
        answers.sendall(struct.pack(">HBBBI", 0, 8, 6, 1, 0) + next(came))


def test_a_connection_of_grpc_without_traffic_is_left_alone_where_that_is_asked_for(hearthd):
    server = hearthd({}, "--grpc-keepalive-time", "100", "--grpc-keepalive-permit-without-calls", "off")
    with connect(server) as silent:
        silent.settimeout(2)
        with pytest.raises(TimeoutError):
            next(pings(silent))


def test_an_idle_connection_of_grpc_is_closed_and_its_client_does_not_notice(hearthd):
    server = hearthd({}, "--grpc-idle-seconds", "0.5")
    with server.channel() as channel:
        states = []
        channel.subscribe(states.append, try_to_connect=False)
        call = channel.unary_unary("/inference.GRPCInferenceService/ServerLive")
        call(b"", timeout=20)
        eventually(lambda: grpc.ChannelConnectivity.IDLE in states[1:])
        call(b"", timeout=20)


def test_times_of_http_are_settings(hearthd):
    server = hearthd({}, "--http-header-seconds", "0.3", "--http-idle-seconds", "0.3")
    with connect(server, "http_port") as half:
        half.sendall(b"GET / HT")
        assert half.recv(1 << 16).startswith(b"HTTP/1.1 408")
    with connect(server, "metrics_port") as idle:
        idle.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: h\r\n\r\n")
        text = b""
        while piece := idle.recv(1 << 16):
            text += piece
        assert text.startswith(b"HTTP/1.1 200")


def test_a_drain_answers_probes_until_calls_have_ended(hearthd):
    server = hearthd({"spin": server_models.everyday()["spin"]})
    with server.client() as client:
        done = []
        thread = threading.Thread(target=lambda: done.append(client.infer("spin", spin(60_000_000))))
        thread.start()
        eventually(lambda: in_flight(server) == 1)
        server.terminate()
        eventually(lambda: server.get("/v2/health/ready")[0] == 400 or done)
        thread.join()
        assert done
    assert server.wait() == 0
    with pytest.raises((urllib.error.URLError, OSError)):
        server.get("/v2/health/live")
