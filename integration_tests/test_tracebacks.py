"""The whole report of a failing run against torch.jit's: the same frames in the serialized and in the original code, the
same lines and marks, the same class and message."""

import re
import warnings

import pytest
import torch

from integration_tests.command_line import hearth
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
