#include "jit/passes/reinplace.h"

#include <ATen/core/ivalue.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "jit/analysis/fact_queries.h"
#include "jit/analysis/tensor_bases.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/visible_strides.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/fact_rules.h"
#include "jit/definitions/in_place_forms.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/operators/registry.h"

namespace hearth {
namespace {

// Arithmetic reads each element of an operand before it writes the one in its place.
bool IsArithmetic(const Node& node) {
  const Symbol kind = node.kind();
  return kind == c10::aten::add || kind == c10::aten::sub || kind == c10::aten::mul || kind == c10::aten::div;
}

bool IsScatter(const Node& node) {
  return node.kind() == c10::aten::slice_scatter || node.kind() == c10::aten::select_scatter;
}

class Reinplacer {
 public:
  explicit Reinplacer(Compilation& compilation)
      : graph_(compilation.graph()), facts_(compilation.facts()), bases_(graph_, facts_) {}

  bool Run() {
    Walk(*graph_.block());
    for (Node* node : writes_) MakeWrite(node);
    for (Node* node : kept_) {
      node->output()->ReplaceAllUsesWith(node->input(0));
      node->Destroy();
    }
    return !writes_.empty();
  }

 private:
  void Walk(const Block& block) {
    for (Node* node : block) {
      if (!IsClosure(*node)) {
        for (const Block* inner : node->blocks()) Walk(*inner);
      }
      if (node->op() == nullptr || node->outputs().size() != 1 || node->inputs().empty()) continue;
      if (IsScatter(*node)) {
        TryScatter(node);
      } else if (HasFasterForm(*node) && GivesItsKind(*node) && IsWhole(*node->input(0)) && MayTakeOver(*node, {})) {
        TakeOver(node);
      }
    }
  }

  // ---- Operators ----

  static bool HasFasterForm(const Node& node) {
    const Operator* form = InPlaceForm(*node.op());
    return form != nullptr && (form->native() != nullptr || node.op()->native() == nullptr);
  }

  // Whether what it gives is like its first operand.
  bool GivesItsKind(const Node& node) const {
    const ValueFacts& from = facts_.Of(*node.input(0));
    const ValueFacts& to = facts_.Of(*node.output());
    if (!HaveSameSizes(from, to)) return false;
    // Of no elements, strides are whatever the operator makes them.
    if (to.sizes && std::ranges::count(*to.sizes, KnownSize(0)) > 0) return false;
    if (HaveSameStrides(from, to)) return true;
    // Nested alike, they differ in the strides of dimensions of size 1 at most.
    return from.order.IsLike(to.order) && !to.order.is_exact() && !StridesMayShow(*node.output(), facts_);
  }

  // Whether it has as many elements as its base, so that nothing else is kept with it.
  bool IsWhole(const Value& value) {
    const Value* base = bases_.BaseOf(value);
    if (base == nullptr || base == &value) return base != nullptr;
    const KnownSize elements = Elements(value);
    return elements.is_known() && elements == Elements(*base);
  }

  KnownSize Elements(const Value& tensor) {
    const std::optional<KnownSizes>& sizes = facts_.Of(tensor).sizes;
    return sizes ? Product(facts_.sizes(), *sizes, 0, sizes->size()) : KnownSize();
  }

  // Whether nobody but `later` reads the memory of the first operand once the node has run.
  bool MayTakeOver(const Node& node, const std::vector<const Node*>& later) const {
    const Value* base = bases_.BaseOf(*node.input(0));
    if (base == nullptr || !IsSameRound(*node.block(), *base->node()->block())) return false;
    const auto is_over = [&](const Node& other) {
      return ProgramOrder::AreExclusive(other, node) || bases_.order().End(other) < bases_.order().Begin(node);
    };
    const auto is_no_reader = [&](const Use& use) {
      if (use.user == &node) {
        return use.offset == 0 || (IsArithmetic(node) && node.input(use.offset) == node.input(0));
      }
      if (use.user->kind() == sym::kFrameState) return is_over(*use.user) && is_over(*EndOfState(*use.user));
      return is_over(*use.user) || std::ranges::find(later, use.user) != later.end();
    };
    const TensorBases::References& references = bases_.ReferencesTo(*base);
    const auto is_elsewhere = [&](const Node* escape) { return ProgramOrder::AreExclusive(*escape, node); };
    return std::ranges::all_of(references.escapes, is_elsewhere) && std::ranges::all_of(references.uses, is_no_reader);
  }

  // Up to where a run may go back to a FrameState.
  static const Node* EndOfState(const Node& state) {
    const Node* node = state.next();
    while (node->kind() != sym::kFrameState) {
      if (node->kind() != sym::kReturn) {
        node = node->next();
      } else if (node->block()->owner() == nullptr) {
        return node;
      } else {
        node = node->block()->owner()->next();
      }
    }
    return node;
  }

  void TakeOver(Node* node) {
    writes_.push_back(node);
    bases_.Join(*bases_.BaseOf(*node->input(0)), *node->output());
  }

  // ---- Slices ----

  void TryScatter(Node* node) {
    if (!MayTakeOver(*node, {})) return;
    // Where the slice was computed of what is there now, it may be written right there.
    std::vector<const Node*> later = {node};
    Node* write = node;
    for (Node* maker = MakerInPlace(*node); maker != nullptr && MayTakeOver(*maker, later);) {
      kept_.push_back(write);
      later.push_back(maker);
      write = maker;
      maker = IsScatter(*maker) ? MakerInPlace(*maker) : nullptr;
    }
    const Value& base = *bases_.BaseOf(*node->input(0));
    for (const Node* scatter : later) bases_.Join(base, *scatter->output());
    writes_.push_back(write);
  }

  // The node that makes the slice for this scatter alone, of the same slice of the same tensor, and could write it;
  // null if there is none.
  Node* MakerInPlace(const Node& scatter) const {
    const Value& slice = *scatter.input(1);
    Node* const maker = slice.node();
    if (maker->op() == nullptr || maker->outputs().size() != 1 || maker->inputs().empty()) return nullptr;
    if (maker->block() != scatter.block() || slice.uses().size() != 1) return nullptr;
    const Node& view = *maker->input(0)->node();
    if (view.kind() != (scatter.kind() == c10::aten::select_scatter ? c10::aten::select : c10::aten::slice))
      return nullptr;
    if (view.input(0) != scatter.input(0) ||
        !std::ranges::equal(view.inputs().subspan(1), scatter.inputs().subspan(2))) {
      return nullptr;
    }
    if (IsScatter(*maker)) return maker;
    return HasFasterForm(*maker) && HaveSameSizes(facts_.Of(*maker->input(0)), facts_.Of(slice)) ? maker : nullptr;
  }

  // ---- Nodes ----

  void MakeWrite(Node* node) {
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    Value* result = node->input(0);
    if (!IsScatter(*node)) {
      result = OperateInstead(graph_, *InPlaceForm(*node->op()), node->inputs(), *node);
    } else {
      std::vector<Value*> inputs = {result};
      inputs.insert(inputs.end(), node->inputs().begin() + 2, node->inputs().end());
      const bool selects = node->kind() == c10::aten::select_scatter;
      Value* slice = OperateInstead(
          graph_, *Find(selects ? c10::aten::select : c10::aten::slice, selects ? "int" : "Tensor"), inputs, *node);
      inputs = {slice, node->input(1), graph_.InsertConstant(false)};
      OperateInstead(graph_, *Find(c10::aten::copy_, ""), inputs, *node);
    }
    node->output()->ReplaceAllUsesWith(result);
    node->Destroy();
  }

  static const Operator* Find(Symbol symbol, const char* overload) {
    return OperatorRegistry::Global().Find(symbol, overload);
  }

  Graph& graph_;
  ValueFactTable& facts_;
  TensorBases bases_;
  std::vector<Node*> writes_;  // what becomes one
  std::vector<Node*> kept_;    // scatters that give their first operand, which was written before
};

}  // namespace

bool Reinplace(Compilation& compilation) {
  return !MayRecordGradients(*compilation.source().block()) && Reinplacer(compilation).Run();
}

}  // namespace hearth
