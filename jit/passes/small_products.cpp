#include "jit/passes/small_products.h"

#include <c10/util/accumulate.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/views.h"
#include "jit/analysis/visible_strides.h"
#include "jit/analysis/window_call.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/fact_rules.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/inferring_edits.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/passes/gpu_kernels.h"

namespace hearth {
namespace {

using Sizes = std::vector<int64_t>;

constexpr int64_t kMostTerms = 32;
constexpr int64_t kFewestProducts = 64;
// Each is two operands of one kernel.
constexpr int64_t kMostElementsOfWindow = 15;

bool IsProductOfBatches(const Node& node) {
  return (node.kind() == c10::aten::matmul || node.kind() == c10::aten::bmm) && node.op() != nullptr &&
         node.inputs().size() == 2;
}

class Summer {
 public:
  explicit Summer(Compilation& compilation)
      : graph_(compilation.graph()),
        facts_(compilation.facts()),
        memory_(compilation.memory()),
        edits_(graph_, compilation.facts()) {}

  bool Run() {
    for (Node* node : NodesOutsideClosures(*graph_.block(), IsProductOfBatches)) {
      const std::optional<Sizes> left = SizesOf(*node->input(0)), right = SizesOf(*node->input(1));
      if (!left || !right || !IsSmall(*left, *right)) continue;
      const ValueFacts &of_left = facts_.Of(*node->input(0)), &of_right = facts_.Of(*node->input(1));
      if (of_left.dtype != of_right.dtype || of_left.device != of_right.device) continue;
      const InsertionGuard here(&graph_, node);
      graph_.SetCurrentRange(node->range());
      Value* made = OfWindows(node, *left, *right);
      if (made == nullptr) made = OfRows(node, *left, *right);
      if (made == nullptr) continue;
      made->SetName(node->output()->name());
      node->output()->ReplaceAllUsesWith(made);
      node->Destroy();
      changed_ = true;
    }
    return changed_;
  }

 private:
  // Of a batch of matrices on a GPU; null: it is none, a constant, or of another dtype than kernels add up in float32.
  std::optional<Sizes> SizesOf(const Value& value) const {
    const ValueFacts& facts = facts_.Of(value);
    const bool is_known = facts.is_tensor() && facts.plain && facts.device && facts.device->is_cuda() &&
                          (facts.dtype == c10::kFloat || facts.dtype == c10::kHalf || facts.dtype == c10::kBFloat16);
    if (!is_known || ConstantOf(value) != nullptr || facts.rank().value_or(0) < 3) return {};
    return ConstantsOf(facts.sizes);
  }

  static bool IsSmall(const Sizes& left, const Sizes& right) {
    if (left.size() != right.size() || left.back() != right[right.size() - 2]) return false;
    if (!std::equal(left.begin(), left.end() - 2, right.begin())) return false;
    if (c10::multiply_integers(left.begin(), left.end() - 2) < kFewestProducts) return false;
    return left.back() >= 2 && left.back() <= kMostTerms && (right.back() == 1 || left[left.size() - 2] == 1);
  }

  Value* SwapLastTwo(Value* value, const Node* like) const {
    return edits_.Infer(Operate(graph_, c10::aten::transpose, "int",
                                {value, edits_.Constant(int64_t{-1}), edits_.Constant(int64_t{-2})}, like));
  }
  Value* Reshape(Value* value, const Sizes& sizes, const Node* like) const {
    return edits_.Infer(Operate(graph_, c10::aten::reshape, "", {value, edits_.Constant(sizes)}, like));
  }
  // Promotion has the other operand cast where the kernel reads it.
  Value* MultiplyInFloat(Value* a, Value* b, const Node* like) const {
    return edits_.Infer(Operate(graph_, c10::aten::mul, "Tensor", {edits_.InDtype(a, c10::kFloat, like), b}, like));
  }

  // ---- Rows ----

  // Null where the rows do not lie one after the other.
  Value* OfRows(Node* node, const Sizes& left, const Sizes& right) const {
    const bool of_columns = right.back() != 1;  // of the right matrix
    Value *const matrix = node->input(of_columns ? 1 : 0), *const vector = node->input(of_columns ? 0 : 1);
    std::vector<size_t> order(left.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (of_columns) std::swap(order.back(), order[order.size() - 2]);
    const StrideOrder& lies = facts_.Of(*matrix).order;
    if (!lies.is_known() || !lies.Permuted(order).is_default()) return nullptr;
    if (!lies.is_exact() && OrderMayShow(*node->output(), facts_)) return nullptr;
    const c10::ScalarType dtype = *facts_.Of(*matrix).dtype;
    Value* rows = of_columns ? SwapLastTwo(matrix, node) : matrix;
    Value* row = of_columns ? vector : SwapLastTwo(vector, node);
    Value* products = MultiplyInFloat(rows, row, node);
    Value* sum = edits_.Infer(
        Operate(graph_, c10::aten::sum, "dim_IntList",
                {products, edits_.Constant(Sizes{-1}), edits_.Constant(true), edits_.Constant(c10::IValue())}, node));
    sum = edits_.InDtype(sum, dtype, node);
    if (!of_columns) return sum;
    Sizes sizes = left;
    sizes.back() = right.back();
    return Reshape(sum, sizes, node);
  }

  // ---- Windows ----

  // Null where the left matrices are none, or there is no such kernel.
  Value* OfWindows(Node* node, const Sizes& left, const Sizes& right) const {
    if (right.back() != 1) return nullptr;
    const Node* columns = ColumnsOf(*node->input(0));
    const std::optional<WindowCall> call = columns == nullptr ? std::nullopt : WindowCall::Of(*columns, facts_);
    const int64_t together = left[left.size() - 2];  // channels that have their weights in common
    if (!call || call->elements() != left.back() || call->elements() > kMostElementsOfWindow || together < 2 ||
        call->channels % together != 0 || memory_.MayBeWritten(*columns->input(0)))
      return nullptr;
    for (const WindowCall::Axis& axis : call->axes) {
      if (axis.size == 1 ? axis.padded() != 1 : axis.places() == 1) return nullptr;
      // Of uneven parts the order in memory is not known.
      if (axis.padded() % axis.step != 0) return nullptr;
    }
    const c10::ScalarType dtype = *facts_.Of(*node->input(0)).dtype;
    // Dimensions of one element are left out: nothing would be known of the order of what is made of parts.
    Sizes of_images, of_places;
    std::vector<size_t> at;  // which of these dimensions the two axes are
    if (call->batch.value_or(1) > 1) of_images.push_back(*call->batch), of_places.push_back(*call->batch);
    Sizes before_padding = of_images, widths{0, 0};
    for (const WindowCall::Axis& axis : call->axes) {
      at.push_back(of_images.size());
      if (axis.size == 1) continue;
      of_images.push_back(axis.padded());
      of_places.push_back(axis.places());
      before_padding.push_back(axis.size);
      widths.insert(widths.begin() + 2, 2, axis.padding);
    }
    before_padding.push_back(call->channels);
    if (const int64_t groups = call->channels / together; groups > 1)
      of_images.push_back(groups), of_places.push_back(groups);
    of_images.push_back(together);
    of_places.push_back(left.back());
    Value* images = Reshape(ChannelsLast(*call, columns->input(0), node), before_padding, node);
    if (std::ranges::find_if(widths, [](int64_t width) { return width != 0; }) != widths.end()) {
      images = edits_.Infer(Operate(graph_, c10::aten::constant_pad_nd, "",
                                    {images, edits_.Constant(widths), edits_.Constant(int64_t{0})}, node));
    }
    images = Reshape(images, of_images, node);
    Value* const weights = Reshape(node->input(1), of_places, node);
    Value* sum = nullptr;
    for (int64_t i = 0; i < left.back(); ++i) {
      const int64_t row = i / call->axes[1].kernel, column = i % call->axes[1].kernel;
      Value* part = Part(Part(images, call->axes[0], at[0], row, node), call->axes[1], at[1], column, node);
      Value* weight = Slice(weights, -1, i, i + 1, 1, node);
      Value* product = MultiplyInFloat(part, weight, node);
      sum = sum == nullptr ? product
                           : edits_.Infer(Operate(graph_, c10::aten::add, "Tensor",
                                                  {sum, product, edits_.Constant(int64_t{1})}, node));
    }
    Sizes sizes = left;
    sizes.back() = 1;
    return Reshape(edits_.InDtype(sum, dtype, node), sizes, node);
  }

  // The im2col whose windows are the rows of a value; null: they are none.
  const Node* ColumnsOf(const Value& rows) const {
    const Value* value = &rows;
    const auto keeps_sequence = [](const Node& node) {
      return IsReshape(node) || node.kind() == c10::aten::contiguous;
    };
    while (keeps_sequence(*value->node()) && !memory_.MayBeWritten(*value)) value = value->node()->input(0);
    const Node* swap = value->node();
    if (memory_.MayBeWritten(*value) || !SwapsLastTwo(*swap, facts_)) return nullptr;
    const Node* columns = swap->input(0)->node();
    return columns->kind() == c10::aten::im2col ? columns : nullptr;
  }

  // Images with the channels innermost in memory, without axes of one element.
  Value* ChannelsLast(const WindowCall& call, Value* images, const Node* like) const {
    images = WithoutCopies(images, like);
    const int64_t channels = call.batch ? 1 : 0;
    Sizes order;
    if (call.batch) order.push_back(0);
    for (int64_t i = 2, next = channels + 1; i > 0; --i) {
      if (call.axes[i - 1].size != 1) {
        order.push_back(next++);
        continue;
      }
      images = edits_.Infer(Operate(graph_, c10::aten::squeeze, "dim", {images, edits_.Constant(channels + i)}, like));
    }
    order.push_back(channels);
    Value* turned = edits_.Infer(Operate(graph_, c10::aten::permute, "", {images, edits_.Constant(order)}, like));
    return facts_.Of(*turned).contiguous() ? turned : edits_.Contiguous(turned, like);
  }

  // The same elements as they lay before they were copied to another order.
  Value* WithoutCopies(Value* value, const Node* like) const {
    const Node* node = value->node();
    if (node->op() == nullptr || memory_.MayBeWritten(*value)) return value;
    if (node->kind() == c10::aten::contiguous) {
      return memory_.MayBeWritten(*node->input(0)) ? value : WithoutCopies(node->input(0), like);
    }
    if (node->kind() != c10::aten::unsqueeze) return value;
    Value* before = WithoutCopies(node->input(0), like);
    if (before == node->input(0)) return value;
    return edits_.Infer(Operate(graph_, c10::aten::unsqueeze, "", {before, node->input(1)}, like));
  }

  // What the windows have in one place of an axis.
  Value* Part(Value* images, const WindowCall::Axis& axis, size_t dimension, int64_t place, const Node* like) const {
    if (axis.kernel == 1 && axis.step == 1) return images;
    const int64_t begin = place * axis.dilation, end = begin + (axis.places() - 1) * axis.step + 1;
    return Slice(images, static_cast<int64_t>(dimension), begin, end, axis.step, like);
  }

  Value* Slice(Value* value, int64_t dimension, int64_t begin, int64_t end, int64_t step, const Node* like) const {
    return edits_.Infer(Operate(
        graph_, c10::aten::slice, "Tensor",
        {value, edits_.Constant(dimension), edits_.Constant(begin), edits_.Constant(end), edits_.Constant(step)},
        like));
  }

  Graph& graph_;
  ValueFactTable& facts_;
  const WrittenMemory& memory_;
  const InferringEdits edits_;
  bool changed_ = false;
};

}  // namespace

bool SumSmallProducts(Compilation& compilation) { return MakesGpuKernels(compilation) && Summer(compilation).Run(); }

}  // namespace hearth
