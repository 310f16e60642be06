"""The two clients: Client blocks, AsyncClient is for asyncio. hearth.operations has what they can ask."""

import asyncio
import time
from typing import Any, AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Optional, Sequence, Tuple, Union

import grpc

from hearth import protocol
from hearth.connection import Tls, channel_options, check_token, credentials_of, metadata_of
from hearth.errors import DeadlineExceeded, HearthError, Unavailable, error_of_rpc
from hearth.inference import StreamAnswer, infer_request, read_outputs
from hearth.operations import Operations
from hearth.protocol import INFERENCE

_POLL_SECONDS = 0.1


class _Connected(Operations):
    def __init__(
        self,
        address: str,
        *,
        tls: Union[None, bool, Tls] = None,
        token: Union[None, str, Callable[[], str]] = None,
        timeout: Optional[float] = None,
        tensors: Optional[str] = None,
        metadata: Sequence[Tuple[str, str]] = (),
    ):
        """Connects at the first call, and again whenever the connection was lost.

        address: "HOST:PORT" or "unix:PATH".
        tls: True for TLS with the authorities that gRPC brings, or a Tls.
        token: sent with each call as `authorization: Bearer TOKEN`; a function is asked for it each time. Without TLS
            only an address on this machine takes one.
        timeout: seconds after which a call that names no timeout of its own fails; None: never.
        tensors: "numpy" or "torch", how tensors of answers come; None: as torch's if one was sent, else numpy's.
        metadata: further pairs of names and values to send with each call.
        """
        if tensors not in (None, "numpy", "torch"):
            raise ValueError(f"tensors: expected 'numpy', 'torch' or None, got {tensors!r}")
        check_token(token, tls, address)
        self._tensors = tensors
        self._timeout = timeout
        self._token = token
        self._metadata = tuple(metadata)
        self._calls = {}
        self._channel = self._open(address, credentials_of(tls), channel_options(tls))

    def _unary(self, service, name):
        """The channel's callable of a method."""
        key = (service, name)
        if key not in self._calls:
            rpc = protocol.rpc(service, name)
            self._calls[key] = self._channel.unary_unary(
                rpc.path, request_serializer=rpc.request.SerializeToString, response_deserializer=rpc.answer.FromString
            )
        return self._calls[key]

    def _stream(self):
        rpc = protocol.rpc(INFERENCE, "ModelStreamInfer")
        return self._channel.stream_stream(
            rpc.path, request_serializer=rpc.request.SerializeToString, response_deserializer=rpc.answer.FromString
        )

    def _options(self, timeout):
        """Of a call: its deadline and what goes with it."""
        timeout = self._timeout if timeout is None else timeout
        return {"timeout": timeout, "metadata": metadata_of(self._metadata, self._token)}


class Client(_Connected):
    """A client that blocks. Threads may share it. Close it, or use it in a `with`."""

    def infer_stream(
        self, model: str, inputs: Iterable[Mapping[str, Any]], *, version: str = "", timeout: Optional[float] = None
    ) -> Iterator[StreamAnswer]:
        """Many inferences on one stream: a StreamAnswer for each of the inputs, in their order.

        `inputs` is read on a thread of gRPC's while answers come. An error ends its request alone; what ends the stream is
        raised. `timeout` is of the whole stream. Closing the iterator cancels what is left.
        """
        requests = _StreamRequests(model, version, inputs)
        call = self._stream()(iter(requests), **self._options(timeout))
        try:
            for response in call:
                yield _stream_answer(response)
        except grpc.RpcError as error:
            raise requests.failure or error_of_rpc(error) from error
        finally:
            call.cancel()

    def wait_until_ready(self, timeout: float = 60.0) -> None:
        """Returns when the server is ready; DeadlineExceeded if it is not in time."""
        end = time.monotonic() + timeout
        while not self._is_ready_within(end):
            time.sleep(_POLL_SECONDS)

    def _is_ready_within(self, end):
        try:
            return self.is_ready(timeout=_seconds_until(end))
        except Unavailable:
            return False

    def close(self) -> None:
        """Ends the connection and what is still under way on it."""
        self._channel.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    @staticmethod
    def _open(address, credentials, options):
        if credentials is None:
            return grpc.insecure_channel(address, options=options)
        return grpc.secure_channel(address, credentials, options=options)

    def _invoke(self, service, name, request, read, timeout):
        try:
            answer = self._unary(service, name)(request, **self._options(timeout))
        except grpc.RpcError as error:
            raise error_of_rpc(error) from error
        return read(answer)


class AsyncClient(_Connected):
    """A client for asyncio; cancelling a task cancels its call. It belongs to the event loop in which it is made. Close
    it, or use it in an `async with`."""

    async def infer_stream(
        self,
        model: str,
        inputs: Union[Iterable[Mapping[str, Any]], AsyncIterable[Mapping[str, Any]]],
        *,
        version: str = "",
        timeout: Optional[float] = None,
    ) -> AsyncIterator[StreamAnswer]:
        """As Client.infer_stream; `inputs` may also be an asynchronous iterable."""
        requests = _StreamRequests(model, version, inputs)
        call = self._stream()(aiter(requests), **self._options(timeout))
        try:
            async for response in call:
                yield _stream_answer(response)
        except (grpc.RpcError, asyncio.CancelledError) as error:
            if requests.failure is None and isinstance(error, asyncio.CancelledError):
                raise
            raise requests.failure or error_of_rpc(error) from error
        finally:
            call.cancel()

    async def wait_until_ready(self, timeout: float = 60.0) -> None:
        """As Client.wait_until_ready."""
        end = time.monotonic() + timeout
        while not await self._is_ready_within(end):
            await asyncio.sleep(_POLL_SECONDS)

    async def _is_ready_within(self, end):
        try:
            return await self.is_ready(timeout=_seconds_until(end))
        except Unavailable:
            return False

    async def close(self) -> None:
        """Ends the connection and what is still under way on it."""
        await self._channel.close()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        await self.close()

    @staticmethod
    def _open(address, credentials, options):
        if credentials is None:
            return grpc.aio.insecure_channel(address, options=options)
        return grpc.aio.secure_channel(address, credentials, options=options)

    async def _invoke(self, service, name, request, read, timeout):
        try:
            answer = await self._unary(service, name)(request, **self._options(timeout))
        except grpc.RpcError as error:
            raise error_of_rpc(error) from error
        return read(answer)


def _seconds_until(end):
    left = end - time.monotonic()
    if left <= 0:
        raise DeadlineExceeded(grpc.StatusCode.DEADLINE_EXCEEDED, "the server was not ready in time")
    return left


class _StreamRequests:
    """The requests of a stream, made as gRPC asks for them. What goes wrong there would end the stream without a reason, so
    it is kept as `failure`."""

    def __init__(self, model, version, inputs):
        self.failure = None
        self._model = model
        self._version = version
        self._inputs = inputs
        self._made = 0

    def __iter__(self):
        try:
            for named in self._inputs:
                yield self._request(named)
        except Exception as error:
            self.failure = error
            raise

    async def __aiter__(self):
        try:
            if hasattr(self._inputs, "__aiter__"):
                async for named in self._inputs:
                    yield self._request(named)
            else:
                for named in self._inputs:
                    yield self._request(named)
        except Exception as error:
            self.failure = error
            raise

    def _request(self, named):
        self._made += 1
        return infer_request(self._model, named, self._version, id=str(self._made))


def _stream_answer(message):
    response = message.infer_response
    if message.error_message:
        return StreamAnswer(response.id, error=HearthError(grpc.StatusCode.UNKNOWN, message.error_message))
    return StreamAnswer(response.id, outputs=read_outputs(response))
