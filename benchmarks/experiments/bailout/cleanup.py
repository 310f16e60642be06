"""Passes over the functional graph: common subexpressions with folding on guarded facts, which node bails out to which
state, dead code.

Where a state's values are concerned a pass has nothing to remember but this: a state is a user of its values, at every
node that can bail out to it."""

import numpy as np

from benchmarks.experiments.bailout.ir import ELEMENTWISE, INT_OPS, ModelError, Node, Value, compute_int, elementwise_shape, walk, walk_path

PURE = ELEMENTWISE | INT_OPS | {"gather", "scatter", "item", "size", "sum", "zeros"}
GUARDS = {"guard", "guard_shape", "guard_apart"}
# Acts, and does not fail before it has acted.
SURE_EFFECTS = {"commit", "print", "rand", "append"}
ROOTS = SURE_EFFECTS | GUARDS | {"write", "setitem", "call"}


class Shapes:
    """Sizes of tensors that follow from the shapes which the entry guards prove."""

    def __init__(self, graph):
        self.known, self.constants, self.unstable = {}, graph.constants, set()
        while self.block(graph.body):
            self.known = {}

    def of(self, value):
        return self.known.get(value.id)

    def block(self, block):
        """Whether an assumption about a loop's value turned out wrong: then begin again without it."""
        again = False
        for node in block.nodes:
            if node.op == "guard_shape":
                self.known[node.inputs[0].id] = node.attrs["shape"]
            elif node.op == "loop":
                inner = node.blocks[0]
                for param, first in zip(inner.params[1:], node.inputs[3:], strict=True):
                    if param.id not in self.unstable:
                        self.known[param.id] = self.of(first)
                again |= self.block(inner)
                for param, last, out in zip(inner.params[1:], inner.returns[1:], node.outputs, strict=True):
                    if self.of(param) is not None and self.of(last) != self.of(param):
                        self.unstable.add(param.id)
                        again = True
                    self.known[out.id] = self.of(param)
            elif node.op == "if":
                again |= any([self.block(b) for b in node.blocks])
                for a, b, out in zip(node.blocks[0].returns, node.blocks[1].returns, node.outputs, strict=True):
                    if self.of(a) == self.of(b):
                        self.known[out.id] = self.of(a)
            elif node.outputs and node.output.type == "tensor":
                self.known[node.output.id] = self.result(node)
        return again

    def result(self, node):
        if node.op in ("load", "materialize", "scatter"):
            return self.of(node.inputs[0])
        if node.op in ("zeros", "rand"):
            return node.attrs["shape"]
        if node.op == "sum":
            return ()
        if node.op in ELEMENTWISE or node.op == "gather":
            try:
                return self.checked(node)
            except ModelError:
                return None
        return None

    def checked(self, node):
        """The result's shape, None if it is not known; raises what the operator would raise."""
        tensors = [i for i in node.inputs if i.type == "tensor"]
        if any(self.of(t) is None for t in tensors):
            return None
        shown = [np.broadcast_to(np.int64(0), self.of(t)) for t in tensors]
        if node.op == "gather":
            ints = [self.constants.get(i.id) for i in node.inputs[1:]]
            return None if None in ints else walk_path(shown[0], node.attrs["path"], ints).shape
        return elementwise_shape(node.op, shown, node.attrs.get("like_self", False))

    def may_raise(self, node):
        """Whether this node, which has no effect or raises before it acts, may raise."""
        op = node.op
        if op in ("sum", "zeros", "copy", "relu", "adds", "muls", "fill", "scatter", "load", "materialize"):
            return False
        if op in ELEMENTWISE or op == "gather":
            try:
                return self.checked(node) is None
            except ModelError:
                return True
        if op == "size":
            shape = self.of(node.inputs[0])
            return shape is None or node.attrs["dim"] >= len(shape)
        if op == "item":
            shape = self.of(node.inputs[0])
            return shape is None or int(np.prod(shape)) != 1
        if op == "idiv":
            return not self.constants.get(node.inputs[1].id)
        return op in ("getitem", "write", "setitem")


class CommonSubexpressions:
    """What is computed twice is computed once; what a guard has proved is a constant behind it, in recipes too.

    Two tensors of one content stay two tensors: content and identity were split before.
    """

    def __init__(self, graph, shapes):
        self.graph, self.shapes, self.constants = graph, shapes, graph.constants
        self.pool = {(n.output.type, n.attrs["value"]): n.output for n in graph.body.nodes if n.op == "const"}
        self.added, self.guards_removed, self.merged = [], 0, 0
        self.scatters = {}

    def run(self):
        self.walk(self.graph.body, {}, {})
        self.graph.body.nodes = self.added + self.graph.body.nodes

    def constant(self, number, type_):
        if (type_, number) not in self.pool:
            node = Node("const", [], [Value(type_)], {"value": number})
            self.added.append(node)
            self.constants[node.output.id] = number
            self.pool[type_, number] = node.output
        return self.pool[type_, number]

    def walk(self, block, new, seen):
        def now(value):
            while value.id in new:
                value = new[value.id]
            return value

        kept = []
        for node in block.nodes:
            node.inputs = [now(i) for i in node.inputs]
            if node.op in ("if", "loop"):
                if node.op == "loop":
                    node.attrs["head"].replace(now, self.constants)
                for inner in node.blocks:
                    self.walk(inner, dict(new), dict(seen))
            if node.state is not None:
                node.state.replace(now, self.constants)
            if node.op == "guard":
                if not self.guard(node, new):
                    continue
            elif self.replaced(node, new, seen):
                continue
            kept.append(node)
        block.nodes = kept
        block.returns = [now(r) for r in block.returns]

    def guard(self, node, new):
        """Whether the guard is needed; what it proves holds from here on."""
        value = node.inputs[0]
        known = self.constants.get(value.id)
        if known is not None:
            self.guards_removed += known == node.attrs["expected"]
            return known != node.attrs["expected"]
        new[value.id] = self.constant(node.attrs["expected"], "bool")
        return True

    def replaced(self, node, new, seen):
        if node.op not in PURE:
            return False
        if node.op == "gather" and self.forwarded(node, new):
            return True
        known = [self.constants.get(i.id) for i in node.inputs]
        if node.op in INT_OPS and None not in known:
            try:
                new[node.output.id] = self.constant(compute_int(node.op, known), node.output.type)
                return True
            except ModelError:
                return False
        shape = self.shapes.of(node.inputs[0]) if node.op == "size" else None
        if shape is not None and node.attrs["dim"] < len(shape):
            new[node.output.id] = self.constant(shape[node.attrs["dim"]], "int")
            return True
        key = node.op, tuple(i.id for i in node.inputs), tuple(sorted((k, v) for k, v in node.attrs.items()))
        if key in seen:
            new[node.output.id] = seen[key]
            self.merged += 1
            return True
        seen[key] = node.output
        if node.op == "scatter":
            self.scatters[node.output.id] = node
        return False

    def forwarded(self, node, new):
        """What was written to a view is read from it; a read looks through writes to other elements."""
        ints = [self.constants.get(i.id) for i in node.inputs[1:]]
        path = node.attrs["path"]
        while (scatter := self.scatters.get(node.inputs[0].id)) is not None:
            if scatter.attrs["path"] == path and scatter.inputs[2:] == node.inputs[1:]:
                new[node.output.id] = scatter.inputs[1]
                return True
            others = [self.constants.get(i.id) for i in scatter.inputs[2:]]
            apart = path[0][0] == "select" and path[0] == scatter.attrs["path"][0] and None not in (ints[0], others[0])
            if not apart or ints[0] == others[0] or (ints[0] < 0) != (others[0] < 0):
                return False
            node.inputs[0] = scatter.inputs[0]
        return False


def assign_states(graph, shapes, break_on_purpose=frozenset()):
    """Every node that can fail goes back to the last effect that dominates it; nothing else keeps a state."""
    late = {"write", "print", "rand", "append"} if "guards resume before the effect" in break_on_purpose else ()

    def visit(block, state):
        for node in block.nodes:
            if node.op in GUARDS or shapes.may_raise(node):
                node.bail = state
            for inner in node.blocks:
                visit(inner, node.attrs["head"] if node.op == "loop" else state)
            if node.op not in late:
                state = node.state or state

    visit(graph.body, graph.entry)


class DeadCode:
    """Marks from what must happen: effects, guards, what may raise, the answer, the states of what may bail out."""

    def __init__(self, graph, count_states=True):
        self.graph, self.count_states = graph, count_states
        self.defined, self.parent, self.needed, self.live, self.work = {}, {}, set(), set(), []
        self.index(graph.body, None)
        for value in graph.body.returns:
            self.need(value)
        for node in list(walk(graph.body)):
            if node.op in ROOTS or node.bail is not None:
                self.keep(node)
        while self.work:
            self.trace(self.work.pop())

    def index(self, block, parent):
        for k, param in enumerate(block.params):
            self.defined[param.id] = (parent, "param", k)
        for node in block.nodes:
            self.parent[node] = parent
            for k, output in enumerate(node.outputs):
                self.defined[output.id] = (node, "output", k)
            for inner in node.blocks:
                self.index(inner, node)

    def need(self, value):
        if value.id not in self.needed:
            self.needed.add(value.id)
            self.work.append(value)

    def keep(self, node):
        if node in self.live:
            return
        self.live.add(node)
        if self.parent[node] is not None:
            self.keep(self.parent[node])
        if node.op == "if":
            self.need(node.inputs[0])
        elif node.op == "loop":
            for value in (*node.inputs[:3], node.blocks[0].returns[0]):
                self.need(value)
        else:
            for value in node.inputs:
                self.need(value)
        if node.bail is not None and self.count_states:
            for value in node.bail.values():
                self.need(value)

    def trace(self, value):
        node, kind, k = self.defined[value.id]
        if node is None:
            return
        self.keep(node)
        if node.op == "if":
            for block in node.blocks:
                self.need(block.returns[k])
        elif node.op == "loop":
            k = k - 1 if kind == "param" else k
            if k >= 0:
                body = node.blocks[0]
                for other in (node.inputs[3 + k], body.returns[1 + k], body.params[1 + k], node.outputs[k]):
                    self.need(other)

    def sweep(self, block=None):
        block = block or self.graph.body
        block.nodes = [n for n in block.nodes if n in self.live or n.op == "const"]
        for node in block.nodes:
            for inner in node.blocks:
                self.sweep(inner)
            keep = [k for k, o in enumerate(node.outputs) if o.id in self.needed]
            if node.op == "if":
                for inner in node.blocks:
                    inner.returns = [inner.returns[k] for k in keep]
            elif node.op == "loop":
                inner = node.blocks[0]
                node.inputs = node.inputs[:3] + [node.inputs[3 + k] for k in keep]
                inner.params = inner.params[:1] + [inner.params[1 + k] for k in keep]
                inner.returns = inner.returns[:1] + [inner.returns[1 + k] for k in keep]
            if node.op in ("if", "loop"):
                node.outputs = [node.outputs[k] for k in keep]
        return self

