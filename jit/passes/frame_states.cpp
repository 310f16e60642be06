#include "jit/passes/frame_states.h"

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/analysis/anchors.h"
#include "jit/compiler/compilation.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

// Walks a graph and its copy side by side.
class Inserter {
 public:
  Inserter(const Graph& baseline, Graph& copy, const std::vector<ResumePlace>& anchors)
      : copy_(copy), anchors_(anchors), values_(baseline.value_id_bound()) {
    for (size_t i = 0; i < anchors.size(); ++i) places_.emplace(anchors[i].node, i);
  }

  void Visit(const Block& block, Block& copy) {
    Map(*block.param_node(), *copy.param_node());
    Node* twin = copy.param_node()->next();
    for (const Node* node : block) {
      if (auto found = places_.find(node); found != places_.end()) InsertAnchor(found->second, twin);
      if (ActsOnce(*node)) Insert(kNoAnchor, {}, twin);
      Map(*node, *twin);
      if (!IsClosure(*node)) {
        for (size_t i = 0; i < node->blocks().size(); ++i) Visit(*node->block(i), *twin->block(i));
      }
      twin = twin->next();
    }
    // __exit__ runs at the end of a With's block.
    if (copy.owner() != nullptr && copy.owner()->kind() == sym::kWith) Insert(kNoAnchor, {}, copy.return_node());
  }

 private:
  void Map(const Node& node, const Node& twin) {
    for (size_t i = 0; i < node.outputs().size(); ++i) values_[node.output(i)->id()] = twin.output(i);
  }

  void InsertAnchor(size_t anchor, Node* before) {
    std::vector<Value*> values;
    for (const Value* value : anchors_[anchor].live) values.push_back(values_[value->id()]);
    Insert(static_cast<int64_t>(anchor), values, before);
  }

  void Insert(int64_t anchor, const std::vector<Value*>& values, Node* before) {
    Node* state = copy_.Create(sym::kFrameState, std::span<Value* const>(values), 0);
    state->SetAttribute(sym::kAnchorAttr, anchor);
    state->InsertBefore(before);
    state->SetRange(before->range());
    state->SetInlinedCall(before->inlined_call());
  }

  Graph& copy_;
  const std::vector<ResumePlace>& anchors_;
  std::unordered_map<const Node*, size_t> places_;
  std::vector<Value*> values_;  // by the baseline's Value id
};

}  // namespace

bool InsertFrameStates(Compilation& compilation) {
  const Graph& baseline = compilation.source();
  const std::vector<ResumePlace>* known = compilation.inputs().anchors;
  const std::vector<ResumePlace> anchors = known != nullptr ? *known : FindAnchors(baseline, compilation.liveness());
  std::unique_ptr<Graph> copy = baseline.Clone();
  Inserter(baseline, *copy, anchors).Visit(*baseline.block(), *copy->block());
  compilation.Replace(std::move(copy));
  return true;
}

}  // namespace hearth
