"""The benchmarks: each can be started."""

import importlib
import pkgutil

import pytest

import benchmarks


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(benchmarks.__path__)])
def test_a_benchmark_finds_what_it_imports(name):
    importlib.import_module(f"benchmarks.{name}")
