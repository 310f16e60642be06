"""`hearth record` under way, and the file that it writes: messages, each with its length before it."""

import signal
import subprocess

import numpy as np
from google.protobuf import message_factory
from tritonclient.grpc import service_pb2

from integration_tests.command_line import HEARTH
from integration_tests.daemon import eventually


class Recorder:
    """A `hearth record` that is under way."""

    def __init__(self, protocol, server, model, path, *flags):
        self.protocol = protocol
        self.path = path
        command = [HEARTH, "record", server.address, model, "--output", path, *flags]
        self.process = subprocess.Popen(
            [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        eventually(lambda: (path.exists() and path.stat().st_size > 0) or self.process.poll() is not None)

    def end(self):
        """(exit code, what it printed) once it has ended by itself."""
        out, errors = self.process.communicate(timeout=60)
        return self.process.returncode, out + errors

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        return self.end()

    def parts(self):
        return read_parts(self.protocol, self.path.read_bytes())

    def requests(self):
        return [part.request for part in self.parts() if part.HasField("request")]


def part_class(protocol):
    return message_factory.GetMessageClass(protocol.FindMessageTypeByName("hearth.v1.RecordPart"))


def varint(number):
    made = bytearray()
    while number >= 0x80:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*made, number])


def read_parts(protocol, data):
    """The messages of a file."""
    made, at = [], 0
    while at < len(data):
        size = shift = 0
        while True:
            byte = data[at]
            size |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                break
        made.append(part_class(protocol).FromString(data[at : at + size]))
        at += size
    return made


def write_parts(parts):
    return b"".join(varint(len(text)) + text for text in (part.SerializeToString() for part in parts))


def inference(recorded):
    """The input and, if it was recorded, the output."""
    request = service_pb2.ModelInferRequest.FromString(recorded.request)
    answer = service_pb2.ModelInferResponse.FromString(recorded.answer)
    values = [np.frombuffer(text, np.float32).tolist() for text in request.raw_input_contents]
    return request, values, [np.frombuffer(text, np.float32).tolist() for text in answer.raw_output_contents]
