"""Who may ask for what: tokens by role on every port, administration that is on, off or for tokens, and what is logged."""

import json
import socket
import subprocess
import threading
import urllib.error
import urllib.request

import grpc
import pytest
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException

from integration_tests import server_models
from integration_tests.certificates import Authority, token_line
from integration_tests.protocol_files import OWN_PROTOCOL_FILES, PROTOCOL_FILES
from integration_tests.daemon import binary, eventually
from integration_tests.serving import floats

LOAD = "/inference.GRPCInferenceService/RepositoryModelLoad"
INDEX = "/inference.GRPCInferenceService/RepositoryIndex"
INFER = "/inference.GRPCInferenceService/ModelInfer"
OPEN = {"ServerLive", "ServerReady", "ModelReady", "Check", "List", "Watch"}


@pytest.fixture(scope="module")
def models():
    return {"identity": server_models.everyday()["identity"]}


@pytest.fixture
def token_file(tmp_path):
    file = tmp_path / "tokens"
    file.write_text(
        "# who may do what\n"
        + token_line("infer", "client", "c")
        + token_line("read", "prometheus", "p")
        + token_line("infer,read,admin", "operator", "o")
    )
    return file


@pytest.fixture
def server(hearthd, models, token_file):
    return hearthd(models, "--token-file", token_file)


def bearer(token):
    return [("authorization", f"Bearer {token}")] if token else []


def code(server, method, token=None, request=b"", creds=None):
    """How a call of a method by its path ends."""
    channel = grpc.secure_channel(server.address, creds) if creds else server.channel()
    with channel:
        try:
            call = channel.unary_unary(method)
            call(request, metadata=bearer(token), timeout=20)
            return grpc.StatusCode.OK
        except grpc.RpcError as error:
            return error.code()


def status(server, path, token=None, port="http_port", method="GET", **headers):
    request = urllib.request.Request(f"http://127.0.0.1:{server.ready[port]}{path}", method=method, headers=headers)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.headers


def test_every_method_but_health_wants_a_token(server, protocol):
    methods = 0
    for file in PROTOCOL_FILES + OWN_PROTOCOL_FILES:
        for service in protocol.FindFileByName(file).services_by_name.values():
            for method in service.methods:
                path = f"/{service.full_name}/{method.name}"
                if method.name in OPEN:
                    continue
                methods += 1
                assert code(server, path) == grpc.StatusCode.UNAUTHENTICATED, path
                assert code(server, path, "wrong") == grpc.StatusCode.UNAUTHENTICATED, path
    assert methods >= 14
    assert code(server, "/inference.GRPCInferenceService/Nothing", "o") == grpc.StatusCode.UNIMPLEMENTED


def test_a_token_is_good_for_its_roles(server):
    load = service_pb2.RepositoryModelLoadRequest(model_name="identity").SerializeToString()
    for token, index, loads in (("p", "OK", "PERMISSION_DENIED"), ("c", "PERMISSION_DENIED", "PERMISSION_DENIED"), ("o", "OK", "OK")):
        assert code(server, INDEX, token).name == index
        assert code(server, LOAD, token, load).name == loads
    with server.client() as client:
        assert client.is_server_ready() and client.is_model_ready("identity")
        with pytest.raises(InferenceServerException, match="a bearer token is needed"):
            client.infer("identity", [floats("x", 1)])
        with pytest.raises(InferenceServerException, match="the token of prometheus does not have the role infer"):
            client.infer("identity", [floats("x", 1)], headers={"authorization": "Bearer p"})
        answer = client.infer("identity", [floats("x", 1)], headers={"authorization": "Bearer c"})
        assert answer.as_numpy("OUTPUT__0").tolist() == [1.0]


def test_a_stream_is_asked_once_and_before_its_first_message(server):
    with server.channel() as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        answered = threading.Event()
        with pytest.raises(grpc.RpcError) as caught:
            next(stub.ModelStreamInfer(iter(answered.wait, True), timeout=20))  # no message until it is over
        answered.set()
        assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED


def test_http_wants_the_same_tokens(server):
    for port in ("http_port", "metrics_port"):
        assert status(server, "/v2/health/ready", port=port)[0] == 200
        assert status(server, "/v2/models/identity/ready", port=port)[0] == 200
        refused, headers = status(server, "/metrics", port=port)
        assert refused == 401 and headers["WWW-Authenticate"].startswith("Bearer")
        assert status(server, "/metrics", "wrong", port=port)[0] == 401
        assert status(server, "/metrics", "c", port=port)[0] == 403
        assert status(server, "/metrics", "p", port=port)[0] == 200
        assert status(server, "/nothing", "o", port=port)[0] == 404


def test_a_body_that_may_not_be_is_not_read(server):
    head = b"POST /v2/models/identity/infer HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.ready["http_port"])) as client:
        client.sendall(head)
        assert client.recv(12) == b"HTTP/1.1 401"


def test_tokens_change_without_a_restart(server, token_file):
    good = token_file.read_text()
    token_file.write_text("infer x my-plain-token\n")
    eventually(lambda: "the tokens stay as they were" in open(server.log.name).read())
    assert code(server, INDEX, "p") == grpc.StatusCode.OK
    token_file.write_text(good + token_line("read", "new", "n"))
    eventually(lambda: code(server, INDEX, "n") == grpc.StatusCode.OK)
    token_file.write_text(token_line("read", "new", "n"))
    eventually(lambda: code(server, INDEX, "p") == grpc.StatusCode.UNAUTHENTICATED)
    assert "my-plain-token" not in open(server.log.name).read()


def test_attempts_are_logged_now_and_then_and_never_with_what_was_tried(server):
    for i in range(300):
        status(server, "/metrics", f"guess-{i}-hunter2")
    with server.channel() as channel:
        call = channel.unary_unary(INFER)
        for i in range(300):
            with pytest.raises(grpc.RpcError):
                call(b"", metadata=bearer(f"guess-{i}-hunter2"))
    lines = [line for line in open(server.log.name) if "refused" in line]
    assert 1 <= len(lines) < 60
    assert "hunter2" not in open(server.log.name).read()


def test_tokens_and_tls_go_together(hearthd, models, token_file, tmp_path):
    authority = Authority(tmp_path)
    certificate, key = authority.issue("server")
    server = hearthd(
        models, "--grpc-use-ssl", "--grpc-server-cert", certificate, "--grpc-server-key", key,
        "--token-file", token_file, "--admin", "token",
    )
    creds = grpc.ssl_channel_credentials(authority.certificate.read_bytes())
    assert code(server, INDEX, None, creds=creds) == grpc.StatusCode.UNAUTHENTICATED
    assert code(server, INDEX, "p", creds=creds) == grpc.StatusCode.OK
    options = {"ssl": True, "root_certificates": str(authority.certificate)}
    with triton.InferenceServerClient(server.address, **options) as client:
        assert client.infer("identity", [floats("x", 1)], headers={"authorization": "Bearer c"}) is not None


def test_on_this_machine_alone_administration_is_open_and_elsewhere_it_is_off(hearthd, models):
    load = service_pb2.RepositoryModelLoadRequest(model_name="identity").SerializeToString()
    server = hearthd(models)
    assert code(server, LOAD, request=load) == grpc.StatusCode.OK
    everywhere = hearthd(models, "--host", "0.0.0.0")
    assert code(everywhere, LOAD, request=load) == grpc.StatusCode.PERMISSION_DENIED
    assert code(everywhere, INDEX) == grpc.StatusCode.OK
    asked = hearthd(models, "--host", "0.0.0.0", "--admin", "on")
    assert code(asked, LOAD, request=load) == grpc.StatusCode.OK
    off = hearthd(models, "--admin", "off")
    assert code(off, LOAD, request=load) == grpc.StatusCode.PERMISSION_DENIED


def test_a_page_of_another_site_cannot_administer(hearthd, models):
    server = hearthd(models)
    path = "/v2/repository/models/identity/unload"
    assert status(server, path, method="POST", Origin="http://elsewhere")[0] == 403
    assert status(server, path, method="POST")[0] != 403


def test_wrong_tokens_keep_the_server_from_starting(tmp_path, token_file):
    def run(*flags):
        ports = ["--grpc-port=0", "--http-port=0", "--metrics-port=0"]
        done = subprocess.run(
            [binary(), "--model-repository", tmp_path, *ports, *flags], capture_output=True, text=True, timeout=60
        )
        assert done.returncode in (1, 2)
        return done.stderr

    assert "admin 'token' needs token_file" in run("--admin", "token")
    assert "cannot read /nowhere" in run("--token-file", "/nowhere")
    token_file.write_text("everything me 12\n")
    assert f"{token_file}:1: the roles are infer, read and admin" in run("--token-file", token_file)


def test_the_name_localhost_is_listened_at(models, tmp_path):
    command = [binary(), "--model-repository", tmp_path, "--grpc-port=0", "--http-port=0", "--metrics-port=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        ready = json.loads(process.stdout.readline())
        with urllib.request.urlopen(f"http://localhost:{ready['http_port']}/v2/health/live", timeout=20) as answer:
            assert answer.status == 200
        with triton.InferenceServerClient(f"localhost:{ready['grpc_port']}") as client:
            assert client.is_server_live()
        listening = subprocess.run(["cat", f"/proc/{process.pid}/net/tcp"], capture_output=True, text=True).stdout
        assert f"00000000:{ready['grpc_port']:04X}" not in listening
        process.terminate()
        assert process.wait(30) == 0
