"""Statements and blocks: a `Body` writes one function."""

import re

from integration_tests.conformance.random_programs import containers, scalars, tensors
from integration_tests.conformance.random_programs.containers import Containers
from integration_tests.conformance.random_programs.scope import Scope, Var
from integration_tests.conformance.random_programs.tree import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    STR,
    COMPLEX,
    Expr,
    Function,
    Stmt,
    Type,
    dict_of,
    is_wide,
    list_of,
    optional,
    tuple_of,
    union,
)

_STATEMENTS = []


def makes_statement(weight):
    """Registers a function `body -> Stmt, list of Stmt or None if it cannot here`."""

    def register(function):
        _STATEMENTS.append((weight, function))
        return function

    return register


class Body(Containers, Scope):
    def __init__(self, rng, world, budget, function: Function, module=None, self_callees=()):
        super().__init__(rng, world, budget)
        self.function = function
        self.module = module
        self.self_callees = list(self_callees)
        self.may_raise = True
        for name, type in function.params:
            self.vars.append(Var(name, type))

    # What Scope asks for.

    def literal(self, type):
        if type.name == "Tensor":
            return tensors.literal(self, type)
        return scalars.literal(self, type) or containers.literal(self, type)

    def declare(self, name, type, writable=True):
        self.vars.append(Var(name, type, writable))

    # Types.

    def random_type(self, depth=2):
        options = [(8, INT), (5, FLOAT), (4, BOOL), (5, STR), (1, COMPLEX), (14, None)]
        if depth > 0:
            options += [
                (7, "List"),
                (4, "Dict"),
                (3, "Tuple"),
                (3, "Optional"),
                (2, "Union"),
                (3, "class"),
                (1, "enum"),
            ]
        what = self.weighted(options)
        if what is None:
            return tensors.random_kind(self)
        if what in ("List", "Dict"):
            inner = self.random_type(depth - 1)
            while inner.name == "Tuple" and is_wide(inner):
                inner = self.random_type(depth - 1)
            return list_of(inner) if what == "List" else dict_of(self.pick([INT, STR]), inner)
        if what == "Tuple":
            return tuple_of(*(self.random_type(depth - 1) for _ in range(self.pick([1, 2, 2, 3]))))
        if what == "Optional":
            inner = self.random_type(0)
            return optional(inner)
        if what == "Union":
            return union(
                *self.pick(
                    [(INT, STR), (STR, INT), (FLOAT, STR), (INT, list_of(STR)), (STR, tensors.random_kind(self))]
                )
            )
        if what == "class":
            names = list(self.world.classes)
            return Type(self.pick(names)) if names else INT
        if what == "enum":
            return Type(self.pick(list(self.world.enums))) if self.world.enums else INT
        return what

    # Blocks.

    def statements(self, count):
        made = []
        for _ in range(count):
            if self.budget <= 0:
                break
            self.budget -= 1
            one = None
            for _ in range(4):
                one = self.weighted(_STATEMENTS)(self)
                if one is not None:
                    break
            if one is None:
                continue
            made += one if isinstance(one, list) else [one]
            if made[-1].tag in ("return", "raise", "break", "continue"):
                break
        return made

    def inner_block(self, most=4):
        with self.block():
            return self.statements(self.rng.randrange(1, most + 1))

    def guarded(self, condition, statement):
        """Mostly, a statement that may raise stands under what keeps it from that."""
        if self.chance(0.2):
            return statement
        return Stmt(f"if {condition}:", [], [None], [[statement]], tag="if")

    def return_statement(self):
        if self.function.returns == NONE:
            return Stmt("return", tag="return")
        return Stmt("return $", [self.expr(self.function.returns, 2)], tag="return")


@makes_statement(26)
def declaration(body):
    type = body.random_type()
    value = body.expr(type, 3)
    name = body.fresh()
    text = f"{name}: {type} = $" if is_wide(type) or body.chance(0.3) else f"{name} = $"
    body.declare(name, type)
    return Stmt(text, [value], tag="declare")


@makes_statement(14)
def assignment(body):
    places = [(text, type) for text, type, may in body.places() if may]
    if not places:
        return None
    text, type = body.pick(places)
    return Stmt(f"{text} = $", [body.expr(type, 3)], tag="assign.attribute" if "." in text else "assign")


@makes_statement(7)
def augmented_assignment(body):
    places = [(text, type) for text, type, may in body.places() if may and type.name in ("int", "float", "str")]
    if not places:
        return None
    text, type = body.pick(places)
    if type == STR:
        return Stmt(f"{text} += $[:4]", [body.expr(STR, 1)], tag="augmented.str") if not body.loops else None
    operator = body.pick(["+=", "-=", "*="])
    return Stmt(f"{text} {operator} $", [body.expr(type, 2)], tag="augmented.number")


@makes_statement(7)
def tensor_augmented(body):
    return tensors.augmented(body)


@makes_statement(26)
def tensor_in_place(body):
    return tensors.in_place(body)


@makes_statement(16)
def list_mutation(body):
    places = body.places_named("List")
    if not places:
        return None
    text, type = body.pick(places)
    element = type.args[0]
    what = body.rng.randrange(11)
    if what < 3:
        return Stmt(f"{text}.append($)", [body.expr(element, 2)], tag="list.append")
    if what < 5:
        one = Stmt(f"{text}[$] = $", [body.index(1), body.expr(element, 2)], tag="list.set")
        return body.guarded(f"len({text}) > 1", one)
    if what == 5:
        return Stmt(f"{text}.insert($, $)", [body.index(0), body.expr(element, 1)], tag="list.insert")
    if what == 6:
        return Stmt(f"{text}.{body.pick(['reverse', 'reverse', 'clear'])}()", tag="list.reverse")
    if what == 7:
        if body.chance(0.5):
            return Stmt(f"{text}.extend($[:2])", [body.expr(type, 1)], tag="list.extend")
        if "." in text or body.world.written:
            return None  # of a list's += torch.jit does not know that it gives the list: what is written after it is lost
        return Stmt(f"{text} += $[:2]", [body.expr(type, 1)], tag="list.extend")
    if what == 8:
        return body.guarded(f"len({text}) > 0", Stmt(f"del {text}[{body.pick([0, -1])}]", tag="list.delete"))
    if what == 9 and element in (INT, FLOAT, STR):
        if element != STR and body.chance(0.4):
            return Stmt(f"{text}[$] += $", [body.index(0), body.expr(element, 1)], tag="list.augmented")
        return Stmt(f"{text}.sort({body.pick(['', 'reverse=True'])})", tag="list.sort")
    return body.guarded(f"len({text}) > 0", Stmt(f"{text}.pop()", tag="list.pop"))


@makes_statement(9)
def dict_mutation(body):
    places = body.places_named("Dict")
    if not places:
        return None
    text, type = body.pick(places)
    key, value = type.args
    what = body.rng.randrange(8)
    if what < 4:
        return Stmt(f"{text}[$] = $", [body.key(key), body.expr(value, 2)], tag="dict.set")
    if what == 4:
        chosen = body.key(key)
        return body.guarded(f"{chosen.render()} in {text}", Stmt(f"del {text}[$]", [chosen], tag="dict.delete"))
    if what == 5:
        return Stmt(f"{text}.update($)", [body.expr(type, 1)], tag="dict.update")
    if what == 6:
        return Stmt(f"{text}.setdefault($, $)", [body.key(key), body.expr(value, 1)], tag="dict.setdefault")
    chosen = body.key(key)
    return body.guarded(f"{chosen.render()} in {text}", Stmt(f"{text}.pop($)", [chosen], tag="dict.pop"))


@makes_statement(5)
def tuple_unpacking(body):
    type = tuple_of(*(body.random_type(1) for _ in range(body.pick([2, 2, 3]))))
    value = body.expr(type, 2)
    names = [body.fresh() for _ in type.args]
    for name, element in zip(names, type.args):
        if not is_wide(element):
            body.declare(name, element, writable=True)
    return Stmt(f"{', '.join(names)} = $", [value], tag="unpack")


@makes_statement(3)
def swap(body):
    writable = [(text, type) for text, type, may in body.places() if may]
    pairs = [(a, b) for i, a in enumerate(writable) for b in writable[i + 1 :] if a[1] == b[1]]
    if not pairs:
        return None
    (a, _), (b, _) = body.pick(pairs)
    return Stmt(f"{a}, {b} = {b}, {a}", tag="swap")


@makes_statement(6)
def call_statement(body):
    callees = body.world.callees + body.self_callees
    if not callees or body.chance(0.5):
        objects = []
        for text, known, _ in body.places():
            info = body.world.classes.get(known.name)
            if info is not None:
                objects += [(text, method) for method in info.methods]
        if not objects:
            return None
        text, method = body.pick(objects)
        kids = [body.expr(param, 1) for param in method.params]
        return Stmt(f"{text}.{method.text}({', '.join('$' * len(kids))})", kids, tag=method.tag)
    callee = body.pick(callees)
    kids = [body.expr(param, 1) for param in callee.params]
    return Stmt(f"{callee.text}({', '.join('$' * len(kids))})", kids, tag=callee.tag)


# Branches.


@makes_statement(14)
def branch(body):
    if body.nesting >= 4:
        return None
    condition = body.expr(BOOL, 3)
    first = body.inner_block()
    headers, blocks = [None], [first]
    if body.chance(0.2):
        # The condition's place in the tree is the statement's own list of kids, so an elif is an if in an else.
        inner = Stmt("if $:", [body.expr(BOOL, 2)], [None], [body.inner_block(2)], tag="elif")
        if body.chance(0.7):
            inner.headers.append("else:")
            inner.blocks.append(body.inner_block(2))
        headers.append("else:")
        blocks.append([inner])
    elif body.chance(0.5):
        headers.append("else:")
        blocks.append(body.inner_block())
    return Stmt("if $:", [condition], headers, blocks, tag="if")


@makes_statement(4)
def refined_branch(body):
    found = [var for var in body.vars if var.type.name == "Optional"]
    if not found or body.nesting >= 4:
        return None
    var = body.pick(found)
    if body.chance(0.4):
        # What follows knows that it is something.
        leave = raising(body) if body.chance(0.3) and body.may_raise else body.return_statement()
        at = body.vars.index(var)
        made = Stmt(f"if {var.name} is None:", [], [None], [[leave]], tag="refine.leave")
        if body.nesting == 0:
            body.vars[at] = Var(var.name, var.type.args[0], writable=False)
        return made
    with body.refined(var.name, var.type.args[0]):
        known = body.inner_block()
    if body.chance(0.5):
        return Stmt(f"if {var.name} is not None:", [], [None, "else:"], [known, body.inner_block(2)], tag="refine.if")
    return Stmt(f"if {var.name} is None:", [], [None, "else:"], [body.inner_block(2), known], tag="refine.else")


@makes_statement(4)
def isinstance_branch(body):
    found = body.variables("Union")
    if not found or body.nesting >= 4:
        return None
    var = body.pick(found)
    first, rest = var.type.args[0], var.type.args[1]
    test = str(first)
    with body.refined(var.name, first):
        one = body.inner_block(3)
    with body.refined(var.name, rest):
        two = body.inner_block(3)
    return Stmt(f"if isinstance({var.name}, {test}):", [], [None, "else:"], [one, two], tag="isinstance.if")


# Loops.


def _loop_body(body, kind="loop"):
    body.loops.append(kind)
    made = body.inner_block(4)
    body.loops.pop()
    return made


@makes_statement(12)
def for_loop(body):
    if len(body.loops) >= 2 or body.nesting >= 4:
        return None
    what = body.rng.randrange(8)
    name = body.fresh("i")
    kids, declared, kind = [], [(name, INT)], "loop"
    if what < 2:
        head, kids, tag = f"for {name} in range($ % {body.rng.randrange(2, 5)}):", [body.expr(INT, 1)], "for.range"
    elif what == 2:
        bounds = (body.rng.randrange(-2, 6), body.rng.randrange(-2, 6), body.pick([1, 2, -1, -2, 3]))
        head, tag = f"for {name} in range({bounds[0]}, {bounds[1]}, {bounds[2]}):", "for.range_step"
    elif what == 3:
        type = list_of(body.random_type(1))
        head, kids, declared, tag = f"for {name} in $:", [body.expr(type, 1)], [(name, type.args[0])], "for.list"
    elif what == 4:
        type, other = list_of(body.random_type(1)), body.fresh("i")
        if body.chance(0.5):
            head, tag = f"for {name}, {other} in enumerate($):", "for.enumerate"
            kids, declared = [body.expr(type, 1)], [(name, INT), (other, type.args[0])]
        else:
            second = list_of(body.random_type(1))
            head, tag = f"for {name}, {other} in zip($, $):", "for.zip"
            kids = [body.expr(type, 1), body.expr(second, 1)]
            declared = [(name, type.args[0]), (other, second.args[0])]
    elif what == 5:
        places = body.places_named("Dict")
        if not places:
            return None
        text, known = body.pick(places)
        if body.chance(0.5):
            head, declared, tag = f"for {name} in {text}:", [(name, known.args[0])], "for.dict"
        else:
            other = body.fresh("i")
            head, tag = f"for {name}, {other} in {text}.items():", "for.items"
            declared = [(name, known.args[0]), (other, known.args[1])]
    elif what == 6:
        if body.chance(0.5):
            head, kids, declared, tag = f"for {name} in $[:4]:", [body.expr(STR, 1)], [(name, STR)], "for.str"
        else:
            shape = body.pick([(3, 4), (4,)])
            dtype = body.pick(["f32", "i64"])
            head, kids, tag = f"for {name} in $:", [body.expr(tensors.tensor(dtype, *shape), 1)], "for.tensor"
            declared = [(name, tensors.tensor(dtype, *shape[1:]))]
    else:
        type = body.random_type(0)
        count = body.rng.randrange(1, 4)
        head, tag, kind = f"for {name} in ({', '.join('$' * count)},):", "for.tuple", "unrolled"
        kids, declared = [body.expr(type, 1) for _ in range(count)], [(name, type)]
    with body.block():
        for variable, type in declared:
            if not is_wide(type):
                body.declare(variable, type, writable=body.chance(0.3))
        block = _loop_body(body, kind)
    return Stmt(head, kids, [None], [block], tag=tag)


@makes_statement(3)
def for_layers(body):
    """A loop over a ModuleList, which TorchScript unrolls."""
    if body.module is None or body.module.name != "Programs" or body.nesting >= 3 or body.loops:
        return None
    name, layer = body.fresh(), body.fresh("m")
    kind = tensors.tensor("f32", 4)
    start = Stmt(f"{name} = $", [body.expr(kind, 1)], tag="declare")
    body.declare(name, kind)
    call = Stmt(f"{name} = {layer}({name})", tag="call.submodule")
    with body.block():
        block = _loop_body(body, "unrolled")
    return [start, Stmt(f"for {layer} in self.layers:", [], [None], [[call, *block]], tag="for.modules")]


@makes_statement(7)
def while_loop(body):
    if len(body.loops) >= 2 or body.nesting >= 4:
        return None
    counter = body.fresh("n")
    start = Stmt(f"{counter} = 0", tag="", keep=True)
    most = body.rng.randrange(1, 6)
    if body.chance(0.25):
        head, condition, tag = "while True:", [], "while.true"
        step = [Stmt(f"{counter} += 1", keep=True)]
        step.append(Stmt(f"if {counter} > {most}:", [], [None], [[Stmt("break", tag="break", keep=True)]], keep=True))
    else:
        head, condition, tag = f"while {counter} < {most} and $:", [body.expr(BOOL, 2)], "while"
        step = [Stmt(f"{counter} += 1", keep=True)]
    body.declare(counter, INT, writable=False)
    block = _loop_body(body)
    return [start, Stmt(head, condition, [None], [step + block], tag=tag)]


@makes_statement(5)
def leave_loop(body):
    """`break` or `continue`, mostly under a condition."""
    if not body.loops or body.loops[-1] == "unrolled":
        return None
    tag = body.pick(["break", "continue"])
    if body.chance(0.1):
        return Stmt(tag, tag=tag)
    block = body.inner_block(2) if body.chance(0.4) and body.nesting < 4 else []
    if block and block[-1].tag in ("return", "raise", "break", "continue"):
        return None
    return Stmt("if $:", [body.expr(BOOL, 2)], [None], [[*block, Stmt(tag, tag=tag)]], tag="if")


@makes_statement(4)
def early_return(body):
    if body.nesting == 0 or "unrolled" in body.loops:
        return None
    if body.chance(0.3):
        return body.return_statement()
    return Stmt("if $:", [body.expr(BOOL, 2)], [None], [[body.return_statement()]], tag="early_return")


# Exceptions.


def raising(body):
    name = body.pick(["ValueError", "RuntimeError", "IndexError", "KeyError", "TypeError", *body.world.errors])
    what = body.rng.randrange(5)
    if what == 0:
        return Stmt(f"raise {name}({body.pick(['bad', 'no such thing', 'a: b', ''])!r})", tag="raise")
    if what == 1 and name not in body.world.errors:
        return Stmt(f"raise {name}()", tag="raise")
    return Stmt(f"raise {name}($)", [body.expr(STR, 2)], tag="raise")


@makes_statement(3)
def raise_statement(body):
    if not body.may_raise:
        return None
    if body.nesting > 0 and body.chance(0.2):
        return raising(body)
    return Stmt("if $:", [body.expr(BOOL, 3)], [None], [[raising(body)]], tag="if")


@makes_statement(3)
def assertion(body):
    if not body.may_raise:
        return None
    if body.chance(0.3):
        return Stmt("assert $", [body.expr(BOOL, 2)], tag="assert")
    return Stmt("assert $, $", [body.expr(BOOL, 2), body.expr(STR, 1)], tag="assert")


# Contexts and forks.


@makes_statement(3)
def no_grad(body):
    if body.nesting >= 3 or body.loops and body.loops[-1] == "unrolled":
        return None
    known = body.loops
    body.loops = []  # leaving a loop from within a with is not TorchScript
    block = body.inner_block(3)
    body.loops = known
    return Stmt("with torch.no_grad():", [], [None], [block], tag="with")


def _isolated(body, type):
    """An argument that shares nothing with the body: two threads must not write one value."""
    value = body.expr(type, 1)
    copies = {"Tensor": "$.clone()", "List": "$.copy()", "Dict": "$.copy()"}
    return Expr(type, copies[type.name], [value]) if type.name in copies else value


def can_run_beside(callee):
    """Whether arguments can be made that share nothing with the caller."""

    def alone(type, outer=True):
        if type.name == "Tensor":
            return outer
        if type.name in ("List", "Dict"):
            return outer and all(alone(arg, False) for arg in type.args)
        return type in (INT, FLOAT, BOOL, STR, COMPLEX)

    return all(alone(param) for param in callee.params)


@makes_statement(7)
def fork(body):
    """One or two calls that run beside what stands between them and their waits."""
    callees = [callee for callee in body.world.callees if can_run_beside(callee)]
    if not callees or body.nesting >= 4:
        return None
    starts, waits = [], []
    for _ in range(body.pick([1, 1, 2])):
        callee = body.pick(callees)
        name, result = body.fresh("f"), body.fresh()
        kids = [_isolated(body, param) for param in callee.params]
        names = {var.name for var in body.vars} | {"self"}
        if not any(names & set(re.findall(r"\w+", kid.render())) for kid in kids):
            return None  # torch.jit does not load a fork of constants that it saved
        starts.append(
            Stmt(f"{name} = torch.jit.fork({', '.join([callee.text, *('$' * len(kids))])})", kids, tag="fork")
        )
        wait = body.pick([f"torch.jit.wait({name})", f"{name}.wait()"])
        waits.append((result, callee.returns, Stmt(f"{result} = {wait}", tag="wait")))
    between = []
    if body.chance(0.5):
        between = body.inner_block(2)
        if between and between[-1].tag in ("return", "raise", "break", "continue"):
            between.pop()
    for result, type, _ in waits:
        if type.name not in ("Optional", "Union"):
            body.declare(result, type)
    return [*starts, Stmt("if True:", [], [None], [between]), *(wait for _, _, wait in waits)]
