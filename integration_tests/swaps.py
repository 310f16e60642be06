#!/usr/bin/env python3
"""Models that are replaced again and again while clients ask them, every answer looked at.

    .venv/bin/python -m integration_tests.swaps [--build build/release] [--swaps 1000] [--seconds 60]

First the swaps, under 16 clients over gRPC and REST: exits 1 if a request failed, if an answer came from another version
than one that served while it was asked for, or of more than one, or if a line fitted to the second half says that the
daemon's memory grew by more than 4 %, or descriptors or threads by more than 2. Then the latency of two clients in turns of
2 s with and without swaps, for so many seconds: of the model that is replaced and of another one beside it. Latencies are
printed and never fail it.
"""

import argparse
import http.client
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from typing import Tuple

import numpy as np
import torch
from torch import Tensor, nn
from tritonclient.utils import InferenceServerException

from integration_tests import ROOT
from integration_tests.daemon import Hearthd, eventually, put_model
from integration_tests.serving import outputs_of, tensor
from integration_tests.watch import Watch

BATCHED = """
max_batch_size: 8
dynamic_batching { max_queue_delay_microseconds: 1000 }
input [ { name: "x" data_type: TYPE_FP32 dims: [ 1 ] } ]
"""


class Versioned(nn.Module):
    """Answers for each row what was asked, and its own number twice: as a weight has it, and as the code has it."""

    def __init__(self, number):
        super().__init__()
        self.register_buffer("weight", torch.full((1,), float(number)))
        self.number = number

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        return x, x * 0 + self.weight, x * 0 + self.number


class Deployment:
    """A model of a repository, replaced by one with the next number each time."""

    def __init__(self, repository, name, config=None):
        self.repository, self.name, self.config = pathlib.Path(repository), name, config
        self.model = torch.jit.script(Versioned(0))
        self.begun = self.finished = 0  # the number that a load has begun for, and that one has finished for
        self.lay(0)

    def archive(self, number):
        self.model.weight.fill_(number)
        self.model.number = number
        return self.model

    def lay(self, number):
        put_model(self.repository, self.name, self.archive(number), config=self.config)

    def swap(self, client):
        self.begun += 1
        self.lay(self.begun)
        client.load_model(self.name)
        self.finished = self.begun


class Renamed(Deployment):
    """Each archive takes the place of the one before, which has the same version."""


class Numbered(Deployment):
    """Each archive has a folder of its own, and the one before is removed once it serves."""

    def lay(self, number):
        put_model(self.repository, self.name, self.archive(number), version=number + 1, config=self.config)

    def swap(self, client):
        super().swap(client)
        shutil.rmtree(self.repository / self.name / str(self.finished))


class Linked(Deployment):
    """The model's folder is a link into one that takes the place of another, as Kubernetes mounts volumes."""

    def lay(self, number):
        state = f"..{self.name}_{number}"
        put_model(self.repository / state, self.name, self.archive(number), config=self.config)
        data = self.repository / f"..data_{self.name}"
        new = self.repository / f"..new_{self.name}"
        new.symlink_to(state)
        new.rename(data)
        link = self.repository / self.name
        if not link.is_symlink():
            link.symlink_to(f"{data.name}/{self.name}")
        if number > 0:
            shutil.rmtree(self.repository / f"..{self.name}_{number - 1}")


def deploy(repository):
    """One of each kind; the one that is linked is batched."""
    return [Renamed(repository, "renamed"), Numbered(repository, "numbered"), Linked(repository, "linked", BATCHED)]


class Unavailable(Exception):
    """There is no server, or it cannot answer now; the request may be sent again."""


class OverGrpc:
    def __init__(self, server):
        self.client = server.client()

    def ask(self, model, rows):
        try:
            answer = self.client.infer(model, [tensor("x", rows)], client_timeout=60)
        except InferenceServerException as error:
            # gRPC says that a call is cancelled which comes while its server closes; these clients cancel nothing themselves.
            gone = error.status() in ("StatusCode.UNAVAILABLE", "StatusCode.CANCELLED")
            raise Unavailable(error) if gone else error
        return {name: array.flatten().tolist() for name, array in outputs_of(answer).items()}

    def close(self):
        self.client.close()


class OverRest:
    def __init__(self, server):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.ready["http_port"], timeout=60)

    def ask(self, model, rows):
        given = {"name": "x", "datatype": "FP32", "shape": list(rows.shape), "data": rows.flatten().tolist()}
        try:
            self.connection.request("POST", f"/v2/models/{model}/infer", json.dumps({"inputs": [given]}))
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(error)
        if answer.status == 503:
            raise Unavailable(text)
        assert answer.status == 200, text
        return {output["name"]: output["data"] for output in json.loads(text)["outputs"]}

    def close(self):
        self.connection.close()


class Crowd:
    """Clients of two kinds that ask the deployments' models until told to stop."""

    def __init__(self, server, deployments, clients=16, kinds=(OverGrpc, OverRest)):
        self.server, self.deployments, self.kinds = server, deployments, kinds
        self.stopping = threading.Event()
        self.problems = []
        self.answers = [0] * clients
        self.threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(clients)]

    def wait_for_more(self, count):
        """Until each client has been answered so many times more."""
        wanted = [answers + count for answers in self.answers]
        eventually(
            lambda: self.problems or all(has >= least for has, least in zip(self.answers, wanted, strict=True)), 60
        )

    def _ask(self, number):
        client = self.kinds[number % 2](self.server)
        turn = number // 2
        while not self.stopping.is_set() and len(self.problems) < 20:
            deployment = self.deployments[turn % len(self.deployments)]
            rows = np.full((1 + turn % 3, 1), number, np.float32)
            turn += 1
            least = deployment.finished
            try:
                outputs = client.ask(deployment.name, rows)
                problem = wrong(outputs, rows, least, deployment.begun)
            except Exception as error:  # whatever it is, it is an answer that a client did not get
                problem = f"{type(error).__name__}: {error}"
            if problem:
                self.problems.append(f"{type(client).__name__} of {deployment.name}: {problem}")
            self.answers[number] += 1
        client.close()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self.stopping.set()
        for thread in self.threads:
            thread.join()


def wrong(outputs, rows, least, most):
    """What is wrong with an answer that a number from `least` to `most` may give; None: nothing."""
    if outputs["0"] != rows.flatten().tolist():
        return f"asked {rows.tolist()}, and got the answer for {outputs['0']}"
    numbers = set(outputs["1"]) | set(outputs["2"])
    if len(numbers) != 1 or len(outputs["1"]) != len(rows) or len(outputs["2"]) != len(rows):
        return f"an answer of more than one version: {outputs}"
    (number,) = numbers
    return None if least <= number <= most else f"the answer of {number}, where {least} to {most} served"


# ---- Latencies ----


class Layers(nn.Module):
    """Works through its layers and answers what was asked, which is what the clients of the benchmarks compare."""

    def __init__(self, width=256):
        super().__init__()
        self.layers = nn.Sequential(*[part for _ in range(8) for part in (nn.Linear(width, width), nn.ReLU())])

    def forward(self, x: Tensor) -> Tensor:
        return x + 0 * self.layers(x).sum()


def measure(build, server, seconds, swap_every=0.25):
    """Prints the 99th percentiles of turns with and without swaps."""
    client = server.client()
    folder = server.repository / "replaced/1"
    archives = [(folder / "model.pt").read_bytes()]
    other = folder / "other.pt"
    torch.manual_seed(1)
    torch.jit.save(torch.jit.script(Layers().eval()), str(other))
    archives.append(other.read_bytes())
    other.unlink()
    found = {(model, swapping): [] for model in ("replaced", "beside") for swapping in (False, True)}
    swaps = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for swapping in (False, True):
            command = [build / "bin/grpc_client", server.address]
            clients = {
                model: subprocess.Popen([*command, model, "1024", "1", "2"], stdout=subprocess.PIPE, text=True)
                for model in ("replaced", "beside")
            }
            while swapping and clients["replaced"].poll() is None:
                swaps += 1
                (folder / "model.pt.new").write_bytes(archives[swaps % 2])
                (folder / "model.pt.new").rename(folder / "model.pt")
                client.load_model("replaced")
                time.sleep(swap_every)
            for model, process in clients.items():
                text, _ = process.communicate(timeout=60)
                assert process.returncode == 0, f"a client of {model} got a wrong answer"
                found[model, swapping].append(json.loads(text)["p99_us"])
    for model in ("replaced", "beside"):
        without, during = found[model, False], found[model, True]
        ratio = statistics.median(one / other for one, other in zip(during, without, strict=True))
        print(
            f"p99 of the model {model}: {statistics.median(without):.0f} us without swaps, {statistics.median(during):.0f} us"
            f" during {swaps} swaps; {ratio:.2f} times, the median of {len(during)} turns"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--swaps", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60, help="how long latencies are measured; 0: not at all")
    options = parser.parse_args()
    os.environ["HEARTHD"] = str(options.build / "bin/hearthd")

    with tempfile.TemporaryDirectory() as folder:
        repository = pathlib.Path(folder) / "models"
        deployments = deploy(repository)
        torch.manual_seed(0)
        layers = torch.jit.script(Layers().eval())
        put_model(repository, "replaced", layers)
        put_model(repository, "beside", layers)
        server = Hearthd(repository)
        with Crowd(server, deployments) as crowd, Watch(server.pid, 0.2) as watch, server.client() as client:
            begin = time.monotonic()
            for number in range(options.swaps):
                deployments[number % len(deployments)].swap(client)
            seconds = time.monotonic() - begin
        problems = crowd.problems + watch.problems(0.04)
        print(
            f"{options.swaps} swaps in {seconds:.0f} s under {len(crowd.answers)} clients, {sum(crowd.answers)} answers"
        )
        print(watch.report())
        if options.seconds > 0:
            measure(options.build, server, options.seconds)
        status = server.stop()
        if status != 0:
            problems.append(f"hearthd ended with {status}")
    print("\n".join(problems) or "no request was lost, and no answer was wrong")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
