"""A file of programs: what they share (exceptions, an enum, named tuples, classes, functions, a submodule), then a
module with a method a program."""

import random
from dataclasses import dataclass, field
from typing import List

from integration_tests.conformance.random_programs.inputs import arguments
from integration_tests.conformance.random_programs.scope import Callee, ClassInfo, World
from integration_tests.conformance.random_programs.statements import Body
from integration_tests.conformance.random_programs.tensors import random_kind
from integration_tests.conformance.random_programs.tree import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    STR,
    Class,
    Function,
    Stmt,
    Type,
    dict_of,
    list_of,
    optional,
    tags_of,
    tensor,
    tuple_of,
)

PROGRAMS_A_FILE = 20
CALLS_A_PROGRAM = 2

_HEAD = """import math
from enum import Enum
from typing import Dict, List, NamedTuple, Optional, Tuple, Union

import torch
from torch import nn
"""


@dataclass
class Source:
    """A file's tree: the reducer takes from `shared` and from the programs. The programs are methods of `module`, or
    functions where there is none."""

    seed: int
    index: int
    shared: List[object] = field(default_factory=list)
    module: Class = None
    programs: List[Function] = field(default_factory=list)

    def text(self, programs=None):
        """The file with the programs of these names, or all."""
        lines = [_HEAD]
        for shared in self.shared:
            lines += ["", *shared.lines(), ""]
        if self.module:
            lines += ["", *self.module.lines()]
        for program in self.programs:
            if programs is None or program.name in programs:
                lines += ["", *program.lines(1 if self.module else 0)]
        return "\n".join(lines) + "\n"

    def calls(self, program: Function):
        """The arguments of every call of a program."""
        for call in range(CALLS_A_PROGRAM):
            yield arguments(random.Random(f"{self.seed}/{self.index}/{program.name}/{call}"), program.params)

    def tags(self, program: Function):
        return tags_of(program)


def generate(seed, index, functions=False) -> Source:
    """File `index` of `seed`, the same always. `functions`: a file of functions, without a module."""
    rng = random.Random(f"{seed}/{index}/functions" if functions else f"{seed}/{index}")
    source = Source(seed, index)
    world = World(written=functions)
    _add_errors(world, source)
    _add_enum(rng, world, source)
    _add_named_tuple(rng, world, source)
    for number in range(2):
        _add_function(rng, world, source, f"helper{number}")
    for number in range(rng.randrange(1, 3)):
        _add_class(rng, world, source, f"Object{number}")
    _add_function(rng, world, source, "helper2")
    module, callees = (None, ()) if functions else _add_modules(rng, world, source)
    for number in range(PROGRAMS_A_FILE):
        source.programs.append(_program(rng, world, module, callees, f"p{number}"))
    return source


def _add_errors(world, source):
    source.shared.append(Class("Trouble", ["class Trouble(Exception):", "    pass"]))
    world.errors.append("Trouble")


def _add_enum(rng, world, source):
    members = ["RED", "GREEN", "BLUE"]
    lines = [f"    {name} = {value}" for name, value in zip(members, rng.sample(range(-2, 9), 3))]
    source.shared.append(Class("Color", ["class Color(Enum):", *lines]))
    world.enums["Color"] = members


def _types(rng, world):
    """Draws types as bodies do."""
    return Body(rng, world, 0, Function("", [], NONE, []))


def _add_named_tuple(rng, world, source):
    types = _types(rng, world)
    fields = [("first", types.random_type(0)), ("second", types.random_type(1)), ("third", random_kind(types))]
    fields = fields[: rng.randrange(2, 4)]
    source.shared.append(Class("Pair", ["class Pair(NamedTuple):", *(f"    {name}: {type}" for name, type in fields)]))
    world.classes["Pair"] = ClassInfo("Pair", fields, is_tuple=True)


def _write(rng, world, function, budget, module=None, callees=(), may_raise=None):
    body = Body(rng, world, budget, function, module, callees)
    body.may_raise = rng.random() < 0.3 if may_raise is None else may_raise
    function.body = body.statements(budget)
    if not function.body or function.body[-1].tag not in ("return", "raise"):
        last = body.return_statement()
        last.keep = True
        function.body.append(last)
    return function


def _signature(rng, world, most):
    types = _types(rng, world)
    params = [(f"a{i}", types.random_type(1)) for i in range(rng.randrange(1, most + 1))]
    return params, types.random_type(1)


def _add_function(rng, world, source, name):
    params, returns = _signature(rng, world, 3)
    source.shared.append(_write(rng, world, Function(name, params, returns, []), rng.randrange(2, 7)))
    world.callees.append(Callee(name, [type for _, type in params], returns, "call.function"))


def _add_class(rng, world, source, name):
    types = _types(rng, world)
    attributes = [("number", INT), ("items", list_of(types.random_type(0))), ("data", random_kind(types))]
    attributes += [("extra", types.random_type(2))]
    info = ClassInfo(name, attributes)
    head = [f"class {name}:"]
    start = Function(
        "__init__", attributes, NONE, [Stmt(f"self.{n} = {n}", keep=True) for n, _ in attributes], is_method=True
    )
    # An annotation where an attribute's type is wider than what is assigned.
    start.body = [Stmt(f"self.{n}: {t} = {n}", keep=True) for n, t in attributes]
    made = Class(name, head, [start])
    for number in range(2):
        params, returns = _signature(rng, world, 2)
        method = Function(f"method{number}", params, returns, [], is_method=True)
        made.methods.append(_write(rng, world, method, rng.randrange(2, 6), module=info))
        info.methods.append(Callee(method.name, [type for _, type in params], returns, "call.method"))
    world.classes[name] = info
    source.shared.append(made)


def _add_modules(rng, world, source):
    inner_info = ClassInfo("Inner", [("count", INT), ("state", tensor("f32", 4)), ("log", list_of(STR))])
    head = ["class Inner(nn.Module):", "    count: int", "    log: List[str]", ""]
    head += [
        "    def __init__(self):",
        "        super().__init__()",
        "        self.count = 1",
        "        self.log = ['start']",
    ]
    head += ["        self.register_buffer('state', torch.arange(4.0))"]
    inner = Class("Inner", head)
    callees = []
    for name, tag in (("forward", "call.submodule"), ("step", "call.submodule")):
        params, returns = _signature(rng, world, 2)
        method = Function(name, params, returns, [], is_method=True)
        method.decorator = "" if name == "forward" else "@torch.jit.export"
        inner.methods.append(_write(rng, world, method, rng.randrange(2, 6), module=inner_info))
        text = "self.inner" if name == "forward" else f"self.inner.{name}"
        callees.append(Callee(text, [type for _, type in params], returns, tag))
    source.shared.append(inner)

    kind = tensor("f32", 4)
    head = ["class Layer(nn.Module):", "    def __init__(self):", "        super().__init__()"]
    head += ["        self.register_buffer('state', torch.ones(4))"]
    layer = Class("Layer", head)
    forward = Function("forward", [("x", kind)], kind, [], is_method=True)
    layer.methods.append(_write(rng, world, forward, rng.randrange(2, 5), ClassInfo("Layer", [("state", kind)])))
    source.shared.append(layer)

    attributes = [
        ("count", INT, "3"), ("scale", FLOAT, "0.5"), ("names", list_of(STR), "['a', 'b']"),
        ("table", dict_of(STR, INT), "{'a': 1, 'b': 2}"), ("maybe", optional(INT), "None"),
        ("numbers", list_of(INT), "[4, 5, 6]"),
    ]  # fmt: skip
    head = ["class Programs(nn.Module):", *(f"    {name}: {type}" for name, type, _ in attributes), ""]
    head += ["    def __init__(self):", "        super().__init__()"]
    head += [f"        self.{name} = {value}" for name, _, value in attributes]
    head += ["        self.register_buffer('buffer', torch.arange(12.0).reshape(3, 4))"]
    head += ["        self.weight = nn.Parameter(torch.linspace(-1, 1, 4), requires_grad=False)"]
    head += ["        self.inner = Inner()", "        self.layers = nn.ModuleList([Layer(), Layer()])"]
    source.module = Class("Programs", head)
    known = [(name, type) for name, type, _ in attributes]
    known += [("buffer", tensor("f32", 3, 4)), ("weight", tensor("f32", 4)), ("inner.count", INT)]
    known += [("inner.state", tensor("f32", 4)), ("inner.log", list_of(STR))]
    return ClassInfo("Programs", known), callees


def _comes_out(type, world):
    """Whether torch.jit can give the value to Python, and hearth write it: no objects, no enums."""
    if type.name in world.enums:
        return False
    info = world.classes.get(type.name)
    if info is not None:
        return info.is_tuple and all(_comes_out(kind, world) for _, kind in info.attributes)
    return all(_comes_out(arg, world) for arg in type.args if isinstance(arg, Type))


def _param_type(rng, types):
    options = [
        (8, INT), (6, FLOAT), (4, BOOL), (5, STR), (1, COMPLEX), (5, list_of(INT)), (2, list_of(STR)),
        (2, list_of(FLOAT)), (2, list_of(list_of(INT))), (3, dict_of(STR, INT)), (2, dict_of(INT, FLOAT)),
        (2, dict_of(STR, list_of(INT))), (2, tuple_of(INT, STR)), (2, optional(INT)),
        (1, optional(tensor("f32", 3, 4))), (2, list_of(tensor("f32", 4))), (16, None),
    ]  # fmt: skip
    type = types.weighted(options)
    return random_kind(types) if type is None else type


def _program(rng, world, module, callees, name):
    types = _types(rng, world)
    params = [("x", tensor("f32", *types.pick([(3, 4), (3, 4), (4,)])))]
    params += [(f"a{i}", _param_type(rng, types)) for i in range(rng.randrange(1, 5))]
    results = []
    while len(results) < rng.randrange(1, 4):
        type = types.random_type(2)
        if _comes_out(type, world):
            results.append(type)
    returns = results[0] if len(results) == 1 else tuple_of(*results)
    function = Function(name, params, returns, [])
    if module is not None:
        function.is_method, function.decorator = True, "@torch.jit.export"
    may_raise = rng.random() < 0.35
    budget = rng.randrange(5, 18)
    return _write(rng, world, function, budget, module, callees, may_raise)
