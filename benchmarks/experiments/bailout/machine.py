"""Runs optimised code, bails out, and goes on in the baseline.

A bailout is one thing whatever the cause: a guard that does not hold, an operator that raises before it has acted, or a
test that says so. The baseline's frames are made from the state, what is owed to memory is written, and tier 0 goes on.
An operator that raises after it may have acted (a real call) cannot be done again: its exception is handed over to the
frames that the baseline would have there, and raised from them."""

import numpy as np

from benchmarks.experiments.bailout.cleanup import GUARDS
from benchmarks.experiments.bailout.frame_states import rebuild
from benchmarks.experiments.bailout.interpreter import call, resume
from benchmarks.experiments.bailout.ir import ModelError, act, compute, elementwise, elementwise_shape, walk_path
from benchmarks.experiments.bailout.plan import MAKES

GARBAGE = -0x5EED


class Bailout(Exception):
    def __init__(self, node):
        self.node = node


def memory_of(tensor):
    return tensor if tensor.base is None else tensor.base


def overlap(tensors):
    seen = [id(memory_of(t)) for t in tensors]
    return len(set(seen)) < len(seen)


class Machine:
    def __init__(self, graph, plan, break_on_purpose=frozenset()):
        self.graph, self.plan, self.broken = graph, plan, break_on_purpose

    def run(self, arguments, run, fail_at=None):
        """Gives the results. `fail_at`: the how-manieth of the nodes that may bail out does so, for no reason."""
        self.env = {p.id: a for p, a in zip(self.graph.body.params, arguments, strict=True)}
        self.effects, self.fail_at, self.points, self.bailed = run, fail_at, [], None
        try:
            return self.block(self.graph.body)
        except Bailout as bailout:
            self.bailed = bailout.node
            return resume(rebuild(bailout.node.bail, self.env, self.broken), run)

    def values(self, values):
        return [self.env[v.id] for v in values]

    def block(self, block):
        arena = np.empty(self.plan.arena[block], np.int64)
        self.nodes(block, arena)
        return self.values(block.returns)

    def nodes(self, block, arena):
        for node in block.nodes:
            if node.bail is not None:
                if self.fail_at == len(self.points):
                    raise Bailout(node)
                self.points.append(node)
                try:
                    self.node(node, arena)
                except ModelError:
                    raise Bailout(node) from None
            else:
                self.node(node, arena)
            for offset, size in self.plan.dying.get(node, ()):
                arena[offset : offset + size] = GARBAGE

    def node(self, node, arena):
        op, env = node.op, self.env
        if op == "if":
            block = node.blocks[0 if env[node.inputs[0].id] else 1]
            for output, value in zip(node.outputs, self.block(block), strict=True):
                env[output.id] = value
        elif op == "loop":
            self.loop(node)
        elif op in GUARDS:
            self.guard(node)
        elif op == "call":
            self.call(node)
        elif op in MAKES:
            env[node.output.id] = self.make(node, self.values(node.inputs), arena)
        elif op == "gather":
            tensor, *ints = self.values(node.inputs)
            env[node.output.id] = walk_path(tensor, node.attrs["path"], ints)
        elif op == "load":
            env[node.output.id] = env[node.inputs[0].id]
        elif op == "materialize":
            content = env[node.inputs[0].id]
            env[node.output.id] = content if node in self.plan.moves else np.array(content, order="C", copy=True)
        elif op == "commit":
            base, content = self.values(node.inputs)
            np.copyto(base, content)
        elif op == "into":
            base, *inputs = self.values(node.inputs)
            if node.attrs["op"] == "scatter":
                np.copyto(walk_path(base, node.attrs["path"], inputs[1:]), inputs[0])
            else:
                elementwise(node.attrs["op"], inputs, base)
        elif op == "write":
            inputs = self.values(node.inputs)
            elementwise_shape(node.attrs["op"], inputs, True)
            elementwise(node.attrs["op"], inputs, inputs[0])
        elif op in ("append", "setitem", "rand", "print"):
            result = act(op, self.values(node.inputs), node.attrs, self.effects)
            if node.outputs:
                env[node.output.id] = result
        elif op != "anchor":
            env[node.output.id] = compute(op, self.values(node.inputs), node.attrs)

    def make(self, node, inputs, arena):
        slot = self.plan.slots.get(node.output.id)
        out = None
        if slot is not None:
            offset, shape = slot
            out = arena[offset : offset + int(np.prod(shape))].reshape(shape)
        if node.op == "scatter":
            base, new, *ints = inputs
            if node not in self.plan.in_place:
                out = np.empty(base.shape, np.int64) if out is None else out
                np.copyto(out, base)
            np.copyto(walk_path(out, node.attrs["path"], ints), new)
            return out
        if out is not None and node.op in ("fill", "copyto", "add", "mul", "adds", "muls", "relu", "copy"):
            elementwise_shape(node.op, inputs, node.attrs.get("like_self", False))
            elementwise(node.op, inputs, out)
            return out
        return compute(node.op, inputs, node.attrs, out)

    def guard(self, node):
        if node.op == "guard":
            good = self.env[node.inputs[0].id] == node.attrs["expected"]
        elif node.op == "guard_shape":
            good = self.env[node.inputs[0].id].shape == node.attrs["shape"]
        else:
            good = not overlap(self.values(node.inputs))
        if not good:
            raise Bailout(node)

    def loop(self, node):
        block = node.blocks[0]
        number, limit, condition, *carried = self.values(node.inputs)
        arena = np.empty(self.plan.arena[block], np.int64)
        while number < limit and condition:
            self.env.update((p.id, v) for p, v in zip(block.params, [number, *carried], strict=True))
            self.nodes(block, arena)
            condition, *carried = self.values(block.returns)
            number += 1
        self.env.update((o.id, v) for o, v in zip(node.outputs, carried, strict=True))

    def call(self, node):
        try:
            results = call(node.attrs["function"], self.values(node.inputs), self.effects)
        except ModelError as error:
            error.trace = node.before + error.trace
            raise HandedOver(error) from None
        self.env.update((o.id, r) for o, r in zip(node.outputs, results, strict=True))


class HandedOver(Exception):
    """An exception of an operator that has acted, with the trace that the baseline would give it."""

    def __init__(self, error):
        self.error = error
