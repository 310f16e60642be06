// For tests that compare with torch.jit: which overloads a graph calls.
#pragma once

#include <ATen/core/function_schema.h>
#include <torch/csrc/jit/ir/ir.h>

#include <string>
#include <vector>

#include "jit/ir/graph.h"
#include "jit/operators/operator.h"

namespace hearth {

inline std::string FullName(const c10::FunctionSchema& schema) {
  return schema.overload_name().empty() ? schema.name() : schema.name() + "." + schema.overload_name();
}

inline void Operators(const Block& block, std::vector<std::string>* names) {
  for (const Node* node : block) {
    if (node->op()) names->push_back(FullName(node->op()->schema()));
    for (const Block* inner : node->blocks()) Operators(*inner, names);
  }
}

inline void Operators(const torch::jit::Block& block, std::vector<std::string>* names) {
  for (const torch::jit::Node* node : block.nodes()) {
    const std::string kind = node->kind().toQualString();
    const bool own = kind == "prim::TupleUnpack" || kind == "prim::TupleIndex" || kind == "prim::unchecked_cast";
    if (const c10::FunctionSchema* schema = node->maybeSchema(); schema && !own) names->push_back(FullName(*schema));
    for (const torch::jit::Block* inner : node->blocks()) Operators(*inner, names);
  }
}

}  // namespace hearth
