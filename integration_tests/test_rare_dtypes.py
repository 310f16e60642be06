"""Tensors of dtypes that LibTorch stores and hardly reads (bits, integers of fewer than eight bits, pairs of four-bit
floats) come back as torch.load reads them, from the command line and through a server."""

import numpy as np
import pytest
import torch
import torch.nn as nn

from integration_tests.command_line import hearth, run_cases

SMALL = [f"{sign}int{bits}" for sign in ("", "u") for bits in range(1, 8)]
BITS = ["bits1x8", "bits2x4", "bits4x2", "bits8", "bits16"]
NAMES = SMALL + BITS + ["float4_e2m1fn_x2", "float8_e8m0fnu"]


class Makes(nn.Module):
    def forward(self, given: torch.Tensor, dtype: int, turned: bool = True):
        made = torch.empty([2, 3], dtype=dtype)
        return given, made.t() if turned else made


@torch.jit.script
def number_of(x: torch.Tensor) -> int:
    return x.dtype


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("rare") / "makes.pt"
    torch.jit.save(torch.jit.script(Makes()), str(path))
    return path


@pytest.fixture(scope="module")
def server(hearthd, archive):
    return hearthd({"makes": archive})


GIVEN = torch.arange(6, dtype=torch.uint8).view(2, 3)


def written_inputs(folder, name):
    dtype = getattr(torch, name)
    # torch.save knows the bits, not the small integers.
    given = GIVEN.view(dtype) if name in BITS and name != "bits16" else GIVEN
    torch.save((given, number_of(torch.empty(0, dtype=dtype))), folder / "in.pt")


def assert_read(folder, name, strides):
    got, made = torch.load(folder / "out.pt", weights_only=True)
    given, _ = torch.load(folder / "in.pt", weights_only=True)
    assert got.dtype == given.dtype and torch.equal(got.view(torch.uint8), GIVEN)
    assert (made.dtype, made.shape, made.stride()) == (getattr(torch, name), (3, 2), strides)


def test_run_writes_what_torch_loads(archive, tmp_path):
    folders = {name: tmp_path / name for name in NAMES}
    for name, folder in folders.items():
        folder.mkdir()
        written_inputs(folder, name)
    done = run_cases([(archive, folder / "in.pt", folder / "out.pt") for folder in folders.values()])
    assert done == ["ok"] * len(NAMES)
    for name, folder in folders.items():
        assert_read(folder, name, (1, 3))


@pytest.mark.parametrize("name", ["int1", "uint7", "bits16", "float4_e2m1fn_x2"])
def test_a_server_answers_what_torch_loads(server, tmp_path, name):
    written_inputs(tmp_path, name)
    done = hearth(
        "infer", server.address, "makes", "--method", "forward", "--inputs", tmp_path / "in.pt",
        "--output", tmp_path / "out.pt",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert_read(tmp_path, name, (2, 1))


@pytest.mark.parametrize("name", ["uint3", "bits8"])
def test_a_summary_names_the_dtype(archive, tmp_path, name):
    written_inputs(tmp_path, name)
    done = hearth("run", archive, "--inputs", tmp_path / "in.pt")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == f"1  {name} [3, 2]  values that are no numbers"


def test_a_quantized_tensor_of_no_scale_is_refused_by_its_dtype(archive, tmp_path):
    torch.save((GIVEN, number_of(torch.quantize_per_tensor(torch.ones(1), 1.0, 0, torch.quint8)), False), tmp_path / "in.pt")
    done = hearth("run", archive, "--inputs", tmp_path / "in.pt", "--output", tmp_path / "out.pt")
    assert done.returncode == 2
    assert "dtype quint8" in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out.pt").exists()


def test_the_standard_protocol_has_no_datatype_for_it(server, tmp_path):
    np.save(tmp_path / "given.npy", GIVEN.numpy())
    np.save(tmp_path / "dtype.npy", np.int64(number_of(torch.empty(0, dtype=torch.bits8))))
    done = hearth(
        "infer", server.address, "makes",
        "--input", f"given={tmp_path}/given.npy", "--input", f"dtype={tmp_path}/dtype.npy",
    )  # fmt: skip
    assert done.returncode != 0
    assert "bits8" in done.stderr
