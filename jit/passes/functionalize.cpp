#include "jit/passes/functionalize.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <ranges>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/analysis/anchors.h"
#include "jit/analysis/fact_queries.h"
#include "jit/analysis/tensor_bases.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/visible_strides.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/in_place_forms.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/ir/contains.h"
#include "jit/ir/symbols.h"
#include "jit/operators/registry.h"

namespace hearth {
namespace {

bool IsNoAnchor(const Node& node) {
  return node.kind() == sym::kFrameState && node.attribute<int64_t>(sym::kAnchorAttr) == kNoAnchor;
}

// Of a node that gives back its first input.
bool GivesSameTensor(const Node& node) { return WritesInPlace(node) || node.kind() == sym::kUncheckedCast; }

bool IsWholeSlice(const Node& slice) {
  const auto is = [&](size_t input, int64_t number) {
    const c10::IValue* constant = ConstantOf(*slice.input(input));
    return constant != nullptr && (constant->isNone() || (constant->isInt() && constant->toInt() == number));
  };
  return is(2, 0) && is(3, std::numeric_limits<int64_t>::max()) && is(4, 1);
}

bool CanScatter(const Node& view) {
  return view.kind() == c10::aten::select ? view.inputs().size() == 3
                                          : view.kind() == c10::aten::slice && view.inputs().size() == 5;
}

class Functionalizer {
 public:
  explicit Functionalizer(Compilation& compilation)
      : graph_(compilation.graph()),
        facts_(compilation.NewFacts()),
        all_facts_(compilation.facts()),
        bases_(graph_, all_facts_) {}

  bool Run() {
    Walk(graph_.block());
    for (Node* node : written_ | std::views::reverse) node->Destroy();
    for (Node* view : views_ | std::views::reverse) {
      if (!view->output()->HasUses()) view->Destroy();
    }
    return !written_.empty();
  }

 private:
  // What stands for a base and its views since the last write to them.
  struct Current {
    Value* whole;
    std::unordered_map<const Value*, Value*> views;
  };

  void Walk(Block* block) {
    const ValueFactTable::Scope learned_here(&facts_, *block);
    for (Node* node : *block) {
      if (node->blocks().empty()) {
        Visit(node);
        continue;
      }
      UseCurrent(node);
      facts_.Enter(*node);
      if (node->kind() == sym::kIf) {
        WalkBranches(node);
      } else if (!IsClosure(*node)) {
        const auto before = current_;
        for (Block* inner : node->blocks()) Walk(inner);
        current_ = before;
      }
      facts_.Leave(*node);
    }
    UseCurrent(block->return_node());
  }

  void Visit(Node* node) {
    if (node->outputs().size() == 1 && bases_.BaseOf(*node->output()) != nullptr && !node->inputs().empty()) {
      of_[node->output()] = node->input(0);
      if (bases_.BaseOf(*node->output()) != node->output() && !GivesSameTensor(*node) && node->output()->HasUses()) {
        views_.push_back(node);
      }
    }
    if (WritesInPlace(*node) && IsUnseen(*node) && Replace(node)) return;
    UseCurrent(node);
    facts_.Infer(*node);
    for (const Value* output : node->outputs()) {
      const auto found = current_.find(bases_.BaseOf(*output));
      if (found != current_.end()) found->second.views[output] = node->output();
    }
  }

  // ---- Branches ----

  void WalkBranches(Node* node) {
    const auto before = current_;
    std::vector<std::unordered_map<const Value*, Current>> after;
    for (Block* block : node->blocks()) {
      current_ = before;
      Walk(block);
      after.push_back(std::move(current_));
    }
    current_ = before;
    const auto whole = [](const auto& current, const Value* base) {
      const auto found = current.find(base);
      return found == current.end() ? const_cast<Value*>(base) : found->second.whole;
    };
    std::vector<const Value*> changed;
    for (const auto& branch : after) {
      for (const auto& [base, current] : branch) {
        const bool is_outside = bases_.order().Begin(*base->node()) < bases_.order().Begin(*node);
        if (is_outside && current.whole != whole(before, base) && IsUsedAfter(*base, *node)) changed.push_back(base);
      }
    }
    std::ranges::sort(changed, {}, &Value::id);
    const auto [rest, end] = std::ranges::unique(changed);
    changed.erase(rest, end);
    for (const Value* base : changed) {
      for (size_t i = 0; i < after.size(); ++i) node->block(i)->AddReturn(whole(after[i], base));
      Value* merged = node->AddOutput(base->type());
      merged->SetName(base->name());
      current_[base] = {merged, {}};
    }
  }

  bool IsUsedAfter(const Value& base, const Node& node) const {
    return std::ranges::any_of(bases_.ReferencesTo(base).uses, [&](const Use& use) {
      return bases_.order().Begin(*use.user) > bases_.order().End(node);
    });
  }

  // ---- What stands for what was written ----

  void UseCurrent(Node* node) {
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      Value* current = CurrentOf(node->input(i), node);
      if (current != node->input(i)) node->ReplaceInput(i, current);
    }
  }

  // Views that were not taken since the last write are taken before `user`.
  Value* CurrentOf(Value* value, Node* user) {
    const Value* base = bases_.BaseOf(*value);
    if (base == nullptr) return value;
    const auto found = current_.find(base);
    if (found == current_.end()) return value;
    if (value == base) return found->second.whole;
    if (const auto view = found->second.views.find(value); view != found->second.views.end()) return view->second;
    const Node& taken = *value->node();
    Value* const of = CurrentOf(of_.at(value), user);
    Value* current = of;
    if (!GivesSameTensor(taken)) {
      std::vector<Value*> inputs(taken.inputs().begin(), taken.inputs().end());
      inputs[0] = of;
      const InsertionGuard here(&graph_, IsNoAnchor(*user->prev()) ? user->prev() : user);
      graph_.SetCurrentRange(taken.range());
      current = OperateLike(graph_, taken, inputs);
      facts_.Infer(*current->node());
    }
    current_.at(base).views[value] = current;
    return current;
  }

  // ---- Writes ----

  // Whether only Values that are known here can tell that the node writes.
  bool IsUnseen(const Node& node) const {
    const Value* base = bases_.BaseOf(*node.input(0));
    if (base == nullptr || IsNoAnchor(*node.prev()) || !IsSameRound(*node.block(), *base->node()->block()))
      return false;
    const TensorBases::References& references = bases_.ReferencesTo(*base);
    const ProgramOrder& order = bases_.order();
    const auto is_before = [&](const Node& other) { return order.MayPrecede(other, node); };
    const auto keeps_old = [&](const Use& use) {
      if (use.user->kind() == sym::kFrameState) return is_before(*use.user);
      const Value& value = *use.user->input(use.offset);
      return bases_.Holds(value, *base) && is_before(*value.node()) && !is_before(*use.user);
    };
    return std::ranges::none_of(references.escapes, [&](const Node* escape) { return is_before(*escape); }) &&
           std::ranges::none_of(references.uses, keeps_old);
  }

  bool Replace(Node* node) {
    Value* const written = node->input(0);
    const Value& base = *bases_.BaseOf(*written);
    const Operator* form = FunctionalForm(*node->op());
    const std::optional<std::vector<const Value*>> slices = SlicesTo(*written, base);
    if (form == nullptr || !slices || ReadsAnotherPart(*node, base)) return false;
    // A slice of all of it is the tensor itself, of which more is known.
    Value* const tensor = slices->empty() ? const_cast<Value*>(&base) : written;
    std::vector<Value*> inputs;
    for (Value* input : node->inputs()) inputs.push_back(CurrentOf(input == written ? tensor : input, node));

    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    const ValueFacts kept = facts_.Of(*inputs[0]);
    // Of the graph as it was: nothing is known of what is made here.
    const bool hides_ones = slices->empty() && !kept.order.is_exact() && !StridesMayShow(base, all_facts_);
    const bool copies =
        !slices->empty() && node->kind() == c10::aten::copy_ && HaveSameSizes(facts_.Of(*inputs[1]), kept);
    Value* value = copies ? inputs[1] : Make(*form, inputs, *node);
    const ValueFacts& given = facts_.Of(*value);
    if (!HaveSameSizes(given, kept) || (slices->empty() && !LieAlike(given, kept, hides_ones))) {
      value->node()->Destroy();
      return false;
    }
    for (const Value* slice : *slices | std::views::reverse) value = PutInto(*slice, value, node);
    current_[&base] = {value, {}};
    written_.push_back(node);
    return true;
  }

  // Whether what is given has the strides that the written tensor keeps; `hides_ones`: but perhaps in dimensions of
  // size 1.
  static bool LieAlike(const ValueFacts& given, const ValueFacts& kept, bool hides_ones) {
    return HaveSameStrides(given, kept) || (hides_ones && given.order.IsLike(kept.order));
  }

  // The views, of which each is a part of the one before it, that lead from a base to a view of it; the outermost one
  // first. Null if there is one that nothing can be put into.
  std::optional<std::vector<const Value*>> SlicesTo(const Value& view, const Value& base) const {
    std::vector<const Value*> slices;
    for (const Value* value = &view; value != &base; value = of_.at(value)) {
      const Node& taken = *value->node();
      if (GivesSameTensor(taken)) continue;
      if (!CanScatter(taken)) return {};
      if (taken.kind() == c10::aten::select || !IsWhole(*value)) slices.push_back(value);
    }
    std::ranges::reverse(slices);
    return slices;
  }

  // Whether a slice has all elements of what it was taken of.
  bool IsWhole(const Value& slice) const {
    return IsWholeSlice(*slice.node()) || HaveSameSizes(all_facts_.Of(slice), all_facts_.Of(*of_.at(&slice)));
  }

  // Whether it reads what it writes by another view, where the order of elements decides what is read.
  bool ReadsAnotherPart(const Node& node, const Value& base) const {
    return std::ranges::any_of(node.inputs().subspan(1), [&](const Value* input) {
      return bases_.Holds(*input, base) ||
             (bases_.BaseOf(*input) == &base && TensorOf(*input) != TensorOf(*node.input(0)));
    });
  }

  const Value* TensorOf(const Value& value) const {
    const Value* tensor = &value;
    while (tensor != bases_.BaseOf(value) && GivesSameTensor(*tensor->node())) tensor = of_.at(tensor);
    return tensor;
  }

  // The tensor that `slice` is a slice of, with `value` in the place of that.
  Value* PutInto(const Value& slice, Value* value, Node* node) {
    const Node& taken = *slice.node();
    std::vector<Value*> inputs = {CurrentOf(of_.at(&slice), node), value};
    inputs.insert(inputs.end(), taken.inputs().begin() + 1, taken.inputs().end());
    const bool selects = taken.kind() == c10::aten::select;
    return Make(*OperatorRegistry::Global().Find(selects ? c10::aten::select_scatter : c10::aten::slice_scatter, ""),
                inputs, *node);
  }

  Value* Make(const Operator& op, std::span<Value* const> inputs, const Node& like) {
    Value* made = OperateInstead(graph_, op, inputs, like);
    facts_.Infer(*made->node());
    return made;
  }

  Graph& graph_;
  ValueFactTable facts_;       // of what was walked
  ValueFactTable& all_facts_;  // of the graph as it was
  const TensorBases bases_;
  std::unordered_map<const Value*, Value*> of_;        // views and what writes give: what was viewed or written
  std::unordered_map<const Value*, Current> current_;  // by base, of those that were written
  std::vector<Node*> written_;                         // in order
  std::vector<Node*> views_;
};

}  // namespace

bool Functionalize(Compilation& compilation) {
  const Block& block = *compilation.source().block();
  if (MayRecordGradients(block) || !AnyNode(block, WritesInPlace)) return false;
  return Functionalizer(compilation).Run();
}

}  // namespace hearth
