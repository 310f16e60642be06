"""Expressions of tensors, and statements that write into tensors and their views.

A tensor's dtype and shape are foreseen as far as that keeps most programs running; where the foresight is wrong the
program raises, which is compared as well.
"""

from integration_tests.conformance.random_programs.scope import makes
from integration_tests.conformance.random_programs.tree import BOOL, FLOAT, INT, STR, Expr, Stmt, list_of, tensor

DTYPES = {
    "f32": "torch.float32",
    "f64": "torch.float64",
    "i64": "torch.int64",
    "i32": "torch.int32",
    "bool": "torch.bool",
}
SHAPES = [(), (4,), (3, 4), (4, 3), (2, 3, 4)]
_FLOATING = ("f32", "f64")


def random_kind(body):
    dtype = body.weighted([(10, "f32"), (3, "f64"), (4, "i64"), (1, "i32"), (2, "bool")])
    return tensor(dtype, *body.weighted([(3, ()), (6, (4,)), (10, (3, 4)), (4, (4, 3)), (2, (2, 3, 4))]))


def _count(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def literal(body, type):
    dtype, shape = type.args
    name, sizes = DTYPES[dtype], list(shape)
    what = body.rng.randrange(4)
    if dtype == "bool":
        if what < 2:
            return Expr(type, f"torch.{body.pick(['ones', 'zeros'])}({sizes}, dtype={name})", tag="tensor.made")
        return Expr(
            type, f"(torch.arange({_count(shape)}).reshape({sizes}) % {body.pick([2, 3])} == 0)", tag="tensor.made"
        )
    if what == 0:
        return Expr(type, f"torch.{body.pick(['ones', 'zeros'])}({sizes}, dtype={name})", tag="tensor.made")
    if what == 1:
        fill = body.pick(["1.5", "-2.0"]) if dtype in _FLOATING else body.pick(["3", "-1"])
        return Expr(type, f"torch.full({sizes}, {fill}, dtype={name})", tag="tensor.made")
    if what == 2 and len(shape) == 1:
        return Expr(
            type,
            f"torch.tensor({[body.rng.randrange(-3, 5) for _ in range(shape[0])]}, dtype={name})",
            tag="tensor.made",
        )
    return Expr(type, f"torch.arange({_count(shape)}, dtype={name}).reshape({sizes})", tag="tensor.made")


def _broadcastable(body, shape):
    """A shape that broadcasts to `shape`."""
    options = [known for known in SHAPES if len(known) <= len(shape) and known == shape[len(shape) - len(known) :]]
    return body.pick(options)


def _other_operand(body, dtype, shape, depth):
    """An operand that leaves a result of `dtype` and `shape`: of the same dtype, or of one that is promoted."""
    kind = dtype
    if body.chance(0.3):
        kind = body.pick(
            {"f32": ["i64", "f32"], "f64": ["f32", "i64"], "i64": ["i32", "bool"], "i32": ["bool"]}.get(dtype, [dtype])
        )
    return body.expr(tensor(kind, *_broadcastable(body, shape)), depth)


def _number(body, dtype, depth):
    if dtype in _FLOATING:
        return body.expr(body.pick([INT, FLOAT]), min(depth, 1))
    if dtype == "bool":
        return Expr(BOOL, body.pick(["True", "False"]))
    return body.expr(INT, min(depth, 1))


@makes("Tensor", 24)
def tensor_arithmetic(body, type, depth):
    dtype, shape = type.args
    left = body.expr(type, depth)
    if dtype == "bool":
        return Expr(type, f"($ {body.pick(['&', '|', '^'])} $)", [left, body.expr(type, depth)], "tensor.logic")
    operator = body.pick(["+", "-", "*", "/"] if dtype in _FLOATING else ["+", "-", "*"])
    right = _number(body, dtype, depth) if body.chance(0.35) else _other_operand(body, dtype, shape, depth)
    tag = "tensor.promotion" if right.type.name != "Tensor" or right.type.args[0] != dtype else "tensor.arithmetic"
    kids = [right, left] if body.chance(0.3) else [left, right]
    return Expr(type, f"($ {operator} $)", kids, tag)


@makes("Tensor", 8)
def tensor_function(body, type, depth):
    dtype, shape = type.args
    one = body.expr(type, depth)
    if dtype == "bool":
        return Expr(type, "torch.logical_not($)", [one], "tensor.unary")
    if dtype not in _FLOATING:
        return Expr(
            type, body.pick(["torch.abs($)", "(-$)", "torch.clamp($, -3, 3)", "$.clone()"]), [one], "tensor.unary"
        )
    names = ["torch.relu($)", "torch.sigmoid($)", "torch.tanh($)", "(-$)", "torch.abs($)", "torch.clamp($, -2.0, 2.0)"]
    names += [
        "torch.sqrt(torch.abs($))",
        "$.clone()",
        "torch.nn.functional.relu($)",
        "torch.exp(torch.clamp($, max=3.0))",
    ]
    names += ["torch.floor($)", "torch.sin($)", "$.detach()", "$.contiguous()"]
    name = body.pick(names)
    if body.world.written:  # a file of source has no function of torch that is written in Python
        name = name.replace("torch.nn.functional.", "torch.")
    return Expr(type, name, [one], "tensor.unary")


@makes("Tensor", 12)
def tensor_compared(body, type, depth):
    dtype, shape = type.args
    if dtype != "bool":
        return None
    kind = tensor(body.pick(["f32", "i64"]), *shape)
    right = _number(body, kind.args[0], depth) if body.chance(0.5) else body.expr(kind, depth)
    return Expr(
        type, f"($ {body.pick(['<', '>', '==', '!=', '>='])} $)", [body.expr(kind, depth), right], "tensor.compare"
    )


@makes("Tensor", 5)
def tensor_cast(body, type, depth):
    dtype, shape = type.args
    other = body.pick([name for name in DTYPES if name != dtype])
    form = body.pick(
        [
            f"$.to({DTYPES[dtype]})",
            f"$.to(dtype={DTYPES[dtype]})",
            f"torch.zeros([], dtype={DTYPES[dtype]}).to($.device, {DTYPES[dtype]}) + $",
        ]
    )
    if "device" in form:
        form = f"$.to({DTYPES[dtype]}, copy=True)"
    return Expr(type, form, [body.expr(tensor(other, *shape), depth)], "tensor.cast")


@makes("Tensor", 20)
def tensor_view(body, type, depth):
    dtype, shape = type.args
    index = body.rng.randrange(-2, 3)
    if shape == ():
        if body.chance(0.5):
            return Expr(type, f"$[{index}]", [body.expr(tensor(dtype, 4), depth)], "view.select")
        return Expr(
            type, f"$[{index}, {body.rng.randrange(3)}]", [body.expr(tensor(dtype, 3, 4), depth)], "view.select"
        )
    if shape == (4,):
        forms = [
            ((3, 4), f"$[{index}]"), ((3, 4), f"$.select(0, {index})"), ((4, 3), f"$[:, {index}]"),
            ((3, 4), f"$.reshape(-1)[{body.rng.randrange(4)}:][:4]"), ((3, 4), "$.view(-1)[::3]"),
            ((4,), "$[:]"), ((4,), "$.view(2, 2).t().reshape(-1)"), ((), "$.expand(4).clone()"), ((2, 3, 4), "$[1, 0]"),
            ((4,), "$.unsqueeze(0).squeeze(0)"), ((3, 4), "($[:, 0:3].diagonal().sum() * torch.ones([4]))"),
        ]  # fmt: skip
    elif len(shape) == 2:
        back = (shape[1], shape[0])
        forms = [
            (back, "$.t()"), (back, "$.transpose(0, 1)"), (back, "$.permute(1, 0)"), (back, "$.T"),
            (back, f"$.reshape({shape[0]}, {shape[1]})"), (back, f"$.view({shape[0]}, {shape[1]})"),
            (back, f"$.reshape([{shape[0]}, -1])"), (shape, "$[:]"), (shape, "$.view(-1).view(%d, %d)" % shape),
            (shape, "$.flatten().unflatten(0, [%d, %d])" % shape),
        ]  # fmt: skip
        if shape == (3, 4):
            forms += [((4,), "$.unsqueeze(0).expand(3, 4)"), ((2, 3, 4), f"$[{index % 2}]")]
            forms += [((2, 3, 4), "$.select(0, 0)"), ((4,), "$.expand(3, -1).contiguous()")]
    else:
        forms = [((3, 4), "$.unsqueeze(0).expand(2, 3, 4)"), ((3, 4), "$.expand(2, 3, 4).clone()")]
        forms += [((2, 3, 4), "$.transpose(1, 2).contiguous().view(2, 3, 4)"), ((2, 3, 4), "$.flip(0)")]
    source, form = body.pick(forms)
    return Expr(
        type,
        form,
        [body.expr(tensor(dtype, *source), depth)],
        "view." + form.split("(")[0].split(".")[-1].split("[")[0].strip("$") or "view.index",
    )


@makes("Tensor", 8)
def tensor_reduced(body, type, depth):
    dtype, shape = type.args
    if shape == ():
        kind = tensor(dtype, *body.pick([(4,), (3, 4)]))
        if dtype in _FLOATING:
            return Expr(
                type, f"$.{body.pick(['sum', 'mean', 'max', 'min'])}()", [body.expr(kind, depth)], "tensor.reduce"
            )
        if dtype == "i64":
            return Expr(type, f"$.{body.pick(['sum', 'max', 'argmax'])}()", [body.expr(kind, depth)], "tensor.reduce")
        return (
            Expr(type, f"$.{body.pick(['any', 'all'])}()", [body.expr(kind, depth)], "tensor.reduce")
            if dtype == "bool"
            else None
        )
    if shape == (4,) and dtype in _FLOATING:
        form = body.pick(["$.sum(0)", "$.mean(0)", "torch.max($, 0)[0]", "$.sum(dim=[0])", "torch.cumsum($, 0)[1]"])
        return Expr(type, form, [body.expr(tensor(dtype, 3, 4), depth)], "tensor.reduce")
    if shape == (4,) and dtype == "i64":
        return Expr(type, "$.argmax(0)", [body.expr(tensor("f32", 3, 4), depth)], "tensor.reduce")
    return None


@makes("Tensor", 8)
def tensor_combined(body, type, depth):
    dtype, shape = type.args
    what = body.rng.randrange(6)
    if what == 0:
        kids = [
            body.expr(tensor("bool", *_broadcastable(body, shape)), depth),
            body.expr(type, depth),
            body.expr(type, depth),
        ]
        return Expr(type, "torch.where($, $, $)", kids, "tensor.where")
    if what == 1 and shape:
        return Expr(
            type, f"torch.cat([$, $])[:{shape[0]}]", [body.expr(type, depth), body.expr(type, depth)], "tensor.cat"
        )
    if what == 2 and shape == (3, 4):
        rows = [body.expr(tensor(dtype, 4), depth) for _ in range(3)]
        return Expr(type, "torch.stack([$, $, $])", rows, "tensor.stack")
    if what == 3 and shape == (3, 4) and dtype == "f32":
        kids = [body.expr(type, depth), body.expr(tensor("f32", 4, 3), depth), body.expr(type, depth)]
        return Expr(type, "torch.mm(torch.mm($, $), $)" if body.chance(0.5) else "(($ @ $) @ $)", kids, "tensor.matmul")
    if what == 4 and shape == (3, 4):
        return Expr(type, "$.index_select(0, torch.tensor([2, 0, 1]))", [body.expr(type, depth)], "tensor.index")
    if what == 5 and len(shape) == 2:
        return Expr(
            type,
            f"$[torch.tensor({[body.rng.randrange(shape[0]) for _ in range(shape[0])]})]",
            [body.expr(type, depth)],
            "tensor.index",
        )
    return None


@makes("Tensor", 4)
def tensor_of_number(body, type, depth):
    dtype, shape = type.args
    if shape == () and dtype in ("i64", "f32"):
        kid = body.expr(INT if dtype == "i64" else FLOAT, depth)
        return Expr(
            type,
            "torch.tensor($)" if dtype == "i64" else "torch.tensor($, dtype=torch.float32)",
            [kid],
            "tensor.of_number",
        )
    if dtype in ("f32", "i64"):
        filled = _number(body, dtype, depth)
        return Expr(type, "torch.full_like($, $)", [body.expr(type, depth), filled], "tensor.full_like")
    return None


@makes("int", 8)
def int_of_tensor(body, type, depth):
    kind = random_kind(body)
    what = body.rng.randrange(4)
    if what == 0:
        return Expr(
            INT, body.pick(["$.numel()", "$.dim()", "len($.shape)", "$.ndim"]), [body.expr(kind, depth)], "tensor.query"
        )
    if what == 1 and kind.args[1]:
        return Expr(
            INT,
            body.pick(["$.size(0)", "$.shape[-1]", "$.shape[0]", "$.size()[0]", "len($)", "$.stride(0)"]),
            [body.expr(kind, depth)],
            "tensor.query",
        )
    scalar = body.expr(tensor("i64"), depth)
    return Expr(INT, "int($.item())" if body.chance(0.3) else "int($)", [scalar], "tensor.to_scalar")


@makes("float", 8)
def float_of_tensor(body, type, depth):
    return Expr(
        FLOAT, body.pick(["float($)", "float($.item())"]), [body.expr(tensor("f32"), depth)], "tensor.to_scalar"
    )


@makes("bool", 8)
def bool_of_tensor(body, type, depth):
    if body.chance(0.3):
        return Expr(
            BOOL, "bool($.sum() > $)", [body.expr(tensor("f32", 3, 4), depth), body.expr(FLOAT, 0)], "tensor.to_bool"
        )
    if body.chance(0.3):
        return Expr(
            BOOL,
            "torch.equal($, $)",
            [body.expr(tensor("f32", 4), depth), body.expr(tensor("f32", 4), depth)],
            "tensor.equal",
        )
    return Expr(BOOL, "bool($)", [body.expr(tensor("bool"), depth)], "tensor.to_bool")


@makes("List", 5)
def list_of_tensor(body, type, depth):
    element = type.args[0]
    if element in (FLOAT, INT):
        kind = tensor("f32" if element == FLOAT else "i64", 4)
        return Expr(type, f"torch.jit.annotate({type}, $.tolist())", [body.expr(kind, depth)], "tensor.tolist")
    if element == INT:
        return Expr(type, "$.size()", [body.expr(random_kind(body), depth)], "tensor.query")
    if element.name == "Tensor" and element.args == ("f32", (4,)):
        form = body.pick(["$.unbind(0)", "list($.unbind(0))", "[t for t in $]"])
        return Expr(type, form, [body.expr(tensor("f32", 3, 4), depth)], "view.unbind")
    return None


@makes("str", 1)
def str_of_tensor(body, type, depth):
    return Expr(
        STR,
        body.pick(["str($.dtype)", "str($.shape)", "str($.dim())"]),
        [body.expr(random_kind(body), depth)],
        "tensor.query",
    )


# Statements.


def _written_view(body, place, dtype, shape):
    """(text of a view of `place`, its shape)."""
    forms = [("{}", shape)] * 3
    if shape:
        index = body.rng.randrange(-2, 3)
        inner = shape[1:]
        forms += [(f"{{}}[{index}]", inner), (f"{{}}.select(0, {index})", inner), ("{}[1:]", (shape[0] - 1, *inner))]
        forms += [("{}[::2]", ((shape[0] + 1) // 2, *inner)), ("{}.narrow(0, 0, 2)", (2, *inner))]
        forms += [("{}.view(-1)", (_count(shape),)), ("{}.unsqueeze(0)", (1, *shape))]
    if len(shape) >= 2:
        back = (*shape[:-2], shape[-1], shape[-2])
        forms += [("{}.transpose(-1, -2)", back), ("{}[:, 1]", (shape[0], *shape[2:])), ("{}[..., 0]", shape[:-1])]
        forms += [("{}[:, 1:3]", (shape[0], 2, *shape[2:])), ("{}.transpose(0, 1)[0]", (shape[0], *shape[2:]))]
    if len(shape) == 2:
        forms += [("{}.t()", (shape[1], shape[0])), ("{}.diagonal()", (min(shape),)), ("{}.t()[1]", (shape[0],))]
        forms += [("{}.permute(1, 0)[1:]", (shape[1] - 1, shape[0]))]
    if len(shape) == 1 and body.chance(0.1):
        forms = [("{}.expand(3, 4)", (3, 4))]
    form, result = body.pick(forms)
    return form.format(place), result, form


def _source(body, dtype, shape):
    """What may be written into a view of that shape: a number or a tensor that broadcasts to it."""
    if body.chance(0.5):
        return _number(body, dtype, 1)
    options = [known for known in SHAPES if len(known) <= len(shape) and known == shape[len(shape) - len(known) :]]
    kind = dtype if dtype not in _FLOATING else body.pick([dtype, dtype, "i64", "f32"])
    return body.expr(tensor(kind, *body.pick(options)), 1)


def in_place(body):
    """A statement that writes into a tensor or a view of one."""
    places = [(text, known) for text, known, _ in body.places() if known.name == "Tensor"]
    for text, known in body.places_named("List"):
        if known.args[0].name == "Tensor":
            places.append((f"{text}[0]", known.args[0]))
    if not places:
        return None
    place, kind = places[max(body.rng.randrange(len(places)), body.rng.randrange(len(places)))]
    dtype, shape = kind.args
    what = body.rng.randrange(10)
    if what < 5:
        view, view_shape, form = _written_view(body, place, dtype, shape)
        tag = "inplace.view" if form != "{}" else "inplace.whole"
        if dtype == "bool":
            call = body.pick(["logical_not_()", "fill_(True)", "zero_()", "logical_xor_(torch.tensor(True))"])
            return Stmt(f"{view}.{call}", tag=tag)
        value = _source(body, dtype, view_shape)
        name = body.pick(["add_", "sub_", "mul_", "add_", "mul_", "copy_", "fill_"])
        if name == "copy_" and value.type.name != "Tensor":
            name = "fill_"
        if name == "fill_" and (value.type.name == "Tensor" and value.type.args[1] != ()):
            name = "copy_"
        if body.chance(0.2):
            unary = ["zero_()", "neg_()", "abs_()", "clamp_(-2, 2)"] + (
                ["relu_()", "sigmoid_()", "tanh_()"] if dtype in _FLOATING else []
            )
            return Stmt(f"{view}.{body.pick(unary)}", tag=tag)
        return Stmt(f"{view}.{name}($)", [value], tag=tag)
    if what < 7 and shape:
        indices = [f"[{body.rng.randrange(-2, 3)}]", "[1:]", "[:2]"]
        shapes = [shape[1:], (shape[0] - 1, *shape[1:]), (2, *shape[1:])]
        if len(shape) >= 2:
            indices += ["[:, 1]", "[0, 1:]", "[..., 0]", "[-1, -1]", "[:, ::2]"]
            shapes += [
                (shape[0], *shape[2:]),
                (shape[1] - 1, *shape[2:]),
                shape[:-1],
                shape[2:],
                (shape[0], (shape[1] + 1) // 2, *shape[2:]),
            ]
        at = body.rng.randrange(len(indices))
        operator = body.pick(["=", "=", "+=", "*=", "-="]) if dtype != "bool" else "="
        return Stmt(
            f"{place}{indices[at]} {operator} $",
            [_source(body, dtype, shapes[at])],
            tag="index_assign" if operator == "=" else "index_augmented",
        )
    if what == 7 and shape and dtype != "bool":
        mask = body.expr(tensor("bool", *shape), 1)
        if body.chance(0.5):
            return Stmt(
                f"{place}[$] {body.pick(['=', '+=', '*='])} $", [mask, _number(body, dtype, 1)], tag="mask_assign"
            )
        return Stmt(f"{place}.masked_fill_($, $)", [mask, _number(body, dtype, 1)], tag="mask_assign")
    if what == 8 and shape and dtype != "bool":
        index = Expr(tensor("i64", 2), f"torch.tensor([0, {body.rng.randrange(shape[0])}])")
        if body.chance(0.5):
            return Stmt(
                f"{place}[$] {body.pick(['=', '+='])} $", [index, _number(body, dtype, 1)], tag="tensor_index_assign"
            )
        return Stmt(f"{place}.index_fill_(0, $, $)", [index, _number(body, dtype, 1)], tag="tensor_index_assign")
    if what == 9 and dtype in _FLOATING:
        kids = [body.expr(kind, 1), body.expr(kind, 1)]
        return Stmt(f"torch.{body.pick(['add', 'mul', 'sub'])}($, $, out={place})", kids, tag="out_variant")
    return None


def augmented(body):
    """`x += ...` on a tensor by name: it writes in place."""
    places = [
        (text, known)
        for text, known, may in body.places()
        if known.name == "Tensor" and may and known.args[0] != "bool"
    ]
    if not places:
        return None
    text, known = body.pick(places)
    dtype, shape = known.args
    operator = body.pick(["+=", "-=", "*=", "/="] if dtype in _FLOATING else ["+=", "-=", "*="])
    value = _number(body, dtype, 1) if body.chance(0.5) else body.expr(tensor(dtype, *_broadcastable(body, shape)), 1)
    return Stmt(f"{text} {operator} $", [value], tag="tensor.augmented")


__all__ = ["DTYPES", "augmented", "in_place", "list_of", "literal", "random_kind"]
