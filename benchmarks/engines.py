"""What runs a model in turns with others. Each engine has `time(milliseconds)`, the median of its calls in a turn of
that length, in milliseconds, `answer`, what it gave for the inputs, on the CPU, and `process_number`, of the process
that it runs in. It is warmed up when it is made.

On a GPU a call ends when its answer is on the CPU and its stream is idle, as a request does; inputs are there before.
"""

import copy
import functools
import os
import pathlib
import statistics
import subprocess
import time

import torch

from integration_tests.values import as_tensor, leaves, to

WARM_UP_CALLS = 5
LEAST_CALLS = 3


class EngineError(Exception):
    """An engine cannot run this model; the message says why."""


class Process:
    """model_benchmark on an archive, with engines of hearth and of torch.jit."""

    def __init__(self, command, threads, archive, inputs, engines, device="cpu"):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
        # Not said of the CPU: builds from before there was a choice run too.
        options = [] if device == "cpu" else ["--device", device]
        self.process = subprocess.Popen([*command, *options, str(archive), str(inputs), *engines], env=environment,
                                        text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.line("ready")

    def line(self, expected=None):
        line = self.process.stdout.readline()
        if not line or (expected and line.strip() != expected):
            self.process.kill()
            raise EngineError(f"model_benchmark ended with {self.process.wait()}")
        return line

    def ask(self, *words, expected=None):
        print(*words, file=self.process.stdin, flush=True)
        return self.line(expected)

    def time(self, engine, milliseconds):
        return statistics.median(map(int, self.ask("time", engine, milliseconds).split())) / 1e6

    def answer(self, engine, file):
        self.ask("answer", engine, file, expected="written")
        return torch.load(file, weights_only=True)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(60)


class InProcess:
    """One engine of a Process. `answers` is false for what gives none."""

    def __init__(self, process, engine, folder, answers=True):
        self.process = process
        self.process_number = process.process.pid
        self.engine = engine
        self.answer = process.answer(engine, pathlib.Path(folder) / "answer.pt") if answers else None

    def time(self, milliseconds):
        return self.process.time(self.engine, milliseconds)


class InPython:
    """A callable of this process. `context` makes what its calls run in; `convert` makes tensors of its last answer."""

    def __init__(self, call, context=torch.inference_mode, convert=lambda answer: answer):
        self.process_number = os.getpid()
        self.call = call
        self.context = context
        with context():
            for _ in range(WARM_UP_CALLS):
                answer = call()
            # A copy: an engine may keep its answer's memory for the next one.
            self.answer = to("cpu", convert(answer))

    def time(self, milliseconds):
        times, end = [], time.perf_counter_ns() + int(milliseconds * 1e6)
        with self.context():
            while len(times) < LEAST_CALLS or time.perf_counter_ns() < end:
                start = time.perf_counter_ns()
                self.call()
                times.append(time.perf_counter_ns() - start)
        return statistics.median(times) / 1e6


def in_torch(function, inputs, device, context=torch.inference_mode):
    """A callable on tensors of torch."""
    if device == "cpu":
        return InPython(lambda: function(*inputs), context)

    def call():
        answer = to("cpu", function(*inputs))
        torch.cuda.current_stream(device).synchronize()
        return answer

    return InPython(call, context)


def eager(made, device, threads, folder):
    return in_torch(made.module, made.inputs, device)


def compiled(made, device, threads, folder):
    torch._dynamo.reset()
    return in_torch(torch.compile(made.module), made.inputs, device)


def compiled_frozen(made, device, threads, folder):
    """Inductor at its best for inference: weights are constants, packed and folded. It freezes under no_grad alone."""
    torch._dynamo.reset()
    return in_torch(torch.compile(made.module, options={"freezing": True}), made.inputs, device, torch.no_grad)


def compiled_as(mode, made, device, threads, folder):
    """Inductor in one of its modes; those for GPUs have CUDA graphs."""
    torch._dynamo.reset()
    return in_torch(torch.compile(made.module, mode=mode), made.inputs, device)


def cuda_graph(made, device, threads, folder):
    """What a user may write by hand: eager torch's kernels, channels-last, recorded once and replayed."""
    if device == "cpu":
        raise EngineError("measured on a GPU only")
    module = copy.deepcopy(made.module).to(memory_format=torch.channels_last)
    inputs = [value.clone() for value in made.inputs]
    side = torch.cuda.Stream(device)
    side.wait_stream(torch.cuda.current_stream(device))
    with torch.inference_mode(), torch.cuda.stream(side):
        for _ in range(WARM_UP_CALLS):
            module(*inputs)
    side.synchronize()
    # Else its workspace is shared, and freed under this graph when torch.compile records one.
    torch._C._cuda_clearCublasWorkspaces()
    graph = torch.cuda.CUDAGraph()
    with torch.inference_mode(), torch.cuda.graph(graph, stream=side):
        answer = module(*inputs)
    torch._C._cuda_clearCublasWorkspaces()

    def call(*given):
        for recorded, value in zip(inputs, given):
            recorded.copy_(value)
        graph.replay()
        return answer

    call.module = module  # whose weights the recorded kernels read
    return in_torch(call, made.inputs, device)


def only_tensors_on_cpu(made, device):
    if device != "cpu":
        raise EngineError("measured on the CPU only")
    if not all(isinstance(value, torch.Tensor) for value in made.inputs):
        raise EngineError("its inputs are not tensors")


def openvino(made, device, threads, folder):
    """For the very shapes of the inputs, from OpenVINO's own reader of torch models."""
    import openvino as ov

    only_tensors_on_cpu(made, device)
    model = ov.convert_model(made.module, example_input=made.inputs)
    model.reshape({port: list(value.shape) for port, value in zip(model.inputs, made.inputs)})
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
                "PERFORMANCE_HINT": "LATENCY"}
    request = ov.Core().compile_model(model, "CPU", settings).create_infer_request()
    inputs = [value.numpy() for value in made.inputs]
    return InPython(lambda: request.infer(inputs, share_inputs=True, share_outputs=True),
                    convert=lambda answer: [torch.tensor(value) for value in answer.values()])


def onnxruntime(made, device, threads, folder):
    """From the file that torch's exporter writes; what it computes with is float32, as the file says."""
    import onnxruntime as ort

    only_tensors_on_cpu(made, device)
    file = pathlib.Path(folder) / "model.onnx"
    with torch.no_grad():
        trace = torch.jit.trace(made.module, made.inputs, strict=False, check_trace=False)
        torch.onnx.export(trace, made.inputs, str(file), dynamo=False)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    inputs = {port.name: value.numpy() for port, value in zip(session.get_inputs(), made.inputs)}
    return InPython(lambda: session.run(None, inputs), convert=lambda answer: [torch.tensor(value) for value in answer])


def ceiling(layout, made, device, threads, folder):
    """The network written by hand (ceilings/), for those that are."""
    from benchmarks.ceilings.engine import Ceiling, Unavailable

    only_tensors_on_cpu(made, device)
    if threads != 1:
        raise EngineError("written for one thread")
    try:
        return Ceiling(made.module, made.inputs, layout)
    except Unavailable as error:
        raise EngineError(str(error)) from error


# Of this process: what makes an engine of (model, device, threads, a folder for files), and what it imports.
IN_PYTHON = {"eager": (eager, "torch"), "torch.compile": (compiled, "torch"),
             "torch.compile:frozen": (compiled_frozen, "torch"), "cuda_graph": (cuda_graph, "torch"),
             **{f"torch.compile:{mode}": (functools.partial(compiled_as, mode), "torch")
                for mode in ("reduce-overhead", "max-autotune")}, "openvino": (openvino, "openvino"),
             "onnxruntime": (onnxruntime, "onnxruntime"),
             **{f"ceiling:{layout}": (functools.partial(ceiling, layout), "benchmarks.ceilings")
                for layout in ("channels_last", "blocked")}}
IN_BINARY = ["torch.jit", "torch.jit:frozen", "torch.jit:inference"]


def make_in_python(name, *arguments):
    """Raises EngineError, whatever stood in the way: a rival that cannot run a model must not end the others' run."""
    try:
        return IN_PYTHON[name][0](*arguments)
    except EngineError:
        raise
    except Exception as error:
        reason = next(iter(str(error).strip().splitlines()), "")
        raise EngineError(f"{type(error).__name__}: {reason[:200]}") from error


def distance(answer, expected):
    """The largest difference between two answers, as a part of the largest number in the expected one."""
    ours, theirs = [[as_tensor(leaf).double() for _, leaf in leaves(value)] for value in (answer, expected)]
    if [leaf.shape for leaf in ours] != [leaf.shape for leaf in theirs]:
        return float("inf")
    # Not a number is as far away as can be.
    parts = [torch.nan_to_num((a - b).abs().max() / b.abs().max().clamp_min(1e-30), nan=float("inf"))
             for a, b in zip(ours, theirs)]
    return max(float(part) for part in parts)


def rounding(made, answer):
    """How far eager torch's answer is from the one that float32 gives for the same weights."""
    module = copy.deepcopy(made.module).float()
    inputs = tuple(value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
                   for value in made.inputs)
    with torch.inference_mode():
        return distance(answer, to("cpu", module(*inputs)))
