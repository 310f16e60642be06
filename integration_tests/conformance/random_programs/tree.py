"""Types, expressions, statements and functions of a generated program, and their text.

A node is a text with a `$` for every child: nothing here knows what a construct means, so the reducer works on every
construct alike. `tag` names the construct for the counts of what was generated.
"""

from dataclasses import dataclass, field
from typing import Iterator, List, Optional, Tuple


@dataclass(frozen=True)
class Type:
    """A TorchScript type. A tensor's `args` are its dtype and shape as far as the generator foresees them."""

    name: str
    args: tuple = ()

    def __str__(self):
        if self.name == "Tensor":
            return "torch.Tensor"
        if not self.args:
            return self.name
        return f"{self.name}[{', '.join(map(str, self.args))}]"


INT, FLOAT, BOOL, STR, COMPLEX = (Type(name) for name in ("int", "float", "bool", "str", "complex"))
NONE = Type("None")


def tensor(dtype, *shape):
    return Type("Tensor", (dtype, shape))


def list_of(element):
    return Type("List", (element,))


def dict_of(key, value):
    return Type("Dict", (key, value))


def tuple_of(*elements):
    return Type("Tuple", elements)


def optional(element):
    return Type("Optional", (element,))


def union(*members):
    return Type("Union", members)


def future(element):
    return Type("torch.jit.Future", (element,))


def is_wide(type):
    """Whether a value's own type may be narrower than `type`: an Optional or Union, or a container of one."""
    return type.name in ("Optional", "Union") or any(is_wide(arg) for arg in type.args if isinstance(arg, Type))


@dataclass
class Expr:
    type: Type
    text: str
    kids: List["Expr"] = field(default_factory=list)
    tag: str = ""

    def render(self):
        if not self.kids:
            return self.text
        pieces = self.text.split("$")
        assert len(pieces) == len(self.kids) + 1, (self.text, len(self.kids))
        out = [pieces[0]]
        for kid, piece in zip(self.kids, pieces[1:]):
            out.append(kid.render())
            out.append(piece)
        return "".join(out)


@dataclass
class Stmt:
    """A statement: `text` is its first line; every block has a header of its own (`headers[0]` is None where the
    block stands under the first line)."""

    text: str
    kids: List[Expr] = field(default_factory=list)
    headers: List[Optional[str]] = field(default_factory=list)
    blocks: List[List["Stmt"]] = field(default_factory=list)
    tag: str = ""
    # A statement that the program needs to end or to be well formed: the counter of a while loop, the last return.
    keep: bool = False

    def lines(self, indent) -> Iterator[str]:
        space = "    " * indent
        yield space + Expr(NONE, self.text, self.kids).render()
        for header, block in zip(self.headers, self.blocks):
            if header is not None:
                yield space + header
            if not block:
                yield space + "    pass"
            for statement in block:
                yield from statement.lines(indent + 1)


@dataclass
class Function:
    name: str
    params: List[Tuple[str, Type]]
    returns: Type
    body: List[Stmt]
    is_method: bool = False
    decorator: str = ""

    def lines(self, indent=0) -> Iterator[str]:
        space = "    " * indent
        if self.decorator:
            yield space + self.decorator
        params = ["self"] if self.is_method else []
        params += [f"{name}: {type}" for name, type in self.params]
        yield f"{space}def {self.name}({', '.join(params)}) -> {self.returns}:"
        for statement in self.body:
            yield from statement.lines(indent + 1)


@dataclass
class Class:
    """A class, an nn.Module, a NamedTuple or an Enum: `head` is its first line and what stands below it as text."""

    name: str
    head: List[str]
    methods: List[Function] = field(default_factory=list)

    def lines(self, indent=0) -> Iterator[str]:
        yield from self.head
        for method in self.methods:
            yield ""
            yield from method.lines(indent + 1)


def walk_blocks(body: List[Stmt]) -> Iterator[List[Stmt]]:
    """Every list of statements in `body`, outer ones first."""
    yield body
    for statement in body:
        for block in statement.blocks:
            yield from walk_blocks(block)


def walk_statements(body: List[Stmt]) -> Iterator[Stmt]:
    for block in walk_blocks(body):
        yield from block


def walk_expressions(expr: Expr) -> Iterator[Expr]:
    yield expr
    for kid in expr.kids:
        yield from walk_expressions(kid)


def tags_of(function: Function) -> Iterator[str]:
    """The constructs of a function, one name a use."""
    for statement in walk_statements(function.body):
        if statement.tag:
            yield statement.tag
        for kid in statement.kids:
            for expr in walk_expressions(kid):
                if expr.tag:
                    yield expr.tag
