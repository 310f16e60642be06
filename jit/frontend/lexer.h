// Splits TorchScript source into tokens, one at a time, following Python's lexical rules: indentation becomes kIndent
// and kDedent, newlines inside brackets vanish, comments and blank lines leave nothing. A token is a kind and a byte
// range; its text, if anyone needs it, is read from the source. A Lexer is a small copyable value: copy it to look
// ahead. Raises CompileError for bytes that begin no token, strings that never end and broken indentation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jit/support/source_range.h"

namespace hearth {

enum class TokenKind : uint8_t {
  kEnd,  // of the text
  kNewline,
  kIndent,
  kDedent,
  kName,
  kInt,        // 12, 0x1f, 1_000
  kFloat,      // 3., 1e+20
  kImaginary,  // 2.j
  kString,     // with quotes; may have the prefix r or u
  kFString,    // prefix f, fr or rf
  // Punctuation.
  kLeftParen,
  kRightParen,
  kLeftBracket,
  kRightBracket,
  kLeftBrace,
  kRightBrace,
  kComma,
  kColon,
  kSemicolon,
  kDot,
  kEllipsis,
  kArrow,
  kAt,
  kBang,
  kAssign,
  kPlus,
  kMinus,
  kStar,
  kDoubleStar,
  kSlash,
  kDoubleSlash,
  kPercent,
  kTilde,
  kAmpersand,
  kPipe,
  kCaret,
  kShiftLeft,
  kShiftRight,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kPlusAssign,
  kMinusAssign,
  kStarAssign,
  kDoubleStarAssign,
  kSlashAssign,
  kDoubleSlashAssign,
  kPercentAssign,
  kAtAssign,
  kAmpersandAssign,
  kPipeAssign,
  kCaretAssign,
  kShiftLeftAssign,
  kShiftRightAssign,
  // Keywords.
  kAnd,
  kAs,
  kAssert,
  kAsync,
  kAwait,
  kBreak,
  kClass,
  kContinue,
  kDef,
  kDel,
  kElif,
  kElse,
  kExcept,
  kFalse,
  kFinally,
  kFor,
  kFrom,
  kGlobal,
  kIf,
  kImport,
  kIn,
  kIs,
  kLambda,
  kNone,
  kNonlocal,
  kNot,
  kOr,
  kPass,
  kRaise,
  kReturn,
  kTrue,
  kTry,
  kWhile,
  kWith,
  kYield,
};
inline constexpr int kTokenKindCount = static_cast<int>(TokenKind::kYield) + 1;

constexpr bool IsKeyword(TokenKind kind) { return kind >= TokenKind::kAnd; }

struct Token {
  TokenKind kind = TokenKind::kEnd;
  uint32_t begin = 0;
  uint32_t end = 0;
};

// What an error calls a token of this kind that was expected: "':'", "'else'", "a name", "a newline".
std::string DescribeKind(TokenKind kind);

class Lexer {
 public:
  // Lexes the whole source as a file. The source must outlive the lexer and be smaller than 4 GiB.
  explicit Lexer(const Source& source);
  // Lexes bytes [begin, end) of the source as if inside brackets: no newlines, no indentation.
  Lexer(const Source& source, uint32_t begin, uint32_t end);

  // The next token; kEnd again and again at the end.
  Token Next();

  // The innermost bracket that is open after the tokens so far, as its offset; -1 if none.
  int64_t open_bracket() const { return brackets_.empty() ? -1 : static_cast<int64_t>(brackets_.back()); }

  SourceRange Range(uint32_t begin, uint32_t end) const { return {source_, begin, end}; }

 private:
  struct Indent {
    uint32_t column;         // with tabs to multiples of 8
    uint32_t column_tabs_1;  // with tabs as one column: both must agree on the order
  };

  bool NewlinesMatter() const { return brackets_.empty() && !inside_brackets_; }
  Token Make(TokenKind kind, const char* end);
  Token OpenBracket(TokenKind kind);
  Token CloseBracket(TokenKind kind);
  // Measures the indentation of the next line that has tokens. True if `token` was made.
  bool LexIndentation(Token* token);
  Token LexEnd();
  Token LexNumber();
  Token LexString(const char* quote, bool is_f_string);
  Token LexNameOrString();
  void SkipLineEnd();
  [[noreturn]] void Fail(const char* begin, const char* end, const std::string& message) const;

  const Source* source_;
  const char* text_;      // the source's first byte
  const char* position_;  // the next byte
  const char* limit_;     // past the last byte
  bool inside_brackets_;
  bool at_line_start_;
  bool needs_newline_ = false;  // a logical line is open
  uint32_t pending_dedents_ = 0;
  std::vector<Indent> indents_;
  std::vector<uint32_t> brackets_;  // offsets of those open
};

}  // namespace hearth
