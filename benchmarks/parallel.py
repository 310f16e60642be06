#!/usr/bin/env python3
"""How much more a model answers when several clients ask at once: python -m benchmarks.parallel [--bin DIR] [--clients N] [--rounds N].

Models that write attributes while they run (torchvision's detectors, RAFT) beside ones that write nothing. One thread
inside of each operator, so that only requests run side by side. One client and N take turns; medians of the rounds.
"""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import threading
import time

# Read when LibTorch starts, here and in the daemon.
os.environ["OMP_NUM_THREADS"] = "1"

import torchvision  # noqa: E402
import tritonclient.grpc as triton  # noqa: E402

from benchmarks import ROOT  # noqa: E402
from benchmarks.run import geometric_mean, machine, table  # noqa: E402
from integration_tests.client import triton_inputs  # noqa: E402
from integration_tests.daemon import Hearthd, put_model  # noqa: E402
from integration_tests.zoo import archives as zoo  # noqa: E402

WRITERS = ["fasterrcnn_mobilenet_v3_large_320_fpn", "ssdlite320_mobilenet_v3_large", "raft_small"]
OTHERS = ["resnet18"]


def rate(address, name, inputs, clients, seconds):
    """Answers in a second, of that many clients together."""
    start, counts = threading.Barrier(clients), []

    def ask():
        with triton.InferenceServerClient(address) as client:
            client.infer(name, inputs)
            start.wait()
            answers, begun = 0, time.monotonic()
            while time.monotonic() < begun + seconds:
                client.infer(name, inputs)
                answers += 1
            counts.append(answers / (time.monotonic() - begun))

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    os.environ["HEARTHD"] = str(options.bin / "hearthd")

    models = zoo.ensure(WRITERS + OTHERS)
    library = pathlib.Path(torchvision.__file__).parent / "_C.so"
    rows, ratios = [], []
    with tempfile.TemporaryDirectory() as repository:
        for name, model in models.items():
            put_model(repository, name, model.archive)
        server = Hearthd(repository, "--operator-library", library)
        for name, model in models.items():
            inputs = triton_inputs(model.names()["inputs"], model.inputs())
            rates = {1: [], options.clients: []}
            for _ in range(options.rounds):
                for clients in rates:
                    rates[clients].append(rate(server.address, name, inputs, clients, options.seconds))
            one, many = (statistics.median(rates[clients]) for clients in rates)
            rows.append([name, "yes" if name in WRITERS else "no", f"{one:.2f}", f"{many:.2f}", f"{many / one:.2f}"])
            if name in WRITERS:
                ratios.append(many / one)
            print(rows[-1], file=sys.stderr, flush=True)
        server.stop()
    print(f"Machine: {machine()}. Medians of {options.rounds} alternating rounds.\n")
    rows.append(["geometric mean of those that write", "", "", "", f"{geometric_mean(ratios):.2f}"])
    header = ["model", "writes attributes", "1 client, answers/s", f"{options.clients} clients, answers/s", "ratio"]
    print(table(header, rows))


if __name__ == "__main__":
    main()
