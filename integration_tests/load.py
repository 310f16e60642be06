#!/usr/bin/env python3
"""Many clients on several models at once, every answer compared with torch.jit's, and the daemon's memory watched.

    .venv/bin/python -m integration_tests.load [--build build/release] [--seconds 300] [--clients 32]

Starts hearthd on the demo's two models and a resnet18, asks from as many threads, over a few connections, and reloads a
model again and again meanwhile. Exits 1 if an answer was wrong or failed, if the daemon did not end well, or if its
memory still grew in the second half by more than a tenth of what it had.
"""
import argparse
import collections
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import torch
import tritonclient.grpc as triton

from integration_tests import ROOT, client as values_client
from integration_tests.watch import resident_bytes
from integration_tests.zoo import archives as zoo

TEXTS = [["Not bad, not bad at all: great!", "The slow, slow train is awful"], ["one"], ["", "good good GOOD", "x y z" * 40]]


class Question:
    """One request and what it must answer: name -> array, floats within a tolerance, all else exactly."""

    def __init__(self, model, inputs, expected):
        self.model, self.inputs, self.expected = model, inputs, expected

    def ask(self, server):
        answer = server.infer(self.model, self.inputs)
        for name, wanted in self.expected.items():
            got = answer.as_numpy(name)
            if got is None:
                return f"{self.model}: no output {name}"
            if wanted.dtype.kind == "f":
                right = got.shape == wanted.shape and np.allclose(got, wanted, rtol=1e-3, atol=1e-4)
            else:
                right = got.tolist() == wanted.tolist()
            if not right:
                return f"{self.model}: {name} should be {wanted.tolist()}, not {got.tolist()}"[:500]
        return None


def questions():
    made = []
    digits = torch.jit.load(ROOT / "deploy/demo/models/digits/1/model.pt")
    for batch in (1, 3, 8):
        images = torch.randint(0, 17, (batch, 8, 8), generator=torch.Generator().manual_seed(batch)).float()
        tensor = triton.InferInput("images", list(images.shape), "FP32")
        tensor.set_data_from_numpy(images.numpy())
        made.append(Question("digits", [tensor], {"OUTPUT__0": digits(images).detach().numpy()}))
    text = torch.jit.load(ROOT / "deploy/demo/models/text/1/model.pt")
    for texts in TEXTS:
        tensor = triton.InferInput("texts", [len(texts)], "BYTES")
        tensor.set_data_from_numpy(np.array([line.encode() for line in texts], dtype=np.object_))
        answer = text(texts)
        expected = {name: getattr(answer, name).numpy() for name in ("word_counts", "sentiment")}
        made.append(Question("text", [tensor], expected))
    resnet = zoo.ensure(["resnet18"])["resnet18"]
    inputs = values_client.triton_inputs(resnet.names()["inputs"], resnet.inputs())
    expected = {name: value.numpy() for name, value in resnet.served(resnet.expected()).items()}
    made.append(Question("resnet18", inputs, expected))
    return made, resnet


class Load:
    """Client threads and a reloader against one daemon, until told to stop."""

    def __init__(self, address, asked, clients):
        self.address, self.asked = address, asked
        self.stopping = threading.Event()
        self.problems = []
        self.times = collections.defaultdict(list)
        self.reloads = 0
        # A few connections carry many clients each, as a fleet behind a proxy does.
        self.servers = [triton.InferenceServerClient(address) for _ in range(max(1, clients // 8))]
        self.threads = [threading.Thread(target=self.ask, args=(number,)) for number in range(clients)]
        self.threads.append(threading.Thread(target=self.reload))

    def ask(self, number):
        server = self.servers[number % len(self.servers)]
        turn = number
        while not self.stopping.is_set() and len(self.problems) < 20:
            question = self.asked[turn % len(self.asked)]
            turn += 1
            start = time.monotonic()
            try:
                problem = question.ask(server)
            except Exception as error:  # whatever it is, it is an answer that a client did not get
                problem = f"{question.model}: {error!r}"
            self.times[question.model].append(time.monotonic() - start)
            if problem:
                self.problems.append(problem)

    def reload(self):
        server = triton.InferenceServerClient(self.address)
        while not self.stopping.wait(2):
            try:
                server.load_model(("digits", "text")[self.reloads % 2])
                self.reloads += 1
            except Exception as error:
                self.problems.append(f"reload: {error!r}")
                return

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--ignore-memory", action="store_true", help="for sanitizers, which keep what is freed")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        repository = pathlib.Path(folder) / "models"
        shutil.copytree(ROOT / "deploy/demo/models", repository)
        asked, resnet = questions()
        (repository / "resnet18/1").mkdir(parents=True)
        shutil.copy(resnet.archive, repository / "resnet18/1/model.pt")
        daemon = subprocess.Popen(
            [options.build / "bin/hearthd", "--model-repository", repository, "--grpc-port", "0", "--http-port", "0",
             "--metrics-port", "0"],
            stdout=subprocess.PIPE, text=True)
        try:
            load = Load(f"localhost:{json.loads(daemon.stdout.readline())['grpc_port']}", asked, options.clients)
            for thread in load.threads:
                thread.start()
            time.sleep(options.seconds / 2)
            half_way = resident_bytes(daemon.pid)
            time.sleep(options.seconds / 2)
            at_end = resident_bytes(daemon.pid)
            load.stop()
        finally:
            daemon.send_signal(signal.SIGTERM)
            status = daemon.wait(timeout=120)

    for model, times in sorted(load.times.items()):
        times.sort()
        print(f"{model:10} {len(times):8} answers  {len(times) / options.seconds:8.1f}/s  "
              f"median {1000 * times[len(times) // 2]:7.1f} ms  p99 {1000 * times[len(times) * 99 // 100]:7.1f} ms")
    print(f"{load.reloads} reloads; resident {half_way >> 20} MiB half-way, {at_end >> 20} MiB at the end")
    problems = load.problems
    if status != 0:
        problems.append(f"hearthd ended with {status}")
    if at_end > 1.1 * half_way and not options.ignore_memory:
        problems.append("memory still grew")
    print("\n".join(problems) or "every answer was right")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
