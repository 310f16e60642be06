"""Models in object storage: what is there is served, comes, changes and goes as on disk, also while the storage is away.
Moto speaks S3's protocol, gcp-storage-emulator that of Google Cloud Storage."""

import io
import os
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

import grpc
import pytest
import torch

from integration_tests import ROOT
from integration_tests import server_models as models
from integration_tests.daemon import Hearthd, binary, eventually, free_port
from integration_tests.serving import answer_of, fails, index_of

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
BUCKET = "models"
POLL = ["--model-control-mode", "poll", "--repository-poll-secs", "0.2"]
EXPLICIT = ["--model-control-mode", "explicit"]


def archive(number):
    made = io.BytesIO()
    torch.jit.save(models.constant(number), made)
    return made.getvalue()


class Storage:
    """A server with one bucket, and how to write to it."""

    def __init__(self, kind):
        self.kind = kind
        self.port = free_port()
        self.start()
        if kind == "s3":
            self._ask("PUT", f"/{BUCKET}")

    def start(self):
        if self.kind == "s3":
            command = ["-m", "moto.server", "-H", "127.0.0.1", "-p", self.port]
        else:
            program = "from gcp_storage_emulator.__main__ import main; main()"
            command = ["-c", program, "start", "--host", "127.0.0.1", "--port", self.port, "--in-memory"]
            command += ["--default-bucket", BUCKET]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / ".venv/storage-servers")}
        self.process = subprocess.Popen(
            [str(word) for word in [sys.executable, *command]],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        eventually(self._listens)

    def _listens(self):
        try:
            self._ask("GET", "/")
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def _ask(self, method, path, body=None):
        # Moto believes whoever says who he is; but nobody deletes without that.
        user = "AWS4-HMAC-SHA256 Credential=anybody/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
        headers = {"Content-Type": "application/octet-stream", "Authorization": user}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()

    def put(self, path, contents):
        if self.kind == "s3":
            self._ask("PUT", f"/{BUCKET}/{path}", contents)
        else:
            self._ask("POST", f"/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={path}", contents)

    def delete(self, path):
        if self.kind == "s3":
            self._ask("DELETE", f"/{BUCKET}/{path}")
        else:
            self._ask("DELETE", f"/storage/v1/b/{BUCKET}/o/{urllib.parse.quote(path, safe='')}")

    def url(self, path=""):
        place = f"s3://127.0.0.1:{self.port}/{BUCKET}" if self.kind == "s3" else f"gs://{BUCKET}"
        return f"{place}/{path}" if path else place

    def stop(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture(params=["s3", "gs"])
def storage(request, monkeypatch):
    made = Storage(request.param)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "anybody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a secret that no log has")
    monkeypatch.setenv("RCLONE_GCS_ENDPOINT", f"http://127.0.0.1:{made.port}/storage/v1/")
    monkeypatch.setenv("RCLONE_GCS_ANONYMOUS", "true")
    # Moto is not behind TLS; that the variable is there must harm nobody.
    monkeypatch.setenv("AWS_CA_BUNDLE", "/etc/ssl/certs/ca-certificates.crt")
    yield made
    made.stop()


@pytest.fixture
def serve(tmp_path):
    """Starts daemons on a URL; each has ended well at the end."""
    started = []

    def start(url, *flags, wait=True):
        log = open(tmp_path / f"log.{len(started)}", "w")
        started.append(Hearthd(url, *flags, log=log, wait=wait))
        return started[-1]

    yield start
    for each in started:
        assert each.process.poll() is not None or each.stop() == 0
        assert "a secret that no log has" not in open(each.log.name).read()


def load(client, model):
    client.load_model(model)


def test_what_lies_there_is_served_and_the_folder_for_it_goes(storage, serve):
    storage.put("some/path/m/1/model.pt", archive(3))
    storage.put("some/path/m/2/model.pt", archive(4))
    storage.put("some/path/n/1/model.pt", archive(5))
    storage.put("some/path/n/config.pbtxt", b"max_batch_size: 0")
    server = serve(storage.url("some/path"))
    with server.client() as client:
        assert answer_of(client, "m") == [4]
        assert answer_of(client, "n") == [5]
        assert set(index_of(client)) == {("m", "2"), ("n", "1")}
    assert server.metric("hearth_mirror_files_total") == 4
    assert server.metric("hearth_mirror_bytes_total") > 3 * 1000
    assert server.metric("hearth_mirror_failures_total") == 0
    (folder,) = {line.split(" from ")[1] for line in open(server.log.name) if "loading m version" in line}
    assert server.stop() == 0
    assert not os.path.exists(folder.strip())


def test_a_load_brings_what_is_there_then(storage, serve):
    storage.put("m/1/model.pt", archive(3))
    storage.put("n/1/model.pt", archive(5))
    server = serve(storage.url(), *EXPLICIT, "--load-model", "m")
    with server.client() as client:
        assert answer_of(client, "m") == [3]
        assert server.metric("hearth_mirror_files_total") == 1
        assert "n" in {name for name, _ in index_of(client)}
        load(client, "n")
        assert answer_of(client, "n") == [5]
        storage.put("m/2/model.pt", archive(4))
        load(client, "m")
        assert answer_of(client, "m") == [4]
        storage.put("new/1/model.pt", archive(6))
        load(client, "new")
        assert answer_of(client, "new") == [6]
        storage.delete("n/1/model.pt")
        message = fails(grpc.StatusCode.NOT_FOUND, lambda: load(client, "n"))
        assert "no model repository has a model 'n'" in message
        assert answer_of(client, "n") == [5]  # as on disk: it serves until it is unloaded


def test_what_comes_changes_and_goes_is_seen(storage, serve):
    storage.put("m/1/model.pt", archive(3))
    server = serve(storage.url(), *POLL)
    with server.client() as client:
        eventually(lambda: answer_of(client, "m") == [3])
        storage.put("m/2/model.pt", archive(4))
        eventually(lambda: answer_of(client, "m") == [4])
        storage.put("new/1/model.pt", archive(6))
        eventually(lambda: ("new", "1") in index_of(client) and index_of(client)["new", "1"][0] == "READY")
        assert answer_of(client, "new") == [6]
        storage.delete("new/1/model.pt")
        eventually(lambda: index_of(client).get(("new", "1"), ("UNAVAILABLE",))[0] == "UNAVAILABLE")
        assert answer_of(client, "m") == [4]


def test_storage_that_goes_away_takes_nothing_with_it(storage, serve, tmp_path):
    storage.put("m/1/model.pt", archive(3))
    flags = ["--mirror-dir", tmp_path / "mirrors", *EXPLICIT, "--load-model", "*"]
    server = serve(storage.url(), *flags)
    storage.stop()
    with server.client() as client:
        message = fails(UNAVAILABLE, lambda: load(client, "m"))
        assert storage.url() in message and "connection refused" in message
        assert answer_of(client, "m") == [3]
    assert server.metric("hearth_mirror_failures_total") >= 1
    assert server.stop() == 0
    # Another process, to which the storage was never there.
    server = serve(storage.url(), *flags)
    with server.client() as client:
        assert answer_of(client, "m") == [3]
    assert "models are served as they were mirrored before" in open(server.log.name).read()


def test_nothing_is_downloaded_twice(storage, serve, tmp_path):
    storage.put("m/1/model.pt", archive(3))
    flags = ["--mirror-dir", tmp_path / "mirrors"]
    server = serve(storage.url(), *flags)
    assert server.metric("hearth_mirror_files_total") == 1
    with server.client() as client:
        load(client, "m")
    assert server.metric("hearth_mirror_files_total") == 1
    assert server.stop() == 0
    server = serve(storage.url(), *flags)
    assert server.metric("hearth_mirror_files_total") == 0
    with server.client() as client:
        assert answer_of(client, "m") == [3]


@pytest.mark.parametrize("storage", ["s3"], indirect=True)
def test_a_start_without_what_it_needs_says_what(storage, tmp_path, monkeypatch):
    def started(url):
        ports = ["--grpc-port", "0", "--http-port", "0", "--metrics-port", "0"]
        command = [binary(), "--model-repository", url, *ports]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode != 0
        return done.stderr

    wrong = f"s3://127.0.0.1:{storage.port}/no-such-bucket"
    assert wrong in started(wrong)
    assert "has a scheme that is not known; expected s3://BUCKET/PATH" in started("ftp://somewhere/models")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "downloaded by rclone, which is not in PATH: apt-get install rclone" in started(storage.url())


@pytest.mark.parametrize("storage", ["s3"], indirect=True)
def test_a_check_looks_at_what_is_there(storage):
    storage.put("m/1/model.pt", archive(3))
    storage.put("bad/1/model.pt", b"no archive")
    command = [str(binary()), "--check", "--model-repository", storage.url()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "bad/1" in done.stdout and "2 models, 1 problem" in done.stdout


@pytest.mark.parametrize("storage", ["s3"], indirect=True)
def test_a_download_that_hangs_keeps_nobody_from_ending(storage, serve, tmp_path, monkeypatch):
    storage.put("m/1/model.pt", archive(3))
    (tmp_path / "rclone").write_text(
        '#!/bin/sh\ncase " $* " in *" copy "*) exec sleep 1000;; esac\nPATH=${PATH#*:} exec rclone "$@"\n'
    )
    (tmp_path / "rclone").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    server = serve(storage.url(), wait=False)
    eventually(lambda: subprocess.run(["pgrep", "-P", str(server.pid), "sleep"], check=False).returncode == 0)
    assert server.stop() == 0
