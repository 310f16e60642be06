#include "jit/frontend/tree.h"

#include <algorithm>

namespace hearth::tree {

std::string_view KindName(Kind kind) {
  constexpr std::string_view kNames[] = {"Name",           "IntConstant",  "FloatConstant", "ComplexConstant",
                                         "StringConstant", "BoolConstant", "NoneConstant",  "EllipsisConstant",
                                         "Attribute",      "Subscript",    "Slice",         "Call",
                                         "List",           "Tuple",        "Dict",          "ListComp",
                                         "DictComp",       "UnaryOp",      "BinOp",         "BoolOp",
                                         "Compare",        "Ternary",      "Starred",       "JoinedStr",
                                         "FormattedValue", "Assign",       "AnnAssign",     "AugAssign",
                                         "ExprStmt",       "If",           "For",           "While",
                                         "With",           "Return",       "Raise",         "Assert",
                                         "Delete",         "Break",        "Continue",      "Pass",
                                         "Import",         "FunctionDef",  "ClassDef"};
  static_assert(std::size(kNames) == static_cast<size_t>(Kind::kClassDef) + 1);
  return kNames[static_cast<size_t>(kind)];
}

std::string_view Spelling(UnaryOperator op) {
  constexpr std::string_view kSpellings[] = {"-", "+", "~", "not"};
  return kSpellings[static_cast<size_t>(op)];
}

std::string_view Spelling(BinaryOperator op) {
  constexpr std::string_view kSpellings[] = {"+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^"};
  return kSpellings[static_cast<size_t>(op)];
}

std::string_view Spelling(BoolOperator op) { return op == BoolOperator::kAnd ? "and" : "or"; }

std::string_view Spelling(CompareOperator op) {
  constexpr std::string_view kSpellings[] = {"==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"};
  return kSpellings[static_cast<size_t>(op)];
}

void* Arena::AllocateSlow(size_t size, size_t alignment) {
  constexpr size_t kFirstChunk = 4096;
  constexpr size_t kLargestChunk = 1 << 20;
  const size_t chunk_size = std::max(std::clamp(capacity_, kFirstChunk, kLargestChunk), size + alignment);
  // Not make_unique: that would clear the chunk first.
  chunks_.emplace_back(new std::byte[chunk_size]);
  capacity_ += chunk_size;
  position_ = reinterpret_cast<uintptr_t>(chunks_.back().get());
  end_ = position_ + chunk_size;
  return Allocate(size, alignment);
}

void Tree::SetBody(StmtList body) {
  body_ = body;
  definitions_.clear();
  for (const Stmt* statement : body) {
    if (const auto* function = dyn_cast<FunctionDef>(statement)) {
      definitions_[function->name] = function;
    } else if (const auto* definition = dyn_cast<ClassDef>(statement)) {
      definitions_[definition->name] = definition;
    }
  }
}

}  // namespace hearth::tree
