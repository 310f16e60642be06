"""Where the benchmarks keep archives and what these are called with."""

import pathlib

import torch


def save(folder: pathlib.Path, name: str, module, inputs):
    version = folder / name / "1"
    version.mkdir(parents=True, exist_ok=True)
    torch.jit.save(module, str(version / "model.pt"))
    torch.save(tuple(inputs), str(folder / name / "inputs.pt"))
