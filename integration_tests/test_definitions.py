"""Which operators of the zoo's models the compiler has no definition of (jit/definitions). Such an operator runs as any
other; passes know nothing of its results. The list stands in undefined_operators.txt, so that whoever adds a model or a
definition sees what changes."""

import re
from pathlib import Path

from integration_tests import ROOT
from integration_tests.command_line import hearth
from integration_tests.zoo import archives as zoo

LIST = Path(__file__).with_name("undefined_operators.txt")
CALL = re.compile(r"= ((?:aten|prim|torchvision|quantized)::\w+)[\[(]")
ROW = re.compile(r'\{\.name = "([\w:]+)"([^}]*)\}')
# Nodes that the interpreter itself defines (jit/ir/symbols.h).
NODE = re.compile(r'HEARTH_PRIM\(\w+,\s*"(\w+)"')


def defined():
    """The names of all rows, and of the forms in place."""
    names = set()
    for file in (ROOT / "jit/definitions").glob("*.cpp"):
        for name, fields in ROW.findall(file.read_text()):
            names.add(name)
            if ".in_place = true" in fields:
                names.add(name + "_")
    return names


def called(archive):
    done = hearth("inspect", archive, "--graph", "--operator-library", zoo.operator_library())
    assert done.returncode == 0, done.stderr
    return set(CALL.findall(done.stdout))


def test_operators_of_models_without_a_definition_are_listed():
    nodes = {f"prim::{name}" for name in NODE.findall((ROOT / "jit/ir/symbols.h").read_text())}
    operators = set().union(*(called(model.archive) for model in zoo.ensure().values()))
    assert len(operators) > 100
    listed = set(LIST.read_text().split())
    assert operators - nodes - defined() == listed
