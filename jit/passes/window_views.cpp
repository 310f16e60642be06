#include "jit/passes/window_views.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/visible_strides.h"
#include "jit/analysis/window_call.h"
#include "jit/compiler/compilation.h"
#include "jit/graph_edits/inferring_edits.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/passes/gpu_kernels.h"

namespace hearth {
namespace {

class Viewer {
 public:
  explicit Viewer(Compilation& compilation)
      : graph_(compilation.graph()), facts_(compilation.facts()), edits_(graph_, compilation.facts()) {}

  bool Run() {
    const auto is_known = [](const Node& node) { return node.kind() == c10::aten::im2col; };
    for (Node* node : NodesOutsideClosures(*graph_.block(), is_known)) {
      const std::optional<WindowCall> call = WindowCall::Of(*node, facts_);
      if (!call) continue;
      const InsertionGuard here(&graph_, node);
      graph_.SetCurrentRange(node->range());
      if (IsCopiedSwapped(*node->output())) {
        Value* made = Copied(*call, node, Layout::kSwapped);
        while (node->output()->HasUses()) Replace(node->output()->uses().front().user, made);
        node->Destroy();
      } else {
        Replace(node, Copied(*call, node, Layout::kAsAskedFor));
      }
      changed_ = true;
    }
    return changed_;
  }

 private:
  enum class Layout : uint8_t {
    kAsAskedFor,  // the elements of the windows, and then their places
    kSwapped,     // the places first
  };

  static void Replace(Node* node, Value* made) {
    made->SetName(node->output()->name());
    node->output()->ReplaceAllUsesWith(made);
    node->Destroy();
  }

  // Whether it is only used with its last two dimensions swapped, in ways that are likely to copy that.
  bool IsCopiedSwapped(const Value& columns) const {
    const auto copies = [](const Use& use) {
      const Symbol kind = use.user->kind();
      return kind == c10::aten::contiguous || kind == c10::aten::reshape || kind == c10::aten::flatten ||
             kind == c10::aten::clone;
    };
    return columns.HasUses() && std::ranges::all_of(columns.uses(), [&](const Use& use) {
             return use.offset == 0 && SwapsLastTwo(*use.user, facts_) &&
                    std::ranges::all_of(use.user->output()->uses(), copies) &&
                    !OrderMayShow(*use.user->output(), facts_);
           });
  }

  Value* Copied(const WindowCall& call, Node* node, Layout layout) const {
    const int64_t first = call.batch ? 1 : 0;  // dimension of the channels
    std::vector<int64_t> of_window{first}, of_place{first + 1, first + 2};
    Value* view = Padded(call, node);
    for (size_t i = 0; i < 2; ++i) {
      const WindowCall::Axis& axis = call.axes[i];
      if (axis.kernel == 1 && axis.step == 1) continue;
      const std::vector<Value*> numbers{view, edits_.Constant(of_place[i]), edits_.Constant(axis.reach()),
                                        edits_.Constant(axis.step)};
      view =
          edits_.Infer(Operate(graph_, c10::aten::unfold, "", {numbers[0], numbers[1], numbers[2], numbers[3]}, node));
      of_window.push_back(first + 2 + static_cast<int64_t>(of_window.size()));
      if (axis.dilation > 1 && axis.kernel > 1) {
        view = edits_.Infer(Operate(graph_, c10::aten::slice, "Tensor",
                                    {view, edits_.Constant(int64_t{-1}), edits_.Constant(int64_t{0}), numbers[2],
                                     edits_.Constant(axis.dilation)},
                                    node));
      }
    }
    const bool is_swapped = layout == Layout::kSwapped;
    std::vector<int64_t> order, sizes;
    if (call.batch) order.push_back(0), sizes.push_back(*call.batch);
    for (const std::vector<int64_t>* part : {is_swapped ? &of_place : &of_window, is_swapped ? &of_window : &of_place})
      order.insert(order.end(), part->begin(), part->end());
    const int64_t elements = call.channels * call.elements();
    sizes.push_back(is_swapped ? call.places() : elements);
    sizes.push_back(is_swapped ? elements : call.places());
    if (!std::ranges::is_sorted(order))
      view = edits_.Infer(Operate(graph_, c10::aten::permute, "", {view, edits_.Constant(order)}, node));
    // New memory, as im2col's, also where the windows lie in the images as they are asked for.
    Value* format = edits_.Constant(static_cast<int64_t>(c10::MemoryFormat::Contiguous));
    Value* copy = edits_.Infer(Operate(graph_, c10::aten::clone, "", {view, format}, node));
    return edits_.Infer(Operate(graph_, c10::aten::view, "", {copy, edits_.Constant(sizes)}, node));
  }

  Value* Padded(const WindowCall& call, Node* node) const {
    const int64_t rows = call.axes[0].padding, columns = call.axes[1].padding;
    if (rows == 0 && columns == 0) return node->input(0);
    Value* widths = edits_.Constant(std::vector<int64_t>{columns, columns, rows, rows});
    return edits_.Infer(
        Operate(graph_, c10::aten::constant_pad_nd, "", {node->input(0), widths, edits_.Constant(int64_t{0})}, node));
  }

  Graph& graph_;
  ValueFactTable& facts_;
  const InferringEdits edits_;
  bool changed_ = false;
};

}  // namespace

bool ViewWindows(Compilation& compilation) { return MakesGpuKernels(compilation) && Viewer(compilation).Run(); }

}  // namespace hearth
