#!/usr/bin/env python3
"""Answers a second and latencies of models that are served on this machine's processors, beside TorchServe, Triton and
servers written in Python:

    python3 -m benchmarks.served_cpu --torchserve FOLDER --triton FOLDER [--hearth dist] [--models resnet18 bert_small]
              [--clients 1 4 16 64] [--engines hearthd "hearthd, batches" ...] [--seconds S] [--rounds N] [--output FILE.md]

The first FOLDER is where `pip install --target FOLDER --no-deps --requirement benchmarks/requirements-torchserve.txt` has
put TorchServe, which also needs Java; the other one a virtual environment with benchmarks/requirements-triton.txt
(integration_tests/triton/server.py). Triton has its Python backend around a frozen torch.jit, as it has no other one here
(triton_backend.py), with one instance of each model, which is its default. hearthd, TorchServe, Triton, and
python_server.py and python_grpc_server.py around a frozen torch.jit are as they are with no flags: TorchServe has a worker
a processor, each with as many threads as there are processors; with one thread if that is asked for, as the Python server
of gRPC is too. With batches, hearthd, Triton and TorchServe are told to run up to 8 requests together; TorchServe waits
5 ms for them. They are asked over HTTP/1.1 with binary tensors
(rest_clients.py), or over gRPC with raw contents (grpc_clients.py) where the name says so; batch 1, each client with a
connection of its own. TorchServe's handler reads and writes messages with python_server.py's functions. Servers take
turns with each number of clients; a first answer of each is compared with eager torch's. Random weights.
"""

import contextlib
import functools
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import torch

from benchmarks import ROOT, grpc_clients, rest_clients
from benchmarks.rest_clients import DATATYPES, Connection
from benchmarks.served_gpu import Benchmark, Server, hearthd, input_names, make_archives, message_for, parser, run
from integration_tests.daemon import free_port
from integration_tests.triton.server import Triton

ENGINES = ("hearthd", "hearthd, batches", "TorchServe", "TorchServe, one thread", "TorchServe, batches", "Triton",
           "Triton, batches", "torch.jit", "hearthd, gRPC", "Triton, gRPC", "torch.jit, gRPC", "torch.jit, gRPC, one thread")
DTYPE = "float32"
LARGEST_BATCH = 8
DELAY = 5  # milliseconds
PATIENCE = 180  # seconds that TorchServe may take to start
BATCHES = f"max_batch_size: {LARGEST_BATCH}\ndynamic_batching {{}}\n"


class TorchServe:
    """With all models of a folder, each packed as its tools do it."""

    def __init__(self, options, batches, one_thread):
        self._folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self._folder.name)
        paths = os.pathsep.join([str(ROOT), str(options.torchserve)])
        binaries = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
        environment = dict(os.environ, PYTHONPATH=paths, PATH=binaries, LOG_LOCATION=str(folder), METRICS_LOCATION=str(folder),
                           TMPDIR=str(folder))
        if one_thread:
            environment["OMP_NUM_THREADS"] = "1"
        (folder / "models").mkdir()
        settings = f"batchSize: {LARGEST_BATCH if batches else 1}\nmaxBatchDelay: {DELAY}\n"
        (folder / "model.yaml").write_text(settings)
        for name in options.models:
            subprocess.run(
                [sys.executable, "-W", "ignore", "-m", "model_archiver.model_packaging", "--model-name", name, "--version", "1.0",
                 "--serialized-file", options.work / name / "1/model.pt", "--handler",
                 ROOT / "benchmarks/torchserve_handler.py", "--config-file", folder / "model.yaml", "--export-path",
                 folder / "models"], check=True, env=environment)  # fmt: skip
        self.port = free_port()
        ports = {"inference_address": f"http://127.0.0.1:{self.port}", "management_address": f"http://127.0.0.1:{free_port()}",
                 "metrics_address": f"http://127.0.0.1:{free_port()}", "grpc_inference_port": free_port(),
                 "grpc_management_port": free_port()}
        (folder / "settings").write_text("".join(f"{name}={value}\n" for name, value in ports.items()))
        command = [sys.executable, "-c", "from ts.model_server import start; start()", "--start", "--foreground", "--ncs",
                   "--disable-token-auth", "--model-store", folder / "models", "--ts-config", folder / "settings", "--models",
                   *(f"{name}.mar" for name in options.models)]
        with open(folder / "log", "w") as log:
            self.process = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log, env=environment,
                                            cwd=folder, start_new_session=True)
        try:
            for name in options.models:
                self._await(torchserve_message(options.work / name))
        except Exception:
            self.stop()
            raise

    def _await(self, message):
        """Until it is answered: TorchServe's own readiness comes before the workers'."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError):
                connection = Connection(self.port)
                status, _, _ = connection.ask(message)
                connection.close()
                if status == 200:
                    return
            time.sleep(0.5)
        log = (pathlib.Path(self._folder.name) / "log").read_text()
        raise RuntimeError(f"TorchServe did not get ready: {log[-1000:]}")

    def stop(self):
        # Java and its workers do not end with the program that has started them.
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._folder.cleanup()


def torchserve_message(folder):
    return message_for(folder).replace(f"/v2/models/{folder.name}/infer".encode(), f"/predictions/{folder.name}".encode(), 1)


class TritonServer(Triton):
    """With all models of a folder."""

    def __init__(self, options, batches, port):
        self._repository = tempfile.TemporaryDirectory()
        write_triton_repository(pathlib.Path(self._repository.name), options, batches)
        super().__init__(options.triton, self._repository.name)
        self.port = getattr(self, port)

    def stop(self):
        super().stop()
        self._repository.cleanup()


def write_triton_repository(repository, options, batches):
    """The archives for Triton's Python backend."""
    packages = os.pathsep.join(path for path in sys.path if path)
    for name in options.models:
        folder = options.work / name
        (repository / name / "1").mkdir(parents=True)
        (repository / name / "1/model.py").write_bytes((ROOT / "benchmarks/triton_backend.py").read_bytes())
        inputs = torch.load(folder / "inputs.pt", weights_only=True)
        outputs = torch.load(folder / "expected.pt", weights_only=True)
        config = ['backend: "python"', BATCHES if batches else "max_batch_size: 0"]
        for kind, names, tensors in (("input", input_names(folder), inputs),
                                     ("output", [f"OUTPUT__{i}" for i in range(len(outputs))], outputs)):
            for tensor_name, tensor in zip(names, tensors, strict=True):
                datatype = DATATYPES[str(tensor.dtype).removeprefix("torch.")]
                dims = ", ".join(["-1"] * (tensor.dim() - batches))
                config.append(f'{kind} {{ name: "{tensor_name}" data_type: TYPE_{datatype} dims: [ {dims} ] }}')
        for key, value in (("archive", folder / "1/model.pt"), ("packages", packages)):
            config.append(f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}')
        (repository / name / "config.pbtxt").write_text("\n".join(config) + "\n")


class CpuBenchmark(Benchmark):
    dtype, tolerance = DTYPE, 1e-4

    def start(self, engine):
        options = self.options
        if engine.startswith("TorchServe"):
            return TorchServe(options, batches="batches" in engine, one_thread="one thread" in engine)
        port = "grpc_port" if "gRPC" in engine else "http_port"
        if engine.startswith("Triton"):
            return TritonServer(options, batches="batches" in engine, port=port)
        if engine.startswith("torch.jit"):
            program = "python_grpc_server" if "gRPC" in engine else "python_server"
            threads = {"OMP_NUM_THREADS": "1"} if "one thread" in engine else {}
            return Server([sys.executable, "-m", f"benchmarks.{program}", "torch.jit", options.work, *options.models,
                           "--device", "cpu", "--dtype", DTYPE], port, **threads)
        if "batches" not in engine:
            return hearthd(options, options.work, port=port)
        batching = options.work.parent / f"{options.work.name}.batches"
        for name in options.models:
            (batching / name).mkdir(parents=True, exist_ok=True)
            (batching / name / "1").symlink_to(options.work / name / "1")
            (batching / name / "config.pbtxt").write_text(BATCHES)
        return hearthd(options, batching, "--links-lead-out")

    def clients(self, engine):
        return grpc_clients if "gRPC" in engine else rest_clients

    def message(self, engine, folder):
        return torchserve_message(folder) if engine.startswith("TorchServe") else super().message(engine, folder)


def main():
    options_of = parser(__doc__)
    options_of.set_defaults(device="cpu", models=["resnet18", "bert_small"])
    options_of.add_argument("--torchserve", type=pathlib.Path)
    options_of.add_argument("--triton", type=pathlib.Path)
    options_of.add_argument("--clients", nargs="+", type=int, default=[1, 4, 16, 64])
    options_of.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    options_of.add_argument("--seconds", type=float, default=5)
    options_of.add_argument("--rounds", type=int, default=1)
    options_of.add_argument("--warm-up", type=float, default=8)
    benchmark = CpuBenchmark(options_of.parse_args())
    options = benchmark.options
    run(benchmark, "served_cpu", functools.partial(make_archives, names=options.models, device="cpu", dtype=DTYPE))


if __name__ == "__main__":
    main()
