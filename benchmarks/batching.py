#!/usr/bin/env python3
"""What dynamic batching gains, beside what the model's own batch does:

    python3 -m benchmarks.batching [--hearth dist] [--device cuda] [--models mlp resnet50] [--clients 1 8 32]
              [--delays 0 2000 traffic] [--runs N] [--rounds N] [--seconds S] [--output FILE.md]

hearthd serves each model without batching and, once for each delay (microseconds, or `traffic` where the configuration
has none, so that it follows traffic), with `dynamic_batching` and batches of up to 32, of which as many are under way at
once as --runs says, if it does. It is asked over HTTP/1.1 by clients on this machine that have one request of one row
under way at a time (rest_load, which takes little of the processors). The model's own batch is as many rows under way in
two requests, without batching: its rows a second by those of single rows is its gain. All take turns.
Weights are random; a first answer of each model is compared with eager torch's.
"""

import functools
import json
import statistics
import subprocess
import sys
from typing import NamedTuple

import torch

from benchmarks.run import commit, machine, table
from benchmarks.served_gpu import TOLERANCE, difference, gpu, hearthd, message_for, parser, run

MOST_ROWS = 32
TRAFFIC = "traffic"


def mlp(batch):
    from benchmarks.model_list import mlp as of_widths

    return of_widths(batch, 2048, 6144, 6144, 2048)


def torchvision(name):
    def made(batch):
        from benchmarks.model_list import torchvision_model

        return torchvision_model(name, batch)

    return made


MODELS = {"mlp": mlp, "resnet18": torchvision("resnet18"), "resnet50": torchvision("resnet50")}


def config(delay, runs):
    text = f"max_batch_size: {MOST_ROWS}\n"
    if delay is None:
        return text
    longest = "" if delay == TRAFFIC else f"max_queue_delay_microseconds: {delay} "
    text += f"dynamic_batching {{ {longest}}}\n"
    return text if runs is None else f"{text}instance_group {{ count: {runs} }}\n"


def own_batch(clients):
    """How many clients have so many rows under way in two requests at most, and the rows of each."""
    return min(clients, 2), max(clients // 2, 1)


def folder_of(name, delay):
    return name if delay is None else f"{name}_delay_{delay}"


def save_models(folder, names, delays, runs, sizes):
    """Each model once for each delay, and once without batching; the inputs of one row, and of as many as the sizes."""
    from benchmarks.archives import save
    from integration_tests.networks import SEED, awaken, settle

    for name in names:
        torch.manual_seed(SEED)
        module, _ = MODELS[name](1)
        inputs = {rows: MODELS[name](rows)[1] for rows in {1, *(own_batch(size)[1] for size in sizes)}}
        module = settle(awaken(module), *inputs[1])
        with torch.inference_mode():
            expected = [module(*inputs[1])]
        archive = torch.jit.script(module)
        for delay in (None, *delays):
            save(folder, folder_of(name, delay), archive, inputs[1])
            torch.save(expected, folder / folder_of(name, delay) / "expected.pt")
            (folder / folder_of(name, delay) / "config.pbtxt").write_text(config(delay, runs))
        for rows, value in inputs.items():
            torch.save(tuple(value), folder / f"{name}_rows_{rows}.pt")


class Load(NamedTuple):
    rate: float  # requests a second
    p50: float  # seconds
    p99: float


class Benchmark:
    def __init__(self, options):
        self.options = options
        self.notes = []
        hearth = options.hearth
        self.client = [hearth / "run", "rest_load"] if hearth.is_dir() else [hearth.parent / "rest_load"]

    def load(self, server, message, clients, seconds):
        file = self.options.work / "request"
        file.write_bytes(message)
        done = subprocess.run([*self.client, str(server.port), file, str(clients), str(seconds)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"rest_load, {clients} clients: {done.stderr.strip()}")
        told = json.loads(done.stdout)
        return Load(told["per_second"], told["p50_us"] / 1e6, told["p99_us"] / 1e6)

    def message(self, server, name, delay):
        folder = self.options.work / folder_of(name, delay)
        message = message_for(folder)
        found = difference(server.port, message, folder)
        if not found <= TOLERANCE:
            self.notes.append(f"{folder.name}: answers otherwise than eager torch, by {found:.2g}")
        return message

    def rounds(self, server, name, clients, messages):
        """{what: the loads of all rounds}, of each delay's message and of the model's own batch, which take turns."""
        own_clients, rows = own_batch(clients)
        arrays = torch.load(self.options.work / f"{name}_rows_{rows}.pt", weights_only=True)
        turns = {delay: (message, clients) for delay, message in messages.items()}
        turns["own"] = (message_for(self.options.work / name, arrays), own_clients)
        for message, number in turns.values():
            self.load(server, message, number, self.options.warm_up)
        loads = {what: [] for what in turns}
        for _ in range(self.options.rounds):
            for what, (message, number) in turns.items():
                loads[what].append(self.load(server, message, number, self.options.seconds))
        print(f"{name}, {clients} clients: {[round(each[0].rate) for each in loads.values()]}", file=sys.stderr,
              flush=True)
        return loads

    def measured(self, server, name):
        delays, heads = self.options.delays, [f"delay {delay}" for delay in self.options.delays]
        messages = {delay: self.message(server, name, delay) for delay in (None, *delays)}
        rows = []
        for clients in self.options.clients:
            loads = self.rounds(server, name, clients, messages)

            def gain(what, rows_each=1):
                pairs = zip(loads[what], loads[None])
                return statistics.median(rows_each * one.rate / alone.rate for one, alone in pairs)

            own = gain("own", own_batch(clients)[1])
            cells = [f"{statistics.median(each.rate for each in loads[what]):.0f}" for what in messages]
            cells += [f"{gain(delay):.2f}" for delay in delays] + [f"{own:.2f}"]
            cells += [f"{gain(delay) / own:.2f}" for delay in delays]
            for part in ("p50", "p99"):
                quantiles = [statistics.median(getattr(each, part) for each in loads[what]) for what in messages]
                cells += [f"{quantile * 1e3:.1f}" for quantile in quantiles]
            rows.append([clients, *cells])
        columns = ["clients", *(f"a second, {what}" for what in ("alone", *heads))]
        columns += [f"gain, {what}" for what in heads] + ["gain of the own batch"]
        columns += [f"of that, {what}" for what in heads]
        columns += [f"{part}, {what}" for part in ("p50", "p99") for what in ("alone", *heads)]
        return f"### {name}\n\n" + table(columns, rows)

    def report(self):
        options = self.options
        yield (f"Machine: {machine()}{gpu(options.device)}. Commit: {commit()}. torch {torch.__version__}, float32, "
               f"batches of up to {MOST_ROWS}. Medians of {options.rounds} rounds of {options.seconds:g} s; latencies "
               "in ms, delays in µs.")
        server = hearthd(options, options.work)
        try:
            for name in options.models:
                yield self.measured(server, name)
        finally:
            server.stop()
        if self.notes:
            yield "\n".join(f"- {note}." for note in self.notes)


def main():
    options_of = parser(__doc__)
    options_of.set_defaults(models=["mlp", "resnet50"])
    options_of.add_argument("--clients", nargs="+", type=int, default=[1, 8, 32])
    options_of.add_argument("--delays", nargs="+", default=["0", "2000", TRAFFIC])
    options_of.add_argument("--runs", type=int)
    options_of.add_argument("--rounds", type=int, default=3)
    options_of.add_argument("--seconds", type=float, default=2)
    options_of.add_argument("--warm-up", type=float, default=2)
    options = options_of.parse_args()
    run(Benchmark(options), "batching",
        functools.partial(save_models, names=options.models, delays=options.delays, runs=options.runs,
                          sizes=options.clients))


if __name__ == "__main__":
    main()
