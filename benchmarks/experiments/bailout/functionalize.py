"""Second step: takes values out of memory.

Tensors become (object, path of views), and an object's content an immutable value: `x[i].add_(y)` turns into c1 =
scatter(c0, [i], add(gather(c0, [i]), y)). Objects and lists that only this graph knows do not exist at all until
something needs them ("virtual"; partial escape analysis, Stadler, Wuerthinger, Moessenboeck 2014). A write to memory
that others see is owed ("dirty") until somebody could look: it is then committed, and a commit is an effect of its own
with a state of its own.

What may be anything (an element of a list from outside, the result of a real call, a reference that depends on a
branch) is wild: whoever reads or writes it has what is owed committed first, and a write through it makes every content
known of real memory unknown.

Snapshots become FrameStates here, because only this walk knows what memory held where.

Policies:
    "across"   writes become values, whatever guards lie between
    "whole"    writes to whole tensors become values, writes to a part of one stay writes
    "between"  a write becomes a value only up to the next guard: at a guard, memory is as in the baseline
    "never"    writes stay writes
"""

from benchmarks.experiments.bailout.control_flow import CarryLoop, MergeIf
from benchmarks.experiments.bailout.frame_states import FrameState
from benchmarks.experiments.bailout.ir import EFFECTS, INT_OPS, VIEWS, WRITES, Block, Node, Value
from benchmarks.experiments.bailout.memory import Heap, ListRef, Obj, Ref, Scalar, Tup, frozen, parts_of
from benchmarks.experiments.bailout.specialize import Graph


class Functionalizer:
    def __init__(self, graph, policy="across", anchors="remaining", break_on_purpose=frozenset()):
        self.source, self.policy, self.anchors, self.broken = graph, policy, anchors, break_on_purpose
        self.heap, self.env, self.guards, self.numbers = Heap(), {}, 0, []
        self.block = self.body = Block(graph.body.params)
        self.removed_writes = self.kept_writes = 0
        self.number_uses()

    def run(self):
        for param in self.source.body.params:
            self.env[param.id] = self.real(param, wild=False)
        entry = self.recipes(self.source.entry)
        self.walk(self.source.body)
        returns = [self.realise(self.env[r.id]) for r in self.source.body.returns]
        self.commit_owed(None)
        self.body.returns = returns
        self.body.nodes = self.numbers + self.body.nodes
        return Graph(self.body, entry, self.source.constants)

    def number_uses(self):
        """Where each value of the source is used last: who else may still look at an object depends on it."""
        self.position, self.last = {}, {}
        count = 0

        def visit(block):
            nonlocal count
            for node in block.nodes:
                count += 1
                self.position[node] = count
                used = list(node.inputs)
                for snapshot in (node.state, node.before, node.attrs.get("head")):
                    used += snapshot.values() if snapshot else []
                self.last.update((v.id, count) for v in used)
                for inner in node.blocks:
                    visit(inner)
            count += 1
            self.last.update((v.id, count) for v in block.returns)

        visit(self.source.body)

    # What things are.

    def real(self, value, wild=True):
        """What a value that comes from outside stands for."""
        if value.type in ("int", "bool"):
            return Scalar(value)
        if isinstance(value.type, tuple):
            parts = [self.emit("tuple_get", [value], t, {"index": k}) for k, t in enumerate(value.type)]
            return Tup(tuple(self.real(p) for p in parts))
        obj = Obj(wild)
        self.heap.base[obj] = value
        return ListRef(obj) if value.type == "list" else Ref(obj)

    def fresh(self, content):
        obj = Obj()
        self.heap.content[obj] = content
        self.heap.since[obj] = self.guards
        return Ref(obj)

    def emit(self, op, inputs, type_=None, attrs=None, state=None):
        node = Node(op, list(inputs), [] if type_ is None else [Value(type_)], dict(attrs or {}), state=state)
        self.block.nodes.append(node)
        return node.output if type_ is not None else node

    def scalar(self, value):
        return self.env[value.id].value if value.id in self.env else value

    # Memory.

    def content(self, obj):
        found = self.heap.content.get(obj)
        if found is None:
            found = self.emit("load", [self.heap.base[obj]], "tensor")
            if not obj.wild:
                self.heap.content[obj] = found
        return found

    def through(self, value, ref):
        if not ref.path:
            return value
        return self.emit("gather", [value, *ref.ints], "tensor", {"path": ref.path})

    def read(self, ref, before):
        if ref.obj.wild and "wild reads see no debts" not in self.broken:
            self.commit_owed(before)
        return self.through(self.content(ref.obj), ref)

    def commit_owed(self, before):
        """Writes all that is owed: one effect, after which the baseline would go on right before this node."""
        node = None
        for obj in list(self.heap.dirty):
            node = self.commit(obj)
        if node is not None and before is not None and "commits are no anchors" not in self.broken:
            node.state = self.recipes(before)

    def commit(self, obj):
        del self.heap.dirty[obj]
        # From here on the content is read from its memory, so that it need not be kept apart as well.
        return self.emit("commit", [self.heap.base[obj], self.heap.content.pop(obj)])

    def forget_contents(self):
        for obj in self.heap.base:
            self.heap.content.pop(obj, None)

    def materialize(self, obj):
        """Makes a virtual tensor or list real."""
        if obj in self.heap.items:
            items = [self.realise(i) for i in self.heap.items.pop(obj)]
            self.heap.base[obj] = self.emit("list", items, "list")
        elif obj not in self.heap.base:
            self.heap.base[obj] = self.emit("materialize", [self.heap.content.pop(obj)], "tensor")

    def realise(self, abstract):
        """The real value of what is abstract."""
        if isinstance(abstract, Scalar):
            return abstract.value
        if isinstance(abstract, Tup):
            parts = [self.realise(p) for p in abstract.parts]
            return self.emit("tuple", parts, tuple(p.type for p in parts))
        self.materialize(abstract.obj)
        base = self.heap.base[abstract.obj]
        return self.through(base, abstract) if isinstance(abstract, Ref) else base

    def write(self, node):
        ref, op = self.env[node.inputs[0].id], WRITES[node.op]
        inputs = [self.env[i.id] for i in node.inputs]
        self.env[node.output.id] = ref
        obj = ref.obj
        # What such a write does depends on the order of elements; it is left to the operator, on memory as it is.
        overlapping = any(isinstance(i, Ref) and i.obj is obj and i != ref for i in inputs[1:])
        if overlapping:
            self.materialize(obj)
            self.commit_owed(node.before)
            self.heap.content.pop(obj, None)
        others = [self.read(i, node.before) if isinstance(i, Ref) else i.value for i in inputs[1:]]
        stays = overlapping or self.policy == "never" or (self.policy == "whole" and bool(ref.path))
        if obj not in self.heap.base:
            if stays or (self.policy == "between" and self.heap.since.get(obj, -1) < self.guards):
                self.materialize(obj)
        if obj.wild or (obj in self.heap.base and stays):
            self.commit_owed(node.before)
            view = self.through(self.heap.base[obj], ref)
            self.emit("write", [view, *others], None, {"op": op})
            if obj.wild:
                self.forget_contents()
            self.heap.content.pop(obj, None)
            self.kept_writes += 1
            self.block.nodes[-1].state = self.recipes(node.state)
            return
        old = self.read(ref, node.before)
        new = self.emit(op, [old, *others], "tensor", {"like_self": True})
        if ref.path:
            new = self.emit("scatter", [self.heap.content[obj], new, *ref.ints], "tensor", {"path": ref.path})
        self.heap.content[obj] = new
        self.removed_writes += 1
        if obj in self.heap.base:
            self.heap.dirty[obj] = None
        if self.anchors == "all":
            self.emit("anchor", [], state=self.recipes(node.state))

    # States.

    def recipes(self, snapshot):
        state, numbers = FrameState([]), {}

        def recipe(abstract):
            if isinstance(abstract, Scalar):
                return ("value", abstract.value)
            if isinstance(abstract, Tup):
                return ("tuple", tuple(recipe(p) for p in abstract.parts))
            obj = abstract.obj
            if isinstance(abstract, ListRef):
                return ("value", self.heap.base[obj]) if obj in self.heap.base else ("list", numbered_list(obj))
            whole = ("value", self.heap.base[obj]) if obj in self.heap.base else ("tensor", numbered_tensor(obj))
            if not abstract.path:
                return whole
            return ("view", whole, abstract.path, tuple(("value", i) for i in abstract.ints))

        def numbered_tensor(obj):
            if obj not in numbers:
                numbers[obj] = len(state.tensors)
                state.tensors.append(self.heap.content[obj])
            return numbers[obj]

        def numbered_list(obj):
            if obj not in numbers:
                numbers[obj] = len(state.lists)
                state.lists.append([])
                state.lists[numbers[obj]] = [recipe(i) for i in self.heap.items[obj]]
            return numbers[obj]

        for function, pc, registers in snapshot.frames:
            made = {r: recipe(self.env[v.id] if v.id in self.env else Scalar(v)) for r, v in registers.items()}
            state.frames.append((function, pc, made))
        state.writes = [(self.heap.base[o], self.heap.content[o]) for o in self.heap.dirty]
        return state

    # Nodes.

    def walk(self, block):
        for node in block.nodes:
            self.visit(node)

    def visit(self, node):
        op = node.op
        if op == "const":
            self.block.nodes.append(node)
            self.env[node.output.id] = Scalar(node.output)
        elif op in INT_OPS:
            inputs = [self.scalar(i) for i in node.inputs]
            self.env[node.output.id] = Scalar(self.emit(op, inputs, node.output.type))
        elif op in WRITES:
            self.write(node)
        elif op in VIEWS:
            self.view(node)
        elif op == "guard":
            self.guard(node)
        elif op in ("guard_shape", "guard_apart"):
            self.emit(op, node.inputs, None, node.attrs)
        elif op in ("list", "append", "setitem", "getitem", "len"):
            self.list_node(node)
        elif op == "tuple":
            self.env[node.output.id] = Tup(tuple(self.env[i.id] for i in node.inputs))
        elif op == "tuple_get":
            self.env[node.output.id] = self.env[node.inputs[0].id].parts[node.attrs["index"]]
        elif op == "call":
            self.call(node)
        elif op == "if":
            MergeIf(self, node).run()
        elif op == "loop":
            CarryLoop(self, node).run()
        else:
            self.tensor_node(node)

    def view(self, node):
        ref, *ints = [self.env[i.id] for i in node.inputs]
        ints = tuple(i.value for i in ints)
        path = ref.path + ((node.op, node.attrs, len(ints)),)
        made = Ref(ref.obj, tuple((o, frozen(a), c) for o, a, c in path), ref.ints + ints)
        # Also where nobody reads it: a view that does not exist raises.
        self.through(self.heap.base[ref.obj] if ref.obj.wild else self.content(ref.obj), made)
        self.env[node.output.id] = made

    def tensor_node(self, node):
        inputs = [self.env[i.id] for i in node.inputs]
        if node.op == "size":
            ref = inputs[0]
            seen = self.through(self.heap.base[ref.obj] if ref.obj.wild else self.content(ref.obj), ref)
            self.env[node.output.id] = Scalar(self.emit("size", [seen], "int", node.attrs))
            return
        values = [self.read(i, node.before) if isinstance(i, Ref) else i.value for i in inputs]
        made = self.emit(node.op, values, node.output.type if node.outputs else None, node.attrs)
        if node.outputs:
            self.env[node.output.id] = self.fresh(made) if node.output.type == "tensor" else Scalar(made)
        if node.op in EFFECTS:
            self.block.nodes[-1].state = self.recipes(node.state)

    def guard(self, node):
        if self.policy == "between":
            self.commit_owed(node.before)
        self.guards += 1
        self.emit("guard", [self.scalar(node.inputs[0])], None, node.attrs)

    def list_node(self, node):
        abstracts = [self.env[i.id] if i.id in self.env else Scalar(i) for i in node.inputs]
        if node.op == "list":
            obj = Obj()
            self.heap.items[obj] = tuple(abstracts)
            self.env[node.output.id] = ListRef(obj)
            return
        obj = abstracts[0].obj
        items = self.heap.items.get(obj)
        index = None
        if node.op in ("getitem", "setitem"):
            index = self.source.constants.get(abstracts[1].value.id)
            if items is not None and (index is None or not -len(items) <= index < len(items)):
                self.materialize(obj)
                items = None
        if items is None:
            self.real_list_node(node, abstracts)
        elif node.op == "append":
            self.heap.items[obj] = (*items, abstracts[1])
        elif node.op == "setitem":
            changed = list(items)
            changed[index] = abstracts[2]
            self.heap.items[obj] = tuple(changed)
        elif node.op == "getitem":
            self.env[node.output.id] = items[index]
        else:
            self.env[node.output.id] = Scalar(self.number(len(items)))

    def number(self, number):
        node = Node("const", [], [Value("int")], {"value": number})
        self.numbers.append(node)
        self.source.constants[node.output.id] = number
        return node.output

    def real_list_node(self, node, abstracts):
        values = [self.realise(a) for a in abstracts]
        if node.op in ("append", "setitem"):
            self.emit(node.op, values)
            self.block.nodes[-1].state = self.recipes(node.state)
            return
        self.env[node.output.id] = self.real(self.emit(node.op, values, node.output.type))

    def call(self, node):
        values = [self.realise(self.env[i.id]) for i in node.inputs]
        self.commit_owed(node.before)
        made = Node("call", values, [Value(o.type) for o in node.outputs], node.attrs)
        made.before = [(function, pc) for function, pc, _ in node.before.frames]
        self.block.nodes.append(made)
        self.forget_contents()
        self.env.update((o.id, self.real(m)) for o, m in zip(node.outputs, made.outputs, strict=True))
        made.state = self.recipes(node.state)

    # Blocks.

    def enter(self, params=()):
        outer, self.block = self.block, Block(list(params))
        return outer

    def refers(self, abstract, obj):
        for part in parts_of(abstract):
            if isinstance(part, Scalar):
                continue
            if part.obj is obj:
                return True
            if isinstance(part, ListRef) and any(self.refers(i, obj) for i in self.heap.items.get(part.obj, ())):
                return True
        return False
