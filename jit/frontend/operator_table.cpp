#include "jit/frontend/operator_table.h"

#include <utility>

#include "jit/frontend/builtin_functions.h"
#include "jit/frontend/upgraders.h"
#include "jit/operators/registry.h"

namespace hearth {
namespace {

// Overloads that a call never means: TorchScript cannot tell a dtype from an int, so x.view(1) would be ambiguous.
bool IsBlocked(const c10::FunctionSchema& schema) {
  return schema.overload_name() == "dtype" && schema.name() == "aten::view";
}

}  // namespace

const OperatorSet* OperatorTable::Find(std::string_view space, std::string_view name) {
  ByName* names = &aten_;
  if (space != "aten") {
    auto found = others_.find(space);
    if (found == others_.end()) found = others_.emplace(std::string(space), ByName()).first;
    names = &found->second;
  }
  const auto found = names->find(name);
  if (found != names->end()) return found->second;
  std::string qualified;
  qualified.append(space).append("::").append(name);
  const OperatorSet* set = Find(c10::Symbol::fromQualString(qualified));
  names->emplace(std::string(name), set);
  return set;
}

const OperatorSet* OperatorTable::Find(c10::Symbol symbol) {
  std::unique_ptr<OperatorSet>& set = sets_[symbol];
  if (!set) set = Make(symbol);
  return set.get();
}

std::unique_ptr<OperatorSet> OperatorTable::Make(c10::Symbol symbol) const {
  auto set = std::make_unique<OperatorSet>();
  set->symbol = symbol;
  std::vector<Candidate> old;
  for (const Operator* op : OperatorRegistry::Global().Candidates(symbol)) {
    if (IsBlocked(op->schema())) continue;
    const Candidate upgraded = version_ == kRegistryOnly ? Candidate() : FindUpgrader(*op, version_);
    if (upgraded.schema) {
      old.push_back(upgraded);
    } else {
      set->candidates.push_back({&op->schema(), op, nullptr});
    }
  }
  set->candidates.insert(set->candidates.end(), old.begin(), old.end());
  if (version_ != kRegistryOnly) {
    for (Function* function : BuiltinFunctions(symbol)) {
      set->candidates.push_back({&function->getSchema(), nullptr, function});
    }
  }
  for (const Candidate& candidate : set->candidates) {
    if (candidate.schema->argumentIndexWithName("self")) set->has_self = true;
  }
  return set;
}

}  // namespace hearth
