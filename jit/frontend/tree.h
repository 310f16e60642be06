// The syntax tree of one TorchScript source text: what the parser makes and the emitter and the type resolver read.
// Nodes are plain structs in a bump arena that the Tree owns; they are trivially destructible, immutable once parsed,
// and point to each other and into the text (names are views of the text; string constants with escapes are views of
// the arena). A Tree keeps its Source alive, so nodes and ranges are valid exactly as long as the Tree. Reading is
// thread-safe. Children are spans of pointers in the arena; a pointer documented as optional may be null.
//
// The shape follows CPython's `ast` where the two languages agree. Differences: `elif` is an If in `else_body`;
// `-` before a number literal is folded into the constant (so INT64_MIN is a literal); an index `x[a, b]` is a
// Subscript with two indices; a generator expression is a ListComp with `is_generator`. `inf`, `nan`, `infj`, `nanj`
// are Names. The height of every node is at most kMaxTreeHeight, so recursive walks need no guard of their own.
//
// Node kinds are told apart as in LLVM: switch on node->kind, or isa<T>, cast<T>, dyn_cast<T>.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/support/source_range.h"

namespace hearth::tree {

inline constexpr int kMaxTreeHeight = 500;

enum class Kind : uint8_t {
  // Expressions.
  kName,
  kIntConstant,
  kFloatConstant,
  kComplexConstant,
  kStringConstant,
  kBoolConstant,
  kNoneConstant,
  kEllipsisConstant,
  kAttribute,
  kSubscript,
  kSlice,
  kCall,
  kList,
  kTuple,
  kDict,
  kListComp,
  kDictComp,
  kUnaryOp,
  kBinOp,
  kBoolOp,
  kCompare,
  kTernary,
  kStarred,
  kJoinedStr,
  kFormattedValue,
  // Statements.
  kAssign,
  kAnnAssign,
  kAugAssign,
  kExprStmt,
  kIf,
  kFor,
  kWhile,
  kWith,
  kReturn,
  kRaise,
  kAssert,
  kDelete,
  kBreak,
  kContinue,
  kPass,
  kImport,
  kFunctionDef,
  kClassDef,
};
inline constexpr Kind kLastExpr = Kind::kFormattedValue;

// The kind's name as in this file, e.g. "BinOp".
std::string_view KindName(Kind kind);

// ---------------------------------------------------------------------------------------------------------------------
// Bases.

struct Node {
  Node(Kind kind, SourceRange range) : range(range), kind(kind) {}

  SourceRange range;  // from the node's first byte to the end of its last token
  Kind kind;
  uint16_t height = 1;  // longest path down to a leaf, in nodes
};

struct Expr : Node {
  using Node::Node;
  static bool classof(const Node* node) { return node->kind <= kLastExpr; }
};

struct Stmt : Node {
  using Node::Node;
  static bool classof(const Node* node) { return node->kind > kLastExpr; }
};

using ExprList = std::span<const Expr* const>;
using StmtList = std::span<const Stmt* const>;

template <class Base, Kind K>
struct NodeOf : Base {
  static constexpr Kind kKind = K;
  explicit NodeOf(SourceRange range) : Base(K, range) {}
  static bool classof(const Node* node) { return node->kind == K; }
};
template <Kind K>
using ExprOf = NodeOf<Expr, K>;
template <Kind K>
using StmtOf = NodeOf<Stmt, K>;

template <class T>
bool isa(const Node* node) {
  return T::classof(node);
}
// The node as a T; it must be one.
template <class T>
const T* cast(const Node* node) {
  assert(isa<T>(node));
  return static_cast<const T*>(node);
}
// The node as a T, or null if it is something else or null.
template <class T>
const T* dyn_cast(const Node* node) {
  return node && isa<T>(node) ? static_cast<const T*>(node) : nullptr;
}

// ---------------------------------------------------------------------------------------------------------------------
// Expressions.

struct Name : ExprOf<Kind::kName> {
  using NodeOf::NodeOf;
  std::string_view id;
};

struct IntConstant : ExprOf<Kind::kIntConstant> {
  using NodeOf::NodeOf;
  int64_t value = 0;
};

struct FloatConstant : ExprOf<Kind::kFloatConstant> {
  using NodeOf::NodeOf;
  double value = 0;
};

// `2.j`: the real part is zero; `1.+2.j` is a BinOp.
struct ComplexConstant : ExprOf<Kind::kComplexConstant> {
  using NodeOf::NodeOf;
  double imaginary = 0;
};

// Escapes are resolved, adjacent literals joined.
struct StringConstant : ExprOf<Kind::kStringConstant> {
  using NodeOf::NodeOf;
  std::string_view value;
};

struct BoolConstant : ExprOf<Kind::kBoolConstant> {
  using NodeOf::NodeOf;
  bool value = false;
};

struct NoneConstant : ExprOf<Kind::kNoneConstant> {
  using NodeOf::NodeOf;
};

struct EllipsisConstant : ExprOf<Kind::kEllipsisConstant> {
  using NodeOf::NodeOf;
};

// `value.attr`; attr may be a keyword (`s.class`), which printers of archives emit.
struct Attribute : ExprOf<Kind::kAttribute> {
  using NodeOf::NodeOf;
  const Expr* value = nullptr;
  std::string_view attr;
  SourceRange attr_range;
};

// `value[i]`, `value[i, j]`, `value[a:b, ..., None]`. `x[(i, j)]` has one index, a Tuple; `x[()]` likewise.
struct Subscript : ExprOf<Kind::kSubscript> {
  using NodeOf::NodeOf;
  const Expr* value = nullptr;
  ExprList indices;        // at least one; each may be a Slice
  bool has_comma = false;  // `x[i,]` is an index by a tuple of one
};

// `lower:upper:step`; only as an index of a Subscript. Each part is optional.
struct Slice : ExprOf<Kind::kSlice> {
  using NodeOf::NodeOf;
  const Expr* lower = nullptr;
  const Expr* upper = nullptr;
  const Expr* step = nullptr;
};

// `name=value` in a call; `**value` has an empty name.
struct Keyword {
  std::string_view name;
  const Expr* value = nullptr;
  SourceRange range;
};

struct Call : ExprOf<Kind::kCall> {
  using NodeOf::NodeOf;
  const Expr* callee = nullptr;
  ExprList args;  // each may be a Starred
  std::span<const Keyword> keywords;
};

struct List : ExprOf<Kind::kList> {
  using NodeOf::NodeOf;
  ExprList elements;
};

// With or without parentheses; the range includes them.
struct Tuple : ExprOf<Kind::kTuple> {
  using NodeOf::NodeOf;
  ExprList elements;
};

struct DictItem {
  const Expr* key = nullptr;
  const Expr* value = nullptr;
};

struct Dict : ExprOf<Kind::kDict> {
  using NodeOf::NodeOf;
  std::span<const DictItem> items;
};

// `for target in iter if condition if condition`.
struct Generator {
  const Expr* target = nullptr;
  const Expr* iter = nullptr;
  ExprList conditions;
};

struct ListComp : ExprOf<Kind::kListComp> {
  using NodeOf::NodeOf;
  const Expr* element = nullptr;
  std::span<const Generator> generators;  // at least one
  bool is_generator = false;              // written `(x for x in y)` or as a call's only argument
};

struct DictComp : ExprOf<Kind::kDictComp> {
  using NodeOf::NodeOf;
  const Expr* key = nullptr;
  const Expr* value = nullptr;
  std::span<const Generator> generators;
};

enum class UnaryOperator : uint8_t { kNegate, kPlus, kInvert, kNot };
// As written: "-", "+", "~", "not".
std::string_view Spelling(UnaryOperator op);

struct UnaryOp : ExprOf<Kind::kUnaryOp> {
  using NodeOf::NodeOf;
  UnaryOperator op{};
  const Expr* operand = nullptr;
};

enum class BinaryOperator : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kMatrixMultiply,
  kShiftLeft,
  kShiftRight,
  kBitAnd,
  kBitOr,
  kBitXor,
};
// As written: "+", "//", "@", "<<", ...
std::string_view Spelling(BinaryOperator op);

struct BinOp : ExprOf<Kind::kBinOp> {
  using NodeOf::NodeOf;
  BinaryOperator op{};
  const Expr* left = nullptr;
  const Expr* right = nullptr;
};

enum class BoolOperator : uint8_t { kAnd, kOr };
std::string_view Spelling(BoolOperator op);

// `a and b and c` is one node with three values.
struct BoolOp : ExprOf<Kind::kBoolOp> {
  using NodeOf::NodeOf;
  BoolOperator op{};
  ExprList values;  // at least two
};

enum class CompareOperator : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIs,
  kIsNot,
  kIn,
  kNotIn,
};
std::string_view Spelling(CompareOperator op);

struct Comparison {
  CompareOperator op{};
  const Expr* right = nullptr;
};

// `a < b <= c` is one node with two comparisons.
struct Compare : ExprOf<Kind::kCompare> {
  using NodeOf::NodeOf;
  const Expr* left = nullptr;
  std::span<const Comparison> comparisons;  // at least one
};

// `if_true if condition else if_false`.
struct Ternary : ExprOf<Kind::kTernary> {
  using NodeOf::NodeOf;
  const Expr* condition = nullptr;
  const Expr* if_true = nullptr;
  const Expr* if_false = nullptr;
};

// `*value`, as an argument, a list or tuple element, or an assignment's target.
struct Starred : ExprOf<Kind::kStarred> {
  using NodeOf::NodeOf;
  const Expr* value = nullptr;
};

// An f-string: StringConstant and FormattedValue parts in order. Neighbouring literals are joined into it.
struct JoinedStr : ExprOf<Kind::kJoinedStr> {
  using NodeOf::NodeOf;
  ExprList parts;
};

// `{value!r:spec}` within an f-string.
struct FormattedValue : ExprOf<Kind::kFormattedValue> {
  using NodeOf::NodeOf;
  const Expr* value = nullptr;
  char conversion = '\0';             // 's', 'r', 'a', or '\0' for none
  const Expr* format_spec = nullptr;  // optional; a JoinedStr
};

// ---------------------------------------------------------------------------------------------------------------------
// Statements.

// `a = b = value` has two targets; `a, b = value` has one, a Tuple. A target is a Name, Attribute, Subscript, Starred
// (inside a Tuple or List only), or a Tuple or List of targets.
struct Assign : StmtOf<Kind::kAssign> {
  using NodeOf::NodeOf;
  ExprList targets;  // at least one
  const Expr* value = nullptr;
};

// `target : annotation = value`, or without a value (class attributes). The target is a Name, Attribute or Subscript;
// a Name may be a keyword (`class : Tensor`) in a class body.
struct AnnAssign : StmtOf<Kind::kAnnAssign> {
  using NodeOf::NodeOf;
  const Expr* target = nullptr;
  const Expr* annotation = nullptr;
  const Expr* value = nullptr;  // optional
};

// `target op= value`; the target is a Name, Attribute or Subscript.
struct AugAssign : StmtOf<Kind::kAugAssign> {
  using NodeOf::NodeOf;
  BinaryOperator op{};
  const Expr* target = nullptr;
  const Expr* value = nullptr;
};

struct ExprStmt : StmtOf<Kind::kExprStmt> {
  using NodeOf::NodeOf;
  const Expr* value = nullptr;
};

struct If : StmtOf<Kind::kIf> {
  using NodeOf::NodeOf;
  const Expr* condition = nullptr;
  StmtList body;
  StmtList else_body;  // empty if there is no else
};

struct For : StmtOf<Kind::kFor> {
  using NodeOf::NodeOf;
  const Expr* target = nullptr;
  const Expr* iter = nullptr;
  StmtList body;
};

struct While : StmtOf<Kind::kWhile> {
  using NodeOf::NodeOf;
  const Expr* condition = nullptr;
  StmtList body;
};

struct WithItem {
  const Expr* context = nullptr;
  const Expr* target = nullptr;  // optional; after `as`
};

struct With : StmtOf<Kind::kWith> {
  using NodeOf::NodeOf;
  std::span<const WithItem> items;  // at least one
  StmtList body;
};

struct Return : StmtOf<Kind::kReturn> {
  using NodeOf::NodeOf;
  const Expr* value = nullptr;  // optional
};

struct Raise : StmtOf<Kind::kRaise> {
  using NodeOf::NodeOf;
  const Expr* exception = nullptr;  // optional
  const Expr* cause = nullptr;      // optional; after `from`
};

struct Assert : StmtOf<Kind::kAssert> {
  using NodeOf::NodeOf;
  const Expr* condition = nullptr;
  const Expr* message = nullptr;  // optional
};

struct Delete : StmtOf<Kind::kDelete> {
  using NodeOf::NodeOf;
  ExprList targets;
};

struct Break : StmtOf<Kind::kBreak> {
  using NodeOf::NodeOf;
};

struct Continue : StmtOf<Kind::kContinue> {
  using NodeOf::NodeOf;
};

struct Pass : StmtOf<Kind::kPass> {
  using NodeOf::NodeOf;
};

// One name that an import binds.
struct ImportedName {
  std::string_view bound;   // in this file
  std::string_view module;  // "torch.nn"; as written, dots included
  std::string_view member;  // of `from module import member`; else empty
};

// `import a.b`, `from a import b`: old archives start with such lines, which have no meaning there. `import a.b` binds
// a, `import a.b as c` binds c to a.b.
struct Import : StmtOf<Kind::kImport> {
  using NodeOf::NodeOf;
  std::span<const ImportedName> names;
};

enum class ParameterKind : uint8_t { kPositionalOnly, kNormal, kKeywordOnly, kVarArgs, kVarKeywords };

struct Parameter {
  std::string_view name;
  const Expr* annotation = nullptr;     // optional
  const Expr* default_value = nullptr;  // optional
  ParameterKind kind = ParameterKind::kNormal;
  SourceRange range;  // name, annotation and default
};

// Annotations that stand in a type comment, `# type: (int) -> Tensor`, are here like any other.
struct FunctionDef : StmtOf<Kind::kFunctionDef> {
  using NodeOf::NodeOf;
  std::string_view name;
  SourceRange name_range;
  std::span<const Parameter> parameters;  // self included
  const Expr* returns = nullptr;          // optional
  StmtList body;
  ExprList decorators;  // without the `@`
};

struct ClassDef : StmtOf<Kind::kClassDef> {
  using NodeOf::NodeOf;
  std::string_view name;
  SourceRange name_range;
  ExprList bases;
  std::span<const Keyword> keywords;  // `metaclass=...`
  StmtList body;
  ExprList decorators;
};

// ---------------------------------------------------------------------------------------------------------------------
// Ownership.

// A bump allocator for things without destructors. Grows by chunks that double up to a bound; frees all at once.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* Allocate(size_t size, size_t alignment) {
    uintptr_t at = (position_ + alignment - 1) & ~static_cast<uintptr_t>(alignment - 1);
    if (at + size > end_) return AllocateSlow(size, alignment);
    position_ = at + size;
    return reinterpret_cast<void*>(at);
  }

  template <class T, class... Args>
  T* New(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (Allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
  }

  // A copy of `items` that lives as long as the arena.
  template <class T>
  std::span<const T> Copy(std::span<const T> items) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (items.empty()) return {};
    T* copy = static_cast<T*>(Allocate(items.size_bytes(), alignof(T)));
    std::uninitialized_copy(items.begin(), items.end(), copy);
    return {copy, items.size()};
  }

  std::string_view Copy(std::string_view text) {
    const auto copy = Copy(std::span<const char>(text.data(), text.size()));
    return {copy.data(), copy.size()};
  }

  // Bytes taken from the system.
  size_t capacity() const { return capacity_; }

 private:
  void* AllocateSlow(size_t size, size_t alignment);

  uintptr_t position_ = 0;
  uintptr_t end_ = 0;
  size_t capacity_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
};

// One parsed text: a file of definitions, or one expression. Made by the functions of parser.h.
class Tree {
 public:
  explicit Tree(std::shared_ptr<const Source> source) : source_(std::move(source)) {}
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  const Source& source() const { return *source_; }

  // The statements of the file, in order.
  StmtList body() const { return body_; }

  // The class or function that the file defines at its top level under `name`, or null. Where a name is defined twice,
  // the last definition counts, as in Python.
  const Stmt* Find(std::string_view name) const {
    const auto found = definitions_.find(name);
    return found == definitions_.end() ? nullptr : found->second;
  }

  // The expression, where the text was parsed as one; else null.
  const Expr* expression() const { return expression_; }

  // For the parser only.
  Arena& arena() { return arena_; }
  void SetBody(StmtList body);
  void SetExpression(const Expr* expression) { expression_ = expression; }

 private:
  std::shared_ptr<const Source> source_;
  Arena arena_;
  StmtList body_;
  const Expr* expression_ = nullptr;
  std::unordered_map<std::string_view, const Stmt*> definitions_;
};

}  // namespace hearth::tree
