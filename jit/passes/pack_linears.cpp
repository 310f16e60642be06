#include "jit/passes/pack_linears.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>
#include <ATen/core/stack.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <unordered_map>

#include "jit/analysis/node_effects.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/operators/registry.h"
#include "jit/passes/constant_tensor.h"
#include "jit/passes/derived_constants.h"
#include "jit/passes/operate.h"

namespace hearth {
namespace {

const Symbol kLinear = Symbol::fromQualString("aten::linear");
const Symbol kPackedLinear = Symbol::fromQualString("hearth::linear");

// Packing smaller ones is not worth the memory: no batch is that large.
constexpr int64_t kLeastElements = 128 * 128;

at::Tensor Call(const char* name, torch::jit::Stack stack) {
  OperatorRegistry::Global().Find(Symbol::fromQualString(name), "")->Run(stack);
  return stack.at(0).toTensor();
}

at::Tensor Pack(const at::Tensor& weight) {
  const at::NoGradGuard no_gradients;
  return Call("mkldnn::_reorder_linear_weight", {weight.detach().contiguous(), c10::IValue()});
}

template <typename Function>
double BestTimeOf(Function function) {
  constexpr int kTries = 4;
  double best = 1e9;
  for (int i = 0; i < kTries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    function();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

// Whether the library that takes packed weights is the faster one here: LibTorch's other one keeps its best code for
// the processors of its own maker.
bool PackingPays() {
  static const bool pays = [] {
    if (!at::hasMKLDNN()) return false;
    const at::NoGradGuard no_gradients;
    const at::Tensor input = at::ones({96, 512}), weight = at::ones({512, 512}), packed = Pack(weight);
    const double plain = BestTimeOf([&] { at::linear(input, weight); });
    const double with_packed = BestTimeOf([&] {
      Call("hearth::linear", {input, weight, packed, c10::IValue(), "none"});
    });
    return with_packed < plain;
  }();
  return pays;
}

bool IsPackable(const at::Tensor& weight) {
  return IsPlainOnCpu(weight, at::kFloat) && weight.dim() == 2 &&
         (weight.is_contiguous() || weight.t().is_contiguous()) && weight.numel() >= kLeastElements;
}

// As hearth::linear calls it; empty if it is none.
std::string ActivationOf(const Node& node) {
  static const std::unordered_map<Symbol, std::string> kNames = [] {
    std::unordered_map<Symbol, std::string> names;
    for (const char* name : {"relu", "silu", "sigmoid", "tanh", "gelu"}) {
      names.emplace(Symbol::fromQualString("aten::" + std::string(name)), name);
      names.emplace(Symbol::fromQualString("aten::" + std::string(name) + "_"), name);
    }
    return names;
  }();
  const auto found = kNames.find(node.kind());
  if (found == kNames.end() || node.op() == nullptr || !node.op()->schema().overload_name().empty()) return {};
  if (found->second != "gelu") return found->second;
  const c10::IValue* approximation = ConstantOf(*node.input(1));
  if (approximation == nullptr || !approximation->isString()) return {};
  return approximation->toStringRef() == "tanh" ? "gelu_tanh" : "gelu";
}

class Packer {
 public:
  Packer(Graph& graph, DerivedConstants& derived) : graph_(graph), derived_(derived) {}

  bool Run() {
    Walk(graph_.block());
    return changed_;
  }

 private:
  void Walk(Block* block) {
    for (Node* node : *block) {
      if (IsClosure(*node)) continue;
      for (Block* nested : node->blocks()) Walk(nested);
      if (node->kind() == kLinear && node->op() != nullptr) {
        Replace(node);
      } else if (const std::string activation = ActivationOf(*node); !activation.empty()) {
        TryActivate(node, activation);
      }
    }
  }

  void Replace(Node* node) {
    const at::Tensor* weight = ConstantTensor(*node->input(1));
    if (weight == nullptr) return;
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    c10::IValue packed;
    if (IsPackable(*weight) && PackingPays()) {
      const auto made =
          derived_.Get("packed linear", {*weight}, [&] { return std::vector<at::Tensor>{Pack(*weight)}; });
      if (!made.empty()) packed = made[0];
    }
    Value* weights = graph_.InsertConstant(packed);
    Value* activation = graph_.InsertConstant(std::string("none"));
    Value* made =
        Operate(graph_, kPackedLinear, "", {node->input(0), node->input(1), weights, node->input(2), activation}, node);
    made->SetName(node->output()->name());
    node->output()->ReplaceAllUsesWith(made);
    node->Destroy();
    changed_ = true;
  }

  // In place or not: what a linear layer gave is seen by nobody else.
  void TryActivate(Node* node, const std::string& activation) {
    Node* linear = node->input(0)->node();
    if (linear->kind() != kPackedLinear || linear->block() != node->block()) return;
    const c10::IValue* present = ConstantOf(*linear->input(4));
    if (linear->output()->uses().size() != 1 || present == nullptr || present->toStringRef() != "none") return;
    const InsertionGuard here(&graph_, linear);
    linear->ReplaceInput(4, graph_.InsertConstant(activation));
    node->output()->ReplaceAllUsesWith(linear->output());
    node->Destroy();
    changed_ = true;
  }

  Graph& graph_;
  DerivedConstants& derived_;
  bool changed_ = false;
};

}  // namespace

bool PackLinears(Graph& graph, DerivedConstants& derived) { return Packer(graph, derived).Run(); }

}  // namespace hearth
