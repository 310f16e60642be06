#!/usr/bin/env python3
"""Holds every #include of the tree against the rules of its rooms. Exits 1 and names each line that breaks one.

1. A room includes only rooms that the layer order allows. The order is read from cmake/HearthRoom.cmake, which also
   rejects a USES against it, so the two cannot drift apart.
2. Of jit/, the server and the command line see jit/runtime.h and jit/support/ alone.
3. LibTorch is a library of tensors and operators here: its own graph, front end, passes, executor, interpreter and
   importer are for tests and benchmarks, where they are the oracle and the rival.
4. Includes in quotes are paths from the root of the tree.

Tests (*_test.cpp, tests/, *_testing.h) and benchmarks may include any room and all of LibTorch.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Everything else below torch/ and caffe2/ is closed.
OPEN_LIBTORCH_HEADERS = [
    re.compile(pattern)
    for pattern in (
        r"torch/library\.h",
        r"torch/custom_class(_detail)?\.h",
        r"torch/headeronly/.*",
        r"torch/csrc/jit/runtime/operator\.h",
        r"torch/csrc/jit/frontend/function_schema_parser\.h",
        r"caffe2/serialize/.*\.h",
    )
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def read_layers(cmake_text):
    """Room name -> set of all rooms that it may use, from the set(HEARTH_ROOM_x a b) lines."""
    direct = {name: rooms.replace('"', '').split() for name, rooms in re.findall(r"^set\(HEARTH_ROOM_(\w+)([^)]*)\)", cmake_text, re.M)}
    if not direct:
        raise SystemExit("check_includes: cmake/HearthRoom.cmake lists no rooms")

    def reachable(room, seen):
        for used in direct[room]:
            if used not in seen:
                seen.add(used)
                reachable(used, seen)
        return seen

    return {room: reachable(room, set()) for room in direct}


def room_of(path):
    """The room of a file or of an include path from the root; None outside the rooms."""
    parts = path.split("/")
    if parts[:2] == ["jit", "fuser"]:
        return f"fuser_{parts[2]}"
    if parts[0] == "jit":
        return parts[1] if len(parts) > 2 and parts[1] != "fuzz" else "runtime"
    if parts[0] == "server":
        return parts[1] if len(parts) > 2 else "server"
    if parts[0] in ("cli", "proto", "wire", "benchmarks"):
        return parts[0]
    return None


def is_free(path):
    """Tests and benchmarks: the oracle and every room are open to them."""
    name = path.rsplit("/", 1)[-1]
    return (
        re.search(r"_test(ing)?\.(cpp|h)$", name) is not None
        or "tests" in path.split("/")[:-1]
        or "testing" in path.split("/")[:-1]
        or path.split("/")[0] in ("benchmarks", "integration_tests")
    )


def check_file(path, text, layers):
    """Returns a list of 'path:line: what is wrong'."""
    if is_free(path):
        return []
    problems = []
    room = room_of(path)
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, header = match.groups()
        where = f"{path}:{number}"
        if header.startswith(("torch/", "caffe2/")):
            if not any(pattern.fullmatch(header) for pattern in OPEN_LIBTORCH_HEADERS):
                problems.append(f"{where}: {header} is LibTorch's own JIT or API; only tests and benchmarks include it")
            continue
        used = room_of(header)
        if quote == '"' and ("/" not in header or header.startswith(".")):
            problems.append(f'{where}: "{header}" is not a path from the root of the tree')
        if used is None or room is None or used == room:
            continue
        if used not in layers:
            problems.append(f"{where}: {used} is not a room of cmake/HearthRoom.cmake")
        elif room not in layers:
            problems.append(f"{where}: {room} is not a room of cmake/HearthRoom.cmake")
        elif used not in layers[room]:
            problems.append(f"{where}: the room {room} may not include the room {used}")
        elif (
            path.startswith(("server/", "cli/"))
            and header.startswith("jit/")
            and header != "jit/runtime.h"
            and used != "support"
        ):
            problems.append(f"{where}: of jit/, the server and the command line see jit/runtime.h and jit/support/ alone")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    layers = read_layers((ROOT / "cmake/HearthRoom.cmake").read_text())
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "*.h", "*.cpp"],
        check=True, capture_output=True, text=True).stdout.split()
    files = [path for path in listed if (ROOT / path).is_file()]
    problems = []
    for path in files:
        problems += check_file(path, (ROOT / path).read_text(), layers)
    print("\n".join(problems) or f"{len(files)} files include only what their rooms may")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
