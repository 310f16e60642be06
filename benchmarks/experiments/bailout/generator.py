"""Random programs, and arguments to call them with. The same seed always gives the same program.

A program writes through views, keeps views in lists, carries tensors and lists through loops and branches, calls
functions (some of which are not inlined), draws and prints, and now and then raises. The generator tracks shapes so
that most operations fit; some do not, on purpose."""

import random
from dataclasses import dataclass

import numpy as np

from benchmarks.experiments.bailout.ir import Block, Function, Node, Value, walk


@dataclass
class Info:
    shape: tuple = None  # tensors
    small: bool = False  # ints that may be a trip count
    parts: tuple = None  # tuples: the elements' Infos
    length: int = 0  # lists: how many elements there are at least


class Writer:
    """Writes one function's blocks; `scope` holds (value, info) of everything that can be used here."""

    def __init__(self, name, program, callees, lists):
        self.name, self.program, self.n, self.callees, self.lists = name, program, program.n, callees, lists
        self.scope, self.block, self.depth, self.blocks = [], Block(), 0, 0
        self.rng = random.Random(f"{program.seed} {name}")

    def emit(self, op, inputs, type_=None, info=None, **attrs):
        outputs = [] if type_ is None else [Value(type_)]
        self.block.nodes.append(Node(op, inputs, outputs, attrs))
        if outputs:
            self.scope.append((outputs[0], info or Info()))
            return outputs[0]
        return None

    def pick(self, type_, test=lambda info: True):
        found = [(v, i) for v, i in self.scope if v.type == type_ and test(i)]
        if not found:
            return None, None
        recent = found[-6:] if self.rng.random() < 0.6 else found
        return self.rng.choice(recent)

    def integer(self, small=False):
        value, _ = self.pick("int", lambda i: i.small or not small)
        if value is None or self.rng.random() < 0.3:
            value = self.emit("const", [], "int", Info(small=True), value=self.rng.randint(0, 3))
        return value

    def boolean(self):
        value, _ = self.pick("bool")
        if value is None or self.rng.random() < 0.6:
            tensor, info = self.pick("tensor")
            if tensor is not None and self.rng.random() < 0.75:
                total = self.emit("sum", [tensor], "tensor", Info(()))
                number = self.emit("item", [total], "int")
                return self.emit("lt", [number, self.integer()], "bool")
            return self.emit(self.rng.choice(["lt", "lt", "eq"]), [self.integer(), self.integer()], "bool")
        return value

    def fitting(self, shape):
        """A tensor that can be added to one of that shape without making it larger; rarely any tensor."""
        if self.rng.random() < 0.02:
            return self.pick("tensor")[0]
        return self.pick("tensor", lambda i: i.shape == shape or i.shape == () or i.shape == shape[1:])[0]

    # Statements.

    def arithmetic(self):
        op = self.rng.choice(["iadd", "isub", "imul", "iadd", "isub", "idiv" if self.rng.random() < 0.3 else "iadd"])
        self.emit(op, [self.integer(), self.integer()], "int")

    def query(self):
        tensor, info = self.pick("tensor", lambda i: i.shape != ())
        if tensor is not None:
            self.emit("size", [tensor], "int", Info(small=True), dim=self.rng.randrange(len(info.shape)))

    def condition(self):
        self.boolean()

    def pure(self):
        tensor, info = self.pick("tensor")
        if tensor is None:
            return
        kind = self.rng.choice(["add", "mul", "adds", "muls", "relu", "copy", "sum", "zeros", "add"])
        if kind in ("add", "mul"):
            self.emit(kind, [tensor, self.fitting(info.shape)], "tensor", Info(info.shape))
        elif kind in ("adds", "muls"):
            self.emit(kind, [tensor, self.integer()], "tensor", Info(info.shape))
        elif kind == "zeros":
            self.emit("zeros", [], "tensor", Info(info.shape), shape=info.shape)
        else:
            self.emit(kind, [tensor], "tensor", Info(() if kind == "sum" else info.shape))

    def twins(self):
        """Two tensors of one content, which must stay two."""
        tensor, info = self.pick("tensor")
        if tensor is not None:
            for _ in range(2):
                self.emit("copy", [tensor], "tensor", Info(info.shape))

    def view(self):
        tensor, info = self.pick("tensor", lambda i: i.shape != ())
        if tensor is None:
            return
        dim = self.rng.randrange(len(info.shape))
        size, rest = info.shape[dim], info.shape[:dim] + info.shape[dim + 1 :]
        kind = self.rng.choice(["select", "select", "slice", "transpose"])
        if kind == "transpose" and len(info.shape) == 2:
            self.emit("transpose", [tensor], "tensor", Info(info.shape[::-1]), dims=(0, 1))
        elif kind == "slice":
            a, b = sorted((self.rng.randint(0, size), self.rng.randint(0, size)))
            first = self.emit("const", [], "int", Info(small=True), value=a)
            last = self.emit("const", [], "int", Info(small=True), value=b)
            shape = info.shape[:dim] + (b - a,) + info.shape[dim + 1 :]
            self.emit("slice", [tensor, first, last], "tensor", Info(shape), dim=dim)
        else:
            index = self.integer(small=True)
            if size > 0 and self.rng.random() < 0.9:
                index = self.emit("const", [], "int", Info(small=True), value=self.rng.randrange(-size, size))
            self.emit("select", [tensor, index], "tensor", Info(rest), dim=dim)

    def write(self):
        tensor, info = self.pick("tensor")
        if tensor is None:
            return
        kind = self.rng.choice(["add_", "add_", "mul_", "adds_", "muls_", "relu_", "fill_", "copy_"])
        if kind in ("add_", "mul_", "copy_"):
            inputs = [tensor, self.fitting(info.shape)]
        elif kind == "relu_":
            inputs = [tensor]
        else:
            inputs = [tensor, self.integer()]
        self.emit(kind, inputs, "tensor", Info(info.shape))

    def list_statement(self):
        list_, info = self.pick("list")
        kind = self.rng.choice(["list", "append", "append", "getitem", "getitem", "getitem", "setitem", "len"])
        if self.rng.random() < 0.4:  # a list from outside, if there is one
            list_, info = next(((v, i) for v, i in self.scope if v.type == "list"), (list_, info))
        shape = (self.n, self.n)
        if kind == "list" or list_ is None:
            items = [self.pick("tensor", lambda i: i.shape == shape)[0] for _ in range(self.rng.randint(0, 3))]
            items = [i for i in items if i is not None]
            self.emit("list", items, "list", Info(length=len(items)))
        elif kind == "append":
            item, _ = self.pick("tensor", lambda i: i.shape == shape)
            if item is not None:
                self.emit("append", [list_, item])
                info.length += self.depth == 0
        elif kind == "len":
            self.emit("len", [list_], "int", Info(small=True))
        elif info.length or self.rng.random() < 0.1:
            index = self.emit("const", [], "int", Info(small=True), value=self.rng.randrange(max(1, info.length)))
            item, _ = self.pick("tensor", lambda i: i.shape == shape)
            if kind == "getitem" or item is None:
                self.emit("getitem", [list_, index], "tensor", Info(shape))
            else:
                self.emit("setitem", [list_, index, item])

    def tuple_statement(self):
        tuple_ = next((v for v, i in reversed(self.scope) if isinstance(v.type, tuple)), None)
        if tuple_ is None or self.rng.random() < 0.5:
            parts = [self.rng.choice(self.scope) for _ in range(self.rng.randint(1, 3))] if self.scope else []
            parts = [(v, i) for v, i in parts if not isinstance(v.type, tuple)]
            if parts:
                type_ = tuple(v.type for v, _ in parts)
                self.emit("tuple", [v for v, _ in parts], type_, Info(parts=tuple(i for _, i in parts)))
            return
        info = next(i for v, i in self.scope if v is tuple_)
        index = self.rng.randrange(len(tuple_.type))
        self.emit("tuple_get", [tuple_], tuple_.type[index], info.parts[index], index=index)

    def draw(self):
        self.emit("rand", [], "tensor", Info((self.n, self.n)), shape=(self.n, self.n))

    def print_(self):
        value, _ = self.pick(self.rng.choice(["tensor", "tensor", "int"]))
        if value is not None:
            self.emit("print", [value])

    def raise_(self):
        if self.rng.random() < 0.7:
            number = self.emit("const", [], "int", value=self.rng.randint(2, 9))
            condition = self.emit("eq", [self.integer(), number], "bool")
            self.emit("raise_if", [condition], message=f"number {self.rng.randrange(1000)}")

    def call(self):
        if not self.callees:
            return
        function, infos, results = self.rng.choice(self.callees)
        arguments = []
        for param, info in zip(function.body.params, infos, strict=True):
            test = (lambda i, s=info.shape: i.shape == s) if param.type == "tensor" else lambda i: True
            value, _ = self.pick(param.type, test)
            if value is None:
                return
            arguments.append(value)
        outputs = [Value(t) for t in function.types]
        self.block.nodes.append(Node("call", arguments, outputs, {"function": function}))
        self.scope += zip(outputs, results, strict=True)

    def inner(self, params, statements):
        """Writes a block inside of the present one; gives it and its scope."""
        outer = self.block, list(self.scope)
        self.block, self.depth = Block([p for p, _ in params]), self.depth + 1
        self.scope += params
        self.statements(statements)
        written = self.block, self.scope
        (self.block, self.scope), self.depth = outer, self.depth - 1
        return written

    def choices(self, scope, type_, shape):
        return [v for v, i in scope if v.type == type_ and (type_ != "tensor" or i.shape == shape)]

    def if_(self):
        condition = self.boolean()
        blocks = [self.inner([], self.rng.randint(1, 5)) for _ in range(2)]
        outputs = []
        for _ in range(self.rng.randint(0, 3)):
            value, info = self.rng.choice(blocks[0][1][-8:])
            both = [self.choices(scope, value.type, info.shape) for _, scope in blocks]
            if isinstance(value.type, tuple) or not all(both):
                continue
            for (block, _), found in zip(blocks, both, strict=True):
                block.returns.append(self.rng.choice(found[-4:]))
            outputs.append((Value(value.type), Info(info.shape)))
        self.block.nodes.append(Node("if", [condition], [v for v, _ in outputs], {}, [b for b, _ in blocks]))
        self.scope += outputs

    def loop(self):
        count = self.integer(small=True)
        condition = self.emit("const", [], "bool", value=True) if self.rng.random() < 0.6 else self.boolean()
        start = self.emit("const", [], "int", Info(small=True), value=0)
        carried = [self.rng.choice(self.scope) for _ in range(self.rng.randint(0, 3))]
        carried = [(v, i) for v, i in carried if v.type in ("int", "tensor", "list")]
        params = [(Value("int"), Info(small=True))] + [(Value(v.type), Info(i.shape)) for v, i in carried]
        block, scope = self.inner(params, self.rng.randint(1, 5))
        conditions = [v for v, _ in scope if v.type == "bool"]
        block.returns = [self.rng.choice(conditions[-2:]) if self.rng.random() < 0.4 else condition]
        for value, info in carried:
            block.returns.append(self.rng.choice(self.choices(scope, value.type, info.shape)[-3:]))
        outputs = [(Value(v.type), Info(i.shape)) for v, i in carried]
        inputs = [start, count, condition] + [v for v, _ in carried]
        self.block.nodes.append(Node("loop", inputs, [v for v, _ in outputs], {}, [block]))
        self.scope += outputs

    def statements(self, count):
        kinds = [
            (3, self.arithmetic), (1, self.query), (1, self.condition), (5, self.pure), (5, self.view), (6, self.write),
            (1.5, self.tuple_statement), (0.7, self.draw), (1.2, self.print_), (1, self.raise_), (1.2, self.call),
            (0.5, self.twins),
            (4 if self.lists else 0, self.list_statement), (2.5 if self.depth < 3 else 0, self.if_),
            (1.8 if self.depth < 2 else 0, self.loop),
        ]  # fmt: skip
        weights, actions = zip(*kinds, strict=True)
        outer_name, outer_rng, blocks = self.name, self.rng, self.blocks
        for k in range(count):
            # Each statement has random numbers of its own, so that others stay what they are when it is left out.
            self.name, self.blocks = f"{outer_name}.{blocks}.{k}", 0
            self.rng = random.Random(f"{self.program.seed} {self.name}")
            self.program.statements.append(self.name)
            if not self.name.startswith(self.program.without):
                self.rng.choices(actions, weights)[0]()
        self.name, self.rng, self.blocks = outer_name, outer_rng, blocks + 1


class Program:
    """`without` names statements that are left out with all inside of them: so a failing program is made smaller."""

    def __init__(self, seed, scale=1.0, without=(), size=None):
        self.seed, self.without, self.statements = seed, tuple(without), []
        rng = random.Random(seed)
        self.n = size or rng.choice([2, 3, 3])
        self.functions, callees = [], []
        lists = rng.random() < 0.7
        for index in range(rng.randint(1, 3)):
            choices = ["tensor", "tensor", "tensor", "int", "list" if lists else "tensor"]
            kinds = [rng.choice(choices) for _ in range(rng.randint(1, 3))]
            length, inline = int(rng.randint(4, 9) * scale), rng.random() < 0.8
            callees.append(self.write(f"f{index}", kinds, callees, length, lists, inline))
        self.kinds = ["tensor"] * rng.randint(1, 3) + ["int"] * rng.randint(0, 2)
        self.kinds += ["list"] * (lists and rng.random() < 0.75)
        self.entry = self.write("forward", self.kinds, callees, int(rng.randint(8, 22) * scale), lists, True)[0]

    def write(self, name, kinds, callees, length, lists, inline):
        writer = Writer(name, self, list(callees), lists)
        infos = {"tensor": Info((self.n, self.n)), "int": Info(small=True), "list": Info(length=1)}
        for kind in kinds:
            writer.block.params.append(Value(kind))
            info = infos[kind]
            writer.scope.append((writer.block.params[-1], Info(info.shape, info.small, None, info.length)))
        params = list(writer.scope)
        writer.statements(length)
        results = [writer.rng.choice(writer.scope[-8:]) for _ in range(writer.rng.randint(1, 5))]
        if not inline:  # what comes back from a real call is not a tuple here
            results = [(v, i) for v, i in results if not isinstance(v.type, tuple)] or params[:1]
        writer.block.returns = [v for v, _ in results]
        function = Function(name, writer.block, [v.type for v, _ in results], inline)
        self.functions.append(function)
        return function, [i for _, i in params], [Info(i.shape, False, i.parts) for _, i in results]

    def size(self):
        return sum(1 for f in self.functions for _ in walk(f.body))

    def arguments(self, variant):
        """Fresh arguments. 0: as profiled; 1, 2: other numbers; 3: they share memory; 4: other sizes; 5: transposed."""
        rng = random.Random(self.seed * 31 + (variant if variant in (1, 2) else 0))
        n = self.n + (variant == 4)

        def tensor():
            fresh = np.array([rng.randint(-4, 4) for _ in range(n * n)], np.int64).reshape(n, n)
            return fresh.T if variant == 5 else fresh

        arguments = []
        for kind in self.kinds:
            tensors = [a for a in arguments if isinstance(a, np.ndarray)]
            if kind == "tensor":
                shared = variant == 3 and tensors
                arguments.append(tensors[0].T if shared else tensor())
            elif kind == "int":
                arguments.append(rng.randint(0, 3))
            else:
                items = [tensor() for _ in range(rng.randint(1, 3))]
                # A list may hold what is an argument too: reading an element is reading memory that anything may share.
                items.append(tensors[0] if variant != 2 and rng.random() < 0.5 else tensor())
                arguments.append(items)
        return arguments
