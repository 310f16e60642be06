"""The small IR: functions in SSA with structured control flow, and what every operator does.

A Block has parameters, nodes and returns. `if` has two blocks; `loop` has one, whose parameters are the iteration's
number and the carried values and whose returns are the next condition and the next carried values; its inputs are the
first number, the trip count, the first condition and the first carried values.

Tensors are numpy arrays of int64 that wrap around: every result is exact, so runs are compared bit by bit. A fresh
tensor owns its memory and is contiguous; a view's `base` is the array that owns its memory. Lists are Python lists
(they have an identity and can be changed), tuples are tuples."""

from dataclasses import dataclass, field

import numpy as np


class ModelError(Exception):
    """What a program raises. `trace` is the stack of (function, pc) where it was raised, outermost first."""

    trace = None


class Value:
    __slots__ = ("id", "type")
    count = 0

    def __init__(self, type_):
        Value.count += 1
        self.id = Value.count
        self.type = type_  # "int", "bool", "tensor", "list" (of tensors) or a tuple of types

    def __repr__(self):
        return f"%{self.id}"


@dataclass(eq=False)
class Node:
    op: str
    inputs: list
    outputs: list
    attrs: dict = field(default_factory=dict)
    blocks: list = field(default_factory=list)
    pc: int = -1  # of its instruction in the baseline code
    state: object = None  # optimised code: what the baseline needs to go on right after this node
    before: object = None  # optimised code: the same right before this node
    bail: object = None  # optimised code: where the run goes on if this node fails

    @property
    def output(self):
        return self.outputs[0]


@dataclass(eq=False)
class Block:
    params: list = field(default_factory=list)
    nodes: list = field(default_factory=list)
    returns: list = field(default_factory=list)


@dataclass(eq=False)
class Function:
    name: str
    body: Block
    types: list  # of the results
    inline: bool = True
    code: object = None


VIEWS = {"select", "slice", "transpose"}
# An operator that writes its first input -> the operator that computes what it writes.
WRITES = {"add_": "add", "mul_": "mul", "adds_": "adds", "muls_": "muls", "relu_": "relu", "fill_": "fill"}
WRITES["copy_"] = "copyto"
ELEMENTWISE = {"add", "mul", "adds", "muls", "relu", "fill", "copyto", "copy"}
INT_OPS = {"iadd", "isub", "imul", "idiv", "lt", "eq", "and", "not"}
# What others see of a run, in the order in which it happens.
EFFECTS = set(WRITES) | {"append", "setitem", "rand", "print", "call", "raise_if"}


def walk(block):
    for node in block.nodes:
        yield node
        for inner in node.blocks:
            yield from walk(inner)


def wrap(number):
    return (number + 2**31) % 2**32 - 2**31


def view(op, tensor, attrs, *ints):
    """A view of the tensor's memory."""
    rank = tensor.ndim
    if op == "transpose":
        if max(attrs["dims"]) >= rank:
            raise ModelError(f"transpose: dimensions {attrs['dims']} of a tensor of rank {rank}")
        return tensor.swapaxes(*attrs["dims"])
    dim = attrs["dim"]
    if dim >= rank:
        raise ModelError(f"{op}: dimension {dim} of a tensor of rank {rank}")
    head = (slice(None),) * dim
    if op == "select":
        size = tensor.shape[dim]
        if not -size <= ints[0] < size:
            raise ModelError(f"select: index {ints[0]} of {size}")
        return tensor[(*head, ints[0], ...)]
    return tensor[(*head, slice(*ints), ...)]


def walk_path(tensor, path, ints):
    """Applies views one after the other; `ints` are all their integers, in order."""
    at = 0
    for op, attrs, count in path:
        tensor = view(op, tensor, attrs, *ints[at : at + count])
        at += count
    return tensor


def elementwise_shape(op, inputs, like_self):
    shapes = [i.shape if isinstance(i, np.ndarray) else () for i in inputs]
    if len(shapes) == 1 or shapes[0] == shapes[1]:
        return shapes[0]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ModelError(f"{op}: shapes {shapes[0]} and {shapes[1]}") from None
    if like_self and shape != shapes[0]:
        raise ModelError(f"{op}: output of shape {shape} does not fit {shapes[0]}")
    return shape


def elementwise(op, inputs, out):
    if op in ("add", "adds"):
        np.add(inputs[0], inputs[1], out=out)
    elif op in ("mul", "muls"):
        np.multiply(inputs[0], inputs[1], out=out)
    elif op == "relu":
        np.maximum(inputs[0], 0, out=out)
    elif op == "copy":
        np.copyto(out, inputs[0])
    else:  # fill, copyto: only the first input's shape matters
        np.copyto(out, inputs[1])


def compute(op, inputs, attrs, out=None):
    """The result of an operator without effect. `out` takes the result if it has the right shape already."""
    if op in ELEMENTWISE:
        shape = elementwise_shape(op, inputs, attrs.get("like_self", False))
        if out is None:
            out = np.empty(shape, np.int64)
        elementwise(op, inputs, out)
        return out
    if op in INT_OPS:
        return compute_int(op, inputs)
    if op == "const":
        return attrs["value"]
    if op in VIEWS:
        return view(op, inputs[0], attrs, *inputs[1:])
    if op == "size":
        if attrs["dim"] >= inputs[0].ndim:
            raise ModelError(f"size: dimension {attrs['dim']} of a tensor of rank {inputs[0].ndim}")
        return inputs[0].shape[attrs["dim"]]
    if op == "item":
        if inputs[0].size != 1:
            raise ModelError(f"item: a tensor of {inputs[0].size} elements")
        return wrap(int(inputs[0].reshape(-1)[0]))
    if op == "sum":
        if out is None:
            out = np.empty((), np.int64)
        np.sum(inputs[0], out=out)
        return out
    if op == "zeros":
        if out is None:
            out = np.empty(attrs["shape"], np.int64)
        out[...] = 0
        return out
    if op == "getitem":
        items, index = inputs
        if not -len(items) <= index < len(items):
            raise ModelError(f"getitem: index {index} of {len(items)}")
        return items[index]
    if op == "len":
        return len(inputs[0])
    if op == "list":
        return list(inputs)
    if op == "tuple":
        return tuple(inputs)
    if op == "tuple_get":
        return inputs[0][attrs["index"]]
    raise AssertionError(op)


def compute_int(op, inputs):
    a = inputs[0]
    if op == "not":
        return not a
    b = inputs[1]
    if op == "and":
        return a and b
    if op == "lt":
        return a < b
    if op == "eq":
        return a == b
    if op == "idiv":
        if b == 0:
            raise ModelError("integer division by zero")
        return wrap(a // b)
    return wrap(a + b if op == "iadd" else a - b if op == "isub" else a * b)


class Run:
    """What a run leaves behind beside its answer: the log of its effects, and how far its generator is."""

    def __init__(self, seed):
        self.log = []
        self.draws = 0
        self.seed = seed

    def rand(self, shape):
        self.draws += 1
        count = int(np.prod(shape)) if shape else 1
        numbers = [(self.seed * 7919 + self.draws * 104729 + k * 1299709) % 19 - 9 for k in range(count)]
        self.log.append(("rand", self.draws))
        return np.array(numbers, np.int64).reshape(shape)

    def print(self, value):
        self.log.append(("print", (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value))


def act(op, inputs, attrs, run):
    """Executes an operator with an effect. It raises before it acts or not at all."""
    if op in WRITES:
        elementwise_shape(op, inputs, True)
        elementwise(WRITES[op], inputs, inputs[0])
        return inputs[0]
    if op == "append":
        inputs[0].append(inputs[1])
        return None
    if op == "setitem":
        items, index, item = inputs
        if not -len(items) <= index < len(items):
            raise ModelError(f"setitem: index {index} of {len(items)}")
        items[index] = item
        return None
    if op == "rand":
        return run.rand(attrs["shape"])
    if op == "print":
        run.print(inputs[0])
        return None
    if op == "raise_if":
        if inputs[0]:
            raise ModelError(f"raised by the program: {attrs['message']}")
        return None
    raise AssertionError(op)


def show(function_or_block, indent=0):
    """The text of a function, for messages."""
    if isinstance(function_or_block, Function):
        params = ", ".join(f"{p}: {p.type}" for p in function_or_block.body.params)
        head = f"{'' if function_or_block.inline else 'noinline '}{function_or_block.name}({params}):"
        return "\n".join([head, show(function_or_block.body, 2)])
    lines, pad = [], " " * indent
    for node in function_or_block.nodes:
        outputs = ", ".join(map(str, node.outputs))
        attrs = {k: v for k, v in node.attrs.items() if k not in ("head", "places")}
        if "function" in attrs:
            attrs["function"] = attrs["function"].name
        inputs = ", ".join(map(str, node.inputs))
        bail = f"  -> {node.bail}" if node.bail is not None else ""
        after = f"  state {node.state}" if node.state is not None else ""
        lines.append(f"{pad}{outputs}{' = ' if outputs else ''}{node.op}{attrs or ''}({inputs}){bail}{after}")
        for inner in node.blocks:
            lines.append(f"{pad}  block({', '.join(map(str, inner.params))}):")
            lines.append(show(inner, indent + 4))
    lines.append(f"{pad}return {', '.join(map(str, function_or_block.returns))}")
    return "\n".join(lines)
