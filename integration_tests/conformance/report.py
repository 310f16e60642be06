"""docs/conformance.md, from what the suites found. Each suite's part is kept in results/, so that a suite can
be run without the others."""

import fnmatch
import json
import re
import statistics
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

from integration_tests import ROOT

RESULTS = Path(__file__).resolve().parent / "results"
PAGE = ROOT / "docs" / "conformance.md"

NOT_COUNTED = 0.02  # the largest share of a suite's cases that may say nothing of hearth, beside one case

_INTRODUCTION = f"""# Conformance

What hearth does with TorchScript programs, against LibTorch's `torch.jit` on the same archive and the same inputs:
values (floating point within a tolerance for the dtype, all else exactly), types, dtypes, shapes, strides, which results
and arguments share memory, what was written into the arguments, and the class and message of what is raised. Random
operators get the same seed and must draw the same numbers.

`scripts/conformance` makes this page; nobody edits it. Every miss that remains is listed with its reason, which is kept
in `known.toml` beside the suites; any other fails the run.

- A plan that raises where the baseline does not is a miss, whatever the answer was.
- Where both refuse a program, hearth must do so with the same words, or at a line of the source that `torch.jit` names
  too, if it names one. What is refused in other words is listed.
- What `torch.jit` refuses and hearth runs is listed as accepted.
- A case is not counted where `torch.jit` crashes, hangs, or gives what cannot be saved, and hearth answers. Where hearth
  crashes or hangs it is a miss. The run fails if more than {NOT_COUNTED:.0%} of a suite's cases are not counted.
- Results are older than `jit/` if that was changed after the commit that they are of.
"""

# How a suite's calls were run, where not as hearth runs them by itself.
_HOW = {
    "-tier0": " (the baseline alone)",
    "-tier1": " (every call in its plan)",
    "-tier2": " (every call in the plan for its very sizes)",
    "-tier2-bailouts": " (guards fail in the plans for the very sizes)",
    "-profiled-bailouts": " (guards fail in plans that speculate on what a run before showed)",
    "-profiled": " (every call in a plan that speculates on what a run before showed)",
    "-bailouts": " (guards fail in the plans)",
}

_HEAD = "| suite | cases | of which raise | agree | misses | accepted | groups | wholly absent | not counted | older than jit/ |"


def summarize(content, known, label, title, about=""):
    """What the page says of a suite, and beside it the misses that nobody knows and the entries that fit none."""
    counts, groups, contents = Counter(), defaultdict(Counter), Counter()
    misses, new = defaultdict(list), []
    faults = defaultdict(list)
    # What is known of a suite holds however its calls are run.
    entries = [entry for entry in known if entry["suite"] in (label, *_without_tier(label))]
    for name, verdict in content["cases"].items():
        kind = verdict["verdict"]
        if kind == "miss":
            entry = next((entry for entry in entries if _fits(entry, name, verdict)), None)
            if entry:
                kind = "known"
                misses[entry["reason"]].append(name)
            else:
                new.append((name, verdict["reason"]))
        counts[kind] += 1
        if "torch" in verdict:
            counts[verdict["torch"]] += 1
        contents.update(verdict.get("contains", {}))
        for operator in verdict.get("plans", {}).get("raised", []):
            faults[operator].append(name)
        groups[verdict["group"]][kind] += 1
    used = set(misses)
    return {
        "suite": label, "title": title, "about": about,
        **{key: content.get(key, "") for key in ("commit", "hearth", "torch", "device", "machine")},
        "counts": dict(counts),
        "groups": {name: dict(group) for name, group in sorted(groups.items())},
        "contents": dict(contents.most_common()),
        "plans": _plans(content["cases"]),
        "raising_plans": {operator: sorted(names) for operator, names in sorted(faults.items())},
        **{key: _named(content["cases"], key) for key in ("as_near", "words")},
        "accepted": {name: case["reason"] for name, case in sorted(content["cases"].items()) if case["verdict"] == "accepts"},
        "times": _times(content["cases"]),
        "misses": {reason: sorted(names) for reason, names in sorted(misses.items())},
        "new": sorted(new),
        "stale": [entry for entry in entries if entry["reason"] not in used],
    }  # fmt: skip


def _named(cases, key):
    """What is noted under `key`, by the case's name."""
    return {name: case[key] for name, case in sorted(cases.items()) if key in case}


def _plans(cases):
    """Of what ran plans: how many, their guards, those that were made to fail, the runs that went back to the baseline,
    and of the cases the guards that their inputs do not reach."""
    told = {name: case["plans"] for name, case in cases.items() if "plans" in case}
    if not told:
        return {}
    sums = {key: sum(plans.get(key, 0) for plans in told.values()) for key in ("plans", "guards", "tried", "bailouts")}
    without = sum(plans["plans"] == 0 for plans in told.values())
    unreached = {name: plans["unreached"] for name, plans in sorted(told.items()) if plans.get("unreached")}
    return {"cases": len(told), "without": without, **sums, "unreached": unreached}


def _without_tier(label):
    shorter = [label.removesuffix(ending) for ending in _HOW if label.endswith(ending)]
    return [*shorter, *(shortest for each in shorter for shortest in _without_tier(each))]


def _times(cases):
    """Of what suites measure, hearth's time as a part of torch.jit's: the median, the largest, and whose that is."""
    found = {}
    for what in ("load_ms", "run_ms"):
        ratios = [(case["cost"][what][1] / case["cost"][what][0], name) for name, case in cases.items() if "cost" in case]
        if ratios:
            largest, name = max(ratios)
            found[what] = [round(statistics.median(ratio for ratio, _ in ratios), 2), round(largest, 2), name]
    return found


def _fits(entry, name, verdict):
    patterns = entry["case"] if isinstance(entry["case"], list) else [entry["case"]]
    fits = any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    return fits and entry.get("says", "") in verdict["reason"]


def write(summary):
    RESULTS.mkdir(exist_ok=True)
    kept = {key: value for key, value in summary.items() if key != "stale"}
    (RESULTS / f"{summary['suite']}.json").write_text(_without_folders(_json(kept)))
    write_page()


def _without_folders(text):
    """Messages name files of the tree, of this checkout or of the one that a case was made in; where they lie is one
    machine's."""
    return re.sub(r'/[^\s"\\]*/(?=integration_tests/)', "", text.replace(f"{ROOT}/", ""))


def write_page():
    paths = sorted(path for path in RESULTS.glob("*.json") if "." not in path.stem)
    PAGE.write_text(page([json.loads(path.read_text()) for path in paths], _is_older))


def _is_older(summary):
    """Whether jit/ was changed after the commit that a suite ran with."""
    changed = _git("log", "-1", "--format=%H", "--", "jit").stdout.strip()
    return _git("merge-base", "--is-ancestor", changed, summary["commit"].rstrip("+")).returncode != 0


def _git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False)


def _json(kept):
    """A line for each field, and for each group."""
    fields = []
    for key, value in kept.items():
        text = json.dumps(value, ensure_ascii=False)
        if isinstance(value, dict) and value and key in ("groups", "misses", "as_near", "words", "accepted", "raising_plans"):
            rows = [f"  {json.dumps(name)}: {json.dumps(row, ensure_ascii=False)}" for name, row in value.items()]
            text = "{\n" + ",\n".join(rows) + "\n }"
        fields.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(fields) + "\n}\n"


def page(summaries, older=lambda summary: False):
    """The whole page; `older` says of which suites the results are older than the code that they are about."""
    lines = [_INTRODUCTION, _HEAD, "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|"]
    for summary in summaries:
        agree, missed, left_out = _totals(summary["counts"])
        counted = [group for group in summary["groups"].values() if sum(_totals(group)[:2])]
        absent = sum(1 for group in counted if not _totals(group)[0])
        lines.append(
            f"| {summary['suite']} | {agree + missed} | {summary['counts'].get('raised', 0)} | {_percent(agree, agree + missed)} "
            f"| {missed} | {summary['counts'].get('accepts', 0)} | {len(counted)} | {absent} "
            f"| {left_out}{f' ({_percent(left_out, agree + missed + left_out)})' if left_out else ''} "
            f"| {'older' if older(summary) else ''} |"
        )
    for summary in summaries:
        how = next((words for ending, words in _HOW.items() if summary["suite"].endswith(ending)), "")
        lines += ["", f"## {summary['title']}{how}", ""]
        lines += [*([] if how else _paragraph(summary["about"])), _made_on(summary), ""]
        lines += _misses(summary)
        if absent := summary.get("nothing_made_of"):
            lines += [f"Of {len(absent)} {summary['items']} no case could be made that torch.jit saves and runs: {', '.join(absent)}.", ""]
        lines += _groups(summary)
        lines += _plan_lines(summary)
        lines += _noted(summary)
        lines += _speed(summary)
        lines += _contents(summary)
    return "\n".join(lines) + "\n"


def _paragraph(text):
    return [text.strip(), ""] if text.strip() else []


def _totals(counts):
    return counts.get("agree", 0), counts.get("miss", 0) + counts.get("known", 0), counts.get("torch", 0)


def _percent(part, whole):
    if not whole:
        return "–"
    # Never rounded up to a round 100.
    return f"{int(part / whole * 10000) / 100:.2f} %"


def _made_on(summary):
    device = "" if summary["device"] == "cpu" else f", device {summary['device']}"
    binary = f" (binary {summary['hearth']})" if summary.get("hearth") else ""
    return f"hearth {summary['commit']}{binary}, torch {summary['torch']}, {summary['machine']}{device}."


def _misses(summary):
    if not summary["misses"] and not summary["new"]:
        return ["No misses.", ""]
    lines = ["| misses | reason | cases |", "|--:|---|---|"]
    for reason, names in summary["misses"].items():
        shown = ", ".join(f"`{name}`" for name in names[:8]) + (", …" if len(names) > 8 else "")
        lines.append(f"| {len(names)} | {_cell(reason)} | {_cell(shown)} |")
    for name, reason in summary["new"]:
        lines.append(f"| 1 | unexplained: {_cell(reason[:200])} | `{_cell(name)}` |")
    return [*lines, ""]


def _groups(summary):
    groups = summary["groups"]
    imperfect = {name: counts for name, counts in groups.items() if _totals(counts)[1] or _totals(counts)[2]}
    whole = [f"{name} {_totals(counts)[0]}" for name, counts in groups.items() if name not in imperfect]
    lines = []
    if imperfect:
        lines += ["| group | agree | misses | not counted |", "|---|--:|--:|--:|"]
        for name, counts in imperfect.items():
            agree, missed, left_out = _totals(counts)
            lines.append(f"| {_cell(name)} | {agree} | {missed} | {left_out} |")
        lines.append("")
    if whole:
        lines += [f"<details><summary>{len(whole)} groups agree in every case</summary>", "", ", ".join(whole), "", "</details>"]
    return lines


def _plan_lines(summary):
    plans = summary.get("plans")
    if not plans:
        return []
    text = f"{plans['plans']} plans ran in {plans['cases'] - plans['without']} of {plans['cases']} cases"
    if plans["tried"]:
        text += (f", with {plans['guards']} guards. {plans['tried']} of these were made to fail, each in a run of its own; "
                 f"{plans['bailouts']} of those runs came to the guard and went on in the baseline")  # fmt: skip
    elif plans["bailouts"]:
        text += f"; {plans['bailouts']} of the runs went on in the baseline"
    lines = ["", text + "."]
    if plans["unreached"]:
        listed = ", ".join(f"`{name}` {' '.join(map(str, guards))}" for name, guards in plans["unreached"].items())
        count = sum(map(len, plans["unreached"].values()))
        lines += ["", f"<details><summary>{count} guards that the cases' inputs do not reach</summary>", "", listed, "", "</details>"]
    return lines


def _noted(summary):
    """What is no miss and should be seen all the same."""
    lines = []
    for operator, names in summary.get("raising_plans", {}).items():
        lines += ["", f"`{_cell(operator)}` raises in plans of {len(names)} where the baseline does not: {', '.join(names)}."]
    if near := summary.get("as_near"):
        lines += ["", f"{len(near)} answers are farther from torch.jit's than the tolerance, and as near to what the model gives "
                      "in float64:", "", *(f"- `{name}`: {_cell(found)}" for name, found in near.items())]  # fmt: skip
    for key, title in (("accepted", "that torch.jit refuses are accepted"), ("words", "are refused in other words")):
        if noted := summary.get(key):
            lines += ["", f"<details><summary>{len(noted)} {title}</summary>", ""]
            for name, found in noted.items():
                text = found if isinstance(found, str) else f"torch.jit: {found[0]} hearth: {found[1]}"
                lines.append(f"- `{name}`: {_cell(text)}")
            lines += ["", "</details>"]
    return lines


def _speed(summary):
    times = summary.get("times", {})
    if not times:
        return []
    parts = [
        f"{verb} takes hearth {median} of torch.jit's time (median; the most, {largest}, for `{name}`)"
        for verb, (median, largest, name) in zip(("Loading", "a run"), (times["load_ms"], times["run_ms"]))
    ]
    return ["", f"{', '.join(parts)}, on one thread and with torch.jit's optimizer off."]


def _contents(summary):
    """How often the cases contain what, where the suite says so of each."""
    contents = summary.get("contents", {})
    if not contents:
        return []
    listed = ", ".join(f"{_cell(what)} {count}" for what, count in contents.items())
    return ["", "<details><summary>What they contain</summary>", "", listed, "", "</details>"]


def _cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":  # where a suite's results came from another machine
    write_page()
