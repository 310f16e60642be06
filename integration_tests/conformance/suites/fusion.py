"""Random groups of operators that plans make kernels of: 6,000 functions of seed 1, each a DAG of 3 to 20 pointwise operators,
softmax and layer norm on tensors of every dtype, rank up to 5, layout and broadcasting, called twice, mostly with other sizes.
Values are compared within the rounding errors of the program's own operators, and exactly where there are none
(random_fusion/noise.py says how). A plan that is left without a guard that was made to fail is a miss. `hearth run --explain`
must show kernels in a good part of a sample. On a GPU there are 10,000 of them.

`python -m integration_tests.conformance.random_fusion.reducer SEED PROGRAM` shrinks what differs."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from integration_tests.conformance import judging, making, workers
from integration_tests.conformance.hearth import Hearth
from integration_tests.conformance.random_fusion import check

NAME = "fusion"
TITLE = "Fusion: random groups of operators that become kernels"

SEED = 1
PROGRAMS = {"cpu": 6000, "cuda": 10000}
QUICK_PROGRAMS = 200
SAMPLE = 20  # programs whose kernels are counted
SHARE = 0.3  # of these, that must have one: not all have two operators that can be in one kernel

MADE_BY = sorted((Path(__file__).parents[1] / "random_fusion").glob("*.py"))


def cases(folder, quick, device="cpu", sample=None):
    key = check.key_of_sources()
    firsts = range(0, sample or (QUICK_PROGRAMS if quick else PROGRAMS[device]), check.PROGRAMS)
    items = [{"name": f"{SEED}.{first} {key}", "seed": SEED, "first": first} for first in firsts]
    return making.made("integration_tests.conformance.random_fusion.check:make", items, folder)


def judged(cases, hearth):
    without_kernels = _without_kernels(cases, hearth)
    # In a run for each guard, what came of the plans is counted run by run.
    kept = Hearth(**hearth.how, keep_loaded=hearth.fail_guards != "each")
    oracle = "integration_tests.conformance.random_fusion.check:judge"
    for case, verdict in judging.judged(cases, kept, oracle):
        if hearth.fail_guards is None and verdict["verdict"] == "agree" and verdict["torch"] == "value":
            if bailouts := verdict.get("plans", {}).get("bailouts"):
                verdict = {**verdict, "verdict": "miss", "reason": f"{bailouts} of the plan's runs were left"}
        if case in without_kernels:
            verdict = {**verdict, "verdict": "miss", "reason": "no kernel, as in too many of a sample: this tests nothing"}
        yield case, verdict


def _without_kernels(cases, hearth):
    """Those of a sample whose plans have no kernels, if these are too many: everything would agree then."""
    if not hearth.waits_for_plans or hearth.fail_guards is not None or len(cases) < SAMPLE:
        return ()
    sample = [cases[at] for at in making.spread(len(cases), SAMPLE)]
    with ThreadPoolExecutor(workers.JOBS) as threads:
        ran = threads.map(lambda case: check.operators_run(hearth, case), sample)
        without = [case for case, operators in zip(sample, ran) if "hearth::fused" not in operators]
    fused = len(sample) - len(without)
    print(f"{NAME}: kernels in {fused} of {len(sample)} programs", flush=True)
    return without if fused < SHARE * len(sample) else ()
