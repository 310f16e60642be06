"""What a body may name, and how an expression of a type is found: a place that holds one, a literal, or a construct
that makes one (scalars.py, containers.py and tensors.py register theirs with `makes`)."""

import contextlib
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Optional, Tuple

from integration_tests.conformance.random_programs.tree import BOOL, FLOAT, INT, STR, Expr, Stmt, Type

MAKERS: Dict[str, List[Tuple[int, Callable]]] = {}


def makes(name, weight=10):
    """Registers a method `(body, type, depth)` that gives an expression of a type of that name, or None if it cannot
    here. "any" stands for every type."""

    def register(function):
        MAKERS.setdefault(name, []).append((weight, function))
        return function

    return register


@dataclass
class Var:
    name: str
    type: Type
    writable: bool = True


@dataclass
class Callee:
    """A function that a body may call; `text` is what stands before the parenthesis."""

    text: str
    params: List[Type]
    returns: Type
    tag: str


@dataclass
class ClassInfo:
    name: str
    attributes: List[Tuple[str, Type]]
    methods: List[Callee] = field(default_factory=list)  # text is the method's name
    is_tuple: bool = False


@dataclass
class World:
    """What all programs of a file share."""

    classes: Dict[str, ClassInfo] = field(default_factory=dict)
    enums: Dict[str, List[str]] = field(default_factory=dict)
    callees: List[Callee] = field(default_factory=list)
    errors: List[str] = field(default_factory=list)
    written: bool = False  # a file of functions, run as source


class Scope:
    def __init__(self, rng, world: World, budget: int):
        self.rng = rng
        self.world = world
        self.budget = budget  # statements that may still be made
        self.vars: List[Var] = []
        self.names = 0
        self.loops: List[str] = []  # "loop", or "unrolled", where TorchScript has no break
        self.nesting = 0
        self.in_expression_of_block = 0
        self.module: Optional[ClassInfo] = None  # what `self` is
        self.self_callees: List[Callee] = []

    # Choices.

    def chance(self, probability):
        return self.rng.random() < probability

    def pick(self, options):
        return options[self.rng.randrange(len(options))]

    def weighted(self, options):
        total = sum(weight for weight, _ in options)
        at = self.rng.randrange(total)
        for weight, option in options:
            at -= weight
            if at < 0:
                return option
        raise AssertionError("unreachable")

    # Names.

    def fresh(self, prefix="v"):
        self.names += 1
        return f"{prefix}{self.names}"

    @contextlib.contextmanager
    def block(self):
        """What is declared within is not known after it."""
        known = len(self.vars)
        self.nesting += 1
        try:
            yield
        finally:
            del self.vars[known:]
            self.nesting -= 1

    @contextlib.contextmanager
    def refined(self, name, type):
        """Within, the variable has the refined type and is not assigned."""
        at = next(i for i, var in enumerate(self.vars) if var.name == name)
        before = self.vars[at]
        self.vars[at] = Var(name, type, writable=False)
        try:
            yield
        finally:
            self.vars[at] = before

    def variables(self, name):
        return [var for var in self.vars if var.type.name == name]

    # Places: what can be read without computing.

    def places(self) -> List[Tuple[str, Type, bool]]:
        """(text, type, whether it may be assigned) of variables, their attributes and elements."""
        found = []
        for var in self.vars:
            found.append((var.name, var.type, var.writable))
            info = self.world.classes.get(var.type.name)
            if info is not None:
                found += [(f"{var.name}.{name}", type, not info.is_tuple) for name, type in info.attributes]
            elif var.type.name == "Tuple":
                found += [(f"{var.name}[{i}]", type, False) for i, type in enumerate(var.type.args)]
        if self.module is not None:
            found += [(f"self.{name}", type, True) for name, type in self.module.attributes]
        return found

    def places_of(self, type, writable=False):
        return [text for text, known, may in self.places() if known == type and (may or not writable)]

    def places_named(self, name):
        return [(text, known) for text, known, _ in self.places() if known.name == name]

    # Expressions.

    def expr(self, type, depth=2) -> Expr:
        if depth > 0 and not self.chance(0.25):
            for _ in range(3):
                makers = MAKERS.get(type.name, [])
                if not makers or self.chance(0.12):
                    makers = MAKERS["any"]
                made = self.weighted(makers)(self, type, depth - 1)
                if made is not None:
                    return made
        return self.leaf(type)

    def leaf(self, type) -> Expr:
        places = self.places_of(type)
        if places and self.chance(0.8):
            # What was declared last is the likeliest, so that values flow through the program.
            index = max(self.rng.randrange(len(places)), self.rng.randrange(len(places)))
            return Expr(type, places[index], tag="attribute" if "." in places[index] else "")
        return self.literal(type)

    def literal(self, type) -> Expr:
        raise NotImplementedError

    def statements(self, count) -> List[Stmt]:
        raise NotImplementedError


SCALARS = [INT, FLOAT, BOOL, STR]
