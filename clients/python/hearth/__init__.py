"""The Python client of hearthd.

    import hearth

    with hearth.Client("localhost:8001") as client:
        tagger = client.model("tagger")
        scores = tagger(pixels)                        # forward
        tags = tagger.tag(pixels, labels=["cat"])      # any method, any value
        client.metadata("tagger")                      # and what the standard protocol offers

`AsyncClient` has the same methods as coroutines. Errors are classes by status, see hearth.errors.
"""

from importlib import resources as _resources

from hearth.client import AsyncClient, Client
from hearth.connection import Tls
from hearth.descriptions import Argument, Method, ModelMetadata, ModelState, ServerMetadata, TensorMetadata
from hearth.errors import (
    Cancelled,
    DeadlineExceeded,
    FailedPrecondition,
    HearthError,
    InvalidArgument,
    ModelError,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)
from hearth.inference import StreamAnswer
from hearth.values import Device, EnumMember, Object

__version__ = _resources.files(__name__).joinpath("VERSION").read_text().strip()

__all__ = [
    "Argument", "AsyncClient", "Cancelled", "Client", "DeadlineExceeded", "Device", "EnumMember", "FailedPrecondition",
    "HearthError", "InvalidArgument", "Method", "ModelError", "ModelMetadata", "ModelState", "NotFound", "Object",
    "PermissionDenied", "ResourceExhausted", "ServerMetadata", "StreamAnswer", "TensorMetadata", "Tls", "Unauthenticated",
    "Unavailable", "Unimplemented",
]  # fmt: skip
