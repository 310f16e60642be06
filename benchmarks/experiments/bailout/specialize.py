"""First step of the optimiser: from the baseline's functions and a profile to one graph with guards.

One walk inlines calls, takes the branch that the profile saw, unrolls or peels loops, and folds integers. Every fact
that is only believed gets a guard. The walk keeps, frame by frame, which value is in which baseline register; a
Snapshot of that is left at every node that has an effect (what comes after it) or that may have to be preceded by one
(what comes before it)."""

import random
from dataclasses import dataclass

from benchmarks.experiments.bailout.frame_states import Snapshot
from benchmarks.experiments.bailout.interpreter import code_of
from benchmarks.experiments.bailout.ir import EFFECTS, INT_OPS, Block, ModelError, Node, Value, compute

# What may force a write to memory before it: it has to know the registers as they are then.
NEEDS_BEFORE = EFFECTS | {"getitem", "item", "add", "mul", "adds", "muls", "relu", "copy", "sum", "list", "len", "size"}


@dataclass(eq=False)
class Graph:
    body: Block
    entry: object  # the state at the function's first instruction
    constants: dict  # a value's id to the number that it always is


class InlineFrame:
    def __init__(self, function, env):
        self.function, self.code, self.env, self.pc = function, code_of(function), env, 0


class Specializer:
    def __init__(self, function, profile, seed=0, max_unroll=3):
        self.profile, self.rng, self.max_unroll = profile, random.Random(seed), max_unroll
        self.constants, self.pool, self.facts = {}, {}, {}
        params = [Value(p.type) for p in function.body.params]
        self.block = self.body = Block(params)
        self.frames = [InlineFrame(function, {p.id: v for p, v in zip(function.body.params, params, strict=True)})]

    def graph(self, arguments):
        entry = self.snapshot(0)
        self.guard_arguments(arguments)
        body = self.frames[0].function.body
        self.walk(body)
        self.body.returns = [self.env[r.id] for r in body.returns]
        return Graph(self.body, entry, self.constants)

    def guard_arguments(self, arguments):
        """What the entry guards prove. Numbers and sizes are believed only sometimes, as tiers 1 and 2 differ in it."""
        tensors = [p for p in self.body.params if p.type == "tensor"]
        if len(tensors) > 1:
            self.block.nodes.append(Node("guard_apart", tensors, [], {"kind": "apart"}))
        sizes = self.rng.random() < 0.75
        for param, argument in zip(self.body.params, arguments, strict=True):
            if param.type == "tensor" and sizes:
                self.block.nodes.append(Node("guard_shape", [param], [], {"shape": argument.shape, "kind": "shape"}))
            elif param.type == "int" and self.rng.random() < 0.5:
                number = self.constant(argument, "int")
                self.guard(self.emit("eq", [param, number], "bool"), True, "number", 0)
                self.facts[param.id] = argument

    @property
    def env(self):
        return self.frames[-1].env

    def snapshot(self, pc):
        frames = []
        for frame in self.frames:
            inner = frame is self.frames[-1]
            live = frame.code.live[pc] if inner else frame.code.live_after_call(frame.pc)
            registers = {r: self.now(frame.env[r]) for r in sorted(live)}
            frames.append((frame.function, pc if inner else frame.pc, registers))
        return Snapshot(frames)

    def now(self, value):
        """The value, or the constant that it is known to be here."""
        known = self.known(value)
        return value if known is None else self.constant(known, value.type)

    def known(self, value):
        found = self.constants.get(value.id)
        return self.facts.get(value.id) if found is None else found

    def constant(self, number, type_):
        key = type_, number
        if key not in self.pool:
            node = Node("const", [], [Value(type_)], {"value": number})
            self.body.nodes.insert(0, node)
            self.pool[key] = node.output
            self.constants[node.output.id] = number
        return self.pool[key]

    def emit(self, op, inputs, type_, attrs=None):
        """The value of an integer operator, folded where it can be."""
        known = [self.known(i) for i in inputs]
        if all(k is not None for k in known):
            try:
                return self.constant(compute(op, known, attrs or {}), type_)
            except ModelError:
                pass  # the code that raises stays
        if op == "and" and None in known:
            other = known.index(None)
            if known[1 - other] is not None:
                return inputs[other] if known[1 - other] else self.constant(False, "bool")
        node = Node(op, list(inputs), [Value(type_)], attrs or {})
        self.block.nodes.append(node)
        return node.output

    def guard(self, value, expected, kind, pc):
        """`pc` is the baseline's instruction that decides the matter; nothing of it has happened yet."""
        if self.known(value) == expected:
            return
        before = self.snapshot(pc)
        self.block.nodes.append(Node("guard", [value], [], {"expected": expected, "kind": kind}, before=before))
        self.facts[value.id] = expected

    def walk(self, block):
        for node in block.nodes:
            if node.op == "const":
                self.env[node.output.id] = self.constant(node.attrs["value"], node.output.type)
            elif node.op in INT_OPS:
                inputs = [self.env[i.id] for i in node.inputs]
                self.env[node.output.id] = self.emit(node.op, inputs, node.output.type, node.attrs)
            elif node.op == "if":
                self.walk_if(node)
            elif node.op == "loop":
                self.walk_loop(node)
            elif node.op == "call" and node.attrs["function"].inline:
                self.inline(node)
            elif node.op == "raise_if":
                # Optimised code does not raise: the baseline does, from the state before.
                self.guard(self.env[node.inputs[0].id], False, "raise", node.pc)
            else:
                self.copy(node)

    def copy(self, node):
        inputs = [self.now(self.env[i.id]) for i in node.inputs]
        copied = Node(node.op, inputs, [Value(o.type) for o in node.outputs], node.attrs)
        if node.op in NEEDS_BEFORE:
            copied.before = self.snapshot(node.pc)
        self.block.nodes.append(copied)
        self.env.update((o.id, c) for o, c in zip(node.outputs, copied.outputs, strict=True))
        if node.op in EFFECTS:
            copied.state = self.snapshot(node.pc + 1)

    def inline(self, node):
        callee, caller = node.attrs["function"], self.frames[-1]
        caller.pc = node.pc
        env = {p.id: self.env[i.id] for p, i in zip(callee.body.params, node.inputs, strict=True)}
        self.frames.append(InlineFrame(callee, env))
        self.walk(callee.body)
        results = [self.env[r.id] for r in callee.body.returns]
        self.frames.pop()
        self.env.update((o.id, r) for o, r in zip(node.outputs, results, strict=True))

    def walk_if(self, node):
        condition = self.env[node.inputs[0].id]
        taken = self.known(condition)
        if taken is None:
            seen = self.profile.direction(self.frames[-1].function, node.pc)
            if seen is not None and self.rng.random() < 0.8:
                self.guard(condition, seen, "branch", node.pc)
                taken = seen
        if taken is not None:
            block = node.blocks[0 if taken else 1]
            self.walk(block)
            self.env.update((o.id, self.env[r.id]) for o, r in zip(node.outputs, block.returns, strict=True))
            return
        copied = Node("if", [condition], [Value(o.type) for o in node.outputs])
        for block, holds in zip(node.blocks, (True, False), strict=True):
            inner = self.enter({condition.id: holds})
            self.walk(block)
            inner.returns = [self.now(self.env[r.id]) for r in block.returns]
            copied.blocks.append(self.leave())
        self.block.nodes.append(copied)
        self.env.update((o.id, c) for o, c in zip(node.outputs, copied.outputs, strict=True))
        copied.state = self.snapshot(node.attrs["places"]["end"])

    def enter(self, facts, params=()):
        """Starts a block inside of the present one; facts that its guards prove hold only there."""
        self.outer = (self.block, self.facts, getattr(self, "outer", None))
        self.block, self.facts = Block(list(params)), {**self.facts, **facts}
        return self.block

    def leave(self):
        block = self.block
        self.block, self.facts, self.outer = self.outer
        return block

    def walk_loop(self, node):
        places, body = node.attrs["places"], node.blocks[0]
        number, limit, condition, *carried = [self.env[i.id] for i in node.inputs]
        self.env[places["one"].id] = self.constant(1, "int")
        trips = self.profile.trips.get((self.frames[-1].function.name, node.pc), set())
        choice = self.rng.random()
        if len(trips) == 1 and max(trips) <= self.max_unroll and choice < 0.75:
            unrolled, last = max(trips), True
        elif trips and min(trips) > 0 and choice < 0.4:
            unrolled, last = 1, False
        else:
            unrolled, last = 0, False
        for _ in range(unrolled):
            self.set_loop_registers(body, number, places, condition, carried)
            self.guard(self.goes_on(number, limit, condition), True, "trip", places["head"])
            self.walk(body)
            condition, *carried = [self.env[r.id] for r in body.returns]
            number = self.emit("iadd", [number, self.constant(1, "int")], "int")
        if last:
            self.set_loop_registers(body, number, places, condition, carried)
            self.guard(self.goes_on(number, limit, condition), False, "trip", places["head"])
            self.env.update((o.id, c) for o, c in zip(node.outputs, carried, strict=True))
            return
        self.keep_loop(node, number, limit, condition, carried)

    def goes_on(self, number, limit, condition):
        return self.emit("and", [self.emit("lt", [number, limit], "bool"), condition], "bool")

    def set_loop_registers(self, body, number, places, condition, carried):
        self.env[body.params[0].id] = number
        self.env[places["condition"].id] = condition
        self.env.update((p.id, c) for p, c in zip(body.params[1:], carried, strict=True))

    def keep_loop(self, node, number, limit, condition, carried):
        places, body = node.attrs["places"], node.blocks[0]
        inputs = [self.now(v) for v in (number, limit, condition, *carried)]
        copied = Node("loop", inputs, [Value(o.type) for o in node.outputs])
        self.set_loop_registers(body, number, places, condition, carried)
        copied.before = self.snapshot(places["head"])
        params = [Value(p.type) for p in body.params]
        self.set_loop_registers(body, params[0], places, self.constant(True, "bool"), params[1:])
        inner = self.enter({}, params)
        copied.attrs["head"] = self.snapshot(places["head"] + 1)  # the back-edge
        self.walk(body)
        inner.returns = [self.now(self.env[r.id]) for r in body.returns]
        copied.blocks = [self.leave()]
        self.block.nodes.append(copied)
        self.env.update((o.id, c) for o, c in zip(node.outputs, copied.outputs, strict=True))
        copied.state = self.snapshot(places["end"])
