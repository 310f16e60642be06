"""Shrinks a file of random programs to what still fails, on its tree: whole programs and declarations go, then
statements, then blocks take the place of what holds them, then expressions become simpler ones. What torch.jit refuses
does not fail as the program did, so nothing here needs to know what a valid program is.

    python -m integration_tests.conformance.random_programs.reducer SEED FILE [PROGRAM ...] [--functions] [--output PATH]
        [--tier TIER] [--profiled] [--fail-guards SEED] [--device cuda] [--hearth PATH]

prints the smallest source that was found and the difference, and writes it where it can be run again."""

import argparse
import copy
import re
import tempfile
from pathlib import Path

from integration_tests.conformance.hearth import Hearth, add_tier_options, tiers
from integration_tests.conformance.random_programs.check import HearthProcess, compare
from integration_tests.conformance.random_programs.program import generate
from integration_tests.conformance.random_programs.tree import Class, Expr, Function, walk_blocks, walk_expressions, walk_statements

_SIMPLEST = {
    "int": ["0", "1"],
    "float": ["1.0"],
    "bool": ["True", "False"],
    "str": ["'a'"],
    "complex": ["complex(1.0, 0.0)"],
}


class Reducer:
    def __init__(self, source, names, hearth, folder, log=print):
        self.source, self.names, self._hearth, self._folder, self._log = source, list(names), hearth, folder, log
        self.kind, self.reason = None, ""
        self.tries = 0

    def reduce(self):
        """Shrinks as long as anything helps. False if nothing fails to begin with."""
        found = self._difference(self.source, self.names)
        if found is None:
            return False
        self.reason, self.kind = found, _kind(found)
        self._drop_programs()
        before = None
        while before != self.source.text(self.names):
            before = self.source.text(self.names)
            self._drop_statements()
            self._drop_declarations()
            self._hoist_blocks()
            self._simplify_expressions()
        return True

    def _difference(self, source, names):
        self.tries += 1
        try:
            with tempfile.TemporaryDirectory(dir=self._folder) as folder:
                verdicts = compare(source, names, Path(folder), self._hearth, first=True)
        except Exception:
            return None
        found = [reason for verdict, reason, _ in verdicts.values() if verdict == "miss"]
        return found[0] if found else None

    def _try(self, change):
        """Keeps a change (a function that changes a copy of the tree) if the same kind of failure is left."""
        candidate = copy.deepcopy(self.source)
        if change(candidate) is False:
            return False
        reason = self._difference(candidate, self.names)
        if reason is None or _kind(reason) != self.kind:
            return False
        self.source, self.reason = candidate, reason
        self._log(f"{self.tries} tries: {len(candidate.text(self.names).splitlines())} lines")
        return True

    def _drop_programs(self):
        for name in list(self.names):
            rest = [other for other in self.names if other != name]
            reason = self._difference(self.source, rest) if rest else None
            if reason is not None and _kind(reason) == self.kind:
                self.names = rest
        self.source.programs = [program for program in self.source.programs if program.name in self.names]

    def _functions(self, source):
        for shared in [*source.shared, *([source.module] if source.module else [])]:
            if isinstance(shared, Function):
                yield shared
            else:
                yield from shared.methods
        yield from source.programs

    def _drop_declarations(self):
        at = len(self.source.shared) - 1
        while at >= 0:
            self._try(lambda source, at=at: source.shared.pop(at) and None)
            at -= 1
        for index, shared in enumerate(self.source.shared):
            if isinstance(shared, Class):
                for method in range(len(shared.methods) - 1, -1, -1):
                    self._try(lambda source, i=index, m=method: source.shared[i].methods.pop(m) and None)

    def _drop_statements(self):
        """Halves of a block first, then quarters, down to single statements."""
        for function in range(len(list(self._functions(self.source)))):
            block = 0
            while block < len(self._blocks(self.source, function)):
                size = len(self._blocks(self.source, function)[block])
                while size >= 1:
                    start = 0
                    while start < len(self._blocks(self.source, function)[block]):
                        if not self._try(
                            lambda source, f=function, b=block, s=start, n=size: self._cut(source, f, b, s, n)
                        ):
                            start += size
                        if block >= len(self._blocks(self.source, function)):
                            break
                    if block >= len(self._blocks(self.source, function)):
                        break
                    size //= 2
                block += 1

    def _blocks(self, source, function):
        return list(walk_blocks(list(self._functions(source))[function].body))

    def _cut(self, source, function, block, start, size):
        statements = self._blocks(source, function)[block]
        if any(statement.keep and statement.tag == "return" for statement in statements[start : start + size]):
            return False
        del statements[start : start + size]
        return True

    def _hoist_blocks(self):
        """`if c: A else: B` becomes A, or B; a loop its body; an else goes."""
        for function in range(len(list(self._functions(self.source)))):
            at = 0
            while at < len(self._compounds(self.source, function)):
                count = len(
                    self._compounds(self.source, function)[at][0][self._compounds(self.source, function)[at][1]].blocks
                )
                done = any(
                    self._try(lambda source, f=function, a=at, b=b: self._hoist(source, f, a, b)) for b in range(count)
                )
                if not done and count > 1:
                    self._try(lambda source, f=function, a=at: self._drop_else(source, f, a))
                if not done:
                    at += 1

    def _compounds(self, source, function):
        """(block, index) of each statement that has blocks."""
        return [
            (block, index)
            for block in self._blocks(source, function)
            for index, statement in enumerate(block)
            if statement.blocks
        ]

    def _hoist(self, source, function, at, which):
        block, index = self._compounds(source, function)[at]
        block[index : index + 1] = block[index].blocks[which]

    def _drop_else(self, source, function, at):
        block, index = self._compounds(source, function)[at]
        block[index].headers, block[index].blocks = block[index].headers[:1], block[index].blocks[:1]

    def _simplify_expressions(self):
        for function in range(len(list(self._functions(self.source)))):
            at = 0
            while at < len(self._expressions(self.source, function)):
                expr = self._expressions(self.source, function)[at]
                options = [copy.deepcopy(kid) for kid in expr.kids if kid.type == expr.type]
                if expr.kids or expr.text not in _SIMPLEST.get(expr.type.name, []):
                    options += [
                        Expr(expr.type, text) for text in _SIMPLEST.get(expr.type.name, []) if text != expr.text
                    ]
                deeper = [
                    e for e in walk_expressions(expr) if e is not expr and e.type == expr.type and e not in expr.kids
                ]
                options += [copy.deepcopy(e) for e in deeper[:3]]
                for option in options:
                    if self._try(lambda source, f=function, a=at, o=option: self._replace(source, f, a, o)):
                        break
                at += 1

    def _expressions(self, source, function):
        body = list(self._functions(source))[function].body
        return [e for statement in walk_statements(body) for kid in statement.kids for e in walk_expressions(kid)]

    def _replace(self, source, function, at, option):
        expr = self._expressions(source, function)[at]
        expr.text, expr.kids, expr.tag = option.text, copy.deepcopy(option.kids), option.tag


def _kind(reason):
    """What makes two failures the same one: their words without numbers, names and values."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|[\d.]+|call|\(.*\)|:.*expected .*", "", reason)[:60]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("seed", type=int)
    parser.add_argument("file", type=int)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--functions", action="store_true", help="a file of functions, run as source")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--hearth", metavar="PATH")
    add_tier_options(parser)
    options = parser.parse_args()
    source = generate(options.seed, options.file, options.functions)
    hearth = HearthProcess(Hearth(options.hearth, options.device, *tiers(options)))
    names = options.programs or [program.name for program in source.programs]
    with tempfile.TemporaryDirectory(prefix="hearth-reduce-") as folder:
        reducer = Reducer(source, names, hearth, Path(folder))
        if not reducer.reduce():
            print("nothing differs")
            return
    text = reducer.source.text(reducer.names)
    for program in reducer.source.programs:
        text += "".join(
            f"\n# {program.name}{arguments!r}".replace("\n", "\n# ") for arguments in reducer.source.calls(program)
        )
    text += f"\n# {reducer.reason}\n"
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
