#include "jit/passes/specialize_profile.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <unordered_set>
#include <utility>

#include "jit/analysis/anchors.h"
#include "jit/analysis/loop_size.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/definition.h"
#include "jit/definitions/node_effects.h"
#include "jit/definitions/operator_facts.h"
#include "jit/definitions/value_facts.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

// Branches with fewer nodes than this that give nothing are cheaper to run than to guess at.
constexpr size_t kHandful = 5;

bool Raises(const Block& block) {
  bool raises = false;
  for (const Node* node : block) raises |= node->kind() == sym::kRaiseException;
  return raises;
}

// Which tensors' dtype or rank somebody would make use of. Backwards through what has rules.
class Needs {
 public:
  explicit Needs(const Graph& graph) { Visit(*graph.block()); }
  bool Has(const Value& value) const { return needed_.count(&value) != 0; }

 private:
  void Visit(const Block& block) {
    for (const Node* node = block.return_node()->prev(); node != block.param_node(); node = node->prev()) {
      for (size_t i = 0; i < node->outputs().size(); ++i) {
        if (Has(*node->output(i))) Propagate(*node, i);
      }
      if (Asks(*node)) NeedInputs(*node);
      if (IsClosure(*node)) continue;
      for (const Block* nested : node->blocks()) Visit(*nested);
    }
  }

  void Propagate(const Node& node, size_t output) {
    if (node.kind() == sym::kIf || node.kind() == sym::kWith) {
      for (const Block* block : node.blocks()) needed_.insert(block->returns()[output]);
    } else if (node.kind() == sym::kLoop) {
      needed_.insert(node.block(0)->returns()[output + 1]);
      needed_.insert(node.input(output + 2));
    } else if (HasFactRule(node)) {
      NeedInputs(node);
    }
  }

  void NeedInputs(const Node& node) {
    for (const Value* input : node.inputs()) {
      if (IsTensor(*input)) needed_.insert(input);
    }
  }

  static bool Asks(const Node& node) {
    const OperatorClass kind = DefinitionOf(node.kind()).kind;
    return kind == OperatorClass::kTensorQuery || kind == OperatorClass::kConversion || node.kind() == c10::aten::len ||
           kind == OperatorClass::kProduct || kind == OperatorClass::kConvolution ||
           kind == OperatorClass::kNormalization;
  }

  std::unordered_set<const Value*> needed_;
};

class ProfileSpecializer {
 public:
  explicit ProfileSpecializer(Compilation& compilation)
      : graph_(compilation.graph()),
        facts_(compilation.NewFacts()),
        needs_(graph_),
        claims_(*compilation.claims()),
        questions_(compilation.report().questions) {}

  bool Run() {
    FindWritten(*graph_.block());
    VisitInputs();
    Walk(*graph_.block(), false);
    if (changed_) {
      for (const auto& [state, written] : written_) state->SetAttribute(sym::kWrittenAttr, written);
    }
    return changed_;
  }

 private:
  // What the baseline may write is not to be shared, nor made a constant, because the code that does so is not in the
  // plan any more.
  void FindWritten(const Block& block) {
    for (Node* node : block) {
      if (node->kind() == sym::kFrameState) {
        uint64_t written = 0;
        for (size_t i = 0; i < node->inputs().size(); ++i) {
          if (IsWritten(*node->input(i))) written |= uint64_t{1} << std::min<size_t>(i, 63);
        }
        if (written != 0) written_.emplace_back(node, static_cast<int64_t>(written));
      }
      for (const Block* nested : node->blocks()) FindWritten(*nested);
    }
  }

  bool IsWritten(const Value& value) const {
    const AliasClasses& aliases = facts_.memory().aliases();
    bool written = false;
    aliases.ForEachReachable(aliases.ClassOf(value),
                             [&](size_t alias_class) { written |= aliases.FactsOf(alias_class).written; });
    return written;
  }

  // ---- The walk ----

  void Walk(Block& block, bool covered) {
    const ValueFactTable::Scope learned_here(&facts_, block);
    const size_t in_sight = dimensions_.size();
    for (Node* node = block.param_node()->next(); node != block.return_node();) {
      if (node->kind() == sym::kFrameState) covered = node->attribute<int64_t>(sym::kAnchorAttr) != kNoAnchor;
      covered = VisitBlocks(*node, covered);
      Node* const after = node->next();
      for (Value* output : node->outputs()) Consider(*output, node, covered);
      // What was put right behind the node is to be seen too.
      node = after->prev() == node ? after : node->next();
    }
    dimensions_.resize(in_sight);
  }

  // Whether a FrameState still holds behind the node.
  bool VisitBlocks(Node& node, bool covered) {
    if (node.blocks().empty()) {
      facts_.Infer(node);
      return covered;
    }
    facts_.Enter(node);
    for (Block* block : node.blocks()) {
      if (!IsClosure(node)) Walk(*block, covered);
    }
    facts_.Leave(node);
    return covered && !ContainsFrameState(node);
  }

  // What callers give is checked at once.
  void VisitInputs() {
    Node* state = graph_.block()->param_node()->next();
    if (state->kind() != sym::kFrameState || state->attribute<int64_t>(sym::kAnchorAttr) == kNoAnchor) return;
    for (Value* input : graph_.inputs()) {
      if (const ValueObservation* seen = Ask(*input, IsRead(*input))) TryConstant(*input, *seen, state);
    }
  }

  static bool IsRead(const Value& value) {
    return std::ranges::any_of(value.uses(), [](const Use& use) { return use.user->kind() != sym::kFrameState; });
  }

  void Consider(Value& value, Node* node, bool covered) {
    if (claims_.values.count(value.id()) == 0) return;
    Node* const place = covered ? node : StateBehind(node);
    if (place == nullptr) return;
    if (value.type()->kind() == c10::TypeKind::BoolType) {
      if (const ValueObservation* seen = Ask(value, DecidesBranch(value))) TryConstant(value, *seen, place);
    } else if (value.type()->kind() == c10::TypeKind::IntType) {
      if (const ValueObservation* seen = Ask(value, CountsRounds(value))) TryRounds(value, *seen, place);
    } else if (MayBeSeveral(*value.type())) {
      if (const ValueObservation* seen = Ask(value, DecidesByKind(value))) TryKind(value, *seen, place);
    } else if (IsTensor(value)) {
      const ValueFacts& facts = facts_.Of(value);
      const bool asked = needs_.Has(value) && !facts_.memory().MayChangeShape(value);
      const bool open = asked && (!facts.dtype || !facts.rank());
      const bool broadcast = asked && claims_.values.at(value.id()).sizes_too && !AreConstant(facts.sizes) &&
                             std::ranges::any_of(value.uses(), [&](const Use& use) { return Broadcasts(*use.user); });
      const ValueObservation* seen = Ask(value, open || broadcast);
      if (seen == nullptr) return;
      Node* const last = open ? TryTensor(value, *seen, place) : place;
      if (broadcast) TrySizes(value, *seen, last);
    }
  }

  static bool AreConstant(const std::optional<KnownSizes>& sizes) {
    return sizes && std::ranges::all_of(*sizes, &KnownSize::has_value);
  }

  // Whether it gives a tensor of the sizes of two others, and somebody asks something of that.
  bool Broadcasts(const Node& node) const {
    const auto tensors = std::ranges::count_if(node.inputs(), [](const Value* input) { return IsTensor(*input); });
    return DefinitionOf(node.kind()).kind == OperatorClass::kPointwise && tensors > 1 && node.outputs().size() == 1 &&
           needs_.Has(*node.output());
  }

  static Node* StateBehind(Node* node) {
    for (Node* next = node->next(); next->kind() == sym::kFrameState; next = next->next()) {
      if (next->attribute<int64_t>(sym::kAnchorAttr) != kNoAnchor) return next;
    }
    return nullptr;
  }

  static bool DecidesBranch(const Value& value) {
    return std::ranges::any_of(value.uses(), [](const Use& use) {
      if (use.user->kind() != sym::kIf) return false;
      const Block& one = *use.user->block(0);
      const Block& other = *use.user->block(1);
      // One that raises has told what it knows by being there.
      if (Raises(one) || Raises(other)) return false;
      return !use.user->outputs().empty() || NumNodes(one) + NumNodes(other) >= kHandful;
    });
  }

  static bool IsRoundsOf(const Use& use, int64_t rounds) {
    return use.user->kind() == sym::kLoop && use.offset == 0 && MayUnroll(*use.user, rounds);
  }

  static bool CountsRounds(const Value& value) {
    return std::ranges::any_of(value.uses(), [](const Use& use) { return IsRoundsOf(use, 1); });
  }

  // Whether a branch goes by whether it is None, or a Tensor.
  static bool DecidesByKind(const Value& value) {
    return std::ranges::any_of(value.uses(), [](const Use& use) {
      const Symbol user = use.user->kind();
      return (user == c10::aten::__is__ || user == c10::aten::__isnot__ || user == sym::kIsInstance) &&
             DecidesBranch(*use.user->output());
    });
  }

  // What the profile saw of a value that it `pays` to know more of; null where it does not, or saw too little.
  const ValueObservation* Ask(const Value& value, bool pays) {
    const auto found = claims_.values.find(value.id());
    if (!pays || found == claims_.values.end()) return nullptr;
    questions_.push_back(found->second.number);
    const ValueObservation* seen = found->second.seen;
    return seen != nullptr && seen->runs >= claims_.least_runs ? seen : nullptr;
  }

  // ---- Guards ----

  void TryConstant(Value& value, const ValueObservation& seen, Node* place) {
    if (!seen.constant || seen.none || !IsOfType(*seen.constant, *value.type())) return;
    const c10::IValue& constant = *seen.constant;
    InsertionGuard insertion(&graph_, place->next());
    graph_.SetCurrentRange(value.node()->range());
    Value* known = graph_.InsertConstant(constant, value.type());
    std::ostringstream text;
    Value* condition = &value;
    if (constant.isBool()) {
      if (!constant.toBool()) condition = Ask("aten::__not__", "", {&value});
      text << ClaimOf(value, constant.toBool());
    } else {
      const char* overload = constant.isInt() ? "int" : constant.isDouble() ? "float" : "str";
      condition = Ask("aten::eq", overload, {&value, known});
      text << NameOf(value) << " is " << constant;
    }
    Node* guard = PutGuard({condition}, value, std::move(text).str());
    ReplaceBehind(value, guard, known);
  }

  // A loop that never ran goes; one that always went round so often is unrolled.
  void TryRounds(Value& value, const ValueObservation& seen, Node* place) {
    if (!seen.constant || !seen.constant->isInt()) return;
    const int64_t rounds = seen.constant->toInt();
    const bool pays = std::ranges::any_of(
        value.uses(), [&](const Use& use) { return IsRoundsOf(use, std::max<int64_t>(rounds, 1)); });
    if (pays) TryConstant(value, seen, place);
  }

  // Of what may be None or something else: always None, never None, or always a Tensor.
  void TryKind(Value& value, const ValueObservation& seen, Node* place) {
    if (seen.none && seen.some) return;
    const TypePtr& type = value.type();
    TypePtr narrow;
    if (seen.none) {
      narrow = c10::NoneType::get();
    } else if (seen.facts.is_tensor() && c10::TensorType::get()->isSubtypeOf(*type)) {
      narrow = c10::TensorType::get();
    } else if (type->kind() == c10::TypeKind::OptionalType) {
      narrow = type->expectRef<c10::OptionalType>().getElementType();
    } else {
      return;
    }
    InsertionGuard insertion(&graph_, place->next());
    graph_.SetCurrentRange(value.node()->range());
    Value* known = nullptr;
    Value* condition = nullptr;
    if (seen.none) {
      known = graph_.InsertConstant({}, narrow);
      condition = Ask("aten::__is__", "", {&value, known});
    } else if (type->kind() == c10::TypeKind::OptionalType) {
      Value* none = graph_.InsertConstant({}, c10::NoneType::get());
      condition = Ask("aten::__isnot__", "", {&value, none});
    } else {
      Node* asks = graph_.Insert(graph_.Create(sym::kIsInstance, {&value}));
      asks->SetAttribute(sym::kTypesAttr, std::vector<TypePtr>{narrow});
      asks->output()->SetType(c10::BoolType::get());
      condition = asks->output();
    }
    const char* what = seen.none                                     ? " is None"
                       : narrow->kind() == c10::TypeKind::TensorType ? " is a Tensor"
                                                                     : " is not None";
    Node* last = PutGuard({condition}, value, NameOf(value) + what);
    if (known == nullptr) {
      last = graph_.Insert(graph_.Create(sym::kUncheckedCast, {&value}));
      known = last->output();
      known->SetType(narrow);
    }
    ReplaceBehind(value, last, known);
    facts_.Infer(*known->node());
  }

  // Numbers that are equal without being the same are left alone.
  static bool IsOfType(const c10::IValue& value, const c10::Type& type) {
    switch (type.kind()) {
      case c10::TypeKind::BoolType:
        return value.isBool();
      case c10::TypeKind::IntType:
        return value.isInt();
      case c10::TypeKind::FloatType:
        return value.isDouble() && value.toDouble() != 0 && !std::isnan(value.toDouble());
      case c10::TypeKind::StringType:
        return value.isString();
      default:
        return false;
    }
  }

  // The guard, or `place` if there is none.
  Node* TryTensor(Value& value, const ValueObservation& seen, Node* place) {
    const ValueFacts known = facts_.Of(value);
    if (!seen.facts.is_tensor()) return place;
    const bool rank = !known.rank() && seen.facts.rank();
    const bool dtype = !known.dtype && seen.facts.dtype;
    if (!rank && !dtype) return place;
    InsertionGuard insertion(&graph_, place->next());
    graph_.SetCurrentRange(value.node()->range());
    std::vector<Value*> conditions;
    std::string claim = NameOf(value) + " is";
    const auto equals = [&](const char* question, int64_t answer) {
      Value* asked = Ask(question, "", {&value});
      Value* number = graph_.InsertConstant(answer);
      conditions.push_back(Ask("aten::eq", "int", {asked, number}));
    };
    if (dtype) {
      equals("prim::dtype", static_cast<int64_t>(*seen.facts.dtype));
      claim += std::string(" ") + c10::toString(*seen.facts.dtype);
    }
    if (rank) {
      equals("aten::dim", static_cast<int64_t>(*seen.facts.rank()));
      claim += " of rank " + std::to_string(*seen.facts.rank());
    }
    return PutGuard(conditions, value, claim);
  }

  // A dimension that had several sizes, of a tensor that was seen before.
  struct Dimension {
    Value* tensor;
    size_t dim;
    uint64_t symbol;
  };

  // Sizes that were always 1, or changed and were always equal to another one's. Those that never changed may be equal
  // by chance.
  void TrySizes(Value& value, const ValueObservation& seen, Node* place) {
    const std::optional<KnownSizes> known = facts_.Of(value).sizes;
    const std::optional<KnownSizes>& always = seen.facts.sizes;
    if (!known || !always || always->size() != known->size() || seen.dimensions.size() != known->size()) return;
    InsertionGuard insertion(&graph_, place->next());
    graph_.SetCurrentRange(value.node()->range());
    std::vector<Value*> conditions;
    std::string claim;
    const auto size = [&](Value* tensor, size_t dim) {
      return Ask("aten::size", "int", {tensor, graph_.InsertConstant(static_cast<int64_t>(dim))});
    };
    const auto equal = [&](size_t dim, Value* other) {
      Value* own = size(&value, dim);
      claim += (claim.empty() ? "" : ", ") + NameOfNumber(*own) + " equals " + NameOfNumber(*other);
      conditions.push_back(Ask("aten::eq", "int", {own, other}));
    };
    for (size_t i = 0; i < known->size(); ++i) {
      if ((*known)[i]) continue;
      if ((*always)[i]) {
        if (*(*always)[i] == 1) equal(i, graph_.InsertConstant(int64_t{1}));
        continue;
      }
      const Dimension own = {&value, i, seen.dimensions[i].symbol};
      const auto same = std::ranges::find(dimensions_, own.symbol, &Dimension::symbol);
      if (same == dimensions_.end()) {
        dimensions_.push_back(own);
      } else if (SizeOf(*same) != (*known)[i]) {
        equal(i, size(same->tensor, same->dim));
      }
    }
    if (!conditions.empty()) PutGuard(conditions, value, claim, kSizesOf);
  }

  KnownSize SizeOf(const Dimension& dimension) const {
    const std::optional<KnownSizes>& sizes = facts_.Of(*dimension.tensor).sizes;
    return sizes && dimension.dim < sizes->size() ? (*sizes)[dimension.dim] : KnownSize();
  }

  // "flag is True", "size 0 of x equals size 1 of y"
  static std::string ClaimOf(const Value& condition, bool holds) {
    const Node& node = *condition.node();
    const bool of_ints = (node.kind() == c10::aten::eq || node.kind() == c10::aten::ne) && node.inputs().size() == 2 &&
                         node.input(0)->type()->kind() == c10::TypeKind::IntType &&
                         node.input(1)->type()->kind() == c10::TypeKind::IntType;
    if (!of_ints) return NameOf(condition) + (holds ? " is True" : " is False");
    const char* relation = (node.kind() == c10::aten::eq) == holds ? " equals " : " differs from ";
    return NameOfNumber(*node.input(0)) + relation + NameOfNumber(*node.input(1));
  }

  static std::string NameOfNumber(const Value& number) {
    if (const c10::IValue* constant = ConstantOf(number)) return std::to_string(constant->toInt());
    const Node& node = *number.node();
    const c10::IValue* dim = node.kind() == c10::aten::size ? ConstantOf(*node.input(1)) : nullptr;
    return dim == nullptr ? NameOf(number) : "size " + std::to_string(dim->toInt()) + " of " + NameOf(*node.input(0));
  }

  static std::string NameOf(const Value& value) {
    return value.name().empty() ? "%" + std::to_string(value.id()) : value.name();
  }

  Value* Ask(const char* name, const char* overload, std::initializer_list<Value*> inputs) {
    Value* answer = Operate(graph_, Symbol::fromQualString(name), overload, inputs);
    facts_.Infer(*answer->node());
    return answer;
  }

  // `part`: of the value, kSizesOf or all.
  Node* PutGuard(const std::vector<Value*>& conditions, const Value& value, const std::string& claim, size_t part = 0) {
    Node* guard = graph_.Insert(graph_.Create(sym::kGuard, std::span<Value* const>(conditions), 0));
    guard->SetAttribute(sym::kClaimAttr, claim);
    guard->SetAttribute(sym::kNumberAttr, static_cast<int64_t>(claims_.values.at(value.id()).number + part));
    guard->SetInlinedCall(value.node()->inlined_call());
    facts_.Infer(*guard);
    changed_ = true;
    return guard;
  }

  // `last`: of the nodes that found out what it is.
  static void ReplaceBehind(Value& value, Node* last, Value* known) {
    const Block* block = last->block();
    std::unordered_set<const Node*> before = {last};
    const Node* first = value.node()->kind() == sym::kParam ? block->param_node() : value.node();
    for (const Node* node = last->prev(); node != first; node = node->prev()) before.insert(node);
    // A copy: they change on the way.
    const std::vector<Use> uses(value.uses().begin(), value.uses().end());
    for (const Use& use : uses) {
      const Node* ancestor = use.user;
      while (ancestor->block() != block) ancestor = ancestor->block()->owner();
      if (before.count(ancestor) == 0) use.user->ReplaceInput(use.offset, known);
    }
  }

  Graph& graph_;
  ValueFactTable facts_;
  const Needs needs_;
  const ProfileClaims& claims_;
  std::vector<size_t>& questions_;
  std::vector<std::pair<Node*, int64_t>> written_;  // FrameStates, as their attribute says
  std::vector<Dimension> dimensions_;               // that the walk has in sight
  bool changed_ = false;
};

}  // namespace

bool SpecializeProfile(Compilation& compilation) {
  return compilation.claims() != nullptr && ProfileSpecializer(compilation).Run();
}

}  // namespace hearth
