#!/usr/bin/env python3
"""How long requests wait before they run, by how busy a server is, beside what queueing theory says (docs/scaling.md):

    python -m benchmarks.capacity [--build build/release] [--threads 1] [--seconds 20] [--load 0.3 0.5 0.7 0.85 1.2]

A model that takes about 5 ms of one processor, whatever else runs, is asked at moments that are drawn at random (a Poisson
process), as many as keep the server's threads busy for this share of the time. Times are the server's own, from its metrics.
The client and the server share the machine: leave a processor for the client.
"""

import argparse
import math
import os
import pathlib
import random
import sys
import tempfile
import threading
import time

from benchmarks import ROOT
from benchmarks.run import commit, machine, table
from integration_tests import server_models as models
from integration_tests.daemon import Hearthd, eventually, put_model
from integration_tests.serving import in_flight, spin

AIMED = 0.005  # seconds in the model
METRICS = {
    "answered": "nv_inference_request_success",
    "queue": "nv_inference_queue_duration_us",
    "compute": "nv_inference_compute_infer_duration_us",
}


def mean_wait(load, threads, service):
    """The mean wait of a queue with that many servers, Poisson arrivals and equal service times: half of what Erlang's
    formula C gives for M/M/c (Allen and Cunneen's approximation of M/G/c without variance)."""
    if load >= 1:
        return math.inf
    offered = load * threads
    waits = offered**threads / math.factorial(threads) / (1 - load)
    waits /= waits + sum(offered**k / math.factorial(k) for k in range(threads))
    return waits * service / (threads * (1 - load)) / 2


def counted(server):
    return {name: server.metric(metric, model="spin") for name, metric in METRICS.items()}


def ask(client, rate, rounds, seconds, draw):
    """Asks at random moments until the time is over and all is answered; gives how many were sent and refused."""
    lock = threading.Lock()
    ended, refused, sent = [0], [0], 0

    def note(result, error):
        with lock:
            ended[0] += 1
            refused[0] += error is not None

    begin = time.monotonic()
    at = draw.expovariate(rate)
    while at < seconds:
        time.sleep(max(0.0, begin + at - time.monotonic()))
        client.async_infer("spin", spin(rounds), callback=note)
        sent += 1
        at += draw.expovariate(rate)
    eventually(lambda: ended[0] == sent, 600)
    return sent, refused[0], time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--load", type=float, nargs="+", default=[0.3, 0.5, 0.7, 0.85, 1.2])
    options = parser.parse_args()
    os.environ["HEARTHD"] = str(options.build / "bin/hearthd")

    draw = random.Random(0)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        put_model(folder, "spin", models.scripted(models.Spin()))
        flags = [
            "--threads",
            options.threads,
            "--operator-threads",
            1,
            "--compiler",
            "off",
            "--max-pending-requests",
            64,
        ]
        server = Hearthd(folder, *flags)
        with server.client() as client:
            rounds = 5_000
            ask(client, 20, rounds, 2, draw)
            before = counted(server)
            for _ in range(100):
                client.infer("spin", spin(rounds))
            after = counted(server)
            service = (after["compute"] - before["compute"]) / 100e6
            rounds = int(rounds * AIMED / service)
            for load in options.load:
                before = counted(server)
                sent, refused, seconds = ask(client, load * options.threads / AIMED, rounds, options.seconds, draw)
                assert in_flight(server) == 0
                spent = {name: value - before[name] for name, value in counted(server).items()}
                service = spent["compute"] / spent["answered"] / 1e6
                # As busy as it was: the service time is not exactly what was aimed at.
                busy = sent / options.seconds * service / options.threads
                wait = 1e3 * mean_wait(busy, options.threads, service)
                row = [f"{busy:.2f}", f"{sent / options.seconds:.1f}", f"{spent['answered'] / seconds:.1f}", refused]
                row += [f"{1e3 * service:.1f}", f"{spent['queue'] / spent['answered'] / 1e3:.1f}"]
                rows.append([*row, f"{wait:.1f}" if wait < math.inf else "without bound"])
        assert server.stop() == 0
    print(
        f"hearthd with {options.threads} thread(s) for models, {options.seconds:g} s a row; {commit()}; {machine()}\n"
    )
    print(
        table(
            [
                "load",
                "asked a second",
                "answered a second",
                "refused",
                "ms in the model",
                "mean ms in the queue",
                "by the formula",
            ],
            rows,
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
