#include "jit/passes/choose_layouts.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>

#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/analysis/private_memory.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/convolution_call.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/contains.h"
#include "jit/ir/symbols.h"
#include "jit/passes/layout_plan.h"
#include "jit/weights/derived_constants.h"

namespace hearth {
namespace {

constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast;

class LayoutChooser {
 public:
  explicit LayoutChooser(Compilation& compilation)
      : compilation_(compilation),
        graph_(compilation.graph()),
        facts_(compilation.facts()),
        derived_(*compilation.weights()) {}

  bool Run() {
    const PrivateMemory memory(graph_, facts_.memory().aliases());
    // One that cannot be as it should, for somebody who sees it, is left alone, and the rest is looked at anew.
    std::set<const Node*> excluded;
    for (;;) {
      LayoutPlan plan = PlanLayouts(compilation_, memory, excluded);
      std::set<const Node*> unsuited = std::move(plan.regretted);
      if (unsuited.empty()) unsuited = WithoutRoom(plan.changes);
      if (unsuited.empty()) return Apply(plan.changes);
      excluded.merge(unsuited);
    }
  }

 private:
  // Convolutions for whose weights there is no room in another format.
  std::set<const Node*> WithoutRoom(const LayoutChanges& changes) {
    std::set<const Node*> without;
    const auto find = [&](Node* node, at::Tensor weight) {
      if (weight.defined()) {
        weights_[node] = std::move(weight);
      } else {
        without.insert(node);
      }
    };
    for (Node* node : changes.convolutions) find(node, ChannelsLastWeight(*ConvolutionCall::OfImagesOrVolumes(*node)));
    for (Node* node : changes.sequences) find(node, RowWeight(*ConstantOf(*node->input(1))));
    return without;
  }

  at::Tensor RowWeight(const c10::IValue& weight) {
    const std::vector<at::Tensor> made = derived_.Get("channels-last weight of rows", {weight.toTensor()}, [&] {
      const at::NoGradGuard no_gradients;
      return std::vector<at::Tensor>{weight.toTensor().detach().unsqueeze(2).clone(kChannelsLast)};
    });
    return made.empty() ? at::Tensor() : made[0];
  }

  at::Tensor ChannelsLastWeight(const ConvolutionCall& call) {
    const std::vector<at::Tensor> made = derived_.Get("channels-last weight", {call.weight}, [&] {
      const at::NoGradGuard no_gradients;
      return std::vector<at::Tensor>{call.weight.detach().clone(ChannelsLastFormatOf(call))};
    });
    return made.empty() ? at::Tensor() : made[0];
  }

  bool Apply(const LayoutChanges& changes) {
    for (const LayoutChanges::Pin& pin : changes.pins)
      pin.user->ReplaceInput(pin.input, Restored(pin.user->input(pin.input)));
    for (Node* node : changes.convolutions) {
      const InsertionGuard here(&graph_, node);
      graph_.SetCurrentRange(node->range());
      node->ReplaceInput(1, graph_.InsertConstant(weights_.at(node)));
    }
    for (Node* node : changes.to_arrange) Arrange(node);
    for (Node* node : changes.sequences) MakeRows(node);
    for (Node* node : changes.norms) MakeNormOfRows(node);
    for (Node* node : changes.copies) node->ReplaceInput(1, FormatConstant(node));
    for (const LayoutChanges::Reshape& change : changes.reshapes) MakeChannelsLast(change);
    return !changes.convolutions.empty() || !changes.sequences.empty() || !changes.copies.empty() ||
           !changes.reshapes.empty();
  }

  Value* FormatConstant(Node* before) {
    const InsertionGuard here(&graph_, before);
    graph_.SetCurrentRange(before->range());
    return graph_.InsertConstant(static_cast<int64_t>(kChannelsLast));
  }

  void MakeRows(Node* node) {
    const ConvolutionCall call = *ConvolutionCall::OfSequences(*node);
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    Value* row = graph_.InsertConstant(int64_t{2});
    Value* images = Operate(graph_, c10::aten::unsqueeze, "", {node->input(0), row}, node);
    Value* made = Operate(
        graph_, c10::aten::conv2d, "",
        {images, graph_.InsertConstant(weights_.at(node)), node->input(2), graph_.InsertConstant(call.stride),
         graph_.InsertConstant(call.padding), graph_.InsertConstant(call.dilation), graph_.InsertConstant(call.groups)},
        node);
    Value* sequences = Operate(graph_, c10::aten::squeeze, "dim", {made, row}, node);
    sequences->SetName(node->output()->name());
    node->output()->ReplaceAllUsesWith(sequences);
    node->Destroy();
  }

  void MakeNormOfRows(Node* node) {
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    Value* row = graph_.InsertConstant(int64_t{2});
    std::vector<Value*> operands(node->inputs().begin(), node->inputs().end());
    operands[0] = Operate(graph_, c10::aten::unsqueeze, "", {operands[0], row}, node);
    Value* made = OperateLike(graph_, *node, operands);
    Value* sequences = Operate(graph_, c10::aten::squeeze, "dim", {made, row}, node);
    sequences->SetName(node->output()->name());
    node->output()->ReplaceAllUsesWith(sequences);
    node->Destroy();
  }

  void MakeChannelsLast(const LayoutChanges::Reshape& change) {
    Node* node = change.node;
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    Value* ordered =
        Operate(graph_, c10::aten::permute, "", {node->input(0), graph_.InsertConstant(change.order)}, node);
    Value* pixels = Operate(graph_, c10::aten::reshape, "", {ordered, graph_.InsertConstant(change.sizes)}, node);
    const std::vector<int64_t> channels_first{0, 3, 1, 2};
    Value* images = Operate(graph_, c10::aten::permute, "", {pixels, graph_.InsertConstant(channels_first)}, node);
    images->SetName(node->output()->name());
    node->output()->ReplaceAllUsesWith(images);
    node->Destroy();
  }

  // Nothing is copied where the result is channels-last already.
  void Arrange(Node* node) {
    const InsertionGuard after(&graph_, node->next());
    graph_.SetCurrentRange(node->range());
    const ConvolutionCall call = *ConvolutionCall::OfImagesOrVolumes(*node);
    Value* asked = graph_.InsertConstant(static_cast<int64_t>(ChannelsLastFormatOf(call)));
    Value* arranged = Operate(graph_, c10::aten::contiguous, "", {node->output(), asked}, node);
    node->output()->ReplaceAllUsesWith(arranged);
    arranged->node()->ReplaceInput(0, node->output());
  }

  // A value as the baseline has it.
  Value* Restored(Value* value) {
    Value*& restored = restored_[value];
    if (restored != nullptr) return restored;
    Node* maker = value->node();
    const InsertionGuard after(&graph_, maker->next());
    graph_.SetCurrentRange(maker->range());
    if (IsRearrangement(*maker)) {
      std::vector<Value*> operands(maker->inputs().begin(), maker->inputs().end());
      operands[0] = Restored(operands[0]);
      return restored_[value] = OperateLike(graph_, *maker, operands);
    }
    const StrideOrder& order = facts_.Of(*value).order;
    const auto format = order.is_channels_last()      ? kChannelsLast
                        : order.is_channels_last_3d() ? at::MemoryFormat::ChannelsLast3d
                                                      : at::MemoryFormat::Contiguous;
    Value* asked = graph_.InsertConstant(static_cast<int64_t>(format));
    return restored = Operate(graph_, c10::aten::clone, "", {value, asked}, maker);
  }

  Compilation& compilation_;
  Graph& graph_;
  const ValueFactTable& facts_;
  DerivedConstants& derived_;
  std::unordered_map<const Node*, at::Tensor> weights_;
  std::unordered_map<const Value*, Value*> restored_;
};

}  // namespace

bool ChooseLayouts(Compilation& compilation) {
  const auto is_convolution = [](const Node& node) {
    return ConvolutionCall::OfImagesOrVolumes(node).has_value() || ConvolutionCall::OfSequences(node).has_value();
  };
  return AnyNode(*compilation.source().block(), is_convolution) && LayoutChooser(compilation).Run();
}

}  // namespace hearth