"""Last step before the memory plan: what became a value and is written to its memory anyway is written there directly.

`commit(x, add(load(x), y))` becomes one operator whose output is x's memory, and a scatter that ends in a commit writes
its part alone. So removing writes is free to be the canonical form: where nothing came of it, it is undone here. The
operator moves down to the commit; that is right if nothing but the commit, no state either, uses its result, if it
cannot raise, and if what it reads is still there."""

from collections import Counter

from benchmarks.experiments.bailout.ir import ELEMENTWISE, Node
from benchmarks.experiments.bailout.memory import ACTS, acts


def write_in_place(graph):
    uses, loads, made = Counter(), {}, set()
    count_uses(graph.body, uses, loads, made)
    count = 0
    stack = [graph.body]
    while stack:
        block = stack.pop()
        count += InPlace(block, uses, loads, made).run()
        stack += [inner for node in block.nodes for inner in node.blocks]
    return count


def count_uses(block, uses, loads, made):
    for node in block.nodes:
        uses.update(v.id for v in node.inputs)
        if node.bail is not None:
            uses.update(v.id for v in node.bail.values())
        if node.op == "load":
            loads[node.output.id] = node.inputs[0]
        elif node.op in ELEMENTWISE | {"scatter", "sum", "zeros"}:
            made.add(node.output.id)
        for inner in node.blocks:
            count_uses(inner, uses, loads, made)
    uses.update(v.id for v in block.returns)


class InPlace:
    def __init__(self, block, uses, loads, made):
        self.block, self.uses, self.loads, self.made = block, uses, loads, made
        self.defined = {o.id: n for n in block.nodes for o in n.outputs}
        self.at = {n: k for k, n in enumerate(block.nodes)}

    def run(self):
        nodes, gone, count = [], set(), 0
        for k, node in enumerate(self.block.nodes):
            if node.op == "commit":
                base, content = node.inputs
                direct, moved = self.direct(base, content, k)
                if moved:
                    gone |= moved
                    count += len(moved)
                    direct[-1].state = node.state
                    nodes += direct
                    continue
            nodes.append(node)
        self.block.nodes = [n for n in nodes if n not in gone]
        return count

    def direct(self, base, content, k):
        """The nodes that write the content to the base, and those which are moved for it."""
        node = self.defined.get(content.id)
        if not self.may_move(node, content, base, k):
            return [Node("commit", [base, content], [])], set()
        if node.op == "scatter":
            before, new, *ints = node.inputs
            into = Node("into", [base, new, *ints], [], {"op": "scatter", "path": node.attrs["path"]})
            if self.loads.get(before.id) is base:
                return [into], {node}
            first, moved = self.direct(base, before, k)
            return [*first, into], moved | {node}
        return [Node("into", [base, *node.inputs], [], {"op": node.op})], {node}

    def may_move(self, node, content, base, k):
        if node is None or node.op not in ELEMENTWISE | {"scatter"}:
            return False
        if self.uses[content.id] != 1 or node.bail is not None:
            return False
        between = self.block.nodes[self.at[node] + 1 : k]
        if any(n.op not in ("commit", "into") and (n.op in ACTS or any(map(acts, n.blocks))) for n in between):
            return False
        tensors = [v for v in node.inputs if v.type == "tensor"]
        read = tensors[1:] if node.op == "scatter" else tensors
        return all(v.id in self.made or self.loads.get(v.id) is base for v in read)
