// Graphs as text, the way people and tests read them:
//
//   graph(%self : __torch__.M, %x : Tensor):
//     %2 : int = prim::Constant[value=1]()
//     %3 : Tensor = aten::add.Tensor(%x, %x, %2)
//     %4 : Tensor = prim::If(%c)
//       block0():
//         -> (%x)
//       block1():
//         -> (%3)
//     return (%4)
//
// An operator's overload name follows its name after a dot. Values that have a name keep it, made unique by a suffix;
// the others are numbered in the order in which they appear, so equal Graphs give equal text and what jit/ir/parser.h
// reads back prints the same. Numbers, strings, None, devices and containers of them are written out; other constants
// are shown as "<Tensor float32 [64, 3] #0>", where #0 is the constant's number in PrintOptions::constants.
// Where a frozen constant came from (its instance and slot attributes) is not shown: its name says so.
//
// Thread-safe for Graphs that nobody changes. A Graph need not be valid to be printed.
#pragma once

#include <string>
#include <vector>

#include "jit/ir/graph.h"

namespace hearth {

struct PrintOptions {
  // Append each node's source position as a comment.
  bool ranges = false;
  // Filled with the constants that have no literal form, in the order of their numbers; may be null.
  std::vector<c10::IValue>* constants = nullptr;
};

std::string PrintGraph(const Graph& graph, const PrintOptions& options = {});

// One node, named as PrintGraph of its whole Graph would; nested blocks are left out.
std::string PrintNode(const Node& node);

// A string in double quotes with everything but printable ASCII escaped (\n, \t, \r, \", \\, \xHH).
std::string QuoteString(std::string_view text);

}  // namespace hearth
