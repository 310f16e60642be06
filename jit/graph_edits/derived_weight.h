// Weights that a pass has made of others.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>

#include <string>

#include "jit/ir/graph.h"
#include "jit/ir/symbols.h"

namespace hearth {

// A constant at the top of the graph, where every place but those in closures sees it. Named after the weight that it
// stands for, with `suffix`; without a name, if that has none.
inline Value* PrependWeight(Graph& graph, const at::Tensor& tensor, const std::string& name, const std::string& suffix,
                            const SourceRange& range) {
  Node* node = graph.Create(sym::kConstant);
  node->SetAttribute(sym::kValueAttr, c10::IValue(tensor));
  node->output()->SetType(c10::TensorType::get());
  if (!name.empty()) node->output()->SetName(name.ends_with(suffix) ? name : name + suffix);
  node->SetRange(range);
  graph.block()->Prepend(node);
  return node->output();
}

}  // namespace hearth
