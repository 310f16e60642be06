#include "jit/passes/pack_convolutions.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>
#include <ATen/core/stack.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/convolution_call.h"
#include "jit/definitions/value_facts.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/contains.h"
#include "jit/ir/symbols.h"
#include "jit/operators/registry.h"
#include "jit/support/operator_threads.h"
#include "jit/weights/derived_constants.h"

namespace hearth {
namespace {

// Whether its weight makes a convolution that the library computes give a channels-last result.
bool IsPackable(const Target& target, const ConvolutionCall& call) {
  return target.PacksWeights(call.weight.device(), call.weight.scalar_type()) &&
         call.weight.suggest_memory_format() == at::MemoryFormat::ChannelsLast;
}

at::Tensor PackFor(const ConvolutionCall& call, const std::vector<int64_t>& sizes) {
  static const Operator* const pack =
      OperatorRegistry::Global().Find(Symbol::fromQualString("mkldnn::_reorder_convolution_weight"), "");
  torch::jit::Stack stack = {call.weight.detach(), call.padding, call.stride, call.dilation, call.groups, sizes};
  pack->Run(stack);
  return stack.at(0).toTensor();
}

// The sizes that images may well have, within what is known of them, and that a kernel fits into.
std::vector<std::vector<int64_t>> LikelySizes(const ConvolutionCall& call, const KnownSizes& known) {
  std::vector<std::vector<int64_t>> likely;
  for (const int64_t batch : {1, 8}) {
    if (known[0] && batch != 1) continue;
    for (const int64_t side : {7, 14, 19, 28, 56, 75, 112}) {
      std::vector<int64_t> sizes = {known[0].value_or(batch), call.weight.size(1) * call.groups,
                                    known[2].value_or(side), known[3].value_or(side)};
      bool fits = true;
      for (size_t i = 0; i < 2; ++i) {
        const int64_t kernel = call.dilation[i] * (call.weight.size(static_cast<int64_t>(i) + 2) - 1) + 1;
        fits &= sizes[i + 2] + 2 * call.padding[i] >= kernel;
      }
      if (fits && (likely.empty() || likely.back() != sizes)) likely.push_back(std::move(sizes));
    }
  }
  return likely;
}

// A weight in another format than the one that the library wants for an input's sizes costs more than one that was not
// packed. So it is packed if the sizes are known, or if all that are likely want the same format; else it stays as it
// is, with which the library begins anew each time.
at::Tensor Pack(const ConvolutionCall& call, const std::optional<KnownSizes>& known) {
  const at::NoGradGuard no_gradients;
  const KnownSizes sizes = known && known->size() == 4 ? *known : KnownSizes(4);
  at::Tensor packed;
  for (const std::vector<int64_t>& likely : LikelySizes(call, sizes)) {
    const at::Tensor candidate = PackFor(call, likely);
    if (packed.defined() && !AreSame(candidate, packed)) return call.weight;
    packed = candidate;
  }
  return packed.defined() ? packed : call.weight;
}

std::string Text(const std::optional<KnownSizes>& sizes) {
  std::string text;
  for (size_t i = 0; sizes && i < sizes->size(); ++i) {
    text += (*sizes)[i] ? std::to_string(*(*sizes)[i]) + " " : "* ";
  }
  return text;
}

std::string Text(const ConvolutionCall& call) {
  std::string text;
  for (const std::vector<int64_t>& numbers : {call.padding, call.stride, call.dilation}) {
    for (const int64_t number : numbers) text += std::to_string(number) + " ";
  }
  return text + std::to_string(call.groups);
}

class ConvolutionPacker {
 public:
  explicit ConvolutionPacker(Compilation& compilation)
      : target_(compilation.target()),
        graph_(compilation.graph()),
        facts_(compilation.facts()),
        derived_(*compilation.weights()) {}

  bool Run() {
    Walk(graph_.block());
    return changed_;
  }

 private:
  void Walk(Block* block) {
    for (Node* node : *block) {
      for (Block* nested : node->blocks()) Walk(nested);
      const std::optional<ConvolutionCall> call = ConvolutionCall::Of(*node);
      if (call && IsPackable(target_, *call) && IsOfImages(*node->input(0), call->weight)) Replace(node, *call);
    }
  }

  bool IsOfImages(const Value& value, const at::Tensor& weight) const {
    const ValueFacts& facts = facts_.Of(value);
    return facts.is_tensor() && facts.plain && facts.rank() == 4u && facts.dtype == weight.scalar_type() &&
           facts.device == weight.device();
  }

  // Not where there is no room for a weight in another format.
  void Replace(Node* node, const ConvolutionCall& call) {
    Value* x = node->input(0);
    const std::optional<KnownSizes>& sizes = facts_.Of(*x).sizes;
    at::Tensor weight = Packed(call, sizes);
    // That for any sizes is there already, mostly.
    if (!weight.defined()) weight = Packed(call, KnownSizes(4));
    if (!weight.defined()) return;
    // For the calls that the plan is most likely for.
    c10::IValue for_likely;
    const std::vector<int64_t> likely = LikelyOf(sizes);
    if (!likely.empty()) {
      const at::Tensor other = Packed(call, KnownSizes(likely.begin(), likely.end()));
      if (other.defined() && other.is_mkldnn() && !other.is_same(weight)) for_likely = other;
    }
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    const std::vector<int64_t> none;
    Value* made = Operate(graph_, sym::kPackedConvolution, "",
                          {x, graph_.InsertConstant(weight), graph_.InsertConstant(for_likely),
                           graph_.InsertConstant(for_likely.isNone() ? none : likely), node->input(2),
                           graph_.InsertConstant(call.padding), graph_.InsertConstant(call.stride),
                           graph_.InsertConstant(call.dilation), graph_.InsertConstant(call.groups),
                           graph_.InsertConstant(std::string("none")), graph_.InsertConstant(c10::List<double>())},
                          node);
    made->SetName(node->output()->name());
    for (const Value* input : made->node()->inputs()) {
      if (input->node()->kind() == sym::kConstant) facts_.Infer(*input->node());
    }
    facts_.Infer(*made->node());
    node->output()->ReplaceAllUsesWith(made);
    node->Destroy();
    changed_ = true;
  }

  // Undefined where there is no room for it.
  at::Tensor Packed(const ConvolutionCall& call, const std::optional<KnownSizes>& sizes) {
    const auto packed = derived_.Get("packed convolution " + Text(call), Text(sizes), {call.weight},
                                     [&] { return std::vector<at::Tensor>{Pack(call, sizes)}; });
    return packed.empty() ? at::Tensor() : packed[0];
  }

  // Sizes that it may well have; none where they are known, or not all are likely.
  std::vector<int64_t> LikelyOf(const std::optional<KnownSizes>& sizes) {
    std::vector<int64_t> likely;
    bool known = true;
    for (size_t i = 0; sizes && i < sizes->size(); ++i) {
      known &= (*sizes)[i].has_value();
      const KnownSize size = facts_.sizes().Likely((*sizes)[i]);
      if (!size) return {};
      likely.push_back(*size);
    }
    return known ? std::vector<int64_t>() : likely;
  }

  const Target& target_;
  Graph& graph_;
  ValueFactTable& facts_;
  DerivedConstants& derived_;
  bool changed_ = false;
};

}  // namespace

bool PackConvolutions(Compilation& compilation) {
  const auto is_packable = [&](const Node& node) {
    const std::optional<ConvolutionCall> call = ConvolutionCall::Of(node);
    return call && IsPackable(compilation.target(), *call);
  };
  if (!AnyNode(*compilation.source().block(), is_packable)) return false;
  bool changed = false;
  AsIfOnThreads(compilation.target().threads, [&] { changed = ConvolutionPacker(compilation).Run(); });
  return changed;
}

}  // namespace hearth
