"""Clients of REST with binary tensors, in processes of their own: each connection sends the same request again when it
has its answer. Sockets and bytes alone, so that clients are not what is measured."""

import json
import multiprocessing
import socket
import statistics
import threading
import time
from typing import NamedTuple

import numpy as np

DATATYPES = {"float16": "FP16", "float32": "FP32", "int64": "INT64"}
NUMPY_DTYPES = {wire: np.dtype(name) for name, wire in DATATYPES.items()}
MOST_PROCESSES = 8


class Load(NamedTuple):
    latencies: list  # seconds, in the order of their ends
    seconds: float
    failed: int

    @property
    def rate(self):
        return len(self.latencies) / self.seconds

    def quantile(self, part):
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else float("nan")

    def median(self):
        return statistics.median(self.latencies) if self.latencies else float("nan")


def request(model, arrays):
    """The bytes of an inference of these numpy arrays by name; answers are binary."""
    contents = [array.tobytes() for array in arrays.values()]
    inputs = [{"name": name, "datatype": DATATYPES[str(array.dtype)], "shape": list(array.shape),
               "parameters": {"binary_data_size": len(content)}}
              for (name, array), content in zip(arrays.items(), contents)]
    header = json.dumps({"inputs": inputs, "parameters": {"binary_data_output": True}}).encode()
    body = b"".join([header, *contents])
    return (f"POST /v2/models/{model}/infer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n"
            f"Inference-Header-Content-Length: {len(header)}\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body


def outputs(headers, body):
    """The arrays of an answer, each flat."""
    at, arrays = int(headers["inference-header-content-length"]), []
    for output in json.loads(body[:at])["outputs"]:
        size = output["parameters"]["binary_data_size"]
        arrays.append(np.frombuffer(body[at : at + size], NUMPY_DTYPES[output["datatype"]]))
        at += size
    return arrays


class Connection:
    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray(1 << 16)

    def ask(self, message):
        """(status, headers in lower case, body)."""
        self._socket.sendall(message)
        head = b""
        while b"\r\n\r\n" not in head:
            head += self._receive()
        head, _, body = head.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", 0))
        parts, have = [body], len(body)
        while have < length:
            parts.append(self._receive())
            have += len(parts[-1])
        return int(first.split()[1]), headers, b"".join(parts)

    def _receive(self):
        count = self._socket.recv_into(self._buffer)
        if count == 0:
            raise ConnectionError("the server closed the connection")
        return bytes(self._buffer[:count])

    def close(self):
        self._socket.close()


def load(port, message, clients, seconds=None, requests=None, connect=Connection):
    """What so many clients at once measure in that time, or of that many requests together. `connect` makes a connection of a
    port."""
    context = multiprocessing.get_context("fork")
    processes = min(clients, MOST_PROCESSES)
    shares = [clients // processes + (index < clients % processes) for index in range(processes)]
    start, answers = context.Barrier(processes), context.SimpleQueue()
    left = context.Value("q", requests if requests is not None else 1 << 62)
    arguments = (connect, port, message, seconds, left, start, answers)
    started = [context.Process(target=_process, args=(share, *arguments), daemon=True) for share in shares]
    for process in started:
        process.start()
    parts = [answers.get() for _ in started]
    for process in started:
        process.join()
    calls = sorted(call for part, _ in parts for call in part)
    if not calls:
        return Load([], 1, sum(failed for _, failed in parts))
    first = min(end - latency for end, latency in calls)
    return Load([latency for _, latency in calls], calls[-1][0] - first, sum(failed for _, failed in parts))


def ask_once(port, message, connect=Connection):
    """(status, headers, body), asked by a process of its own as `load` does it."""
    with multiprocessing.get_context("fork").Pool(1) as processes:
        return processes.apply(_ask_once, (connect, port, message))


def _ask_once(connect, port, message):
    connection = connect(port)
    try:
        return connection.ask(message)
    finally:
        connection.close()


def _process(clients, connect, port, message, seconds, left, start, answers):
    calls, failed = [], []
    connections = [connect(port) for _ in range(clients)]
    start.wait()
    until = time.perf_counter() + seconds if seconds is not None else float("inf")

    def work(connection):
        while True:
            with left.get_lock():
                if left.value <= 0:
                    return
                left.value -= 1
            began = time.perf_counter()
            if began >= until:
                return
            try:
                status, _, body = connection.ask(message)
            except OSError as error:
                failed.append(str(error))
                return
            ended = time.perf_counter()
            if status == 200:
                calls.append((ended, ended - began))
            else:
                failed.append(body[:200])

    threads = [threading.Thread(target=work, args=(connection,)) for connection in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        print(f"{len(failed)} requests failed, such as by {failed[0]!r}", flush=True)
    answers.put((calls, len(failed)))
