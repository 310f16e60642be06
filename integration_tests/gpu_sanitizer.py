#!/usr/bin/env python3
"""Runs a sample of models under NVIDIA's compute-sanitizer, from dist/ (deploy/bundle), and holds their answers against
torch.jit's.

    python3 -m integration_tests.gpu_sanitizer [MODEL...] [--tools memcheck synccheck racecheck]

For a machine with an NVIDIA GPU, the CUDA toolkit, PyTorch 2.11, torchvision and transformers. Each model is run in float16
by plans for its exact sizes (`hearth run --tier 2`) several times, of which the last are recorded runs: with memcheck (illegal
addresses, memory that is freed wrongly) as a whole, in hearth's own kernels with synccheck (barriers that not all threads
reach) and racecheck (races in shared memory). Under racecheck cuDNN fails in eager PyTorch too, so it is for the model that
calls no library. Exits 1 where a tool finds something or an answer differs."""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from integration_tests import ROOT
from integration_tests.networks import SEED, awaken, image, settle, silence, tokens
from integration_tests.values import difference, leaves, plain, to

TOOLS = ("memcheck", "synccheck", "racecheck")
KERNELS = "kns=loop_"  # hearth's own: those that have this in their names
WITHOUT_LIBRARIES = "rows"  # the model that calls none
REPEAT = 6  # the last calls are recorded ones
PROBLEMS = re.compile(r"(?:ERROR SUMMARY|RACECHECK SUMMARY): (.*)")


def torchvision_model(name):
    import torchvision

    return torchvision.models.get_model(name, weights=None), (image(2, 3, 64, 64),)


def bert():
    import transformers

    config = transformers.BertConfig(
        hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256, vocab_size=1000, return_dict=False
    )
    return transformers.BertModel(config), (tokens(2, 24),)


class Rows(torch.nn.Module):
    """Reductions, softmaxes and norms of rows of many lengths, and of dimensions that are not the last."""

    def forward(self, x):
        results = []
        for length in (3, 33, 257, 1000):
            part = x[:, :length]
            results += [part.softmax(-1), part.sum(0), torch.nn.functional.layer_norm(part, [length]).amax(-1)]
            results.append((part * torch.sigmoid(part)).mean([0, 1]) + part.transpose(0, 1).log_softmax(0)[0])
        return results


MODELS = {
    **{
        name: lambda name=name: torchvision_model(name)
        for name in ("resnet18", "mobilenet_v3_small", "convnext_tiny", "swin_t", "efficientnet_b0")
    },
    "bert": bert,
    WITHOUT_LIBRARIES: lambda: (Rows(), (image(65, 1000),)),
}


def make(name, folder):
    """The archive, the file of its inputs, what torch.jit answers on the GPU, and what the model is in float64."""
    torch.manual_seed(SEED)
    model, inputs = MODELS[name]()
    settle(awaken(model), *inputs)
    model, inputs = model.cuda().half(), to("cuda", inputs)
    inputs = tuple(each.half() if each.is_floating_point() else each for each in inputs)
    with torch.no_grad():
        traced = torch.jit.trace(model, inputs, check_trace=False)
        expected = to("cpu", traced(*inputs))
        traced.cpu().save(str(folder / f"{name}.pt"))
        wide = (each.double() if each.is_floating_point() else each for each in inputs)
        exact = to("cpu", plain(model.cuda().double()(*wide)))
    if found := silence(expected):
        raise AssertionError(f"{name}: {found}")
    torch.save(to("cpu", inputs), folder / f"{name}.in.pt")
    return folder / f"{name}.pt", folder / f"{name}.in.pt", expected, exact


def as_near(answer, expected, exact):
    """Whether the answer has the parts and sizes of torch.jit's and is about as near to the exact one: float16 is coarse, and
    some models make much of a little rounding."""
    ours, theirs, rights = (dict(leaves(value)) for value in (answer, expected, exact))
    if {name: our.shape for name, our in ours.items()} != {name: their.shape for name, their in theirs.items()}:
        return False
    return all((our - rights[name]).abs().max() <= 2 * (theirs[name] - rights[name]).abs().max() for name, our in ours.items())


def found_by(tool, sanitizer, archive, inputs, out):
    """What the tool says of a run, "" if it found nothing; the answer is written to `out`."""
    command = [sanitizer, "--tool", tool, *([] if tool == "memcheck" else ["--kernel-name", KERNELS])]
    command += [ROOT / "dist/run", "hearth", "run", archive, "--inputs", inputs, "--output", out, "--device", "cuda"]
    command += ["--tier", "2", "--repeat", REPEAT]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    said = done.stdout + done.stderr
    summaries = PROBLEMS.findall(said)
    if done.returncode != 0 or not summaries:
        return said.strip()[-2000:] or f"the run ended with {done.returncode}"
    bad = [summary for summary in summaries if not summary.startswith("0 ")]
    lines = [line for line in said.splitlines() if line.startswith("=========")]
    return "\n".join([*bad, *lines[:40]]) if bad else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"all if not given: {', '.join(MODELS)}")
    parser.add_argument("--tools", nargs="+", default=TOOLS, choices=TOOLS)
    parser.add_argument("--sanitizer", default="/usr/local/cuda/bin/compute-sanitizer", metavar="PATH")
    options = parser.parse_args()
    for name in options.models:
        if name not in MODELS:
            parser.error(f"there is no model '{name}', only {', '.join(MODELS)}")
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="hearth-sanitizer-") as scratch:
        for name in options.models or MODELS:
            archive, inputs, expected, exact = make(name, Path(scratch))
            for tool in options.tools:
                if tool == "racecheck" and name != WITHOUT_LIBRARIES:
                    continue
                out = Path(scratch) / "out.pt"
                found = found_by(tool, options.sanitizer, archive, inputs, out)
                if not found:
                    answer = to("cpu", torch.load(out, weights_only=True))
                    found = difference(expected, answer, tolerance="largest") or ""
                    if found and as_near(answer, expected, exact):
                        found = ""
                wrong += bool(found)
                print(f"{name}, {tool}: {found or 'nothing found, the answer is right'}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
