"""Behind HAProxy: health checks, inferences over REST and gRPC, streams, and a server that leaves its pool."""

import contextlib
import shutil
import socket
import subprocess

import grpc
import numpy as np
import pytest
import tritonclient.grpc as triton_grpc
import tritonclient.http as triton_http

from integration_tests import server_models as models
from integration_tests.daemon import eventually, free_port
from integration_tests.serving import floats

HAPROXY = shutil.which("haproxy", path="/usr/sbin:/usr/bin")

CONFIGURATION = """
defaults
  timeout connect 5s
  timeout client 60s
  timeout server 60s

frontend http
  mode http
  bind 127.0.0.1:{http}
  default_backend http

backend http
  mode http
  option httpchk
  http-check send meth GET uri /v2/health/ready ver HTTP/1.1 hdr Host hearth
  http-check expect status 200
{http_servers}

frontend grpc
  mode http
  bind 127.0.0.1:{grpc} proto h2
  default_backend grpc

# Checked on the port of HTTP: HAProxy 2.6 cannot send the bytes of a message of gRPC's.
backend grpc
  mode http
  option httpchk
  http-check send meth GET uri /v2/health/ready ver HTTP/1.1 hdr Host hearth
  http-check expect status 200
{grpc_servers}
"""  # fmt: skip


def up_servers(socket_path):
    """The servers that HAProxy sends requests to, by its own statistics ("UP 1/2": still, but its last check failed)."""
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(str(socket_path))
        asked.sendall(b"show stat\n")
        text = b""
        while part := asked.recv(65536):
            text += part
    rows = [line.split(",") for line in text.decode().splitlines() if not line.startswith("#")]
    return {(row[0], row[1]) for row in rows if len(row) > 17 and row[17].startswith("UP") and row[1] != "BACKEND"}


@pytest.fixture
def proxy(hearthd, tmp_path):
    """Two daemons behind one HAProxy: (daemons, its ports, its socket)."""
    assert HAPROXY, "haproxy is in scripts/packages-test.txt"
    servers = {name: hearthd({"identity": models.scripted(models.Identity())}) for name in ("one", "two")}
    ports = {"http": free_port(), "grpc": free_port()}

    def lines(kind, options=""):
        return "\n".join(
            f"  server {name} 127.0.0.1:{server.ready[f'{kind}_port']} check port {server.ready['http_port']}"
            f" check-proto h1 inter 200ms fall 2 rise 1 {options}"
            for name, server in servers.items()
        )

    configuration = tmp_path / "haproxy.cfg"
    statistics = tmp_path / "stats"
    text = CONFIGURATION.format(**ports, http_servers=lines("http"), grpc_servers=lines("grpc", "proto h2"))
    configuration.write_text(f"global\n  stats socket {statistics}\n{text}")
    with open(tmp_path / "log", "w") as log:
        process = subprocess.Popen([HAPROXY, "-db", "-f", configuration], stdout=log, stderr=log)
    try:
        both = {(backend, name) for backend in ports for name in servers}

        def all_up():
            assert process.poll() is None, (tmp_path / "log").read_text()
            with contextlib.suppress(OSError):
                return up_servers(statistics) == both
            return False

        eventually(all_up)
        yield servers, ports, statistics
    finally:
        process.terminate()
        process.wait()


def ask(ports):
    """One inference over REST and one over gRPC, each on a connection of its own."""
    values = np.arange(3, dtype=np.float32)
    over_http = triton_http.InferInput("x", [3], "FP32").set_data_from_numpy(values)
    with contextlib.closing(triton_http.InferenceServerClient(f"127.0.0.1:{ports['http']}")) as client:
        assert client.infer("identity", [over_http]).as_numpy("OUTPUT__0").tolist() == [0, 1, 2]
    with triton_grpc.InferenceServerClient(f"127.0.0.1:{ports['grpc']}") as client:
        assert client.infer("identity", [floats("x", 4)]).as_numpy("OUTPUT__0").tolist() == [4]


def test_both_protocols_go_through_haproxy_and_a_server_leaves_its_pool(proxy):
    servers, ports, statistics = proxy
    for _ in range(4):
        ask(ports)
    servers["one"].terminate()
    assert servers["one"].wait() == 0
    eventually(lambda: up_servers(statistics) == {("http", "two"), ("grpc", "two")})
    for _ in range(4):
        ask(ports)


def test_streams_go_through_haproxy(proxy):
    _, ports, _ = proxy
    with grpc.insecure_channel(f"127.0.0.1:{ports['grpc']}") as channel:
        request = triton_grpc.service_pb2.ModelInferRequest(model_name="identity")
        request.inputs.add(name="x", datatype="FP32", shape=[1])
        request.raw_input_contents.append(np.float32(7).tobytes())
        stub = triton_grpc.service_pb2_grpc.GRPCInferenceServiceStub(channel)
        answers = list(stub.ModelStreamInfer(iter([request] * 5), timeout=60))
    assert [answer.infer_response.raw_output_contents[0] for answer in answers] == [np.float32(7).tobytes()] * 5
