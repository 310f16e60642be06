#!/usr/bin/env python3
"""An hour of everything at once, and a daemon that must hold no more at its end than half-way.

    .venv/bin/python -m integration_tests.endurance [--build build/release] [--seconds 3600] [--ignore-memory]

Clients that compare every answer, over gRPC and REST; models that are replaced once a second, unloaded and loaded; requests
that are cancelled, run out of time, or whose client goes away; shapes that nobody asked for before; requests that fail;
streams; scrapes; ensembles, sequences, recordings, shadow traffic, and loads with files of the client. Prints what the
process holds, and exits 1 if an answer was wrong or missing, if a model's clients got none for ten seconds (what the process
did then is printed), if a request, a sequence or a temporary file is left behind, or if a line fitted to the second half
says that resident memory grew by more than 2 %, or descriptors or threads by more than 2 (in less than ten minutes: memory
by 5 %, threads by 8, since pools have not made all of theirs). A sanitizer's report ends the daemon with a status of its
own, and is printed.
"""

import argparse
import contextlib
import json
import os
import pathlib
import queue
import random
import socket
import sys
import tempfile
import threading

import torch
from torch import Tensor, nn
from tritonclient.utils import InferenceServerException

from integration_tests import ROOT, kept_state, rest, swaps
from integration_tests import server_models as models
from integration_tests.daemon import Hearthd, binary, eventually, put_model
from integration_tests.ensembles import ensemble, put_ensemble, step
from integration_tests.serving import LONG, Stream, floats, in_flight, spin, tensor
from integration_tests.stalls import Answers, StallWatch
from integration_tests.watch import SETTLING_THREADS, Watch


class Shaped(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return (torch.sigmoid(x) * 2 - x).relu() + x.sum(-1, keepdim=True)


class Traffic:
    """One thread for each kind of what clients do, until told to stop."""

    def __init__(self, server, deployments, answers):
        self.server, self.deployments, self.answers = server, deployments, answers
        self.shaped = models.scripted(Shaped())
        self.client = server.client()
        self.stopping = threading.Event()
        self.problems = []
        self.done = {}
        kinds = [self.swap, self.cancel, self.run_out_of_time, self.go_away, self.change_shape, self.fail,
                 self.stream, self.scrape, self.unload_and_load]  # fmt: skip
        self.keepers = {name: kind(self) for name, kind in kept_state.KINDS.items()}
        turns = {kind.__name__: kind for kind in kinds}
        turns.update({name: keeper.turn for name, keeper in self.keepers.items()})
        self.threads = [threading.Thread(target=self._loop, args=turn) for turn in turns.items()]

    def _loop(self, name, kind):
        draw = random.Random(name)
        count = 0
        while not self.stopping.wait(0.01):
            try:
                kind(draw, count)
            except Exception as error:  # whatever it is, it should not have been
                self.problems.append(f"{name}: {error!r}")
                if len(self.problems) > 20:
                    return
            count += 1
            self.done[name] = count

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        for name, keeper in self.keepers.items():
            try:
                keeper.close()
            except Exception as error:  # something is left behind
                self.problems.append(f"{name}, at its end: {error!r}")
        self.client.close()

    def swap(self, _, count):
        self.deployments[count % len(self.deployments)].swap(self.client)
        self.stopping.wait(1)

    def cancel(self, draw, count):
        errors = queue.SimpleQueue()
        model = ("spin", "spin_within")[count % 2]
        call = self.client.async_infer(model, spin(LONG), callback=lambda result, error: errors.put(error))
        self.stopping.wait(draw.uniform(0, 0.05))
        call.cancel()
        error = errors.get(timeout=60)
        assert error.status() == "StatusCode.CANCELLED", error

    def run_out_of_time(self, draw, _):
        with contextlib.suppress(InferenceServerException):
            self.client.infer("spin", spin(LONG), client_timeout=draw.uniform(0.001, 0.05))
            raise AssertionError("a run without end has ended")

    def go_away(self, draw, _):
        x, rounds = rest.one_input("FP32", [1], [0]), rest.one_input("INT64", [1], [LONG], "rounds")
        body = json.dumps({"inputs": x["inputs"] + rounds["inputs"]}).encode()
        request = b"POST /v2/models/spin/infer HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        with socket.create_connection(("127.0.0.1", self.server.ready["http_port"]), timeout=60) as connection:
            connection.sendall(request[: draw.randint(1, 2 * len(request))])
            self.stopping.wait(draw.uniform(0, 0.05))

    def change_shape(self, draw, _):
        x = torch.randn([draw.randint(1, 40) for _ in range(draw.randint(1, 4))])
        with self.answers.awaited("shaped"):
            answer = self.client.infer("shaped", [tensor("x", x.numpy())], client_timeout=60).as_numpy("OUTPUT__0")
        assert torch.allclose(torch.from_numpy(answer.copy()), self.shaped(x), rtol=1e-4, atol=1e-4), (
            f"of {list(x.shape)}"
        )

    def fail(self, _, count):
        model, inputs = [
            ("raises", floats("x", 1, 2)),
            ("spin", floats("y", 1)),
            ("nowhere", floats("x", 1)),
            ("raises_within", floats("x", 1, 2)),
        ][count % 4]
        with contextlib.suppress(InferenceServerException):
            self.client.infer(model, [inputs], client_timeout=60)
            raise AssertionError(f"{model} has answered")

    def stream(self, *_):
        with Stream(self.server) as stream:
            for number in range(5):
                stream.send("shaped", [floats("x", number)])
            for _ in range(5):
                with self.answers.awaited("shaped"):
                    assert stream.next()[1] is None

    def scrape(self, *_):
        assert self.server.get("/metrics", "metrics_port")[0] == 200
        self.client.get_inference_statistics()
        self.client.get_model_repository_index()
        self.stopping.wait(1)

    def unload_and_load(self, *_):
        self.client.unload_model("comes_and_goes")
        self.client.load_model("comes_and_goes")
        self.stopping.wait(1)


def endure(repository, seconds, log=None):
    """(what went wrong, what was done, the Watch) of so many seconds."""
    deployments = swaps.deploy(repository)
    for name, model in {
        "spin": models.Spin(),
        "raises": models.Raises(),
        "shaped": Shaped(),
        "comes_and_goes": Shaped(),
    }.items():
        put_model(repository, name, models.scripted(model))
    for name, inputs in {"spin": {"x": ("FP32", [1]), "rounds": ("INT64", [])}, "raises": {"x": ("FP32", [-1])}}.items():
        steps = [step("shaped", {"x": "x"}, {"OUTPUT__0": "shaped"})]
        steps.append(step(name, {"x": "shaped", **{other: other for other in inputs if other != "x"}}, {"OUTPUT__0": "y"}))
        put_ensemble(repository, f"{name}_within", ensemble(inputs, {"y": ("FP32", [-1])}, steps))
    cache, temporary = repository.parent / "cache", repository.parent / "temporary"
    temporary.mkdir()
    flags = ["--cache-dir", cache, "--access-log", repository.parent / "access", "--client-files-bytes", "16MiB"]
    server = Hearthd(repository, *flags, log=log, program=["env", f"TMPDIR={temporary}", binary()])
    answers = Answers()
    kinds = [answers.watched(kind) for kind in (swaps.OverGrpc, swaps.OverRest)]
    crowd = swaps.Crowd(server, deployments, clients=8, kinds=kinds)
    with crowd, Traffic(server, deployments, answers) as traffic:
        with Watch(server.pid) as watch, StallWatch(server, answers, sys.stderr) as stalls:
            traffic.stopping.wait(seconds)
    problems = crowd.problems + traffic.problems + stalls.problems
    for model in ("spin", "spin_within"):
        try:
            eventually(lambda: in_flight(server, model) == 0)
        except AssertionError:
            problems.append(f"{in_flight(server, model)} requests of {model} are left behind")
    status = server.stop()
    if status != 0:
        problems.append(f"hearthd ended with {status}")
    problems += [f"{path} is left behind" for path in (*cache.glob("hearth_client_files.*"), *temporary.iterdir())]
    return problems, {"answers compared": sum(crowd.answers), **traffic.done}, watch


def reports_of_sanitizers(log):
    """The log's lines from the first report on, as one problem; none without a report."""
    lines = log.read().splitlines()
    first = next((i for i, line in enumerate(lines) if "Sanitizer: " in line or ": runtime error: " in line), None)
    return [] if first is None else ["\n".join(lines[first : first + 100])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--ignore-memory", action="store_true", help="for sanitizers, which keep what is freed")
    options = parser.parse_args()
    os.environ["HEARTHD"] = str(options.build / "bin/hearthd")

    with tempfile.TemporaryDirectory() as folder, open(pathlib.Path(folder) / "log", "w+") as log:
        problems, done, watch = endure(pathlib.Path(folder) / "models", options.seconds, log)
        log.seek(0)
        problems += reports_of_sanitizers(log)
    share, threads = (0.02, 2) if options.seconds >= 600 else (0.05, SETTLING_THREADS)
    problems += watch.problems(float("inf") if options.ignore_memory else share, threads)
    print(", ".join(f"{what}: {count}" for what, count in done.items()))
    print(watch.report())
    print("\n".join(problems) or "every answer was right, and nothing grew")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
