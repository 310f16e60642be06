#include "jit/analysis/visible_strides.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <unordered_set>

#include "jit/definitions/node_effects.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

bool IsExact(const ValueFacts& facts) { return facts.is_tensor() && facts.order.is_exact(); }

class StrideSearch {
 public:
  explicit StrideSearch(const ValueFactTable& facts) : facts_(facts) {}

  bool MayShow(const Value& value) {
    if (!seen_.insert(&value).second) return false;
    return std::ranges::any_of(value.uses(), [&](const Use& use) { return MayShow(*use.user); });
  }

 private:
  bool MayShow(const Node& user) {
    if (user.kind() == sym::kListConstruct) return MayShow(*user.output());
    if (user.op() == nullptr || user.kind() == c10::aten::stride) return true;
    return std::ranges::any_of(user.outputs(), [&](const Value* output) { return MayShowIn(*output); });
  }

  bool MayShowIn(const Value& output) {
    if (!HasMemory(*output.type())) return false;
    const ValueFacts& facts = facts_.Of(output);
    if (facts.kind == ValueFacts::Kind::kList && !facts.elements.empty()) {
      return !std::ranges::all_of(facts.elements, IsExact);
    }
    if (!facts.is_tensor()) return true;
    return !IsExact(facts) && MayShow(output);
  }

  const ValueFactTable& facts_;
  std::unordered_set<const Value*> seen_;
};

}  // namespace

bool StridesMayShow(const Value& value, const ValueFactTable& facts) { return StrideSearch(facts).MayShow(value); }

}  // namespace hearth
