"""Makes cases of random fusion groups, and says of each whether hearth did what LibTorch does. Runs in worker processes."""

import functools
import hashlib
import json
import os
import subprocess
import warnings
from pathlib import Path

import torch

from integration_tests.conformance import making, oracle
from integration_tests.conformance.case import Case
from integration_tests.conformance.compare import difference
from integration_tests.conformance.random_fusion import noise
from integration_tests.conformance.random_fusion.program import HEAD, generate
from integration_tests.values import leaves

PROGRAMS = 50  # of an item


def make(item):
    """The cases of `PROGRAMS` programs, from "seed" and "first": a file with the function and one of arguments for each call."""
    warnings.simplefilter("ignore")
    folder = making.folder_of(item)
    made = []
    for number in range(item["first"], item["first"] + PROGRAMS):
        made += write(generate(item["seed"], number), folder)
    return {"cases": [case.to_json() for case in made], "unmade": []}


def write(program, folder):
    source = folder / f"{program.name}.py"
    source.write_text(HEAD + program.text())
    cases = []
    group = f"{len(program.statements) // 5 * 5} to {len(program.statements) // 5 * 5 + 4} operators"
    for index, values in enumerate(program.calls):
        inputs = folder / f"{program.name}.{index}.in.pt"
        torch.save(tuple(values), inputs)
        cases.append(Case(name=f"{folder.name}/{program.name}/{index}", group=group, archive=str(source), inputs=str(inputs), method=program.name))
    return cases


def judge(item):
    """As oracle.judge, but for how values are compared: noise.py."""
    case = Case.from_json(item["case"])
    try:
        # Its optimizer folds `mask * 1` to a mask, and makes one tensor where the program makes two alike.
        with torch.jit.optimized_execution(False):
            expected = oracle._expected(case, item["device"])
    except oracle._NotLoaded as error:
        return oracle._verdict_on_refusal(str(error), item["line"])
    got = oracle.hearth_outcome(item["line"], item["output"])
    try:
        found = difference(expected, got, ("values", *case.skip))
        undecided = 0
        if not found and expected.kind in ("value", "raised"):
            found, undecided = _value_difference(case, expected, got, item["device"])
        verdict = oracle._verdict(found, expected.kind)
        if undecided:
            verdict["undecided"] = undecided
        return verdict
    finally:
        if os.path.exists(item["output"]):
            os.remove(item["output"])


def _value_difference(case, expected, got, device):
    theirs, ours = _tensors(expected, case), _tensors(got, case)
    if all(bool(_same(a, b).all()) for (_, a), (_, b) in zip(theirs, ours)):
        return None, 0
    runs = [_noisy(case, seed, device) for seed in range(noise.RUNS)]
    total, undecided_total = sum(t.numel() for _, t in theirs), 0
    for index, ((path, a), (_, b)) in enumerate(zip(theirs, ours)):
        bad, undecided = noise.differing(a, b, [run[index] for run in runs])
        if bad:
            more = [_noisy(case, seed, device)[index] for seed in range(noise.RUNS, noise.MORE_RUNS)]
            bad, undecided = noise.differing(a, b, [run[index] for run in runs] + more)
        if bad:
            return f"{path}: {bad} of {a.numel()} elements differ, {_example(a, b)}", 0
        undecided_total += undecided
    return None, round(undecided_total / max(total, 1), 3)


def _same(a, b):
    return (a == b) | ((a != a) & (b != b))


def _example(a, b):
    worst = torch.where(~_same(a, b), (a.double() - b.double()).abs().nan_to_num(1e300, 1e300), -1.0).flatten().argmax()
    return f"{a.dtype} such as {a.flatten()[worst].item()!r} expected, got {b.flatten()[worst].item()!r}"


def _tensors(outcome, case):
    compared = ("result",) if "arguments" in case.skip else ("args", "kwargs", "result")
    content = {key: outcome.content[key] for key in compared if key in outcome.content}
    return [(path, leaf) for path, leaf in leaves(content) if isinstance(leaf, torch.Tensor)]


@functools.lru_cache(maxsize=80)
def _noisy(case, seed, device):
    function = oracle._load(case, device)
    args = making.copied(torch.load(case.inputs, weights_only=True, map_location=device))
    result = {}
    try:
        with torch.no_grad(), torch.jit.optimized_execution(False), noise.Noise(seed, device):
            result = {"result": function(*args)}
    except RuntimeError:
        pass
    outcome = oracle.Outcome("value", content=oracle._to_cpu(oracle.plain({"args": args, "kwargs": {}, **result})))
    return [tensor for _, tensor in _tensors(outcome, case)]


def key_of_sources():
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def operators_run(hearth, case):
    """{name: calls} of what `hearth` runs in a case, by its own word."""
    command = [*hearth.program, "run", case.archive, "--inputs", case.inputs, "--method", case.method, *hearth.tiers]
    command += ["--device", hearth.device, "--explain", "--json"]
    try:
        ran = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, timeout=120)
    except subprocess.TimeoutExpired:
        return {}
    if ran.returncode != 0:
        return {}
    (run, *_) = json.loads(ran.stdout)["explanation"]
    return {operator["name"]: operator["calls"] for operator in run["operators"]}
