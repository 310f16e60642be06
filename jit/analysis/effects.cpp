#include "jit/analysis/effects.h"

#include <ATen/core/jit_type.h>

#include <algorithm>

#include "jit/analysis/aliases.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/symbols.h"
#include "jit/support/load_budget.h"

namespace hearth {
namespace {

bool IsConstructor(const std::string& name) { return name == "__init__" || name == "__setstate__"; }

constexpr FunctionEffects kAnything = {
    .writes = true, .writes_constants = true, .random = true, .seeds = true, .acts = true};
// A method of a class that a library registered: no code of the archive.
constexpr FunctionEffects kForeign = {
    .writes = true, .writes_constants = true, .random = true, .seeds = false, .acts = true};

void MergeEffects(FunctionEffects* into, const FunctionEffects& from) {
  into->writes |= from.writes;
  into->writes_constants |= from.writes_constants;
  into->random |= from.random;
  into->seeds |= from.seeds;
  into->acts |= from.acts;
}

bool IsContainer(const c10::Type& type) {
  return type.kind() == c10::TypeKind::ListType || type.kind() == c10::TypeKind::DictType;
}

// Whether a list or dict that it gives is a new one, as a literal, a copy, a slice or a sum of lists is.
bool MakesListOrDict(const Node& node) {
  if (node.op() != nullptr) return !node.op()->announced_effects().may_alias;
  return node.kind() == sym::kListConstruct || node.kind() == sym::kDictConstruct;
}

}  // namespace

UnitEffects::UnitEffects(const CompilationUnit& unit) : unit_(unit) {
  // By index: emitting one function may declare others.
  for (size_t i = 0; i < unit.functions().size(); ++i) {
    Function& function = *unit.functions()[i];
    FindAssignments(function, *function.emitted_graph().block());
  }
  for (const Construction& made : constructions_) {
    for (const auto& [type, method] : reconstructed_) {
      if (made.type == type && made.method == method) assigned_.emplace(made.type, made.slot);
    }
  }
}

void UnitEffects::FindAssignments(const Function& function, const Block& block) {
  for (const Node* node : block) {
    LoadBudget::Check();
    if (node->kind() == sym::kSetAttr) {
      const auto& type = node->input(0)->type()->expectRef<c10::ClassType>();
      const size_t slot = type.getAttributeSlot(node->attribute<std::string>(sym::kNameAttr));
      const Value* object = node->input(0);
      const bool own = object->node() == node->graph()->block()->param_node() && object->offset() == 0;
      if (own && IsConstructor(function.name())) {
        constructions_.push_back({&type, slot, function.name()});
      } else if (object->node()->kind() != sym::kCreateObject) {
        assigned_.emplace(&type, slot);
      }
    } else if (node->kind() == sym::kCallMethod) {
      const std::string& name = node->attribute<std::string>(sym::kNameAttr);
      const c10::ClassType* type = node->input(0)->type()->castRaw<c10::ClassType>();
      if (type != nullptr && IsConstructor(name) && node->input(0)->node()->kind() != sym::kCreateObject) {
        reconstructed_.emplace_back(type, name);
      }
    }
    FindFillings(*node);
    for (const Block* nested : node->blocks()) FindAssignments(function, *nested);
  }
}

void UnitEffects::FindFillings(const Node& node) {
  const auto* receiver = node.kind() == sym::kCallMethod ? node.input(0)->type()->castRaw<c10::ClassType>() : nullptr;
  const torch::jit::Function* callee =
      receiver == nullptr ? nullptr : FindMethod(*receiver, node.attribute<std::string>(sym::kNameAttr));
  const bool is_foreign = callee != nullptr && dynamic_cast<const Function*>(callee) == nullptr;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const Value& input = *node.input(i);
    if (!IsContainer(*input.type()) || MakesListOrDict(*input.node())) continue;
    if (is_foreign || WritesInput(node, i)) filled_.insert(input.type()->repr_str());
  }
}

bool UnitEffects::MayBeFilled(const c10::Type& type) const {
  if (filled_.empty() || type.kind() == c10::TypeKind::ClassType) return false;
  if (IsContainer(type) && filled_.count(type.repr_str()) != 0) return true;
  return std::ranges::any_of(type.containedTypes(), [&](const TypePtr& held) { return MayBeFilled(*held); });
}

bool UnitEffects::IsAssigned(const c10::ClassType& type, size_t slot) const {
  return assigned_.count({&type, slot}) != 0;
}

bool UnitEffects::WritesState(const Graph& graph) const {
  FunctionEffects of_callees;
  AddBlockEffects(*graph.block(), &of_callees);
  return of_callees.writes_constants ||
         AnyClass(graph, [](const AliasClasses::Facts& facts) { return facts.written && facts.state; });
}

bool UnitEffects::WritesArguments(const Graph& graph) const {
  return AnyClass(graph, [](const AliasClasses::Facts& facts) { return facts.written && facts.argument; });
}

template <typename Predicate>
bool UnitEffects::AnyClass(const Graph& graph, Predicate predicate) const {
  const AliasClasses aliases(graph, this);
  for (size_t i = 0; i < graph.value_id_bound(); ++i) {
    if (predicate(aliases.FactsOf(i))) return true;
  }
  return false;
}

void UnitEffects::AddBlockEffects(const Block& block, FunctionEffects* effects) const {
  for (const Node* node : block) {
    LoadBudget::Check();
    const NodeEffects own = EffectsOf(*node);
    effects->random |= own.random;
    effects->seeds |= own.seeds;
    effects->acts |= own.acts;
    if (own.calls) {
      const FunctionEffects callee = OfCall(*node);
      effects->random |= callee.random;
      effects->seeds |= callee.seeds;
      effects->acts |= callee.acts;
      effects->writes_constants |= callee.writes_constants;
    }
    for (const Block* nested : node->blocks()) AddBlockEffects(*nested, effects);
  }
}

FunctionEffects UnitEffects::Of(const Graph& graph) const {
  FunctionEffects effects;
  AddBlockEffects(*graph.block(), &effects);
  const AliasClasses aliases(graph, this);
  for (size_t i = 0; i < graph.value_id_bound(); ++i) {
    const AliasClasses::Facts& facts = aliases.FactsOf(i);
    effects.writes |= facts.written && (facts.state || facts.argument);
    effects.writes_constants |= facts.written && facts.constant;
  }
  return effects;
}

FunctionEffects UnitEffects::Of(torch::jit::Function* function) const {
  const std::lock_guard lock(mutex_);
  // A function met again while it is being looked at (recursion) may do anything.
  auto [found, is_new] = known_.emplace(function, kAnything);
  if (!is_new) return found->second;
  auto* ours = dynamic_cast<Function*>(function);
  if (ours == nullptr) return found->second = kForeign;
  const FunctionEffects effects = Of(ours->emitted_graph());
  return known_[function] = effects;
}

FunctionEffects UnitEffects::OfMethod(const TypePtr& receiver, const std::string& name) const {
  if (auto type = receiver->cast<c10::ClassType>()) {
    torch::jit::Function* method = FindMethod(*type, name);
    return method == nullptr ? kAnything : Of(method);
  }
  FunctionEffects effects;
  for (const c10::NamedTypePtr& candidate : unit_.types()) {
    auto type = candidate->cast<c10::ClassType>();
    if (type == nullptr) continue;
    if (torch::jit::Function* method = FindMethod(*type, name)) MergeEffects(&effects, Of(method));
  }
  return effects;
}

FunctionEffects UnitEffects::OfCall(const Node& node) const {
  if (node.kind() == sym::kCallFunction) return Of(node.attribute<torch::jit::Function*>(sym::kFunctionAttr));
  if (node.kind() == sym::kCallMethod) {
    return OfMethod(node.input(0)->type(), node.attribute<std::string>(sym::kNameAttr));
  }
  FunctionEffects effects = OfMethod(node.input(0)->type(), "__enter__");
  MergeEffects(&effects, OfMethod(node.input(0)->type(), "__exit__"));
  return effects;
}

}  // namespace hearth
