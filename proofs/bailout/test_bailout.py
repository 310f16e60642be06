"""A few hundred of the random programs with every bailout point forced, and each rule broken once to see that it is noticed."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

from proofs.bailout.check import BREAKS, Difference, check, profile_of, shrink  # noqa: E402
from proofs.bailout.generator import Program  # noqa: E402
from proofs.bailout.ir import show  # noqa: E402
from proofs.bailout.optimizer import Optimized  # noqa: E402


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_a_bailout_at_any_point_goes_on_as_the_baseline_would(first):
    for seed in range(first, first + 40):
        check(Program(seed), points=15)


@pytest.mark.parametrize("policy", ["between", "never"])
def test_writes_that_stay_writes_bail_out_as_well(policy):
    for seed in range(40):
        check(Program(seed), points=10, policy=policy)


def test_a_state_at_every_removed_write_is_as_good():
    for seed in range(40):
        check(Program(seed), points=10, anchors="all")
