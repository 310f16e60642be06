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
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "jit/analysis/node_effects.h"
#include "jit/ir/symbols.h"
#include "jit/operators/registry.h"
#include "jit/passes/constant_tensor.h"
#include "jit/passes/derived_constants.h"
#include "jit/passes/operate.h"
#include "jit/support/processor_time.h"

namespace hearth {
namespace {

const Symbol kLinear = Symbol::fromQualString("aten::linear");
const Symbol kPackedLinear = Symbol::fromQualString("hearth::linear");

// Packing smaller ones is not worth the memory: no batch is that large. Turning still smaller ones makes no difference.
constexpr int64_t kLeastPacked = 128 * 128;
constexpr int64_t kLeastTurned = 32 * 32;

at::Tensor Call(const char* name, torch::jit::Stack stack) {
  OperatorRegistry::Global().Find(Symbol::fromQualString(name), "")->Run(stack);
  return stack.at(0).toTensor();
}

at::Tensor Pack(const at::Tensor& weight) {
  const at::NoGradGuard no_gradients;
  return Call("mkldnn::_reorder_linear_weight", {weight.detach().contiguous(), c10::IValue()});
}

// The same numbers, with the elements of a column side by side: the product takes them as they come.
at::Tensor Turn(const at::Tensor& weight) { return weight.detach().t().contiguous().t(); }

// A product as models have them: few rows and many, weights that caches hold and one that they do not.
struct Product {
  int64_t rows, inner, columns;
};
constexpr std::array<Product, 4> kProducts{{{16, 512, 512}, {96, 512, 512}, {256, 512, 256}, {16, 768, 1536}}};

double TimeOf(const std::function<void()>& work) {
  const auto start = ProcessorTimeOfThread();
  work();
  return (ProcessorTimeOfThread() - start).count();
}

// How many times as long a product takes with the weight as models have it as with it in another format.
struct Gains {
  double turned = 1;
  double packed = 1;
};

template <size_t N>
double Median(std::array<double, N> numbers) {
  std::ranges::nth_element(numbers, numbers.begin() + N / 2);
  return numbers[N / 2];
}

// The medians of a few tries, in which the formats take turns.
Gains GainsFor(const Product& product) {
  constexpr size_t kTries = 3;
  const at::NoGradGuard no_gradients;
  const at::Tensor input = at::ones({product.rows, product.inner}), weight = at::ones({product.columns, product.inner});
  const at::Tensor turned = Turn(weight), packed = Pack(weight);
  const auto multiply = [&](const at::Tensor& with, const c10::IValue& with_packed) {
    Call("hearth::linear", {input, with, with_packed, c10::IValue(), "none"});
  };
  std::array<double, kTries> gains_turned, gains_packed;
  for (size_t i = 0; i <= kTries; ++i) {
    const double time = TimeOf([&] { multiply(weight, {}); });
    const double time_turned = TimeOf([&] { multiply(turned, {}); });
    const double time_packed = TimeOf([&] { multiply(weight, packed); });
    if (i == 0) continue;  // which finds nothing in the caches
    gains_turned[i - 1] = time / time_turned;
    gains_packed[i - 1] = time / time_packed;
  }
  return {Median(gains_turned), Median(gains_packed)};
}

enum class Format { kAsItIs, kTurned, kPacked };

// Which one is the fastest here. Not on a coin's toss where two are about as fast: the memory would be for nothing, and
// of a packed weight there are two.
Format FastestFormat(const DerivedConstants& derived) {
  constexpr double kClearlyTurned = 1.05, kClearlyPacked = 1.1;
  static const Format fastest = [&] {
    if (!at::hasMKLDNN()) return Format::kAsItIs;
    Gains all;
    for (const Product& product : kProducts) {
      const Gains gains = GainsFor(product);
      all.turned *= std::pow(gains.turned, 1.0 / kProducts.size());
      all.packed *= std::pow(gains.packed, 1.0 / kProducts.size());
      derived.Rest();
    }
    if (all.packed >= kClearlyPacked * std::max(all.turned, 1.0)) return Format::kPacked;
    return all.turned >= kClearlyTurned ? Format::kTurned : Format::kAsItIs;
  }();
  return fastest;
}

bool IsPlainMatrix(const at::Tensor& weight) {
  return IsPlainOnCpu(weight, at::kFloat) && weight.dim() == 2 &&
         (weight.is_contiguous() || weight.t().is_contiguous());
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
    Value* unpacked = node->input(1);
    c10::IValue packed;
    if (IsPlainMatrix(*weight) && weight->numel() >= kLeastTurned) {
      const Format format = FastestFormat(derived_);
      if (format == Format::kPacked && weight->numel() >= kLeastPacked) {
        const auto made = derived_.Get("packed linear", {*weight}, [&] { return std::vector{Pack(*weight)}; });
        if (!made.empty()) packed = made[0];
      } else if (format == Format::kTurned && weight->is_contiguous()) {
        const auto made = derived_.Get("turned linear", {*weight}, [&] { return std::vector{Turn(*weight)}; });
        if (!made.empty()) unpacked = graph_.InsertConstant(made[0]);
      }
    }
    Value* weights = graph_.InsertConstant(packed);
    Value* activation = graph_.InsertConstant(std::string("none"));
    Value* made =
        Operate(graph_, kPackedLinear, "", {node->input(0), unpacked, weights, node->input(2), activation}, node);
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
