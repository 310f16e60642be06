"""python -m integration_tests.conformance.run [SUITE...]: runs the suites and says where hearth is not what torch.jit is.

Every case's verdict goes to build/conformance/<suite>.json. One that agreed there already, with the same hearth, the same
content and compared by the same code, is not run again: a run that was cut short goes on. Exits 0 only if every miss is in
known.toml, and no more of its cases than report.NOT_COUNTED say nothing of hearth."""

import argparse
import fnmatch
import hashlib
import importlib
import inspect
import json
import os
import pkgutil
import random
import subprocess
import sys
import time
import tomllib
from collections import Counter
from pathlib import Path

from integration_tests import ROOT, command_line, values
from integration_tests.conformance import making, report, suites
from integration_tests.conformance.compare import seen_on
from integration_tests.conformance.hearth import Hearth, add_tier_options, tiers
from integration_tests.conformance.judging import judged

BUILD = ROOT / "build" / "conformance"
QUICK = 400  # cases of a suite that does not hold itself to a sample
RECORDED_AFTER = 3  # calls, with which a plan's runs on a GPU are recorded and replayed at the latest


def main():
    options = _options()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    if options.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # torch's samples ask for a GPU where there is one
    hearth = Hearth(options.hearth, options.device, *tiers(options), repeat=options.repeat or _repeat(options))
    if not hearth.binary.exists():
        sys.exit(f"{hearth.binary} is not there: build it first, or say --hearth PATH")
    known = tomllib.loads((Path(__file__).parent / "known.toml").read_text()).get("miss", [])
    failed = False
    for name in options.suites:
        failed |= not _run_suite(name, hearth, known, options)
    sys.exit(1 if failed else 0)


def suite_names():
    return sorted(module.name for module in pkgutil.iter_modules(suites.__path__))


def _options():
    parser = argparse.ArgumentParser(prog="scripts/conformance", description="Runs suites in torch.jit and in hearth.")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(suite_names())}; all of them if none")
    parser.add_argument("--quick", action="store_true", help="a fixed sample of each")
    parser.add_argument("--sample", type=int, metavar="N", help="N cases of each, drawn (of fusion N programs)")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="only cases whose name fits; writes no report")
    parser.add_argument("--again", action="store_true", help="run what has a verdict too")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    add_tier_options(parser)
    parser.add_argument("--threads", type=int, default=1, metavar="N",
                        help="of each operator; 1 if not given, as the cases are what runs in parallel")
    parser.add_argument("--repeat", type=int, metavar="N",
                        help=f"calls of each case, of which the last is compared; on a GPU at tier 2 {RECORDED_AFTER}")
    parser.add_argument("--hearth", metavar="PATH", help="the binary to test, or a folder of deploy/bundle's, in place of the build's")
    options = parser.parse_args()
    options.suites = options.suites or suite_names()
    for name in options.suites:
        if name not in suite_names():
            parser.error(f"there is no suite '{name}', only {', '.join(suite_names())}")
    return options


def _repeat(options):
    """Where plans are recorded the recording is what is to answer; a guard fails in a plan's code alone."""
    recorded = options.device != "cpu" and options.tier == "2" and options.fail_guards is None
    return RECORDED_AFTER if recorded else 1


def _tier_label(options):
    if options.tier in (None, "auto"):
        return ""
    bailouts = "" if options.fail_guards is None else "-bailouts"
    tier = "" if bailouts and options.tier == "1" else f"-tier{options.tier}"
    return tier + ("-profiled" if options.profiled else "") + bailouts


def _run_suite(name, hearth, known, options):
    """Whether it has no miss that nobody knows of."""
    start = time.monotonic()
    module = importlib.import_module(f"{suites.__name__}.{name}")
    folder = BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    cases = _cases(module, folder, options)
    label = name + ("" if options.device == "cpu" else f"-{options.device}") + _tier_label(options)
    label += "" if options.threads == 1 else f"-threads{options.threads}"
    part = ".quick" if options.quick else ".sample" if options.sample else ""
    path = BUILD / f"{label}{part}.json"
    results = Results(path, hearth, options, module)
    waiting = [case for case in cases if options.again or not results.agrees(case)]
    print(f"{label}: {len(cases)} cases, {len(waiting)} to run ({time.monotonic() - start:.0f} s to make)", flush=True)
    for case, verdict in getattr(module, "judged", judged)(waiting, hearth):
        results.add(case, verdict)
    if options.only == "*":
        results.keep_only(cases)
    results.write()
    summary = report.summarize(results.of(cases), known, label, module.TITLE, module.__doc__ or "")
    if hasattr(module, "ITEMS"):
        summary["items"] = module.ITEMS
        summary["nothing_made_of"] = making.nothing_made_of(folder, options.device)
    for name_of_case, reason in summary["new"]:
        print(f"MISS {name_of_case}: {reason}")
    whole = options.only == "*" and not part and options.threads == 1
    if whole:
        for entry in summary["stale"]:
            print(f"known.toml: no miss fits {entry['case']!r} any more")
        report.write(summary)
    counts = Counter(summary["counts"])
    print(f"{label}: {counts['agree']} agree, {counts['known']} known misses, {len(summary['new'])} new misses, "
          f"{counts['accepts']} that only hearth accepts, {counts['torch']} not counted "
          f"({time.monotonic() - start:.0f} s)", flush=True)  # fmt: skip
    told = [verdict["plans"] for verdict in results.of(cases)["cases"].values() if "plans" in verdict]
    if hearth.repeat > 1 and told:
        recorded = sum(plans["recorded"] > 0 for plans in told)
        print(f"{label}: {recorded} of {len(told)} cases were answered by a recorded run", flush=True)
    if says_too_little(counts["torch"], len(cases)):
        print(f"MISS {label}: {counts['torch']} of {len(cases)} cases say nothing of hearth, more than {report.NOT_COUNTED:.0%}")
        return False
    return not summary["new"] and not (whole and summary["stale"]) and counts["agree"] > 0


def _cases(module, folder, options):
    known = inspect.signature(module.cases).parameters
    how = {} if options.device == "cpu" else {"device": options.device}
    if not how.keys() <= known.keys():
        sys.exit(f"the suite {module.NAME} is for a CPU")
    if options.sample and "sample" in known:
        how["sample"] = options.sample
    cases = [case for case in module.cases(folder, options.quick, **how) if fnmatch.fnmatchcase(case.name, options.only)]
    cases = [seen_on(options.device, case) for case in cases]
    if options.sample and "sample" not in how:
        return random.Random(0).sample(cases, min(options.sample, len(cases)))
    if options.quick and len(cases) > QUICK * 3:
        return random.Random(0).sample(cases, QUICK)
    return cases


def says_too_little(left_out, cases):
    """Whether too many of a suite's cases are not counted."""
    return left_out > max(1, report.NOT_COUNTED * cases)


def _commit_of(hearth):
    """The commit that the binary was built from: a bundle says it, the tree's own build is of what the tree holds."""
    bundle = hearth.path / "commit"
    if bundle.is_file():
        return bundle.read_text().strip().replace("-dirty", "+")
    return _git("rev-parse", "--short=12", "HEAD") + ("+" if _git("status", "--porcelain", "-uno") else "")


class Results:
    """The verdicts of a suite in their file."""

    def __init__(self, path, hearth, options, suite):
        self.path = path
        self._comparing = _hash_of(_COMPARING, Path(suite.__file__), *getattr(suite, "MADE_BY", []))
        binary = hashlib.sha256(hearth.binary.read_bytes()).hexdigest()[:16]
        import torch

        self._keys = {}
        self.content = {
            "commit": _commit_of(hearth),
            "hearth": binary, "torch": torch.__version__, "device": options.device, "machine": _machine(options.device),
            "cases": {},
        }  # fmt: skip
        self.content["options"] = [*hearth.tiers, str(hearth.fail_guards or ""), *["repeated"] * (hearth.repeat > 1)]
        if path.exists():
            before = json.loads(path.read_text())
            if all(before.get(key) == self.content[key] for key in ("hearth", "torch", "options")):
                self.content["cases"] = before["cases"]
        self._written = time.monotonic()

    @property
    def verdicts(self):
        return self.content["cases"]

    def agrees(self, case):
        verdict = self.verdicts.get(case.name, {})
        return verdict.get("verdict") == "agree" and verdict.get("of") == self._key(case)

    def add(self, case, verdict):
        self.verdicts[case.name] = {"group": case.group, "of": self._key(case), **verdict}
        if time.monotonic() - self._written > 20:
            self.write()

    def _key(self, case):
        """Of what a verdict is: the case's content, and the code that compares."""
        if case not in self._keys:
            files = [path for path in map(Path, (case.archive, case.inputs)) if path.is_file()]
            fields = json.dumps({**case.to_json(), "archive": "", "inputs": ""})
            self._keys[case] = _hash_of(files, text=self._comparing + fields)
        return self._keys[case]

    def of(self, cases):
        """The file's content with these cases' verdicts alone."""
        return {**self.content, "cases": {case.name: self.verdicts[case.name] for case in cases}}

    def keep_only(self, cases):
        self.content = self.of(cases)

    def write(self):
        self.path.write_text(json.dumps(self.content, indent=1))
        self._written = time.monotonic()


# What makes the comparison.
_COMPARING = [
    *sorted(Path(__file__).parent.glob("*.py")), Path(values.__file__), Path(command_line.__file__),
]  # fmt: skip


def _hash_of(files, *more, text=""):
    digest = hashlib.sha256(text.encode())
    for path in (*files, *more):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _git(*arguments):
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _machine(device):
    import torch

    if device == "cuda":
        return torch.cuda.get_device_name()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown"


if __name__ == "__main__":
    main()
