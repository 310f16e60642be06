"""Named tensors of the Open Inference Protocol, as numpy's arrays.

A string is an element of BYTES; arrays of BYTES have numpy's dtype object, their elements bytes.
"""

import dataclasses
import struct
from typing import Any, Dict, Optional

import numpy as np

from hearth import protocol, tensors
from hearth.errors import HearthError

# The protocol's datatypes by PyTorch's dtypes.
_DATATYPES = {
    "bool": "BOOL",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "float16": "FP16",
    "float32": "FP32",
    "float64": "FP64",
    "bfloat16": "BF16",
}
_DTYPES = {datatype: dtype for dtype, datatype in _DATATYPES.items()}


@dataclasses.dataclass(frozen=True)
class StreamAnswer:
    """The answer to one request of a stream: its outputs by name, or the error with which this request alone failed."""

    id: str
    outputs: Optional[Dict[str, Any]] = None
    error: Optional[HearthError] = None

    def get(self) -> Dict[str, Any]:
        """The outputs; raises the error if there is one."""
        if self.error is not None:
            raise self.error
        return self.outputs


def infer_request(model, inputs, version="", outputs=(), parameters=None, id=""):
    """A ModelInferRequest of arrays (or what numpy makes one of) by the names of inputs."""
    request = protocol.message("inference.ModelInferRequest")(model_name=model, model_version=version, id=id)
    for name, value in inputs.items():
        _write_input(name, value, request)
    for name in outputs:
        request.outputs.add(name=name)
    for name, value in (parameters or {}).items():
        _write_parameter(name, value, request.parameters[name])
    return request


def _write_input(name, value, request):
    if not tensors.is_tensor(value):
        value = _array(value)
    described = request.inputs.add(name=name, shape=value.shape)
    if not tensors.is_torch_tensor(value) and value.dtype.kind in "USO":
        described.datatype = "BYTES"
        request.raw_input_contents.append(b"".join(_bytes_element(name, item) for item in value.ravel()))
        return
    try:
        dtype = tensors.dtype_of(value)
        described.datatype = _DATATYPES[dtype]
        request.raw_input_contents.append(tensors.bytes_of(value))
    except KeyError:
        raise TypeError(f"input '{name}': the protocol has no datatype for {dtype}; use Client.call") from None
    except TypeError as error:
        raise TypeError(f"input '{name}': {error}") from None


def _array(value):
    """Strings stay what they are: numpy's own arrays of them drop zeros at the end, and mix no str with bytes."""
    objects = np.asarray(value, object)
    has_strings = objects.size > 0 and isinstance(objects.flat[0], (str, bytes))
    return objects if has_strings else np.asarray(value)


def _bytes_element(name, item):
    data = item.encode() if isinstance(item, str) else item
    if not isinstance(data, bytes):
        raise TypeError(f"input '{name}': expected str or bytes, got {type(item).__name__}")
    return struct.pack("<I", len(data)) + data


def _write_parameter(name, value, message):
    for kind, field in ((bool, "bool_param"), (int, "int64_param"), (float, "double_param"), (str, "string_param")):
        if isinstance(value, kind):
            setattr(message, field, value)
            return
    raise TypeError(f"parameter '{name}': expected bool, int, float or str, got {type(value).__name__}")


def read_outputs(response):
    """The outputs of a ModelInferResponse by name, in the server's order."""
    return {
        output.name: _read_output(output, data)
        for output, data in zip(response.outputs, response.raw_output_contents, strict=True)
    }


def _read_output(output, data):
    if output.datatype != "BYTES":
        return tensors.numpy_tensor(data, _DTYPES[output.datatype], output.shape)
    elements, offset = [], 0
    while offset < len(data):
        (length,) = struct.unpack_from("<I", data, offset)
        elements.append(data[offset + 4 : offset + 4 + length])
        offset += 4 + length
    made = np.empty(len(elements), object)
    made[:] = elements
    return made.reshape(tuple(output.shape))
