"""Expressions of int, float, bool, complex and str, with Python's semantics as TorchScript has them."""

from integration_tests.conformance.random_programs.scope import makes
from integration_tests.conformance.random_programs.tree import BOOL, COMPLEX, FLOAT, INT, STR, Expr, list_of

_INTS = [0, 1, 2, 3, 4, 5, 7, -1, -2, -3, 10, 63, 64, 100, -128, 2**31, -(2**31), 2**53 + 1, 2**62, 2**63 - 1]
_FLOATS = [0.0, 1.0, -1.0, 0.5, -2.5, 3.25, 1e-3, 100.0, 12345.5, 0.1, -0.0, 2.0, 1e300, 7.0]
_STRINGS = ["", "a", "b", "ab", "Abc", "x y", "hearth", " pad ", "1", "12", "a,b,c", "tab\tb", "line\nb", "ZZ", "q'q"]


def literal(body, type):
    if type == INT:
        return Expr(INT, repr(body.pick(_INTS) if body.chance(0.3) else body.rng.randrange(-4, 8)))
    if type == FLOAT:
        return Expr(FLOAT, repr(body.pick(_FLOATS)))
    if type == BOOL:
        return Expr(BOOL, body.pick(["True", "False"]))
    if type == STR:
        return Expr(STR, repr(body.pick(_STRINGS)))
    if type == COMPLEX:
        return Expr(COMPLEX, f"complex({body.pick(_FLOATS[:8])!r}, {body.pick(_FLOATS[:8])!r})", tag="complex")
    return None


def _small(body):
    """An int literal that is no zero and no -1."""
    return Expr(INT, repr(body.pick([2, 3, 5, 7, -2, -3])))


def _binary(body, type, operator, left, right, depth, tag):
    return Expr(type, f"($ {operator} $)", [body.expr(left, depth), body.expr(right, depth)], tag)


# int


@makes("int", 30)
def int_arithmetic(body, type, depth):
    return _binary(body, INT, body.pick(["+", "-", "*"]), INT, INT, depth, "int.arithmetic")


@makes("int", 8)
def int_floor_division(body, type, depth):
    by = body.expr(INT, depth) if body.chance(0.1) else _small(body)
    return Expr(INT, "($ // $)", [body.expr(INT, depth), by], "int.floordiv")


@makes("int", 8)
def int_modulo(body, type, depth):
    # torch.jit ends with SIGFPE at a modulo of zero.
    return Expr(INT, "($ % $)", [body.expr(INT, depth), _small(body)], "int.mod")


@makes("int", 6)
def int_bits(body, type, depth):
    return _binary(body, INT, body.pick(["&", "|", "^"]), INT, INT, depth, "int.bits")


@makes("int", 5)
def int_shift(body, type, depth):
    by = Expr(INT, "($ & 15)", [body.expr(INT, depth)]) if body.chance(0.5) else Expr(INT, repr(body.rng.randrange(64)))
    return Expr(INT, f"($ {body.pick(['<<', '>>'])} $)", [body.expr(INT, depth), by], "int.shift")


@makes("int", 8)
def int_function(body, type, depth):
    what = body.rng.randrange(9)
    one = body.expr(INT, depth)
    if what == 0:
        return Expr(INT, "(-$)", [one], "int.neg")
    if what == 1:
        return Expr(INT, "abs($)", [one], "int.abs")
    if what == 2:
        return Expr(INT, f"{body.pick(['min', 'max'])}($, $)", [one, body.expr(INT, depth)], "int.minmax")
    if what == 3:
        return Expr(INT, "math.gcd($, $)", [one, body.expr(INT, depth)], "int.gcd")
    if what == 4:
        return Expr(INT, f"divmod($, $)[{body.pick([0, 1])}]", [one, _small(body)], "int.divmod")
    if what == 5:
        return Expr(INT, "int($)", [body.expr(BOOL, depth)], "int.cast")
    if what == 6:
        return Expr(INT, "int($)", [body.expr(FLOAT, depth)], "int.cast")
    if what == 7:
        return Expr(INT, f"math.{body.pick(['floor', 'ceil'])}($)", [body.expr(FLOAT, depth)], "int.floor")
    return Expr(INT, f"ord({body.pick(['a', 'Z', '0', ' '])!r})", [], "int.ord")


@makes("int", 8)
def int_length(body, type, depth):
    places = [text for text, known, _ in body.places() if known.name in ("List", "Dict", "str")]
    if not places:
        return None
    return Expr(INT, "len($)", [Expr(INT, body.pick(places))], "len")


@makes("int", 4)
def int_of_string(body, type, depth):
    what = body.rng.randrange(4)
    text = body.expr(STR, depth)
    if what == 0:
        return Expr(INT, f"$.{body.pick(['find', 'rfind', 'count'])}($)", [text, body.pick_needle()], "str.find")
    if what == 1:
        return Expr(INT, "len($)", [text], "len")
    if what == 2:
        return Expr(INT, "int(str($))", [body.expr(INT, depth)], "int.parse")
    return Expr(INT, "int($)", [text], "int.parse") if body.chance(0.2) else None


# float


@makes("float", 24)
def float_arithmetic(body, type, depth):
    left, right = body.pick([(FLOAT, FLOAT), (FLOAT, FLOAT), (INT, FLOAT), (FLOAT, INT)])
    return _binary(body, FLOAT, body.pick(["+", "-", "*", "/"]), left, right, depth, "float.arithmetic")


@makes("float", 6)
def float_of_ints(body, type, depth):
    operator = body.pick(["/", "/", "**"])
    right = Expr(INT, repr(body.rng.randrange(4))) if operator == "**" else body.expr(INT, depth)
    return Expr(FLOAT, f"($ {operator} $)", [body.expr(INT, depth), right], "int.truediv" if operator == "/" else "pow")


@makes("float", 5)
def float_division(body, type, depth):
    return _binary(body, FLOAT, body.pick(["//", "%"]), FLOAT, FLOAT, depth, "float.floordiv")


@makes("float", 10)
def float_function(body, type, depth):
    one = body.expr(FLOAT, depth)
    what = body.rng.randrange(8)
    if what == 0:
        name = body.pick(["sqrt", "exp", "sin", "cos", "tanh", "log1p", "fabs", "erf", "atan", "degrees", "radians"])
        return Expr(FLOAT, f"math.{name}($)", [one], "math")
    if what == 1:
        name = body.pick(["fmod", "atan2", "copysign", "pow"])
        return Expr(FLOAT, f"math.{name}($, $)", [one, body.expr(FLOAT, depth)], "math")
    if what == 2:
        return Expr(FLOAT, "abs($)", [one], "float.abs")
    if what == 3:
        pair = [one, body.expr(FLOAT, depth)]
        return Expr(FLOAT, f"{body.pick(['min', 'max'])}($, $)", pair, "float.minmax")
    if what == 4:
        return Expr(FLOAT, "float($)", [body.expr(body.pick([INT, BOOL]), depth)], "float.cast")
    if what == 5:
        return Expr(FLOAT, "round($)", [one], "round")
    if what == 6:
        return Expr(FLOAT, "(-$)", [one], "float.neg")
    return Expr(FLOAT, "($ ** $)", [one, Expr(FLOAT, body.pick(["2.0", "0.5", "3.0", "-1.0"]))], "pow")


@makes("float", 2)
def float_of_complex(body, type, depth):
    return Expr(FLOAT, "abs($)", [body.expr(COMPLEX, depth)], "complex.abs")


# complex


@makes("complex", 20)
def complex_arithmetic(body, type, depth):
    left, right = body.pick([(COMPLEX, COMPLEX), (COMPLEX, COMPLEX), (FLOAT, COMPLEX), (COMPLEX, INT)])
    return _binary(body, COMPLEX, body.pick(["+", "-", "*"]), left, right, depth, "complex.arithmetic")


@makes("complex", 6)
def complex_made(body, type, depth):
    return Expr(COMPLEX, "complex($, $)", [body.expr(FLOAT, depth), body.expr(FLOAT, depth)], "complex.made")


@makes("complex", 3)
def complex_negated(body, type, depth):
    return Expr(COMPLEX, "(-$)", [body.expr(COMPLEX, depth)], "complex.neg")


# bool


@makes("bool", 24)
def bool_comparison(body, type, depth):
    left, right = body.pick([(INT, INT), (INT, INT), (FLOAT, FLOAT), (INT, FLOAT), (FLOAT, INT), (STR, STR)])
    operator = body.pick(["<", "<=", ">", ">=", "==", "!="])
    return _binary(body, BOOL, operator, left, right, depth, "compare")


@makes("bool", 5)
def bool_chain(body, type, depth):
    kids = [body.expr(INT, depth) for _ in range(3)]
    return Expr(BOOL, f"($ {body.pick(['<', '<=', '!='])} $ {body.pick(['<', '>', '=='])} $)", kids, "compare.chain")


@makes("bool", 10)
def bool_logic(body, type, depth):
    kids = [body.expr(BOOL, depth), body.expr(BOOL, depth)]
    return Expr(BOOL, f"($ {body.pick(['and', 'or'])} $)", kids, "logic")


@makes("bool", 5)
def bool_not(body, type, depth):
    return Expr(BOOL, "(not $)", [body.expr(BOOL, depth)], "not")


@makes("bool", 4)
def bool_bits(body, type, depth):
    return _binary(body, BOOL, body.pick(["&", "|", "^"]), BOOL, BOOL, depth, "bool.bits")


@makes("bool", 4)
def bool_cast(body, type, depth):
    return Expr(BOOL, "bool($)", [body.expr(body.pick([INT, FLOAT]), depth)], "bool.cast")


@makes("bool", 5)
def bool_of_string(body, type, depth):
    text = body.expr(STR, depth)
    what = body.rng.randrange(3)
    if what == 0:
        return Expr(BOOL, f"$.{body.pick(['startswith', 'endswith'])}($)", [text, body.pick_needle()], "str.startswith")
    if what == 1:
        name = body.pick(["isdigit", "isalpha", "isalnum", "isupper", "islower", "isspace", "istitle"])
        return Expr(BOOL, f"$.{name}()", [text], "str.is")
    return Expr(BOOL, "($ in $)", [body.pick_needle(), text], "in.str")


@makes("bool", 3)
def bool_of_complex(body, type, depth):
    return _binary(body, BOOL, body.pick(["==", "!="]), COMPLEX, COMPLEX, depth, "complex.compare")


# str


@makes("str", 14)
def str_concatenation(body, type, depth):
    # Bounded, so that a loop cannot double a string for ever.
    return Expr(STR, "($[:12] + $[:12])", [body.expr(STR, depth), body.expr(STR, depth)], "str.concat")


@makes("str", 10)
def str_of_number(body, type, depth):
    kind = body.pick([INT, INT, FLOAT, BOOL, COMPLEX])
    return Expr(STR, "str($)", [body.expr(kind, depth)], "str.cast")


@makes("str", 10)
def str_f_string(body, type, depth):
    names = [text for text, known, _ in body.places() if known.name in ("int", "str", "bool", "float")]
    if not names:
        return None
    kids = [Expr(STR, body.pick(names)) for _ in range(body.pick([1, 2]))]
    return Expr(STR, body.pick(["f'<{$}>'", "f'{$}'"]) if len(kids) == 1 else "f'{$}:{$}'", kids, "f_string")


@makes("str", 6)
def str_format(body, type, depth):
    kinds = [body.pick([INT, FLOAT, STR, BOOL]) for _ in range(2)]
    if body.chance(0.4):
        codes = {INT: "%d", FLOAT: "%f", STR: "%s", BOOL: "%s"}
        kids = [body.expr(kind, depth) for kind in kinds]
        if any(kid.text == "$" for kid in kids):
            return None
        return Expr(STR, f"('{codes[kinds[0]]}|{codes[kinds[1]]}' % ($, $))", kids, "percent_format")
    return Expr(STR, "'{} {}'.format($, $)", [body.expr(kind, depth) for kind in kinds], "format")


@makes("str", 10)
def str_method(body, type, depth):
    text = body.expr(STR, depth)
    what = body.rng.randrange(4)
    if what == 0:
        names = ["upper", "lower", "title", "capitalize", "swapcase", "strip", "lstrip", "rstrip", "expandtabs"]
        return Expr(STR, f"$.{body.pick(names)}()", [text], "str.method")
    if what == 1:
        name = body.pick(["center", "ljust", "rjust", "zfill"])
        return Expr(STR, f"$[:9].{name}({body.rng.randrange(12)})", [text], "str.pad")
    if what == 2:
        # An empty needle makes torch.jit read out of bounds.
        return Expr(STR, "$.replace($, $)[:16]", [text, body.pick_needle(), body.expr(STR, 0)], "str.replace")
    return Expr(STR, "$[:16].join($)[:40]", [body.expr(STR, 0), body.expr(list_of(STR), depth)], "str.join")


@makes("str", 6)
def str_slice(body, type, depth):
    text = body.expr(STR, depth)
    if body.chance(0.3):
        return Expr(STR, "$[$]", [text, Expr(INT, repr(body.rng.randrange(-3, 4)))], "str.index")
    bounds = [repr(body.rng.randrange(-4, 6)) if body.chance(0.7) else "" for _ in range(2)]
    step = body.pick(["", ":2", ":-1", ""])
    return Expr(STR, f"$[{bounds[0]}:{bounds[1]}{step}]", [text], "str.slice")


@makes("str", 2)
def str_of_int(body, type, depth):
    name = body.pick(["hex", "bin", "oct", "chr"])
    mask = Expr(INT, "($ & 63) + 48" if name == "chr" else "$", [body.expr(INT, depth)])
    return Expr(STR, f"{name}($)", [mask], "str.of_int")
