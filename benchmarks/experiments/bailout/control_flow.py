"""Branches and loops that stay, in the second step: where values that were memory meet again.

`walker` is the Functionalizer, whose heap and block these exchange while they walk inner blocks.
"""

from benchmarks.experiments.bailout.ir import Node, Value, walk
from benchmarks.experiments.bailout.memory import ListRef, Obj, Ref, Scalar, Tup, acts, parts_of

class MergeIf:
    """Both branches are walked from the same heap; where they end with different things, the `if` gets an output."""

    def __init__(self, walker, node):
        self.walker, self.node = walker, node

    def run(self):
        walker, node = self.walker, self.node
        condition = walker.scalar(node.inputs[0])
        self.start, self.blocks, self.heaps, returns = walker.heap, [], [], []
        guards = walker.guards
        for block in node.blocks:
            walker.heap = self.start.copy()
            outer = walker.enter()
            walker.walk(block)
            returns.append([walker.env[r.id] for r in block.returns])
            self.blocks.append(walker.block)
            self.heaps.append(walker.heap)
            walker.block = outer
        self.outputs, self.merged = [], self.start.copy()
        self.returns = [a for side in returns for a in side]
        merged = [self.merge(a, b) for a, b in zip(*returns, strict=True)]
        self.merge_lists()
        self.merge_tensors()
        # What was made in a branch is known behind it by its reference alone: no debt of it may be left.
        for side, heap in enumerate(self.heaps):
            for obj in [o for o in heap.dirty if not self.existed(o)]:
                self.on(side, walker.commit, obj)
        walker.heap = self.merged
        made = Node("if", [condition], self.outputs, {}, self.blocks)
        walker.block.nodes.append(made)
        walker.env.update((o.id, m) for o, m in zip(node.outputs, merged, strict=True))
        if walker.guards > guards:
            walker.guards += 1
        if any(map(acts, self.blocks)):
            made.state = walker.recipes(node.state)

    def on(self, side, action, *arguments):
        """Does something at the end of one branch."""
        walker = self.walker
        outer = walker.block, walker.heap
        walker.block, walker.heap = self.blocks[side], self.heaps[side]
        result = action(*arguments)
        walker.block, walker.heap = outer
        return result

    def phi(self, a, b, type_):
        if a is b:
            return a
        for x, y, output in zip(self.blocks[0].returns, self.blocks[1].returns, self.outputs, strict=True):
            if x is a and y is b:
                return output
        self.blocks[0].returns.append(a)
        self.blocks[1].returns.append(b)
        self.outputs.append(Value(type_))
        return self.outputs[-1]

    def occurrences(self, obj):
        held = list(self.returns)
        for heap in self.heaps:
            for items in heap.items.values():
                held += items
        return sum(isinstance(p, Ref) and p.obj is obj for a in held for p in parts_of(a))

    def merge(self, a, b):
        if a == b:
            return a
        if isinstance(a, Scalar):
            return Scalar(self.phi(a.value, b.value, a.value.type))
        if isinstance(a, Tup):
            return Tup(tuple(self.merge(x, y) for x, y in zip(a.parts, b.parts, strict=True)))
        if isinstance(a, Ref) and self.only_here(0, a) and self.only_here(1, b):
            obj = Obj()
            self.merged.content[obj] = self.phi(self.heaps[0].content[a.obj], self.heaps[1].content[b.obj], "tensor")
            self.merged.since[obj] = min(self.heaps[0].since[a.obj], self.heaps[1].since[b.obj])
            return Ref(obj)
        values = [self.on(side, self.walker.realise, x) for side, x in enumerate((a, b))]
        value = self.phi(*values, values[0].type)
        obj = Obj(wild=True)
        self.merged.base[obj] = value
        return ListRef(obj) if isinstance(a, ListRef) else Ref(obj)

    def existed(self, obj):
        return obj in self.start.base or obj in self.start.content or obj in self.start.items

    def only_here(self, side, ref):
        """A virtual tensor made in this branch, that nothing but this one reference knows."""
        heap = self.heaps[side]
        virtual = ref.obj not in heap.base and not ref.path
        return virtual and not self.existed(ref.obj) and self.occurrences(ref.obj) == 1

    def merge_lists(self):
        for obj in list(self.start.items):
            first, second = (heap.items.get(obj) for heap in self.heaps)
            if first is not None and second is not None and len(first) == len(second):
                items = tuple(self.merge(a, b) for a, b in zip(first, second, strict=True))
                # Merging may have made the list real through another reference to it.
                if all(obj in heap.items for heap in self.heaps):
                    self.merged.items[obj] = items
                    continue
            self.merged.items.pop(obj, None)
            for side in (0, 1):
                self.on(side, self.walker.materialize, obj)
            self.merged.base[obj] = self.phi(*(heap.base[obj] for heap in self.heaps), "list")

    def merge_tensors(self):
        for obj in dict.fromkeys([*self.start.content, *self.start.base]):
            if obj in self.start.items or any(obj in heap.items for heap in self.heaps):
                continue
            if obj in self.start.base and self.start.base[obj].type == "list":
                continue
            if obj.wild:
                continue
            self.merge_tensor(obj)

    def merge_tensor(self, obj):
        first, second = self.heaps
        since = [heap.since.get(obj, -1) for heap in self.heaps]
        self.merged.since[obj] = min(since)
        self.merged.content.pop(obj, None)
        self.merged.dirty.pop(obj, None)
        if obj not in first.base and obj not in second.base:
            self.merged.content[obj] = self.phi(first.content[obj], second.content[obj], "tensor")
            return
        for side in (0, 1):
            self.on(side, self.walker.materialize, obj)
        if first.base[obj] is not second.base[obj]:
            for side, heap in enumerate(self.heaps):
                if obj in heap.dirty:
                    self.on(side, self.walker.commit, obj)
            self.merged.base[obj] = self.phi(first.base[obj], second.base[obj], "tensor")
            return
        if obj in first.dirty or obj in second.dirty:
            contents = [self.on(side, self.walker.content, obj) for side in (0, 1)]
            self.merged.content[obj] = self.phi(*contents, "tensor")
            self.merged.dirty[obj] = None
        elif first.content.get(obj) is second.content.get(obj) and first.content.get(obj) is not None:
            self.merged.content[obj] = first.content[obj]


class CarryLoop:
    """Finds what the loop has to carry beside what it says: contents that its body changes.

    Walks the body under an assumption that is as good as can be, sees whether it holds at the back-edge, and begins
    again with a weaker one until it does. Assumptions only get weaker, so this ends.
    """

    def __init__(self, walker, node):
        self.walker, self.node = walker, node
        self.mode = ["same"] * (len(node.inputs) - 3)  # a reference: the same every time, "content", or "real"
        self.carried, self.real_before, self.uncached = {}, {}, {}

    def run(self):
        walker = self.walker
        start_heap, count = walker.heap, len(walker.block.nodes)
        counts = walker.removed_writes, walker.kept_writes
        while True:
            walker.heap = start_heap.copy()
            del walker.block.nodes[count:]
            walker.removed_writes, walker.kept_writes = counts
            if self.attempt():
                return

    def attempt(self):
        walker, node = self.walker, self.node
        source = node.blocks[0]
        for obj in self.real_before:
            walker.materialize(obj)
        entries = [walker.env[v.id] for v in node.inputs[3:]]
        self.make_real(entries)
        self.prepare_heap()
        scalars = [walker.scalar(v) for v in node.inputs[:3]]
        params, inputs, abstracts = [Value("int")], list(scalars), []
        for k, entry in enumerate(entries):
            abstract, value = self.entry(k, entry)
            if value is not None:
                params.append(Value(value.type))
                inputs.append(value)
                abstract = self.param(k, entry, params[-1])
            abstracts.append(abstract)
        for obj in self.carried:
            inputs.append(walker.content(obj))
            params.append(Value("tensor"))
            walker.heap.content[obj] = params[-1]
            if obj in walker.heap.base:
                walker.heap.dirty[obj] = None
        head_heap = walker.heap.copy()
        walker.env[source.params[0].id] = Scalar(params[0])
        walker.env.update((p.id, a) for p, a in zip(source.params[1:], abstracts, strict=True))
        head = walker.recipes(node.attrs["head"])
        outer = walker.enter(params)
        walker.walk(source)
        returned = [walker.env[r.id] for r in source.returns]
        good = self.check(head_heap, abstracts, returned[1:])
        block = walker.block
        if good:
            block.returns = [returned[0].value, *self.back_edge(head_heap, returned[1:])]
            good = not self.escaped(head_heap)
        walker.block = outer
        if good:
            self.finish(block, inputs, head, head_heap, entries)
        return good

    def make_real(self, entries):
        for k, entry in enumerate(entries):
            if self.mode[k] == "content" and not self.alone(k, entry):
                self.mode[k] = "real"
            if self.mode[k] == "real":
                self.walker.materialize(entry.obj)

    def prepare_heap(self):
        walker = self.walker
        if any(obj in walker.heap.dirty for obj in self.uncached):
            walker.commit_owed(self.node.before)
        for obj in self.uncached:
            walker.heap.content.pop(obj, None)
        if any(n.op == "guard" for n in walk(self.node.blocks[0])):
            walker.guards += 1  # the guards of one iteration lie before the writes of the next

    def entry(self, k, entry):
        """The value that the loop carries for this input, if any."""
        walker = self.walker
        if isinstance(entry, Scalar):
            return None, entry.value
        if self.mode[k] == "content":
            return None, walker.heap.content[entry.obj]
        if self.mode[k] == "real":
            return None, walker.realise(entry)
        return entry, None

    def param(self, k, entry, param):
        walker = self.walker
        if isinstance(entry, Scalar):
            return Scalar(param)
        if self.mode[k] == "real":
            return walker.real(param)
        made = walker.fresh(param)
        walker.heap.since[made.obj] = -1
        return made

    def alone(self, k, entry):
        """Whether a virtual tensor is known to nobody who may look after the loop has begun."""
        walker = self.walker
        if not isinstance(entry, Ref) or entry.path or entry.obj in walker.heap.base:
            return False
        now = walker.position[self.node]
        others = [walker.env[v.id] for j, v in enumerate(self.node.inputs[3:]) if j != k]
        # What is used later, in the loop or behind it, may look.
        for id_, last in walker.last.items():
            if last > now and id_ in walker.env:
                others.append(walker.env[id_])
        return not any(walker.refers(a, entry.obj) for a in others)

    def check(self, head_heap, abstracts, returned):
        """Whether the assumptions hold at the back-edge; makes those weaker that do not."""
        good = True
        for k, (abstract, again) in enumerate(zip(abstracts, returned, strict=True)):
            if isinstance(abstract, Scalar) or self.mode[k] == "real":
                continue
            if self.mode[k] == "same" and abstract != again:
                self.mode[k] = "content" if isinstance(abstract, Ref) and not abstract.path else "real"
                good = False
            elif self.mode[k] == "content" and not self.new_and_alone(head_heap, again, returned):
                self.mode[k] = "real"
                good = False
        return self.check_heap(head_heap) and good

    def new_and_alone(self, head_heap, again, returned):
        heap = self.walker.heap
        virtual = isinstance(again, Ref) and not again.path and again.obj not in heap.base
        if not virtual:
            return False
        if again.obj in head_heap.content and not any(again.obj is o for o in self.param_objects(head_heap)):
            return False
        held = list(returned) + [ListRef(obj) for obj in heap.items if obj in head_heap.items]
        return sum(self.walker.refers(a, again.obj) for a in held) == 1

    def param_objects(self, head_heap):
        source = self.node.blocks[0]
        return [
            a.obj
            for k, p in enumerate(source.params[1:])
            if self.mode[k] == "content" and isinstance(a := self.walker.env[p.id], Ref)
        ]

    def check_heap(self, head_heap):
        heap, good = self.walker.heap, True
        own = self.param_objects(head_heap)
        for obj, items in head_heap.items.items():
            if heap.items.get(obj) != items:
                self.real_before[obj] = None
                good = False
        for obj in dict.fromkeys([*head_heap.content, *head_heap.base]):
            if obj.wild or obj in head_heap.items or any(obj is o for o in own):
                continue
            if obj in head_heap.base and head_heap.base[obj].type == "list":
                continue
            good &= self.check_tensor(obj, head_heap, heap)
        return good

    def check_tensor(self, obj, head_heap, heap):
        if obj in heap.base and obj not in head_heap.base:
            self.real_before[obj] = None
            self.carried.pop(obj, None)
            return False
        before, after = head_heap.content.get(obj), heap.content.get(obj)
        dirty = obj in heap.dirty
        if obj in self.uncached:
            return True
        if obj in self.carried:
            if obj in heap.base and not dirty:
                del self.carried[obj]
                self.uncached[obj] = None
                return False
            return True
        if before is after and dirty == (obj in head_heap.dirty):
            return True
        if obj not in heap.base or dirty:
            self.carried[obj] = None
            return False
        if before is None and obj not in head_heap.dirty:
            return True  # loaded in the body, every time anew
        self.uncached[obj] = None
        return False

    def escaped(self, head_heap):
        """Whether what the back-edge made real had to be so before."""
        virtual = {*head_heap.content, *head_heap.items} - {*head_heap.base}
        found = [obj for obj in self.walker.heap.base if obj in virtual]
        own = self.param_objects(head_heap)
        bad = False
        for obj in found:
            if any(obj is o for o in own):
                for k, p in enumerate(self.node.blocks[0].params[1:]):
                    if self.mode[k] == "content" and self.walker.env[p.id].obj is obj:
                        self.mode[k] = "real"
                        bad = True
            else:
                self.real_before[obj] = None
                self.carried.pop(obj, None)
                bad = True
        return bad

    def back_edge(self, head_heap, returned):
        walker = self.walker
        values = []
        for k, again in enumerate(returned):
            if isinstance(again, Scalar):
                values.append(again.value)
            elif self.mode[k] == "content":
                values.append(walker.heap.content[again.obj])
            elif self.mode[k] == "real":
                values.append(walker.realise(again))
        # What was made in the body is known behind it by its reference alone: no debt of it may be left.
        for obj in list(walker.heap.dirty):
            if obj in self.uncached or (obj not in head_heap.base and obj not in head_heap.content):
                walker.commit(obj)
        return values + [walker.content(obj) for obj in self.carried]

    def finish(self, block, inputs, head, head_heap, entries):
        walker, node = self.walker, self.node
        made = Node("loop", inputs, [Value(p.type) for p in block.params[1:]], {"head": head}, [block])
        walker.block.nodes.append(made)
        walker.heap = head_heap
        outputs = iter(made.outputs)
        for k, (output, entry) in enumerate(zip(node.outputs, entries, strict=True)):
            if isinstance(entry, Scalar):
                abstract = Scalar(next(outputs))
            elif self.mode[k] == "content":
                abstract = walker.fresh(next(outputs))
                walker.heap.since[abstract.obj] = -1
            elif self.mode[k] == "real":
                abstract = walker.real(next(outputs))
            else:
                abstract = entry
            walker.env[output.id] = abstract
        for obj in self.carried:
            walker.heap.content[obj] = next(outputs)
        made.state = walker.recipes(node.state)
