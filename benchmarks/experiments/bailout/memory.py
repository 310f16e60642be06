"""What the second step knows of memory: abstract values, objects by identity, and a heap: what holds what now."""

from dataclasses import dataclass

from benchmarks.experiments.bailout.ir import EFFECTS, WRITES, Value, walk

ACTS = (EFFECTS - set(WRITES)) | {"commit", "write", "into"}  # what is an effect in functional form


def acts(block):
    return any(node.op in ACTS for node in walk(block))


class Obj:
    """A tensor or list by identity. Whether it is real yet is the heap's to know."""

    __slots__ = ("wild",)

    def __init__(self, wild=False):
        self.wild = wild


@dataclass(frozen=True)
class Scalar:
    value: Value


@dataclass(frozen=True)
class Ref:
    obj: Obj
    path: tuple = ()  # of (view, attrs as items, count of ints)
    ints: tuple = ()


@dataclass(frozen=True)
class ListRef:
    obj: Obj


@dataclass(frozen=True)
class Tup:
    parts: tuple


class Heap:
    def __init__(self):
        self.base = {}  # real objects: the value that is the tensor or list
        self.content = {}  # tensors: the value that is what memory would hold in the baseline
        self.items = {}  # virtual lists
        self.dirty = {}  # real tensors whose memory does not hold their content yet (a set in order)
        self.since = {}  # policy "between": how many guards there were when the content was last the memory's

    def copy(self):
        other = Heap()
        for name in ("base", "content", "items", "dirty", "since"):
            setattr(other, name, dict(getattr(self, name)))
        return other


def parts_of(abstract):
    """The abstract and, of a tuple, what it holds."""
    if isinstance(abstract, Tup):
        for part in abstract.parts:
            yield from parts_of(part)
    else:
        yield abstract


def frozen(attrs):
    return attrs if isinstance(attrs, FrozenAttrs) else FrozenAttrs(attrs)


class FrozenAttrs(dict):
    """Attributes that can be part of a key."""

    def __hash__(self):
        return hash(tuple(sorted(self.items())))
