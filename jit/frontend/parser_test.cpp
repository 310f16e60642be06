#include "jit/frontend/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "jit/frontend/tree_printer.h"
#include "jit/support/errors.h"

// That trees and ranges are those of CPython's `ast` is shown by integration_tests/parser_test.py; here stand the parts
// that CPython knows nothing of, values of literals, errors and bounds.

namespace hearth {
namespace {

using ::testing::HasSubstr;
using namespace tree;  // NOLINT

std::unique_ptr<const Tree> Parse(const std::string& text) {
  return ParseFile(std::make_shared<Source>(text, "test.py"));
}

// Keeps the tree of the last expression alive for the test that looks at it.
const Expr* Expression(const std::string& text) {
  static std::unique_ptr<const Tree> tree;
  tree = hearth::ParseExpression(std::make_shared<Source>(text, "test.py"));
  return tree->expression();
}

std::string Printed(const std::string& text) { return PrintTree(*Parse(text)); }

std::string ParseError(const std::string& text) {
  try {
    Parse(text);
  } catch (const CompileError& error) {
    return error.what();
  }
  return "no error";
}

std::string MessageOf(const std::string& text) {
  try {
    Parse(text);
  } catch (const CompileError& error) {
    return error.message();
  }
  return "no error";
}

std::string Repeat(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

TEST(Parser, AFileOfAnArchiveHasItsDefinitionsByName) {
  const auto tree = Parse(
      "op_version_set = 1\n"
      "import __torch__.torch.nn\n"
      "class M(Module):\n"
      "  __parameters__ = [\"w\", ]\n"
      "  __annotations__ = []\n"
      "  __annotations__[\"0\"] = __torch__.foo.Bar\n"
      "  w : Tensor\n"
      "  k : Final[int] = 3\n"
      "  def forward(self: __torch__.M,\n"
      "    x: Tensor,\n"
      "    n: int=3) -> Tensor:\n"
      "    a, b, = torch.max(x, 0)\n"
      "    return a\n"
      "def pre(self: __torch__.M) -> NoneType:\n"
      "  def __forked_function0():\n"
      "    return None\n"
      "  return None\n");
  const auto* module = dyn_cast<ClassDef>(tree->Find("M"));
  ASSERT_TRUE(module);
  EXPECT_EQ(module->name_range.text(), "M");
  EXPECT_EQ(PrintTree(module->bases[0]), "(Name \"Module\")");
  const auto* method = dyn_cast<FunctionDef>(module->body.back());
  ASSERT_TRUE(method);
  EXPECT_EQ(method->parameters[2].range.text(), "n: int=3");
  EXPECT_EQ(method->range.text().substr(0, 11), "def forward");
  EXPECT_TRUE(method->range.text().ends_with("return a"));
  EXPECT_TRUE(dyn_cast<FunctionDef>(tree->Find("pre")));
  EXPECT_FALSE(tree->Find("forward"));
  EXPECT_FALSE(tree->Find("__forked_function0"));
  EXPECT_EQ(tree->body().size(), 4u);
}

TEST(Parser, OfTwoDefinitionsOfANameTheLastCounts) {
  const auto tree = Parse("def f(): return 1\ndef f(): return 2\n");
  EXPECT_EQ(tree->Find("f"), tree->body()[1]);
}

TEST(Parser, KeywordsAreNamesWhereOnlyANameCanStand) {
  for (const std::string name :
       {"False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"}) {
    EXPECT_EQ(Printed("class M(Module):\n  " + name + " : Tensor\n  x : int\n"),
              "(ClassDef \"M\" [(Name \"Module\")] [] [(AnnAssign (Name \"" + name +
                  "\") (Name \"Tensor\") _) "
                  "(AnnAssign (Name \"x\") (Name \"int\") _)] [])\n");
  }
  EXPECT_EQ(PrintTree(Expression("s.class.from")), "(Attribute (Attribute (Name \"s\") \"class\") \"from\")");
  EXPECT_EQ(PrintTree(Expression("f(in=1)")), "(Call (Name \"f\") [] [(keyword \"in\" (IntConstant 1))])");
}

TEST(Parser, IntegersReachFromTheLeastToTheGreatestOf64Bits) {
  EXPECT_EQ(cast<IntConstant>(Expression("-9223372036854775808"))->value, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(cast<IntConstant>(Expression("9223372036854775807"))->value, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(cast<IntConstant>(Expression("0x_ff"))->value, 255);
  EXPECT_EQ(MessageOf("9223372036854775808"), "the integer 9223372036854775808 does not fit into 64 bits");
  EXPECT_EQ(MessageOf("-9223372036854775809"), "the integer -9223372036854775809 does not fit into 64 bits");
  EXPECT_EQ(MessageOf("1 - 9223372036854775808"), "the integer 9223372036854775808 does not fit into 64 bits");
  EXPECT_THAT(MessageOf("017"), HasSubstr("octal numbers are written 0o17"));
  EXPECT_THAT(MessageOf("0b12"), HasSubstr("'2' is no digit in base 2"));
}

TEST(Parser, AMinusBindsLooserThanAPowerOrAnAttribute) {
  EXPECT_EQ(PrintTree(Expression("-2 ** 2")), "(UnaryOp - (BinOp ** (IntConstant 2) (IntConstant 2)))");
  EXPECT_EQ(PrintTree(Expression("-x.y")), "(UnaryOp - (Attribute (Name \"x\") \"y\"))");
  EXPECT_EQ(PrintTree(Expression("2 - -2")), "(BinOp - (IntConstant 2) (IntConstant -2))");
}

TEST(Parser, FloatsAreReadExactly) {
  const auto value = [](const std::string& text) { return cast<FloatConstant>(Expression(text))->value; };
  EXPECT_EQ(value("0.10000000000000001"), 0.1);
  EXPECT_EQ(value("3."), 3.0);
  EXPECT_EQ(value("1_0.5e+2"), 1050.0);
  EXPECT_TRUE(std::signbit(value("-0.")));
  EXPECT_EQ(value("1e999"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(value("1e-999"), 0.0);
  EXPECT_EQ(value("4.9406564584124654e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(cast<ComplexConstant>(Expression("-2.5j"))->imaginary, -2.5);
  EXPECT_EQ(PrintTree(Expression("-inf")), "(UnaryOp - (Name \"inf\"))");
  EXPECT_TRUE(isa<Name>(Expression("infj")));
}

TEST(Parser, StringsKnowTheEscapesThatArchivesPrintAndThatPeopleWrite) {
  const auto value = [](const std::string& text) { return std::string(cast<StringConstant>(Expression(text))->value); };
  EXPECT_EQ(value(R"("\\\'\"\n\t\r\a\b\f\v")"), "\\'\"\n\t\r\a\b\f\v");
  EXPECT_EQ(value(R"("\101\0\377\1234")"), std::string("A\0\xffS4", 5));
  EXPECT_EQ(value("'a\\\nb'"), "ab");
  EXPECT_EQ(value("'''a\n'b'''"), "a\n'b");
  EXPECT_EQ(value(R"('a' "b" r'\n' 'c')"), "ab\\nc");
  EXPECT_EQ(value("''"), "");
  EXPECT_EQ(value(R"('\x41\xe9\u6f22\U0001F600')"), "A\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80");
  EXPECT_THAT(MessageOf(R"('\x4')"), HasSubstr("no character"));
  EXPECT_THAT(MessageOf(R"('\ud800')"), HasSubstr("no character"));
  EXPECT_THAT(MessageOf(R"('\q')"), HasSubstr("not '\\q'"));
  EXPECT_THAT(MessageOf(R"('\777')"), HasSubstr("at most \\377"));
}

TEST(Parser, FStringsKeepFieldsConversionsAndSpecsInOrder) {
  EXPECT_EQ(PrintTree(Expression("'a' f'{x}{{b{y!r:>{w}}' 'c'")),
            "(JoinedStr [(StringConstant \"a\") (FormattedValue (Name \"x\") _ _) (StringConstant \"{b\") "
            "(FormattedValue (Name \"y\") r (JoinedStr [(StringConstant \">\") (FormattedValue (Name \"w\") _ _)])) "
            "(StringConstant \"c\")])");
  EXPECT_EQ(cast<FormattedValue>(cast<JoinedStr>(Expression("f'a{ b }'"))->parts[1])->value->range.text(), "b");
  EXPECT_THAT(MessageOf("f'}'"), HasSubstr("write '}}' for a brace"));
  EXPECT_THAT(MessageOf("f'{a'"), HasSubstr("expected '}'"));
  EXPECT_THAT(MessageOf("f'{}'"), HasSubstr("expected an expression"));
  EXPECT_THAT(MessageOf("f'{a!x}'"), HasSubstr("expected 's', 'r' or 'a' after '!'"));
  EXPECT_THAT(MessageOf("f'{a:{b}'"), HasSubstr("expected '}' to end this field"));
}

TEST(Parser, AnExpressionAloneMayBeATypeTag) {
  EXPECT_EQ(PrintTree(Expression("Dict[str, List[int]]")),
            "(Subscript (Name \"Dict\") [(Name \"str\") (Subscript (Name \"List\") [(Name \"int\")])] comma)");
  EXPECT_EQ(PrintTree(Expression("Tuple[()]")), "(Subscript (Name \"Tuple\") [(Tuple [])])");
  EXPECT_THROW(Expression("a b"), CompileError);
  EXPECT_THROW(Expression(""), CompileError);
  EXPECT_THROW(Expression("a]"), CompileError);
}

TEST(Parser, AnErrorSaysWhatWasExpectedWhatCameAndWhere) {
  EXPECT_EQ(ParseError("def f(x):\n  if x\n    return x\n"),
            "expected ':' after the condition but found a newline\n"
            "  File \"test.py\", line 2\n      if x\n          ~ <--- HERE\n");
  EXPECT_EQ(MessageOf("f(a b)"), "expected ')' or ',' after an argument but found the name 'b'");
  EXPECT_EQ(MessageOf("x = (1,\n  2\ny = 3\n"),
            "expected ')' or ',' after an element of a tuple but found the name 'y' (the '(' on line 1 is still open)");
  EXPECT_EQ(MessageOf("x = [1, 2\n"),
            "this '[' is never closed: expected ']' or ',' after an element of a list but found the end of the text");
  EXPECT_EQ(MessageOf("x = 3 4"), "expected a newline after the statement but found the number 4");
  EXPECT_EQ(MessageOf("if a:\nb\n"), "expected an indented block but found the name 'b'");
  EXPECT_EQ(MessageOf("a\n  b\n"), "this line is indented, but no block begins before it");
  EXPECT_EQ(MessageOf("x = )"), "expected an expression but found ')'");
  EXPECT_EQ(MessageOf("f() = 1"), "cannot assign to a call");
  EXPECT_EQ(MessageOf("del 1"), "cannot delete a constant");
  EXPECT_EQ(MessageOf("for 1 in x: pass"), "cannot assign to a constant");
  EXPECT_EQ(MessageOf("f(a=1, b)"), "a positional argument follows a keyword argument");
  EXPECT_EQ(MessageOf("def f(a=1, b): pass"), "a parameter without a default follows one with a default");
  EXPECT_EQ(MessageOf("x[]"), "expected an index but found ']'");
  EXPECT_EQ(MessageOf("a not b"), "expected 'in' after 'not' behind a value but found the name 'b'");
}

TEST(Parser, WhatOnlyPythonHasIsRefusedByName) {
  EXPECT_EQ(MessageOf("f = lambda x: x"), "a lambda is not part of TorchScript");
  EXPECT_EQ(MessageOf("def f():\n  yield 1\n"), "yield is not part of TorchScript");
  EXPECT_EQ(MessageOf("def f():\n  global x\n"), "'global' is not part of TorchScript");
  EXPECT_EQ(MessageOf("try:\n  pass\n"), "'try' is not part of TorchScript");
  EXPECT_EQ(MessageOf("async def f(): pass"), "'async' is not part of TorchScript");
  EXPECT_EQ(MessageOf("x = {1, 2}"), "a set is not part of TorchScript");
  EXPECT_EQ(MessageOf("x = {**a}"), "'**' in a dict is not part of TorchScript");
  EXPECT_EQ(MessageOf("for x in y:\n  pass\nelse:\n  pass\n"), "'else' after a 'for' loop is not part of TorchScript");
}

TEST(Parser, TenThousandLevelsOfAnyNestingAreAnErrorAndNotACrash) {
  const std::string deep = "the code nests more than " + std::to_string(kMaxTreeHeight) + " levels deep here";
  const int n = 10000;
  EXPECT_EQ(MessageOf(Repeat("(", n) + "a" + Repeat(")", n)), deep);
  EXPECT_EQ(MessageOf(Repeat("[", n)), deep);
  EXPECT_EQ(MessageOf(Repeat("{a: ", n)), deep);
  EXPECT_EQ(MessageOf(Repeat("f(", n)), deep);
  EXPECT_EQ(MessageOf(Repeat("a[", n)), deep);
  EXPECT_EQ(MessageOf(Repeat("-", n) + "a"), deep);
  EXPECT_EQ(MessageOf(Repeat("not ", n) + "a"), deep);
  EXPECT_EQ(MessageOf(Repeat("a ** ", n) + "a"), deep);
  EXPECT_EQ(MessageOf(Repeat("a if b else ", n) + "a"), deep);
  EXPECT_EQ(MessageOf("a" + Repeat(" + a", n)), deep);
  EXPECT_EQ(MessageOf("a" + Repeat(".b", n)), deep);
  EXPECT_EQ(MessageOf("a" + Repeat("()", n)), deep);
  EXPECT_EQ(MessageOf("if a:\n  b\n" + Repeat("elif a:\n  b\n", n)), deep);
  std::string nested;
  for (int i = 0; i < n; ++i) nested += std::string(static_cast<size_t>(i), ' ') + "if a:\n";
  EXPECT_EQ(MessageOf(nested), deep);
}

TEST(Parser, ListsOfAnyLengthAreFlat) {
  const auto tree = Parse("x = [" + Repeat("a, ", 100000) + "]\ny = " + Repeat("a and ", 100000) + "a\n");
  EXPECT_EQ(cast<List>(cast<Assign>(tree->body()[0])->value)->elements.size(), 100000u);
  EXPECT_LE(tree->body()[1]->height, 3);
}

TEST(Parser, AHeightCountsTheLongestPathToALeaf) {
  EXPECT_EQ(Expression("a")->height, 1);
  EXPECT_EQ(Expression("f(a, b.c[d + 1])")->height, 4);
  EXPECT_EQ(Expression("[x for x in y if f(z.w)]")->height, 4);
}

TEST(Parser, CommentsSemicolonsAndOneLineBlocksLeaveTheSameTree) {
  EXPECT_EQ(Printed("if a: b; c\nelse: d;\n"), Printed("if a:  # x\n\n    b\n    c\nelse:\n  # y\n  d\n"));
}

TEST(Parser, ATypeCommentAnnotatesWhatIsNotAnnotated) {
  EXPECT_EQ(Printed("def f(a, b):\n  # type: (int, List[int]) -> Tensor\n  pass\n"),
            Printed("def f(a: int, b: List[int]) -> Tensor:\n  pass\n"));
  EXPECT_EQ(Printed("def f(self, a, b: str):  # type: (int, float) -> None  # note\n\n  # c\n  pass\n"),
            Printed("def f(self, a: int, b: str) -> None:\n  pass\n"));
  EXPECT_EQ(Printed("def f():\n  # type: () -> int\n  pass"), Printed("def f() -> int:\n  pass"));
  EXPECT_EQ(Printed("def f(a):\n  # type: (int) -> int\n  pass"), Printed("def f(a: int) -> int:\n  pass"));
  EXPECT_EQ(Printed("def f(a):\n  # type: ignore\n  pass\n"), Printed("def f(a):\n  pass\n"));
  EXPECT_EQ(MessageOf("def f(a):\n  # type: (int, int, int) -> int\n  pass\n"),
            "the type comment has 3 types, but the function has 1 parameters");
  EXPECT_THAT(MessageOf("def f(a):\n  # type: (int)\n  pass\n"), HasSubstr("expected '->'"));
}

TEST(Parser, ManyWithItemsMayStandInParentheses) {
  const std::string expected = Printed("with a as b, c: pass");
  EXPECT_EQ(Printed("with (a as b, c,): pass"), expected);
  EXPECT_EQ(Printed("with (a as b,\n      c):\n  pass\n"), expected);
  EXPECT_EQ(Printed("with (a).b(c) as d: pass"),
            "(With [(item (Call (Attribute (Name \"a\") \"b\") [(Name \"c\")] []) (Name \"d\"))] [(Pass)])\n");
}

}  // namespace
}  // namespace hearth
