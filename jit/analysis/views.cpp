#include "jit/analysis/views.h"

#include <optional>

#include "jit/analysis/number_of.h"
#include "jit/analysis/window_call.h"
#include "jit/definitions/fact_rules.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

// Whether sizes that are asked for leave at most one open, and no doubt which number that is.
bool IsOneOpenAtMost(const Value& list, ValueFactTable& facts) {
  const std::optional<KnownSizes>& asked = facts.Of(list).sizes;
  if (!asked) return false;
  SizeAlgebra& sizes = facts.sizes();
  size_t open = 0;
  KnownSize others = 1;
  for (const KnownSize size : *asked) {
    if (size == -1) {
      ++open;
    } else if (sizes.IsAtLeast(size, 0)) {
      others = sizes.Multiply(others, size);
    } else {
      return false;
    }
  }
  return open == 0 || (open == 1 && sizes.IsAtLeast(others, 1));
}

bool IsSoundReshape(const Node& node, ValueFactTable& facts) {
  const ValueFacts &from = facts.Of(*node.input(0)), &to = facts.Of(*node.output());
  const bool copies_if_needed = node.kind() == c10::aten::reshape || node.kind() == c10::aten::flatten;
  if (!from.plain || !from.sizes || !to.sizes || (!copies_if_needed && !from.contiguous())) return false;
  SizeAlgebra& sizes = facts.sizes();
  const KnownSize all = Product(sizes, *to.sizes, 0, to.sizes->size());
  if (!all.is_known() || all != Product(sizes, *from.sizes, 0, from.sizes->size())) return false;
  return node.kind() == c10::aten::flatten ||
         IsOneOpenAtMost(*node.input(node.kind() == c10::aten::unflatten ? 2 : 1), facts);
}

}  // namespace

bool IsReshape(const Node& node) {
  if (node.op() == nullptr) return false;
  const Symbol kind = node.kind();
  if (kind == c10::aten::flatten || kind == c10::aten::unflatten) return true;
  return (kind == c10::aten::view || kind == c10::aten::reshape) &&
         node.input(1)->type()->kind() == c10::TypeKind::ListType;
}

bool IsSoundView(const Node& node, ValueFactTable& facts) {
  if (node.op() == nullptr || node.outputs().size() != 1) return false;
  if (IsReshape(node)) return IsSoundReshape(node, facts);
  switch (node.kind()) {
    case c10::aten::contiguous:
      return facts.Of(*node.input(0)).plain &&
             IntegerOf(*node.input(1)) == static_cast<int64_t>(c10::MemoryFormat::Contiguous);
    case c10::aten::transpose:
    case c10::aten::permute:
    case c10::aten::unsqueeze:
      // Of dimensions that are not there the sizes are not known.
      return facts.Of(*node.input(0)).plain && facts.Of(*node.output()).sizes.has_value();
    default:
      return WindowCall::Of(node, facts).has_value();
  }
}

}  // namespace hearth
