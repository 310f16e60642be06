"""How a client reaches hearthd: the channel's options, TLS, and the token that goes with every call."""

import dataclasses
import os
import pathlib
from typing import Callable, Optional, Union

import grpc

Pem = Union[bytes, str, "os.PathLike[str]"]


@dataclasses.dataclass(frozen=True)
class Tls:
    """Encryption of the connection. Each part is PEM, as bytes or as the path of a file.

    ca: whom to trust; None: the authorities that gRPC brings.
    certificate, key: who the client is, where the server asks for it; both or neither.
    server_name: the name that the server's certificate must have, where it is not the address's.
    """

    ca: Optional[Pem] = None
    certificate: Optional[Pem] = None
    key: Optional[Pem] = None
    server_name: Optional[str] = None


def channel_options(tls):
    options = [
        # What may be sent is the server's to bound (--max-request-bytes), what may come the model's.
        ("grpc.max_send_message_length", -1),
        ("grpc.max_receive_message_length", -1),
        ("grpc.primary_user_agent", "hearth-python"),
    ]
    if isinstance(tls, Tls) and tls.server_name is not None:
        options.append(("grpc.ssl_target_name_override", tls.server_name))
    return options


def credentials_of(tls) -> Optional[grpc.ChannelCredentials]:
    """None: without TLS."""
    if tls is None or tls is False:
        return None
    if tls is True:
        tls = Tls()
    if (tls.certificate is None) != (tls.key is None):
        raise ValueError("Tls needs certificate and key together")
    return grpc.ssl_channel_credentials(_pem(tls.ca), _pem(tls.key), _pem(tls.certificate))


def _pem(part):
    return part if part is None or isinstance(part, bytes) else pathlib.Path(part).read_bytes()


def check_token(token, tls, address):
    """A token is a secret: without TLS it stays on this machine."""
    if token is not None and not tls and not _is_local(address):
        raise ValueError(f"a token for {address} needs tls: without, anyone on the way could read it")


def _is_local(address):
    if address.startswith(("unix:", "unix-abstract:")):
        return True
    host = address.rpartition(":")[0] or address
    return host in ("localhost", "[::1]") or host.startswith("127.")


def metadata_of(metadata, token: Union[None, str, Callable[[], str]]):
    """What goes with a call; `token` may be a function, which is then called for each call."""
    sent = [(name.lower(), value) for name, value in metadata]
    if token is not None:
        sent.append(("authorization", f"Bearer {token() if callable(token) else token}"))
    return sent
