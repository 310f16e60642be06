"""The experiment: random programs, every bailout point made to fail, everything that can be seen compared with tier 0
alone.

    python -m benchmarks.experiments.bailout.check --programs 10000         the proof and its figures
    python -m benchmarks.experiments.bailout.check --break                  each rule broken on purpose: does the comparison see it?
    python -m benchmarks.experiments.bailout.check --seed 1234 --show       one program, its optimised code and what differs

A program is optimised for its profiled arguments (variant 0) and called with these and with five other sets (other
numbers, arguments that share memory, other sizes, other strides), so that guards fail by themselves too. In every such
call each node that may bail out does so once: at every single execution up to --points, and beyond that at ones chosen
by seed."""

import argparse
import json
import os
import platform
import random
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.experiments.bailout.costs import baseline_costs, optimized_costs
from benchmarks.experiments.bailout.figures import Statistics
from benchmarks.experiments.bailout.generator import Program
from benchmarks.experiments.bailout.interpreter import Profile, call
from benchmarks.experiments.bailout.ir import ModelError, Run, show
from benchmarks.experiments.bailout.machine import HandedOver, Machine, memory_of
from benchmarks.experiments.bailout.optimizer import Optimized

VARIANTS = range(6)
POLICIES = {
    "across": {},
    "whole": {"policy": "whole"},
    "between": {"policy": "between"},
    "never": {"policy": "never"},
    "across, all anchors": {"anchors": "all"},
    "across, recipes no uses": {"break_on_purpose": frozenset(["recipes are no uses"])},
}
BREAKS = [
    "recipes are no uses",
    "writes not re-applied",
    "objects rebuilt apart",
    "views rebuilt as copies",
    "tensors of one content are one",
    "guards resume before the effect",
    "commits are no anchors",
    "wild reads see no debts",
]


def outcome(execute, arguments, seed):
    """Everything that can be seen of a run: answer or error with its trace, arguments afterwards, aliases, effects."""
    run, error, results = Run(seed), None, None
    try:
        results = execute(arguments, run)
    except ModelError as raised:
        error = raised
    except HandedOver as raised:
        error = raised.error
    if error is not None:
        error = str(error), [(getattr(f, "name", f), pc) for f, pc in error.trace]
    return {"error": error, "values": canonical([arguments, results]), "effects": run.log, "draws": run.draws}


def canonical(value):
    """The value with every identity numbered in the order in which it is met: equal for equal graphs of objects."""
    memories, lists = {}, {}

    def visit(value):
        if isinstance(value, np.ndarray):
            memory = memory_of(value)
            number = memories.setdefault(id(memory), len(memories))
            offset = value.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
            return "tensor", number, offset, value.shape, value.strides, value.tolist()
        if isinstance(value, list):
            if id(value) in lists:
                return "list", lists[id(value)]
            lists[id(value)] = len(lists)
            return "list", lists[id(value)], [visit(v) for v in value]
        if isinstance(value, tuple):
            return tuple(visit(v) for v in value)
        return type(value).__name__, value

    return visit(value)


class Difference(Exception):
    pass


def profile_of(program):
    profile = Profile()
    try:
        call(program.entry, program.arguments(0), Run(program.seed), profile)
    except ModelError:
        pass  # what was seen until then
    return profile


def check(program, points=40, counts=None, **options):
    """Optimises the program and compares; gives what was optimised, raises Difference."""
    counts = Counter() if counts is None else counts
    optimized = Optimized(program, profile_of(program), **options)
    broken = options.get("break_on_purpose", frozenset())
    rng = random.Random(program.seed)
    for variant in VARIANTS:
        expected = outcome(lambda a, run: call(program.entry, a, run), program.arguments(variant), program.seed)
        machine = Machine(optimized.graph, optimized.plan, broken)
        compare(program, variant, None, expected, machine, counts)
        counts["runs"] += 1
        counts["runs that raise"] += expected["error"] is not None
        reached = len(machine.points)
        chosen = range(reached) if reached <= points else sorted(rng.sample(range(reached), points))
        for point in chosen:
            compare(program, variant, point, expected, machine, counts)
            counts["forced bailouts"] += 1
    return optimized


def compare(program, variant, point, expected, machine, counts):
    where = f"seed {program.seed}, arguments {variant}, bailout at {point}"
    try:
        got = outcome(lambda a, run: machine.run(a, run, point), program.arguments(variant), program.seed)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise Difference(f"{where}: {error!r}") from error
    if got != expected:
        parts = [k for k in expected if got[k] != expected[k]]
        lines = [f"{where}, other {', '.join(parts)}"]
        lines += [f"  expected {k} {expected[k]}\n  got      {k} {got[k]}" for k in parts]
        raise Difference("\n".join(lines))
    if point is None and machine.bailed is None and got["error"] is not None:
        counts["exceptions of real calls handed over"] += 1
    if machine.bailed is not None:
        bailed = machine.bailed
        counts["bailouts"] += 1
        counts["guards that failed by themselves" if bailed.attrs.get("kind") and point is None else ""] += 1
        counts["operators that raised"] += point is None and bailed.attrs.get("kind") is None
        counts["bailouts with writes re-applied"] += bool(bailed.bail.writes)
        counts["writes re-applied"] += len(bailed.bail.writes)
        counts["bailouts into inlined calls"] += len(bailed.bail.frames) > 1


def shrink(program, scale, **options):
    """Leaves out statements, largest first, as long as the program still differs."""

    def differs(without):
        smaller = Program(program.seed, scale, without)
        try:
            check(smaller, **options)
        except Difference:
            return smaller
        except Exception:  # a program that cannot be optimised any more shows something else
            return None
        return None

    again = True
    while again:
        again = False
        for name in sorted(program.statements, key=lambda n: n.count(".")):
            if name in program.statements and not name.startswith(program.without):
                smaller = differs((*program.without, name))
                if smaller is not None:
                    program, again = smaller, True
    return program


def explain(program, **options):
    """The program, its optimised code, and what differs."""
    texts = [f"called with {program.kinds}", *(show(f) for f in program.functions)]
    try:
        optimized = Optimized(program, profile_of(program), **options)
        texts.append("optimised:\n" + show(optimized.graph.body, 2))
        check(program, **options)
    except Difference as difference:
        texts.append(str(difference))
    return "\n".join(texts)


def machine_name():
    model = platform.processor()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), model)
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}"


def prove(first, count, scale, points, seconds):
    """Checks the programs and gathers figures of the policies; ends at the first difference."""
    counts, statistics, started = Counter(), Statistics(), time.process_time()
    for seed in range(first, first + count):
        if seconds and time.process_time() - started > seconds:
            break
        if seed > first and (seed - first) % 500 == 0:
            print(f"{seed - first} programs, {counts['bailouts']} bailouts", file=sys.stderr, flush=True)
        program = Program(seed, scale)
        try:
            optimized = check(program, points, counts)
        except Difference as difference:
            print(difference)
            print(explain(shrink(program, scale, points=points)))
            raise SystemExit(1) from None
        statistics.add(program, optimized)
        if seed % 20:  # policies are compared on every twentieth program
            continue
        statistics.add_policies({name: Optimized(program, profile_of(program), **o) for name, o in POLICIES.items()})
        statistics.add_costs(costs_of(Program(seed, scale, size=32)))
    return counts, statistics, time.process_time() - started


def costs_of(program):
    """What the profiled call costs under every policy; nothing if it raises."""
    profile = profile_of(program)
    try:
        costs = {"baseline": baseline_costs(program, program.arguments(0), program.seed)}
    except ModelError:
        return {}
    for name, options in POLICIES.items():
        costs[name] = optimized_costs(Optimized(program, profile, **options), program.arguments(0), program.seed)
    return costs


def growth(count):
    """Recipes against the size of programs."""
    rows = []
    for scale in (0.5, 1, 2, 4, 8):
        statistics = Statistics()
        for seed in range(max(20, int(count / scale))):
            program = Program(10**6 + seed, scale)
            statistics.add(program, Optimized(program, profile_of(program)))
        rows.append(statistics.growth_row(scale))
    return rows


def break_rules(count):
    """Each rule broken on purpose over the same programs: how many programs show it, and which one first."""
    seen = {}
    for rule in BREAKS:
        caught = []
        for seed in range(count):
            try:
                check(Program(seed), points=15, break_on_purpose=frozenset([rule]))
            except Difference:
                caught.append(seed)
        seen[rule] = caught
        first = caught[0] if caught else None
        print(f"{rule}: seen in {len(caught)} of {count} programs, first with seed {first}", flush=True)
    return seen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first program's")
    parser.add_argument("--scale", type=float, default=1.0, help="how long programs are")
    parser.add_argument("--points", type=int, default=40, help="bailouts forced in one call at most")
    parser.add_argument("--seconds", type=int, help="processor time after which no further program is begun")
    parser.add_argument("--policy", choices=["across", "whole", "between", "never"], default="across")
    parser.add_argument("--break", dest="breaks", action="store_true")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--out", type=Path, help="figures as JSON")
    options = parser.parse_args()
    if options.show:
        print(explain(Program(options.seed, options.scale), points=options.points, policy=options.policy))
        return
    if options.breaks:
        raise SystemExit(not all(break_rules(options.programs).values()))
    counts, statistics, seconds = prove(options.seed, options.programs, options.scale, options.points, options.seconds)
    figures = {"machine": machine_name(), "processor seconds": round(seconds), "first seed": options.seed}
    figures |= {"checked": {k: v for k, v in counts.items() if k}, **statistics.figures(), "growth": growth(100)}
    print(json.dumps(figures, indent=1))
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
