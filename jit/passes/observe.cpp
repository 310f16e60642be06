#include "jit/passes/observe.h"

#include <vector>

#include "jit/ir/symbols.h"

namespace hearth {

std::unique_ptr<Graph> CloneWithObservers(const Graph& baseline, std::span<const ProfileSite> sites) {
  std::unique_ptr<Graph> copy = baseline.Clone();
  const std::vector<Value*> values = ValuesInOrder(*copy);
  for (size_t i = sites.size(); i-- > 0;) {
    Value* value = values[sites[i].number];
    Node* observer = copy->Create(sym::kObserve, {value}, 0);
    observer->SetAttribute(sym::kSiteAttr, static_cast<int64_t>(i));
    observer->InsertAfter(value->node());
    observer->SetRange(value->node()->range());
    observer->SetInlinedCall(value->node()->inlined_call());
  }
  return copy;
}

}  // namespace hearth
