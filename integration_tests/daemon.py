"""hearthd as a process of the tests: started on free ports, asked through tritonclient, ended by SIGTERM."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import grpc
import torch
import tritonclient.grpc as triton

from integration_tests.command_line import BUILD

# Messages of any size, as Triton's clients have them.
CHANNEL_OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
# For a client that reads nothing. Else its transport measures the connection and reads ahead of it, up to 128 MiB of each
# stream where a busy machine makes pings slow: to the server that is a client that reads.
NO_READING_AHEAD = ("grpc.http2.bdp_probe", 0)


def binary():
    return pathlib.Path(os.environ.get("HEARTHD") or BUILD / "bin/hearthd")


def put_model(repository, name, archive, version=1, config=None):
    """Puts a ScriptModule, or a copy of an archive's file, into a repository's layout."""
    folder = pathlib.Path(repository) / name / str(version)
    folder.mkdir(parents=True, exist_ok=True)
    # Beside and then moved: a daemon that loads meanwhile must not see half of it.
    new = folder / "model.pt.new"
    if isinstance(archive, torch.jit.ScriptModule):
        torch.jit.save(archive, str(new))
    else:
        shutil.copy(archive, new)
    new.rename(folder / "model.pt")
    if config is not None:
        (folder.parent / "config.pbtxt").write_text(config)
    return folder


class Hearthd:
    """A running daemon. `repository` is its model repository; `program` what starts it in place of the built binary, as a
    list; `command` a whole command line in place of the usual one."""

    def __init__(self, repository, *flags, wait=True, log=None, program=None, command=None):
        self.repository = pathlib.Path(repository)
        self.log = log
        if command is None:
            command = [*(program or [binary()]), "--model-repository", repository, "--host", "127.0.0.1"]
            command += ["--grpc-port", "0", "--http-port", "0", "--metrics-port", "0", *flags]
        self.process = subprocess.Popen(
            [str(part) for part in command], stdout=subprocess.PIPE, stderr=log or subprocess.DEVNULL, text=True
        )
        self.ready = None
        if wait:
            self.wait_until_ready()

    def wait_until_ready(self):
        line = self.process.stdout.readline()
        assert line, f"hearthd ended with {self.process.wait()} before it was ready"
        self.ready = json.loads(line)
        assert self.ready["event"] == "ready"

    @property
    def pid(self):
        return self.process.pid

    def children(self):
        """The processes that it has started and that are there; none if it has ended."""
        with contextlib.suppress(FileNotFoundError):
            return [
                int(child)
                for task in os.listdir(f"/proc/{self.pid}/task")
                for child in open(f"/proc/{self.pid}/task/{task}/children").read().split()
            ]
        return []

    @property
    def address(self):
        return f"127.0.0.1:{self.ready['grpc_port']}"

    def client(self, **options):
        """A tritonclient; close it, or let it go."""
        return triton.InferenceServerClient(self.address, **options)

    def channel(self):
        return grpc.insecure_channel(self.address, options=CHANNEL_OPTIONS)

    def get(self, path, port="http_port"):
        """(status, text) of the HTTP port, or of the port of metrics."""
        url = f"http://127.0.0.1:{self.ready[port]}{path}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metric(self, name, **labels):
        """The value of one series of /metrics; None if it is not there."""
        for line in self.get("/metrics")[1].splitlines():
            series, _, value = line.rpartition(" ")
            has_labels = all(f'{label}="{text}"' in series for label, text in labels.items())
            if series.partition("{")[0] == name and has_labels:
                return float(value)
        return None

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self, timeout=60):
        return self.process.wait(timeout)

    def stop(self):
        """Ends it and gives its exit status."""
        if self.process.poll() is None:
            self.terminate()
        try:
            return self.wait()
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            self.process.stdout.close()


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def eventually(condition, seconds=30):
    """Waits for what happens in another process; fails if it does not."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
