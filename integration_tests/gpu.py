#!/usr/bin/env python3
"""Serves models on a real GPU from dist/ (deploy/bundle) and holds every answer against torch.jit's on the same GPU.

    python3 -m integration_tests.gpu [MODEL...]

For a machine with an NVIDIA GPU and PyTorch 2.11, torchvision and transformers, nothing else of hearth's environment: the
client is `hearth infer`. Exits 1 if an answer differs. Each model is run by `hearth run --device cuda`, run again and again
by a plan for its exact sizes, whose runs are recorded and replayed where they can be, and asked through a daemon with
--device cuda; then all of them are asked at once, again and again. A model that reads its input late is asked by many at
once, each with other numbers: memory of one's input must not go to another's before it was read. Inputs and outputs of
another lie in this script's memory on the GPU, which it shares with the daemon (CUDA shared memory).
"""
import argparse
import base64
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

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
SHARED = "writes_its_input"
SHARED_ROUNDS = 300  # beyond --exact-after: the last ones are recorded runs


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


class WritesItsInput(torch.nn.Module):
    def forward(self, x):
        x.mul_(2)
        return x + 1


class SharedTensor:
    """A tensor in this process's memory on the GPU, and the handle of the allocation that it lies in."""

    def __init__(self, name, tensor):
        self.name, self.tensor = name, tensor
        _, handle, _, self.offset, *_ = tensor.untyped_storage()._share_cuda_()
        self.handle = handle[-64:]  # behind LibTorch's own marks

    def registration(self, more_bytes=0):
        return {"raw_handle": {"b64": base64.b64encode(self.handle).decode()}, "device_id": self.tensor.device.index,
                "byte_size": self.offset + self.tensor.nbytes + more_bytes}  # fmt: skip

    def place(self):
        return {"shared_memory_region": self.name, "shared_memory_offset": self.offset,
                "shared_memory_byte_size": self.tensor.nbytes}  # fmt: skip


def post(port, path, body):
    """(status, JSON) of a request to the daemon's HTTP port."""
    request = urllib.request.Request(f"http://localhost:{port}/v2/{path}", json.dumps(body).encode(), method="POST")
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read() or b"{}")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def shared_memory_problems(port):
    """What goes wrong with inputs and outputs in memory on the GPU that this process shares."""
    given = SharedTensor("given", torch.empty(1 << 20, device="cuda"))
    taken = SharedTensor("taken", torch.empty(1 << 20, device="cuda"))
    problems = []

    def expect(what, wanted, got):
        if wanted != got:
            problems.append(f"{what}: {got} and not {wanted}")

    def register(shared, body):
        return post(port, f"cudasharedmemory/region/{shared.name}/register", body)[0]

    expect("a handle that is none", 400, register(given, given.registration() | {"raw_handle": {"b64": "aGFuZGxl"}}))
    wrong = base64.b64encode(bytes(64)).decode()
    expect("a handle of nothing", 400, register(given, given.registration() | {"raw_handle": {"b64": wrong}}))
    expect("more than the allocation has", 400, register(given, given.registration(more_bytes=1 << 40)))
    expect("another GPU", 400, register(given, given.registration() | {"device_id": 7}))
    for shared in (given, taken):
        expect("registration", 200, register(shared, shared.registration()))
    request = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1 << 20], "parameters": given.place()}],
               "outputs": [{"name": "OUTPUT__0", "parameters": taken.place()}]}  # fmt: skip
    for number in range(SHARED_ROUNDS):
        given.tensor.fill_(number)
        taken.tensor.fill_(-1)
        torch.cuda.synchronize()
        status, answer = post(port, f"models/{SHARED}/infer", request)
        expect(f"request {number}", 200, status)
        if not bool((taken.tensor == 2 * number + 1).all()):
            problems.append(f"answer {number} is wrong: {taken.tensor[:3].tolist()}")
        if not bool((given.tensor == number).all()):
            problems.append(f"the input of request {number} was written")
        if problems:
            return problems
    few = given.place() | {"shared_memory_byte_size": 16}
    small = {"inputs": [request["inputs"][0] | {"shape": [4], "parameters": few}]}
    expect("an answer in JSON", [2 * (SHARED_ROUNDS - 1) + 1] * 4,
           post(port, f"models/{SHARED}/infer", small)[1]["outputs"][0]["data"])
    expect("the end of the regions", 200, post(port, "cudasharedmemory/unregister", {})[0])
    expect("a request to a region that is gone", 404, post(port, f"models/{SHARED}/infer", request)[0])
    return problems


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
        (folder / "models" / SHARED / "1").mkdir(parents=True)
        torch.jit.script(WritesItsInput()).save(str(folder / "models" / SHARED / "1" / "model.pt"))
        daemon = subprocess.Popen(
            [ROOT / "dist/run", "hearthd", "--model-repository", folder / "models", "--device", options.device,
             "--grpc-port", "0", "--http-port", "0", "--metrics-port", "0", "--links-lead-out", "--operator-library", library,
             "--allow-client-shm", "on"],
            stdout=subprocess.PIPE, text=True)
        try:
            ready = json.loads(daemon.stdout.readline())
            address = f"localhost:{ready['grpc_port']}"
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
            if options.device == "cuda":
                problems = shared_memory_problems(ready["http_port"])
                print(f"CUDA shared memory: {'; '.join(problems) or 'right'}", flush=True)
                wrong += len(problems)
        finally:
            daemon.terminate()
            status = daemon.wait(timeout=60)
        if status != 0:
            print(f"hearthd ended with {status}")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
