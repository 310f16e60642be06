#include "jit/frontend/lexer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "jit/support/errors.h"

namespace hearth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The tokens of a file: kinds that carry text as that text, layout as "NEWLINE", "INDENT", "DEDENT".
std::vector<std::string> Tokens(const std::string& text) {
  const Source source(text, "test.py");
  Lexer lexer(source);
  std::vector<std::string> tokens;
  for (Token token = lexer.Next(); token.kind != TokenKind::kEnd; token = lexer.Next()) {
    switch (token.kind) {
      case TokenKind::kNewline:
        tokens.push_back("NEWLINE");
        break;
      case TokenKind::kIndent:
        tokens.push_back("INDENT");
        break;
      case TokenKind::kDedent:
        tokens.push_back("DEDENT");
        break;
      default:
        tokens.push_back(text.substr(token.begin, token.end - token.begin));
    }
  }
  EXPECT_EQ(lexer.Next().kind, TokenKind::kEnd) << "the end must repeat";
  return tokens;
}

std::string LexError(const std::string& text) {
  try {
    Tokens(text);
  } catch (const CompileError& error) {
    return error.what();
  }
  return "no error";
}

TokenKind FirstKind(const std::string& text) {
  const Source source(text, "test.py");
  return Lexer(source).Next().kind;
}

TEST(Lexer, IndentationBecomesTokensAndTheTextsEndClosesAllBlocks) {
  EXPECT_THAT(Tokens("if a:\n  if b:\n    c\nd"),
              ElementsAre("if", "a", ":", "NEWLINE", "INDENT", "if", "b", ":", "NEWLINE", "INDENT", "c", "NEWLINE",
                          "DEDENT", "DEDENT", "d", "NEWLINE"));
  EXPECT_THAT(Tokens("if a:\n  b"), ElementsAre("if", "a", ":", "NEWLINE", "INDENT", "b", "NEWLINE", "DEDENT"));
}

TEST(Lexer, BlankLinesAndCommentsLeaveNothing) {
  EXPECT_THAT(Tokens("\n  # note\na # b\n\n   \n# c\n  \nd\n#"), ElementsAre("a", "NEWLINE", "d", "NEWLINE"));
  EXPECT_THAT(Tokens("  "), ElementsAre());
  EXPECT_THAT(Tokens(""), ElementsAre());
}

TEST(Lexer, BracketsAndContinuationMarksJoinLines) {
  EXPECT_THAT(Tokens("f(a,\n      b)\nc \\\n  + d\n"),
              ElementsAre("f", "(", "a", ",", "b", ")", "NEWLINE", "c", "+", "d", "NEWLINE"));
}

TEST(Lexer, AllThreeLineEndsCountAndAByteOrderMarkDoesNot) {
  EXPECT_THAT(Tokens("\xEF\xBB\xBF"
                     "a\r\nb\rc\n"),
              ElementsAre("a", "NEWLINE", "b", "NEWLINE", "c", "NEWLINE"));
}

TEST(Lexer, TheLongestOperatorWins) {
  EXPECT_THAT(Tokens("a**=b//c->d...e<<=f!=g"),
              ElementsAre("a", "**=", "b", "//", "c", "->", "d", "...", "e", "<<=", "f", "!=", "g", "NEWLINE"));
}

TEST(Lexer, NumbersOfEveryFormAreOneToken) {
  for (const char* text : {"0", "12", "1_000", "0x1F", "0o17", "0b11"}) {
    EXPECT_EQ(FirstKind(text), TokenKind::kInt) << text;
    EXPECT_THAT(Tokens(text), ElementsAre(text, "NEWLINE"));
  }
  for (const char* text : {"3.", ".5", "1e+20", "1.0000000000000001e-05", "1_0.0_1E5"}) {
    EXPECT_EQ(FirstKind(text), TokenKind::kFloat) << text;
    EXPECT_THAT(Tokens(text), ElementsAre(text, "NEWLINE"));
  }
  for (const char* text : {"2.j", "1J", ".5e3j"}) {
    EXPECT_EQ(FirstKind(text), TokenKind::kImaginary) << text;
    EXPECT_THAT(Tokens(text), ElementsAre(text, "NEWLINE"));
  }
  EXPECT_THAT(Tokens("1if"), ElementsAre("1", "if", "NEWLINE"));
}

TEST(Lexer, KeywordsAreToldFromNamesThatBeginLikeThem) {
  EXPECT_EQ(FirstKind("elif"), TokenKind::kElif);
  EXPECT_EQ(FirstKind("else"), TokenKind::kElse);
  EXPECT_EQ(FirstKind("None"), TokenKind::kNone);
  for (const char* text : {"elifs", "_if", "none", "x", "__torch__", "infj", "print", "matc\xc3\xa9"}) {
    EXPECT_EQ(FirstKind(text), TokenKind::kName) << text;
  }
}

TEST(Lexer, StringsEndAtTheirOwnQuoteAndNotAtAnEscapedOne) {
  EXPECT_THAT(Tokens(R"(x = "a\"b'" 'c"')"), ElementsAre("x", "=", R"("a\"b'")", R"('c"')", "NEWLINE"));
  EXPECT_THAT(Tokens("'''a\n'b''\\''''"), ElementsAre("'''a\n'b''\\''''", "NEWLINE"));
  EXPECT_THAT(Tokens(R"(r'\'x' Rf"{a}" u'' )"), ElementsAre(R"(r'\'x')", R"(Rf"{a}")", "u''", "NEWLINE"));
}

TEST(Lexer, ErrorsShowThePlaceAndWhatIsMissing) {
  EXPECT_EQ(LexError("a = 1\nb = 'x\n"),
            "this string never ends: expected ' before the end of the line\n"
            "  File \"test.py\", line 2\n    b = 'x\n        ~~ <--- HERE\n");
  EXPECT_THAT(LexError("a\n'''x\n"), HasSubstr("expected ''' before the end of the text"));
  EXPECT_THAT(LexError("a ? b"), HasSubstr("'?' begins nothing that TorchScript knows"));
  EXPECT_THAT(LexError(std::string("a \0 b", 5)), HasSubstr("byte 0x00"));
  EXPECT_THAT(LexError("1abc"), HasSubstr("neither a number nor a name"));
  EXPECT_THAT(LexError("0x"), HasSubstr("ends after its prefix"));
  EXPECT_THAT(LexError("a \\ b"), HasSubstr("expected the end of the line"));
  EXPECT_THAT(LexError("b'x'"), HasSubstr("bytes literals are not part of TorchScript"));
}

TEST(Lexer, IndentationThatFitsNoBlockOrMixesTabsIsAnError) {
  EXPECT_THAT(LexError("if a:\n    b\n  c\n"), HasSubstr("matches that of no block around it"));
  EXPECT_THAT(LexError("if a:\n        b\n\tc\n"), HasSubstr("tabs and spaces are mixed"));
  EXPECT_EQ(LexError("if a:\n\tb\n\tc\n"), "no error");
}

TEST(Lexer, ACopyLooksAheadWithoutMovingTheOriginal) {
  const Source source("f(a, b)", "test.py");
  Lexer lexer(source);
  lexer.Next();
  Lexer ahead = lexer;
  for (int i = 0; i < 4; ++i) ahead.Next();
  EXPECT_EQ(lexer.Next().kind, TokenKind::kLeftParen);
  EXPECT_EQ(lexer.open_bracket(), 1);
}

}  // namespace
}  // namespace hearth
