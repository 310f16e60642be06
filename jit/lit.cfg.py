# Tests of IR as text: every .ir file in a tests/ folder below jit/ holds its RUN lines. Run by scripts/test, or alone:
#     .venv/bin/lit -v jit/passes
import os

import lit.formats

config.name = "hearth IR"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ir"]
config.test_source_root = os.path.dirname(__file__)

build = os.environ.get("HEARTH_BUILD", os.path.join(config.test_source_root, "..", "build", "release"))
config.test_exec_root = os.path.join(build, "lit")
path = [os.path.join(os.path.abspath(build), "bin"), "/usr/lib/llvm-19/bin", os.environ["PATH"]]
config.environment["PATH"] = os.pathsep.join(path)
for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
