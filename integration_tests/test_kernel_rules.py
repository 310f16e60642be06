"""Operators that fused kernels have a rule for (jit/definitions), one by one: in every dtype, with infinities, nan, zeros of
both signs and numbers at the ends of what the dtype holds, each beside what LibTorch gives. Random groups of them are
conformance's suite `fusion`; here none is left out, and none may be LibTorch's own."""

import json
import math

import pytest
import torch

from integration_tests.command_line import hearth

FLOATING = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGER = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)

# Of x and y, of one dtype and size; a number after a bar: by so many units in the last place a result may differ.
EXACT = """
torch.sgn(x)
torch.signbit(x)
torch.isposinf(x)
torch.isneginf(x)
torch.copysign(x, y)
torch.copysign(x, -0.0)
torch.fmin(x, y)
torch.fmax(x, y)
torch.max(x, y)
torch.min(x, y)
torch.heaviside(x, y)
torch.bitwise_left_shift(x, y)
torch.bitwise_right_shift(x, y)
torch.bitwise_left_shift(x, 3)
torch.bitwise_right_shift(2, y)
x << y
x >> y
x >> 2
torch.absolute(x)
torch.negative(x)
torch.fix(x)
torch.greater(x, y)
torch.greater_equal(x, 1)
torch.less(x, 0.5)
torch.less_equal(x, y)
torch.not_equal(x, y)
torch.special.round(x)
torch.clamp(x, y, None)
torch.clamp(x, None, y)
torch.clamp(x, y, x + x)
torch.clamp_min(x, y)
torch.clamp_max(x, y)
x.masked_fill(x == y, 3)
x.masked_fill(x == y, True)
torch.deg2rad(x)
torch.rad2deg(x)
torch.ops.aten.l1_loss(x, y, reduction=0)
torch.ops.aten.mse_loss(x, y, reduction=0)
torch.ops.aten.huber_loss(x, y, reduction=0)
torch.ops.aten.huber_loss(x, y, reduction=0, delta=0.3)
torch.ops.aten.smooth_l1_loss(x, y, reduction=0)
torch.ops.aten.smooth_l1_loss(x, y, reduction=0, beta=0.3)
torch.ops.aten.smooth_l1_loss(x, y, reduction=0, beta=0.0)
torch.ops.aten.hinge_embedding_loss(x, y, reduction=0, margin=0.7)
torch.ops.aten.margin_ranking_loss(x, y, x, margin=0.7, reduction=0)
torch.isclose(x, y)
torch.isclose(x, y, 0.3, 0.7, True)
torch.isclose(x, y, 0.0, 0.0)
torch.isclose(x, y, 0.0, 0.0, True)
torch.zeros_like(x)
torch.zeros_like(y, dtype=torch.int32)
torch.ones_like(x)
torch.ones_like(x, dtype=torch.bfloat16)
torch.full_like(x, 1)
torch.full_like(x, -0.0)
torch.full_like(x, -math.inf)
torch.full_like(x, 0.1)
torch.full_like(x, 0.1, dtype=torch.float16)
torch.full_like(x, 100)
x.new_zeros(x.size())
x.new_ones(x.size())
x.new_full(x.size(), 1)
torch.ops.aten.fill(x, 1)
torch.ops.aten.fill(x, 0.3)
torch.ops.aten.fill(x, y[5])
torch.ops.aten.zero(x)
torch.ops.aten.copy(x.to(torch.float64), y)
torch.ops.aten.copy(x, y[:1])
torch.clone(x)
torch.clone(torch.greater(y, x))
"""
NEAR = """
torch.asinh(x) | 8
torch.acosh(x) | 8
torch.atanh(x) | 8
torch.arcsinh(x) | 8
torch.arccosh(x) | 8
torch.arctanh(x) | 8
torch.arcsin(x) | 4
torch.arccos(x) | 4
torch.arctan(x) | 4
torch.arctan2(x, y) | 4
torch.logit(x) | 4
torch.logit(x, 1e-3) | 4
torch.special.logit(x, 0.25) | 4
torch.sinc(x) | 4
torch.special.sinc(x) | 4
torch.hypot(x, y) | 4
torch.logaddexp(x, y) | 8
torch.logaddexp2(x, y) | 8
torch.xlogy(x, y) | 4
torch.xlogy(x, 2.5) | 4
torch.xlogy(0.5, y) | 4
torch.special.xlogy(x, y) | 4
torch.special.xlog1py(x, y) | 4
torch.special.entr(x) | 4
torch.special.ndtr(x) | 4
torch.erfinv(x) | 8
torch.special.erfinv(x) | 8
torch.special.erf(x) | 4
torch.special.erfc(x) | 16
torch.special.exp2(x) | 4
torch.special.expit(x) | 8
torch.special.expm1(x) | 4
torch.special.log1p(x) | 4
torch.float_power(x, y) | 8
torch.float_power(x, 2) | 1
torch.float_power(x, -0.5) | 2
torch.float_power(1.5, y) | 8
torch.ops.aten.binary_cross_entropy_with_logits(x, y, reduction=0) | 8
torch.ops.aten.binary_cross_entropy_with_logits(x, y, weight=y, pos_weight=x, reduction=0) | 8
torch.ops.aten.soft_margin_loss(x, y, reduction=0) | 8
torch.ops.aten.kl_div(x, y, reduction=0) | 8
torch.ops.aten.kl_div(x, y, reduction=0, log_target=True) | 8
torch.ops.aten.poisson_nll_loss(x, y, True, False, 1e-8, 0) | 8
torch.ops.aten.poisson_nll_loss(x, y, False, False, 1e-3, 0) | 8
"""
# Of rows of x.
ROWS = """
torch.any(x, -1)
torch.all(x, -1, keepdim=True)
torch.any(x, [-1])
torch.argmax(x, -1)
torch.argmin(x, -1, keepdim=True)
torch.amax(x, [-1])
torch.amin(x, [-1], keepdim=True)
torch.linalg.vector_norm(x, math.inf, [-1])
torch.linalg.vector_norm(x, -math.inf, [-1])
torch.ops.aten.norm(x, math.inf, [-1])
torch.linalg.norm(x, math.inf, [-1])
torch.count_nonzero(x, -1)
torch.count_nonzero(x, [-1])
torch.cumsum(x, -1)
torch.cumsum(x, 1, dtype=torch.float64)
torch.cumsum(x, 1, dtype=torch.float16)
torch.cumprod(x, -1)
torch.cumprod(x, -1, dtype=torch.bfloat16)
torch.pairwise_distance(x, torch.relu(x), math.inf, 0.3)
"""
SUMS = """
torch.logsumexp(x, [-1])
torch.special.logsumexp(x, [-1], keepdim=True)
torch.std(x, [-1])
torch.std(x, [-1], unbiased=False, keepdim=True)
torch.std(x, [-1], correction=0)
torch.rms_norm(x, [37])
torch.prod(x, -1)
torch.prod(x, -1, dtype=torch.float64)
torch.sum(x, [-1])
torch.sum(x, [-1], dtype=torch.float64)
torch.mean(x, [-1], dtype=torch.float64)
torch.nansum(x, [-1])
torch.linalg.vector_norm(x, 1, [-1])
torch.ops.aten.norm(x, 1.0, [-1], keepdim=True)
torch.linalg.norm(x, 2, [-1])
torch.special.softmax(x, -1)
torch.special.log_softmax(x, -1)
torch.ops.aten.frobenius_norm(x, [-1])
torch.nanmean(x, [-1])
torch.nanmean(x, [-1], keepdim=True)
torch.logcumsumexp(x, -1)
torch.pairwise_distance(x, torch.relu(x))
torch.pairwise_distance(x, torch.relu(x), 1.0, 0.3, keepdim=True)
torch.cosine_similarity(x, torch.relu(x), -1)
torch.cosine_similarity(x, torch.relu(x), 1, 3.0)
torch.linalg.vecdot(x, torch.relu(x))
torch.ops.aten.linalg_vecdot(x, torch.sigmoid(x), dim=1)
"""
# Of all of x.
WHOLE = """
torch.any(x)
torch.all(x)
torch.argmax(x)
torch.argmin(x)
torch.ops.aten.norm(x, math.inf)
torch.linalg.vector_norm(x, -math.inf)
torch.count_nonzero(x)
torch.dist(x, torch.relu(x), math.inf)
"""
WHOLE_SUMS = """
torch.sum(x)
torch.sum(x, dtype=torch.float64)
torch.nansum(x)
torch.mean(x)
torch.std(x)
torch.var(x, unbiased=False)
torch.ops.aten.norm(x)
torch.ops.aten.norm(x, 1.0)
torch.linalg.norm(x)
torch.nanmean(x)
torch.dist(x, torch.relu(x))
torch.dist(x, torch.relu(x), 1.0)
"""
# What LibTorch takes of other dtypes and has no rule, or computes in half precision in a way of its own.
OWN = {
    "torch.sgn(x)": (torch.bool,),
    "torch.absolute(x)": (torch.bool,),
    "torch.clamp(x, y, None)": (torch.bool,),
    "torch.clamp(x, None, y)": (torch.bool,),
    "torch.clamp(x, y, x + x)": (torch.bool,),
    "torch.clamp_min(x, y)": (torch.bool,),
    "torch.clamp_max(x, y)": (torch.bool,),
    "x.masked_fill(x == y, 3)": (torch.bool,),
    "torch.ops.aten.l1_loss(x, y, reduction=0)": INTEGER,
    "torch.ops.aten.hinge_embedding_loss(x, y, reduction=0, margin=0.7)": INTEGER,
    "torch.ops.aten.margin_ranking_loss(x, y, x, margin=0.7, reduction=0)": INTEGER,
    "torch.ops.aten.poisson_nll_loss(x, y, True, False, 1e-8, 0)": INTEGER,
    "torch.ops.aten.poisson_nll_loss(x, y, False, False, 1e-3, 0)": INTEGER,
    "torch.full_like(x, -0.0)": INTEGER,
    "torch.full_like(x, -math.inf)": INTEGER,
    "torch.full_like(x, 0.1)": INTEGER,
    "torch.full_like(x, 100)": (torch.bool,),
    "torch.ops.aten.fill(x, 0.3)": INTEGER,
    "torch.pairwise_distance(x, torch.relu(x))": INTEGER,
    "torch.pairwise_distance(x, torch.relu(x), math.inf, 0.3)": INTEGER,
    "torch.pairwise_distance(x, torch.relu(x), 1.0, 0.3, keepdim=True)": INTEGER,
    "torch.logsumexp(x, [-1])": INTEGER,
    "torch.special.logsumexp(x, [-1], keepdim=True)": INTEGER,
    "torch.prod(x, -1)": (torch.float16, torch.bfloat16),
}

# The sign of a zero that these give is open, as is where a nan's sign comes from.
SIGNS_OPEN = ("fm", "torch.max", "torch.min", "clamp", "amax", "amin", "hinge", "copysign", "sum", "logaddexp")


def texts(block):
    return [line.partition("|")[0].strip() for line in block.strip().splitlines()]


def units(block):
    return {text.strip(): int(number or 0) for text, _, number in (line.partition("|") for line in block.strip().splitlines())}


UNITS = {**units(EXACT), **units(NEAR)}


def extremes(dtype):
    if dtype == torch.bool:
        return torch.tensor([True, False])
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        return torch.tensor([info.min, info.min + 1, -1 if info.min < 0 else 7, 0, 1, 2, 3, 5, 8, 17, 33, 64, info.max], dtype=dtype)
    info = torch.finfo(dtype)
    return torch.tensor(
        [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0.25, 0.75, 1.5, 2.0, -2.0, 3.0, 10.0, -10.0, 90.0,
         -90.0, 720.0, info.max, -info.max, info.smallest_normal, -info.smallest_normal, info.smallest_normal / 4, 1e-3, 1 - 1e-3],
        dtype=torch.float64,
    ).to(dtype)  # fmt: skip


def pairs(dtype):
    """All pairs of extremes, and others; more than a vector holds, and not a multiple of it."""
    values = extremes(dtype)
    generator = torch.Generator().manual_seed(1)
    if dtype.is_floating_point:
        more = (torch.randn(2, 3000, generator=generator, dtype=torch.float64) * 2).to(dtype)
        more[:, :1000] = torch.rand(2, 1000, generator=generator).to(dtype)
    else:
        more = torch.randint(0, 2 if dtype == torch.bool else 100, (2, 301), generator=generator).to(dtype)
    x, y = values.repeat_interleave(len(values)), values.repeat(len(values))
    return torch.cat([x, more[0]]), torch.cat([y, more[1]])


def rows(dtype, finite):
    """Some of them with extremes, ties and nan."""
    generator = torch.Generator().manual_seed(2)
    if not dtype.is_floating_point:
        return torch.randint(0, 2 if dtype == torch.bool else 50, (9, 37), generator=generator).to(dtype)
    x = torch.randn(9, 37, generator=generator, dtype=torch.float64).to(dtype)
    x[1], x[2, ::3] = 0.5, 1.0
    if not finite:
        x[3, 5], x[4, 30], x[5, 7:9], x[6] = float("inf"), -float("inf"), float("nan"), -float("inf")
        x[7, :2] = torch.tensor([float("inf"), -float("inf")])
    return x


def taken(text, **values):
    """What LibTorch gives; None where it takes no such dtype."""
    try:
        return eval(text, {"torch": torch, "math": math, **values})
    except RuntimeError:
        return None


def program(arguments, statements, results):
    lines = [f"def f({', '.join(f'{name}: Tensor' for name in arguments)}):"]
    lines += [f"    {statement}" for statement in statements]
    return "\n".join(["import math", "import torch", "from torch import Tensor", *lines, f"    return ({', '.join(results)},)", ""])


def run(tmp_path, source, *arguments):
    """Its results, and the names of the operators that ran."""
    (tmp_path / "f.py").write_text(source)
    torch.save(arguments, tmp_path / "in.pt")
    done = hearth("run", tmp_path / "f.py", "--method", "f", "--inputs", tmp_path / "in.pt", "--output", tmp_path / "out.pt", "--tier", "2",
                  "--repeat", "2", "--explain", "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    operators = json.loads(done.stdout)["explanation"][0]["operators"]
    names = {operator["name"] for operator in operators} - {"prim::Return", "prim::TupleConstruct"}
    return torch.load(tmp_path / "out.pt"), names


def differing(expected, got, text, spread):
    """The places where they differ by more than `text` may."""
    assert expected.dtype == got.dtype and expected.shape == got.shape, text
    same = (expected == got) | ((expected != expected) & (got != got))
    if not expected.dtype.is_floating_point:
        return ~same
    info = torch.finfo(expected.dtype)
    near = (expected.double() - got.double()).abs() <= spread + info.smallest_normal * info.eps
    signs = (expected.signbit() == got.signbit()) | (expected != expected) | any(name in text for name in SIGNS_OPEN)
    same = (same & (signs | (expected != 0))) | (near & expected.isfinite() & got.isfinite())
    # What rounds to an infinity may round to the largest number.
    largest = (expected.abs() >= info.max * (1 - 16 * info.eps)) & (got.abs() >= info.max * (1 - 16 * info.eps))
    return ~(same | (largest & (expected.sign() == got.sign()) & (spread > 0)))


@pytest.mark.parametrize("dtype", [*FLOATING, *INTEGER], ids=str)
def test_pointwise_operators_give_what_libtorch_gives(dtype, tmp_path):
    x, y = pairs(dtype)
    expected = {text: taken(text, x=x, y=y) for text in [*texts(EXACT), *texts(NEAR)]}
    # Of what LibTorch takes for integers, some is its own.
    expected = {text: value for text, value in expected.items() if value is not None and dtype not in OWN.get(text, ())}
    assert len(expected) > (70 if dtype.is_floating_point else 30)
    # A second operator makes a group of each.
    statements = [f"v{i} = {text}; w{i} = torch.isnan(v{i})" for i, text in enumerate(expected)]
    names = [f"{letter}{i}" for i in range(len(expected)) for letter in "vw"]
    got, operators = run(tmp_path, program("xy", [s for both in statements for s in both.split("; ")], names), x, y)
    assert operators - {"aten::select", "aten::size", "aten::slice"} == {"hearth::fused"}
    assert len(got) == 2 * len(expected)
    for (text, value), result in zip(expected.items(), got[::2]):
        eps = torch.finfo(value.dtype).eps if value.dtype.is_floating_point else 0.0
        half = value.dtype in (torch.float16, torch.bfloat16)
        error = min(UNITS[text], 1 if half else 99) * eps
        spread = value.double().abs() * error
        if any(name in text for name in ("logaddexp", "cross_entropy", "kl_div", "ndtr", "poisson")):  # what they add up may cancel
            spread = spread + (x.double().abs() + y.double().abs() + 1).nan_to_num(0, 0, 0) * error
        if "erfinv" in text:  # where erf is flat
            spread = spread + value.double().square().exp().nan_to_num(0, 0, 0) * error
        if UNITS[text] > 0 and value.dtype.is_floating_point:  # some of LibTorch's kernels take the smallest numbers for 0
            spread = spread + 2 * torch.finfo(value.dtype).smallest_normal
        bad = differing(value, result, text, spread)
        assert not bad.any(), f"{text}: of {x[bad][:5]} and {y[bad][:5]} {value[bad][:5]} and not {result[bad][:5]}"


@pytest.mark.parametrize("finite", [True, False])
@pytest.mark.parametrize("dtype", [*FLOATING, *INTEGER], ids=str)
def test_operators_on_rows_give_what_libtorch_gives(dtype, finite, tmp_path):
    x = rows(dtype, finite)
    expected = {text: taken(text, x=x) for text in [*texts(ROWS), *texts(SUMS)]}
    whole = [*texts(WHOLE), *texts(WHOLE_SUMS)]
    expected.update((text, taken(text, x=x[-1])) for text in whole)
    expected = {text: value for text, value in expected.items() if value is not None and dtype not in OWN.get(text, ())}
    if dtype == torch.uint8:  # any and all of bytes are bytes
        expected = {text: value for text, value in expected.items() if "any" not in text and "all" not in text}
    assert len(expected) > (25 if dtype.is_floating_point else 5)
    statements = ["x = x.view(9, 37)", "z = x.view(333)[-37:]"]
    # A group of its own for each, with what gives the same of other constants.
    for i, text in enumerate(expected):
        rest = "z" if text in whole else "x"
        statements += [f"y{i} = torch.where({rest} > {i}, {rest}, {rest})", f"v{i} = {text.replace('(x', f'(y{i}')}"]
    got, operators = run(tmp_path, program("x", statements, [f"v{i}" for i in range(len(expected))]), x)
    assert operators - {"aten::view", "aten::slice"} == {"hearth::fused"}
    for (text, value), result in zip(expected.items(), got):
        spread = torch.zeros((), dtype=torch.float64)
        if text in [*texts(SUMS), *texts(WHOLE_SUMS)] and value.dtype.is_floating_point:
            spread = (value.double().abs() + 6) * torch.finfo(value.dtype).eps * (2 if x.dtype in (torch.float16, torch.bfloat16) else 8)
        bad = differing(value, result, text, spread)
        assert not bad.any(), f"{text}: {value[bad][:5]} and not {result[bad][:5]}"


LOSSES = """
torch.ops.aten.l1_loss(a, b, reduction=R)
torch.ops.aten.mse_loss(a, b, reduction=R)
torch.ops.aten.huber_loss(a, b, reduction=R, delta=0.3)
torch.ops.aten.smooth_l1_loss(a, b, reduction=R, beta=0.3)
torch.ops.aten.hinge_embedding_loss(a, b, reduction=R, margin=0.7)
torch.ops.aten.soft_margin_loss(a, b, reduction=R)
torch.ops.aten.kl_div(a, b, reduction=R, log_target=True)
torch.ops.aten.binary_cross_entropy_with_logits(a, b, reduction=R)
torch.ops.aten.poisson_nll_loss(a, b, True, False, 1e-8, R)
torch.ops.aten.margin_ranking_loss(a, b, a, margin=0.7, reduction=R)
"""


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_means_and_sums_of_losses_give_what_libtorch_gives(dtype, tmp_path):
    x = rows(dtype, finite=True).flatten()
    b = x.tanh()
    expected = {}
    for loss in texts(LOSSES):
        for reduction in "12":
            text = loss.replace("=R", f"={reduction}").replace(" R)", f" {reduction})")
            expected[text] = taken(text, a=x, b=b)
    statements = ["x = x.view(333)", "b = b.view(333)"]
    for i, text in enumerate(expected):
        statements += [f"a{i} = torch.where(x > {i + 9}, x, x)", f"v{i} = {text.replace('(a', f'(a{i}').replace('b, a', f'b, a{i}')}"]
    got, operators = run(tmp_path, program("xb", statements, [f"v{i}" for i in range(len(expected))]), x, b)
    assert operators - {"aten::view"} == {"hearth::fused"}
    for (text, value), result in zip(expected.items(), got):
        elements = 1 if "=1" in text or ", 1)" in text else x.numel()
        spread = (value.double().abs() + elements) * torch.finfo(dtype).eps * 4
        bad = differing(value, result, text, spread)
        assert not bad.any(), f"{text}: {value} and not {result}"
