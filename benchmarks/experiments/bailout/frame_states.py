"""FrameStates and recipes: how the baseline's frames are made from what optimised code has at hand.

A Snapshot says which value of the graph is in which live register, frame by frame, the innermost last. An outer frame
stands at its call and goes on when the call has come back.

A FrameState is a Snapshot after values were split from memory. Its registers hold recipes:

    ("value", v)               what v is: a number, a real tensor or a real list
    ("const", x)
    ("tensor", k)              the k-th tensor that optimised code did not make: state.tensors[k] is its content
    ("list", k)                the k-th list that does not exist yet: state.lists[k] are its elements' recipes
    ("tuple", (r, ...))
    ("view", r, path, ints)    a view of the tensor that r gives

Tensors and lists are numbered because they have an identity: two registers, or a register and a view in a list, that
were one object in the baseline are one object again. `writes` are the writes still owed to memory that others can see:
(tensor, content) pairs, applied before the baseline goes on."""

from dataclasses import dataclass, field

import numpy as np

from benchmarks.experiments.bailout.interpreter import Frame
from benchmarks.experiments.bailout.ir import walk_path


@dataclass(eq=False)
class Snapshot:
    frames: list  # of (function, pc, {register: Value})

    def values(self):
        return [v for _, _, registers in self.frames for v in registers.values()]


@dataclass(eq=False)
class FrameState:
    frames: list  # of (function, pc, {register: recipe})
    tensors: list = field(default_factory=list)
    lists: list = field(default_factory=list)
    writes: list = field(default_factory=list)

    def recipes(self):
        found = [r for _, _, registers in self.frames for r in registers.values()]
        return found + [r for items in self.lists for r in items]

    def values(self):
        """Every value that has to be there when a run goes on from here. These are uses."""
        found = list(self.tensors) + [v for pair in self.writes for v in pair]
        for recipe in self.recipes():
            found += recipe_values(recipe)
        return found

    def replace(self, value_of, constants):
        """Puts value_of(v) in place of every value v; a value that is known becomes a constant."""
        for _, _, registers in self.frames:
            for register, recipe in registers.items():
                registers[register] = replaced(recipe, value_of, constants)
        self.lists = [[replaced(r, value_of, constants) for r in items] for items in self.lists]
        self.tensors = [value_of(v) for v in self.tensors]
        self.writes = [(value_of(base), value_of(content)) for base, content in self.writes]

    def size(self):
        """How many nodes the recipes have, counting each tensor, list and write once."""
        return sum(map(recipe_size, self.recipes())) + len(self.tensors) + len(self.lists) + len(self.writes)

    def registers(self):
        return sum(len(registers) for _, _, registers in self.frames)

    def __str__(self):
        frames = " | ".join(f"{f.name}@{pc} {r}" for f, pc, r in self.frames)
        return f"{frames} tensors {self.tensors} writes {self.writes}"


def recipe_values(recipe):
    kind = recipe[0]
    if kind == "value":
        return [recipe[1]]
    if kind == "tuple":
        return [v for part in recipe[1] for v in recipe_values(part)]
    if kind == "view":
        return recipe_values(recipe[1]) + [v for r in recipe[3] for v in recipe_values(r)]
    return []


def recipe_size(recipe):
    if recipe[0] == "tuple":
        return 1 + sum(map(recipe_size, recipe[1]))
    if recipe[0] == "view":
        return len(recipe[2]) + recipe_size(recipe[1])
    return 1


def replaced(recipe, value_of, constants):
    kind = recipe[0]
    if kind == "value":
        value = value_of(recipe[1])
        return ("const", constants[value.id]) if value.id in constants else ("value", value)
    if kind == "tuple":
        return ("tuple", tuple(replaced(r, value_of, constants) for r in recipe[1]))
    if kind == "view":
        ints = tuple(replaced(r, value_of, constants) for r in recipe[3])
        return ("view", replaced(recipe[1], value_of, constants), recipe[2], ints)
    return recipe


def rebuild(state, env, break_on_purpose=frozenset()):
    """The baseline's frames, from the values that optimised code has (env: a value's id to what it is)."""
    tensors = [np.array(env[v.id], np.int64, order="C", copy=True) for v in state.tensors]
    if "tensors of one content are one" in break_on_purpose:
        first = {v.id: k for k, v in reversed(list(enumerate(state.tensors)))}
        tensors = [tensors[first[v.id]] for v in state.tensors]
    if "writes not re-applied" not in break_on_purpose:
        for base, content in state.writes:
            np.copyto(env[base.id], env[content.id])
    lists = [[] for _ in state.lists]

    def make(recipe):
        kind = recipe[0]
        if kind == "value":
            return env[recipe[1].id]
        if kind == "const":
            return recipe[1]
        if kind == "tensor":
            found = tensors[recipe[1]]
            return found.copy() if "objects rebuilt apart" in break_on_purpose else found
        if kind == "list":
            return lists[recipe[1]]
        if kind == "tuple":
            return tuple(make(part) for part in recipe[1])
        seen = walk_path(make(recipe[1]), recipe[2], [make(r) for r in recipe[3]])
        return seen.copy() if "views rebuilt as copies" in break_on_purpose else seen

    for made, items in zip(lists, state.lists, strict=True):
        made.extend(make(r) for r in items)
    return [Frame(f, pc, {r: make(recipe) for r, recipe in registers.items()}) for f, pc, registers in state.frames]
