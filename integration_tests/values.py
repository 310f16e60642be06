"""Values that cross hearth's doors: their plain form, their names by path, and comparison within a dtype's tolerance."""

import math

import torch

# Relative and absolute tolerance by dtype: what two correct evaluation orders of the same operators may differ by.
TOLERANCE = {
    torch.float64: (1e-7, 1e-7),
    torch.float32: (1.3e-4, 2e-5),
    torch.float16: (2e-2, 2e-2),
    torch.bfloat16: (5e-2, 5e-2),
    torch.complex64: (1.3e-4, 2e-5),
    torch.complex128: (1e-7, 1e-7),
}


def plain(value):
    """`value` as an archive of hearth holds it: named tuples become tuples, objects dicts of their attributes."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()  # a view of another dtype cannot be saved beside its base
    if isinstance(value, dict):
        return {key: plain(element) for key, element in value.items()}
    if isinstance(value, list):
        return [plain(element) for element in value]
    if isinstance(value, tuple):
        return tuple(plain(element) for element in value)
    if hasattr(value, "__dict__") and not isinstance(value, torch.dtype):
        return {name: plain(element) for name, element in vars(value).items()}
    return value


def to(device, value):
    """`value` with every tensor in it on `device`, detached."""
    if isinstance(value, torch.Tensor):
        return value.detach().to(device)
    if isinstance(value, (list, tuple)):
        return type(value)(to(device, element) for element in value)
    if isinstance(value, dict):
        return {key: to(device, element) for key, element in value.items()}
    return value


def leaves(value, path=""):
    """(path, leaf) of every leaf that is not None: `0.boxes` is key `boxes` of element 0. A named tuple's elements go by
    their field names; the path of a value that is a leaf itself is empty."""

    def under(name):
        return f"{path}.{name}" if path else str(name)

    if value is None:
        return
    if isinstance(value, dict):
        for key, element in value.items():
            yield from leaves(element, under(key))
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for name, element in zip(value._fields, value):
            yield from leaves(element, under(name))
    elif isinstance(value, (list, tuple)):
        for index, element in enumerate(value):
            yield from leaves(element, under(index))
    else:
        yield path, value


def as_tensor(leaf):
    """A leaf as a server's protocol carries it: numbers are tensors without dimensions."""
    if isinstance(leaf, torch.Tensor):
        return leaf
    return torch.tensor(leaf, dtype={bool: torch.bool, int: torch.int64, float: torch.float64}[type(leaf)])


def difference(expected, got, path="result", tolerance=None):
    """Where `got` is not what was `expected`, in words; None if it is. Tensors and floats agree within the tolerance
    of their dtype (or the one given), everything else exactly, types of containers included. The tolerance "largest" is the
    dtype's, taken of a tensor's largest number instead of each one."""
    if isinstance(expected, torch.Tensor):
        if not isinstance(got, torch.Tensor):
            return f"{path}: expected a tensor, got {type(got).__name__} {got!r}"
        return _tensor_difference(expected, got, path, tolerance)
    if type(expected) is not type(got):
        return f"{path}: expected {type(expected).__name__} {expected!r}, got {type(got).__name__} {got!r}"
    if isinstance(expected, dict):
        if repr(list(expected)) != repr(list(got)):  # nan is a key, and is not itself
            return f"{path}: expected the keys {list(expected)}, got {list(got)}"
        pairs = [(key, e, g) for (key, e), g in zip(expected.items(), got.values())]
    elif isinstance(expected, (list, tuple)):
        if len(expected) != len(got):
            return f"{path}: expected {len(expected)} elements, got {len(got)}"
        pairs = [(index, e, g) for index, (e, g) in enumerate(zip(expected, got))]
    else:
        return None if _same_scalar(expected, got) else f"{path}: expected {expected!r}, got {got!r}"
    for key, expected_element, got_element in pairs:
        found = difference(expected_element, got_element, f"{path}.{key}", tolerance)
        if found:
            return found
    return None


def _tensor_difference(expected, got, path, tolerance):
    for what in ("dtype", "layout", "is_quantized"):
        if getattr(expected, what) != getattr(got, what):
            return f"{path}: expected {what} {getattr(expected, what)}, got {getattr(got, what)}"
    if expected.shape != got.shape:
        return f"{path}: expected shape {list(expected.shape)}, got {list(got.shape)}"
    of_largest = tolerance == "largest"
    relative, absolute = TOLERANCE.get(expected.dtype, (0, 0)) if of_largest or not tolerance else tolerance
    if expected.is_quantized:
        expected, got = expected.dequantize(), got.dequantize()
    if expected.layout != torch.strided:
        expected, got = expected.to_dense(), got.to_dense()
    expected, got = expected.detach().cpu(), got.detach().cpu()
    if of_largest and relative:
        finite = expected[expected.isfinite()].abs()
        absolute += relative * (finite.max().item() if finite.numel() else 0)
        relative = 0
    if torch.allclose(got, expected, rtol=relative, atol=absolute, equal_nan=True):
        return None
    wide = torch.complex128 if expected.is_complex() else torch.float64
    worst = (got.to(wide) - expected.to(wide)).abs().max().item()
    return f"{path}: the largest difference is {worst:g} (tolerance {relative:g} relative, {absolute:g} absolute)"


def _same_scalar(expected, got):
    if isinstance(expected, (float, complex)):
        parts = [(expected, got)]
        if isinstance(expected, complex):
            parts = [(expected.real, got.real), (expected.imag, got.imag)]
        return all(
            (math.isnan(e) and math.isnan(g)) or math.isclose(e, g, rel_tol=1e-7, abs_tol=1e-9) for e, g in parts
        )
    if isinstance(expected, str) and isinstance(got, str):
        return unsigned_nan(expected) == unsigned_nan(got)
    return expected == got


def unsigned_nan(text):
    """Of two nan that are added it is the compiler's choice whose sign the sum has: IEEE 754 does not say."""
    return text.replace("-nan", "nan")
