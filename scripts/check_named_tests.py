#!/usr/bin/env python3
"""Tests that a document names, as docs/limits.md does beside each bound, are there: `Suite.Name` and `SuiteTest` of GoogleTest,
`test_name`, `test_file.py::test_name` or `test_file` of pytest, and files in backquotes or links that end in _test.cpp. Exits 1
and names each that is not.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("cli", "clients", "integration_tests", "jit", "server", "wire")

QUOTED = re.compile(r"`([^`\n]+)`|\]\(([^)\s]+)\)")
GOOGLE = re.compile(r"([A-Z]\w*)\.([A-Z]\w+)")
GOOGLE_SUITE = re.compile(r"[A-Z]\w*Test")
PYTEST = re.compile(r"(?:[\w/.]*\.py::)?(test_\w+)")
DECLARED = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")


class Tests:
    def __init__(self, files):
        """Of path -> text."""
        self.cases, self.functions, self.files = set(), set(), set(files)
        for path, text in files.items():
            if path.endswith(".cpp"):
                self.cases.update(DECLARED.findall(text))
            else:
                self.functions.update(re.findall(r"^def (test_\w+)\(", text, re.MULTILINE))
                self.functions.add(pathlib.PurePath(path).stem)
        self.suites = {suite for suite, _ in self.cases}

    def lack(self, name):
        """Whether `name` is that of a test, and there is none."""
        if found := GOOGLE.fullmatch(name):
            return found.groups() not in self.cases
        if GOOGLE_SUITE.fullmatch(name):
            return name not in self.suites
        if found := PYTEST.fullmatch(name):
            return found[1] not in self.functions
        return name.endswith("_test.cpp") and not any(path.endswith(name.removeprefix("../")) for path in self.files)


def problems_of(path, text, tests):
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        for quoted, link in QUOTED.findall(line):
            name = quoted or link
            if tests.lack(name):
                problems.append(f"{path}:{number}: there is no test {name}")
    return problems


def tests_of_the_tree():
    files = [file for folder in FOLDERS for pattern in ("*.cpp", "*.py") for file in (ROOT / folder).rglob(pattern)]
    return Tests({str(file.relative_to(ROOT)): file.read_text() for file in files})


def main():
    tests = tests_of_the_tree()
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    problems = [problem for document in sorted(documents)
                for problem in problems_of(document.relative_to(ROOT), document.read_text(), tests)]
    print("\n".join(problems) or f"{len(documents)} documents name tests that are there")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
