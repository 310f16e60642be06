"""TLS on each port: real clients, certificates that change, that are missing or wrong, and floods of handshakes."""

import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request

import grpc
import pytest
import tritonclient.grpc as triton

from integration_tests import server_models
from integration_tests.certificates import Authority
from integration_tests.daemon import binary, eventually
from integration_tests.serving import floats

PORTS = ["http_port", "metrics_port"]


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def pair(authority):
    return authority.issue("server")


def files(certificate, key, root=None):
    flags = ["--grpc-server-cert", certificate, "--grpc-server-key", key]
    return flags + (["--grpc-root-cert", root] if root else [])


ALL = ["--grpc-use-ssl", "--http-use-ssl", "--metrics-use-ssl"]
MUTUAL = ["--grpc-use-ssl-mutual", "--http-use-ssl-mutual", "--metrics-use-ssl-mutual"]


@pytest.fixture(scope="module")
def server(hearthd, pair):
    return hearthd({}, *ALL, *files(*pair))


def credentials(authority, pair=None):
    chain = (pair[1].read_bytes(), pair[0].read_bytes()) if pair else (None, None)
    return grpc.ssl_channel_credentials(authority.certificate.read_bytes(), *chain)


def live(address, creds, timeout=10):
    with grpc.secure_channel(address, creds) as channel:
        call = channel.unary_unary("/inference.GRPCInferenceService/ServerLive")
        return call(b"", timeout=timeout)


def context(authority, pair=None, **options):
    made = ssl.create_default_context(cafile=str(authority.certificate))
    if pair:
        made.load_cert_chain(*map(str, pair))
    for name, value in options.items():
        setattr(made, name, value)
    return made


def get(server, port, made, path="/v2/health/live"):
    url = f"https://localhost:{server.ready[port]}{path}"
    with urllib.request.urlopen(url, timeout=20, context=made) as answer:
        return answer.status


def shown(port, name="localhost"):
    """The certificate that a port shows, as openssl's client sees it."""
    text = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-servername", name, "-showcerts"],
        input="", capture_output=True, text=True, timeout=30,
    ).stdout
    return text[text.index("-----BEGIN") : text.index("-----END")].split("\n", 1)[1].replace("\n", "")


def contents(certificate):
    text = certificate.read_text()
    return text[text.index("-----BEGIN") : text.index("-----END")].split("\n", 1)[1].replace("\n", "")


def test_all_ports_speak_tls_and_nothing_else(server, authority):
    assert live(server.address, credentials(authority)) is not None
    for port in PORTS:
        assert get(server, port, context(authority)) == 200
        with pytest.raises(OSError):
            server.get("/v2/health/live", port)
    with grpc.insecure_channel(server.address) as channel, pytest.raises(grpc.RpcError):
        channel.unary_unary("/inference.GRPCInferenceService/ServerLive")(b"", timeout=3)


def test_a_triton_client_and_curl_are_answered(server, authority, pair):
    with triton.InferenceServerClient(server.address, ssl=True, root_certificates=str(authority.certificate)) as client:
        assert client.is_server_live()
    url = f"https://localhost:{server.ready['http_port']}/v2/health/live"
    curl = ["curl", "-sS", "--cacert", authority.certificate, "-o", "/dev/null", "-w", "%{http_code}", url]
    assert subprocess.run(curl, capture_output=True, text=True, check=True).stdout == "200"


def handshake(port, made, protocols=("http/1.1",)):
    """The version that is agreed on."""
    made.set_alpn_protocols(list(protocols))
    with socket.create_connection(("127.0.0.1", port)) as plain:
        with made.wrap_socket(plain, server_hostname="localhost") as tls:
            return tls.version()


@pytest.mark.parametrize("port", ["grpc_port", *PORTS])
def test_old_protocols_and_weak_ciphers_are_refused(server, authority, port):
    protocols = ["h2"] if port == "grpc_port" else ["http/1.1"]
    weak = context(authority, maximum_version=ssl.TLSVersion.TLSv1_2)
    weak.set_ciphers("AES128-SHA:AES256-SHA256:ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0")
    old = context(authority)
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    for wrong in (weak, old):
        with pytest.raises(OSError):
            handshake(server.ready[port], wrong, protocols)
    older = context(authority, maximum_version=ssl.TLSVersion.TLSv1_2)
    assert handshake(server.ready[port], older, protocols) == "TLSv1.2"
    assert handshake(server.ready[port], context(authority), protocols) == "TLSv1.3"


def test_the_protocol_of_http_is_chosen(server, authority):
    made = context(authority)
    made.set_alpn_protocols(["h2", "http/1.1"])
    with socket.create_connection(("127.0.0.1", server.ready["http_port"])) as plain:
        with made.wrap_socket(plain, server_hostname="localhost") as tls:
            assert tls.selected_alpn_protocol() == "http/1.1"
            assert tls.version() == "TLSv1.3"
    made.set_alpn_protocols(["h2"])
    with socket.create_connection(("127.0.0.1", server.ready["http_port"])) as plain, pytest.raises(ssl.SSLError):
        made.wrap_socket(plain, server_hostname="localhost")


def test_many_requests_and_large_answers_go_over_one_connection(server, authority):
    with socket.create_connection(("127.0.0.1", server.ready["http_port"])) as plain:
        with context(authority).wrap_socket(plain, server_hostname="localhost") as tls:
            request = b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n"
            tls.sendall(request * 199 + request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            text = b""
            while piece := tls.recv(1 << 16):
                text += piece
    assert text.count(b"HTTP/1.1 200 OK") == 200


def test_a_client_without_a_certificate_or_with_anothers_is_refused(hearthd, authority, pair, tmp_path):
    server = hearthd({}, *MUTUAL, *files(*pair, authority.certificate))
    client = authority.issue("client")
    stranger = Authority(tmp_path, "stranger").issue("mallory")
    expired = authority.issue("late", start="20200101000000Z")
    assert live(server.address, credentials(authority, client)) is not None
    for port in PORTS:
        assert get(server, port, context(authority, client)) == 200
    for wrong in (None, stranger, expired):
        with pytest.raises(grpc.RpcError):
            live(server.address, credentials(authority, wrong), timeout=3)
        for port in PORTS:
            with pytest.raises((urllib.error.URLError, OSError)):
                get(server, port, context(authority, wrong))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--grpc-use-ssl"], "grpc_use_ssl needs grpc_server_cert and grpc_server_key"),
        (["--metrics-use-ssl-mutual", *files("a", "b")], "metrics_use_ssl_mutual needs http_root_cert"),
        (["--http-use-ssl", *files("/nowhere", "b")], "cannot read /nowhere: No such file"),
    ],
)
def test_what_tls_needs_is_said(flags, message, tmp_path):
    done = subprocess.run(
        [binary(), "--model-repository", tmp_path, "--grpc-port=0", "--http-port=0", "--metrics-port=0", *flags],
        capture_output=True, text=True, timeout=60,
    )
    assert done.returncode in (1, 2) and message in done.stderr


def test_a_server_does_not_start_with_an_expired_certificate(authority, tmp_path):
    flags = files(*authority.issue("old", start="20200101000000Z"))
    done = subprocess.run(
        [binary(), "--model-repository", tmp_path, "--grpc-port=0", "--http-port=0", "--metrics-port=0",
         "--http-use-ssl", *flags],
        capture_output=True, text=True, timeout=60,
    )
    assert done.returncode == 1 and "the certificate has expired" in done.stderr


def test_certificates_change_while_clients_stream(hearthd, authority, pair, tmp_path):
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    shutil.copy(pair[0], certificate)
    shutil.copy(pair[1], key)
    server = hearthd({"identity": server_models.everyday()["identity"]}, *ALL, *files(certificate, key))
    answers, errors, stop = [], [], threading.Event()

    def stream():
        options = {"ssl": True, "root_certificates": str(authority.certificate)}
        with triton.InferenceServerClient(server.address, **options) as client:
            client.start_stream(lambda result, error: (errors if error else answers).append(error or result))
            while not stop.is_set():
                client.async_stream_infer("identity", [floats("x", 1)])
                time.sleep(0.002)
            client.stop_stream()

    thread = threading.Thread(target=stream)
    thread.start()
    with socket.create_connection(("127.0.0.1", server.ready["http_port"])) as plain:
        held = context(authority).wrap_socket(plain, server_hostname="localhost")
        ports = [server.ready[port] for port in ("grpc_port", *PORTS)]
        eventually(lambda: answers)
        new = authority.issue("renewed")
        # First only one of the two, which does not fit the other.
        shutil.copy(new[0], certificate)
        eventually(lambda: "the key is not that of" in open(server.log.name).read())
        assert {shown(port) for port in ports} == {contents(pair[0])}
        shutil.copy(new[1], key)
        eventually(lambda: {shown(port) for port in ports} == {contents(new[0])})
        # Then one that is no certificate.
        certificate.write_text("nonsense")
        eventually(lambda: "holds no certificate" in open(server.log.name).read())
        assert {shown(port) for port in ports} == {contents(new[0])}
        # The connections of before have seen nothing of it.
        seen = len(answers)
        eventually(lambda: len(answers) > seen + 10)
        held.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: h\r\n\r\n")
        assert held.recv(12) == b"HTTP/1.1 200"
        held.close()
    stop.set()
    thread.join()
    assert not errors
    text = open(server.log.name).read()
    assert "PRIVATE KEY" not in text


def test_probes_are_answered_beside_floods_of_half_handshakes(server, authority):
    made = context(authority)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    half = made.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        half.do_handshake()
    hello = outgoing.read()
    for port in ("grpc_port", *PORTS):
        sockets = []
        for i in range(300):
            sockets.append(socket.create_connection(("127.0.0.1", server.ready[port])))
            # Nothing, a part, all of it but no more, or what is no TLS.
            sockets[-1].sendall((b"", hello[: len(hello) // 2], hello, b"GET / HTTP/1.1\r\n\r\n")[i % 4])
        if port == "grpc_port":
            assert live(server.address, credentials(authority)) is not None
        else:
            assert get(server, port, made) == 200
        for each in sockets:
            each.close()


def test_a_connection_that_is_open_is_answered_while_others_shake_hands(server, authority):
    with socket.create_connection(("127.0.0.1", server.ready["http_port"])) as plain:
        with context(authority).wrap_socket(plain, server_hostname="localhost") as held:
            stop = threading.Event()

            def shake():
                while not stop.is_set():
                    with socket.create_connection(("127.0.0.1", server.ready["http_port"])) as other:
                        context(authority).wrap_socket(other, server_hostname="localhost").close()

            threads = [threading.Thread(target=shake) for _ in range(4)]
            for thread in threads:
                thread.start()
            for _ in range(50):
                held.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: h\r\n\r\n")
                assert held.recv(1 << 16).startswith(b"HTTP/1.1 200")
            stop.set()
            for thread in threads:
                thread.join()
