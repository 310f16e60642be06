#include "jit/frontend/environment.h"

#include <utility>

namespace hearth {

Environment::VariableId Environment::Id(std::string_view name) {
  const auto [found, is_new] = ids_.try_emplace(name, static_cast<VariableId>(names_.size()));
  if (is_new) {
    names_.push_back(name);
    bindings_.emplace_back();
  }
  return found->second;
}

const Environment::Binding* Environment::Find(std::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? nullptr : &bindings_[found->second];
}

void Environment::Set(VariableId id, SugaredValue value, TypePtr declared) {
  Binding& binding = bindings_[id];
  // A name's first binding in a scope is logged; later ones in the same scope replace it. Depth 0 is never undone.
  const bool first_here = binding.depth != depth() || !binding.bound();
  if (first_here && depth() > 0) log_.push_back({id, std::exchange(binding, Binding())});
  binding.value = std::move(value);
  binding.declared = std::move(declared);
  binding.depth = depth();
  binding.original = nullptr;
}

void Environment::SetRefined(VariableId id, Value* refined, Value* original) {
  Set(id, refined);
  bindings_[id].original = original;
}

void Environment::PushScope() { scope_starts_.push_back(log_.size()); }

std::vector<Environment::Change> Environment::PopScope(std::vector<Change>* refinements) {
  const size_t start = scope_starts_.back();
  const uint32_t left = depth();
  std::vector<Change> changes;
  changes.reserve(log_.size() - start);
  for (size_t i = start; i < log_.size(); ++i) {
    Binding& binding = bindings_[log_[i].id];
    // A name unbound and bound again in one scope was logged twice; its final binding is told once.
    if (binding.depth == left) changes.push_back({log_[i].id, std::exchange(binding, Binding())});
    binding.depth = 0;
  }
  for (size_t i = log_.size(); i-- > start;) bindings_[log_[i].id] = std::move(log_[i].before);
  log_.resize(start);
  scope_starts_.pop_back();
  std::erase_if(changes, [&](const Change& change) {
    const Binding& outside = bindings_[change.id];
    Value* was = outside.original ? outside.original : outside.ssa();
    const bool refines = change.inside.original && change.inside.original == was;
    if (refines && refinements != nullptr) refinements->push_back(change);
    return refines;
  });
  return changes;
}

}  // namespace hearth
