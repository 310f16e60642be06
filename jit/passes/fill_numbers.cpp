#include "jit/passes/fill_numbers.h"

#include <ATen/core/jit_type.h>
#include <c10/core/DefaultDtype.h>

#include <optional>
#include <vector>

#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

const Symbol kTensor = Symbol::fromQualString("aten::tensor");
const Symbol kCopy = Symbol::fromQualString("aten::copy");
const Symbol kFill = Symbol::fromQualString("aten::fill");
const Symbol kFillInPlace = Symbol::fromQualString("aten::fill_");

class Filler {
 public:
  explicit Filler(Compilation& compilation)
      : graph_(compilation.graph()), facts_(compilation.facts()), memory_(compilation.memory()) {}

  bool Run() {
    for (Node* node : NodesOutsideClosures(*graph_.block(), IsCopy)) {
      if (Value* number = NumberOf(*node)) Replace(node, number);
    }
    return changed_;
  }

 private:
  static bool IsCopy(const Node& node) {
    const bool copies = node.kind() == kCopy || node.kind() == c10::aten::copy_;
    return copies && node.op() != nullptr && node.op()->schema().overload_name().empty();
  }

  // What the copied tensor is made of, if it has no other value than that by the time it is copied. Null: it may have.
  Value* NumberOf(const Node& copy) {
    const Value& source = *copy.input(1);
    const Node& maker = *source.node();
    if (maker.kind() != kTensor || maker.op() == nullptr || memory_.MayBeWritten(source)) return nullptr;
    Value* number = maker.input(0);
    const ValueFacts& target = facts_.Of(*copy.input(0));
    if (!target.is_tensor() || !target.plain || !target.dtype) return nullptr;
    const c10::IValue* dtype = ConstantOf(*maker.input(1));
    if (dtype == nullptr) return nullptr;
    const bool same = dtype->isInt() && static_cast<c10::ScalarType>(dtype->toInt()) == *target.dtype;
    // A float is rounded to the default dtype first.
    const c10::TypeKind kind = number->type()->kind();
    const bool exact = kind == c10::TypeKind::IntType || kind == c10::TypeKind::BoolType ||
                       (kind == c10::TypeKind::FloatType && *target.dtype == c10::get_default_dtype_as_scalartype());
    const bool is_number = exact || kind == c10::TypeKind::FloatType;
    return is_number && (same || (dtype->isNone() && exact)) ? number : nullptr;
  }

  void Replace(Node* node, Value* number) {
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    const Symbol fill = node->kind() == kCopy ? kFill : kFillInPlace;
    Value* filled = Operate(graph_, fill, "Scalar", {node->input(0), number}, node);
    filled->SetName(node->output()->name());
    facts_.Infer(*filled->node());
    node->output()->ReplaceAllUsesWith(filled);
    Node* maker = node->input(1)->node();
    node->Destroy();
    // What it raises, filling does.
    if (!maker->output()->HasUses()) maker->Destroy();
    changed_ = true;
  }

  Graph& graph_;
  ValueFactTable& facts_;
  const WrittenMemory& memory_;
  bool changed_ = false;
};

}  // namespace

bool FillNumbers(Compilation& compilation) { return Filler(compilation).Run(); }

}  // namespace hearth
