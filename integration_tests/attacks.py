#!/usr/bin/env python3
"""A daemon under attack, and a healthy client beside.

    .venv/bin/python -m integration_tests.attacks [--build build/asan] [--seconds 600] [--only NAME ...] [--output FILE.md]
    python3 -m integration_tests.attacks --dist ...    what deploy/bundle made, on a machine with a LibTorch of its own

Each attack goes on for its share of the time, from processes of the lowest priority, since they are not what is measured.
A client with one small request under way at a time, and one that asks /v2/health/live on a connection of its own each time,
go on beside all of them. Prints their latencies alone and beside each attack, and the daemon's resident size. Exits 1 if a
healthy request failed, if the daemon came to hold more than it may, or if it did not end well; never for a latency.
"""

import argparse
import contextlib
import gzip
import http.client
import itertools
import multiprocessing
import os
import pathlib
import resource
import socket
import sys
import tempfile
import threading
import time

import grpc
import numpy as np
from tritonclient.grpc import service_pb2

from benchmarks.run import commit, machine
from integration_tests import ROOT, hostile, http2_floods
from integration_tests.daemon import CHANNEL_OPTIONS, NO_READING_AHEAD, Hearthd, put_model
from integration_tests.hostile import MEBIBYTE
from integration_tests.serving import floats
from integration_tests.watch import resident_bytes

FLAGS = ["--memory-limit", "1GiB", "--requests-memory-limit", "2GiB", "--send-seconds", "5"]
# What all requests may hold, what gRPC and HTTP have received before anybody counts it, and what a sanitizer adds.
MOST_RESIDENT = 8 * 1024 * MEBIBYTE
SERVICE = "/inference.GRPCInferenceService/"
# Not the healthy clients', to whom connections that have ended would leave no free ports.
ATTACKERS = "127.0.0.2"
IP_BIND_ADDRESS_NO_PORT = 24  # of Linux
PATIENCE = 60  # seconds until a healthy request counts as failed


class Target:
    """Where attackers connect to; goes to their processes."""

    def __init__(self, server):
        self.grpc = server.address
        self.ports = {name: server.ready[name] for name in ("grpc_port", "http_port", "metrics_port")}

    def channel(self, number=0, *options):
        return grpc.insecure_channel(self.grpc, options=[*CHANNEL_OPTIONS, ("attack.connection", number), *options])

    def connect(self, port="http_port", receive_buffer=None):
        one = socket.socket()
        if receive_buffer is not None:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        one.settimeout(5)
        one.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        one.bind((ATTACKERS, 0))
        one.connect(("127.0.0.1", self.ports[port]))
        return one


# ---- Attacks: each goes on until its process is ended ----


def hold(target, count, sent=b"", port="http_port", receive_buffer=None):
    """So many connections that have sent these bytes and do no more; what the server closes is opened again."""
    held = []
    while True:
        with contextlib.suppress(OSError):
            while len(held) < count:
                held.append(target.connect(port, receive_buffer))
                held[-1].sendall(sent)
        time.sleep(2)
        closed = [one for one in held if is_closed(one)]
        for one in closed:
            one.close()
            held.remove(one)


def is_closed(one):
    try:
        return one.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def flood(target, method, messages, timeout=30):
    """The messages again and again, four under way at a time, each client with a connection of its own."""

    def client(number):
        with target.channel(number) as channel:
            call = channel.unary_unary(method)
            for message in itertools.cycle(messages):
                with contextlib.suppress(grpc.RpcError):
                    call(message, timeout=timeout)

    run_threads(client, 4)


def run_threads(work, count):
    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def infer_request(model, **numbers):
    request = service_pb2.ModelInferRequest(model_name=model)
    for name, number in numbers.items():
        request.inputs.add(name=name, datatype="INT64", shape=[1])
        request.raw_input_contents.append(np.array([number], dtype=np.int64).tobytes())
    return request.SerializeToString()


def half_headers(target):
    hold(target, 2000, b"GET /v2/health/live HTTP/1.1\r\nHost: h\r\nX: ")


def silent_connections(target):
    hold(target, 10_000)


def silent_grpc_connections(target):
    hold(target, 1000, b"PRI * HTTP/2.0\r\n", port="grpc_port")


def noise(target):
    """Bytes that are no protocol, on every port."""
    random = np.random.default_rng(1)
    for port in itertools.cycle(target.ports):
        with contextlib.suppress(OSError), target.connect(port) as one:
            one.sendall(random.bytes(4096))


def new_connections(target):
    while True:
        with contextlib.suppress(OSError), contextlib.ExitStack() as opened:
            for _ in range(200):
                opened.enter_context(target.connect())


def readers_that_do_not_read(target):
    hold(target, 200, b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n" * 50, receive_buffer=4096)


def empty_entries(target):
    flood(target, SERVICE + "ModelInfer", [hostile.empty_entries(5), hostile.empty_entries(7), hostile.empty_texts()])


def empty_values(target):
    flood(target, "/hearth.v1.ModelService/Call", [hostile.empty_values()])


def colliding_keys(target):
    request = service_pb2.ModelInferRequest(model_name="of_ints")
    for key in hostile.COLLIDING:
        request.inputs.add(name=f"d.{key}", datatype="FP32", shape=[1])
        request.raw_input_contents.append(b"\0\0\0\0")
    flood(target, SERVICE + "ModelInfer", [request.SerializeToString()])


def growing_answers(target):
    messages = [infer_request("large", elements=1 << 32), infer_request("repeated", n=100_000), infer_request("doubled", n=40)]
    flood(target, SERVICE + "ModelInfer", messages)


def streams_that_nobody_reads(target):
    message = infer_request("zeros", elements=2 * MEBIBYTE)

    def client(number):
        while True:
            with target.channel(number, NO_READING_AHEAD) as channel, contextlib.suppress(grpc.RpcError):
                stream = channel.stream_stream(SERVICE + "ModelStreamInfer")(itertools.repeat(message, 60))
                time.sleep(8)
                stream.cancel()

    run_threads(client, 4)


def reflection(target):
    question = b"\x3a\x00"  # list_services

    def client(number):
        def ask_and_stay():
            yield question
            time.sleep(5)

        while True:
            with target.channel(number) as channel, contextlib.suppress(grpc.RpcError):
                method = channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
                streams = [method(ask_and_stay()) for _ in range(100)]
                time.sleep(5)
                for stream in streams:
                    stream.cancel()

    run_threads(client, 2)


def raising_models(target):
    request = service_pb2.ModelInferRequest(model_name="forger")
    request.inputs.add(name="x", datatype="FP32", shape=[1])
    request.raw_input_contents.append(b"\0\0\0\0")
    flood(target, SERVICE + "ModelInfer", [request.SerializeToString()])


def loads(target):
    """Loads with configurations that are wrong, and of models that are not there."""
    messages = []
    for config in ('{"input": [{"name": "x", "data_type": 99, "dims": [1]}]}', '{"a":' * 1000, "x" * (MEBIBYTE - 100)):
        request = service_pb2.RepositoryModelLoadRequest(model_name="hostile")
        request.parameters["config"].string_param = config
        messages.append(request.SerializeToString())
    for number in range(20):
        messages.append(service_pb2.RepositoryModelLoadRequest(model_name=f"nowhere_{number}").SerializeToString())
    flood(target, SERVICE + "RepositoryModelLoad", messages)


def compressed_bombs(target):
    """A few hundred kilobytes that would be 256 MB."""
    message = b"\x0a\x08identity" + bytes(256 * MEBIBYTE)

    def client(number):
        with target.channel(number) as channel:
            call = channel.unary_unary(SERVICE + "ModelInfer")
            while True:
                with contextlib.suppress(grpc.RpcError):
                    call(message, timeout=30, compression=grpc.Compression.Gzip)

    run_threads(client, 2)


def post_flood(target, bodies, **headers):
    """The bodies again and again, four under way at a time."""

    def client(_):
        for body in itertools.cycle(bodies):
            connection = http.client.HTTPConnection("127.0.0.1", target.ports["http_port"], timeout=30)
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection.request("POST", "/v2/models/identity/infer", body, headers)
                connection.getresponse().read()
            connection.close()

    run_threads(client, 4)


def json_bombs(target):
    head = b'{"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": '
    post_flood(target, [head + b"[" * 8 * MEBIBYTE, head + b"[" + b"[]," * 4 * MEBIBYTE, b'{"a":' * 2 * MEBIBYTE])


def compressed_json(target):
    post_flood(target, [gzip.compress(bytes(256 * MEBIBYTE))], **{"Content-Encoding": "gzip"})


def bodies_that_stay_away(target):
    hold(target, 1000, b"POST /v2/models/identity/infer HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n{")


def frame_flood(target, make):
    """The frames as fast as they go, on four connections; what the server closes is opened again."""

    def client(_):
        while True:
            with contextlib.suppress(OSError), target.connect("grpc_port") as one:
                for part in make():
                    one.sendall(part)

    run_threads(client, 4)


def flood_of_another(_):
    """Of a server that closes what it has read a part of: what a busy machine is without an attack on the daemon."""

    def serve(listener, attacker):
        while os.getppid() == attacker:
            with contextlib.suppress(OSError), listener.accept()[0] as one:
                one.recv(http2_floods.MOST_AT_ONCE)

    listener = socket.create_server(("127.0.0.1", 0), backlog=100)
    listener.settimeout(1)
    multiprocessing.get_context("fork").Process(target=serve, args=(listener, os.getpid())).start()

    def client(_):
        while True:
            with contextlib.suppress(OSError), socket.create_connection(listener.getsockname(), timeout=5) as one:
                for part in http2_floods.pings():
                    one.sendall(part)

    run_threads(client, 4)


def headers_without_end(target):
    frame_flood(target, http2_floods.headers_without_end)


def resets(target):
    frame_flood(target, http2_floods.resets)


def settings_frames(target):
    frame_flood(target, http2_floods.settings)


def pings(target):
    frame_flood(target, http2_floods.pings)


def empty_data(target):
    frame_flood(target, http2_floods.empty_data)


def window_updates(target):
    frame_flood(target, http2_floods.window_updates)


def priorities(target):
    frame_flood(target, http2_floods.priorities)


ATTACKS = [
    flood_of_another, half_headers, silent_connections, silent_grpc_connections, noise, new_connections, readers_that_do_not_read, empty_entries,
    empty_values, colliding_keys, growing_answers, streams_that_nobody_reads, reflection, raising_models, loads,
    compressed_bombs, json_bombs, compressed_json, bodies_that_stay_away,
    headers_without_end, resets, settings_frames, pings, empty_data, window_updates, priorities,
]  # fmt: skip


# ---- The healthy ones ----


class Healthy:
    """Two clients, each with one request after the other, whose latencies are kept by phase."""

    def __init__(self, server):
        self.server = server
        self.phase = None
        self.failures = []
        self.seconds = {}  # (phase, what): list
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.loop, args=(work,)) for work in ("infer", "probe")]
        for thread in self.threads:
            thread.start()

    def loop(self, what):
        client = self.server.client()
        inputs = [floats("x", *range(64))]

        def infer():
            assert client.infer("identity", inputs, client_timeout=PATIENCE).as_numpy("OUTPUT__0").shape == (64,)

        def probe():
            connection = http.client.HTTPConnection("127.0.0.1", self.server.ready["http_port"], timeout=PATIENCE)
            connection.request("GET", "/v2/health/live")
            assert connection.getresponse().status == 200
            connection.close()

        work = {"infer": infer, "probe": probe}[what]
        while not self.stopping.is_set():
            phase, start = self.phase, time.monotonic()
            try:
                work()
            except Exception as error:  # whatever it is, it is an answer that a client did not get
                self.failures.append(f"{what} during {phase}: {error!r}")
            self.seconds.setdefault((phase, what), []).append(time.monotonic() - start)
            time.sleep(0.005)

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def milliseconds(self, phase, what, share):
        """NaN if none was asked in that phase: one of an earlier phase went on all through it."""
        seconds = self.seconds.get((phase, what))
        return 1e3 * float(np.quantile(seconds, share)) if seconds else float("nan")


def attack(function, target, begins):
    os.nice(19)
    begins.set()
    function(target)


def run_phase(server, healthy, name, function, seconds):
    """The largest resident size meanwhile."""
    attacker = None
    if function is not None:
        # Of a process that has imported what takes long, and has no threads.
        forking = multiprocessing.get_context("forkserver")
        forking.set_forkserver_preload(["grpc", "tritonclient.grpc", "integration_tests.hostile"])
        begins = forking.Event()
        attacker = forking.Process(target=attack, args=(function, Target(server), begins))
        attacker.start()
        assert begins.wait(60), f"{name} did not begin"
        time.sleep(1)  # until it is under way
    healthy.phase = name
    largest, end = 0, time.monotonic() + seconds
    while time.monotonic() < end and server.process.poll() is None:
        time.sleep(0.2)
        largest = max(largest, resident_bytes(server.pid))
    healthy.phase = None
    if attacker is not None:
        attacker.terminate()
        attacker.join()
    return largest


def table(healthy, resident):
    rows = ["| attack | infer p50, ms | infer p99, ms | x alone | probe p50, ms | probe p99, ms | x alone | resident, MiB |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |"]  # fmt: skip
    for name, size in resident.items():
        cells = [name.replace("_", " ")]
        for what in ("infer", "probe"):
            p99 = healthy.milliseconds(name, what, 0.99)
            alone = healthy.milliseconds("alone", what, 0.99)
            cells += [f"{healthy.milliseconds(name, what, 0.5):.1f}", f"{p99:.1f}", f"{p99 / alone:.2f}"]
        rows.append("| " + " | ".join([*cells, str(size // MEBIBYTE)]) + " |")
    return "\n".join(rows)


def main():
    names = [function.__name__ for function in ATTACKS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--dist", action="store_true", help="the hearthd of dist/ in place of the build's")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--only", nargs="*", choices=names, default=names, metavar="NAME")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    program = [ROOT / "dist/run", "hearthd"] if options.dist else [options.build / "bin/hearthd"]
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    chosen = [function for function in ATTACKS if function.__name__ in options.only]
    share = options.seconds / (len(chosen) + 1)
    with tempfile.TemporaryDirectory() as folder:
        repository = pathlib.Path(folder) / "models"
        for name, model in hostile.models().items():
            put_model(repository, name, model)
        with open(pathlib.Path(folder) / "log", "w") as log:
            server = Hearthd(repository, *FLAGS, log=log, program=program)
            healthy = Healthy(server)
            resident = {"alone": run_phase(server, healthy, "alone", None, share)}
            for function in chosen:
                resident[function.__name__] = run_phase(server, healthy, function.__name__, function, share)
            healthy.stop()
            status = server.stop()
        problems = healthy.failures[:20]
        if status != 0:
            problems.append(f"hearthd ended with {status}: {pathlib.Path(log.name).read_text()[-2000:]}")
    problems += [f"{name}: {size} bytes resident" for name, size in resident.items() if size > MOST_RESIDENT]
    heading = f"Machine: {machine()}. Commit: {commit()}. {share:.0f} s each."
    text = f"{heading}\n\n{table(healthy, resident)}\n"
    print(text)
    if options.output:
        options.output.write_text(text)
    print("\n".join(problems) or "every healthy request was answered")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
