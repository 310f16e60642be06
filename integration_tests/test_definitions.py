"""Which operators of the zoo's models the compiler has no definition of (jit/definitions), or none that tells facts of the
tensor that it gives. Such an operator runs as any other; but passes know nothing of its results, nor of what is computed
of them. The list stands in undefined_operators.txt, so that whoever adds a model or a definition sees what changes."""

import re
from pathlib import Path

from integration_tests import ROOT
from integration_tests.command_line import hearth
from integration_tests.zoo import archives as zoo

LIST = Path(__file__).with_name("undefined_operators.txt")
CALL = re.compile(r": (\S+) = ((?:aten|prim|torchvision|quantized)::\w+)[.\[(]")
ROW = re.compile(r'\{\.name = "([\w:]+)"([^}]*)\}')
# Nodes that the interpreter itself defines (jit/ir/symbols.h).
NODE = re.compile(r'HEARTH_PRIM\(\w+,\s*"(\w+)"')


def defined():
    """The names of all rows, and of the forms in place: whether they tell facts of tensors."""
    names = {}
    for file in (ROOT / "jit/definitions").glob("*.cpp"):
        for name, fields in ROW.findall(file.read_text()):
            in_place = ".in_place = true" in fields
            names[name] = ".facts = " in fields
            if in_place:
                names[name + "_"] = True
    return names


def calls(archive):
    """(type of the first result, operator) of all calls in its graphs."""
    done = hearth("inspect", archive, "--graph", "--operator-library", zoo.operator_library())
    assert done.returncode == 0, done.stderr
    return set(CALL.findall(done.stdout))


def test_operators_of_models_without_a_definition_are_listed():
    nodes = {f"prim::{name}" for name in NODE.findall((ROOT / "jit/ir/symbols.h").read_text())}
    names = defined()
    found = set().union(*(calls(model.archive) for model in zoo.ensure().values()))
    assert len(found) > 100
    missing = {op for kind, op in found if op not in nodes and not (names.get(op) or (kind != "Tensor" and op in names))}
    assert missing == set(LIST.read_text().split())
