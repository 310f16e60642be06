"""Ratios of two engines that took turns, round by round, and how sure they are: the median over the rounds, and the
bound above which it lies with a confidence of 95 % (bootstrap over the rounds)."""

import random
import statistics

from integration_tests.networks import SEED

RESAMPLES = 2000
# The lower bound of a ratio under which an engine counts as slower than its rival.
LEVEL = 0.97


def ratios(theirs, ours):
    """How many times as long they took in each round."""
    return [their / our for their, our in zip(theirs, ours)]


def resampled(rounds, generator):
    return statistics.median(generator.choices(rounds, k=len(rounds)))


def lower_bound(models_ratios):
    """Of the geometric mean of the models' median ratios: where 95 % of the resampled ones lie above."""
    generator = random.Random(SEED)
    means = sorted(statistics.geometric_mean([resampled(rounds, generator) for rounds in models_ratios])
                   for _ in range(RESAMPLES))
    return means[RESAMPLES // 20]


def cell(models_ratios):
    mean = statistics.geometric_mean([statistics.median(rounds) for rounds in models_ratios])
    return f"{mean:.2f} ({lower_bound(models_ratios):.2f})"


def slower(rival, ratios_by_name):
    """A sentence on what the lower bounds say of each name."""
    bounds = {name: lower_bound([rounds]) for name, rounds in ratios_by_name.items()}
    behind = [f"{name} ({bounds[name]:.2f})" for name in sorted(bounds, key=bounds.get) if bounds[name] < LEVEL]
    return f"Beside {rival}, lower bounds under {LEVEL}: {', '.join(behind) if behind else 'none'}."
