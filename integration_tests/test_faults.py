"""What must hold when the world around hearthd fails: it is killed, disks fill up, files change under it, clocks jump."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from tritonclient.utils import InferenceServerException

from integration_tests import hostile, rest, swaps
from integration_tests import server_models as models
from integration_tests.daemon import Hearthd, binary, eventually, free_port, put_model
from integration_tests.serving import LONG, answer_of, in_flight, spin, tensor

# ---- Killed ----


def trying_again(kind):
    """A client that asks again where the server was not there."""

    class TryingAgain:
        def __init__(self, server):
            self.server, self.client = server, kind(server)

        def ask(self, model, rows):
            end = time.monotonic() + 60
            while True:
                try:
                    return self.client.ask(model, rows)
                except swaps.Unavailable:
                    if time.monotonic() > end:
                        raise
                self.client.close()
                time.sleep(0.02)
                self.client = kind(self.server)

        def close(self):
            self.client.close()

    return TryingAgain


def test_kills_under_load_lose_nothing_for_clients_that_try_again(tmp_path):
    deployments = swaps.deploy(tmp_path / "models")
    files = {path: path.read_bytes() for path in (tmp_path / "models").rglob("*") if path.is_file()}
    ports = ["--grpc-port", free_port(), "--http-port", free_port(), "--cache-dir", tmp_path / "cache"]
    with open(tmp_path / "log", "w") as log:
        server = Hearthd(tmp_path / "models", *ports, log=log)
        with swaps.Crowd(
            server, deployments, kinds=[trying_again(kind) for kind in (swaps.OverGrpc, swaps.OverRest)]
        ) as crowd:
            for _ in range(3):
                crowd.wait_for_more(20)
                server.process.kill()
                server.stop()
                server = Hearthd(tmp_path / "models", *ports, log=log)
            crowd.wait_for_more(20)
        assert crowd.problems == []
        # What was compiled is known to the next one, whatever the last one was doing when it was killed.
        assert server.stop() == 0
        server = Hearthd(tmp_path / "models", *ports, log=log)
        assert server.metric("hearth_plans", model="renamed", tier="1") > 0
        assert server.stop() == 0
    assert files == {path: path.read_bytes() for path in (tmp_path / "models").rglob("*") if path.is_file()}
    lines = (tmp_path / "log").read_text().splitlines()
    assert [line for line in lines if " E " in line or " W " in line] == []


def test_helpers_that_are_killed_cost_kernels_and_no_answers(hearthd):
    model = models.scripted(models.Kernels())
    server = hearthd({"m": model})
    x = torch.randn(1000)
    killed = set()
    with server.client() as client:

        def ask(rank):
            given = tensor("x", x.view([1] * rank + [1000]).numpy())
            answer = torch.from_numpy(client.infer("m", [given]).as_numpy("OUTPUT__0").copy())
            assert torch.allclose(answer.flatten(), model(x), rtol=1e-5, atol=1e-6)

        for rank in range(12):  # each has a plan, and a kernel, of its own

            def kill():
                ask(rank)
                for child in set(server.children()) - killed:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)
                        killed.add(child)
                return server.metric("hearth_plans", model="m", tier="1") > rank

            eventually(kill)
    assert killed and server.stop() == 0


# ---- No room ----


@pytest.fixture
def full_disk(tmp_path):
    """A folder on a file system of its own that has no room left."""
    folder = tmp_path / "full"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True).returncode != 0:
        pytest.skip("file systems may not be mounted here")
    try:
        with open(folder / "filling", "wb", buffering=0) as filling, contextlib.suppress(OSError):
            while True:
                filling.write(bytes(4096))
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def call_until_compiled(server):
    with server.client() as client:
        eventually(lambda: answer_of(client, "m") == [3] and server.metric("hearth_plans", model="m", tier="1"))


def test_a_full_disk_costs_what_is_written_there_and_nothing_else(hearthd, full_disk):
    (full_disk / "cache").mkdir()
    model = models.constant(3)
    flags = ["--cache-dir", full_disk / "cache", "--access-log", full_disk / "access"]
    server = hearthd({"m": model}, *flags)
    call_until_compiled(server)
    assert server.stop() == 0
    log = pathlib.Path(server.log.name).read_text()
    assert "No space left on device" in log and log.count("\n") < 50
    (full_disk / "filling").unlink()
    # What was written in part is not taken for whole, and from now on it is kept.
    for plans in (0, 1):
        server = hearthd({"m": model}, *flags)
        assert server.metric("hearth_plans", model="m", tier="1") == plans
        call_until_compiled(server)
        assert server.stop() == 0
    assert '"model":"m"' in (full_disk / "access").read_text()


def test_files_that_may_not_grow_end_nothing(tmp_path):
    put_model(tmp_path / "models", "m", models.constant(3))
    flags = ["--cache-dir", tmp_path / "cache", "--access-log", tmp_path / "access"]
    with open(tmp_path / "log", "w") as log:
        server = Hearthd(tmp_path / "models", *flags, program=["prlimit", "--fsize=512", binary()], log=log)
        call_until_compiled(server)
        with server.client() as client:
            assert [answer_of(client, "m") for _ in range(10)] == [[3]] * 10
        assert server.stop() == 0
    assert (tmp_path / "access").stat().st_size == 512


# ---- Files that change ----


def test_a_served_model_does_not_see_what_becomes_of_its_file(hearthd):
    # Weights of 64 MiB, of which each answer looks at all.
    torch.manual_seed(0)
    server = hearthd({"m": models.scripted(Sum(16 << 20))})
    file = server.repository / "m/1/model.pt"
    with server.client() as client:
        expected = answer_of(client, "m")
        size = file.stat().st_size
        with open(file, "r+b") as opened:
            opened.write(bytes(size))
            opened.flush()
            assert answer_of(client, "m") == expected
            opened.truncate(0)
            assert answer_of(client, "m") == expected
        shutil.rmtree(server.repository / "m")
        assert answer_of(client, "m") == expected
    assert server.stop() == 0


class Sum(nn.Module):
    def __init__(self, elements):
        super().__init__()
        self.register_buffer("weight", torch.randint(0, 3, (elements,), dtype=torch.int32))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.weight.sum()


def test_archives_that_change_while_they_are_loaded_end_no_load_but_their_own(hearthd, tmp_path):
    torch.manual_seed(0)
    whole = [put_model(tmp_path, f"whole{number}", models.scripted(Sum(1 << 20))) / "model.pt" for number in (1, 2)]
    data = [path.read_bytes() for path in whole]
    server = hearthd({"m": whole[0]})
    file = server.repository / "m/1/model.pt"
    stop = threading.Event()

    def write():
        turn = 0
        while not stop.is_set():
            turn += 1
            with open(file, "wb" if turn % 3 else "r+b") as opened:
                opened.write(data[turn % 2][: len(data[0]) // 2])
                opened.flush()
                opened.write(data[turn % 2][len(data[0]) // 2 :])

    writing = threading.Thread(target=write)
    with server.client() as client:
        answers = [answer_of(client, "m")]
        writing.start()
        try:
            failed = 0
            for _ in range(60):
                try:
                    client.load_model("m")
                except InferenceServerException:
                    failed += 1
                answer = answer_of(client, "m")
                if answer not in answers:
                    answers.append(answer)
        finally:
            stop.set()
            writing.join()
        assert failed > 0 and len(answers) <= 2
        client.load_model("m")
    assert server.stop() == 0


# ---- Clocks that jump ----

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
DAY = 86400


BATCHED = "max_batch_size: 8 dynamic_batching { max_queue_delay_microseconds: 500000 }"


class Clock:
    """The time of day of a daemon, which `jump` moves; what counts seconds since a start stays as it is."""

    def __init__(self, file):
        assert os.path.exists(FAKETIME), "libfaketime is in scripts/packages-test.txt"
        self.file = file
        # With libc's malloc: jemalloc asks for the time as it begins, and libfaketime for memory before it says it.
        self.program = ["env", f"LD_PRELOAD={FAKETIME}:libc.so.6", f"FAKETIME_TIMESTAMP_FILE={file}", "FAKETIME_NO_CACHE=1",
                        "FAKETIME_DONT_FAKE_MONOTONIC=1", binary()]  # fmt: skip
        self.jump(0)

    def jump(self, seconds):
        self.file.with_suffix(".new").write_text(f"{seconds:+d}\n")
        self.file.with_suffix(".new").rename(self.file)


@pytest.mark.parametrize("days", [-1, 400])
def test_a_clock_that_jumps_moves_no_deadline(tmp_path, days):
    clock = Clock(tmp_path / "clock")
    put_model(tmp_path / "models", "spin", models.scripted(models.Spin()))
    put_model(tmp_path / "models", "batched", models.constant(1), config=BATCHED)
    server = Hearthd(tmp_path / "models", "--access-log", tmp_path / "access", program=clock.program)
    with server.client() as client:
        client.infer("spin", spin(1))
        # One that has time, one that has not, and one that waits for a batch.
        ends, errors = [], []
        client.async_infer(
            "spin", spin(30_000_000), callback=lambda result, error: ends.append(error), client_timeout=100
        )
        client.async_infer("spin", spin(LONG), callback=lambda result, error: errors.append(error), client_timeout=2)
        client.async_infer(
            "batched", [tensor("x", np.zeros((1, 1), np.float32))], callback=lambda result, error: ends.append(error)
        )
        eventually(lambda: in_flight(server) == 2)
        clock.jump(days * DAY)
        eventually(lambda: errors and errors[0] is not None and "DEADLINE_EXCEEDED" in str(errors[0].status()))
        clock.jump(-days * DAY)
        eventually(lambda: len(ends) == 2)
        assert ends == [None, None]
    assert server.stop() == 0
    times = [json.loads(line)["time_ms"] / 1000 for line in (tmp_path / "access").read_text().splitlines()]
    assert max(times) - min(times) > DAY / 2, "the clock has jumped"


def test_a_clock_that_jumps_while_the_server_ends_cuts_no_answer_off(tmp_path):
    clock = Clock(tmp_path / "clock")
    put_model(tmp_path / "models", "spin", models.scripted(models.Spin()))
    put_model(tmp_path / "models", "zeros", models.scripted(hostile.Zeros()))
    server = Hearthd(tmp_path / "models", "--drain-seconds", "100", program=clock.program)
    body = json.dumps(
        {**rest.one_input("INT64", [1], [16 << 20], "elements"), "parameters": {"binary_data_output": True}}
    )
    head = f"POST /v2/models/zeros/infer HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n"
    with server.client() as client, socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect(("127.0.0.1", server.ready["http_port"]))
        reader.sendall((head + body).encode())
        eventually(lambda: server.metric("nv_inference_request_success", model="zeros") == 1)
        ended = threading.Event()
        client.async_infer("spin", spin(10_000_000), callback=lambda result, error: ended.set())
        eventually(lambda: in_flight(server, "spin") == 1)
        server.terminate()
        eventually(lambda: server.get("/v2/health/ready")[0] == 400)
        clock.jump(DAY)
        assert ended.wait(60)
        time.sleep(1)  # in which an end that has passed would have cut it off
        received = 0
        while part := reader.recv(1 << 20):
            received += len(part)
        assert received > 64 << 20
    assert server.wait() == 0
