"""What a run costs, by counting: kernels and memory traffic, one operator at a time and after fusion.

Fusion is a simple one that every policy gets alike: an elementwise operator (a scatter too) joins the kernel of what it
reads while that kernel has not been launched. A kernel is launched when somebody who is no kernel needs one of its
results: a number read back, an effect, a branch, the state of a guard; a sum still joins. What is used outside of its
kernel is stored, and so is what a state needs: recipes that keep intermediate values pay for it here, in kernels and in
traffic."""

from collections import Counter, defaultdict

import numpy as np

from benchmarks.experiments.bailout import interpreter
from benchmarks.experiments.bailout.ir import ELEMENTWISE, WRITES, Run
from benchmarks.experiments.bailout.machine import Machine

FUSED = ELEMENTWISE | {"scatter", "zeros", "commit", "write", "into", "sum"}


WRITERS = {"commit", "write", "into"}  # their first input is the memory that they write


def size(value):
    return value.size if isinstance(value, np.ndarray) else 0


class Counting(Machine):
    """A machine that notes how often each node ran and how large its tensors were."""

    def node(self, node, arena):
        super().node(node, arena)
        self.counts[node] += 1
        for value in (*node.inputs, *node.outputs):
            self.sizes[value.id] = size(self.env[value.id])

    def count(self, arguments, run):
        self.counts, self.sizes = Counter(), defaultdict(int)
        self.run(arguments, run)
        return self


class Kernel:
    def __init__(self):
        self.members, self.open, self.reads_memory = [], True, False


def kernels_of(graph, plan):
    """The kernels of every block, and every other node that moves memory."""
    kernels = []
    for block in blocks_of(graph.body):
        kernels += kernels_of_block(block, plan)
    return kernels


def blocks_of(block):
    yield block
    for node in block.nodes:
        for inner in node.blocks:
            yield from blocks_of(inner)


def kernels_of_block(block, plan):
    made, kernels = {}, []  # made: a content's root -> its kernel
    memory = {p.id for p in block.params}

    def root(value):
        return plan.root.get(value.id, value.id)

    for node in block.nodes:
        if node.op in ("gather", "load"):
            if node.op == "load":
                memory.add(node.output.id)
            continue
        # What a state needs has to be there when its guard fails.
        needed = plan.used_by(node) if node.op not in FUSED else node.bail.values() if node.bail is not None else []
        for value in needed:
            if root(value) in made:
                made[root(value)].open = False
        if node.op not in FUSED:
            continue
        kernel = next((made[root(v)] for v in reversed(node.inputs) if root(v) in made and made[root(v)].open), None)
        for value in node.inputs:
            other = made.get(root(value))
            if other is not None and other is not kernel:
                other.open = False
        if kernel is None:
            kernel = Kernel()
            kernels.append(kernel)
        kernel.members.append(node)
        kernel.reads_memory |= any(root(v) in memory for v in node.inputs)
        if node.op == "sum":
            kernel.open = False
        if node.op in WRITERS:
            for other in kernels:
                if other is kernel or other.reads_memory or node.op == "write":
                    other.open = False
        for output in node.outputs:
            made[output.id] = kernel
    return kernels


def optimized_costs(optimized, arguments, seed):
    counted = Counting(optimized.graph, optimized.plan).count(arguments, Run(seed))
    plan, counts, sizes = optimized.plan, counted.counts, counted.sizes
    cost = Counter()
    for node, count in counts.items():
        moves = node.op == "materialize" and node not in plan.moves
        if node.op in FUSED or moves:
            cost["kernels"] += count
            cost["traffic"] += count * traffic(node, plan, sizes)
        made = node.op in FUSED and node.outputs
        if moves or (made and node.output.id not in plan.slots and node not in plan.in_place):
            cost["allocations"] += count
    needed = needed_outside(optimized.graph, plan)
    for kernel in kernels_of(optimized.graph, plan):
        count = counts[kernel.members[0]]
        inside = {o.id for n in kernel.members for o in n.outputs}
        read = {v.id for n in kernel.members for v in n.inputs[n.op in WRITERS :]}
        read = {v for v in read if plan.root.get(v, v) not in inside}
        cost["fused kernels"] += count
        cost["fused traffic"] += count * sum(sizes[v] for v in read)
        for node in kernel.members:
            if node.op in WRITERS:
                cost["fused traffic"] += count * written(node, sizes)
            elif needed[node.output.id] - {id(n) for n in kernel.members}:
                parts = node.op == "scatter" and node in plan.in_place
                cost["fused traffic"] += count * sizes[node.inputs[1].id if parts else node.output.id]
    return cost


def written(node, sizes):
    return sizes[node.inputs[1 if node.attrs.get("op") == "scatter" else 0].id]


def traffic(node, plan, sizes):
    """Elements read and written; a scatter over its own base, or into memory, touches its part alone."""
    if node.attrs.get("op") == "scatter" or (node.op == "scatter" and node in plan.in_place):
        return 2 * sizes[node.inputs[1].id]
    if node.op in WRITERS:
        read = node.inputs if node.op == "write" else node.inputs[1:]
        return written(node, sizes) + sum(sizes[v.id] for v in read)
    return sum(sizes[v.id] for v in (*node.inputs, *node.outputs))


def needed_outside(graph, plan):
    """Value -> who uses it (directly or through a view), states that a node may bail out to among them."""
    users = defaultdict(set)
    for block in blocks_of(graph.body):
        for node in block.nodes:
            if node.op in ("gather", "load"):
                continue
            for value in node.inputs:
                users[plan.root.get(value.id, value.id)].add(id(node))
            if node.bail is not None:
                for value in node.bail.values():
                    users[plan.root.get(value.id, value.id)].add("state")
        for value in block.returns:
            users[plan.root.get(value.id, value.id)].add("returned")
    return users


def baseline_costs(program, arguments, seed):
    cost = Counter()
    tensor_ops = ELEMENTWISE | {"sum", "zeros"} | set(WRITES)
    act, compute = interpreter.act, interpreter.compute

    def note(op, inputs, result):
        if op in tensor_ops:
            cost["kernels"] += 1
            cost["traffic"] += sum(map(size, inputs)) + size(result)
            cost["allocations"] += op not in WRITES

    def counted_act(op, inputs, attrs, run):
        result = act(op, inputs, attrs, run)
        note(op, inputs, result)
        return result

    def counted_compute(op, inputs, attrs):
        result = compute(op, inputs, attrs)
        note(op, inputs, result)
        return result

    interpreter.act, interpreter.compute = counted_act, counted_compute
    try:
        interpreter.call(program.entry, arguments, Run(seed))
    finally:
        interpreter.act, interpreter.compute = act, compute
    cost["fused kernels"], cost["fused traffic"] = cost["kernels"], cost["traffic"]
    return cost
