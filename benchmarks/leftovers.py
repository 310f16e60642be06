#!/usr/bin/env python3
"""What plans leave to LibTorch's operators, model by model: where there may be speed to be found.

    .venv/bin/python -m benchmarks.leftovers                     one of each family that timm has
    .venv/bin/python -m benchmarks.leftovers timm:mixnet_s bert_small

One thread, batch 1, plans for exact sizes. Of the time of all operators in the last of a few calls, what those take that are
neither kernels of hearth's own nor calls that it plans; each with its calls and its share, from --least percent on.
"""

import argparse
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import torch

from benchmarks import ROOT
from benchmarks.model_list import make
from integration_tests.zoo import timm_families

CALLS = 5


def makers(names):
    """What makes each model: (archive, inputs)."""
    if not names:
        return {recipe.name: recipe.make for recipe in timm_families.recipes()}
    return {name: functools.partial(made_by_name, name) for name in names}


def made_by_name(name):
    made = make(name)
    return made.archive, made.inputs


def operators_of(hearth, maker):
    """(name, calls, seconds) of each operator of a model's plan."""
    module, inputs = maker()
    with tempfile.TemporaryDirectory() as folder:
        archive, arguments = pathlib.Path(folder) / "model.pt", pathlib.Path(folder) / "inputs.pt"
        module.save(str(archive))
        torch.save(tuple(inputs), arguments)
        command = [*hearth, "run", archive, "--inputs", arguments, "--tier", "2", "--repeat", str(CALLS)]
        ran = subprocess.run([*command, "--explain", "--json"], capture_output=True, text=True,
                             env={**os.environ, "OMP_NUM_THREADS": "1"})  # fmt: skip
    if ran.returncode != 0:
        raise RuntimeError(ran.stderr.strip()[-200:])
    units = json.loads(ran.stdout)["explanation"]
    return [(entry["name"], entry["calls"], entry["seconds"]) for unit in units for entry in unit["operators"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="as benchmarks.models has them")
    parser.add_argument("--hearth", default=str(ROOT / "build/release/bin/hearth"))
    parser.add_argument("--least", type=float, default=1.5, metavar="PERCENT")
    options = parser.parse_args()
    torch.set_num_threads(1)

    print("| model | ms | left to LibTorch, % | operators (calls, %) |\n| --- | --- | --- | --- |")
    failed = 0
    for name, maker in makers(options.models).items():
        try:
            operators = operators_of(options.hearth.split(), maker)
        except Exception as error:  # of whatever kind: the others go on
            print(f"| {name} | | | {type(error).__name__}: {str(error)[:200]} |", flush=True)
            failed += 1
            continue
        total = sum(seconds for _, _, seconds in operators)
        left = [(operator, calls, 100 * seconds / total) for operator, calls, seconds in operators
                if not operator.startswith(("hearth::", "prim::"))]  # fmt: skip
        listed = ", ".join(f"{operator.removeprefix('aten::')} ({calls}, {share:.1f})"
                           for operator, calls, share in left if share >= options.least)  # fmt: skip
        print(f"| {name} | {total * 1e3:.1f} | {sum(share for *_, share in left):.1f} | {listed} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
