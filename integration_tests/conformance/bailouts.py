"""Cases run once for each guard of their plans, which fails: whatever the plan did before, the baseline goes on from there
and must come to what torch.jit does."""

import random

from integration_tests.conformance.hearth import with_plans

MOST = 64  # guards of a case that are tried, unless its suite says otherwise; of more, a sample


def verdicts(cases, hearth, folder, judge, most=MOST):
    """(case, verdict) of each, on all its runs: the first that is no agreement, or that of the last. `plans` in it counts
    the guards, those that were `tried` (`most` of a case), and names those that its inputs do not reach."""
    runs = {case.name: [] for case in cases}  # [(guard, Answer, verdict)]
    _run([(case, 0) for case in cases], hearth, folder, judge, runs)
    _run([(case, guard) for case in cases for guard in _others(runs[case.name][0], most)], hearth, folder, judge, runs)
    for case in cases:
        yield case, _summary(runs[case.name])


def _run(pairs, hearth, folder, judge, runs):
    answers = hearth.run([case for case, _ in pairs], folder, [guard for _, guard in pairs]) if pairs else []
    for (case, guard), answer in zip(pairs, answers):
        runs[case.name].append((guard, answer, with_plans(judge(case, answer), answer.plans)))


def _others(first, most):
    _, answer, _ = first
    others = range(1, answer.plans.guards if answer.plans else 0)
    return others if len(others) < most else sorted(random.Random(answer.plans.guards).sample(others, most - 1))


def _summary(runs):
    result = runs[-1][2]
    for guard, _, verdict in runs:
        if verdict["verdict"] != "agree":
            result = {**verdict, "reason": f"guard {guard}: {verdict['reason']}"}
            break
    guarded = [(guard, answer.plans) for guard, answer, _ in runs if answer.plans and answer.plans.guards]
    told = next((verdict["plans"] for _, _, verdict in runs if "plans" in verdict), None)
    if told:
        unreached = [guard for guard, plans in guarded if plans.bailouts == 0]
        result["plans"] = {**told, "bailouts": len(guarded) - len(unreached), "tried": len(guarded),
                           "unreached": unreached}  # fmt: skip
    return result
