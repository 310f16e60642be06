"""What a server says of its models, as plain objects."""

import dataclasses
from typing import Any, List

from hearth.values import read_value


@dataclasses.dataclass(frozen=True)
class TensorMetadata:
    """A named tensor: its datatype as the protocol calls it ("FP32") and its shape, -1 where the size varies."""

    name: str
    datatype: str
    shape: List[int]


@dataclasses.dataclass(frozen=True)
class ModelMetadata:
    """The named tensors that a model takes and gives, and the versions that the server has."""

    name: str
    versions: List[str]
    platform: str
    inputs: List[TensorMetadata]
    outputs: List[TensorMetadata]


@dataclasses.dataclass(frozen=True)
class ServerMetadata:
    name: str
    version: str
    extensions: List[str]


@dataclasses.dataclass(frozen=True)
class ModelState:
    """A version of a model in the repository: "READY", "UNAVAILABLE", "LOADING", "UNLOADING", or "" if it was never
    loaded; `reason` says why where the state alone does not."""

    name: str
    version: str
    state: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Argument:
    """An argument of a method, its type as TorchScript's annotation. `default` is None too where there is none."""

    name: str
    type: str
    has_default: bool
    default: Any = None


@dataclasses.dataclass(frozen=True)
class Method:
    """A method of a model. As text it is its signature."""

    name: str
    arguments: List[Argument]
    return_type: str

    def __str__(self):
        arguments = ", ".join(
            f"{argument.name}: {argument.type}" + (f" = {argument.default!r}" if argument.has_default else "")
            for argument in self.arguments
        )
        return f"{self.name}({arguments}) -> {self.return_type}"


def model_metadata(message) -> ModelMetadata:
    def tensors(described):
        return [TensorMetadata(tensor.name, tensor.datatype, list(tensor.shape)) for tensor in described]

    return ModelMetadata(
        message.name, list(message.versions), message.platform, tensors(message.inputs), tensors(message.outputs)
    )


def server_metadata(message) -> ServerMetadata:
    return ServerMetadata(message.name, message.version, list(message.extensions))


def model_states(message) -> List[ModelState]:
    return [ModelState(model.name, model.version, model.state, model.reason) for model in message.models]


def methods(message) -> List[Method]:
    def argument(described):
        has_default = described.HasField("default_value")
        # Defaults are never tensors, so there are no payloads.
        default = read_value(described.default_value, []) if has_default else None
        return Argument(described.name, described.type, has_default, default)

    return [Method(m.name, [argument(a) for a in m.arguments], m.return_type) for m in message.methods]
