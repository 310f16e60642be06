#include "jit/analysis/pure_nodes.h"

#include <ATen/core/jit_type.h>

#include <algorithm>

#include "jit/definitions/node_effects.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

bool MakesContainer(Symbol kind) {
  return kind == sym::kTupleConstruct || kind == sym::kTupleIndex || kind == sym::kTupleUnpack ||
         kind == sym::kListConstruct;
}

}  // namespace

PureNodes::PureNodes(const Graph& graph, const WrittenMemory& memory)
    : memory_(memory), records_gradients_(MayRecordGradients(*graph.block())) {}

bool PureNodes::IsPure(const Node& node) const {
  return MayMove(node) &&
         std::ranges::all_of(node.outputs(), [&](const Value* output) { return StaysInside(*output); });
}

bool PureNodes::MayMove(const Node& node) const {
  if (!node.blocks().empty() || node.outputs().empty()) return false;
  if (node.op() == nullptr ? !MakesContainer(node.kind()) : !node.attributes().empty()) return false;
  if (node.kind() == sym::kRaiseException || EffectsOf(node).any() || EffectsOf(node).seeds) return false;
  // What only asks for the thread's mode has no effect, but is answered otherwise in another mode.
  if (node.op() != nullptr && EffectsOf(*node.op()).has_side_effect) return false;
  return std::ranges::none_of(node.inputs(), [&](const Value* input) { return ReadsWhatIsWritten(node, *input); });
}

bool PureNodes::ReadsWhatIsWritten(const Node& node, const Value& input) const {
  if (input.type()->kind() == c10::TypeKind::TensorType && ReadsShapeOnly(node.kind())) {
    return memory_.MayChangeShape(input);
  }
  // What its elements hold is not looked at.
  const bool looks_up = node.kind() == c10::aten::len || node.kind() == c10::aten::__getitem__;
  if (input.type()->kind() == c10::TypeKind::ListType && looks_up) return memory_.MayHoldOthers(input);
  return memory_.MayBeWritten(input);
}

bool PureNodes::StaysInside(const Value& value) const {
  const size_t alias_class = memory_.aliases().ClassOf(value);
  if (alias_class == AliasClasses::kNoMemory) return true;
  // The same tensor computed twice may be part of what is recorded once.
  if (records_gradients_) return false;
  const AliasClasses::Facts& facts = memory_.aliases().FactsOf(alias_class);
  return !facts.written && !facts.returned && !facts.called && !memory_.MayBeWritten(value);
}

}  // namespace hearth
