"""Expressions of containers and objects: lists, dicts, tuples, Optional, Union, classes, named tuples, enums; and what
every type has: a ternary, an element of a container, a call."""

from integration_tests.conformance.random_programs.scope import makes
from integration_tests.conformance.random_programs.tree import BOOL, FLOAT, INT, NONE, STR, Expr, Type, is_wide, list_of


def literal(body, type):
    args = [str(arg) for arg in type.args]
    if type.name == "List":
        if body.chance(0.2):
            return Expr(type, f"torch.jit.annotate({type}, [])", tag="list.empty")
        elements = [body.expr(type.args[0], 0) for _ in range(body.rng.randrange(1, 4))]
        return Expr(type, f"torch.jit.annotate({type}, [{', '.join('$' * len(elements))}])", elements, "list.literal")
    if type.name == "Dict":
        keys = body.key_literals(type.args[0])
        values = [body.expr(type.args[1], 0) for _ in keys]
        pairs = ", ".join(f"{key!r}: $" for key in keys)
        return Expr(type, f"torch.jit.annotate({type}, {{{pairs}}})", values, "dict.literal")
    if type.name == "Tuple":
        elements = [body.expr(arg, 0) for arg in type.args]
        return Expr(type, f"({', '.join('$' * len(elements))},)", elements, "tuple.literal")
    if type.name == "Optional":
        if body.chance(0.4):
            return Expr(type, f"torch.jit.annotate({type}, None)", tag="optional.none")
        return Expr(type, f"torch.jit.annotate({type}, $)", [body.expr(type.args[0], 0)], "optional.some")
    if type.name == "Union":
        return Expr(type, f"torch.jit.annotate({type}, $)", [body.expr(body.pick(type.args), 0)], "union.literal")
    if type.name in body.world.enums:
        return Expr(type, f"{type.name}.{body.pick(body.world.enums[type.name])}", tag="enum.literal")
    info = body.world.classes.get(type.name)
    if info is not None:
        kids = [body.expr(kind, 0) for _, kind in info.attributes]
        return Expr(
            type, f"{type.name}({', '.join('$' * len(kids))})", kids, "tuple.named" if info.is_tuple else "object"
        )
    if type == NONE:
        return Expr(NONE, "None")
    raise AssertionError(f"no literal of {type} {args}")


# Every type.


@makes("any", 10)
def ternary(body, type, depth):
    if is_wide(type) and type.name != "Optional":
        return None  # TorchScript types an annotated literal by its value, and unifies no union
    if type.name in body.world.classes and not body.world.classes[type.name].is_tuple and depth == 0:
        return None
    kids = [body.expr(type, depth), body.expr(BOOL, depth), body.expr(type, depth)]
    return Expr(type, "($ if $ else $)", kids, "ternary")


@makes("any", 12)
def element_of_list(body, type, depth):
    places = body.places_of(list_of(type))
    if not places:
        return None
    return Expr(type, "$[$]", [Expr(list_of(type), body.pick(places)), body.index(depth)], "list.index")


@makes("any", 8)
def element_of_dict(body, type, depth):
    places = [(text, known) for text, known in body.places_named("Dict") if known.args[1] == type]
    if not places:
        return None
    text, known = body.pick(places)
    key = body.key(known.args[0])
    if type.name in ("int", "float", "str", "bool") and body.chance(0.7):
        return Expr(type, "$.get($, $)", [Expr(known, text), key, body.expr(type, 0)], "dict.get")
    if body.chance(0.5) and type.name not in body.world.classes:
        kids = [Expr(known, text), key, key, Expr(known, text), body.expr(type, 0)]
        return Expr(type, "($[$] if $ in $ else $)", kids, "dict.index") if not is_wide(type) else None
    return Expr(type, "$[$]", [Expr(known, text), key], "dict.index")


@makes("any", 12)
def call(body, type, depth):
    callees = [callee for callee in body.world.callees + body.self_callees if callee.returns == type]
    methods = []
    for text, known, _ in body.places():
        info = body.world.classes.get(known.name)
        if info is not None:
            methods += [(text, method) for method in info.methods if method.returns == type]
    if not callees and not methods:
        return None
    if methods and (not callees or body.chance(0.5)):
        text, method = body.pick(methods)
        kids = [body.expr(param, min(depth, 1)) for param in method.params]
        return Expr(type, f"{text}.{method.text}({', '.join('$' * len(kids))})", kids, method.tag)
    callee = body.pick(callees)
    kids = [body.expr(param, min(depth, 1)) for param in callee.params]
    return Expr(type, f"{callee.text}({', '.join('$' * len(kids))})", kids, callee.tag)


@makes("any", 4)
def popped(body, type, depth):
    places = body.places_of(list_of(type))
    if not places:
        return None
    at = body.pick(["", "", "0", "-1"])
    return Expr(type, f"$.pop({at})", [Expr(list_of(type), body.pick(places))], "list.pop")


# Lists.


@makes("List", 10)
def list_display(body, type, depth):
    elements = [body.expr(type.args[0], depth) for _ in range(body.rng.randrange(1, 4))]
    text = f"[{', '.join('$' * len(elements))}]"
    return Expr(type, f"torch.jit.annotate({type}, {text})" if is_wide(type) else text, elements, "list.literal")


@makes("List", 8)
def list_slice(body, type, depth):
    bounds = [repr(body.rng.randrange(-3, 4)) if body.chance(0.6) else "" for _ in range(2)]
    step = body.pick(["", "", ":2", ":-1"])
    return Expr(type, f"$[{bounds[0]}:{bounds[1]}{step}]", [body.expr(type, depth)], "list.slice")


@makes("List", 5)
def list_concatenation(body, type, depth):
    return Expr(type, "($[:4] + $[:4])", [body.expr(type, depth), body.expr(type, depth)], "list.concat")


@makes("List", 3)
def list_repeat(body, type, depth):
    return Expr(type, f"($[:3] * {body.rng.randrange(-1, 3)})", [body.expr(type, depth)], "list.repeat")


@makes("List", 10)
def list_comprehension(body, type, depth):
    if body.in_expression_of_block or is_wide(type):
        return None
    name = body.fresh("e")
    if body.chance(0.4):
        source, element = Expr(INT, f"range($ % {body.rng.randrange(2, 5)})", [body.expr(INT, 1)]), INT
    else:
        places = body.places_named("List")
        if not places:
            return None
        text, known = body.pick(places)
        source, element = Expr(known, f"{text}[:5]"), known.args[0]
    body.in_expression_of_block += 1
    with body.block():
        body.declare(name, element, writable=False)
        value = body.expr(type.args[0], max(depth, 1))
    body.in_expression_of_block -= 1
    return Expr(type, f"[$ for {name} in $]", [value, source], "list.comprehension")


@makes("List", 3)
def list_of_dict(body, type, depth):
    for what, index in (("keys", 0), ("values", 1)):
        places = [(t, k) for t, k in body.places_named("Dict") if k.args[index] == type.args[0]]
        if places:
            text, known = body.pick(places)
            if what == "keys" and type.args[0] == INT and body.chance(0.5):
                return Expr(type, "sorted(list($.keys()))", [Expr(known, text)], "dict.keys")
            return Expr(type, f"list($.{what}())", [Expr(known, text)], f"dict.{what}")
    return None


@makes("List", 4)
def list_special(body, type, depth):
    element = type.args[0]
    if element == STR:
        if body.chance(0.3):
            return Expr(type, "$.splitlines()", [body.expr(STR, depth)], "str.split")
        return Expr(type, "$.split($)", [body.expr(STR, depth), body.pick_needle()], "str.split")
    if element in (INT, FLOAT):
        return Expr(type, "sorted($)", [body.expr(type, depth)], "list.sorted")
    if element.name in ("int", "Tensor"):
        return Expr(type, "list($)", [body.expr(type, depth)], "list.copy")
    return Expr(type, "$.copy()", [body.expr(type, depth)], "list.copy")


@makes("int", 6)
def int_of_list(body, type, depth):
    what = body.rng.randrange(4)
    if what == 0:
        return Expr(INT, "sum($)", [body.expr(list_of(INT), depth)], "list.sum")
    if what == 1:
        return Expr(INT, f"{body.pick(['min', 'max'])}($)", [body.expr(list_of(INT), depth)], "list.minmax")
    kind = list_of(body.pick([INT, STR]))
    name = "index" if body.chance(0.2) else "count"
    return Expr(INT, f"$.{name}($)", [body.expr(kind, depth), body.expr(kind.args[0], 0)], f"list.{name}")


@makes("bool", 6)
def bool_of_container(body, type, depth):
    what = body.rng.randrange(5)
    if what == 0:
        kind = body.pick([INT, STR, FLOAT])
        return Expr(
            BOOL,
            f"($ {body.pick(['in', 'not in'])} $)",
            [body.expr(kind, 0), body.expr(list_of(kind), depth)],
            "in.list",
        )
    if what == 1:
        places = body.places_named("Dict")
        if not places:
            return None
        text, known = body.pick(places)
        return Expr(
            BOOL, f"($ {body.pick(['in', 'not in'])} $)", [body.key(known.args[0]), Expr(known, text)], "in.dict"
        )
    if what == 2:
        kind = list_of(body.pick([INT, STR, FLOAT]))
        return Expr(
            BOOL, f"($ {body.pick(['==', '!='])} $)", [body.expr(kind, depth), body.expr(kind, depth)], "list.eq"
        )
    if what == 3:
        return Expr(BOOL, f"{body.pick(['any', 'all'])}($)", [body.expr(list_of(BOOL), depth)], "any_all")
    enums = [Type(name) for name in body.world.enums]
    if not enums:
        return None
    enum = body.pick(enums)
    return Expr(BOOL, f"($ {body.pick(['==', '!='])} $)", [body.expr(enum, 0), body.expr(enum, 0)], "enum.eq")


@makes("bool", 5)
def bool_of_refinable(body, type, depth):
    """`x is None`, and `x is not None and` something that uses x as what it is then."""
    if body.in_expression_of_block:
        return None
    found = [var for var in body.vars if var.type.name == "Optional"]
    if not found:
        return None
    var = body.pick(found)
    if body.chance(0.4):
        return Expr(BOOL, f"($ {body.pick(['is', 'is not'])} None)", [Expr(var.type, var.name)], "is_none")
    with body.refined(var.name, var.type.args[0]):
        rest = body.expr(BOOL, depth)
    if body.chance(0.5):
        return Expr(BOOL, f"({var.name} is not None and $)", [rest], "refine.and")
    return Expr(BOOL, f"({var.name} is None or $)", [rest], "refine.or")


@makes("bool", 2)
def bool_isinstance(body, type, depth):
    found = body.variables("Union")
    if not found:
        return None
    var = body.pick(found)
    return Expr(BOOL, f"isinstance({var.name}, {body.pick(var.type.args)})", [], "isinstance")


# Dicts, tuples, Optional, Union.


@makes("Dict", 6)
def dict_display(body, type, depth):
    keys = body.key_literals(type.args[0])
    if not keys:
        return None
    text = f"{{{', '.join(f'{key!r}: $' for key in keys)}}}"
    values = [body.expr(type.args[1], depth) for _ in keys]
    return Expr(type, f"torch.jit.annotate({type}, {text})" if is_wide(type) else text, values, "dict.literal")


@makes("Dict", 5)
def dict_comprehension(body, type, depth):
    if body.in_expression_of_block or type.args[0] != INT or is_wide(type):
        return None
    name = body.fresh("k")
    source = Expr(INT, f"range($ % {body.rng.randrange(2, 5)})", [body.expr(INT, 1)])
    body.in_expression_of_block += 1
    with body.block():
        body.declare(name, INT, writable=False)
        value = body.expr(type.args[1], 1)
    body.in_expression_of_block -= 1
    return Expr(type, f"{{{name}: $ for {name} in $}}", [value, source], "dict.comprehension")


@makes("Dict", 4)
def dict_copy(body, type, depth):
    return Expr(type, "$.copy()", [body.expr(type, 0)], "dict.copy")


@makes("Tuple", 10)
def tuple_display(body, type, depth):
    return Expr(
        type, f"({', '.join('$' * len(type.args))},)", [body.expr(arg, depth) for arg in type.args], "tuple.literal"
    )


@makes("Optional", 10)
def optional_some(body, type, depth):
    return Expr(type, f"torch.jit.annotate({type}, $)", [body.expr(type.args[0], depth)], "optional.some")


@makes("Optional", 5)
def optional_of_dict(body, type, depth):
    places = [(t, k) for t, k in body.places_named("Dict") if k.args[1] == type.args[0]]
    if not places:
        return None
    text, known = body.pick(places)
    return Expr(type, "$.get($)", [Expr(known, text), body.key(known.args[0])], "dict.get_optional")


@makes("Union", 10)
def union_member(body, type, depth):
    member = body.expr(body.pick(type.args), depth)
    return Expr(type, f"torch.jit.annotate({type}, $)", [member], "union.literal")


@makes("int", 3)
def int_of_enum(body, type, depth):
    found = [text for text, known, _ in body.places() if known.name in body.world.enums]
    return Expr(INT, f"{body.pick(found)}.value", [], "enum.value") if found else None


@makes("str", 2)
def str_of_enum(body, type, depth):
    found = [text for text, known, _ in body.places() if known.name in body.world.enums]
    return Expr(STR, f"{body.pick(found)}.name", [], "enum.name") if found else None


class Containers:
    """What the constructs above ask of a body."""

    def index(self, depth):
        """An index: mostly within a short list, at times computed, at times out of range."""
        if depth > 0 and self.chance(0.15):
            return Expr(INT, "($ % 3)", [self.expr(INT, depth - 1)])
        return Expr(INT, repr(self.pick([0, -1, 1, 2, -2, 5] if self.chance(0.15) else [0, -1])))

    def key_literals(self, type):
        keys = ["a", "b", "c"] if type == STR else [0, 1, 2]
        return keys[: self.rng.randrange(1, 4)]

    def key(self, type):
        if self.chance(0.92):
            return Expr(type, repr(self.pick(["a", "b"] if type == STR else [0, 1])))
        return self.expr(type, 1)

    def pick_needle(self):
        return Expr(STR, repr(self.pick(["a", "b", ",", " ", "1", "rt", "."])))
