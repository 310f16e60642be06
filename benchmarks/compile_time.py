#!/usr/bin/env python3
"""How long plans take to be made, by pass:

    python -m benchmarks.compile_time FOLDER [--hearth FILE] [--before FILE] [--rounds N]

FOLDER is one of make_archives.py's, FOLDER/models/NAME. Each model is called once by `hearth run --tier 1 --explain`, in
a process of its own, on one thread. A cell is the processor time that a pass took in all its runs for that model's plan,
in milliseconds, the median over the rounds; "others" are the passes below a hundredth of the whole. "plan" is the whole
by the clock, lowering included. With --before, an older binary takes turns with it; "ratio" is the median over the
rounds of what the plan took by what it took before.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess

from benchmarks.run import machine, table


def compile_plan(hearth, folder):
    """Seconds by pass (empty of a binary that does not tell), and of the whole plan."""
    command = [hearth, "run", folder / "1" / "model.pt", "--inputs", folder / "inputs.pt", "--tier", "1", "--explain",
               "--json"]
    environment = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    ran = subprocess.run([str(part) for part in command], env=environment, check=True, capture_output=True, text=True)
    (run,) = json.loads(ran.stdout)["explanation"]
    return {each["name"]: each["seconds"] for each in run.get("passes", [])}, run["compile_seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--hearth", default="build/release/bin/hearth")
    parser.add_argument("--before")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()

    models = sorted((arguments.folder / "models").iterdir())
    passes, plans, ratios = {}, {}, {}
    for model in models:
        rounds = []
        for _ in range(arguments.rounds):
            by_pass, whole = compile_plan(arguments.hearth, model)
            rounds.append((by_pass, whole, compile_plan(arguments.before, model)[1] if arguments.before else None))
        passes[model] = {name: statistics.median(each[0][name] for each in rounds) for name in rounds[0][0]}
        plans[model] = statistics.median(each[1] for each in rounds)
        if arguments.before:
            ratios[model] = statistics.median(each[1] / each[2] for each in rounds)

    total = {}
    for by_pass in passes.values():
        for name, seconds in by_pass.items():
            total[name] = total.get(name, 0) + seconds
    shown = [name for name in sorted(total, key=total.get, reverse=True) if total[name] * 100 > sum(total.values())]
    rows = [[name, *(f"{passes[model].get(name, 0) * 1e3:.2f}" for model in models)] for name in shown]
    rows.append(["others", *(f"{sum(s for n, s in passes[model].items() if n not in shown) * 1e3:.2f}"
                             for model in models)])
    rows.append(["plan", *(f"{plans[model] * 1e3:.1f}" for model in models)])
    if arguments.before:
        rows.append(["ratio", *(f"{ratios[model]:.2f}" for model in models)])
    print(f"Milliseconds, {machine()}, one thread\n")
    print(table(["pass", *(model.name for model in models)], rows))


if __name__ == "__main__":
    main()
