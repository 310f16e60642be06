"""The whole report of a failing run against torch.jit's: the same frames in the serialized and in the original code, the
same lines and marks, the same class and message."""

import os
import re
import struct
import subprocess
import warnings
import zipfile

import pytest
import torch

from integration_tests.command_line import HEARTH, hearth
from integration_tests.failing_programs import PROGRAMS

# What torch.jit adds and hearth does not: where in C++ the exception was thrown, and addresses of this process.
CPP_STACK = re.compile(r"\nException raised from .*?(?=\n\n|\Z)", re.DOTALL)
# Which backends have an operator differs between builds of LibTorch.
BACKENDS = re.compile(r" is only available for these backends: .*", re.DOTALL)
ADDRESS = re.compile(r" \(of Python compilation unit at: 0x[0-9a-f]+\)")


def cleaned(text):
    for noise in (CPP_STACK, BACKENDS, ADDRESS):
        text = noise.sub("", text)
    return text.rstrip("\n")


def report_of_torch(archive, arguments):
    module = torch.jit.load(archive)
    with torch.no_grad(), pytest.raises(Exception) as caught:
        module(*arguments)
    return cleaned(str(caught.value))


def report_of_hearth(archive, inputs):
    done = hearth("run", archive, "--inputs", inputs)
    assert done.returncode == 1, done.stderr
    return cleaned(done.stderr)


def reports_in(text):
    """The reports in one, outermost first: where a fork failed, the last line of its waiter's is the fork's report."""
    return re.split(r"(?:^|: )The following operation failed in the TorchScript interpreter\.\n", text)[1:]


def frames_in(report):
    """(function, the frame's text without it) for each frame of each section, and the last line: class and message."""
    *sections, end = re.split(r"^Traceback of TorchScript.*\n|^(?=[\w.]+(?:: |$))", report, flags=re.MULTILINE)[1:]
    frames = []
    for section in sections:
        heads = re.findall(r"^  File (.*), in (.*)\n((?:(?!  File ).*\n)*)", section, flags=re.MULTILINE)
        frames.append([(function, place + "\n" + text.rstrip("\n")) for place, function, text in heads])
    return frames, end


def marked(frame):
    """What a frame underlines."""
    lines = frame.split("\n")
    (mark,) = (i for i, line in enumerate(lines) if line.endswith("<--- HERE"))
    return lines[mark - 1][lines[mark].index("~") : lines[mark].rindex("~") + 1]


def assert_tells_more(got, expected, calls):
    """`got` has the frames of `calls`; where `expected` has one, it marks the same code as the innermost of these."""
    got, expected = reports_in(got), reports_in(expected)
    assert len(got) == len(expected) == len(calls)
    for ours, theirs, functions in zip(got, expected, calls):
        our_frames, our_end = frames_in(ours)
        their_frames, their_end = frames_in(theirs)
        assert our_end == their_end
        assert [function for function, _ in our_frames[0]] == functions
        # Some calls that torch.jit prints it records no origin of.
        assert {function for function, _ in our_frames[-1]} <= set(functions)
        for our_section, their_section in zip(our_frames, their_frames):
            if their_section:
                assert marked(our_section[-1][1]) == marked(their_section[-1][1])


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_report_is_torch_jits(name, tmp_path):
    make, arguments, calls = PROGRAMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(make()), str(tmp_path / "program.pt"))
    torch.save(arguments, tmp_path / "in.pt")
    expected = report_of_torch(tmp_path / "program.pt", arguments)
    got = report_of_hearth(tmp_path / "program.pt", tmp_path / "in.pt")
    if calls is None:
        assert got == expected
    else:
        assert_tells_more(got, expected, calls)


def bombs():
    """Debug records of little more than no bytes, deflated, that would become gigabytes: by name."""
    text = "a" * 1_000_000
    head = b"\x80\x02"
    many = b"(" + b"}" * 2_000_000 + b"t."
    # (offset, (pieces of the text, file, first line), begin, end) with the same long piece again and again
    pieces = b"(" + b"K\x00" * 300 + b"l"
    table = b"(X\x18\x00\x00\x00FORMAT_WITH_STRING_TABLE(X" + struct.pack("<I", len(text)) + text.encode() + b"t"
    ranges = b"((K\x00(" + b"(" + pieces + b"K\x00K\x01tK\x00K\x05t" + b"ttt."
    return {"many dicts": head + many, "one text many times": head + table + ranges}


@pytest.mark.parametrize("kind", bombs())
def test_a_debug_record_takes_no_more_memory_than_a_bound(kind, tmp_path):
    class Raising(torch.nn.Module):
        def forward(self, x):
            assert x.numel() > 1, "too few"
            return x

    torch.jit.script(Raising()).save(tmp_path / "plain.pt")
    torch.save((torch.zeros(1),), tmp_path / "inputs.pt")
    with zipfile.ZipFile(tmp_path / "plain.pt") as plain, zipfile.ZipFile(tmp_path / "bomb.pt", "w") as bomb:
        for record in plain.infolist():
            is_debug = record.filename.endswith(".debug_pkl")
            # What follows the pickle keeps the ratio of compression below its bound.
            content = bombs()[kind] + os.urandom(16 << 10) if is_debug else plain.read(record)
            bomb.writestr(record.filename, content, zipfile.ZIP_DEFLATED if is_debug else zipfile.ZIP_STORED)

    def run(archive):
        command = [HEARTH, "run", archive, "--inputs", tmp_path / "inputs.pt"]
        process = subprocess.Popen([str(part) for part in command], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        told = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        assert os.waitstatus_to_exitcode(status) == 1, told
        return told.decode(), usage.ru_maxrss * 1024

    told, most = run(tmp_path / "bomb.pt")
    _, usual = run(tmp_path / "plain.pt")
    assert "AssertionError: too few" in told
    assert len(told) < 1 << 20
    assert most - usual < 300 << 20
