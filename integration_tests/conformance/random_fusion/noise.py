"""How far a result of a fused group may be from LibTorch's own.

A fixed tolerance is of no use here: the difference of two large numbers, or a sine after an exponential, makes any rounding
error as large as one likes, while most results should be equal bit by bit. So the program is run again in LibTorch, several
times, with errors added to the result of each operator: as much as two good implementations of that operator differ by, which
is nothing for those that IEEE 754 defines (sums, products, quotients, comparisons, conversions), a few units in the
last place for exponentials and the like, and for those that add up or subtract within themselves as much of what they
subtract. What moves a result that far in one of these runs, hearth may move by FACTOR times as much; a result that no error
reaches must be equal. An element that is an integer, inf or nan in one run and something else in another is undecided and
agrees with anything. Where LibTorch itself gives one thing in its vectorized loop and another in what is left over (the sign
of the zero that a maximum gives, an integer of what is no integer's), the runs draw which."""

import math

import torch
from torch.utils._python_dispatch import TorchDispatchMode

FACTOR = 4
RUNS = 6
MORE_RUNS = 60  # before a difference is called one

_EXACT = set(
    "abs add sub rsub mul div true_divide neg floor ceil round trunc sign eq ne lt le gt ge isnan isinf isfinite where "
    "logical_not logical_and logical_or logical_xor bitwise_not bitwise_and bitwise_or bitwise_xor __and__ __or__ __xor__ "
    "masked_fill fmod floor_divide clone expand reshape view slice select permute arange hardtanh threshold hardshrink "
    "frac empty set_ scalar_tensor _unsafe_view as_strided alias detach nan_to_num copy_ unsqueeze square full "
    "sgn absolute negative fix signbit isposinf isneginf copysign heaviside greater greater_equal less less_equal not_equal any all "
    "lift_fresh _reshape_alias leaky_relu empty_like _local_scalar_dense resize_ copy fill_ zero_ item empty_strided".split()
)
# Of these it is the sign of a zero that is open.
_EXTREMA = set("maximum minimum fmax fmin amax amin clamp clamp_min clamp_max relu relu6 clip".split())
_UNITS = {"sqrt": 1, "pow": 4, "tan": 4, "sinh": 4, "cosh": 4, "erfc": 8, "hardsigmoid": 2, "hardswish": 2, "reciprocal": 1, "remainder": 1, "asinh": 4, "acosh": 4,
          "atanh": 4, "special_erfc": 8}  # fmt: skip
_MOST_UNITS = 3  # of others
_ROUNDED_WITHIN = ("add", "sub", "rsub", "_log_softmax", "logsumexp", "addcmul", "addcdiv")


class Noise(TorchDispatchMode):
    def __init__(self, seed, device="cpu"):
        super().__init__()
        self._drawn = {"generator": torch.Generator(device).manual_seed(seed), "device": device}
        self.reached = set()  # the storages of results that errors were added to, or to what they are made of

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = function.overloadpacket.__name__
        plain = name.removesuffix("_") if not name.startswith("_") else name
        before = [a.clone() if isinstance(a, torch.Tensor) else a for a in args] if plain != name else args
        result = function(*args, **kwargs)
        if not isinstance(result, torch.Tensor):
            if isinstance(result, tuple) and result and isinstance(result[0], torch.Tensor):
                self._disturb(plain, before, kwargs, result[0])
            return result
        self._disturb(plain, before, kwargs, result)
        return result

    def _disturb(self, name, args, kwargs, result):
        if result.numel() == 0:
            return
        if name in ("_to_copy", "to"):
            self._draw_unspecified(args[0], result)
        elif name in ("copysign", "signbit"):
            self._draw_sign_of_nan(name, args[name == "copysign"], result)
        elif result.dtype.is_floating_point:
            if name in _EXTREMA:
                signs = self._signs(result)
                result.copy_(torch.where(result == 0, signs * 0.0, result))
            elif name in _EXACT and _broken(name, args) is None and not _inexact(name, args, kwargs):
                pass
            else:
                result.copy_(self._with_errors(name, args, kwargs, result))

    def _draw_unspecified(self, given, result):
        """An integer of a number that is none of its dtype's."""
        if not given.dtype.is_floating_point or result.dtype.is_floating_point or result.dtype == torch.bool:
            return
        limits, wide = torch.iinfo(result.dtype), given.double()
        outside = ~((wide > max(limits.min, -(2.0**31)) - 1.0) & (wide < min(limits.max, 2**31 - 1) + 1.0))
        if result.dtype != torch.int64 and result.dtype != torch.int32:
            outside = ~((wide > limits.min - 1) & (wide < limits.max + 1))
        elif result.dtype == torch.int64:
            outside = ~(wide.abs() < 2.0**63)
        drawn = torch.randint(limits.min // 2, limits.max // 2, result.shape, **self._drawn, dtype=torch.int64)
        result.copy_(torch.where(outside, drawn.to(result.dtype), result))

    def _draw_sign_of_nan(self, name, given, result):
        """Whose sign is nobody's to say."""
        if not isinstance(given, torch.Tensor) or not given.is_floating_point():
            return
        signs = self._signs(result.double())
        drawn = signs < 0 if name == "signbit" else result.abs() * signs.to(result.dtype)
        result.copy_(torch.where(given.isnan(), drawn, result))

    def _with_errors(self, name, args, kwargs, result):
        info = torch.finfo(result.dtype)
        half = result.dtype in (torch.float16, torch.bfloat16)
        wide = result.double()
        units = 1 if half else _UNITS.get(name, _MOST_UNITS)
        errors = wide.abs() * (info.eps * units) + info.smallest_normal * info.eps * units
        # LibTorch rounds alpha to half precision, and parts of a logarithm of softmax.
        eps = torch.finfo(torch.float32).eps if half and name not in _ROUNDED_WITHIN else info.eps
        if name == "erf" and half:  # of small numbers, LibTorch subtracts what is nearly 1 from 1 there
            errors = errors + 4 * torch.finfo(torch.float32).eps
        inner = _subtracted(name, args, kwargs, result)
        if inner is not None:
            errors = errors + inner.nan_to_num(0, 0, 0).abs() * (eps if half else 4 * eps)
        size = torch.rand(result.shape, **self._drawn, dtype=torch.float64) * 0.5 + 0.5
        moved = wide + self._signs(wide) * size * errors
        # Some by whole units, so that a run meets a number that many results saturate to.
        unit = torch.exp2(torch.frexp(wide)[1].double() - 1) * info.eps
        steps = torch.randint(-units, units + 1, wide.shape, **self._drawn)
        whole = torch.rand(wide.shape, **self._drawn) < 0.4
        moved = torch.where(whole & wide.isfinite() & (wide != 0), wide + steps * unit, moved)
        # What is all error may be 0 as well, of which no small number is a neighbour.
        zero = (wide.abs() <= errors) & (torch.rand(wide.shape, **self._drawn) < 0.3)
        moved = torch.where(zero, 0.0, moved)
        broken = _broken(name, args)
        if broken is not None:
            broken = broken.reshape(result.shape)
            drawn = torch.rand((), **self._drawn)  # of all alike: one nan is a whole row of the next operator
            moved = torch.where(broken, torch.where(drawn < 0.4, float("nan"), 0.0), moved)
            wide = torch.where(broken, 0.0, wide)
        return torch.where(wide.isfinite(), moved, wide).to(result.dtype)

    def _signs(self, like):
        return (torch.randint(0, 2, like.shape, **self._drawn) * 2 - 1).to(like.dtype)


def _inexact(name, args, kwargs):
    """Whether a multiplication is part of the sum, which may or may not be rounded by itself."""
    return name in ("add", "sub", "rsub") and kwargs.get("alpha", args[2] if len(args) > 2 else 1) not in (1, -1)


def _broken(name, args):
    """Where LibTorch gives nan for its way of computing alone, in its vectorized loop at least; None where that is nowhere."""
    if name == "gelu":
        return args[0].isinf()
    if name == "native_layer_norm":  # squares that overflow
        wide = torch.float64 if args[0].dtype == torch.float64 else torch.float32
        largest = args[0].double().abs().amax(list(range(-len(args[1]), 0)), keepdim=True)
        return (largest > torch.finfo(wide).max ** 0.5 / 100).expand(args[0].shape)
    if name in ("sum", "mean", "nansum") and len(args) > 1:  # parts that overflow, in one order of adding up or another
        wide = torch.float64 if args[0].dtype == torch.float64 else torch.float32
        return args[0].double().nan_to_num(0, 0, 0).abs().sum(args[1]) >= torch.finfo(wide).max
    if name == "fmod":
        ratio = (_wide(args[0]) / _wide(args[1])).abs()
        return (ratio > 1e7) & ratio.isfinite() if (ratio > 1e7).any() else None
    return None


def _wide(value):
    return value.double() if isinstance(value, torch.Tensor) else torch.tensor(float(value), dtype=torch.float64)


def _subtracted(name, args, kwargs, result):
    """What an operator adds up or subtracts within itself: its error goes by the size of that."""
    x = _wide(args[0]) if args and isinstance(args[0], torch.Tensor) else None
    if name in ("add", "sub", "rsub"):
        return _wide(args[1]).abs() * abs(kwargs.get("alpha", 1)) + x.abs()
    if name == "addcmul":
        return _wide(args[1]) * _wide(args[2]) * kwargs.get("value", 1)
    if name == "addcdiv":
        return _wide(args[1]) / _wide(args[2]) * kwargs.get("value", 1)
    if name == "lerp":
        weight = _wide(args[2]) if isinstance(args[2], torch.Tensor) else args[2]
        return (x.abs() + _wide(args[1]).abs()) * (1 + abs(weight))
    if name in ("gelu", "softshrink", "hardswish", "mish", "silu"):
        return x.clamp(-40, 40)
    if name in ("elu", "celu", "selu"):
        numbers = [abs(float(a)) for a in args[1:]] + [abs(float(v)) for v in kwargs.values()] + [2.0]
        return torch.where(x < 0, torch.ones_like(x) * max(numbers) ** 2, torch.zeros_like(x))
    if name in ("sinh", "expm1", "log1p", "log_sigmoid_forward", "softplus"):
        return None
    if name == "remainder":
        return _wide(args[1])
    if name in ("_softmax", "_log_softmax"):
        length = max(result.size(args[1]) if result.dim() else 1, 1)
        along = result.double().abs() + 2 + torch.log(torch.tensor(float(length)))
        if name == "_softmax":
            return result.double() * 4
        return along
    if name in ("logaddexp", "logaddexp2"):
        return x.abs() + _wide(args[1]).abs()
    if name == "binary_cross_entropy_with_logits":
        return x.abs() * (2 + _wide(args[1]).abs())
    if name == "special_ndtr":
        return torch.ones_like(x)
    if name == "logsumexp":
        dims = args[1] if x.dim() else []
        added = math.prod([x.size(d) for d in dims])
        return result.double().abs() + 2 + math.log(max(added, 1))
    if name == "prod":
        return result.double().abs() * max(x.numel() // max(result.numel(), 1), 1)
    if name in ("sum", "nansum", "mean", "linalg_vector_norm", "norm"):
        # Numbers are added up in one order or another.
        parts = x.square() if "norm" in name else x
        added = parts.nan_to_num(0, 0, 0).abs().sum(kwargs.get("dim", args[2 if "norm" in name else 1]), keepdim=True)
        if name == "mean":
            added = added * (result.numel() / x.numel())
        return (added.sqrt() if "norm" in name else added).reshape(result.shape)
    if name == "std":
        finite, dims = x.nan_to_num(0, 0, 0), args[1]
        return (finite.std(dims, correction=0, keepdim=True) + finite.abs().amax(dims, keepdim=True)).reshape(result.shape)
    if name == "var":
        finite, dims = x.nan_to_num(0, 0, 0), args[1]
        deviation = finite.std(dims, correction=0, keepdim=True)
        return (deviation**2 + deviation * finite.abs().amax(dims, keepdim=True)).reshape(result.shape)
    if name == "native_layer_norm":
        dims = list(range(-len(args[1]), 0))
        finite = x.nan_to_num(0, 0, 0)
        deviation = (finite.var(dims, correction=0, keepdim=True) + args[4]).rsqrt()
        weight = _wide(args[2]).abs() if args[2] is not None else 1.0
        bias = _wide(args[3]).abs() if args[3] is not None else 0.0
        largest = finite.abs().amax(dims, keepdim=True)
        # The variance of numbers that are far from 0 has the error of their squares.
        of_variance = finite.sub(finite.mean(dims, keepdim=True)).abs() * deviation**3 * (largest * finite.std(dims, correction=0, keepdim=True))
        return (largest * deviation * 2 + of_variance * 2) * weight + bias
    return None


def differing(expected, got, runs):
    """How many elements of `got` are not `expected`, of all that noise leaves decided; and of how many it does not.
    `runs` are what the same program gave with errors added."""
    if expected.numel() == 0:
        return 0, 0
    if not expected.dtype.is_floating_point:
        undecided = torch.zeros(expected.shape, dtype=torch.bool)
        for run in runs:
            undecided |= run != expected
        return int(((got != expected) & ~undecided).sum()), int(undecided.sum())
    wide, ours = expected.double(), got.double()
    spread, undecided = torch.zeros_like(wide), torch.zeros(wide.shape, dtype=torch.bool)
    for run in runs:
        run = run.double()
        special = ~run.isfinite() | ~wide.isfinite()
        same = (run == wide) | (run.isnan() & wide.isnan())
        undecided |= special & ~same
        spread = torch.maximum(spread, torch.where(special, 0.0, (run - wide).abs()))
    info = torch.finfo(expected.dtype)
    unit = torch.maximum(wide.abs() * info.eps, torch.tensor(info.smallest_normal * info.eps, dtype=torch.float64))
    allowed = torch.where(spread > 0, FACTOR * spread + 2 * unit, 0.0)
    equal = (ours == wide) | (ours.isnan() & wide.isnan())
    near = ours.isfinite() & wide.isfinite() & ((ours - wide).abs() <= allowed)
    # What may be moved past the largest number may be inf.
    near |= ours.isinf() & wide.isfinite() & (wide.abs() + allowed >= info.max)
    near |= wide.isinf() & ours.isfinite() & (ours.sign() == wide.sign()) & (ours.abs() >= info.max * (1 - 64 * info.eps)) & (spread > 0)
    return int((~equal & ~near & ~undecided).sum()), int(undecided.sum())
