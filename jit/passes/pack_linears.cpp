#include "jit/passes/pack_linears.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jit/analysis/fact_queries.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/activation_call.h"
#include "jit/definitions/constant_tensor.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/contains.h"
#include "jit/ir/symbols.h"
#include "jit/libraries/packed_weight.h"
#include "jit/libraries/product.h"
#include "jit/support/operator_threads.h"

#include "jit/operators/registry.h"
#include "jit/weights/derived_constants.h"
#include "jit/weights/weight_formats.h"

namespace hearth {
namespace {

const Symbol kLinear = c10::aten::linear;

// The format of a smaller weight makes no difference.
constexpr int64_t kLeastElements = 32 * 32;

class LinearPacker {
 public:
  explicit LinearPacker(Compilation& compilation)
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
      if (node->kind() == kLinear && node->op() != nullptr) {
        Replace(node);
      } else if (const std::string activation = EpilogueOf(*node); !activation.empty()) {
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
    c10::IValue planned;
    if (MayBePacked(*weight)) {
      const std::optional<int64_t> rows = LikelyRows(facts_, *node->input(0));
      const WeightFormat format =
          FastestWeightFormat(rows, weight->size(1), weight->size(0), target_.threads, derived_);
      if (format == WeightFormat::kPacked) {
        planned = PlannedFor(*weight, rows.value_or(1));
      } else if (format == WeightFormat::kTransposed && weight->is_contiguous()) {
        const auto made =
            derived_.Get("transposed linear", {*weight}, [&] { return std::vector{TransposedWeight(*weight)}; });
        if (!made.empty()) {
          unpacked = graph_.InsertConstant(made[0]);
          facts_.Infer(*unpacked->node());
        }
      }
    }
    Value* product =
        planned.isNone() ? graph_.InsertConstant(planned) : graph_.InsertConstant(planned, c10::CapsuleType::get());
    Value* epilogue = graph_.InsertConstant(std::string());
    facts_.Infer(*epilogue->node());
    Value* made =
        Operate(graph_, sym::kLinear, "", {node->input(0), unpacked, product, node->input(2), epilogue}, node);
    made->SetName(node->output()->name());
    facts_.Infer(*made->node());
    node->output()->ReplaceAllUsesWith(made);
    node->Destroy();
    changed_ = true;
  }

  bool MayBePacked(const at::Tensor& weight) const {
    return target_.PacksWeights(weight.device(), weight.scalar_type()) && IsPlain(weight) && weight.dim() == 2 &&
           (weight.is_contiguous() || weight.t().is_contiguous()) && weight.numel() >= kLeastElements;
  }

  // For the likely number of rows, or where any may come. None if nothing has good code, or there is no room for the
  // weight in its form.
  c10::IValue PlannedFor(const at::Tensor& weight, int64_t rows) {
    auto product = c10::make_intrusive<libraries::Product>(weight.detach());
    std::shared_ptr<const libraries::WeightForm> form;
    AsIfOnThreads(target_.threads, [&] { form = product->FormFor(rows); });
    if (form == nullptr) return {};
    const auto packed = derived_.Get("packed linear", libraries::TextOf(*form), {weight}, [&] {
      return std::vector<at::Tensor>{libraries::Pack(product->weight().t(), *form)};
    });
    if (packed.empty()) return {};
    product->Use({form, packed[0]});
    return libraries::Product::Wrap(std::move(product));
  }

  // In place or not: what a linear layer gave is seen by nobody else.
  void TryActivate(Node* node, const std::string& activation) {
    Node* linear = node->input(0)->node();
    if (linear->kind() != sym::kLinear || linear->block() != node->block()) return;
    const c10::IValue* present = ConstantOf(*linear->input(4));
    if (linear->output()->uses().size() != 1 || present == nullptr || !present->toStringRef().empty()) return;
    const InsertionGuard here(&graph_, linear);
    linear->ReplaceInput(4, graph_.InsertConstant(activation));
    node->output()->ReplaceAllUsesWith(linear->output());
    node->Destroy();
    changed_ = true;
  }

  const Target& target_;
  Graph& graph_;
  ValueFactTable& facts_;
  DerivedConstants& derived_;
  bool changed_ = false;
};

}  // namespace

bool PackLinears(Compilation& compilation) {
  if (!Contains(*compilation.source().block(), kLinear)) return false;
  return LinearPacker(compilation).Run();
}

}  // namespace hearth
