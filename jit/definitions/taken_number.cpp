#include "jit/definitions/taken_number.h"

#include <ATen/core/jit_type.h>

namespace hearth {

TakenNumber TakenNumberOf(const Node& node) {
  if (node.op() == nullptr || node.inputs().size() != 1) return TakenNumber::kNone;
  if (node.input()->type()->kind() != c10::TypeKind::TensorType) return TakenNumber::kNone;
  switch (node.kind()) {
    case c10::aten::Int:
    case c10::aten::IntImplicit:
      return TakenNumber::kInt;
    case c10::aten::Float:
    case c10::aten::FloatImplicit:
      return TakenNumber::kFloat;
    case c10::aten::Bool:
      return TakenNumber::kBool;
    case c10::aten::ScalarImplicit:
    case c10::aten::item:
      return TakenNumber::kAsItIs;
    default:
      return TakenNumber::kNone;
  }
}

}  // namespace hearth
