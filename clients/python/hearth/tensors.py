"""Tensors as bytes and back, for numpy and, where the caller uses it, torch. Bytes are little-endian in row-major order.

torch is never imported for an argument: a value is a torch.Tensor only if somebody has imported torch before.
"""

import sys

import numpy as np

# PyTorch's names of dtypes, without the prefix, that numpy has as well.
_NUMPY_NAMES = {
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
    "complex64", "complex128",
}  # fmt: skip


def torch_if_imported():
    return sys.modules.get("torch")


def is_torch_tensor(value):
    torch = torch_if_imported()
    return torch is not None and isinstance(value, torch.Tensor)


def is_tensor(value):
    return isinstance(value, np.ndarray) or is_torch_tensor(value)


def dtype_of(tensor):
    """PyTorch's name of a tensor's dtype: "float32". TypeError for an array that is no tensor, as one of strings."""
    if is_torch_tensor(tensor):
        return str(tensor.dtype).removeprefix("torch.")
    name = tensor.dtype.name
    # ml_dtypes gives its dtypes PyTorch's names.
    if name in _NUMPY_NAMES or tensor.dtype.type.__module__.partition(".")[0] == "ml_dtypes":
        return name
    raise TypeError(f"an array of dtype {tensor.dtype} is no tensor; a list of str or of numbers may be meant")


def bytes_of(tensor):
    """The elements of a tensor, on whatever device and in whatever layout, as bytes."""
    if not is_torch_tensor(tensor):
        array = np.ascontiguousarray(tensor)
        return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    torch = torch_if_imported()
    if tensor.layout != torch.strided or tensor.is_quantized:
        kind = "quantized" if tensor.is_quantized else str(tensor.layout).removeprefix("torch.")
        raise TypeError(f"a {kind} tensor has no form in the protocol; send a dense one")
    dense = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    return dense.flatten().view(torch.uint8).numpy().tobytes()


def numpy_dtype(name):
    """The dtype of numpy with PyTorch's name, from ml_dtypes where numpy has none."""
    if name in _NUMPY_NAMES:
        return np.dtype(name)
    try:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    except (ImportError, AttributeError):
        raise TypeError(
            f"numpy has no dtype {name}: install ml_dtypes, or ask for tensors of torch (tensors='torch')"
        ) from None


def numpy_tensor(data, dtype, shape):
    """A writable array over a copy of `data`."""
    # numpy reads no array from an empty buffer.
    flat = np.frombuffer(bytearray(data), numpy_dtype(dtype).newbyteorder("<")) if data else np.empty(0, numpy_dtype(dtype))
    return flat.reshape(tuple(shape))


def torch_tensor(data, dtype, shape):
    """A torch.Tensor over a copy of `data`; imports torch."""
    import torch

    dtype = getattr(torch, dtype)
    if not data:
        return torch.empty(tuple(shape), dtype=dtype)
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).view(dtype).reshape(tuple(shape))
