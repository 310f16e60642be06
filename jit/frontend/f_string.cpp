// String literals that are more than a view of the text: escapes, neighbours that join, and f-strings. The text of an
// f-string is one token for the lexer; here it is taken apart, and each field parsed in place by a parser of its own
// over the same source, so that ranges stay true.
#include <algorithm>
#include <string>
#include <string_view>

#include "jit/frontend/expression_parser.h"
#include "jit/frontend/literals.h"

namespace hearth {

using namespace tree;  // NOLINT: as expression_parser.cpp

void ExpressionParser::PushLiteral(std::string* literal, uint32_t begin, uint32_t end) {
  if (literal->empty()) return;
  auto* node = arena_.New<StringConstant>(SourceRange{&source_, begin, end});
  node->value = arena_.Copy(std::string_view(*literal));
  expressions_.push_back(node);
  literal->clear();
}

// All neighbouring literals from the current one on: a StringConstant, or a JoinedStr if one is an f-string.
const Expr* ExpressionParser::ParseJoinedStrings(uint32_t begin) {
  const size_t mark = expressions_.size();
  std::string literal;
  uint32_t literal_begin = begin;
  bool is_joined = false;
  while (At(TokenKind::kString) || At(TokenKind::kFString)) {
    const StringContent content = ContentOf(source_, current_);
    if (At(TokenKind::kString)) {
      if (literal.empty()) literal_begin = current_.begin;
      AppendUnescaped(source_, content.begin, content.end, content.raw, &literal);
    } else {
      is_joined = true;
      ParseFStringContent(content.begin, content.end, content.raw, false, &literal, &literal_begin);
    }
    Advance();
  }
  if (!is_joined) {
    auto* node = Make<StringConstant>(begin);
    node->value = arena_.Copy(std::string_view(literal));
    return node;
  }
  auto* node = Make<JoinedStr>(begin);
  PushLiteral(&literal, literal_begin, node->range.end);
  node->parts = TakeSince(mark, &expressions_, node);
  return node;
}

uint32_t ExpressionParser::ParseFStringContent(uint32_t begin, uint32_t end, bool raw, bool is_spec,
                                               std::string* literal, uint32_t* literal_begin) {
  const std::string_view text = source_.text().substr(0, end);
  uint32_t at = begin;
  while (at < end) {
    const auto brace = static_cast<uint32_t>(std::min<size_t>(text.find_first_of("{}", at), end));
    if (literal->empty()) *literal_begin = at;
    AppendUnescaped(source_, at, brace, raw, literal);
    if (brace == end) return end;
    const bool doubled = brace + 1 < end && text[brace + 1] == text[brace];
    if (doubled && !is_spec) {
      literal->push_back(text[brace]);
      at = brace + 2;
    } else if (text[brace] == '{') {
      at = ParseField(brace, end, raw, literal, *literal_begin);
    } else if (is_spec) {
      return brace;
    } else {
      Fail({&source_, brace, brace + 1}, "a single '}' in an f-string: write '}}' for a brace");
    }
  }
  return end;
}

// `{value!r:spec}`, whose `{` is at `open`. Pushes the literal text before it and the field; returns the offset behind
// its `}`. `{value=}` stands for the text `value=` and the field `{value!r}`.
uint32_t ExpressionParser::ParseField(uint32_t open, uint32_t end, bool raw, std::string* literal,
                                      uint32_t literal_begin) {
  const DepthGuard guard(this);
  ExpressionParser field(source_, Lexer(source_, open + 1, end), arena_, depth_);
  const Expr* value = field.ParseExpressionList();
  char conversion = '\0';
  const bool shows_itself = field.NextIf(TokenKind::kAssign);
  if (shows_itself) literal->append(source_.text().substr(open + 1, field.current().begin - open - 1));
  if (field.NextIf(TokenKind::kBang)) {
    const std::string_view name = field.TextOf(field.current_);
    if (name != "s" && name != "r" && name != "a") field.FailExpected("'s', 'r' or 'a' after '!'");
    conversion = name[0];
    field.Advance();
  }
  const JoinedStr* spec = nullptr;
  uint32_t close;
  if (field.At(TokenKind::kColon)) {
    const uint32_t spec_begin = field.current().end;
    const size_t mark = expressions_.size();
    std::string spec_literal;
    uint32_t spec_literal_begin = spec_begin;
    close = ParseFStringContent(spec_begin, end, raw, true, &spec_literal, &spec_literal_begin);
    if (close == end) Fail({&source_, open, end}, "expected '}' to end this field of the f-string");
    PushLiteral(&spec_literal, spec_literal_begin, close);
    auto* node = arena_.New<JoinedStr>(SourceRange{&source_, spec_begin, close});
    node->parts = TakeSince(mark, &expressions_, node);
    spec = node;
  } else {
    field.Require(TokenKind::kRightBrace, "after the value of an f-string's field");
    close = field.current().begin;
  }
  if (shows_itself && conversion == '\0' && !spec) conversion = 'r';
  PushLiteral(literal, literal_begin, open);
  auto* node = arena_.New<FormattedValue>(SourceRange{&source_, open, close + 1});
  node->value = Adopt(node, value);
  node->conversion = conversion;
  node->format_spec = Adopt(node, spec);
  expressions_.push_back(node);
  return close + 1;
}

}  // namespace hearth
