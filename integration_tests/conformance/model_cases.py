"""Cases made of the zoo's recipes: what the suites of models share. A model is made, asked, and deleted before the next one:
together they would fill a disk. Beside the verdict stands what loading and running it cost on both sides.

A plan adds up in another order, in weights that batch norms were folded into: its error is measured by the largest number
of a tensor, as the error of such sums is, and not by each. Where that is too much, it may be twice as far as torch.jit is
from what the model gives in float64, the farthest that torch.jit is with inputs whose last bits are drawn: some make much of
a little rounding, and detections of all but equal scores change places. That is a rule for the size of differences alone,
and the report names the models that agree by it."""

import functools
import gc
import importlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path

import torch

import integration_tests.zoo
from integration_tests import networks
from integration_tests.conformance import bailouts, oracle, workers
from integration_tests.conformance.case import Case
from integration_tests.conformance.hearth import Hearth, with_plans
from integration_tests.values import leaves, plain, to
from integration_tests.zoo.recipe import tracing_on

TIMEOUT = 600
GUARDS = 8  # of a model's hundreds, that are made to fail: each takes loading the model and making its plan
# Begun first, so that a machine with many processors does not wait for one of them at the end.
_LARGE = ("vit_h_14", "regnet_y_128gf", "vit_l_", "vgg", "convnext_large", "nasnetalarge", "s3d", "mvit", "rcnn", "raft")

# Of detections that make their anchors on the CPU: neither side can add them to what is on a GPU. Quantized operators have
# no kernels there.
_ON_CPU_ONLY = ("torchvision/ssd300_vgg16", "torchvision/ssdlite320_mobilenet_v3_large", "torchvision quantized/")

# Runs a command, and prints how many kilobytes it had in memory at most. A process of its own, for a child's peak begins
# with what its parent has.
_PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def cases(modules, folder, sample=None, device="cpu"):
    """A Case for each recipe of the zoo's modules named, or for `sample` of them, without archives: `judged` makes each
    one's as it comes to it."""
    recipes = _recipes(tuple(modules))
    names = sorted(recipes, key=lambda name: not any(part in name for part in _LARGE))
    if device != "cpu":
        names = [name for name in names if not name.startswith(_ON_CPU_ONLY)]
    if sample:
        names = random.Random(0).sample(names, min(sample, len(names)))
    for name in names:
        # Of this process alone: others may be asking the same of another tier.
        place = folder / device / f"{name.replace('/', '-')}-{os.getpid()}"
        yield Case(
            name=name, group=recipes[name].group, archive=str(place / "model.pt"), inputs=str(place / "inputs.pt"),
            tolerance=recipes[name].tolerance, timeout=TIMEOUT,
        )  # fmt: skip


def made_by(modules):
    """The files that decide what the models are."""
    zoo = Path(integration_tests.zoo.__file__).parent
    return [Path(networks.__file__), zoo / "recipe.py", *(zoo / f"{module}.py" for module in modules)]


def judged(modules, cases, hearth):
    """(case, verdict) of each, as they come."""
    items = [{"case": case.to_json(), "modules": modules, "how": hearth.how} for case in cases]
    # Each guard that fails is a run of the model.
    timeout = TIMEOUT * (GUARDS if hearth.fail_guards == "each" else 1)
    for item, verdict in workers.each("integration_tests.conformance.model_cases:judge", items, timeout):
        case = Case.from_json(item["case"])
        if isinstance(verdict, workers.Died):
            shutil.rmtree(Path(case.archive).parent, ignore_errors=True)
            verdict = {"verdict": "miss", "reason": str(verdict)}
        yield case, verdict


def judge(item):
    """Makes a model, asks both sides about it, and leaves nothing behind."""
    case = Case.from_json(item["case"])
    hearth = Hearth(**item["how"])
    recipe = _recipes(tuple(item["modules"]))[case.name]
    folder = Path(case.archive).parent
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        try:
            _make(recipe, case, hearth.device)
        except Exception as error:
            # Some models can be traced on a CPU only: they make what they add to their input without asking where it is.
            verdict = "miss" if hearth.device == "cpu" else "torch"
            return {"verdict": verdict, "reason": f"making it: {type(error).__name__}: {str(error).strip()[-500:]}",
                    "torch": "failed"}  # fmt: skip
        judge_answer = functools.partial(_verdict, hearth=hearth)
        if hearth.fail_guards == "each":
            [(_, verdict)] = bailouts.verdicts([case], hearth, folder, judge_answer, GUARDS)
        else:
            [answer] = hearth.run([case], folder)
            verdict = with_plans(judge_answer(case, answer), answer.plans)
        if verdict["verdict"] != "agree":
            return {**verdict, "verdict": "miss"}  # one that torch.jit cannot load does not belong here
        found, cost = _cost(recipe, case, hearth)
        return {"verdict": "miss", "reason": found} if found else {**verdict, **({"cost": cost} if cost else {})}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        gc.collect()
        torch.cuda.empty_cache()  # many processes share it


def _verdict(case, answer, hearth):
    item = {"case": case.to_json(), "line": answer.line, "output": str(answer.output), "device": hearth.device,
            "repeat": hearth.repeat}  # fmt: skip
    ours = None
    if hearth.waits_for_plans:
        item["tolerance"] = "largest"
        if answer.line == "ok":
            ours = torch.load(answer.output, weights_only=True)["result"]
    verdict = oracle.judge(item)
    if verdict.get("of_size") and ours is not None and _is_as_near(ours, case, hearth.device):
        return {"verdict": "agree", "reason": "", "torch": verdict["torch"], "as_near": verdict["reason"]}
    return verdict


def _is_as_near(ours, case, device):
    """Whether `ours`, hearth's answer, is about as near to that of the same model in float64 (to torch.jit's own, if it is not one
    of float64 too) as torch.jit's answers are to inputs whose last bits are drawn: a model may make much of a little
    rounding, and one answer is near by chance."""
    inputs = torch.load(case.inputs, weights_only=True)
    theirs = _answers(case.archive, device, (inputs, *_with_other_last_bits(inputs)))
    try:
        [exact] = _answers(case.archive, device, [_map(torch.Tensor.double, inputs)], torch.float64)
    except RuntimeError:
        exact = theirs[0]
    answers = [exact]
    for each in (ours, *theirs):
        try:
            answers.append(_in_order_of(exact, each))
        except _OtherDetections:
            if each is ours:
                return False
    if len(answers) < 3:
        return False
    answers = [list(leaves(each)) for each in answers]
    if len({len(each) for each in answers}) > 1:
        return False
    return all(_near(our, right, [their for _, their in others]) for (_, right), (_, our), *others in zip(*answers))


def _answers(archive, device, given, dtype=None):
    """torch.jit's answers, brought to the CPU; the model's numbers are made `dtype`, if it is given. Without its optimizer,
    which takes long, where that can be: on a GPU a model may compute with constants that are on another device, which the
    optimizer alone does away with."""

    def ask(is_optimized):
        with torch.no_grad(), torch.jit.optimized_execution(is_optimized):
            model = torch.jit.load(archive, map_location=device)
            if dtype is not None:
                model.to(dtype)
            return [to("cpu", plain(model(*to(device, inputs)))) for inputs in given]

    try:
        return ask(False)
    except RuntimeError:
        if device == "cpu":
            raise
        return ask(True)  # of a model that is loaded anew: one stays as it was run first


class _OtherDetections(Exception):
    pass


def _in_order_of(exact, answer):
    """The answer with its detections, which are sorted by scores that may be all but equal, in the order of those of
    `exact` that they are nearest to. Raises _OtherDetections if there are others, or two are nearest to one."""
    if isinstance(answer, (tuple, list)) and len(answer) == len(exact):
        return tuple(_in_order_of(*pair) for pair in zip(exact, answer))
    if not isinstance(answer, dict) or not {"boxes", "scores", "labels"} <= answer.keys():
        return answer
    if answer["labels"].shape != exact["labels"].shape:
        raise _OtherDetections
    apart = (answer["boxes"].double()[None] - exact["boxes"].double()[:, None]).abs().amax(2)
    apart[answer["labels"][None] != exact["labels"][:, None]] = float("inf")
    nearest = apart.argmin(1)
    if nearest.unique().numel() < nearest.numel():
        raise _OtherDetections
    return {name: values[nearest] for name, values in answer.items()}


def _with_other_last_bits(inputs):
    drawn = torch.Generator().manual_seed(0)

    def change(tensor):
        if tensor.dtype != torch.float32:
            return tensor
        return tensor * (1 + torch.randint(-1, 2, tensor.shape, generator=drawn) * torch.finfo(torch.float32).eps)

    return [_map(change, inputs) for _ in range(8)]


def _near(ours, exact, theirs):
    if not isinstance(exact, torch.Tensor):
        return ours == theirs[0]
    if not exact.is_floating_point():
        return torch.equal(ours, theirs[0])
    farthest = max(_distance(each, exact) for each in theirs)
    return bool(_distance(ours, exact) <= 2 * farthest + 1e-6 * exact.abs().max())


def _distance(tensor, exact):
    return (tensor.double() - exact).abs().max()


def _map(function, value):
    if isinstance(value, torch.Tensor):
        return function(value) if value.is_floating_point() else value
    return type(value)(_map(function, element) for element in value) if isinstance(value, (tuple, list)) else value


@functools.cache
def _recipes(modules):
    warnings.simplefilter("ignore")
    found = {}
    for module in modules:  # each takes seconds
        for recipe in importlib.import_module(f"integration_tests.zoo.{module}").recipes():
            found[f"{recipe.group}/{recipe.name}"] = recipe
    return found


def _make(recipe, case, device):
    torch.manual_seed(0)
    with tracing_on(device):
        module, inputs = recipe.make()
    torch.jit.save(module, case.archive)
    torch.save(to("cpu", tuple(inputs)), case.inputs)
    del module
    gc.collect()


def _cost(recipe, case, hearth):
    """Why the answer proves nothing, if it does not, and milliseconds and megabytes of both sides. The fastest of at
    most three runs counts, without torch.jit's optimizer, which would take longer to optimize than the rest of it all.
    No cost where a process more that opens a GPU would be most of it."""
    inputs = torch.load(case.inputs, weights_only=True)
    if hearth.device != "cpu":
        [answer] = _answers(case.archive, hearth.device, [inputs])
        return networks.silence(answer, recipe.at_least), {}
    start = time.perf_counter()
    module = torch.jit.load(case.archive)
    loaded = time.perf_counter() - start
    runs = []
    with torch.no_grad(), torch.jit.optimized_execution(False):
        while len(runs) < 3 and sum(runs) < 1:
            start = time.perf_counter()
            answer = module(*inputs)
            runs.append(time.perf_counter() - start)
    del module
    found = networks.silence(answer, recipe.at_least)
    command = [*hearth.program, "run", case.archive, "--inputs", case.inputs, "--json", "--repeat", len(runs)]
    measured = [sys.executable, "-c", _PEAK, *map(str, command)]
    output = subprocess.run(measured, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    told, _, peak = output.rstrip().rpartition("\n")
    told = json.loads(told)
    return found, {
        "archive_mb": round(os.path.getsize(case.archive) / 2**20, 1),
        "hearth_mb": round(int(peak) / 2**10, 1),
        "load_ms": [round(1000 * loaded, 2), round(told["load_milliseconds"], 2)],
        "run_ms": [round(1000 * min(runs), 2), round(min(told["milliseconds"]), 2)],
    }
