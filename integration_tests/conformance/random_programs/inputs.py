"""Arguments for a program's parameters."""

import torch

from integration_tests.conformance.random_programs.tensors import DTYPES

_TORCH = {short: getattr(torch, name.removeprefix("torch.")) for short, name in DTYPES.items()}
_INTS = [0, 1, 2, 3, 4, 5, -1, -2, 7, 11, 100, -(2**40), 2**62]
_FLOATS = [0.0, 1.0, -1.5, 0.25, 3.0, 1e6, -7.75, 0.1]
_STRINGS = ["", "a", "abc", "Hello World", "1,2,3", " b ", "17", "x.y", "ZZ top"]


def arguments(rng, params):
    return tuple(_value(rng, type) for _, type in params)


def _pick(rng, options):
    return options[rng.randrange(len(options))]


def _value(rng, type):
    name = type.name
    if name == "int":
        return _pick(rng, _INTS)
    if name == "float":
        return _pick(rng, _FLOATS)
    if name == "bool":
        return rng.random() < 0.5
    if name == "str":
        return _pick(rng, _STRINGS)
    if name == "complex":
        return complex(_pick(rng, _FLOATS), _pick(rng, _FLOATS))
    if name == "Tensor":
        return _tensor(rng, *type.args)
    if name == "List":
        return [
            _value(rng, type.args[0]) for _ in range(rng.randrange(0, 5) if rng.random() < 0.2 else rng.randrange(2, 5))
        ]
    if name == "Dict":
        keys = ["a", "b", "c", "d"] if type.args[0].name == "str" else [0, 1, 2, 5]
        return {key: _value(rng, type.args[1]) for key in keys[: rng.randrange(1, 5)]}
    if name == "Tuple":
        return tuple(_value(rng, arg) for arg in type.args)
    if name == "Optional":
        return None if rng.random() < 0.4 else _value(rng, type.args[0])
    raise AssertionError(f"no argument of {type}")


def _tensor(rng, dtype, shape):
    count = 1
    for size in shape:
        count *= size
    if dtype == "bool":
        values = [rng.random() < 0.5 for _ in range(count)]
    elif dtype in ("i64", "i32"):
        values = [rng.randrange(-5, 9) for _ in range(count)]
    else:
        values = [rng.randrange(-16, 17) / 4 for _ in range(count)]
    return torch.tensor(values, dtype=_TORCH[dtype]).reshape(shape)
