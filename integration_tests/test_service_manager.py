"""What hearthd tells the manager that started it, by the protocol of sd_notify(3): a datagram to NOTIFY_SOCKET."""

import contextlib
import os
import pathlib
import signal
import socket
import time
import uuid

import pytest

from integration_tests import server_models as models
from integration_tests.daemon import eventually, put_model
from integration_tests.serving import floats


@contextlib.contextmanager
def manager(address):
    """The socket of a manager at an address of NOTIFY_SOCKET's form."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind("\0" + address[1:] if address.startswith("@") else address)
        listening.settimeout(60)
        yield listening


def told(listening):
    """The next message, as a dict."""
    return dict(line.split("=", 1) for line in listening.recv(4096).decode().splitlines())


@pytest.fixture
def repository(tmp_path):
    put_model(tmp_path / "models", "identity", models.scripted(models.Identity()))
    return tmp_path / "models"


@pytest.mark.parametrize("is_abstract", [False, True], ids=["path", "abstract"])
def test_a_manager_hears_of_start_reload_and_stop(hearthd, repository, tmp_path, monkeypatch, is_abstract):
    address = f"@hearth-{uuid.uuid4()}" if is_abstract else str(tmp_path / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    with manager(address) as listening:
        server = hearthd(repository)
        assert told(listening) == {"STATUS": "loading models"}
        assert told(listening) == {"READY": "1", "STATUS": "1 version of a model is served"}

        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        server.process.send_signal(signal.SIGHUP)
        begun = told(listening)
        assert begun["RELOADING"] == "1"
        assert before <= int(begun["MONOTONIC_USEC"]) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        assert told(listening) == {"READY": "1"}

        assert server.stop() == 0
        assert told(listening) == {"STOPPING": "1", "STATUS": "draining requests"}


def test_a_server_that_could_not_load_its_models_was_never_ready(hearthd, repository, tmp_path, monkeypatch):
    (repository / "broken/1").mkdir(parents=True)
    (repository / "broken/1/model.pt").write_text("no archive")
    address = str(tmp_path / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    with manager(address) as listening:
        server = hearthd(repository, wait=False)
        assert server.wait() == 1
        assert [told(listening), told(listening)] == [
            {"STATUS": "loading models"},
            {"STOPPING": "1", "STATUS": "draining requests"},
        ]


@pytest.mark.parametrize(
    "address, complaint",
    [
        ("/nowhere/notify", "NOTIFY_SOCKET /nowhere/notify does not take what it should be told: No such file"),
        ("/" + "x" * 200, "File name too long"),
        ("notify", "NOTIFY_SOCKET: expected a path or @NAME, got notify"),
        ("", None),
    ],
    ids=["missing", "too-long", "relative", "empty"],
)
def test_a_manager_that_does_not_listen_is_no_reason_not_to_serve(
    hearthd, repository, monkeypatch, address, complaint
):
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    server = hearthd(repository)
    assert server.ready["models_ready"] == 1
    server.process.send_signal(signal.SIGHUP)
    assert server.stop() == 0
    log = pathlib.Path(server.log.name).read_text()
    lines = [line for line in log.splitlines() if "NOTIFY_SOCKET" in line]
    assert len(lines) == (complaint is not None)
    assert complaint is None or complaint in lines[0]


def test_what_hearthd_starts_does_not_speak_to_its_manager(hearthd, tmp_path, monkeypatch):
    address = str(tmp_path / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    with manager(address):
        server = hearthd({"kernels": models.scripted(models.Kernels())})
        environments = []

        def child_was_seen():
            client.infer("kernels", [floats("x", *range(1000))])
            for child in server.children():
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    # Until it runs a program of its own, a child shows what hearthd itself was started with.
                    if os.readlink(f"/proc/{child}/exe") != os.readlink(f"/proc/{server.pid}/exe"):
                        environments.append(pathlib.Path(f"/proc/{child}/environ").read_bytes())
            return any(b"PATH=" in environment for environment in environments)

        with server.client() as client:
            eventually(child_was_seen)
        assert not any(b"NOTIFY_SOCKET" in environment for environment in environments)
        assert server.stop() == 0
