#include "jit/passes/observe.h"

#include <vector>

#include "jit/compiler/compilation.h"
#include "jit/ir/symbols.h"

namespace hearth {

bool InsertObservers(Compilation& compilation) {
  const std::vector<ProfileSite>* known = compilation.inputs().sites;
  const std::vector<ProfileSite> sites = known != nullptr ? *known : FindProfileSites(compilation.source());
  Graph& graph = compilation.graph();
  const std::vector<Value*> values = ValuesInOrder(graph);
  for (size_t i = sites.size(); i-- > 0;) {
    Value* value = values[sites[i].number];
    Node* observer = graph.Create(sym::kObserve, {value}, 0);
    observer->SetAttribute(sym::kSiteAttr, static_cast<int64_t>(i));
    observer->InsertAfter(value->node());
    observer->SetRange(value->node()->range());
    observer->SetInlinedCall(value->node()->inlined_call());
  }
  return !sites.empty();
}

}  // namespace hearth
