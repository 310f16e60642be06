#!/usr/bin/env python3
"""Shows that the checks of the tree can fail: each rule is broken once on purpose."""
import pathlib
import re
import subprocess
import tempfile
import unittest

import check_includes
import check_named_tests
import check_names

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYERS = check_includes.read_layers((ROOT / "cmake/HearthRoom.cmake").read_text())


def problems_of(path, *lines):
    return check_includes.check_file(path, "\n".join(lines), LAYERS)


class IncludeRules(unittest.TestCase):
    def test_a_room_may_include_the_rooms_below_it_and_no_room_above(self):
        self.assertEqual(problems_of("jit/passes/inline.cpp", '#include "jit/ir/graph.h"'), [])
        self.assertIn("jit/ir/graph.cpp:2: the room ir may not include the room passes",
                      problems_of("jit/ir/graph.cpp", "// why", '#include "jit/passes/inline.h"'))

    def test_angle_brackets_do_not_hide_a_room(self):
        self.assertEqual(len(problems_of("jit/ir/graph.cpp", "#  include <jit/archive/pickle.h>")), 1)

    def test_rooms_side_by_side_do_not_see_each_other(self):
        self.assertEqual(len(problems_of("jit/passes/inline.cpp", '#include "jit/interpreter/code.h"')), 1)

    def test_no_room_of_the_jit_sees_the_server(self):
        self.assertEqual(len(problems_of("jit/runtime.cpp", '#include "server/api/service.h"')), 1)

    def test_the_server_sees_the_jit_through_one_header(self):
        self.assertEqual(problems_of("server/repository/loader.cpp", '#include "jit/runtime.h"'), [])
        self.assertEqual(problems_of("server/repository/loader.cpp", '#include "jit/support/errors.h"'), [])
        self.assertEqual(len(problems_of("server/repository/loader.cpp", '#include "jit/ir/graph.h"')), 1)

    def test_libtorchs_own_jit_is_closed_outside_tests(self):
        for header in ("torch/script.h", "torch/csrc/jit/ir/ir.h", "torch/csrc/jit/serialization/import.h",
                       "torch/csrc/jit/runtime/interpreter.h", "torch/csrc/jit/api/module.h", "torch/torch.h"):
            self.assertEqual(len(problems_of("jit/ir/graph.cpp", f"#include <{header}>")), 1, header)
            self.assertEqual(problems_of("jit/ir/graph_test.cpp", f"#include <{header}>"), [], header)
            self.assertEqual(problems_of("benchmarks/interpreter.cpp", f"#include <{header}>"), [], header)

    def test_tensors_operators_and_schemas_of_libtorch_are_open(self):
        for header in ("ATen/ATen.h", "c10/core/Device.h", "torch/library.h", "torch/csrc/jit/runtime/operator.h",
                       "torch/csrc/jit/frontend/function_schema_parser.h", "caffe2/serialize/inline_container.h"):
            self.assertEqual(problems_of("jit/ir/graph.cpp", f"#include <{header}>"), [], header)

    def test_includes_in_quotes_are_from_the_root(self):
        self.assertEqual(len(problems_of("jit/ir/graph.cpp", '#include "node.h"')), 1)
        self.assertEqual(len(problems_of("jit/ir/graph.cpp", '#include "../ir/node.h"')), 1)

    def test_the_tree_itself_is_clean(self):
        subprocess.run([ROOT / "scripts/check_includes.py"], check=True)


class NamesOfFiles(unittest.TestCase):
    def problems_of(self, *declarations):
        texts = [f"namespace hearth {{\nnamespace {{\n\n{text}\n\n}}  // namespace\n}}\n" for text in declarations]
        return check_names.problems_of({f"{i}.cpp": text for i, text in enumerate(texts)})

    def test_two_files_of_a_target_cannot_have_one_name(self):
        for declaration in ("constexpr int kMost = 3;", "const char* const kNames[] = {", "class Reader {",
                            "class Reader final : public Base {", "std::optional<int> Parse(const std::string& text) {"):
            self.assertEqual(len(self.problems_of(declaration, declaration)), 1, declaration)
        self.assertEqual(self.problems_of("int First() {", "int Second() {"), [])

    def test_the_same_alias_is_no_problem_and_another_one_is(self):
        self.assertEqual(self.problems_of("using Clock = A;", "using Clock = A;"), [])
        self.assertEqual(len(self.problems_of("using Clock = A;", "using Clock = B;")), 1)

    def test_names_that_others_may_use_are_left_to_the_linker(self):
        text = "namespace hearth {\nint Public() { return 1; }\n}\n"
        self.assertEqual(check_names.problems_of({"a.cpp": text, "b.cpp": text}), [])

    def test_the_rooms_files_are_found(self):
        lists = "hearth_room(http{}\n  SOURCES a.cpp b.cpp\n          c.cpp\n  TESTS a_test.cpp\n  USES support)\n"
        self.assertEqual(list(check_names.targets_of(lists.format(""))), [["a.cpp", "b.cpp", "c.cpp"], ["a_test.cpp"]])
        self.assertEqual(list(check_names.targets_of(lists.format(" APART"))), [["a_test.cpp"]])

    def test_the_tree_itself_is_clean(self):
        subprocess.run([ROOT / "scripts/check_names.py"], check=True)


class LayersInCMake(unittest.TestCase):
    def check_uses(self, user, room, *used):
        with tempfile.NamedTemporaryFile("w", suffix=".cmake") as script:
            script.write(f"cmake_minimum_required(VERSION 3.25)\ninclude({ROOT}/cmake/HearthRoom.cmake)\n"
                         f"hearth_check_uses({user} {room} {' '.join(used)})\n")
            script.flush()
            return subprocess.run(["cmake", "-P", script.name], capture_output=True, text=True)

    def test_a_use_that_the_layers_allow_configures(self):
        self.assertEqual(self.check_uses("executor", "executor", "passes", "ir", "support").returncode, 0)

    def test_a_use_that_the_layers_forbid_stops_the_configuration_and_names_both(self):
        result = self.check_uses("ir", "ir", "frontend")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("ir may not use the room frontend", result.stderr)

    def test_a_room_that_nobody_knows_is_rejected(self):
        self.assertNotEqual(self.check_uses("attic", "attic", "ir").returncode, 0)

    def test_a_room_does_not_use_itself_but_its_tools_do(self):
        self.assertNotEqual(self.check_uses("ir", "ir", "ir").returncode, 0)
        self.assertEqual(self.check_uses("hearth-opt", "passes", "passes").returncode, 0)


class Format(unittest.TestCase):
    def check(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".cpp", dir=ROOT / "scripts") as file:
            file.write(text)
            file.flush()
            return subprocess.run([ROOT / "scripts/check_format", file.name], capture_output=True).returncode

    def test_a_misplaced_brace_is_found(self):
        self.assertEqual(self.check("int Twice(int x) { return 2 * x; }\n"), 0)
        self.assertNotEqual(self.check("int Twice(int x)\n{\n    return 2*x;\n}\n"), 0)


class NamedTests(unittest.TestCase):
    TESTS = check_named_tests.Tests({"jit/a_test.cpp": "TEST_F(ATest,\n       Adds) {}\nTEST(Other, Works) {}",
                                     "integration_tests/test_b.py": "def test_it_answers(server):"})

    def test_those_that_are_there_may_be_named(self):
        for name in ("ATest.Adds", "Other.Works", "ATest", "test_it_answers", "test_b.py::test_it_answers", "test_b",
                     "jit/a_test.cpp", "Message.field"):
            self.assertEqual(check_named_tests.problems_of("docs/c.md", f"it does ([b](x.md), `{name}`)", self.TESTS), [])

    def test_the_page_of_limits_names_many_and_all_are_there(self):
        limits = (ROOT / "docs/limits.md").read_text()
        self.assertGreater(len(re.findall(r"`(\w+\.[A-Z]\w+|test_\w+|test_\w+\.py::test_\w+)`", limits)), 50)
        self.assertEqual(check_named_tests.problems_of("docs/limits.md", limits, check_named_tests.tests_of_the_tree()), [])

    def test_others_may_not(self):
        for name in ("ATest.Subtracts", "Other.Fails", "Gone.Works", "GoneTest", "GoneTest.Adds", "test_it_asks", "test_b.py::test_it_asks",
                     "jit/b_test.cpp"):
            self.assertEqual(check_named_tests.problems_of("docs/c.md", f"one\n`{name}`", self.TESTS),
                             [f"docs/c.md:2: there is no test {name}"])
        self.assertEqual(len(check_named_tests.problems_of("docs/c.md", "[d](../jit/d_test.cpp)", self.TESTS)), 1)


if __name__ == "__main__":
    unittest.main()
