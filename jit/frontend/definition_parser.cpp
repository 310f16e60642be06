// Functions, classes, parameters, decorators and type comments.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/frontend/file_parser.h"

namespace hearth {

using namespace tree;  // NOLINT: as expression_parser.cpp

const Stmt* FileParser::ParseDecorated() {
  const size_t mark = expressions_.size();
  while (NextIf(TokenKind::kAt)) {
    expressions_.push_back(ParseExpression());
    if (!At(TokenKind::kNewline)) FailExpected("a newline after the decorator");
    Skip();
  }
  if (At(TokenKind::kClass)) return ParseClass(mark);
  if (At(TokenKind::kAsync)) FailRefused("'async' is");
  if (!At(TokenKind::kDef)) FailExpected("'def' or 'class' after a decorator");
  return ParseFunction(mark);
}

Parameter FileParser::ParseParameter(ParameterKind kind) {
  Parameter parameter;
  parameter.kind = kind;
  const uint32_t begin = current_.begin;
  if (!At(TokenKind::kName)) FailExpected("a parameter's name or ')'");
  parameter.name = TextOf(current_);
  Advance();
  if (NextIf(TokenKind::kColon)) parameter.annotation = ParseExpression();
  if (kind != ParameterKind::kVarArgs && kind != ParameterKind::kVarKeywords && NextIf(TokenKind::kAssign)) {
    parameter.default_value = ParseExpression();
  }
  parameter.range = RangeFrom(begin);
  return parameter;
}

// Fills parameters_, up to and with the `)`.
void FileParser::ParseParameters() {
  parameters_.clear();
  ParameterKind kind = ParameterKind::kNormal;
  bool has_default = false;
  bool needs_keyword = false;  // after a bare `*`
  while (!At(TokenKind::kRightParen)) {
    const Token first = current_;
    if (!parameters_.empty() && parameters_.back().kind == ParameterKind::kVarKeywords) {
      Fail(RangeOf(first), "nothing may follow a '**' parameter");
    }
    if (NextIf(TokenKind::kDoubleStar)) {
      parameters_.push_back(ParseParameter(ParameterKind::kVarKeywords));
    } else if (NextIf(TokenKind::kStar)) {
      if (kind == ParameterKind::kKeywordOnly) Fail(RangeOf(first), "a second '*' among the parameters");
      kind = ParameterKind::kKeywordOnly;
      needs_keyword = At(TokenKind::kComma) || At(TokenKind::kRightParen);
      if (!needs_keyword) parameters_.push_back(ParseParameter(ParameterKind::kVarArgs));
    } else if (NextIf(TokenKind::kSlash)) {
      if (kind != ParameterKind::kNormal || parameters_.empty() ||
          parameters_.back().kind == ParameterKind::kPositionalOnly) {
        Fail(RangeOf(first), "'/' must stand behind positional parameters, once");
      }
      for (Parameter& parameter : parameters_) parameter.kind = ParameterKind::kPositionalOnly;
    } else {
      parameters_.push_back(ParseParameter(kind));
      needs_keyword = false;
      const Parameter& parameter = parameters_.back();
      if (kind != ParameterKind::kKeywordOnly && has_default && !parameter.default_value) {
        Fail(parameter.range, "a parameter without a default follows one with a default");
      }
      has_default |= parameter.default_value != nullptr;
    }
    if (!NextIf(TokenKind::kComma)) break;
  }
  if (needs_keyword) FailExpected("a parameter behind '*'");
  Expect(TokenKind::kRightParen, "or ',' after a parameter");
}

// The older way to annotate: `# type: (int, Tensor) -> Tensor` before the first statement. It may leave out the first
// parameter, for self, and says nothing where there is an annotation already.
void FileParser::ApplyTypeComment(SourceRange comments, FunctionDef* function) {
  constexpr std::string_view kMark = "# type:";
  const std::string_view text = source_.text();
  const size_t mark = comments.text().find(kMark);
  if (mark == std::string_view::npos) return;
  const size_t begin_of_types = text.find_first_not_of(" \t", comments.begin + mark + kMark.size());
  if (begin_of_types >= comments.end || text[begin_of_types] != '(') return;  // `# type: ignore`
  const auto begin = static_cast<uint32_t>(begin_of_types);
  const auto end = static_cast<uint32_t>(std::min(text.find_first_of("\r\n", begin), text.size()));
  ExpressionParser comment(source_, Lexer(source_, begin, end), arena_);
  const Expr* listed = comment.ParseExpression();
  comment.Require(TokenKind::kArrow, "after the parameters' types in a type comment");
  ExpressionParser behind(source_, Lexer(source_, comment.current().end, end), arena_);
  const Expr* returns = behind.ParseExpression();
  behind.Require(TokenKind::kEnd, "after a type comment");

  const auto* tuple = dyn_cast<Tuple>(listed);
  const ExprList types = tuple ? tuple->elements : ExprList(&listed, 1);
  std::vector<Parameter> parameters(function->parameters.begin(), function->parameters.end());
  if (types.size() != parameters.size() && types.size() + 1 != parameters.size()) {
    Fail(listed->range, "the type comment has " + std::to_string(types.size()) + " types, but the function has " +
                            std::to_string(parameters.size()) + " parameters");
  }
  const size_t skipped = parameters.size() - types.size();
  for (size_t i = 0; i < types.size(); ++i) {
    Parameter& parameter = parameters[skipped + i];
    if (!parameter.annotation) parameter.annotation = Adopt(function, types[i]);
  }
  function->parameters = arena_.Copy(std::span<const Parameter>(parameters));
  if (!function->returns) function->returns = Adopt(function, returns);
}

const Stmt* FileParser::ParseFunction(size_t decorators_mark) {
  const uint32_t begin = current_.begin;
  Advance();
  const Token name = current_;
  Expect(TokenKind::kName, "after 'def'");
  Expect(TokenKind::kLeftParen, "after the function's name");
  ParseParameters();
  const auto parameters = arena_.Copy(std::span<const Parameter>(parameters_));
  const Expr* returns = NextIf(TokenKind::kArrow) ? ParseExpression() : nullptr;
  const size_t mark = statements_.size();
  const SourceRange comments = ParseBlock("after the function's signature");
  auto* node = Make<FunctionDef>(begin);
  node->name = TextOf(name);
  node->name_range = RangeOf(name);
  for (const Parameter& parameter : parameters) {
    Adopt(node, parameter.annotation);
    Adopt(node, parameter.default_value);
  }
  node->parameters = parameters;
  node->returns = Adopt(node, returns);
  ApplyTypeComment(comments, node);
  node->body = TakeBlock(mark, node);
  node->decorators = TakeSince(decorators_mark, &expressions_, node);
  return node;
}

const Stmt* FileParser::ParseClass(size_t decorators_mark) {
  const uint32_t begin = current_.begin;
  Advance();
  const Token name = current_;
  Expect(TokenKind::kName, "after 'class'");
  ExprList bases;
  std::span<const Keyword> keywords;
  uint16_t height = 1;
  if (NextIf(TokenKind::kLeftParen)) {
    size_t args_mark;
    size_t keywords_mark;
    ParseArguments(&args_mark, &keywords_mark);
    Node holder(Kind::kClassDef, RangeFrom(begin));
    bases = TakeSince(args_mark, &expressions_, &holder);
    keywords = TakeKeywords(keywords_mark, &holder);
    height = holder.height;
  }
  const size_t mark = statements_.size();
  ParseBlock("after the class's name and bases", true);
  auto* node = Make<ClassDef>(begin);
  node->name = TextOf(name);
  node->name_range = RangeOf(name);
  node->height = height;
  node->bases = bases;
  node->keywords = keywords;
  node->body = TakeBlock(mark, node);
  node->decorators = TakeSince(decorators_mark, &expressions_, node);
  return node;
}

}  // namespace hearth
