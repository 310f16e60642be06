"""python -m integration_tests.conformance.random_fusion.reducer SEED PROGRAM [--hearth PATH] [--tier N]: shrinks a random
fusion group in which hearth is not what torch.jit is, and prints what is left: a function, its arguments and the difference.

A statement whose value becomes an argument is gone with all that only it needs; so is a result, or an argument that nothing
names. What is left of the values differs in no fewer statements."""

import argparse
import copy
import sys
import tempfile
from pathlib import Path

import torch

from integration_tests.conformance.compare import seen_on
from integration_tests.conformance.hearth import Hearth, add_tier_options, tiers, with_plans
from integration_tests.conformance.random_fusion import check
from integration_tests.conformance.random_fusion.program import Program, generate, names_in


def main():
    parser = argparse.ArgumentParser(description="Shrinks a random fusion group that differs.")
    parser.add_argument("seed", type=int)
    parser.add_argument("program", type=int)
    parser.add_argument("--hearth", metavar="PATH")
    parser.add_argument("--device", default="cpu")
    add_tier_options(parser)
    options = parser.parse_args()
    options.tier = options.tier or "1"
    hearth = Hearth(options.hearth, options.device, *tiers(options))
    program = generate(options.seed, options.program)
    with tempfile.TemporaryDirectory(prefix="hearth-fusion-") as folder:
        finder = Finder(hearth, Path(folder))
        for values in program.calls:
            one = Program(program.name, list(program.arguments), list(program.statements), list(program.results), [values])
            if finder.difference(one):
                reduced = reduce(one, finder)
                print(reduced.text())
                for (name, _), value in zip(reduced.arguments, reduced.calls[0]):
                    print(f"{name} = {described(value)}")
                print(finder.difference(reduced))
                return
    sys.exit("hearth and torch.jit agree")


def described(value):
    if not isinstance(value, torch.Tensor):
        return repr(value)
    text = f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}, strides {list(value.stride())}"
    return f"{text}: {value.flatten().tolist()}" if value.numel() <= 24 else text


class Finder:
    def __init__(self, hearth, folder):
        self._hearth, self._folder, self._count = hearth, folder, 0

    def difference(self, program):
        """What differs in its one call, "" if nothing does."""
        program = copy.copy(program)
        program.name = f"p{self._count}"  # a source is known by its path and name
        self._count += 1
        (case,) = check.write(program, self._folder)
        case = seen_on(self._hearth.device, case)
        (answer,) = self._hearth.run([case], self._folder)
        item = {"case": case.to_json(), "line": answer.line, "output": str(answer.output), "device": self._hearth.device}
        verdict = with_plans(check.judge(item), answer.plans)
        return verdict["reason"] if verdict["verdict"] == "miss" else ""


def reduce(program, finder):
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(program):
            if finder.difference(smaller):
                program, changed = smaller, True
                break
    return program


def _smaller(program):
    for name in program.results:
        if len(program.results) > 1:
            yield _without_dead(program, [name])
    for at in range(len(program.results)):
        if len(program.results) > 1:
            yield _without_dead(program, program.results[:at] + program.results[at + 1 :])
    values = dict(zip((name for name, _ in program.arguments), program.calls[0]))
    try:
        with torch.no_grad():
            for name, expression in program.statements:
                values[name] = eval(expression, {"torch": torch}, values)
    except RuntimeError:  # a program that raises has no values to be arguments
        return
    for at in reversed(range(len(program.statements))):
        name = program.statements[at][0]
        if isinstance(values[name], torch.Tensor) and name not in program.results:
            argument = (name, "Tensor")
            rest = program.statements[:at] + program.statements[at + 1 :]
            yield _without_dead(
                Program(program.name, [*program.arguments, argument], rest, program.results, [[*program.calls[0], values[name]]]),
                program.results,
            )
    for at, value in enumerate(program.calls[0]):
        if isinstance(value, torch.Tensor) and value.dim() == 1 and value.numel() > 1:
            for half in (value[: len(value) // 2], value[len(value) // 2 :]):
                call = [half if v is value else v for v in program.calls[0]]
                yield Program(program.name, program.arguments, program.statements, program.results, [call])


def _without_dead(program, results):
    needed, statements = set(results), []
    for name, expression in reversed(program.statements):
        if name in needed or needed.intersection(names_in(expression)) and "_(" in expression:
            needed.update(names_in(expression))
            statements.insert(0, (name, expression))
    kept = [at for at, (name, _) in enumerate(program.arguments) if name in needed]
    arguments = [program.arguments[at] for at in kept]
    return Program(program.name, arguments, statements, list(results), [[program.calls[0][at] for at in kept]])


if __name__ == "__main__":
    main()
