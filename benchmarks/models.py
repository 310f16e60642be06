#!/usr/bin/env python3
"""How fast models answer, beside eager torch and frozen torch.jit:

    python -m benchmarks.models [--program "dist/run model_benchmark"] [--models resnet18 ...] [--threads 1 all] [--tier plan]
              [--rivals eager torch.jit:frozen ...] [--rounds N] [--milliseconds MS] [--output FILE.md]

Float32 on the CPU, random weights from a seed. A process of its own (model_benchmark) has hearth and torch.jit, this one
has eager torch and torch.compile. Round by round all engines take a turn of some milliseconds on the same inputs, in an
order that is drawn anew; a turn's figure is the median of its calls. A ratio is how many times as long a rival takes as
hearth's plan: the median over the rounds of what the two took in that round, with the bound above which it lies with a
confidence of 95 % (bootstrap over the rounds). Every engine's answer is compared with eager torch's.
"""

import argparse
import gc
import os
import pathlib
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager

import torch
from torch import nn

from benchmarks import ROOT
from benchmarks.forks import FORKS
from benchmarks.programs import PROGRAMS
from benchmarks.run import machine, table
from integration_tests.networks import SEED, awaken, image, settle, tokens
from integration_tests.values import as_tensor, leaves

BASELINE = "hearth:baseline"
RIVALS = ["eager", "torch.jit", "torch.jit:frozen", "torch.jit:inference", "torch.compile"]
# Of the largest number in an answer: how far two orders of the same sums may be apart after a hundred layers.
TOLERANCE = 2e-3
RESAMPLES = 2000


def torchvision_model(name, *inputs):
    from torchvision import models

    module = settle(models.get_model(name, weights=None), *inputs)
    return module, torch.jit.script(module), inputs


def traced(module, *inputs):
    awaken(module).eval()
    with torch.no_grad():
        return module, torch.jit.trace(module, inputs, strict=False), inputs


def bert(layers, hidden, heads, length):
    from transformers import BertConfig, BertModel

    config = BertConfig(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads,
                        intermediate_size=4 * hidden, return_dict=False)
    return traced(BertModel(config), tokens(1, length))


def gpt2(layers, length):
    from transformers import GPT2Config, GPT2Model

    config = GPT2Config(n_layer=layers, return_dict=False, use_cache=False)
    return traced(GPT2Model(config), tokens(1, length))


def mlp(batch, *widths):
    layers = []
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    module = nn.Sequential(*layers[:-1]).eval()
    return module, torch.jit.script(module), (image(batch, widths[0]),)


class Lstm(nn.Module):
    """Two layers over a sequence, and a linear layer on what comes last."""

    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sequence, _ = self.lstm(x)
        return self.head(sequence[:, -1])


def lstm():
    module = Lstm(64, 128, 10).eval()
    return module, torch.jit.script(module), (image(1, 32, 64),)


def program(name):
    make, inputs = PROGRAMS[name]
    module = make().eval()
    return module, torch.jit.script(module), inputs


def forks(name):
    module, inputs = FORKS[name]()
    return module.eval(), torch.jit.script(module), inputs


# By name, what gives (module, archive, inputs).
PHOTO = (1, 3, 224, 224)
MODELS = {
    **{name: lambda name=name: torchvision_model(name, image(*PHOTO)) for name in (
        "resnet18", "resnet50", "mobilenet_v2", "googlenet", "densenet121", "shufflenet_v2_x1_0", "efficientnet_b0",
        "vit_b_16", "swin_t")},
    "bert_small": lambda: bert(4, 256, 4, 32),
    "bert_base": lambda: bert(12, 768, 12, 128),
    "distilgpt": lambda: gpt2(6, 64),
    "mlp_batch_1": lambda: mlp(1, 64, 128, 128, 10),
    "mlp_batch_64": lambda: mlp(64, 64, 128, 128, 10),
    "lstm": lstm,
    **{name: lambda name=name: program(name) for name in ("scalar_loop", "list_and_dict", "deep_submodules")},
    **{name: lambda name=name: forks(name) for name in FORKS},
}
# What an MLP cannot do without: rows, inner size and columns of its matrix products.
PRODUCTS = {"mlp_batch_1": "1x64x128,1x128x128,1x128x10", "mlp_batch_64": "64x64x128,64x128x128,64x128x10"}
# What is all interpreter, and what is all overhead, has a goal of its own.
SMALL = ["mlp_batch_1", "mlp_batch_64", "scalar_loop", "list_and_dict", "deep_submodules"]


class Process:
    """model_benchmark on an archive."""

    def __init__(self, command, threads, archive, inputs, engines):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
        self.process = subprocess.Popen([*command, str(archive), str(inputs), *engines], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.line("ready")

    def line(self, expected=None):
        line = self.process.stdout.readline()
        if not line or (expected and line.strip() != expected):
            self.process.kill()
            raise SystemExit(f"model_benchmark ended with {self.process.wait()}")
        return line

    def ask(self, *words, expected=None):
        print(*words, file=self.process.stdin, flush=True)
        return self.line(expected)

    def time(self, engine, milliseconds):
        return statistics.median(map(int, self.ask("time", engine, milliseconds).split())) / 1e6

    def answer(self, engine, file):
        self.ask("answer", engine, file, expected="written")
        return torch.load(file, weights_only=True)

    def stop(self):
        self.process.stdin.close()
        self.process.wait(60)


class InPython:
    """A callable of this process."""

    def __init__(self, function, inputs):
        self.function = function
        self.inputs = inputs
        with torch.inference_mode():
            for _ in range(5):
                self.result = function(*inputs)

    def time(self, milliseconds):
        times, end = [], time.perf_counter_ns() + int(milliseconds * 1e6)
        with torch.inference_mode():
            while len(times) < 3 or time.perf_counter_ns() < end:
                start = time.perf_counter_ns()
                self.function(*self.inputs)
                times.append(time.perf_counter_ns() - start)
        return statistics.median(times) / 1e6


def distance(answer, expected):
    """The largest difference between two answers, as a part of the largest number in the expected one."""
    ours, theirs = [[as_tensor(leaf).double() for _, leaf in leaves(value)] for value in (answer, expected)]
    if [leaf.shape for leaf in ours] != [leaf.shape for leaf in theirs]:
        return float("inf")
    return max(float((a - b).abs().max() / b.abs().max().clamp_min(1e-30)) for a, b in zip(ours, theirs))


@contextmanager
def threads_inside(count):
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def measure(name, threads, options):
    """By engine, its median time of every round in milliseconds."""
    torch.manual_seed(SEED)
    module, archive, inputs = MODELS[name]()
    plan = f"hearth:{options.tier}"
    engines = [BASELINE, plan] + [rival for rival in options.rivals if rival.startswith("torch.jit")]
    bare = [f"products:{PRODUCTS[name]}"] if name in PRODUCTS else []
    with tempfile.TemporaryDirectory(dir=options.work) as folder, threads_inside(threads):
        folder = pathlib.Path(folder)
        archive.save(str(folder / "model.pt"))
        torch.save(tuple(inputs), folder / "inputs.pt")
        here = {"eager": InPython(module, inputs)}
        expected = here["eager"].result
        if "torch.compile" in options.rivals:
            here["torch.compile"] = InPython(torch.compile(module), inputs)
        if "eager" not in options.rivals:
            del here["eager"]
        del archive
        gc.collect()
        process = Process(shlex.split(options.program), threads, folder / "model.pt", folder / "inputs.pt", engines + bare)
        answers = {engine: process.answer(engine, folder / "answer.pt") for engine in engines}
        answers.update({engine: callable.result for engine, callable in here.items()})
        for engine, answer in answers.items():
            if (far := distance(answer, expected)) > TOLERANCE:
                raise SystemExit(f"{name}: {engine} answers otherwise than eager torch, by {far:.2g} of the largest number")
        times = {engine: [] for engine in [*engines, *bare, *here]}
        order, turns = list(times), random.Random(SEED)
        for _ in range(options.rounds):
            turns.shuffle(order)
            for engine in order:
                times[engine].append(here[engine].time(options.milliseconds) if engine in here
                                     else process.time(engine, options.milliseconds))
        process.stop()
    return times


def resampled(ratios, generator):
    return statistics.median(generator.choices(ratios, k=len(ratios)))


def lower_bound(models_ratios):
    """Of the geometric mean of the models' median ratios: where 95 % of the resampled ones lie above."""
    generator = random.Random(SEED)
    means = sorted(statistics.geometric_mean([resampled(ratios, generator) for ratios in models_ratios])
                   for _ in range(RESAMPLES))
    return means[RESAMPLES // 20]


def cell(models_ratios):
    mean = statistics.geometric_mean([statistics.median(ratios) for ratios in models_ratios])
    return f"{mean:.2f} ({lower_bound(models_ratios):.2f})"


def section(threads, options):
    """The table of one number of threads."""
    plan = f"hearth:{options.tier}"
    against = [BASELINE, *options.rivals]
    rows, ratios, notes = [], {rival: {} for rival in against}, []
    for name in options.models:
        times = measure(name, threads, options)
        for rival in against:
            ratios[rival][name] = [theirs / ours for theirs, ours in zip(times[rival], times[plan])]
        rows.append([name, *(f"{statistics.median(times[engine]):.3f}" for engine in [plan, *against]),
                     *(cell([ratios[rival][name]]) for rival in against)])
        print(" ".join(rows[-1]), file=sys.stderr, flush=True)
        for engine in times:
            if engine.startswith("products:"):
                products = statistics.median(times[engine])
                notes.append(f"The bare matrix products of {name} take {products:.4f} ms: with them nothing is more than " +
                             ", ".join(f"{statistics.median(times[rival]) / products:.2f} times as fast as {rival}"
                                       for rival in options.rivals) + ".")
    for title, chosen in (("geometric mean", options.models),
                          ("of the small ones", [name for name in options.models if name in SMALL]),
                          ("of the others", [name for name in options.models if name not in SMALL])):
        if len(chosen) > 1:
            rows.append([title] + [""] * (1 + len(against)) +
                        [cell([ratios[rival][name] for name in chosen]) for rival in against])
    header = ["model", *(f"{engine}, ms" for engine in [plan, *against]), *(f"{rival} by plan" for rival in against)]
    return f"### Models, {threads} thread{'s' if threads > 1 else ''}\n\n" + "\n\n".join([table(header, rows), *notes])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "bin" / "model_benchmark"))
    parser.add_argument("--models", nargs="+", choices=MODELS, metavar="MODEL",
                        default=[name for name in MODELS if name not in FORKS], help="all but those of forks.py, if not given")
    parser.add_argument("--threads", nargs="+", default=["1", "all"])
    parser.add_argument("--tier", choices=["plan", "auto"], default="plan", help="auto: as the daemon runs, warmed up")
    parser.add_argument("--rivals", nargs="+", choices=RIVALS, default=["eager", "torch.jit:frozen"], metavar="RIVAL",
                        help=", ".join(RIVALS))
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--milliseconds", type=float, default=40, help="of a turn, which has three calls at least")
    parser.add_argument("--work", type=pathlib.Path, help="a folder for archives, which go when they have been used")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    processors = len(os.sched_getaffinity(0))
    text = (f"Machine: {machine()}. torch {torch.__version__}. {options.rounds} rounds of {options.milliseconds:g} ms an "
            "engine.\nIn brackets the lower 95 % bound of the ratio. Calls and their forks have "
            f"{torch.get_num_interop_threads()} threads beside the caller's, in hearth as in torch.jit.\n")
    for threads in options.threads:
        text += "\n" + section(processors if threads == "all" else int(threads), options) + "\n"
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
