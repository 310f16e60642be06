#include "jit/analysis/joined_list.h"

#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"

namespace hearth {

Node* JoinedList(const Node& node) {
  if (node.kind() != c10::aten::cat || node.op() == nullptr || !node.op()->schema().overload_name().empty())
    return nullptr;
  Node* list = node.input(0)->node();
  return list->kind() == sym::kListConstruct ? list : nullptr;
}

}  // namespace hearth
