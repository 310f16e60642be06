#include "jit/passes/explicit_padding.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/analysis/number_of.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/definitions/value_facts.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

const Symbol kConvolutionMode = Symbol::fromQualString("aten::_convolution_mode");

using Numbers = std::vector<int64_t>;

// One for each dimension, of which one may stand for all.
std::optional<Numbers> NumbersOf(const Value& value, size_t count) {
  std::optional<Numbers> numbers = IntegersOf(value);
  if (numbers && numbers->size() == 1) numbers->resize(count, numbers->front());
  return numbers && numbers->size() == count ? numbers : std::nullopt;
}

class PaddingWriter {
 public:
  explicit PaddingWriter(Compilation& compilation) : graph_(compilation.graph()), facts_(compilation.facts()) {
    Walk(graph_.block());
  }
  bool changed() const { return changed_; }

 private:
  void Walk(Block* block) {
    for (Node* node : *block) {
      for (Block* inner : node->blocks()) Walk(inner);
      if (node->op() == nullptr) continue;
      const std::string& overload = node->op()->schema().overload_name();
      const bool has_overloads =
          node->kind() == c10::aten::conv1d || node->kind() == c10::aten::conv2d || node->kind() == c10::aten::conv3d;
      if (node->kind() == kConvolutionMode || (has_overloads && overload == "padding")) TryReplace(node);
    }
  }

  // Null where it is no constant, differs between the sides, or where LibTorch raises.
  std::optional<Numbers> PaddingOf(const Node& node) const {
    const std::optional<KnownSizes>& weight = facts_.Of(*node.input(1)).sizes;
    const c10::IValue* word = ConstantOf(*node.input(4));
    if (!weight || weight->size() < 3 || word == nullptr || !word->isString()) return {};
    const size_t spatial = weight->size() - 2;
    if (word->toStringRef() == "valid") return Numbers(spatial, 0);
    const std::optional<Numbers> stride = NumbersOf(*node.input(3), spatial),
                                 dilation = NumbersOf(*node.input(5), spatial);
    if (word->toStringRef() != "same" || stride != Numbers(spatial, 1) || !dilation) return {};
    Numbers padding;
    for (size_t i = 0; i < spatial; ++i) {
      const std::optional<int64_t> kernel = (*weight)[i + 2].constant();
      if (!kernel || *kernel < 1 || (*dilation)[i] < 1) return {};
      const int64_t both = (*dilation)[i] * (*kernel - 1);
      if (both % 2 != 0) return {};
      padding.push_back(both / 2);
    }
    return padding;
  }

  void TryReplace(Node* node) {
    const std::optional<Numbers> padding = PaddingOf(*node);
    if (!padding) return;
    const InsertionGuard at(&graph_, node);
    graph_.SetCurrentRange(node->range());
    Value* numbers = graph_.InsertConstant(c10::IValue(*padding));
    Value* result = nullptr;
    if (node->kind() == kConvolutionMode) {
      // Takes no image without a batch, as this one.
      Value* is_transposed = graph_.InsertConstant(false);
      Value* of_output = graph_.InsertConstant(c10::IValue(Numbers(padding->size(), 0)));
      result = Operate(graph_, c10::aten::convolution, "",
                       {node->input(0), node->input(1), node->input(2), node->input(3), numbers, node->input(5),
                        is_transposed, of_output, node->input(6)},
                       node);
    } else {
      result = Operate(
          graph_, node->kind(), "",
          {node->input(0), node->input(1), node->input(2), node->input(3), numbers, node->input(5), node->input(6)},
          node);
    }
    result->SetName(node->output()->name());
    node->output()->ReplaceAllUsesWith(result);
    node->Destroy();
    changed_ = true;
  }

  Graph& graph_;
  const ValueFactTable& facts_;
  bool changed_ = false;
};

}  // namespace

bool MakePaddingExplicit(Compilation& compilation) { return PaddingWriter(compilation).changed(); }

}  // namespace hearth
