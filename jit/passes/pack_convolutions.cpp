#include "jit/passes/pack_convolutions.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/analysis/fact_queries.h"
#include "jit/analysis/number_of.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/visible_strides.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/convolution_call.h"
#include "jit/definitions/value_facts.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/contains.h"
#include "jit/ir/symbols.h"
#include "jit/libraries/convolution.h"
#include "jit/support/operator_threads.h"
#include "jit/weights/derived_constants.h"

namespace hearth {
namespace {

using Sizes = std::vector<int64_t>;

bool HasChannelsLastWeight(const ConvolutionCall& call) {
  return call.weight.suggest_memory_format() == libraries::ChannelsLastFormat(call.weight.sizes().size());
}

// Whether its weight makes a convolution that the library computes give a channels-last result, or perhaps its images
// have one pixel each, so that their order is a matter of strides alone.
bool MayBePackable(const Target& target, const ConvolutionCall& call) {
  return target.PacksWeights(call.weight.device(), call.weight.scalar_type()) &&
         (HasChannelsLastWeight(call) || (!call.is_of_volumes() && call.weight.size(2) * call.weight.size(3) == 1));
}

// Sizes that images may well have, within what is known of them, and that a kernel fits into; the likeliest first.
std::vector<Sizes> SizesOfImages(const ConvolutionCall& call, const KnownSizes& known) {
  std::vector<Sizes> likely;
  for (const int64_t side : {56, 28, 14, 112, 7, 224}) {
    Sizes sizes = {known[0].value_or(1), call.weight.size(1) * call.groups};
    for (size_t i = 2; i < known.size(); ++i) sizes.push_back(known[i].value_or(side));
    bool fits = true;
    for (size_t i = 0; i < call.padding.size(); ++i) {
      const int64_t kernel = call.dilation[i] * (call.weight.size(static_cast<int64_t>(i) + 2) - 1) + 1;
      fits &= sizes[i + 2] + 2 * call.padding[i] >= kernel;
    }
    if (fits && (likely.empty() || likely.back() != sizes)) likely.push_back(std::move(sizes));
  }
  return likely;
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
      const std::optional<ConvolutionCall> call = ConvolutionCall::OfImagesOrVolumes(*node);
      if (call && MayBePackable(target_, *call) && IsOfInputs(*node->input(0), call->weight) &&
          (HasChannelsLastWeight(*call) || IsOfOnePixel(*node))) {
        Replace(node, *call);
      } else {
        RemoveIfArranged(node);
      }
    }
  }

  // A result that choose_layouts.h has put into the order that the packed convolution gives in any case.
  void RemoveIfArranged(Node* node) {
    if (node->kind() != c10::aten::contiguous || node->input(0)->node()->kind() != sym::kConvolution) return;
    const size_t rank = *facts_.Of(*node->input(0)).rank();
    if (IntegerOf(*node->input(1)) != static_cast<int64_t>(libraries::ChannelsLastFormat(rank))) return;
    node->output()->ReplaceAllUsesWith(node->input(0));
    node->Destroy();
  }

  // And nobody sees the strides of the result.
  bool IsOfOnePixel(const Node& node) const {
    const std::optional<KnownSizes>& images = facts_.Of(*node.input(0)).sizes;
    const std::optional<KnownSizes>& result = facts_.Of(*node.output()).sizes;
    const auto is_one = [](const KnownSizes& sizes) { return sizes[2] == 1 && sizes[3] == 1; };
    return is_one(*images) && result && is_one(*result) && !StridesMayShow(*node.output(), facts_);
  }

  bool IsOfInputs(const Value& value, const at::Tensor& weight) const {
    const ValueFacts& facts = facts_.Of(value);
    return facts.is_tensor() && facts.plain && facts.rank() == weight.sizes().size() &&
           facts.dtype == weight.scalar_type() && facts.device == weight.device();
  }

  // Not where the library has no good code, or there is no room for the weight in another form.
  void Replace(Node* node, const ConvolutionCall& call) {
    libraries::ConvolutionSettings settings{call.padding, call.stride, call.dilation, call.groups};
    Node* const pad = TakePadding(*node, call, settings);
    Value* x = pad == nullptr ? node->input(0) : pad->input(0);
    auto planned = c10::make_intrusive<libraries::Convolution>(call.weight.detach(), std::move(settings));
    const std::shared_ptr<const libraries::WeightForm> form = FormFor(call, *planned, facts_.Of(*x).sizes);
    if (form == nullptr) return;
    const auto packed = derived_.Get("packed convolution " + Text(call), libraries::TextOf(*form), {call.weight},
                                     [&] { return std::vector<at::Tensor>{planned->Packed(*form)}; });
    if (packed.empty()) return;
    planned->Add({form, packed[0]});
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    Value* constant = graph_.InsertConstant(libraries::Convolution::Wrap(std::move(planned)), c10::CapsuleType::get());
    Value* epilogue = graph_.InsertConstant(std::string());
    facts_.Infer(*epilogue->node());
    Value* made = Operate(graph_, sym::kConvolution, "", {x, constant, node->input(2), epilogue}, node);
    made->SetName(node->output()->name());
    facts_.Infer(*made->node());
    node->output()->ReplaceAllUsesWith(made);
    node->Destroy();
    if (pad != nullptr) pad->Destroy();
    changed_ = true;
  }

  // What fills images up with zeros for the convolution alone, before and behind, is part of it: gives that node, and
  // adds to the paddings. Else null. A weight that is not finite makes NaN of the zeros, where they are multiplied.
  Node* TakePadding(const Node& node, const ConvolutionCall& call, libraries::ConvolutionSettings& settings) const {
    Node* pad = node.input(0)->node();
    if (call.is_of_volumes() || pad->kind() != c10::aten::pad || pad->op() == nullptr) return nullptr;
    const Value &images = *pad->input(0), &sides = *pad->input(1), &mode = *pad->input(2), &filling = *pad->input(3);
    const c10::IValue *numbers = ConstantOf(sides), *name = ConstantOf(mode), *none = ConstantOf(filling);
    const bool is_zero = NumberOf(filling, facts_.memory()) == 0 || (none != nullptr && none->isNone());
    if (numbers == nullptr || !numbers->isIntList() || name == nullptr || !name->isString() ||
        name->toStringRef() != "constant" || !is_zero)
      return nullptr;
    if (pad->output()->uses().size() != 1 || pad->block() != node.block() || !IsOfInputs(images, call.weight) ||
        facts_.memory().MayBeWritten(images) || facts_.memory().MayBeWritten(*pad->output()))
      return nullptr;
    const std::vector<int64_t> added = numbers->toIntVector();
    if (added.size() > 4 || added.size() % 2 != 0 || std::ranges::any_of(added, [](int64_t n) { return n < 0; }))
      return nullptr;
    if (!libraries::HasFiniteSum(call.weight)) return nullptr;
    settings.end_padding = settings.padding;
    for (size_t i = 0; i < added.size(); i += 2) {
      const size_t side = 1 - i / 2;  // the last one comes first
      settings.padding[side] += added[i];
      settings.end_padding[side] += added[i + 1];
    }
    return pad;
  }

  // For the sizes that are known, for those that calls have mostly had, or else for some that images may have.
  std::shared_ptr<const libraries::WeightForm> FormFor(const ConvolutionCall& call,
                                                       const libraries::Convolution& planned,
                                                       const std::optional<KnownSizes>& sizes) {
    std::vector<Sizes> candidates;
    if (std::optional<Sizes> likely = LikelySizes(facts_.sizes(), sizes)) candidates.push_back(std::move(*likely));
    const size_t rank = call.weight.sizes().size();
    const KnownSizes known = sizes && sizes->size() == rank ? *sizes : KnownSizes(rank);
    std::ranges::move(SizesOfImages(call, known), std::back_inserter(candidates));
    for (const Sizes& candidate : candidates) {
      auto form = planned.FormFor(candidate);
      if (form != nullptr) return form;
    }
    return nullptr;
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
    const std::optional<ConvolutionCall> call = ConvolutionCall::OfImagesOrVolumes(node);
    return call && MayBePackable(compilation.target(), *call);
  };
  if (!AnyNode(*compilation.source().block(), is_packable)) return false;
  bool changed = false;
  AsIfOnThreads(compilation.target().threads, [&] { changed = ConvolutionPacker(compilation).Run(); });
  return changed;
}

}  // namespace hearth
