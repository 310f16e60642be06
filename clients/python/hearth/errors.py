"""What a client raises: one class for each status of gRPC that hearthd answers with."""

import grpc


class HearthError(Exception):
    """A request failed. `status` is gRPC's code, `message` what the server (or the channel) said."""

    def __init__(self, status: grpc.StatusCode, message: str):
        super().__init__(f"{status.name}: {message}")
        self.status = status
        self.message = message

    def __reduce__(self):
        return type(self), (self.status, self.message)


class InvalidArgument(HearthError, ValueError):
    """The request does not fit: the message names what was expected and what came."""


class NotFound(HearthError, LookupError):
    """There is no such model, version or method."""


class ModelError(HearthError):
    """The model raised. The message is the traceback, down to the line of Python that was scripted."""


class DeadlineExceeded(HearthError, TimeoutError):
    """The call's timeout passed; the server has ended its run."""


class ResourceExhausted(HearthError):
    """The server refuses work beyond its bounds: try again later, or send less."""


class Unavailable(HearthError, ConnectionError):
    """Nobody answers at the address, the model is not ready, or the server is shutting down."""


class Cancelled(HearthError):
    """The call was cancelled."""


class Unauthenticated(HearthError):
    """The server asks for a token or a certificate and got none that it knows."""


class PermissionDenied(HearthError, PermissionError):
    """The caller is known and may not do this."""


class Unimplemented(HearthError, NotImplementedError):
    """The server does not offer this."""


class FailedPrecondition(HearthError):
    """The server's state does not allow this now."""


_CLASSES = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgument,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.INTERNAL: ModelError,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ResourceExhausted,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.CANCELLED: Cancelled,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.UNIMPLEMENTED: Unimplemented,
    grpc.StatusCode.FAILED_PRECONDITION: FailedPrecondition,
}


def error_of(status: grpc.StatusCode, message: str) -> HearthError:
    return _CLASSES.get(status, HearthError)(status, message)


def error_of_rpc(error: grpc.RpcError) -> HearthError:
    """The typed error of what grpc or grpc.aio raised."""
    return error_of(error.code(), error.details() or "")
