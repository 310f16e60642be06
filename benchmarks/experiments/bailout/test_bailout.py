"""A few hundred of the random programs with every bailout point forced, and each rule broken once to see that it is
noticed."""

import pytest

from benchmarks.experiments.bailout.check import BREAKS, POLICIES, Difference, check, profile_of, shrink
from benchmarks.experiments.bailout.generator import Program
from benchmarks.experiments.bailout.ir import show
from benchmarks.experiments.bailout.optimizer import Optimized

# A program that shows it when the rule is broken; `python -m benchmarks.experiments.bailout.check --break` finds others.
SHOWN_BY = {
    "recipes are no uses": 9,
    "writes not re-applied": 3,
    "objects rebuilt apart": 263,
    "views rebuilt as copies": 3,
    "tensors of one content are one": 197,
    "guards resume before the effect": 3,
    "commits are no anchors": 5,
    "wild reads see no debts": 315,
}


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_a_bailout_at_any_point_goes_on_as_the_baseline_would(first):
    for seed in range(first, first + 40):
        check(Program(seed), points=15)


def test_no_debt_leaves_the_loop_in_which_its_tensor_was_made():
    check(Program(3080))


def test_a_write_from_a_part_of_its_own_memory_stays_as_it_is():
    check(Program(3000360, scale=3), points=10)


@pytest.mark.parametrize("policy", list(POLICIES)[1:5])
def test_every_policy_for_writes_bails_out_as_well(policy):
    for seed in range(40):
        check(Program(seed), points=10, **POLICIES[policy])


def test_larger_programs_too():
    for seed in range(500, 510):
        check(Program(seed, scale=3), points=8)


@pytest.mark.parametrize("rule", BREAKS)
def test_a_broken_rule_is_seen(rule):
    program = Program(SHOWN_BY[rule])
    check(program)
    with pytest.raises(Difference):
        check(program, break_on_purpose=frozenset([rule]))


def test_a_failing_program_is_made_smaller_and_still_fails():
    broken = {"break_on_purpose": frozenset(["writes not re-applied"])}
    program = Program(3)
    small = shrink(program, 1.0, **broken)
    assert small.size() < program.size() / 2
    with pytest.raises(Difference):
        check(small, **broken)


def test_a_seed_always_gives_the_same_program_and_the_same_optimised_code():
    def text(seed):
        program = Program(seed)
        optimized = Optimized(program, profile_of(program))
        lines = sum(show(f).count("\n") for f in program.functions)
        return lines, len(optimized.graph.body.nodes), optimized.plan.total

    assert [text(seed) for seed in range(20)] == [text(seed) for seed in range(20)]
