"""Programs that fail: each is a module whose call raises, in one of the ways in which TorchScript code can.

torch.jit forgets the callers of an inlined node that has no results, a raise above all, and calls the function that is
left `forward`. It also takes the hook of a child from the child's class where the archive has it twice. Programs in
which that happens say in `calls` which functions are under way, for each report (one in another where a fork fails)."""

from integration_tests.failing_programs import builtins, callers, forks, operators, raises
from integration_tests.failing_programs.registry import PROGRAMS

__all__ = ["PROGRAMS", "builtins", "callers", "forks", "operators", "raises"]
