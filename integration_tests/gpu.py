#!/usr/bin/env python3
"""Serves models on a real GPU from dist/ (deploy/bundle) and holds every answer against torch.jit's on the same GPU.

    python3 -m integration_tests.gpu [MODEL...]

For a machine with an NVIDIA GPU and PyTorch 2.11, torchvision and transformers, nothing else of hearth's environment:
the client is `hearth infer`. Exits 1 if an answer differs. Each model is run by `hearth run --device cuda`, run again
and again by a plan for its exact sizes, whose runs are recorded and replayed where they can be, and asked through a
daemon with --device cuda; then all of them are asked at once, again and again. A model that reads its input late is
asked by many at once, each with other numbers: memory of one's input must not go to another's before it was read.
Inputs and outputs of another lie in this script's memory on the GPU, which it shares with the daemon (CUDA shared
memory). Layers that the GPU's libraries compute are run in each tier and dtype, with NaN among their numbers too, and
a model whose trace computes sizes in tensors. Requests that are run as batches, whose memory a GPU reads while the host goes on,
have answers to their own numbers. Where the memory for models has room for one, two take turns. On a machine with several GPUs a daemon has models on all of them. At
the end a model breaks a GPU, whose daemon must say so and end.
"""
import argparse
import base64
import concurrent.futures
import json
import os
import pathlib
import re
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
LAYER_TOLERANCE = {torch.float16: (1e-2, 1e-2), torch.bfloat16: (5e-2, 5e-2), torch.float32: (1e-2, 1e-2)}
AT_ONCE = 12
LATE = "reads_late"
SHARED = "writes_its_input"
BATCHED = "max_batch_size: 8 dynamic_batching { max_queue_delay_microseconds: 50000 }"
BATCHED_NUMBERS = 32768  # of a request; 128 KiB
SHARED_ROUNDS = 300  # beyond --exact-after: the last ones are recorded runs


class ReadsLate(torch.nn.Module):
    """Keeps the GPU busy for a good while before it reads its input, whose memory the host has let go by then."""

    def __init__(self):
        super().__init__()
        self.register_buffer("square", torch.eye(4096))

    def nothing(self, once: float):
        """0, after a good while."""
        busy = self.square * once
        for _ in range(40):
            busy = torch.mm(busy, self.square)
        return busy[0, 0] - 1

    def forward(self, x):
        return x * 2 + self.nothing(float(x.dim()))


class ReadsRowsLate(ReadsLate):
    """The same with rows that do not depend on each other."""

    def forward(self, x):
        return (x * 2 + self.nothing(x.dim() / 2)).mean(1, keepdim=True)


class WritesItsInput(torch.nn.Module):
    def forward(self, x):
        x.mul_(2)
        return x + 1


class Counts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls += 1
        return x + self.calls


class Picks(torch.nn.Module):
    """Rows by number; on a GPU an assertion in the kernel is all that stops a number that is too large."""

    def forward(self, rows, numbers):
        return rows[numbers]


class WritesSizes(torch.nn.Module):
    """A trace of it has the number of rows in a tensor of the host's, and multiplies that by constants of its archive."""

    def forward(self, x):
        rows = x.shape[0]
        rows *= 4
        parts = x.view(rows, -1).softmax(-1)
        rows *= 2
        return parts.view(rows, -1) + 1


class RootsOfSizes(torch.nn.Module):
    """A trace of it has the root of a size as a tensor, and takes that out again: a run that does so cannot be recorded."""

    def forward(self, x):
        side = x.shape[1] ** 0.5
        side = side.to(torch.int64) if isinstance(side, torch.Tensor) else int(side)
        return x.reshape(x.shape[0], side, side).sum(2)


class Daemon:
    """A hearthd over a folder of models on free ports, until the end of a with statement or its own."""

    def __init__(self, models, device, *flags):
        self.log = models.with_name(models.name + ".log")
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [ROOT / "dist/run", "hearthd", "--model-repository", models, "--device", device, "--grpc-port", "0",
                 "--http-port", "0", "--metrics-port", "0", *flags],
                stdout=subprocess.PIPE, stderr=log, text=True)  # fmt: skip
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"hearthd ended with {self.process.wait()}:\n{self.log.read_text()}")
        ready = json.loads(line)
        self.address, self.http_port = f"localhost:{ready['grpc_port']}", ready["http_port"]
        self.metrics_port = ready["metrics_port"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.wait()

    def wait(self):
        """The exit status, once it has ended by itself or was asked to."""
        try:
            return self.process.wait(timeout=120)
        finally:
            self.process.kill()

    def metric(self, series):
        """The value of a series, as /metrics names it; 0 for one that is not there."""
        with urllib.request.urlopen(f"http://localhost:{self.metrics_port}/metrics", timeout=60) as answer:
            values = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[0] != "#")
        return float(values.get(series, 0))

    def infer(self, model, **inputs):
        """(status, JSON) of a request in JSON; (0, why) where the daemon does not answer any more."""
        datatypes = {torch.float32: "FP32", torch.int64: "INT64"}
        body = {"inputs": [{"name": name, "datatype": datatypes[value.dtype], "shape": list(value.shape),
                            "data": value.flatten().tolist()} for name, value in inputs.items()]}  # fmt: skip
        try:
            return post(self.http_port, f"models/{model}/infer", body)
        except OSError as error:
            return 0, str(error)


class Layers(torch.nn.Module):
    """What the GPU's libraries compute with what follows it, and what nothing follows."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(64, 64)
        self.first, self.second = (torch.nn.Conv2d(16, 16, 3, padding=1) for _ in range(2))
        self.grouped = torch.nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.pixel = torch.nn.Conv2d(64, 64, 1)
        self.groups = torch.nn.Conv2d(16, 32, 1, groups=2)
        self.groups_of_sequences = torch.nn.Conv1d(16, 16, 1, groups=2)
        self.bare_groups = torch.nn.Conv1d(16, 32, 1, groups=2, bias=False)
        self.tokens = torch.nn.Linear(16, 24)
        self.kernels = torch.nn.Linear(16, 18)
        self.lstm = torch.nn.LSTM(16, 12, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = torch.nn.GRU(16, 12)
        self.register_buffer("bias", torch.randn(2, 49, 49))
        self.register_buffer("mask", torch.where(torch.rand(2, 49, 49) < 0.2, -100.0, 0.0))
        self.temperature = torch.nn.Parameter(torch.rand(2, 1, 1) + 0.5)

    def attend(self, steps):
        """Attention written out, of two images of two windows with two heads each, whose tokens are not a multiple of 8."""
        heads = 0.5 * torch.cat([steps, -steps])[:, :49].view(4, 49, 2, 8).transpose(1, 2)
        scores = heads @ heads.transpose(-2, -1) * self.temperature + self.bias
        scores = (scores.view(2, 2, 2, 49, 49) + self.mask.unsqueeze(1).unsqueeze(0)).view(-1, 2, 49, 49)
        return (scores.softmax(-1) @ heads).transpose(1, 2).reshape(4, 49, 16)

    def convolve(self, steps):
        """A convolution of sequences with a kernel for each step and each of two heads, as ConvBERT has it."""
        windows = torch.nn.functional.unfold(steps.transpose(1, 2).contiguous().unsqueeze(-1), [9, 1], padding=[4, 0])
        windows = windows.transpose(1, 2).reshape(steps.size(0), -1, 16, 9).reshape(-1, 8, 9)
        kernels = self.kernels(steps).reshape(-1, 9, 1).softmax(1)
        return torch.matmul(windows, kernels).reshape(-1, steps.size(1), 16)

    def forward(self, rows, images, pixels):
        steps = images.flatten(2).transpose(1, 2)
        mixed = torch.nn.functional.gelu(self.tokens(steps)).transpose(1, 2)
        remembered, (last, memory) = self.lstm(steps)
        recalled, state = self.gru(steps)
        sequences = steps.transpose(1, 2)
        grouped = torch.nn.functional.gelu(self.groups_of_sequences(sequences)) + sequences
        return (torch.relu(self.linear(rows)), torch.relu(self.first(images)), torch.relu(self.second(images) + images),
                self.first(images), torch.relu(self.pixel(pixels)), self.grouped(images), mixed.contiguous(),
                torch.relu(remembered) + 1, last * 2 + memory, recalled.sigmoid() * recalled, state + 1, self.attend(steps),
                torch.nn.functional.silu(self.groups(images)), grouped, torch.relu(self.bare_groups(grouped)),
                self.convolve(steps), torch.nn.functional.unfold(images, 3, dilation=2, padding=1, stride=2),
                torch.nn.functional.unfold(images, 3, padding=1).transpose(1, 2).contiguous() * 2)


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


def put(models, name, module, config=None):
    """Makes a model of a repository."""
    version = models / name / "1"
    version.mkdir(parents=True)
    torch.jit.script(module.eval()).save(str(version / "model.pt"))
    if config:
        (version.parent / "config.pbtxt").write_text(config)


def batch_problems(models, device):
    """What goes wrong with requests that are run together."""
    put(models, "rows", ReadsRowsLate(), BATCHED)
    with Daemon(models, device) as daemon:

        def wrong(number):
            status, answer = daemon.infer("rows", x=torch.full((1, BATCHED_NUMBERS), float(number)))
            right = status == 200 and answer["outputs"][0]["data"] == [2.0 * number]
            return None if right else f"{number}: {status} {answer}"

        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as threads:
            problems = [problem for problem in threads.map(wrong, range(10 * AT_ONCE)) if problem]
        with urllib.request.urlopen(f"http://localhost:{daemon.http_port}/v2/models/rows/stats", timeout=60) as answer:
            statistics = json.load(answer)["model_stats"][0]
    if statistics["execution_count"] >= statistics["inference_count"]:
        problems.append(f"no two were run together: {statistics['execution_count']} runs")
    if status := daemon.wait():
        problems.append(f"hearthd ended with {status}")
    return problems


def budget_problems(models, device):
    """What goes wrong where the memory for models has room for one of two, which are asked in turn."""
    for name in ("first", "second"):
        put(models, name, ReadsLate())
    flag, series = ("--model-gpu-memory-bytes", 'hearth_models_gpu_memory_bytes{gpu="0"}')
    if device == "cpu":
        flag, series = ("--model-memory-bytes", "hearth_models_memory_bytes")
    problems = []
    with Daemon(models, device, flag, "100MiB", "--unload-idle-models") as daemon:
        for turn in range(6):
            status, answer = daemon.infer(("first", "second")[turn % 2], x=torch.ones(8))
            if status != 200 or answer["outputs"][0]["data"] != [2.0] * 8:
                problems.append(f"turn {turn}: {status} {answer}")
            if not 64 << 20 <= (held := daemon.metric(series)) <= 100 << 20:
                problems.append(f"turn {turn}: {held / (1 << 20):.0f} MiB are held")
    if status := daemon.wait():
        problems.append(f"hearthd ended with {status}")
    return problems


def several_gpus_problems(models, hearth):
    """What goes wrong where a daemon has several GPUs: the machine has two at least."""
    put(models, "everywhere", ReadsLate())
    put(models, "counts", Counts())
    put(models, "on_one", WritesItsInput(), "instance_group { kind: KIND_GPU gpus: [ 1 ] }")
    put(models, "too_many", WritesItsInput(), "instance_group { kind: KIND_GPU gpus: [ 0, 99 ] }")
    put(models, "cannot", Counts(), "instance_group { kind: KIND_GPU gpus: [ 0, 1 ] }")
    gpus = {f"cuda:{n}" for n in range(torch.cuda.device_count())}
    problems = []
    with Daemon(models, "cuda:all", "--exit-on-error", "off") as daemon:

        def used(model):
            """The GPUs that its calls were on."""
            text = subprocess.run([*hearth, "inspect", "--plans", daemon.address, model], check=True, text=True,
                                  stdout=subprocess.PIPE).stdout  # fmt: skip
            return {gpu for gpu in gpus if re.search(rf"\b{gpu}\b", text)}

        def right(number):
            status, answer = daemon.infer("everywhere", x=torch.full((8,), float(number)))
            return status == 200 and answer["outputs"][0]["data"] == [2.0 * number] * 8

        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as threads:
            answers = list(threads.map(right, range(20 * AT_ONCE)))
        if not all(answers):
            problems.append(f"{answers.count(False)} of {len(answers)} answers are wrong")
        if (on := used("everywhere")) != gpus:
            problems.append(f"calls were on {sorted(on)} and not on {sorted(gpus)}")
        counted = [daemon.infer("counts", x=torch.zeros(1))[1] for _ in range(8)]
        counted = [answer["outputs"][0]["data"] if "outputs" in answer else answer for answer in counted]
        if counted != [[float(n)] for n in range(1, 9)]:
            problems.append(f"a model that counts its calls has several counts: {counted}")
        for _ in range(8):
            status, answer = daemon.infer("on_one", x=torch.ones(2))
            if status != 200 or answer["outputs"][0]["data"] != [3.0, 3.0]:
                problems.append(f"the model on GPU 1 answers {answer}")
        if (on := used("on_one")) != {"cuda:1"}:
            problems.append(f"the model on GPU 1 had calls on {sorted(on)}")
        log = daemon.log.read_text()
        for reason in ("GPU 99 is not the server's, which has GPUs 0", "cannot be on GPUs 0 and 1 at once: forward writes"):
            if reason not in log:
                problems.append(f"the log does not say '{reason}'")
    if status := daemon.wait():
        problems.append(f"hearthd ended with {status}")
    return problems


def failed_gpu_problems(models, device):
    """What goes wrong when a model breaks its GPU: the request that does it fails, none after it has an answer, and the
    daemon says why and ends."""
    put(models, "picks", Picks())
    put(models, "adds", WritesItsInput())
    rows = torch.arange(20.0).reshape(10, 2)
    problems = []
    with Daemon(models, device, "--drain-seconds", "20") as daemon:
        status, answer = daemon.infer("picks", rows=rows, numbers=torch.tensor([3]))
        if status != 200 or answer["outputs"][0]["data"] != [6.0, 7.0]:
            problems.append(f"a number that is there: {status} {answer}")
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as threads:
            beside = [threads.submit(daemon.infer, "adds", x=torch.ones(2)) for _ in range(AT_ONCE)]
            status, answer = daemon.infer("picks", rows=rows, numbers=torch.tensor([100]))
            beside += [threads.submit(daemon.infer, "adds", x=torch.ones(2)) for _ in range(AT_ONCE)]
        if status not in (500, 503) or "has failed and cannot be used" not in json.dumps(answer):
            problems.append(f"a number that is too large: {status} {answer}")
        # Those before it may have been through.
        for request in beside:
            status, answer = request.result()
            if status == 200 and answer["outputs"][0]["data"] != [3.0, 3.0]:
                problems.append(f"a wrong answer beside it: {answer}")
            if status not in (200, 500, 503, 0):
                problems.append(f"a request beside it: {status} {answer}")
        status, answer = daemon.infer("adds", x=torch.ones(2))
        if status not in (503, 0):
            problems.append(f"a request after it: {status} {answer}")
        if (status := daemon.wait()) != 3:
            problems.append(f"hearthd ended with {status} and not 3")
    if "a GPU has failed, and this server stops with exit status 3: cuda:" not in daemon.log.read_text():
        problems.append("the log does not say that a GPU has failed")
    return problems


def layer_problems(hearth, folder):
    """What goes wrong with layers of the GPU's libraries: in each tier, with numbers and with NaN among them."""
    problems = []
    torch.manual_seed(0)
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        module = Layers().cuda().to(dtype).eval()
        torch.jit.script(module).save(str(folder / "layers.pt"))
        given = [torch.randn(8, 64), torch.randn(2, 16, 8, 8), torch.randn(2, 64, 1, 1)]
        for what in ("numbers", "not a number"):
            if what != "numbers":
                for tensor in given:
                    tensor.view(-1)[0] = float("nan")
            inputs = [tensor.to(dtype) for tensor in given]
            with torch.no_grad():
                expected = [answer.float().cpu() for answer in module(*to("cuda", inputs))]
            torch.save(tuple(inputs), folder / "layers.in.pt")
            for tier in ("0", "1", "2"):
                out = folder / "layers.out.pt"
                done = subprocess.run(
                    [*hearth, "run", folder / "layers.pt", "--inputs", folder / "layers.in.pt", "--output", out, "--device",
                     "cuda", "--tier", tier, "--repeat", "4", "--explain", "--json"],
                    check=True, capture_output=True, text=True)
                for number, (answer, wanted) in enumerate(zip(torch.load(out, weights_only=True), expected)):
                    if not torch.allclose(answer.float().cpu(), wanted, *LAYER_TOLERANCE[dtype], equal_nan=True):
                        problems.append(f"{what}, {dtype}, tier {tier}, answer {number}")
                operators = [each for run in json.loads(done.stdout)["explanation"] for each in run["operators"]]
                if not any(each.get("device_seconds", 0) > 0 for each in operators):
                    problems.append(f"{what}, {dtype}, tier {tier}: no times of the GPU")
    return problems


def traced_size_problems(hearth, folder):
    """What goes wrong with sizes that a trace has in tensors, of models that were traced on the CPU or the GPU."""
    problems = []
    given = torch.randn(3, 64)
    torch.save((given,), folder / "sizes.in.pt")
    for module in (WritesSizes(), RootsOfSizes()):
        wanted = module(given)
        for device in ("cpu", "cuda"):
            what = f"{type(module).__name__} traced on {device}"
            torch.jit.trace(module, torch.randn(2, 64, device=device)).save(str(folder / "sizes.pt"))
            for tier in ("0", "1", "2"):
                done = subprocess.run(
                    [*hearth, "run", folder / "sizes.pt", "--inputs", folder / "sizes.in.pt", "--output", folder / "sizes.out.pt",
                     "--device", "cuda", "--tier", tier, "--repeat", "4"],
                    capture_output=True, text=True, env={**os.environ, "HEARTH_LOG": "executor/captured_plan=info"})  # fmt: skip
                if done.returncode != 0:
                    problems.append(f"{what}, tier {tier}: {done.stderr.strip().splitlines()[-1]}")
                elif not torch.allclose(torch.load(folder / "sizes.out.pt", weights_only=True).cpu(), wanted, *TOLERANCE):
                    problems.append(f"{what}, tier {tier}: another answer")
                if "not recorded" in done.stderr:
                    problems.append(f"{what}, tier {tier}: {done.stderr.strip().splitlines()[-1]}")
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


def tell(what, problems):
    """How many there are."""
    print(f"{what}: {'; '.join(problems) or 'right'}", flush=True)
    return len(problems)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--device", default="cuda", help="another than cuda tries this script itself")
    parser.add_argument("--only-devices", action="store_true", help="several GPUs, and one that fails: no models")
    options = parser.parse_args()
    hearth = [str(ROOT / "dist/run"), "hearth"]
    with tempfile.TemporaryDirectory() as scratch:
        wrong = 0 if options.only_devices else wrong_answers(options, hearth, pathlib.Path(scratch))
        if not options.only_devices:
            wrong += tell("batches", batch_problems(pathlib.Path(scratch) / "batched", options.device))
            wrong += tell("memory of models", budget_problems(pathlib.Path(scratch) / "budget", options.device))
        if options.device == "cuda" and not options.only_devices:
            wrong += tell("layers of the GPU's libraries", layer_problems(hearth, pathlib.Path(scratch)))
            wrong += tell("sizes that a trace has in tensors", traced_size_problems(hearth, pathlib.Path(scratch)))
        if options.device == "cuda" and torch.cuda.device_count() > 1:
            wrong += tell("several GPUs", several_gpus_problems(pathlib.Path(scratch) / "of_several", hearth))
        if options.device == "cuda":
            wrong += tell("a GPU that fails", failed_gpu_problems(pathlib.Path(scratch) / "broken", options.device))
    return 1 if wrong else 0


def wrong_answers(options, hearth, folder):
    """How many there are of the models."""
    library = zoo.operator_library()
    # torchvision's library names LibTorch's Python part, which is found beside the rest.
    os.environ["LD_LIBRARY_PATH"] = str(pathlib.Path(torch.__file__).parent / "lib")
    if options.device == "cuda":
        print(torch.cuda.get_device_name(), flush=True)

    models = zoo.ensure(options.models)
    wrong = 0
    zoo.repository(models, folder / "models")
    put(folder / "models", LATE, ReadsLate())
    put(folder / "models", SHARED, WritesItsInput())
    with Daemon(folder / "models", options.device, "--links-lead-out", "--operator-library", library,
                "--allow-client-shm", "on") as daemon:  # fmt: skip
        address = daemon.address
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
            wrong += tell("CUDA shared memory", shared_memory_problems(daemon.http_port))
    if (status := daemon.wait()) != 0:
        print(f"hearthd ended with {status}:\n{daemon.log.read_text()}")
        wrong += 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
