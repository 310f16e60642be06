"""The port of gRPC under floods of HTTP/2's frames, plain and with TLS; and clients that come near the bounds and may."""

import contextlib
import re
import socket
import ssl

import grpc
import pytest
import tritonclient.grpc as triton

from integration_tests import hostile, http2_floods
from integration_tests.attacks import infer_request
from integration_tests.certificates import Authority
from integration_tests.daemon import eventually
from integration_tests.hostile import MEBIBYTE
from integration_tests.http2_floods import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PING,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    frame,
)

REASONS = {"headers_without_end": "header", "headers_in_small_pieces": "header", "resets": "resets"}
MOST_SENT = 32 * MEBIBYTE  # before the end is seen: what sockets hold


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def tls_flags(authority):
    certificate, key = authority.issue("server")
    return ["--grpc-use-ssl", "--grpc-server-cert", certificate, "--grpc-server-key", key]


@pytest.fixture(scope="module")
def server(hearthd):
    return hearthd({})


@pytest.fixture(scope="module")
def tls_server(hearthd, tls_flags):
    return hearthd({}, *tls_flags)


def connect(server, authority=None):
    plain = socket.create_connection(("127.0.0.1", server.ready["grpc_port"]), timeout=20)
    if authority is None:
        return plain
    context = ssl.create_default_context(cafile=str(authority.certificate))
    context.set_alpn_protocols(["h2"])
    return context.wrap_socket(plain, server_hostname="localhost")


def ended(server, reason):
    return server.metric("hearth_grpc_connections_ended_total", reason=reason)


def read_what_came(connection):
    """By the thread that sends: a connection with TLS is not for two at once."""
    connection.setblocking(False)
    try:
        while connection.recv(1 << 16):
            continue
        raise ConnectionResetError
    except (BlockingIOError, ssl.SSLWantReadError):
        connection.settimeout(20)


def send_until_closed(connection, parts):
    """How much was sent until the server ended the connection, or it was too much; what it says meanwhile is read."""
    sent = 0
    with contextlib.suppress(OSError):
        for part in parts:
            connection.sendall(part)
            sent += len(part)
            if sent > MOST_SENT:
                return sent
            read_what_came(connection)
        while connection.recv(1 << 16):
            continue
    connection.close()
    return sent


@pytest.mark.parametrize("flood", http2_floods.FLOODS, ids=lambda flood: flood.__name__)
def test_a_flood_ends_its_connection_and_no_other(server, flood):
    reason = REASONS.get(flood.__name__, "frames")
    before = ended(server, reason)
    with server.client() as client:
        assert client.is_server_live()
        assert send_until_closed(connect(server), flood()) < MOST_SENT
        assert client.is_server_live(client_timeout=20)
    if flood != http2_floods.pings:  # which gRPC counts too
        assert ended(server, reason) == before + 1


@pytest.mark.parametrize("name", ["headers_without_end", "resets", "settings", "empty_data"])
def test_a_flood_within_tls_ends_its_connection_and_no_other(tls_server, authority, name):
    flood = getattr(http2_floods, name)
    reason = REASONS.get(name, "frames")
    before = ended(tls_server, reason)
    root = str(authority.certificate)
    with triton.InferenceServerClient(tls_server.address, ssl=True, root_certificates=root) as client:
        assert client.is_server_live()
        assert send_until_closed(connect(tls_server, authority), flood()) < MOST_SENT
        assert client.is_server_live(client_timeout=20)
    assert ended(tls_server, reason) == before + 1


def test_what_is_ended_is_logged_with_the_peer_once_a_second(hearthd, tmp_path):
    log = tmp_path / "hearth.log"
    server = hearthd({}, "--log-file", log, "--grpc-max-address-control-frames", "1000000")
    for _ in range(20):
        send_until_closed(connect(server), http2_floods.settings())
    assert ended(server, "frames") == 20
    lines = [line for line in log.read_text().splitlines() if "a connection of gRPC" in line]
    assert re.search(r"refused a connection of gRPC from 127.0.0.1:\d+: more frames without content than", lines[0])
    assert len(lines) < 20


def test_as_many_calls_as_a_new_connection_may_cancel_are_cancelled_at_once(hearthd):
    server = hearthd({})
    with server.channel() as channel:
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")
        stays = watch(b"")
        next(stays)
        calls = [watch(b"") for _ in range(990)]
        for call in calls:
            next(call)
        for call in calls:
            call.cancel()
        channel.unary_unary("/inference.GRPCInferenceService/ServerLive")(b"", timeout=20)
        assert stays.is_active()
        stays.cancel()
    assert ended(server, "resets") == 0


def answer_with_two_updates_a_frame(connection, message, frames_to_come):
    """Sends the inference, and for each DATA of its answer a window update of the call and one of the connection; gives the
    bytes that came."""
    call = frame(HEADERS, http2_floods.call_headers(b"/inference.GRPCInferenceService/ModelInfer"), 1, END_HEADERS)
    prefixed = b"\0" + len(message).to_bytes(4, "big") + message
    connection.sendall(http2_floods.START + call + frame(DATA, prefixed, 1, END_STREAM))
    came, frames = 0, 0
    with connection.makefile("rb") as stream:
        while one := http2_floods.read_frame(stream):
            kind, flags, contents = one
            if kind == HEADERS and flags & END_STREAM:
                break
            if kind == DATA and contents:
                came, frames = came + len(contents), frames + 1
                size = len(contents).to_bytes(4, "big")
                connection.sendall(frame(WINDOW_UPDATE, size, 1) + frame(WINDOW_UPDATE, size))
    assert frames > frames_to_come
    return came


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "tls"])
def test_who_gets_much_may_send_a_window_update_for_each_part(hearthd, authority, tls_flags, encrypted):
    flags = ["--grpc-max-control-frames", "1", *(tls_flags if encrypted else [])]
    server = hearthd({"zeros": hostile.models()["zeros"]}, *flags)
    root = authority if encrypted else None
    message = infer_request("zeros", elements=8 * MEBIBYTE)
    with connect(server, root) as connection:
        assert answer_with_two_updates_a_frame(connection, message, 1000) > 8 * MEBIBYTE
    assert ended(server, "frames") == 0
    # Without an answer, they are too many.
    updates = http2_floods.START + frame(WINDOW_UPDATE, (1).to_bytes(4, "big")) * 1100
    assert send_until_closed(connect(server, root), [updates]) <= len(updates)
    eventually(lambda: ended(server, "frames") == 1)


def test_cancelled_calls_are_bounded_as_the_setting_says(hearthd):
    server = hearthd({}, "--grpc-max-resets", "1", "--max-in-flight-requests", "1")
    cancelled = b"".join(
        http2_floods.open_call(stream) + frame(http2_floods.RST_STREAM, bytes(4), stream) for stream in range(1, 2201, 2)
    )
    send_until_closed(connect(server), [http2_floods.START + cancelled])
    eventually(lambda: ended(server, "resets") == 1)


CANCELLED_CALLS = b"".join(
    http2_floods.open_call(stream) + frame(RST_STREAM, bytes(4), stream) for stream in range(1, 1801, 2)
)


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize(
    ("flag", "sent"),
    [("--grpc-max-address-resets", CANCELLED_CALLS), ("--grpc-max-address-control-frames", frame(SETTINGS) * 900)],
    ids=["resets", "frames"],
)
def test_what_all_connections_of_an_address_send_is_bounded(hearthd, authority, tls_flags, tmp_path, encrypted, flag, sent):
    """Each of them sends less than one connection may."""
    log = tmp_path / "hearth.log"
    server = hearthd({}, flag, "100", "--log-file", log, *(tls_flags if encrypted else []))
    with contextlib.ExitStack() as connections:
        stays = connections.enter_context(connect(server, authority if encrypted else None))
        stays.sendall(http2_floods.START)
        for _ in range(3):
            connection = connections.enter_context(connect(server, authority if encrypted else None))
            with contextlib.suppress(OSError):
                connection.sendall(http2_floods.START + sent)
        eventually(lambda: ended(server, "address") == 3)
        # The other one has its answer to a ping.
        stays.sendall(frame(PING, b"12345678"))
        with stays.makefile("rb") as stream:
            while (PING, ACK, b"12345678") != (answer := http2_floods.read_frame(stream)):
                assert answer is not None
    assert ended(server, "resets") + ended(server, "frames") == 0
    assert re.search(r"refused a connection of gRPC from 127.0.0.1:\d+: more frames without content from", log.read_text())
