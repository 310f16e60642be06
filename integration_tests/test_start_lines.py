"""Start lines made for Triton, and the settings that they use: ports, the log, what becomes of flags."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

from integration_tests import server_models as models
from integration_tests.daemon import Hearthd, binary, eventually, free_port, put_model
from integration_tests.serving import answer_of, floats, tensor


@pytest.fixture
def tritonserver(tmp_path):
    """Starts hearthd by Triton's name, with the flags alone that are given."""
    link = tmp_path / "bin" / "tritonserver"
    link.parent.mkdir()
    link.symlink_to(binary())
    started = []

    def start(*flags):
        log = open(tmp_path / "stderr", "w")
        started.append(Hearthd(tmp_path / "models", command=[link, *flags], log=log))
        return started[-1]

    yield start
    assert [server.stop() for server in started] == [0] * len(started)


def run(*flags):
    """A hearthd that ends by itself."""
    return subprocess.run([binary(), *map(str, flags)], capture_output=True, text=True, timeout=60)


def log_of(server):
    return Path(server.log.name).read_text()


def test_the_line_of_kserve_serves(tritonserver, tmp_path):
    store = tmp_path / "models"
    put_model(store, "m", models.constant(1))
    grpc, http = free_port(), free_port()
    line = [f"--model-store={store}", f"--grpc-port={grpc}", f"--http-port={http}", "--allow-grpc=true"]
    server = tritonserver(*line, "--allow-http=true", "--metrics-port=0")
    assert (server.ready["grpc_port"], server.ready["http_port"]) == (grpc, http)
    with server.client() as client:
        assert answer_of(client, "m") == [1]
    for path in ("/v2/health/live", "/v2/health/ready"):
        assert server.get(path)[0] == 200
    assert "nv_inference_count" in server.get("/metrics", "metrics_port")[1]
    assert "listens at 0.0.0.0" in log_of(server)


def test_the_line_of_a_helm_chart_serves_what_comes_and_goes(tritonserver, tmp_path):
    store = tmp_path / "models"
    put_model(store, "m", models.constant(1))
    line = [f"--model-store={store}", "--model-control-mode=poll", "--repository-poll-secs=0.05"]
    line += ["--strict-model-config=False", "--log-verbose=1", "--grpc-port=0", "--http-port=0", "--metrics-port=0"]
    server = tritonserver(*line, "--admin=on")
    assert "W server/serve: --strict-model-config has no effect" in log_of(server)
    with server.client() as client:

        def answers(name, *expected):
            eventually(lambda: client.is_model_ready(name) and answer_of(client, name) == list(expected))

        assert answer_of(client, "m") == [1]
        put_model(store, "m", models.constant(2), version=2)
        answers("m", 2)
        put_model(store, "new", models.constant(3))
        answers("new", 3)
        put_model(store, "new", models.constant(4))
        answers("new", 4)
        (store / "m/2/model.pt").unlink()
        (store / "m/2").rmdir()
        answers("m", 1)
        (store / "new/1/model.pt").unlink()
        (store / "new/1").rmdir()
        (store / "new").rmdir()
        eventually(lambda: not client.is_model_ready("new"))
        with pytest.raises(Exception, match="explicit model load / unload is not allowed if polling is enabled"):
            client.load_model("m")


def test_a_model_that_is_being_written_is_not_loaded(hearthd, tmp_path):
    whole = put_model(tmp_path / "aside", "m", models.constant(2)) / "model.pt"
    server = hearthd({"m": models.constant(1)}, "--model-control-mode=poll", "--repository-poll-secs=0.2")
    (server.repository / "m/2").mkdir()
    data = whole.read_bytes()
    with server.client() as client, open(server.repository / "m/2/model.pt", "wb") as file:
        # A byte at a time, more often than hearthd looks, for longer than several looks.
        for at in range(20):
            file.write(data[at : at + 1])
            file.flush()
            assert answer_of(client, "m") == [1]
            threading.Event().wait(0.05)
        file.write(data[20:])
        file.flush()
        eventually(lambda: answer_of(client, "m") == [2])
    assert "failed to load" not in log_of(server)


def test_explicit_control_begins_with_what_is_named(hearthd):
    stored = {"m": models.constant(1), "n": models.constant(2)}
    server = hearthd(stored, "--model-control-mode=explicit", "--load-model=m")
    with server.client() as client:
        assert server.ready["models_ready"] == 1 and client.is_server_ready()
        assert client.is_model_ready("m") and not client.is_model_ready("n")
        client.load_model("n")
        assert answer_of(client, "n") == [2]
        client.unload_model("m")
        assert not client.is_model_ready("m")
    assert hearthd(stored, "--model-control-mode=EXPLICIT").ready["models_ready"] == 0
    assert hearthd(stored, "--model-control-mode=explicit", "--load-model=*").ready["models_ready"] == 2


def test_a_model_that_fails_at_the_start_ends_the_daemon(tmp_path):
    put_model(tmp_path, "good", models.constant(1))
    (tmp_path / "bad/1").mkdir(parents=True)
    (tmp_path / "bad/1/model.pt").write_bytes(b"not an archive")
    ports = ["--grpc-port=0", "--http-port=0", "--metrics-port=0"]
    ended = run("--model-repository", tmp_path, *ports)
    assert ended.returncode == 1 and ended.stdout == ""
    assert re.search("^hearthd: bad version 1: .+", ended.stderr, re.MULTILINE)
    ended = run("--model-repository", tmp_path, *ports, "--model-control-mode=explicit", "--load-model=nowhere")
    assert ended.returncode == 1 and "hearthd: nowhere: no model repository has a model" in ended.stderr


def test_flags_are_warned_of_refused_or_corrected(hearthd, tmp_path):
    server = hearthd({"m": models.constant(1)}, "--http-thread-count=1", "--pinned-memory-pool-byte-size", "1")
    assert "W server/serve: --http-thread-count has no effect: one thread carries all connections of HTTP" in log_of(server)
    assert "W server/serve: --pinned-memory-pool-byte-size has no effect" in log_of(server)
    for flag, message in [
        ("--model-namespacing=true", "hearthd: --model-namespacing is not offered"),
        ("--model-repositry=x", "hearthd: there is no flag --model-repositry; did you mean --model-repository?"),
        ("--model-control-mode=sometimes", "hearthd: model_control_mode must be one of all, none, poll, explicit"),
        ("--allow-grpc=perhaps", "hearthd: --allow-grpc: 'perhaps' is not true or false"),
    ]:
        ended = run("--model-repository", tmp_path, flag)
        assert ended.returncode == 2 and ended.stderr.startswith(message), ended.stderr


def test_ports_that_are_not_allowed_are_not_there(hearthd):
    server = hearthd({"m": models.constant(1)}, "--allow-http=false", "--allow-metrics=0")
    assert {"grpc_port"} == {key for key in server.ready if key.endswith("_port")}
    with server.client() as client:
        assert answer_of(client, "m") == [1]
    server = hearthd({"m": models.constant(1)}, "--allow-grpc", "off", "--allow-metrics=false")
    assert {"http_port"} == {key for key in server.ready if key.endswith("_port")}
    assert server.get("/v2/health/ready")[0] == 200
    assert "nv_inference" not in server.get("/metrics")[1]


def test_the_server_has_the_name_that_it_is_given(hearthd):
    with hearthd({"m": models.constant(1)}, "--id=pictures").client() as client:
        assert client.get_server_metadata().name == "pictures"


def test_the_log_is_a_file_of_json_that_sighup_opens_anew(hearthd, tmp_path):
    log, old = tmp_path / "log", tmp_path / "log.1"
    server = hearthd({"m": models.constant(1)}, "--log-file", log, "--log-format=JSON")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert any(line["message"].startswith("settings that differ") and "log_format json" in line["message"] for line in lines)
    assert any(line["logger"] == "repository" and "m version 1 is loaded" in line["message"] for line in lines)
    assert log_of(server) == ""
    log.rename(old)
    server.process.send_signal(signal.SIGHUP)
    eventually(log.exists)
    with server.client() as client:
        client.load_model("m")
    assert server.stop() == 0
    assert "stopped" in log.read_text() and "stopped" not in old.read_text()


def test_levels_of_the_log_are_switched(hearthd):
    quiet = hearthd({"m": models.constant(1)}, "--log-info=false", "--rate-limit=off")
    assert " I " not in log_of(quiet) and "--rate-limit has no effect" in log_of(quiet)


def test_a_connection_that_is_old_enough_ends_and_clients_open_another(hearthd, tmp_path):
    log = tmp_path / "access.log"
    server = hearthd({"m": models.constant(1)}, "--grpc-max-connection-age=100", "--access-log", log)

    def peers():
        whole = log.read_text().rpartition("\n")[0]
        return {json.loads(line)["peer"] for line in whole.splitlines()}

    with server.client() as client:
        eventually(lambda: answer_of(client, "m") == [1] and len(peers()) > 1)


class CountingRelay:
    """Hands one connection on to a port, and counts what comes back."""

    def __init__(self, port):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.target = port
        self.received = 0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        client, _ = self.listener.accept()
        server = socket.create_connection(("127.0.0.1", self.target))
        threading.Thread(target=self.copy, args=(client, server, False), daemon=True).start()
        self.copy(server, client, True)

    def copy(self, source, sink, counted):
        with contextlib.suppress(OSError):  # of a client that has ended
            while data := source.recv(65536):
                self.received += len(data) if counted else 0
                sink.sendall(data)


@pytest.mark.parametrize("level", ["none", "high"])
def test_answers_are_compressed_where_that_is_asked_for(hearthd, level):
    server = hearthd(
        {"identity": models.scripted(models.Identity())}, f"--grpc-infer-response-compression-level={level}"
    )
    relay = CountingRelay(server.ready["grpc_port"])
    server.ready["grpc_port"] = relay.port
    zeros = np.zeros(1 << 18, np.float32)
    with server.client() as client:
        np.testing.assert_array_equal(client.infer("identity", [tensor("x", zeros)]).as_numpy("OUTPUT__0"), zeros)
    assert (relay.received < zeros.nbytes) == (level == "high")


def test_the_line_of_the_log_about_settings_hides_nothing_but_secrets(hearthd):
    server = hearthd({"m": models.constant(1)}, "--max-plans", "7")
    assert "max_plans 7" in log_of(server)
    with server.client() as client:
        client.infer("m", [floats("x", 0)])
