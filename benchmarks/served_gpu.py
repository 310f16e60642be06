#!/usr/bin/env python3
"""Images (or texts) a second and latencies of models that are served on one GPU, beside servers written in Python:

    python3 -m benchmarks.served_gpu [--hearth dist] [--models resnet50 bert_base] [--clients 1 2 4 8 16 32]
              [--engines hearthd torch.compile torch.jit] [--seconds S] [--rounds N] [--output FILE.md]

hearthd as it is with no flags but --device, and python_server.py around torch.compile (reduce-overhead) and around a
frozen torch.jit. All are asked over HTTP/1.1 on this machine with binary tensors, batch 1, by the same clients
(rest_clients.py), each with a connection of its own. The servers start together and take turns with each number of clients; a
first answer of each is compared with eager torch's. Random weights.
"""

import argparse
import concurrent.futures
import contextlib
import functools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import torch

from benchmarks import ROOT, rest_clients
from benchmarks.rest_clients import ask_once, load
from benchmarks.run import commit, machine, table
from benchmarks.sections import make_apart, tell

ENGINES = ("hearthd", "torch.compile", "torch.jit")
DTYPE = "float16"
TOLERANCE = 5e-2  # of the largest number: many layers in half precision
WARM_UP_CLIENTS = 4


def make_archives(folder, names, device, dtype=DTYPE):
    """In the layout of a repository, beside each model the inputs of a call and eager torch's answer."""
    from benchmarks.archives import save
    from benchmarks.model_list import DTYPES, make
    from integration_tests.values import leaves, to

    for name in names:
        made = make(name, 1, device, DTYPES[dtype])
        save(folder, name, made.archive, to("cpu", made.inputs))
        with torch.inference_mode():
            answer = made.module(*made.inputs)
        torch.save([tensor.cpu() for _, tensor in leaves(answer)], folder / name / "expected.pt")


class Server:
    """A server that has printed its ports, and is asked at the one that is named."""

    def __init__(self, command, port="http_port", **environment):
        environment = dict(os.environ, PYTHONUNBUFFERED="1", **environment)
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True, cwd=ROOT,
                                        env=environment)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{command[0]} ended with {self.process.wait()}")
        self.port = json.loads(line)[port]

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()


def hearthd(options, repository, *flags, port="http_port"):
    binary = [options.hearth / "run", "hearthd"] if options.hearth.is_dir() else [options.hearth]
    return Server([*binary, "--model-repository", repository, "--device", options.device, "--grpc-port", 0,
                   "--http-port", 0, "--metrics-port", 0, *flags], port)


def start(engine, options):
    if engine == "hearthd":
        return hearthd(options, options.work)
    return Server([sys.executable, "-m", "benchmarks.python_server", engine, options.work, *options.models,
                   "--device", options.device, "--dtype", DTYPE])


def input_names(folder):
    module = torch.jit.load(folder / "1" / "model.pt", map_location="cpu")
    return [argument.name for argument in module.forward.schema.arguments][1:]


def message_for(folder, inputs=None, clients=rest_clients):
    """Of the model's inputs, or others, as rest_clients or grpc_clients send it."""
    inputs = inputs or torch.load(folder / "inputs.pt", weights_only=True)
    arrays = {name: value.numpy() for name, value in zip(input_names(folder), inputs)}
    return clients.request(folder.name, arrays)


def difference(port, message, folder, clients=rest_clients):
    """How far the answer is from eager torch's, as a part of its largest number."""
    status, headers, body = ask_once(port, message, clients.Connection)
    if status != 200:
        raise RuntimeError(f"status {status}: {body[:300]!r}")
    expected, farthest = torch.load(folder / "expected.pt", weights_only=True), 0.0
    for array, tensor in zip(clients.outputs(headers, body), expected, strict=True):
        wide = tensor.double().flatten().numpy()
        farthest = max(farthest, float(np.abs(array.astype(np.float64) - wide).max() / np.abs(wide).max()))
    return farthest


class Benchmark:
    dtype, tolerance = DTYPE, TOLERANCE

    def __init__(self, options):
        self.options = options
        self.notes = []

    def start(self, engine):
        return start(engine, self.options)

    def clients(self, engine):
        """Which module's clients ask it."""
        return rest_clients

    def message(self, engine, folder):
        """What a client of this engine sends."""
        return message_for(folder, clients=self.clients(engine))

    def prepared(self, engine, server, name):
        """What measures one number of clients of a server whose first answer was compared and that is warm."""
        folder = self.options.work / name
        message, connect = self.message(engine, folder), self.clients(engine).Connection
        found = difference(server.port, message, folder, self.clients(engine))
        if not found <= self.tolerance:
            self.notes.append(f"{engine}, {name}: answers otherwise than eager torch, by {found:.2g} of its largest number")
        load(server.port, message, WARM_UP_CLIENTS, seconds=self.options.warm_up, connect=connect)

        def measure(clients):
            each = load(server.port, message, clients, seconds=self.options.seconds, connect=connect)
            print(f"{name}, {engine}, {clients} clients: {each.rate:.0f}/s, p99 {each.quantile(0.99) * 1e3:.2f} ms",
                  file=sys.stderr, flush=True)
            if each.failed:
                self.notes.append(f"{engine}, {name}, {clients} clients: {each.failed} requests failed")
            return each

        return measure

    def measured(self, servers, name):
        """{engine: {clients: the loads of all rounds}}, of servers that take turns."""
        ready = {}
        for engine, server in servers.items():
            try:
                ready[engine] = self.prepared(engine, server, name)
            except Exception as error:
                self.notes.append(f"{engine}, {name}: {type(error).__name__}: {error}")
        loads = {engine: {clients: [] for clients in self.options.clients} for engine in ready}
        for clients in self.options.clients:
            for _ in range(self.options.rounds):
                for engine, measure in ready.items():
                    loads[engine][clients].append(measure(clients))
        return loads

    def report(self):
        options = self.options
        yield (f"Machine: {machine()}{gpu(options.device)}. Commit: {commit()}. torch {torch.__version__}, {self.dtype}, "
               f"batch 1. {options.seconds:g} s for each number of clients, medians of {options.rounds} rounds; latencies in ms.")
        with contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor() as threads:
            starting = {engine: threads.submit(self.start, engine) for engine in options.engines}
            servers = {}
            for engine, future in starting.items():
                try:
                    servers[engine] = future.result()
                    stack.callback(servers[engine].stop)
                except Exception as error:
                    self.notes.append(f"{engine} did not start: {error}")
            loads = {name: self.measured(servers, name) for name in options.models}
        for name, of_engine in loads.items():
            rows = []
            for clients in options.clients:
                rounds = [each[clients] for each in of_engine.values()]
                cells = [f"{statistics.median(one.rate for one in each):.0f}" for each in rounds]
                for part in (0.5, 0.99):
                    cells += [f"{statistics.median(one.quantile(part) for one in each) * 1e3:.2f}" for each in rounds]
                rows.append([clients, *cells])
            yield f"### {name}\n\n" + table(["clients", *(f"{engine}, {what}" for what in ("a second", "p50", "p99")
                                                         for engine in of_engine)], rows)
        if self.notes:
            yield "\n".join(f"- {note}." for note in self.notes)


def gpu(device):
    return "" if device == "cpu" else f", {torch.cuda.get_device_name(device)}"


def parser(description):
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--hearth", type=pathlib.Path, default=ROOT / "dist",
                      help="a folder of deploy/bundle's, or hearthd")
    made.add_argument("--device", default="cuda", help="another than cuda tries this script itself")
    made.add_argument("--models", nargs="+", default=["resnet50", "bert_base"])
    made.add_argument("--output", type=pathlib.Path)
    return made


def run(benchmark, name, make=None):
    """Makes the models in a folder that goes afterwards, options.work, measures, and ends the process."""
    options = benchmark.options
    options.hearth = options.hearth.resolve()
    with tempfile.TemporaryDirectory() as work:
        options.work = pathlib.Path(work)
        make = make or functools.partial(make_archives, names=options.models, device=options.device)
        make_apart(make, options.work, name)
        tell(benchmark.report(), options.output)
    sys.exit(1 if benchmark.notes else 0)


def main():
    options_of = parser(__doc__)
    options_of.add_argument("--clients", nargs="+", type=int, default=[1, 2, 4, 8, 16, 32])
    options_of.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    options_of.add_argument("--seconds", type=float, default=2)
    options_of.add_argument("--rounds", type=int, default=1)
    options_of.add_argument("--warm-up", type=float, default=4)
    run(Benchmark(options_of.parse_args()), "served_gpu")


if __name__ == "__main__":
    main()
