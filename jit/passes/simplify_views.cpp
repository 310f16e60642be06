#include "jit/passes/simplify_views.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "jit/analysis/fact_queries.h"
#include "jit/analysis/number_of.h"
#include "jit/analysis/pure_nodes.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/views.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/definition.h"
#include "jit/definitions/fact_rules.h"
#include "jit/definitions/node_effects.h"
#include "jit/definitions/value_facts.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

// Whether somebody asks whether two tensors are one.
bool ComparesIdentity(const Block& block) {
  for (const Node* node : block) {
    if (node->kind() == c10::aten::__is__ || node->kind() == c10::aten::__isnot__) {
      const auto may_be_tensor = [](const Value* value) {
        const c10::IValue* constant = ConstantOf(*value);
        return constant != nullptr ? !constant->isNone() : HasMemory(*value->type());
      };
      if (std::ranges::all_of(node->inputs(), may_be_tensor)) return true;
    }
    for (const Block* nested : node->blocks()) {
      if (ComparesIdentity(*nested)) return true;
    }
  }
  return false;
}

// Whether somebody looks behind a tensor, at its storage and where in it the tensor begins.
bool LooksAtStorage(const Block& block) {
  for (const Node* node : block) {
    if (DefinitionOf(node->kind()).looks_at_storage) return true;
    for (const Block* nested : node->blocks()) {
      if (LooksAtStorage(*nested)) return true;
    }
  }
  return false;
}

class Simplifier {
 public:
  explicit Simplifier(Compilation& compilation)
      : graph_(compilation.graph()),
        facts_(compilation.NewFacts()),
        pure_(compilation.pure_nodes()),
        copies_matter_(LooksAtStorage(*graph_.block())),
        records_gradients_(MayRecordGradients(*compilation.source().block())) {}

  bool Run() {
    if (ComparesIdentity(*graph_.block())) return false;
    FindKept(*graph_.block());
    Walk(graph_.block());
    return changed_;
  }

 private:
  void Walk(Block* block) {
    const ValueFactTable::Scope learned_here(&facts_, *block);
    for (Node* node : *block) {
      if (node->blocks().empty()) {
        facts_.Infer(*node);
        Visit(node);
        continue;
      }
      facts_.Enter(*node);
      if (!IsClosure(*node)) {
        for (Block* nested : node->blocks()) Walk(nested);
      }
      facts_.Leave(*node);
    }
  }

  void Visit(Node* node) {
    if (node->op() == nullptr || node->outputs().size() != 1 || node->inputs().empty()) return;
    if (node->output()->type()->kind() != c10::TypeKind::TensorType) return;
    if (!IsTensor(*node->input(0)) || !pure_.IsPure(*node)) return;
    if (OnlyOperatorsUse(*node->output())) {
      if (IsItsInput(*node)) return Replace(node, node->input(0));
      if (IsWhatItReads(*node)) return Replace(node, node->input(1));
    }
    if (IsReshape(*node)) return ViewOfView(node);
    if (ExpandsOperands(*node)) return ReadUnexpanded(node);
    Rearranged(node);
  }

  // ---- What the baseline is handed, which may write it where the plan does not: behind a guard ----

  void FindKept(const Block& block) {
    for (const Node* node : block) {
      if (node->kind() == sym::kFrameState) {
        for (const Value* input : node->inputs()) kept_.insert(facts_.memory().aliases().ClassOf(*input));
      }
      for (const Block* nested : node->blocks()) FindKept(*nested);
    }
  }

  // What is made in the run has none where nothing records any; arguments and weights may.
  bool HasNoGradients(const Value& value) const {
    if (facts_.Of(value).requires_grad == false) return true;
    const AliasClasses& aliases = facts_.memory().aliases();
    const size_t alias_class = aliases.ClassOf(value);
    if (records_gradients_ || alias_class == AliasClasses::kNoMemory) return false;
    const AliasClasses::Facts& reached = aliases.FactsOf(alias_class);
    return !reached.state && !reached.argument && !reached.called;
  }

  static bool OnlyOperatorsUse(const Value& value) {
    return std::ranges::all_of(value.uses(), [](const Use& use) {
      return use.user->op() != nullptr ||
             (use.user->kind() == sym::kListConstruct && OnlyOperatorsUse(*use.user->output()));
    });
  }

  bool IsTensor(const Value& value) const { return facts_.Of(value).is_tensor(); }

  // ---- What changes nothing ----

  bool IsItsInput(const Node& node) {
    const Symbol kind = node.kind();
    const ValueFacts& from = facts_.Of(*node.input(0));
    const ValueFacts& to = facts_.Of(*node.output());
    if (kind == c10::aten::detach || kind == c10::aten::alias) return from.requires_grad == false;
    if (kind == c10::aten::clone) return IsCopyInPlace(node, from);
    if (!HasSizesOf(to, from)) return false;
    if (kind == c10::aten::pad || kind == c10::aten::constant_pad_nd) return IsPaddedByNothing(node, from);
    if (kind == c10::aten::expand) return IsAskedFor(*node.input(1), *from.sizes);
    if (IsReshape(node)) return from.default_strides() && IsSoundView(node, facts_);
    return kind == c10::aten::slice && node.inputs().size() == 5 && IntegerOf(*node.input(4)) == 1;
  }

  // A copy with the strides of the original.
  bool IsCopyInPlace(const Node& node, const ValueFacts& from) const {
    const c10::IValue* format = ConstantOf(*node.input(1));
    if (!MayBeOriginal(node)) return false;
    if (format == nullptr || !from.plain || from.requires_grad != false) return false;
    if (format->isNone()) return from.contiguous();
    return from.default_strides() && format->isInt() &&
           format->toInt() == static_cast<int64_t>(c10::MemoryFormat::Contiguous);
  }

  // A copy, too.
  bool IsPaddedByNothing(const Node& node, const ValueFacts& from) const {
    const std::optional<KnownSizes>& widths = facts_.Of(*node.input(1)).sizes;
    const c10::IValue* mode = ConstantOf(*node.input(2));
    if (!widths || mode == nullptr) return false;
    const bool is_constant = node.kind() != c10::aten::pad || (mode->isString() && mode->toStringRef() == "constant");
    return is_constant && std::ranges::all_of(*widths, [](KnownSize width) { return width == 0; }) && from.plain &&
           HasNoGradients(*node.input(0)) && from.default_strides() && MayBeOriginal(node);
  }

  // A tensor whose elements become those of another, which lies in memory as it does.
  bool IsWhatItReads(const Node& node) const {
    if (node.kind() != c10::aten::copy || !IsTensor(*node.input(1)) || !MayBeOriginal(node)) return false;
    const ValueFacts& kept = facts_.Of(*node.input(0));
    const ValueFacts& read = facts_.Of(*node.input(1));
    return read.requires_grad == false && HaveSameSizes(read, kept) && HaveSameStrides(read, kept);
  }

  // Whether nobody could tell that a copy and its original are one.
  bool MayBeOriginal(const Node& copy) const {
    return !copies_matter_ && kept_.count(facts_.memory().aliases().ClassOf(*copy.output())) == 0;
  }

  static bool HasSizesOf(const ValueFacts& a, const ValueFacts& b) {
    return a.sizes && a.sizes == b.sizes && std::ranges::all_of(*a.sizes, &KnownSize::is_known);
  }

  // Whether a list of sizes is that, but for some that are left open.
  bool IsAskedFor(const Value& list, const KnownSizes& sizes) const {
    const std::optional<KnownSizes>& asked = facts_.Of(list).sizes;
    if (!asked || asked->size() != sizes.size()) return false;
    return std::ranges::equal(*asked, sizes, [](KnownSize one, KnownSize size) { return one == -1 || one == size; });
  }

  // ---- Views of views ----

  void ViewOfView(Node* node) {
    Node* before = node->input(0)->node();
    if (before->op() == nullptr || !IsReshape(*before) || !facts_.Of(*before->input(0)).default_strides()) return;
    if (!IsSoundView(*before, facts_)) return;
    if (node->kind() == c10::aten::view || node->kind() == c10::aten::reshape) {
      node->ReplaceInput(0, before->input(0));
    } else {
      const std::optional<std::vector<int64_t>> sizes = OneOpen(facts_.Of(*node->output()));
      if (!sizes || !IsSoundView(*node, facts_)) return;
      const InsertionGuard here(&graph_, node);
      graph_.SetCurrentRange(node->range());
      Replace(node, Make(c10::aten::view, "", {before->input(0), graph_.InsertConstant(c10::IValue(*sizes))}, *node));
    }
    changed_ = true;
    DestroyUnused(before);
  }

  // Sizes to ask a view for, -1 for what is no constant.
  static std::optional<std::vector<int64_t>> OneOpen(const ValueFacts& facts) {
    std::vector<int64_t> sizes;
    for (const KnownSize size : *facts.sizes) sizes.push_back(size.value_or(-1));
    const bool any = std::ranges::find(sizes, 0) != sizes.end();
    return any || std::ranges::count(sizes, -1) > 1 ? std::nullopt : std::optional(sizes);
  }

  // ---- Operands that are expanded to the sizes that their user would expand them to ----

  // Of those that a kernel can compute it is known. A copy has the sizes of its first operand.
  static bool ExpandsOperands(const Node& node) {
    const OperatorDefinition& definition = DefinitionOf(node.kind());
    return definition.kind == OperatorClass::kPointwise && definition.scalar != nullptr &&
           node.kind() != c10::aten::copy;
  }

  void ReadUnexpanded(Node* node) {
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      Node* const before = node->input(i)->node();
      if (!IsExpansion(*before) || !IsExpandedAlike(*node, i, facts_.Of(*before->input(0)))) continue;
      node->ReplaceInput(i, before->input(0));
      facts_.Infer(*node);
      changed_ = true;
      if (!before->output()->HasUses()) before->Destroy();
    }
  }

  static bool IsExpansion(const Node& node) {
    return node.op() != nullptr && (node.kind() == c10::aten::expand || node.kind() == c10::aten::expand_as);
  }

  // Whether the user's result is the same if input `i` has not been expanded: other operands have the sizes to which it
  // was. A dimension more might have a stride that the order of the result depends on.
  bool IsExpandedAlike(const Node& user, size_t i, const ValueFacts& from) const {
    const ValueFacts& to = facts_.Of(*user.output());
    if (!from.plain || !from.sizes || !to.sizes || from.sizes->size() != to.sizes->size()) return false;
    const auto fits = [](KnownSize size, KnownSize all) { return size.is_known() && (size == 1 || size == all); };
    if (!std::ranges::equal(*from.sizes, *to.sizes, fits)) return false;
    for (size_t dimension = 0; dimension < to.sizes->size(); ++dimension) {
      const bool is_expanded = (*from.sizes)[dimension] != (*to.sizes)[dimension];
      if (is_expanded && !IsSizeOfOther(user, i, dimension, *to.sizes)) return false;
    }
    return true;
  }

  // Whether another operand than input `i` has the size that its user's result has in a dimension.
  bool IsSizeOfOther(const Node& user, size_t i, size_t dimension, const KnownSizes& result) const {
    for (size_t other = 0; other < user.inputs().size(); ++other) {
      const ValueFacts& facts = facts_.Of(*user.input(other));
      if (other == i || !facts.is_tensor() || !facts.sizes || facts.sizes->size() > result.size()) continue;
      const size_t missing = result.size() - facts.sizes->size();
      if (dimension >= missing && (*facts.sizes)[dimension - missing] == result[dimension]) return true;
    }
    return false;
  }

  // ---- Dimensions in another order ----

  static constexpr int kMade = -1;
  struct Arrangement {
    Value* source;
    std::vector<int> from;  // by dimension, which one of the source's it is, or kMade with the size 1
    size_t rank;            // of the source
    bool all = true;        // none of the source's is missing
    size_t length = 0;      // how many nodes it takes
  };

  Arrangement ArrangementOf(Value* value) const {
    if (const auto found = arranged_.find(value); found != arranged_.end()) return found->second;
    const size_t rank = *facts_.Of(*value).rank();
    Arrangement as_it_is{value, std::vector<int>(rank), rank};
    std::iota(as_it_is.from.begin(), as_it_is.from.end(), 0);
    return as_it_is;
  }

  void Rearranged(Node* node) {
    if (!facts_.Of(*node->input(0)).rank() || !facts_.Of(*node->output()).rank()) return;
    Arrangement arrangement = ArrangementOf(node->input(0));
    if (!Apply(*node, &arrangement)) return;
    ++arrangement.length;
    Node* const before = node->input(0)->node();
    if (arrangement.length > 1 && arrangement.all) {
      if (Value* replacement = MakeArranged(arrangement, node)) {
        Replace(node, replacement);
        if (replacement != arrangement.source) arrangement.length = 1, arranged_[replacement] = std::move(arrangement);
        return DestroyUnused(before);
      }
    }
    arranged_[node->output()] = std::move(arrangement);
  }

  static bool Apply(const Node& node, Arrangement* arrangement) {
    std::vector<int>& from = arrangement->from;
    const auto dim = [&](size_t input, size_t rank) { return Dimension(IntegerOf(*node.input(input)), rank); };
    if (node.kind() == c10::aten::t) {
      std::ranges::reverse(from);
      return from.size() <= 2;
    }
    if (node.kind() == c10::aten::transpose) {
      const auto a = dim(1, from.size()), b = dim(2, from.size());
      if (!a || !b || from.empty()) return false;
      std::swap(from[*a], from[*b]);
      return true;
    }
    if (node.kind() == c10::aten::permute) {
      const c10::IValue* dims = ConstantOf(*node.input(1));
      if (dims == nullptr || !dims->isIntList() || dims->toListRef().size() != from.size()) return false;
      std::vector<int> permuted;
      for (const int64_t number : dims->toIntVector()) {
        const auto at = Dimension(number, from.size());
        if (!at) return false;
        permuted.push_back(from[*at]);
      }
      from = std::move(permuted);
      return true;
    }
    if (node.kind() == c10::aten::unsqueeze) {
      const auto at = dim(1, from.size() + 1);
      if (at) from.insert(from.begin() + static_cast<std::ptrdiff_t>(*at), kMade);
      return at.has_value();
    }
    if (node.kind() != c10::aten::squeeze || node.inputs().size() != 2) return false;
    const auto at = dim(1, from.size());
    // One of the source's may have another size, in some run.
    if (!at || from.empty() || from[*at] != kMade) return false;
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(*at));
    return true;
  }

  // Null if it takes as many nodes as there are.
  Value* MakeArranged(const Arrangement& arrangement, Node* before) {
    const std::vector<int>& from = arrangement.from;
    if (from.size() != arrangement.rank || std::ranges::find(from, kMade) != from.end()) return nullptr;
    std::vector<int64_t> moved;
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] != static_cast<int>(i)) moved.push_back(static_cast<int64_t>(i));
    }
    if (moved.empty()) return arrangement.source;
    const InsertionGuard here(&graph_, before);
    graph_.SetCurrentRange(before->range());
    if (moved.size() == 2) {
      return Make(c10::aten::transpose, "int",
                  {arrangement.source, graph_.InsertConstant(moved[0]), graph_.InsertConstant(moved[1])}, *before);
    }
    const std::vector<int64_t> dims(from.begin(), from.end());
    return Make(c10::aten::permute, "", {arrangement.source, graph_.InsertConstant(c10::IValue(dims))}, *before);
  }

  // ---- Nodes ----

  Value* Make(Symbol kind, const char* overload, std::initializer_list<Value*> inputs, const Node& like) {
    Value* made = Operate(graph_, kind, overload, inputs, &like);
    made->SetName(like.output()->name());
    for (Value* input : inputs) {
      if (input->node()->kind() == sym::kConstant) facts_.Infer(*input->node());
    }
    facts_.Infer(*made->node());
    return made;
  }

  void Replace(Node* node, Value* value) {
    node->output()->ReplaceAllUsesWith(value);
    node->Destroy();
    changed_ = true;
  }

  // Views that were looked through and that do not raise.
  void DestroyUnused(Node* node) {
    while (node->outputs().size() == 1 && !node->output()->HasUses() && node->op() != nullptr) {
      const bool known = arranged_.count(node->output()) != 0 || IsSoundView(*node, facts_);
      if (!known) return;
      Node* const before = node->input(0)->node();
      arranged_.erase(node->output());
      node->Destroy();
      node = before;
    }
  }

  Graph& graph_;
  ValueFactTable facts_;
  const PureNodes& pure_;
  const bool copies_matter_;
  const bool records_gradients_;
  std::unordered_set<size_t> kept_;  // alias classes
  std::unordered_map<const Value*, Arrangement> arranged_;
  bool changed_ = false;
};

}  // namespace

bool SimplifyViews(Compilation& compilation) { return Simplifier(compilation).Run(); }

}  // namespace hearth
