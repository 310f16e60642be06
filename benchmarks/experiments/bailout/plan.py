"""Static memory: which value lies where in a block's arena, and who takes over whose memory.

A value has its memory from where it is made to its last use, and being needed by a state that a later node may bail out
to is a use, at that node. Values that leave their block (through returns, into a loop) have memory of their own, as has
what becomes a real tensor. Views of contents (gather) prolong what they look at. An operator takes over the memory of
an input that dies there if it is elementwise, or a scatter; not if it can itself still bail out to a state that needs
the input."""

import numpy as np

from benchmarks.experiments.bailout.cleanup import Shapes
from benchmarks.experiments.bailout.ir import ELEMENTWISE, walk

MAKES = ELEMENTWISE | {"scatter", "sum", "zeros"}


class Plan:
    def __init__(self, graph, count_recipes=True):
        self.shapes, self.count_recipes = Shapes(graph), count_recipes
        self.slots = {}  # value id -> (offset, shape)
        self.in_place = set()  # nodes that write over their dying input
        self.moves = set()  # materialize nodes that take the content's own memory
        self.dying = {}  # node -> values whose memory is free after it
        self.arena = {}  # block -> elements
        self.root = {}
        self.leaving = set()
        self.find_roots(graph.body)
        for value in graph.body.returns:
            self.leave(value)
        self.plan(graph.body)
        for node in walk(graph.body):
            for block in node.blocks:
                self.plan(block)
        self.total = sum(self.arena.values())

    def find_roots(self, block):
        for node in block.nodes:
            if node.op in ("gather", "load"):
                source = node.inputs[0]
                self.root[node.output.id] = self.root.get(source.id, source.id)
            for inner in node.blocks:
                self.find_roots(inner)
                for value in inner.returns:
                    self.leave(value)
            if node.op == "loop":
                for value in node.inputs:
                    self.leave(value)

    def leave(self, value):
        self.leaving.add(self.root.get(value.id, value.id))

    def used_by(self, node):
        """Everything a node needs, with what is inside of it and what it may bail out to."""
        found = list(node.inputs)
        if node.bail is not None and self.count_recipes:
            found += node.bail.values()
        for block in node.blocks:
            found += block.returns
            for inner in block.nodes:
                found += self.used_by(inner)
        return found

    def plan(self, block):
        last, made, materialized = {}, {}, {}
        for at, node in enumerate(block.nodes):
            for value in self.used_by(node):
                last[self.root.get(value.id, value.id)] = at
            if node.op == "materialize":
                materialized.setdefault(node.inputs[0].id, []).append(at)
            if node.op in MAKES:
                made[node.output.id] = at
                last.setdefault(node.output.id, at)
        moved = {v for v, places in materialized.items() if v in made and last[v] == places[0]} - self.leaving
        free, end = [], 0
        ends = {}
        for value, at in last.items():
            ends.setdefault(at, []).append(value)
        taken = {}  # root -> (offset, size)
        for at, node in enumerate(block.nodes):
            if node.op == "materialize" and node.inputs[0].id in moved:
                self.moves.add(node)
            if node.op in MAKES:
                out = node.output.id
                shape = self.shapes.of(node.output)
                if shape is not None and out not in self.leaving and out not in moved:
                    size = int(np.prod(shape))
                    dying = self.takes_over(node, at, last, taken, size)
                    if dying is not None:
                        taken[out] = taken.pop(dying)
                        self.in_place.add(node)
                    else:
                        offset, end = allocate(free, end, size)
                        taken[out] = offset, size
                    self.slots[out] = taken[out][0], shape
            for value in ends.get(at, ()):
                if value in taken:
                    self.dying.setdefault(node, []).append(taken[value])
                    free.append(taken.pop(value))
        self.arena[block] = end

    def takes_over(self, node, at, last, taken, size):
        if node.op not in ELEMENTWISE and node.op != "scatter":
            return None
        needed = {v.id for v in node.bail.values()} if node.bail is not None and self.count_recipes else set()
        candidates = node.inputs[:1] if node.op == "scatter" else node.inputs
        for value in candidates:
            same = taken.get(value.id, (0, -1))[1] == size and self.shapes.of(value) == self.shapes.of(node.output)
            seen = [i for i in node.inputs if self.root.get(i.id, i.id) == value.id]  # views of it among them
            if same and last[value.id] == at and value.id not in needed and len(seen) == 1:
                return value.id
        return None


def allocate(free, end, size):
    """First fit. Returns the offset and the arena's end."""
    free.sort()
    merged = []
    for offset, length in free:
        if merged and merged[-1][0] + merged[-1][1] == offset:
            merged[-1] = (merged[-1][0], merged[-1][1] + length)
        else:
            merged.append((offset, length))
    free[:] = merged
    for k, (offset, length) in enumerate(free):
        if length >= size:
            if length == size:
                del free[k]
            else:
                free[k] = (offset + size, length - size)
            return offset, end
    return end, end + size
