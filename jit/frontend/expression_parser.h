// The expression half of the parser, and what both halves share: the current token, one token of lookahead, errors,
// node making. Its parts: expression_parser.cpp (tokens, errors, lists, atoms, what follows them), operator_parser.cpp,
// f_string.cpp. For the parser's own files only; everyone else uses parser.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jit/frontend/lexer.h"
#include "jit/frontend/tree.h"
#include "jit/support/source_range.h"

namespace hearth {

// How tightly infix operators bind; 0 is no operator.
enum Precedence : uint8_t {
  kNoPrecedence,
  kTernaryLevel,
  kOrLevel,
  kAndLevel,
  kNotLevel,
  kCompareLevel,
  kBitOrLevel,
  kBitXorLevel,
  kBitAndLevel,
  kShiftLevel,
  kSumLevel,
  kProductLevel,
  kUnaryLevel,
  kPowerLevel,
};

class ExpressionParser {
 public:
  // Nodes go into `arena`, which must outlive the parser; `depth` is how deep the text already stands in another.
  ExpressionParser(const Source& source, Lexer lexer, tree::Arena& arena, int depth = 0);

  // Anything but a bare tuple: `a if b else c`.
  const tree::Expr* ParseExpression();
  // `a`, or a tuple without parentheses: `a, *b,`.
  const tree::Expr* ParseExpressionList();
  // What stands between `for` and `in`.
  const tree::Expr* ParseTargetList();

  const Token& current() const { return current_; }
  // Raises unless the current token is of this kind: "expected ':' after the condition but found a newline".
  void Require(TokenKind kind, const char* context);

 protected:
  // Bounds recursion: raises where the text nests deeper than a tree may.
  class DepthGuard {
   public:
    explicit DepthGuard(ExpressionParser* parser) : parser_(parser) {
      if (++parser_->depth_ > tree::kMaxTreeHeight)
        parser_->FailTooDeep(parser_->current_.begin, parser_->current_.end);
    }
    ~DepthGuard() { --parser_->depth_; }
    DepthGuard(const DepthGuard&) = delete;
    DepthGuard& operator=(const DepthGuard&) = delete;

   private:
    ExpressionParser* parser_;
  };

  // Tokens.
  bool At(TokenKind kind) const { return current_.kind == kind; }
  void Advance() {
    last_end_ = current_.end;
    Skip();
  }
  // As Advance, for tokens that belong to no node (newline, indentation, semicolon).
  void Skip() {
    if (has_peeked_) {
      current_ = peeked_;
      has_peeked_ = false;
    } else {
      current_ = lexer_.Next();
    }
  }
  const Token& Peek() {
    if (!has_peeked_) {
      peeked_ = lexer_.Next();
      has_peeked_ = true;
    }
    return peeked_;
  }
  bool NextIf(TokenKind kind) {
    if (!At(kind)) return false;
    Advance();
    return true;
  }
  void Expect(TokenKind kind, const char* context) {
    Require(kind, context);
    Advance();
  }
  std::string_view TextOf(const Token& token) const {
    return source_.text().substr(token.begin, token.end - token.begin);
  }
  // Where the last token that belongs to a node ended.
  uint32_t last_end() const { return last_end_; }
  SourceRange RangeFrom(uint32_t begin) const { return {&source_, begin, last_end_}; }
  SourceRange RangeOf(const Token& token) const { return {&source_, token.begin, token.end}; }

  // Errors at the current token: "expected WHAT but found ...".
  [[noreturn]] void FailExpected(const std::string& what);
  [[noreturn]] void FailRefused(const char* what);
  [[noreturn]] void Fail(SourceRange range, const std::string& message);
  [[noreturn]] void FailTooDeep(uint32_t begin, uint32_t end);

  // Nodes. `begin` is the node's first byte; its end is that of the last token that Advance passed.
  template <class T>
  T* Make(uint32_t begin) {
    return arena_.New<T>(RangeFrom(begin));
  }
  // Makes `child` a child of `parent` as far as heights go, and returns it.
  template <class T>
  const T* Adopt(tree::Node* parent, const T* child) {
    if (child && child->height >= parent->height) {
      parent->height = static_cast<uint16_t>(child->height + 1);
      if (parent->height > tree::kMaxTreeHeight) FailTooDeep(parent->range.begin, parent->range.end);
    }
    return child;
  }
  // The nodes collected on a stack since `mark`, as children of `parent`.
  template <class T>
  std::span<const T* const> TakeSince(size_t mark, std::vector<const T*>* stack, tree::Node* parent) {
    const std::span<const T* const> items(stack->data() + mark, stack->size() - mark);
    for (const T* item : items) Adopt(parent, item);
    const auto copy = arena_.Copy(items);
    stack->resize(mark);
    return copy;
  }

  // Raises unless `target` can be assigned to (or, for `del`, deleted).
  void CheckTarget(const tree::Expr* target, const char* verb, bool may_be_starred);
  // `*a` or an expression.
  const tree::Expr* ParseElement();
  // The arguments after `(`, up to and with `)`.
  void ParseArguments(size_t* args_mark, size_t* keywords_mark);
  std::span<const tree::Keyword> TakeKeywords(size_t mark, tree::Node* parent);
  static bool BeginsExpression(TokenKind kind);

  const Source& source_;
  tree::Arena& arena_;
  std::vector<const tree::Expr*> expressions_;  // a stack of lists being collected
  Lexer lexer_;
  Token current_;

 private:
  const tree::Expr* ParseBinary(int min_precedence);
  const tree::Expr* ParseOperand(int min_precedence);
  const tree::Expr* ParseNegation();
  const tree::Expr* ParsePostfix();
  const tree::Expr* ParseAtom();
  const tree::Expr* ParseParenthesized();
  const tree::Expr* ParseList();
  const tree::Expr* ParseDict();
  const tree::Expr* ParseSubscript(uint32_t begin, const tree::Expr* value);
  const tree::Expr* ParseIndex();
  const tree::Expr* ParseCall(uint32_t begin, const tree::Expr* callee);
  tree::ListComp* ParseGeneratorBehind(const tree::Expr* element, uint32_t begin);
  const tree::Expr* ParseTernaryBehind(const tree::Expr* if_true, uint32_t begin);
  const tree::Expr* ParseBoolOpBehind(const tree::Expr* first, uint32_t begin);
  const tree::Expr* ParseCompareBehind(const tree::Expr* left, uint32_t begin);
  tree::CompareOperator ParseCompareOperator();
  std::span<const tree::Generator> ParseGenerators();
  void AdoptGenerators(tree::Node* parent, std::span<const tree::Generator> generators);
  const tree::Expr* ParseStrings();
  const tree::Expr* ParseTupleBehind(const tree::Expr* first, uint32_t begin);

  // f-strings (f_string.cpp). `ParseFStringContent` pushes parts for bytes [begin, end) and returns where it stopped:
  // at `end`, or within a format spec at the `}` that ends it. Literal text gathers in `literal` until a field comes.
  const tree::Expr* ParseJoinedStrings(uint32_t begin);
  uint32_t ParseFStringContent(uint32_t begin, uint32_t end, bool raw, bool is_spec, std::string* literal,
                               uint32_t* literal_begin);
  uint32_t ParseField(uint32_t open, uint32_t end, bool raw, std::string* literal, uint32_t literal_begin);
  void PushLiteral(std::string* literal, uint32_t begin, uint32_t end);

  std::vector<tree::Keyword> keywords_;  // a stack too
  Token peeked_;
  bool has_peeked_ = false;
  uint32_t last_end_ = 0;
  int depth_ = 0;
};

}  // namespace hearth
