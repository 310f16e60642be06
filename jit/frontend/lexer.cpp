#include "jit/frontend/lexer.h"

#include <array>
#include <cstring>

#include "jit/support/errors.h"

namespace hearth {
namespace {

enum CharClass : uint8_t { kIdentifierStart = 1, kIdentifierPart = 2, kDigit = 4, kHexDigit = 8 };

constexpr std::array<uint8_t, 256> MakeCharClasses() {
  std::array<uint8_t, 256> classes{};
  for (int c = 0; c < 256; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
    const bool digit = c >= '0' && c <= '9';
    const bool hex = digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    classes[c] = static_cast<uint8_t>((letter ? kIdentifierStart | kIdentifierPart : 0) |
                                      (digit ? kIdentifierPart | kDigit : 0) | (hex ? kHexDigit : 0));
  }
  return classes;
}
constexpr std::array<uint8_t, 256> kCharClasses = MakeCharClasses();

bool Is(char c, uint8_t char_class) { return kCharClasses[static_cast<uint8_t>(c)] & char_class; }

struct Spelled {
  TokenKind kind;
  std::string_view text;
};
constexpr Spelled kSpelled[] = {
    {TokenKind::kLeftParen, "("},
    {TokenKind::kRightParen, ")"},
    {TokenKind::kLeftBracket, "["},
    {TokenKind::kRightBracket, "]"},
    {TokenKind::kLeftBrace, "{"},
    {TokenKind::kRightBrace, "}"},
    {TokenKind::kComma, ","},
    {TokenKind::kColon, ":"},
    {TokenKind::kSemicolon, ";"},
    {TokenKind::kDot, "."},
    {TokenKind::kEllipsis, "..."},
    {TokenKind::kArrow, "->"},
    {TokenKind::kAt, "@"},
    {TokenKind::kBang, "!"},
    {TokenKind::kAssign, "="},
    {TokenKind::kPlus, "+"},
    {TokenKind::kMinus, "-"},
    {TokenKind::kStar, "*"},
    {TokenKind::kDoubleStar, "**"},
    {TokenKind::kSlash, "/"},
    {TokenKind::kDoubleSlash, "//"},
    {TokenKind::kPercent, "%"},
    {TokenKind::kTilde, "~"},
    {TokenKind::kAmpersand, "&"},
    {TokenKind::kPipe, "|"},
    {TokenKind::kCaret, "^"},
    {TokenKind::kShiftLeft, "<<"},
    {TokenKind::kShiftRight, ">>"},
    {TokenKind::kEqual, "=="},
    {TokenKind::kNotEqual, "!="},
    {TokenKind::kLess, "<"},
    {TokenKind::kLessEqual, "<="},
    {TokenKind::kGreater, ">"},
    {TokenKind::kGreaterEqual, ">="},
    {TokenKind::kPlusAssign, "+="},
    {TokenKind::kMinusAssign, "-="},
    {TokenKind::kStarAssign, "*="},
    {TokenKind::kDoubleStarAssign, "**="},
    {TokenKind::kSlashAssign, "/="},
    {TokenKind::kDoubleSlashAssign, "//="},
    {TokenKind::kPercentAssign, "%="},
    {TokenKind::kAtAssign, "@="},
    {TokenKind::kAmpersandAssign, "&="},
    {TokenKind::kPipeAssign, "|="},
    {TokenKind::kCaretAssign, "^="},
    {TokenKind::kShiftLeftAssign, "<<="},
    {TokenKind::kShiftRightAssign, ">>="},
    {TokenKind::kAnd, "and"},
    {TokenKind::kAs, "as"},
    {TokenKind::kAssert, "assert"},
    {TokenKind::kAsync, "async"},
    {TokenKind::kAwait, "await"},
    {TokenKind::kBreak, "break"},
    {TokenKind::kClass, "class"},
    {TokenKind::kContinue, "continue"},
    {TokenKind::kDef, "def"},
    {TokenKind::kDel, "del"},
    {TokenKind::kElif, "elif"},
    {TokenKind::kElse, "else"},
    {TokenKind::kExcept, "except"},
    {TokenKind::kFalse, "False"},
    {TokenKind::kFinally, "finally"},
    {TokenKind::kFor, "for"},
    {TokenKind::kFrom, "from"},
    {TokenKind::kGlobal, "global"},
    {TokenKind::kIf, "if"},
    {TokenKind::kImport, "import"},
    {TokenKind::kIn, "in"},
    {TokenKind::kIs, "is"},
    {TokenKind::kLambda, "lambda"},
    {TokenKind::kNone, "None"},
    {TokenKind::kNonlocal, "nonlocal"},
    {TokenKind::kNot, "not"},
    {TokenKind::kOr, "or"},
    {TokenKind::kPass, "pass"},
    {TokenKind::kRaise, "raise"},
    {TokenKind::kReturn, "return"},
    {TokenKind::kTrue, "True"},
    {TokenKind::kTry, "try"},
    {TokenKind::kWhile, "while"},
    {TokenKind::kWith, "with"},
    {TokenKind::kYield, "yield"},
};

// Keywords in a table indexed by a hash of length, first and last byte that has no collisions among them (checked
// when compiled); most names miss with one comparison.
constexpr size_t kKeywordSlots = 256;
constexpr size_t KeywordHash(const char* text, size_t length) {
  return (static_cast<uint8_t>(text[0]) + static_cast<uint8_t>(text[length - 1]) * 11 + length) % kKeywordSlots;
}
struct KeywordTable {
  std::array<Spelled, kKeywordSlots> slots{};
  bool perfect = true;
};
constexpr KeywordTable MakeKeywordTable() {
  KeywordTable table;
  for (const Spelled& spelled : kSpelled) {
    if (!IsKeyword(spelled.kind)) continue;
    Spelled& slot = table.slots[KeywordHash(spelled.text.data(), spelled.text.size())];
    if (!slot.text.empty()) table.perfect = false;
    slot = spelled;
  }
  return table;
}
constexpr KeywordTable kKeywords = MakeKeywordTable();
static_assert(kKeywords.perfect, "two keywords share a slot: change KeywordHash");

TokenKind KeywordOrName(const char* text, size_t length) {
  if (length < 2 || length > 8) return TokenKind::kName;
  const Spelled& slot = kKeywords.slots[KeywordHash(text, length)];
  return slot.text.size() == length && std::memcmp(slot.text.data(), text, length) == 0 ? slot.kind : TokenKind::kName;
}

std::string DescribeByte(char c) {
  const auto byte = static_cast<uint8_t>(c);
  if (byte >= 0x20 && byte < 0x7f) return std::string("'") + c + "'";
  constexpr char kHex[] = "0123456789abcdef";
  return std::string("byte 0x") + kHex[byte >> 4] + kHex[byte & 15];
}

}  // namespace

std::string DescribeKind(TokenKind kind) {
  switch (kind) {
    case TokenKind::kEnd:
      return "the end of the text";
    case TokenKind::kNewline:
      return "a newline";
    case TokenKind::kIndent:
      return "an indented block";
    case TokenKind::kDedent:
      return "the end of the block";
    case TokenKind::kName:
      return "a name";
    case TokenKind::kInt:
    case TokenKind::kFloat:
    case TokenKind::kImaginary:
      return "a number";
    case TokenKind::kString:
    case TokenKind::kFString:
      return "a string";
    default:
      break;
  }
  for (const Spelled& spelled : kSpelled) {
    if (spelled.kind == kind) return "'" + std::string(spelled.text) + "'";
  }
  return "a token";
}

Lexer::Lexer(const Source& source)
    : source_(&source),
      text_(source.text().data()),
      position_(text_),
      limit_(text_ + source.text().size()),
      inside_brackets_(false),
      at_line_start_(true),
      indents_{{0, 0}} {
  if (source.text().starts_with("\xEF\xBB\xBF")) position_ += 3;  // a byte order mark
}

Lexer::Lexer(const Source& source, uint32_t begin, uint32_t end)
    : source_(&source),
      text_(source.text().data()),
      position_(text_ + begin),
      limit_(text_ + end),
      inside_brackets_(true),
      at_line_start_(false) {}

void Lexer::Fail(const char* begin, const char* end, const std::string& message) const {
  throw CompileError(Range(static_cast<uint32_t>(begin - text_), static_cast<uint32_t>(end - text_)), message);
}

Token Lexer::Make(TokenKind kind, const char* end) {
  const Token token{kind, static_cast<uint32_t>(position_ - text_), static_cast<uint32_t>(end - text_)};
  position_ = end;
  needs_newline_ = true;
  return token;
}

Token Lexer::OpenBracket(TokenKind kind) {
  brackets_.push_back(static_cast<uint32_t>(position_ - text_));
  return Make(kind, position_ + 1);
}

Token Lexer::CloseBracket(TokenKind kind) {
  if (!brackets_.empty()) brackets_.pop_back();
  return Make(kind, position_ + 1);
}

// Past "\n", "\r\n" or "\r", which must be next.
void Lexer::SkipLineEnd() {
  position_ += (*position_ == '\r' && position_ + 1 < limit_ && position_[1] == '\n') ? 2 : 1;
}

bool Lexer::LexIndentation(Token* token) {
  Indent indent{0, 0};
  const char* line = position_;
  for (; position_ < limit_; ++position_) {
    const char c = *position_;
    if (c == ' ') {
      ++indent.column;
      ++indent.column_tabs_1;
    } else if (c == '\t') {
      indent.column = indent.column / 8 * 8 + 8;
      ++indent.column_tabs_1;
    } else if (c == '\f') {
      indent = {0, 0};
    } else if (c == '\n' || c == '\r') {  // a blank line
      SkipLineEnd();
      --position_;
      line = position_ + 1;
      indent = {0, 0};
    } else if (c == '#') {
      while (position_ + 1 < limit_ && position_[1] != '\n' && position_[1] != '\r') ++position_;
    } else {
      break;
    }
  }
  at_line_start_ = false;
  if (position_ >= limit_) return false;

  const auto check_tabs = [&](bool consistent) {
    if (!consistent) Fail(line, position_, "tabs and spaces are mixed in the indentation in a way that is ambiguous");
  };
  const Indent top = indents_.back();
  const auto at = static_cast<uint32_t>(position_ - text_);
  if (indent.column == top.column) {
    check_tabs(indent.column_tabs_1 == top.column_tabs_1);
    return false;
  }
  if (indent.column > top.column) {
    check_tabs(indent.column_tabs_1 > top.column_tabs_1);
    indents_.push_back(indent);
    *token = {TokenKind::kIndent, static_cast<uint32_t>(line - text_), at};
    return true;
  }
  while (indents_.back().column > indent.column) {
    indents_.pop_back();
    ++pending_dedents_;
  }
  if (indents_.back().column != indent.column) {
    Fail(line, position_, "the indentation of this line matches that of no block around it");
  }
  check_tabs(indents_.back().column_tabs_1 == indent.column_tabs_1);
  --pending_dedents_;
  *token = {TokenKind::kDedent, at, at};
  return true;
}

Token Lexer::LexEnd() {
  const auto at = static_cast<uint32_t>(position_ - text_);
  if (NewlinesMatter()) {
    if (needs_newline_) {
      needs_newline_ = false;
      return {TokenKind::kNewline, at, at};
    }
    if (indents_.size() > 1) {
      indents_.pop_back();
      return {TokenKind::kDedent, at, at};
    }
  }
  return {TokenKind::kEnd, at, at};
}

Token Lexer::LexNumber() {
  const char* p = position_;
  const auto at = [&](const char* q) { return q < limit_ ? *q : '\0'; };
  const auto digits = [&](uint8_t char_class) {
    const char* first = p;
    while (p < limit_ && (Is(*p, char_class) || (*p == '_' && p > first && Is(at(p + 1), char_class)))) ++p;
    return p > first;
  };
  TokenKind kind = TokenKind::kInt;
  const char radix = static_cast<char>(at(p + 1) | 0x20);
  if (*p == '0' && (radix == 'x' || radix == 'o' || radix == 'b')) {
    p += at(p + 2) == '_' ? 3 : 2;
    if (!digits(radix == 'x' ? kHexDigit : kDigit)) Fail(position_, p, "a number ends after its prefix");
  } else {
    digits(kDigit);
    if (at(p) == '.') {
      ++p;
      digits(kDigit);
      kind = TokenKind::kFloat;
    }
    if (at(p) == 'e' || at(p) == 'E') {
      const char* exponent = p;
      ++p;
      if (at(p) == '+' || at(p) == '-') ++p;
      if (digits(kDigit)) {
        kind = TokenKind::kFloat;
      } else {
        p = exponent;  // `1else` is `1 else`
      }
    }
    if (at(p) == 'j' || at(p) == 'J') {
      ++p;
      kind = TokenKind::kImaginary;
    }
  }
  if (p < limit_ && Is(*p, kIdentifierPart)) {
    const char* word_end = p;
    while (word_end < limit_ && Is(*word_end, kIdentifierPart)) ++word_end;
    if (KeywordOrName(p, static_cast<size_t>(word_end - p)) == TokenKind::kName) {
      Fail(position_, word_end, "this is neither a number nor a name");
    }
  }
  return Make(kind, p);
}

Token Lexer::LexString(const char* quote, bool is_f_string) {
  const char mark = *quote;
  const bool triple = limit_ - quote >= 3 && quote[1] == mark && quote[2] == mark;
  const char* p = quote + (triple ? 3 : 1);
  for (; p < limit_; ++p) {
    if (*p == '\\') {
      ++p;
      if (p + 1 < limit_ && p[0] == '\r' && p[1] == '\n') ++p;
    } else if (*p == mark) {
      if (!triple) return Make(is_f_string ? TokenKind::kFString : TokenKind::kString, p + 1);
      if (limit_ - p >= 3 && p[1] == mark && p[2] == mark) {
        return Make(is_f_string ? TokenKind::kFString : TokenKind::kString, p + 3);
      }
    } else if (!triple && (*p == '\n' || *p == '\r')) {
      break;
    }
  }
  Fail(position_, triple ? quote + 3 : std::min(p, limit_),
       triple ? "this string never ends: expected " + std::string(3, mark) + " before the end of the text"
              : std::string("this string never ends: expected ") + mark + " before the end of the line");
}

Token Lexer::LexNameOrString() {
  const char* p = position_ + 1;
  while (p < limit_ && Is(*p, kIdentifierPart)) ++p;
  const auto length = static_cast<size_t>(p - position_);
  if (length <= 2 && p < limit_ && (*p == '"' || *p == '\'')) {
    bool known = true;
    bool is_f_string = false;
    bool is_bytes = false;
    for (const char* q = position_; q < p; ++q) {
      const char c = static_cast<char>(*q | 0x20);
      known &= c == 'r' || c == 'u' || c == 'f' || c == 'b';
      is_f_string |= c == 'f';
      is_bytes |= c == 'b';
    }
    if (length == 2) known &= (position_[0] | 0x20) != (position_[1] | 0x20);
    if (known && is_bytes) Fail(position_, p + 1, "bytes literals are not part of TorchScript");
    if (known) return LexString(p, is_f_string);
  }
  return Make(KeywordOrName(position_, length), p);
}

Token Lexer::Next() {
  if (pending_dedents_ > 0) {
    --pending_dedents_;
    const auto at = static_cast<uint32_t>(position_ - text_);
    return {TokenKind::kDedent, at, at};
  }
  if (at_line_start_) {
    Token token;
    if (LexIndentation(&token)) return token;
  }
  for (;;) {
    if (position_ >= limit_) return LexEnd();
    const char c = *position_;
    if (Is(c, kIdentifierStart)) return LexNameOrString();
    const char next = position_ + 1 < limit_ ? position_[1] : '\0';
    const char after_next = position_ + 2 < limit_ ? position_[2] : '\0';
    const auto one = [&](TokenKind kind) { return Make(kind, position_ + 1); };
    const auto with_assign = [&](TokenKind plain, TokenKind assign) {
      return next == '=' ? Make(assign, position_ + 2) : Make(plain, position_ + 1);
    };
    const auto doubled = [&](TokenKind plain, TokenKind assign, TokenKind twice, TokenKind twice_assign) {
      if (next != c) return with_assign(plain, assign);
      return after_next == '=' ? Make(twice_assign, position_ + 3) : Make(twice, position_ + 2);
    };
    switch (c) {
      case ' ':
      case '\t':
      case '\f':
        ++position_;
        continue;
      case '\n':
      case '\r': {
        const auto begin = static_cast<uint32_t>(position_ - text_);
        SkipLineEnd();
        if (!NewlinesMatter()) continue;
        at_line_start_ = true;
        needs_newline_ = false;
        return {TokenKind::kNewline, begin, begin + 1};
      }
      case '#':
        while (position_ < limit_ && *position_ != '\n' && *position_ != '\r') ++position_;
        continue;
      case '\\':
        if (next != '\n' && next != '\r') {
          Fail(position_, position_ + 1, "expected the end of the line after the continuation mark '\\'");
        }
        ++position_;
        SkipLineEnd();
        if (position_ >= limit_) Fail(position_ - 1, position_, "the text ends behind the continuation mark '\\'");
        continue;
      case '0':
      case '1':
      case '2':
      case '3':
      case '4':
      case '5':
      case '6':
      case '7':
      case '8':
      case '9':
        return LexNumber();
      case '.':
        if (Is(next, kDigit)) return LexNumber();
        if (next == '.' && after_next == '.') return Make(TokenKind::kEllipsis, position_ + 3);
        return one(TokenKind::kDot);
      case '"':
      case '\'':
        return LexString(position_, false);
      case '(':
        return OpenBracket(TokenKind::kLeftParen);
      case '[':
        return OpenBracket(TokenKind::kLeftBracket);
      case '{':
        return OpenBracket(TokenKind::kLeftBrace);
      case ')':
        return CloseBracket(TokenKind::kRightParen);
      case ']':
        return CloseBracket(TokenKind::kRightBracket);
      case '}':
        return CloseBracket(TokenKind::kRightBrace);
      case ',':
        return one(TokenKind::kComma);
      case ':':
        return one(TokenKind::kColon);
      case ';':
        return one(TokenKind::kSemicolon);
      case '~':
        return one(TokenKind::kTilde);
      case '!':
        return with_assign(TokenKind::kBang, TokenKind::kNotEqual);
      case '=':
        return with_assign(TokenKind::kAssign, TokenKind::kEqual);
      case '+':
        return with_assign(TokenKind::kPlus, TokenKind::kPlusAssign);
      case '-':
        if (next == '>') return Make(TokenKind::kArrow, position_ + 2);
        return with_assign(TokenKind::kMinus, TokenKind::kMinusAssign);
      case '%':
        return with_assign(TokenKind::kPercent, TokenKind::kPercentAssign);
      case '@':
        return with_assign(TokenKind::kAt, TokenKind::kAtAssign);
      case '&':
        return with_assign(TokenKind::kAmpersand, TokenKind::kAmpersandAssign);
      case '|':
        return with_assign(TokenKind::kPipe, TokenKind::kPipeAssign);
      case '^':
        return with_assign(TokenKind::kCaret, TokenKind::kCaretAssign);
      case '*':
        return doubled(TokenKind::kStar, TokenKind::kStarAssign, TokenKind::kDoubleStar, TokenKind::kDoubleStarAssign);
      case '/':
        return doubled(TokenKind::kSlash, TokenKind::kSlashAssign, TokenKind::kDoubleSlash,
                       TokenKind::kDoubleSlashAssign);
      case '<':
        return doubled(TokenKind::kLess, TokenKind::kLessEqual, TokenKind::kShiftLeft, TokenKind::kShiftLeftAssign);
      case '>':
        return doubled(TokenKind::kGreater, TokenKind::kGreaterEqual, TokenKind::kShiftRight,
                       TokenKind::kShiftRightAssign);
      default:
        Fail(position_, position_ + 1, DescribeByte(c) + " begins nothing that TorchScript knows");
    }
  }
}

}  // namespace hearth
