#include "jit/frontend/parser.h"

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/frontend/file_parser.h"
#include "jit/support/errors.h"
#include "jit/support/load_budget.h"

namespace hearth {

using namespace tree;  // NOLINT: as expression_parser.cpp

namespace {

std::optional<BinaryOperator> AugmentedOperator(TokenKind kind) {
  switch (kind) {
    case TokenKind::kPlusAssign:
      return BinaryOperator::kAdd;
    case TokenKind::kMinusAssign:
      return BinaryOperator::kSubtract;
    case TokenKind::kStarAssign:
      return BinaryOperator::kMultiply;
    case TokenKind::kDoubleStarAssign:
      return BinaryOperator::kPower;
    case TokenKind::kSlashAssign:
      return BinaryOperator::kDivide;
    case TokenKind::kDoubleSlashAssign:
      return BinaryOperator::kFloorDivide;
    case TokenKind::kPercentAssign:
      return BinaryOperator::kModulo;
    case TokenKind::kAtAssign:
      return BinaryOperator::kMatrixMultiply;
    case TokenKind::kAmpersandAssign:
      return BinaryOperator::kBitAnd;
    case TokenKind::kPipeAssign:
      return BinaryOperator::kBitOr;
    case TokenKind::kCaretAssign:
      return BinaryOperator::kBitXor;
    case TokenKind::kShiftLeftAssign:
      return BinaryOperator::kShiftLeft;
    case TokenKind::kShiftRightAssign:
      return BinaryOperator::kShiftRight;
    default:
      return std::nullopt;
  }
}

void CheckSize(const Source& source) {
  if (source.text().size() >= std::numeric_limits<uint32_t>::max()) {
    throw CompileError({&source, 0, 0}, "the source is larger than 4 GiB");
  }
}

}  // namespace

StmtList FileParser::ParseFile() {
  while (!At(TokenKind::kEnd)) {
    if (At(TokenKind::kIndent)) Fail(RangeOf(current_), "this line is indented, but no block begins before it");
    ParseLine();
  }
  return arena_.Copy(StmtList(statements_));
}

// ---------------------------------------------------------------------------------------------------------------------
// Blocks and compound statements.

SourceRange FileParser::ParseBlock(const char* context, bool is_class) {
  const DepthGuard guard(this);
  const bool outer = std::exchange(in_class_body_, is_class);
  Expect(TokenKind::kColon, context);
  SourceRange comments{&source_, last_end(), current_.begin};
  if (At(TokenKind::kNewline)) {
    Skip();
    if (!At(TokenKind::kIndent)) FailExpected("an indented block");
    comments.end = current_.begin;
    Skip();
    do {
      if (At(TokenKind::kIndent)) Fail(RangeOf(current_), "this line is indented more than its block");
      ParseLine();
    } while (!At(TokenKind::kDedent) && !At(TokenKind::kEnd));
    if (At(TokenKind::kDedent)) Skip();
  } else {
    ParseLine();
  }
  in_class_body_ = outer;
  return comments;
}

// Archives have attributes of any name; Python's own code can only make them with setattr.
bool FileParser::AtAttributeNamedByAKeyword() {
  return in_class_body_ && IsKeyword(current_.kind) && Peek().kind == TokenKind::kColon;
}

void FileParser::ParseLine() {
  LoadBudget::Check();
  switch (AtAttributeNamedByAKeyword() ? TokenKind::kName : current_.kind) {
    case TokenKind::kIf:
      statements_.push_back(ParseIf());
      return;
    case TokenKind::kFor:
      statements_.push_back(ParseFor());
      return;
    case TokenKind::kWhile:
      statements_.push_back(ParseWhile());
      return;
    case TokenKind::kWith:
      statements_.push_back(ParseWith());
      return;
    case TokenKind::kDef:
      statements_.push_back(ParseFunction(expressions_.size()));
      return;
    case TokenKind::kClass:
      statements_.push_back(ParseClass(expressions_.size()));
      return;
    case TokenKind::kAt:
      statements_.push_back(ParseDecorated());
      return;
    case TokenKind::kNewline:  // a line that has nothing but a continuation mark
      Skip();
      return;
    default:
      break;
  }
  for (;;) {
    statements_.push_back(ParseSimple());
    if (!At(TokenKind::kSemicolon)) break;
    Skip();
    if (At(TokenKind::kNewline) || At(TokenKind::kEnd)) break;
  }
  if (At(TokenKind::kNewline)) {
    Skip();
  } else if (!At(TokenKind::kEnd)) {
    FailExpected("a newline after the statement");
  }
}

const Stmt* FileParser::ParseIf() {
  const DepthGuard guard(this);  // for elif
  const uint32_t begin = current_.begin;
  Advance();
  const Expr* condition = ParseExpression();
  const size_t body_mark = statements_.size();
  ParseBlock("after the condition");
  const size_t else_mark = statements_.size();
  if (At(TokenKind::kElif)) {
    statements_.push_back(ParseIf());
  } else if (NextIf(TokenKind::kElse)) {
    ParseBlock("after 'else'");
  }
  auto* node = Make<If>(begin);
  node->condition = Adopt(node, condition);
  node->else_body = TakeBlock(else_mark, node);
  node->body = TakeBlock(body_mark, node);
  return node;
}

void FileParser::RefuseElse(const char* of) {
  if (At(TokenKind::kElse)) FailRefused(of);
}

const Stmt* FileParser::ParseFor() {
  const uint32_t begin = current_.begin;
  Advance();
  const Expr* target = ParseTargetList();
  Expect(TokenKind::kIn, "after the target of a 'for' loop");
  const Expr* iter = ParseExpressionList();
  const size_t mark = statements_.size();
  ParseBlock("after what a 'for' loop runs over");
  RefuseElse("'else' after a 'for' loop is");
  auto* node = Make<For>(begin);
  node->target = Adopt(node, target);
  node->iter = Adopt(node, iter);
  node->body = TakeBlock(mark, node);
  return node;
}

const Stmt* FileParser::ParseWhile() {
  const uint32_t begin = current_.begin;
  Advance();
  const Expr* condition = ParseExpression();
  const size_t mark = statements_.size();
  ParseBlock("after the condition");
  RefuseElse("'else' after a 'while' loop is");
  auto* node = Make<While>(begin);
  node->condition = Adopt(node, condition);
  node->body = TakeBlock(mark, node);
  return node;
}

// At a `(` behind `with`: whether it encloses all items, `with (a as b, c as d):`, and not just the first expression.
// As in Python, it does if the `)` that closes it is followed by the statement's `:`.
bool FileParser::WithItemsAreParenthesized() {
  Token token = Peek();
  Lexer ahead = lexer_;
  int depth = 1;
  for (; token.kind != TokenKind::kEnd; token = ahead.Next()) {
    switch (token.kind) {
      case TokenKind::kLeftParen:
      case TokenKind::kLeftBracket:
      case TokenKind::kLeftBrace:
        ++depth;
        break;
      case TokenKind::kRightParen:
      case TokenKind::kRightBracket:
      case TokenKind::kRightBrace:
        if (--depth == 0) return ahead.Next().kind == TokenKind::kColon;
        break;
      default:
        break;
    }
  }
  return false;
}

const Stmt* FileParser::ParseWith() {
  const uint32_t begin = current_.begin;
  Advance();
  const bool parenthesized = At(TokenKind::kLeftParen) && WithItemsAreParenthesized();
  if (parenthesized) Advance();
  std::vector<WithItem> items;
  do {
    if (parenthesized && At(TokenKind::kRightParen)) break;
    WithItem item;
    item.context = ParseExpression();
    if (NextIf(TokenKind::kAs)) {
      item.target = ParseExpression();
      CheckTarget(item.target, "assign to", false);
    }
    items.push_back(item);
  } while (NextIf(TokenKind::kComma));
  if (parenthesized) Expect(TokenKind::kRightParen, "after the items of 'with'");
  const size_t mark = statements_.size();
  ParseBlock("after the items of 'with'");
  auto* node = Make<With>(begin);
  for (const WithItem& item : items) {
    Adopt(node, item.context);
    Adopt(node, item.target);
  }
  node->items = arena_.Copy(std::span<const WithItem>(items));
  node->body = TakeBlock(mark, node);
  return node;
}

// ---------------------------------------------------------------------------------------------------------------------
// Simple statements.

const Stmt* FileParser::ParseSimple() {
  const uint32_t begin = current_.begin;
  if (AtAttributeNamedByAKeyword()) {
    Advance();
    auto* name = Make<Name>(begin);
    name->id = name->range.text();
    return ParseAnnotated(begin, name);
  }
  switch (current_.kind) {
    case TokenKind::kPass:
      Advance();
      return Make<Pass>(begin);
    case TokenKind::kBreak:
      Advance();
      return Make<Break>(begin);
    case TokenKind::kContinue:
      Advance();
      return Make<Continue>(begin);
    case TokenKind::kReturn:
      return ParseReturn();
    case TokenKind::kRaise:
      return ParseRaise();
    case TokenKind::kAssert:
      return ParseAssert();
    case TokenKind::kDel:
      return ParseDelete();
    case TokenKind::kImport:
    case TokenKind::kFrom:
      return ParseImport();
    case TokenKind::kGlobal:
      FailRefused("'global' is");
    case TokenKind::kNonlocal:
      FailRefused("'nonlocal' is");
    case TokenKind::kTry:
      FailRefused("'try' is");
    case TokenKind::kAsync:
      FailRefused("'async' is");
    default:
      if (!BeginsExpression(current_.kind)) FailExpected("a statement");
      return ParseExpressionStatement();
  }
}

const Stmt* FileParser::ParseAnnotated(uint32_t begin, const Expr* target) {
  Expect(TokenKind::kColon, "before an annotation");
  const Expr* annotation = ParseExpression();
  const Expr* value = NextIf(TokenKind::kAssign) ? ParseExpressionList() : nullptr;
  auto* node = Make<AnnAssign>(begin);
  node->target = Adopt(node, target);
  node->annotation = Adopt(node, annotation);
  node->value = Adopt(node, value);
  return node;
}

// An assignment of any sort, or an expression alone.
const Stmt* FileParser::ParseExpressionStatement() {
  const uint32_t begin = current_.begin;
  const Expr* first = ParseExpressionList();
  if (At(TokenKind::kAssign)) {
    const size_t mark = expressions_.size();
    const Expr* value = first;
    while (NextIf(TokenKind::kAssign)) {
      CheckTarget(value, "assign to", false);
      expressions_.push_back(value);
      value = ParseExpressionList();
    }
    auto* node = Make<Assign>(begin);
    node->targets = TakeSince(mark, &expressions_, node);
    node->value = Adopt(node, value);
    return node;
  }
  const bool is_single = isa<Name>(first) || isa<Attribute>(first) || isa<Subscript>(first);
  if (At(TokenKind::kColon)) {
    if (!is_single) Fail(first->range, "only a name, an attribute or an item can be annotated");
    return ParseAnnotated(begin, first);
  }
  if (const auto op = AugmentedOperator(current_.kind)) {
    if (!is_single) Fail(first->range, "only a name, an attribute or an item can be assigned to in place");
    Advance();
    const Expr* value = ParseExpressionList();
    auto* node = Make<AugAssign>(begin);
    node->op = *op;
    node->target = Adopt(node, first);
    node->value = Adopt(node, value);
    return node;
  }
  auto* node = Make<ExprStmt>(begin);
  node->value = Adopt(node, first);
  return node;
}

const Stmt* FileParser::ParseReturn() {
  const uint32_t begin = current_.begin;
  Advance();
  const Expr* value = AtLineEnd() ? nullptr : ParseExpressionList();
  auto* node = Make<Return>(begin);
  node->value = Adopt(node, value);
  return node;
}

const Stmt* FileParser::ParseRaise() {
  const uint32_t begin = current_.begin;
  Advance();
  const Expr* exception = AtLineEnd() ? nullptr : ParseExpression();
  const Expr* cause = exception && NextIf(TokenKind::kFrom) ? ParseExpression() : nullptr;
  auto* node = Make<Raise>(begin);
  node->exception = Adopt(node, exception);
  node->cause = Adopt(node, cause);
  return node;
}

const Stmt* FileParser::ParseAssert() {
  const uint32_t begin = current_.begin;
  Advance();
  const Expr* condition = ParseExpression();
  const Expr* message = NextIf(TokenKind::kComma) ? ParseExpression() : nullptr;
  auto* node = Make<Assert>(begin);
  node->condition = Adopt(node, condition);
  node->message = Adopt(node, message);
  return node;
}

const Stmt* FileParser::ParseDelete() {
  const uint32_t begin = current_.begin;
  Advance();
  const size_t mark = expressions_.size();
  do {
    if (AtLineEnd() && expressions_.size() > mark) break;
    expressions_.push_back(ParseExpression());
    CheckTarget(expressions_.back(), "delete", false);
  } while (NextIf(TokenKind::kComma));
  auto* node = Make<Delete>(begin);
  node->targets = TakeSince(mark, &expressions_, node);
  return node;
}

const Stmt* FileParser::ParseImport() {
  const uint32_t begin = current_.begin;
  std::vector<ImportedName> names;
  const auto parse_dotted = [&] {
    const uint32_t first = current_.begin;
    do {
      Expect(TokenKind::kName, "to import");
    } while (NextIf(TokenKind::kDot));
    return RangeFrom(first).text();
  };
  // What stands behind `as`, or nothing.
  const auto parse_alias = [&]() -> std::string_view {
    if (!NextIf(TokenKind::kAs)) return {};
    const std::string_view alias = TextOf(current_);
    Expect(TokenKind::kName, "after 'as'");
    return alias;
  };
  const auto make = [&] {
    auto* node = Make<Import>(begin);
    node->names = arena_.Copy(std::span<const ImportedName>(names));
    return node;
  };
  if (NextIf(TokenKind::kImport)) {
    do {
      const std::string_view module = parse_dotted();
      const std::string_view root = module.substr(0, module.find('.'));
      const std::string_view alias = parse_alias();
      names.push_back(alias.empty() ? ImportedName{root, root, {}} : ImportedName{alias, module, {}});
    } while (NextIf(TokenKind::kComma));
    return make();
  }
  Advance();
  const uint32_t first = current_.begin;
  bool is_relative = false;
  while (NextIf(TokenKind::kDot) || NextIf(TokenKind::kEllipsis)) is_relative = true;
  if (!is_relative || !At(TokenKind::kImport)) parse_dotted();
  const std::string_view module = RangeFrom(first).text();
  Expect(TokenKind::kImport, "after the module's name");
  if (NextIf(TokenKind::kStar)) return make();
  const bool parenthesized = NextIf(TokenKind::kLeftParen);
  do {
    if (parenthesized && At(TokenKind::kRightParen)) break;
    const std::string_view member = TextOf(current_);
    Expect(TokenKind::kName, "to import");
    const std::string_view alias = parse_alias();
    names.push_back({alias.empty() ? member : alias, module, member});
  } while (NextIf(TokenKind::kComma));
  if (parenthesized) Expect(TokenKind::kRightParen, "after the names to import");
  return make();
}

std::unique_ptr<const Tree> ParseFile(std::shared_ptr<const Source> source) {
  CheckSize(*source);
  auto tree = std::make_unique<Tree>(std::move(source));
  FileParser parser(tree->source(), tree->arena());
  tree->SetBody(parser.ParseFile());
  return tree;
}

std::unique_ptr<const Tree> ParseExpression(std::shared_ptr<const Source> source) {
  CheckSize(*source);
  auto tree = std::make_unique<Tree>(std::move(source));
  const auto size = static_cast<uint32_t>(tree->source().text().size());
  ExpressionParser parser(tree->source(), Lexer(tree->source(), 0, size), tree->arena());
  tree->SetExpression(parser.ParseExpressionList());
  parser.Require(TokenKind::kEnd, "after the expression");
  return tree;
}

}  // namespace hearth
