#include "jit/frontend/expression_parser.h"

#include <utility>

#include "jit/frontend/literals.h"
#include "jit/support/errors.h"

namespace hearth {

using namespace tree;  // NOLINT: this file makes every kind of node

namespace {

constexpr char kLoneStar[] = "a starred expression may only stand in a list, a tuple or a call";

// What an error calls an expression that cannot be assigned to.
const char* Describe(const Expr* expression) {
  switch (expression->kind) {
    case Kind::kCall:
      return "a call";
    case Kind::kCompare:
      return "a comparison";
    case Kind::kStarred:
      return "a starred expression";
    case Kind::kJoinedStr:
      return "an f-string";
    case Kind::kTernary:
      return "a conditional expression";
    case Kind::kListComp:
    case Kind::kDictComp:
      return "a comprehension";
    case Kind::kUnaryOp:
    case Kind::kBinOp:
    case Kind::kBoolOp:
      return "the result of an operator";
    case Kind::kDict:
      return "a dict";
    default:
      return "a constant";
  }
}

}  // namespace

// ---------------------------------------------------------------------------------------------------------------------
// Tokens and errors.

ExpressionParser::ExpressionParser(const Source& source, Lexer lexer, Arena& arena, int depth)
    : source_(source), arena_(arena), lexer_(std::move(lexer)), depth_(depth) {
  Skip();
}

void ExpressionParser::Fail(SourceRange range, const std::string& message) { throw CompileError(range, message); }

void ExpressionParser::FailTooDeep(uint32_t begin, uint32_t end) {
  Fail({&source_, begin, end}, "the code nests more than " + std::to_string(kMaxTreeHeight) + " levels deep here");
}

void ExpressionParser::FailExpected(const std::string& what) {
  const int64_t open = lexer_.open_bracket();
  if (At(TokenKind::kEnd) && open >= 0) {
    const auto begin = static_cast<uint32_t>(open);
    const SourceRange bracket{&source_, begin, begin + 1};
    Fail(bracket, "this '" + std::string(bracket.text()) + "' is never closed: expected " + what +
                      " but found the end of the text");
  }
  std::string found;
  switch (current_.kind) {
    case TokenKind::kName:
      found = "the name '" + std::string(TextOf(current_).substr(0, 64)) + "'";
      break;
    case TokenKind::kInt:
    case TokenKind::kFloat:
    case TokenKind::kImaginary:
      found = "the number " + std::string(TextOf(current_).substr(0, 64));
      break;
    default:
      found = DescribeKind(current_.kind);
  }
  std::string message = "expected " + what + " but found " + found;
  if (open >= 0) {
    const size_t line = source_.PositionOf(static_cast<size_t>(open)).line;
    if (line != source_.PositionOf(current_.begin).line) {
      message += " (the '" + std::string(1, source_.text()[static_cast<size_t>(open)]) + "' on line " +
                 std::to_string(line) + " is still open)";
    }
  }
  Fail(RangeOf(current_), message);
}

void ExpressionParser::FailRefused(const char* what) {
  Fail(RangeOf(current_), std::string(what) + " not part of TorchScript");
}

void ExpressionParser::Require(TokenKind kind, const char* context) {
  if (!At(kind)) FailExpected(DescribeKind(kind) + " " + context);
}

bool ExpressionParser::BeginsExpression(TokenKind kind) {
  switch (kind) {
    case TokenKind::kName:
    case TokenKind::kInt:
    case TokenKind::kFloat:
    case TokenKind::kImaginary:
    case TokenKind::kString:
    case TokenKind::kFString:
    case TokenKind::kLeftParen:
    case TokenKind::kLeftBracket:
    case TokenKind::kLeftBrace:
    case TokenKind::kEllipsis:
    case TokenKind::kPlus:
    case TokenKind::kMinus:
    case TokenKind::kTilde:
    case TokenKind::kStar:
    case TokenKind::kNot:
    case TokenKind::kTrue:
    case TokenKind::kFalse:
    case TokenKind::kNone:
    case TokenKind::kLambda:
    case TokenKind::kAwait:
    case TokenKind::kYield:
      return true;
    default:
      return false;
  }
}

void ExpressionParser::CheckTarget(const Expr* target, const char* verb, bool may_be_starred) {
  switch (target->kind) {
    case Kind::kName:
    case Kind::kAttribute:
    case Kind::kSubscript:
      return;
    case Kind::kTuple:
      for (const Expr* element : cast<Tuple>(target)->elements) CheckTarget(element, verb, true);
      return;
    case Kind::kList:
      for (const Expr* element : cast<List>(target)->elements) CheckTarget(element, verb, true);
      return;
    case Kind::kStarred:
      if (may_be_starred) return CheckTarget(cast<Starred>(target)->value, verb, false);
      Fail(target->range, "a starred target must stand in a list or tuple of targets");
    default:
      Fail(target->range, std::string("cannot ") + verb + " " + Describe(target));
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Lists of expressions.

const Expr* ExpressionParser::ParseElement() {
  if (!At(TokenKind::kStar)) return ParseExpression();
  const uint32_t begin = current_.begin;
  Advance();
  const Expr* value = ParseBinary(kBitOrLevel);
  auto* starred = Make<Starred>(begin);
  starred->value = Adopt(starred, value);
  return starred;
}

// A tuple without parentheses, whose first element is parsed and whose comma is next.
const Expr* ExpressionParser::ParseTupleBehind(const Expr* first, uint32_t begin) {
  const size_t mark = expressions_.size();
  expressions_.push_back(first);
  while (NextIf(TokenKind::kComma) && BeginsExpression(current_.kind)) expressions_.push_back(ParseElement());
  auto* tuple = Make<Tuple>(begin);
  tuple->elements = TakeSince(mark, &expressions_, tuple);
  return tuple;
}

const Expr* ExpressionParser::ParseExpressionList() {
  const uint32_t begin = current_.begin;
  const Expr* first = ParseElement();
  if (At(TokenKind::kComma)) return ParseTupleBehind(first, begin);
  if (isa<Starred>(first)) Fail(first->range, kLoneStar);
  return first;
}

const Expr* ExpressionParser::ParseTargetList() {
  const uint32_t begin = current_.begin;
  const size_t mark = expressions_.size();
  bool is_tuple = false;
  do {
    const uint32_t star = current_.begin;
    if (NextIf(TokenKind::kStar)) {
      const Expr* value = ParseBinary(kBitOrLevel);
      auto* starred = Make<Starred>(star);
      starred->value = Adopt(starred, value);
      expressions_.push_back(starred);
    } else {
      expressions_.push_back(ParseBinary(kBitOrLevel));
    }
    if (!NextIf(TokenKind::kComma)) break;
    is_tuple = true;
  } while (BeginsExpression(current_.kind));
  const Expr* target = expressions_[mark];
  if (is_tuple) {
    auto* tuple = Make<Tuple>(begin);
    tuple->elements = TakeSince(mark, &expressions_, tuple);
    target = tuple;
  } else {
    expressions_.resize(mark);
  }
  CheckTarget(target, "assign to", false);
  return target;
}

// ---------------------------------------------------------------------------------------------------------------------
// Calls, indices, attributes.

const Expr* ExpressionParser::ParsePostfix() {
  const uint32_t begin = current_.begin;
  const Expr* value = ParseAtom();
  for (;;) {
    switch (current_.kind) {
      case TokenKind::kDot: {
        Advance();
        if (!At(TokenKind::kName) && !IsKeyword(current_.kind)) FailExpected("an attribute's name after '.'");
        const Token name = current_;
        Advance();
        auto* node = Make<Attribute>(begin);
        node->value = Adopt(node, value);
        node->attr = TextOf(name);
        node->attr_range = RangeOf(name);
        value = node;
        break;
      }
      case TokenKind::kLeftParen:
        value = ParseCall(begin, value);
        break;
      case TokenKind::kLeftBracket:
        value = ParseSubscript(begin, value);
        break;
      default:
        return value;
    }
  }
}

void ExpressionParser::ParseArguments(size_t* args_mark, size_t* keywords_mark) {
  *args_mark = expressions_.size();
  *keywords_mark = keywords_.size();
  while (!At(TokenKind::kRightParen)) {
    const uint32_t begin = current_.begin;
    if (NextIf(TokenKind::kDoubleStar)) {
      const Expr* value = ParseExpression();
      keywords_.push_back({{}, value, RangeFrom(begin)});
    } else if ((At(TokenKind::kName) || IsKeyword(current_.kind)) && Peek().kind == TokenKind::kAssign) {
      const std::string_view name = TextOf(current_);
      Advance();
      Advance();
      const Expr* value = ParseExpression();
      keywords_.push_back({name, value, RangeFrom(begin)});
    } else {
      if (!BeginsExpression(current_.kind)) FailExpected("an argument or ')'");
      const bool is_starred = At(TokenKind::kStar);
      const Expr* argument = ParseElement();
      if (At(TokenKind::kFor) && !is_starred) {
        argument = ParseGeneratorBehind(argument, begin);
        const bool alone = expressions_.size() == *args_mark && keywords_.size() == *keywords_mark;
        if (!alone || !At(TokenKind::kRightParen)) {
          Fail(argument->range, "a generator that is not the only argument needs parentheses");
        }
      } else if (keywords_.size() > *keywords_mark && !is_starred) {
        Fail(argument->range, "a positional argument follows a keyword argument");
      }
      expressions_.push_back(argument);
    }
    if (!NextIf(TokenKind::kComma)) break;
  }
  Expect(TokenKind::kRightParen, "or ',' after an argument");
}

std::span<const Keyword> ExpressionParser::TakeKeywords(size_t mark, Node* parent) {
  const std::span<const Keyword> keywords(keywords_.data() + mark, keywords_.size() - mark);
  for (const Keyword& keyword : keywords) Adopt(parent, keyword.value);
  const auto copy = arena_.Copy(keywords);
  keywords_.resize(mark);
  return copy;
}

const Expr* ExpressionParser::ParseCall(uint32_t begin, const Expr* callee) {
  Advance();
  size_t args_mark;
  size_t keywords_mark;
  ParseArguments(&args_mark, &keywords_mark);
  auto* node = Make<Call>(begin);
  node->callee = Adopt(node, callee);
  node->args = TakeSince(args_mark, &expressions_, node);
  node->keywords = TakeKeywords(keywords_mark, node);
  return node;
}

const Expr* ExpressionParser::ParseIndex() {
  const uint32_t begin = current_.begin;
  if (At(TokenKind::kStar)) FailRefused("a starred index is");
  const Expr* lower = At(TokenKind::kColon) ? nullptr : ParseExpression();
  if (!NextIf(TokenKind::kColon)) return lower;
  const auto part = [&]() { return BeginsExpression(current_.kind) ? ParseExpression() : nullptr; };
  const Expr* upper = part();
  const Expr* step = NextIf(TokenKind::kColon) ? part() : nullptr;
  auto* node = Make<Slice>(begin);
  node->lower = Adopt(node, lower);
  node->upper = Adopt(node, upper);
  node->step = Adopt(node, step);
  return node;
}

const Expr* ExpressionParser::ParseSubscript(uint32_t begin, const Expr* value) {
  Advance();
  const size_t mark = expressions_.size();
  bool has_comma = false;
  if (At(TokenKind::kRightBracket)) FailExpected("an index");
  for (;;) {
    expressions_.push_back(ParseIndex());
    if (!NextIf(TokenKind::kComma)) break;
    has_comma = true;
    if (At(TokenKind::kRightBracket)) break;
  }
  Expect(TokenKind::kRightBracket, "or ',' after an index");
  auto* node = Make<Subscript>(begin);
  node->value = Adopt(node, value);
  node->indices = TakeSince(mark, &expressions_, node);
  node->has_comma = has_comma;
  return node;
}

// ---------------------------------------------------------------------------------------------------------------------
// Atoms.

const Expr* ExpressionParser::ParseAtom() {
  const Token token = current_;
  switch (token.kind) {
    case TokenKind::kName: {
      Advance();
      auto* node = Make<Name>(token.begin);
      node->id = TextOf(token);
      return node;
    }
    case TokenKind::kInt: {
      Advance();
      auto* node = Make<IntConstant>(token.begin);
      node->value = IntValue(source_, token, false);
      return node;
    }
    case TokenKind::kFloat: {
      Advance();
      auto* node = Make<FloatConstant>(token.begin);
      node->value = FloatValue(source_, token);
      return node;
    }
    case TokenKind::kImaginary: {
      Advance();
      auto* node = Make<ComplexConstant>(token.begin);
      node->imaginary = FloatValue(source_, token);
      return node;
    }
    case TokenKind::kString:
    case TokenKind::kFString:
      return ParseStrings();
    case TokenKind::kTrue:
    case TokenKind::kFalse: {
      Advance();
      auto* node = Make<BoolConstant>(token.begin);
      node->value = token.kind == TokenKind::kTrue;
      return node;
    }
    case TokenKind::kNone:
      Advance();
      return Make<NoneConstant>(token.begin);
    case TokenKind::kEllipsis:
      Advance();
      return Make<EllipsisConstant>(token.begin);
    case TokenKind::kLeftParen:
      return ParseParenthesized();
    case TokenKind::kLeftBracket:
      return ParseList();
    case TokenKind::kLeftBrace:
      return ParseDict();
    case TokenKind::kLambda:
      FailRefused("a lambda is");
    case TokenKind::kAwait:
      FailRefused("await is");
    case TokenKind::kYield:
      FailRefused("yield is");
    case TokenKind::kStar:
      Fail(RangeOf(token), kLoneStar);
    default:
      FailExpected("an expression");
  }
}

// `(a)` is a without its parentheses; `()`, `(a,)` are tuples; `(x for x in y)` a generator.
const Expr* ExpressionParser::ParseParenthesized() {
  const uint32_t begin = current_.begin;
  Advance();
  if (NextIf(TokenKind::kRightParen)) return Make<Tuple>(begin);
  const Expr* first = ParseElement();
  if (At(TokenKind::kFor)) {
    ListComp* generator = ParseGeneratorBehind(first, begin);
    Expect(TokenKind::kRightParen, "after a generator");
    generator->range.end = last_end_;
    return generator;
  }
  if (!At(TokenKind::kComma)) {
    Expect(TokenKind::kRightParen, "or ',' after an expression in parentheses");
    if (isa<Starred>(first)) Fail(first->range, kLoneStar);
    return first;
  }
  const size_t mark = expressions_.size();
  expressions_.push_back(first);
  while (NextIf(TokenKind::kComma) && !At(TokenKind::kRightParen)) expressions_.push_back(ParseElement());
  Expect(TokenKind::kRightParen, "or ',' after an element of a tuple");
  auto* tuple = Make<Tuple>(begin);
  tuple->elements = TakeSince(mark, &expressions_, tuple);
  return tuple;
}

const Expr* ExpressionParser::ParseList() {
  const uint32_t begin = current_.begin;
  Advance();
  const size_t mark = expressions_.size();
  while (!At(TokenKind::kRightBracket)) {
    expressions_.push_back(ParseElement());
    if (At(TokenKind::kFor) && expressions_.size() == mark + 1) {
      const Expr* element = expressions_.back();
      if (isa<Starred>(element)) Fail(element->range, "a comprehension's element may not be starred");
      expressions_.resize(mark);
      const auto generators = ParseGenerators();
      Expect(TokenKind::kRightBracket, "after a list comprehension");
      auto* node = Make<ListComp>(begin);
      node->element = Adopt(node, element);
      node->generators = generators;
      AdoptGenerators(node, generators);
      return node;
    }
    if (!NextIf(TokenKind::kComma)) break;
  }
  Expect(TokenKind::kRightBracket, "or ',' after an element of a list");
  auto* node = Make<List>(begin);
  node->elements = TakeSince(mark, &expressions_, node);
  return node;
}

const Expr* ExpressionParser::ParseDict() {
  const uint32_t begin = current_.begin;
  Advance();
  std::vector<DictItem> items;
  while (!At(TokenKind::kRightBrace)) {
    if (At(TokenKind::kDoubleStar)) FailRefused("'**' in a dict is");
    const Expr* key = ParseExpression();
    if (At(TokenKind::kComma) || At(TokenKind::kRightBrace) || At(TokenKind::kFor)) {
      Fail(RangeFrom(begin), "a set is not part of TorchScript");
    }
    Expect(TokenKind::kColon, "after a dict's key");
    const Expr* value = ParseExpression();
    if (At(TokenKind::kFor) && items.empty()) {
      const auto generators = ParseGenerators();
      Expect(TokenKind::kRightBrace, "after a dict comprehension");
      auto* node = Make<DictComp>(begin);
      node->key = Adopt(node, key);
      node->value = Adopt(node, value);
      node->generators = generators;
      AdoptGenerators(node, generators);
      return node;
    }
    items.push_back({key, value});
    if (!NextIf(TokenKind::kComma)) break;
  }
  Expect(TokenKind::kRightBrace, "or ',' after a dict's item");
  auto* node = Make<Dict>(begin);
  for (const DictItem& item : items) {
    Adopt(node, item.key);
    Adopt(node, item.value);
  }
  node->items = arena_.Copy(std::span<const DictItem>(items));
  return node;
}

// ---------------------------------------------------------------------------------------------------------------------
// Comprehensions.

std::span<const Generator> ExpressionParser::ParseGenerators() {
  std::vector<Generator> generators;
  while (NextIf(TokenKind::kFor)) {
    Generator generator;
    generator.target = ParseTargetList();
    Expect(TokenKind::kIn, "after the target of a comprehension");
    generator.iter = ParseBinary(kOrLevel);
    const size_t mark = expressions_.size();
    while (NextIf(TokenKind::kIf)) expressions_.push_back(ParseBinary(kOrLevel));
    generator.conditions = arena_.Copy(ExprList(expressions_.data() + mark, expressions_.size() - mark));
    expressions_.resize(mark);
    generators.push_back(generator);
  }
  return arena_.Copy(std::span<const Generator>(generators));
}

void ExpressionParser::AdoptGenerators(Node* parent, std::span<const Generator> generators) {
  for (const Generator& generator : generators) {
    Adopt(parent, generator.target);
    Adopt(parent, generator.iter);
    for (const Expr* condition : generator.conditions) Adopt(parent, condition);
  }
}

ListComp* ExpressionParser::ParseGeneratorBehind(const Expr* element, uint32_t begin) {
  const auto generators = ParseGenerators();
  auto* node = Make<ListComp>(begin);
  node->is_generator = true;
  node->element = Adopt(node, element);
  node->generators = generators;
  AdoptGenerators(node, generators);
  return node;
}

// ---------------------------------------------------------------------------------------------------------------------
// Strings.

const Expr* ExpressionParser::ParseStrings() {
  const Token first = current_;
  if (first.kind == TokenKind::kFString) return ParseJoinedStrings(first.begin);
  const StringContent content = ContentOf(source_, first);
  const std::string_view text = source_.text().substr(content.begin, content.end - content.begin);
  const TokenKind next = Peek().kind;
  if (next != TokenKind::kString && next != TokenKind::kFString &&
      (content.raw || text.find('\\') == std::string_view::npos)) {
    Advance();
    auto* node = Make<StringConstant>(first.begin);
    node->value = text;
    return node;
  }
  return ParseJoinedStrings(first.begin);
}

}  // namespace hearth
