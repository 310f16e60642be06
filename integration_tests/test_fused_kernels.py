"""Kernels that plans have in the place of groups of operators, in a server that is started as users start it."""

import os
import pathlib
import signal
import struct
import subprocess

import pytest
import torch
from torch import Tensor, nn

from integration_tests import values
from integration_tests.command_line import HEARTH, hearth
from integration_tests.daemon import eventually
from integration_tests.native import NativeClient
from integration_tests.test_tiers import plans_of


class Gate(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        gate = torch.sigmoid(x * 1.5) * torch.tanh(y)
        return torch.softmax(gate + x, dim=-1)


class Bounded(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.clamp(torch.exp(-torch.abs(x)) + 0.25, 0.5, 1.0) * x


def helpers_of(server):
    """Processes of hearth-codegen that the server has started."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line)
        except OSError:
            continue  # it has ended meanwhile
        if status["Name"].strip() == "hearth-codegen" and int(status["PPid"]) == server.pid:
            found.append(int(folder.name))
    return found


def is_fused(client, model):
    return any("hearth::fused" in plan.graph for plan in plans_of(client, model))


def test_a_plan_gets_its_kernels_while_calls_go_on_and_answers_stay_the_same(hearthd, protocol):
    model = torch.jit.script(Gate())
    server = hearthd({"gate": model})
    client = NativeClient(protocol, server.channel())

    def call_all():
        for rows in (3, 5, 17):
            x, y = torch.randn(rows, 33), torch.randn(rows, 33)
            assert values.difference(model(x, y), client.call("gate", "forward", x, y)) is None
        return is_fused(client, "gate")

    eventually(call_all)
    assert call_all()
    assert len(helpers_of(server)) == 1
    assert all(plan.bailouts == 0 for plan in plans_of(client, "gate"))


def test_the_helper_may_be_killed_and_kernels_are_made_all_the_same(hearthd, protocol):
    models = {"gate": torch.jit.script(Gate()), "bounded": torch.jit.script(Bounded())}
    server = hearthd(models)
    client = NativeClient(protocol, server.channel())
    x = torch.randn(7, 9)

    def gate_is_fused():
        client.call("gate", "forward", x, x)
        return is_fused(client, "gate")

    def bounded_answers():
        assert values.difference(models["bounded"](x), client.call("bounded", "forward", x)) is None
        return [plan.state for plan in plans_of(client, "bounded")] == [client.message("Plan").COMPILED]

    eventually(gate_is_fused)
    for helper in helpers_of(server):
        os.kill(helper, signal.SIGKILL)
    eventually(bounded_answers)
    assert bounded_answers()


def start_with_cache(hearthd, protocol, model, folder):
    server = hearthd({"gate": model}, "--cache-dir", folder)
    return server, NativeClient(protocol, server.channel())


def call_gate(client, model, x):
    assert values.difference(model(x, x), client.call("gate", "forward", x, x)) is None


def call_gate_until_fused(client, model):
    eventually(lambda: call_gate(client, model, torch.randn(7, 9)) or is_fused(client, "gate"))


def kernels(server, state):
    return server.metric("hearth_fused_kernels", state=state)


def test_a_restarted_daemon_makes_no_kernel_again(hearthd, protocol, tmp_path):
    model = torch.jit.script(Gate())
    server, client = start_with_cache(hearthd, protocol, model, tmp_path)
    call_gate_until_fused(client, model)
    made = kernels(server, "made")
    assert made > 0 and kernels(server, "read") == 0
    assert server.stop() == 0

    server, client = start_with_cache(hearthd, protocol, model, tmp_path)
    assert is_fused(client, "gate")
    call_gate(client, model, torch.randn(5, 33))
    assert (kernels(server, "made"), kernels(server, "read"), kernels(server, "waiting")) == (0, made, 0)
    assert helpers_of(server) == []


@pytest.mark.parametrize("spoil", [lambda file: b"", lambda file: file[: len(file) // 2], lambda file: file[:-20] + bytes(20)],
                         ids=["empty", "cut", "changed"])
def test_a_kernel_whose_file_is_broken_is_made_again(hearthd, protocol, tmp_path, spoil):
    model = torch.jit.script(Gate())
    server, client = start_with_cache(hearthd, protocol, model, tmp_path)
    call_gate_until_fused(client, model)
    made = kernels(server, "made")
    assert server.stop() == 0
    files = list(tmp_path.glob("kernels/*.kernel"))
    assert len(files) == made
    for file in files:
        file.write_bytes(spoil(file.read_bytes()))

    server, client = start_with_cache(hearthd, protocol, model, tmp_path)
    call_gate_until_fused(client, model)
    assert (kernels(server, "made"), kernels(server, "read")) == (made, 0)
    assert server.stop() == 0
    server, client = start_with_cache(hearthd, protocol, model, tmp_path)
    call_gate(client, model, torch.randn(5, 33))
    assert (kernels(server, "made"), kernels(server, "read")) == (0, made)


def fnv(data):
    """As jit/fuser/image/kernel_image.h has it."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & (1 << 64) - 1
    return value


def with_checksum(data):
    return data + struct.pack("<Q", fnv(data))


def parts_of(file):
    """Of a kernel's file: its head, key, text and image."""
    parts, at = [file[:16]], 16
    for _ in range(3):
        (size,) = struct.unpack_from("<I", file, at)
        parts.append(file[at + 4 : at + 4 + size])
        at += 4 + size
    return parts


def with_code_of(file, text):
    """The file with the code of another kernel in the place of its own, which nobody can tell by looking at it."""
    head, key, own, image = parts_of(file)
    made = subprocess.run([HEARTH.parent / "hearth-codegen", "--emit=image", "-"], input=text, capture_output=True, check=True)
    other = bytearray(made.stdout[:-8])
    other[16:24] = image[16:24]  # the hash of the kernel's text
    content = with_checksum(bytes(other))
    return with_checksum(head + b"".join(struct.pack("<I", len(part)) + part for part in (key, own, content)))


def test_a_kernel_that_gives_wrong_answers_is_set_aside_for_good(hearthd, protocol, tmp_path):
    model = torch.jit.script(Gate())
    server, client = start_with_cache(hearthd, protocol, model, tmp_path)
    call_gate_until_fused(client, model)
    assert server.stop() == 0
    (file,) = tmp_path.glob("kernels/*.kernel")
    text = parts_of(file.read_bytes())[2]
    file.write_bytes(with_code_of(file.read_bytes(), text.replace(b"f32 tanh", b"f32 sinh")))

    server = hearthd({"gate": model}, "--cache-dir", tmp_path, "--shadow-share", "1")
    client = NativeClient(protocol, server.channel())
    x = torch.randn(7, 9)
    assert values.difference(model(x, x), client.call("gate", "forward", x, x)) is not None
    eventually(lambda: kernels(server, "failed") == 1)
    # Runs leave the plans that have it, until there are some without.
    call_gate(client, model, x)
    eventually(lambda: call_gate(client, model, x) or not is_fused(client, "gate"))
    assert server.metric("hearth_shadow_differences_total") == 1
    assert server.stop() == 0

    (reproducer,) = tmp_path.glob("reproducers/*.loops")
    assert reproducer.read_bytes().endswith(text) and b"in the plan of __torch__" in reproducer.read_bytes()
    # What the helper makes of it is right: it was the file that was wrong.
    command = [HEARTH.parent / "hearth-opt", reproducer, "--run-kernel"]
    assert "agrees" in subprocess.run(command, capture_output=True, text=True, check=True).stdout

    server, client = start_with_cache(hearthd, protocol, model, tmp_path)
    # As often as a plan needs: what the daemon before was called with may have been too little to be remembered.
    eventually(lambda: call_gate(client, model, x) or kernels(server, "failed") == 1)
    assert not is_fused(client, "gate")


def test_the_command_line_keeps_kernels_too(tmp_path):
    model = torch.jit.script(Gate())
    model.save(str(tmp_path / "gate.pt"))
    torch.save((torch.randn(3, 5), torch.randn(3, 5)), tmp_path / "in.pt")

    def run(*flags):
        environment = {**os.environ, "HEARTH_LOG": "fuser/kernel_table=debug"}
        ran = hearth("run", tmp_path / "gate.pt", "--inputs", tmp_path / "in.pt", "--tier", "1", *flags, env=environment)
        assert ran.returncode == 0, ran.stderr
        return ran.stderr.count("a kernel was made:"), ran.stderr.count("a kernel was read:")

    made, _ = run()
    assert made > 0
    assert run("--cache-dir", tmp_path / "cache") == (made, 0)
    assert run("--cache-dir", tmp_path / "cache") == (0, made)


def test_without_fusion_there_is_no_helper(hearthd, protocol):
    model = torch.jit.script(Bounded())
    server = hearthd({"bounded": model}, "--fuse=off")
    client = NativeClient(protocol, server.channel())
    x = torch.randn(7, 9)

    def answers():
        assert values.difference(model(x), client.call("bounded", "forward", x)) is None
        return [plan.state for plan in plans_of(client, "bounded")] == [client.message("Plan").COMPILED]

    eventually(answers)
    assert not is_fused(client, "bounded") and helpers_of(server) == []
