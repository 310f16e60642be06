#!/usr/bin/env python3
"""Serves models on a real GPU from dist/ (deploy/bundle) and holds every answer against torch.jit's on the same GPU.

    python3 -m integration_tests.gpu [MODEL...]

For a machine with an NVIDIA GPU and PyTorch 2.11, torchvision and transformers, nothing else of hearth's environment: the
client is `hearth infer`. Exits 1 if an answer differs. Each model is run by `hearth run --device cuda`, run again and again
by a plan for its exact sizes, whose runs are recorded and replayed where they can be, and asked through a daemon with
--device cuda; then all of them are asked at once, again and again. A model that reads its input late is asked by many at
once, each with other numbers: memory of one's input must not go to another's before it was read.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch

from integration_tests import ROOT
from integration_tests.values import difference, leaves, plain, to
from integration_tests.zoo import archives as zoo

MODELS = ["resnet18", "bert", "fasterrcnn_mobilenet_v3_large_320_fpn"]
# Another order of summation, and convolutions that may round to TF32 on both sides.
TOLERANCE = (1e-2, 1e-2)
AT_ONCE = 12
LATE = "reads_late"


class ReadsLate(torch.nn.Module):
    """Keeps the GPU busy for a good while before it reads its input, whose memory the host has let go by then."""

    def __init__(self):
        super().__init__()
        self.register_buffer("square", torch.eye(4096))

    def forward(self, x):
        busy = self.square * float(x.dim())
        for _ in range(40):
            busy = torch.mm(busy, self.square)
        return x * 2 + (busy[0, 0] - 1)


def answer_of_torch(model, device):
    """What torch.jit answers on the GPU; on the CPU where the archive's code names that device, which torch obeys."""
    oracle = torch.jit.load(model.archive, map_location=device)
    try:
        with torch.no_grad():
            return to("cpu", plain(oracle(*to(device, model.inputs()))))
    except RuntimeError as error:
        print(f"{model.name}: torch.jit fails on the GPU ({str(error).strip().splitlines()[-1]}); its CPU answer counts")
        return model.expected()


def ask_daemon(hearth, address, model, folder):
    """Named answers of the daemon, as `hearth infer` writes them into `folder`, which is made."""
    folder.mkdir()
    command = [*hearth, "infer", address, model.name, "--output-dir", folder, "--timeout", "120"]
    for path, leaf in leaves(dict(zip(model.names()["inputs"], model.inputs()))):
        file = folder / f"in-{path}.npy"
        np.save(file, leaf.numpy())
        command += ["--input", f"{path}={file}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return {name: torch.from_numpy(np.load(folder / f"{name}.npy")) for name in model.served(model.expected())}


def ask_late_reader(hearth, address, number, folder):
    """Whether the answer to one of many requests at once is that to its own numbers."""
    folder.mkdir()
    file = folder / "in.npy"
    np.save(file, np.full(1 << 20, number, np.float32))
    subprocess.run([*hearth, "infer", address, LATE, "--input", f"x={file}", "--output-dir", folder, "--timeout", "120"],
                   check=True, stdout=subprocess.DEVNULL)
    answer, = (np.load(out) for out in folder.glob("*.npy") if out != file)
    return bool((answer == 2 * number).all())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--device", default="cuda", help="another than cuda tries this script itself")
    options = parser.parse_args()
    hearth = [str(ROOT / "dist/run"), "hearth"]
    library = zoo.operator_library()
    # torchvision's library names LibTorch's Python part, which is found beside the rest.
    os.environ["LD_LIBRARY_PATH"] = str(pathlib.Path(torch.__file__).parent / "lib")
    if options.device == "cuda":
        print(torch.cuda.get_device_name(), flush=True)

    models = zoo.ensure(options.models)
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        zoo.repository(models, folder / "models")
        (folder / "models" / LATE / "1").mkdir(parents=True)
        torch.jit.script(ReadsLate().eval()).save(str(folder / "models" / LATE / "1" / "model.pt"))
        daemon = subprocess.Popen(
            [ROOT / "dist/run", "hearthd", "--model-repository", folder / "models", "--device", options.device,
             "--grpc-port", "0", "--http-port", "0", "--metrics-port", "0", "--links-lead-out", "--operator-library", library],
            stdout=subprocess.PIPE, text=True)
        try:
            address = f"localhost:{json.loads(daemon.stdout.readline())['grpc_port']}"
            expectations = {}
            for name, model in models.items():
                expected = expectations[name] = answer_of_torch(model, options.device)
                out = folder / f"{name}.pt"
                subprocess.run([*hearth, "run", model.archive, "--inputs", model.inputs_file, "--output", out,
                                "--device", options.device, "--operator-library", library], check=True)
                recorded = folder / f"{name}-recorded.pt"
                subprocess.run([*hearth, "run", model.archive, "--inputs", model.inputs_file, "--output", recorded,
                                "--tier", "2", "--repeat", "4", "--device", options.device, "--operator-library", library],
                               check=True, stdout=subprocess.DEVNULL)
                served = ask_daemon(hearth, address, model, folder / name)
                for how, found in (
                    ("run", difference(expected, to("cpu", torch.load(out, weights_only=True)), tolerance=TOLERANCE)),
                    ("recorded", difference(expected, to("cpu", torch.load(recorded, weights_only=True)), tolerance=TOLERANCE)),
                    ("served", difference(model.served(expected), served, tolerance=TOLERANCE)),
                ):
                    print(f"{name} {how}: {found or 'right'}", flush=True)
                    wrong += found is not None
            together = [(model, n) for n in range(AT_ONCE) for model in models.values()]
            with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as threads:
                answers = threads.map(
                    lambda item: ask_daemon(hearth, address, item[0], folder / f"{item[0].name}-{item[1]}"), together
                )
                for (model, n), served in zip(together, answers):
                    found = difference(model.served(expectations[model.name]), served, tolerance=TOLERANCE)
                    if found:
                        print(f"{model.name} among others, number {n}: {found}", flush=True)
                        wrong += 1
            print(f"{len(together)} requests, {AT_ONCE} at a time: done", flush=True)
            with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as threads:
                right = list(threads.map(lambda n: ask_late_reader(hearth, address, n, folder / f"{LATE}-{n}"),
                                         range(4 * AT_ONCE)))
            print(f"{LATE}: {sum(right)} of {len(right)} answers, {AT_ONCE} at a time, are right", flush=True)
            wrong += len(right) - sum(right)
        finally:
            daemon.terminate()
            status = daemon.wait(timeout=60)
        if status != 0:
            print(f"hearthd ended with {status}")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
