#include "jit/analysis/uninitialized.h"

#include <algorithm>
#include <set>
#include <utility>

#include "jit/ir/symbols.h"

namespace hearth {
namespace {

class Search {
 public:
  // `parts`: or something in it, if it is a tuple.
  bool MayReach(const Value& value, bool parts) {
    if (!seen_.emplace(&value, parts).second) return false;
    const Node* node = value.node();
    const auto handed_on = [&](const Value* from) { return MayReach(*from, parts); };
    if (node->kind() == sym::kUninitialized) return true;
    if (node->kind() == sym::kUncheckedCast) return handed_on(node->input());
    if (node->kind() == sym::kTupleConstruct) return parts && std::ranges::any_of(node->inputs(), handed_on);
    if (node->kind() == sym::kTupleIndex || node->kind() == sym::kTupleUnpack) return MayReach(*node->input(0), true);
    if (node->kind() == sym::kParam) {
      const Node* owner = node->block()->owner();
      if (owner == nullptr) return false;
      if (owner->kind() != sym::kLoop) return handed_on(owner->input(value.offset()));
      if (value.offset() == 0) return false;
      return handed_on(owner->input(value.offset() + 1)) || handed_on(node->block()->returns()[value.offset()]);
    }
    if (node->kind() == sym::kLoop && handed_on(node->input(value.offset() + 2))) return true;
    if (node->kind() != sym::kLoop && node->kind() != sym::kIf) return false;
    const size_t at = value.offset() + (node->kind() == sym::kLoop ? 1 : 0);
    return std::ranges::any_of(node->blocks(), [&](const Block* block) { return handed_on(block->returns()[at]); });
  }

 private:
  std::set<std::pair<const Value*, bool>> seen_;
};

}  // namespace

bool MayBeUninitialized(const Value& value) { return Search().MayReach(value, false); }

}  // namespace hearth
