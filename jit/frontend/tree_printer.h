// Prints syntax trees as s-expressions, for debugging and for tests that hold the parser against CPython's `ast`:
// `x = f(1)` is `(Assign [(Name "x")] (Call (Name "f") [(IntConstant 1)] []))`. Absent children are `_`, lists stand in
// brackets, strings are quoted with \xHH for what is not printable ASCII, floats are the 16 hex digits of their bits.
// Fields stand in the order of tree.h. The walk recurses as deep as the tree is high (kMaxTreeHeight).
#pragma once

#include <string>

#include "jit/frontend/tree.h"

namespace hearth::tree {

enum class PrintRanges : bool { kNo, kYes };

// With ranges, a kind is followed by its byte range: `(Name@0-1 "x")`.
std::string PrintTree(const Node* node, PrintRanges ranges = PrintRanges::kNo);

// All statements of a file, a line each.
std::string PrintTree(const Tree& tree, PrintRanges ranges = PrintRanges::kNo);

}  // namespace hearth::tree
