// Operators: precedence climbing, one function for all infix operators, as in Pratt's "Top down operator precedence".
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "jit/frontend/expression_parser.h"
#include "jit/frontend/literals.h"

namespace hearth {

using namespace tree;  // NOLINT: as expression_parser.cpp

namespace {

constexpr std::array<uint8_t, kTokenKindCount> MakePrecedences() {
  std::array<uint8_t, kTokenKindCount> table{};
  const auto set = [&](TokenKind kind, Precedence level) { table[static_cast<size_t>(kind)] = level; };
  set(TokenKind::kIf, kTernaryLevel);
  set(TokenKind::kOr, kOrLevel);
  set(TokenKind::kAnd, kAndLevel);
  set(TokenKind::kNot, kCompareLevel);  // `not in`
  for (TokenKind kind : {TokenKind::kEqual, TokenKind::kNotEqual, TokenKind::kLess, TokenKind::kLessEqual,
                         TokenKind::kGreater, TokenKind::kGreaterEqual, TokenKind::kIs, TokenKind::kIn}) {
    set(kind, kCompareLevel);
  }
  set(TokenKind::kPipe, kBitOrLevel);
  set(TokenKind::kCaret, kBitXorLevel);
  set(TokenKind::kAmpersand, kBitAndLevel);
  set(TokenKind::kShiftLeft, kShiftLevel);
  set(TokenKind::kShiftRight, kShiftLevel);
  set(TokenKind::kPlus, kSumLevel);
  set(TokenKind::kMinus, kSumLevel);
  for (TokenKind kind :
       {TokenKind::kStar, TokenKind::kSlash, TokenKind::kDoubleSlash, TokenKind::kPercent, TokenKind::kAt}) {
    set(kind, kProductLevel);
  }
  set(TokenKind::kDoubleStar, kPowerLevel);
  return table;
}
constexpr std::array<uint8_t, kTokenKindCount> kPrecedences = MakePrecedences();

BinaryOperator BinaryOperatorOf(TokenKind kind) {
  switch (kind) {
    case TokenKind::kPlus:
      return BinaryOperator::kAdd;
    case TokenKind::kMinus:
      return BinaryOperator::kSubtract;
    case TokenKind::kStar:
      return BinaryOperator::kMultiply;
    case TokenKind::kSlash:
      return BinaryOperator::kDivide;
    case TokenKind::kDoubleSlash:
      return BinaryOperator::kFloorDivide;
    case TokenKind::kPercent:
      return BinaryOperator::kModulo;
    case TokenKind::kDoubleStar:
      return BinaryOperator::kPower;
    case TokenKind::kAt:
      return BinaryOperator::kMatrixMultiply;
    case TokenKind::kShiftLeft:
      return BinaryOperator::kShiftLeft;
    case TokenKind::kShiftRight:
      return BinaryOperator::kShiftRight;
    case TokenKind::kAmpersand:
      return BinaryOperator::kBitAnd;
    case TokenKind::kPipe:
      return BinaryOperator::kBitOr;
    default:
      return BinaryOperator::kBitXor;
  }
}

}  // namespace

const Expr* ExpressionParser::ParseExpression() { return ParseBinary(kTernaryLevel); }

// An expression of infix operators that bind at least as tightly as `min_precedence`.
const Expr* ExpressionParser::ParseBinary(int min_precedence) {
  const DepthGuard guard(this);
  const uint32_t begin = current_.begin;
  const Expr* left = ParseOperand(min_precedence);
  for (;;) {
    const int level = kPrecedences[static_cast<size_t>(current_.kind)];
    if (level == kNoPrecedence || level < min_precedence) return left;
    switch (level) {
      case kTernaryLevel:
        left = ParseTernaryBehind(left, begin);
        break;
      case kOrLevel:
      case kAndLevel:
        left = ParseBoolOpBehind(left, begin);
        break;
      case kCompareLevel:
        left = ParseCompareBehind(left, begin);
        break;
      default: {
        const BinaryOperator op = BinaryOperatorOf(current_.kind);
        Advance();
        // `**` binds to the right, and its right side may have a sign: 2 ** -x ** 2.
        const Expr* right = ParseBinary(level == kPowerLevel ? static_cast<int>(kUnaryLevel) : level + 1);
        auto* node = Make<BinOp>(begin);
        node->op = op;
        node->left = Adopt(node, left);
        node->right = Adopt(node, right);
        left = node;
      }
    }
  }
}

const Expr* ExpressionParser::ParseTernaryBehind(const Expr* if_true, uint32_t begin) {
  Advance();
  const Expr* condition = ParseBinary(kOrLevel);
  Expect(TokenKind::kElse, "after the condition of a conditional expression");
  const Expr* if_false = ParseBinary(kTernaryLevel);
  auto* node = Make<Ternary>(begin);
  node->condition = Adopt(node, condition);
  node->if_true = Adopt(node, if_true);
  node->if_false = Adopt(node, if_false);
  return node;
}

const Expr* ExpressionParser::ParseBoolOpBehind(const Expr* first, uint32_t begin) {
  const TokenKind kind = current_.kind;
  const int operand_level = kind == TokenKind::kOr ? kAndLevel : kNotLevel;
  const size_t mark = expressions_.size();
  expressions_.push_back(first);
  while (NextIf(kind)) expressions_.push_back(ParseBinary(operand_level));
  auto* node = Make<BoolOp>(begin);
  node->op = kind == TokenKind::kOr ? BoolOperator::kOr : BoolOperator::kAnd;
  node->values = TakeSince(mark, &expressions_, node);
  return node;
}

CompareOperator ExpressionParser::ParseCompareOperator() {
  const TokenKind kind = current_.kind;
  Advance();
  switch (kind) {
    case TokenKind::kEqual:
      return CompareOperator::kEqual;
    case TokenKind::kNotEqual:
      return CompareOperator::kNotEqual;
    case TokenKind::kLess:
      return CompareOperator::kLess;
    case TokenKind::kLessEqual:
      return CompareOperator::kLessEqual;
    case TokenKind::kGreater:
      return CompareOperator::kGreater;
    case TokenKind::kGreaterEqual:
      return CompareOperator::kGreaterEqual;
    case TokenKind::kIs:
      return NextIf(TokenKind::kNot) ? CompareOperator::kIsNot : CompareOperator::kIs;
    case TokenKind::kIn:
      return CompareOperator::kIn;
    default:
      Expect(TokenKind::kIn, "after 'not' behind a value");
      return CompareOperator::kNotIn;
  }
}

const Expr* ExpressionParser::ParseCompareBehind(const Expr* left, uint32_t begin) {
  std::vector<Comparison> comparisons;
  while (kPrecedences[static_cast<size_t>(current_.kind)] == kCompareLevel) {
    const CompareOperator op = ParseCompareOperator();
    comparisons.push_back({op, ParseBinary(kBitOrLevel)});
  }
  auto* node = Make<Compare>(begin);
  node->left = Adopt(node, left);
  for (const Comparison& comparison : comparisons) Adopt(node, comparison.right);
  node->comparisons = arena_.Copy(std::span<const Comparison>(comparisons));
  return node;
}

const Expr* ExpressionParser::ParseOperand(int min_precedence) {
  const uint32_t begin = current_.begin;
  UnaryOperator op;
  switch (current_.kind) {
    case TokenKind::kMinus:
      return ParseNegation();
    case TokenKind::kPlus:
      op = UnaryOperator::kPlus;
      break;
    case TokenKind::kTilde:
      op = UnaryOperator::kInvert;
      break;
    case TokenKind::kNot:
      if (min_precedence > kNotLevel) FailExpected("an operand (put the 'not' into parentheses)");
      op = UnaryOperator::kNot;
      break;
    default:
      return ParsePostfix();
  }
  Advance();
  const Expr* operand = ParseBinary(op == UnaryOperator::kNot ? kNotLevel : kUnaryLevel);
  auto* node = Make<UnaryOp>(begin);
  node->op = op;
  node->operand = Adopt(node, operand);
  return node;
}

// A minus and what it negates; a number literal takes it in.
const Expr* ExpressionParser::ParseNegation() {
  const uint32_t begin = current_.begin;
  Advance();
  if (At(TokenKind::kInt)) {
    const TokenKind next = Peek().kind;
    if (next != TokenKind::kDoubleStar && next != TokenKind::kDot && next != TokenKind::kLeftBracket &&
        next != TokenKind::kLeftParen) {
      const int64_t value = IntValue(source_, current_, true);
      Advance();
      auto* node = Make<IntConstant>(begin);
      node->value = value;
      return node;
    }
  }
  const Expr* operand = ParseBinary(kUnaryLevel);
  if (const auto* number = dyn_cast<FloatConstant>(operand)) {
    auto* node = Make<FloatConstant>(begin);
    node->value = -number->value;
    return node;
  }
  if (const auto* number = dyn_cast<ComplexConstant>(operand)) {
    auto* node = Make<ComplexConstant>(begin);
    node->imaginary = -number->imaginary;
    return node;
  }
  auto* node = Make<UnaryOp>(begin);
  node->op = UnaryOperator::kNegate;
  node->operand = Adopt(node, operand);
  return node;
}

}  // namespace hearth
