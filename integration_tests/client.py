"""tritonclient, spoken in torch's values: arguments in, named tensors out."""

import ml_dtypes
import numpy as np
import torch
import tritonclient.grpc as triton

from integration_tests.values import as_tensor, leaves

DATATYPES = {
    torch.bool: "BOOL",
    torch.uint8: "UINT8",
    torch.int8: "INT8",
    torch.int16: "INT16",
    torch.int32: "INT32",
    torch.int64: "INT64",
    torch.float16: "FP16",
    torch.bfloat16: "BF16",
    torch.float32: "FP32",
    torch.float64: "FP64",
}


def triton_inputs(names, arguments):
    """InferInputs for `arguments`, whose names are `names`; parts of a list or dict go by their path."""
    made = []
    for path, leaf in leaves(dict(zip(names, arguments))):
        tensor = as_tensor(leaf).detach().contiguous()
        made.append(triton.InferInput(path, list(tensor.shape), DATATYPES[tensor.dtype]))
        made[-1].set_data_from_numpy(_to_numpy(tensor))
    return made


def named_tensors(result):
    """The outputs of an InferResult by name."""
    return {output.name: _from_numpy(result.as_numpy(output.name)) for output in result.get_response().outputs}


# numpy has no BF16 of its own; it goes by way of its bits.
def _to_numpy(tensor):
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def _from_numpy(array):
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def ask_model(client, name, model, **options):
    """The named tensors that a server answers for the zoo's `model`, served as `name`."""
    result = client.infer(name, triton_inputs(model.names()["inputs"], model.inputs()), **options)
    return named_tensors(result)
