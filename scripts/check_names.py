#!/usr/bin/env python3
"""Names that one file keeps to itself (in a namespace without a name) are no other file's of the same target, where
the files of a target are compiled together (hearth_compile_together in cmake/HearthRoom.cmake). Which ones meet in one
compilation changes with every file that is added, so all of them must differ. Exits 1 and names each that does not.

Looks at declarations that begin in the first column, as clang-format leaves them. An alias that says the same twice is
no error to a compiler, and none here.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

TYPE = re.compile(r"(?:class|struct|union|enum|enum class) (\w+)(?: [^;]*)?$")
ALIAS = re.compile(r"using (\w+) = (.*)")
VARIABLE = re.compile(r"(?:const|constexpr|constinit|static|thread_local) [^=({]*?(\w+)(?:\[\w*\])? ?[={;]")
FUNCTION = re.compile(r"[\w:<>&*, \[\]]*[ &*](\w+)\(")


def names_of(text):
    """The names that a file keeps to itself, each with what an equal declaration of it would say."""
    names, hidden = {}, False
    for line in text.splitlines():
        if line == "namespace {":
            hidden = True
        elif line == "}  // namespace":
            hidden = False
        elif hidden and line[:1].isalpha():
            if found := ALIAS.match(line):
                names.setdefault(found[1], found[2])
            elif found := TYPE.match(line) or VARIABLE.match(line) or FUNCTION.match(line):
                names.setdefault(found[1], None)
    return names


def targets_of(cmake):
    """The files of each target that a CMakeLists.txt has compiled together."""
    for room in re.findall(r"hearth_room\(([^)]*)\)", cmake):
        for kind, files in re.findall(r"\b(SOURCES|TESTS)\s+((?:[\w./]+\.cpp\s*)+)", room):
            if kind == "TESTS" or "APART" not in room.split():
                yield files.split()


def problems_of(files):
    """Of a target's files, name -> text."""
    first, problems = {}, []
    for file, text in files.items():
        for name, meaning in names_of(text).items():
            other, same = first.setdefault(name, (file, meaning))
            if other != file and (meaning is None or meaning != same):
                problems.append(f"{file}: {name} is a name of {other}, too; the two are compiled together")
    return problems


def main():
    problems = []
    for lists in sorted(ROOT.glob("[a-z]*/**/CMakeLists.txt")):
        folder = lists.parent
        if folder.relative_to(ROOT).parts[0] == "build":
            continue
        for names in targets_of(lists.read_text()):
            problems += problems_of({str((folder / name).relative_to(ROOT)): (folder / name).read_text()
                                     for name in names})
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
