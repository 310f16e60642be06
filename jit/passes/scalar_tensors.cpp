#include "jit/passes/scalar_tensors.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>

#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/analysis/aliases.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/definitions/taken_number.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

// Of arithmetic on tensors of one int: what does the same with ints. Each tensor operand may be an int as well.
struct IntForm {
  Symbol of_tensors;
  Symbol of_ints;
  bool has_factor;  // as its third operand, which must be 1
  bool swaps;       // its operands
};
constexpr IntForm kIntForms[] = {{c10::aten::add, c10::aten::add, true, false},
                                 {c10::aten::sub, c10::aten::sub, true, false},
                                 {c10::aten::rsub, c10::aten::sub, true, true},
                                 {c10::aten::mul, c10::aten::mul, false, false},
                                 {c10::aten::floor_divide, c10::aten::floordiv, false, false},
                                 {c10::aten::remainder, c10::aten::remainder, false, false}};

// Of arithmetic within arithmetic.
constexpr int kMostDepth = 64;

class Forwarder {
 public:
  explicit Forwarder(Compilation& compilation) : graph_(compilation.graph()), aliases_(compilation.aliases()) {}

  bool Run() {
    std::vector<Node*> candidates;
    Collect(*graph_.block(), &candidates);
    bool changed = false;
    for (Node* node : candidates) {
      const Value& tensor = *node->input();
      if (!IsNumber(tensor, TakenNumberOf(*node), 0)) continue;
      node->output()->ReplaceAllUsesWith(NumberOf(tensor));
      node->Destroy();
      changed = true;
    }
    return changed;
  }

 private:
  static bool IsForwarded(TakenNumber taken) { return taken != TakenNumber::kNone && taken != TakenNumber::kBool; }

  void Collect(const Block& block, std::vector<Node*>* nodes) {
    for (Node* node : block) {
      if (IsForwarded(TakenNumberOf(*node))) nodes->push_back(node);
      for (const Block* nested : node->blocks()) Collect(*nested, nodes);
    }
  }

  static bool IsInt(const Value& value) { return value.type()->kind() == c10::TypeKind::IntType; }

  static const at::Tensor* ConstantInt(const Value& value) {
    const c10::IValue* constant = ConstantOf(value);
    if (constant == nullptr || !constant->isTensor()) return nullptr;
    const at::Tensor& tensor = constant->toTensor();
    const bool is_int = tensor.defined() && tensor.layout() == at::kStrided && !tensor.is_meta() && tensor.dim() == 0 &&
                        tensor.scalar_type() == at::kLong;
    return is_int ? &tensor : nullptr;
  }

  static const IntForm* FormOf(const Node& node) {
    if (node.op() == nullptr) return nullptr;
    for (const IntForm& form : kIntForms) {
      if (node.kind() != form.of_tensors || node.inputs().size() != (form.has_factor ? 3u : 2u)) continue;
      if (form.has_factor) {
        const c10::IValue* factor = ConstantOf(*node.input(2));
        if (factor == nullptr || !factor->isInt() || factor->toInt() != 1) continue;
      }
      return &form;
    }
    return nullptr;
  }

  // Whether the tensor is of one number of that kind that NumberOf finds.
  bool IsNumber(const Value& tensor, TakenNumber wanted, int depth) {
    if (aliases_.FactsOf(aliases_.ClassOf(tensor)).written) return false;
    const Node& maker = *tensor.node();
    if (maker.kind() == c10::prim::NumToTensor) {
      const c10::TypeKind type = maker.input()->type()->kind();
      return (wanted != TakenNumber::kFloat && type == c10::TypeKind::IntType) ||
             ((wanted == TakenNumber::kFloat || wanted == TakenNumber::kAsItIs) && type == c10::TypeKind::FloatType);
    }
    if (wanted == TakenNumber::kFloat || depth > kMostDepth) return false;
    if (ConstantInt(tensor) != nullptr) return true;
    if (FormOf(maker) == nullptr) return false;
    if (const auto known = is_arithmetic_.find(&tensor); known != is_arithmetic_.end()) return known->second;
    const auto is_operand = [&](const Value& value) {
      return IsInt(value) ||
             (value.type()->kind() == c10::TypeKind::TensorType && IsNumber(value, TakenNumber::kInt, depth + 1));
    };
    return is_arithmetic_[&tensor] = is_operand(*maker.input(0)) && is_operand(*maker.input(1));
  }

  // Where the tensor is made.
  Value* NumberOf(const Value& tensor) {
    Node* maker = const_cast<Node*>(tensor.node());
    if (maker->kind() == c10::prim::NumToTensor) return maker->input();
    Value*& number = numbers_[&tensor];
    if (number != nullptr) return number;
    Value *left = nullptr, *right = nullptr;
    if (ConstantInt(tensor) == nullptr) {
      const auto operand = [&](Value* value) { return IsInt(*value) ? value : NumberOf(*value); };
      left = operand(maker->input(0));
      right = operand(maker->input(1));
    }
    const InsertionGuard here(&graph_, maker);
    graph_.SetCurrentRange(maker->range());
    if (const at::Tensor* constant = ConstantInt(tensor))
      return number = graph_.InsertConstant(constant->item<int64_t>());
    const IntForm& form = *FormOf(*maker);
    if (form.swaps) std::swap(left, right);
    return number = Operate(graph_, form.of_ints, "int", {left, right}, maker);
  }

  std::unordered_map<const Value*, bool> is_arithmetic_;
  std::unordered_map<const Value*, Value*> numbers_;
  Graph& graph_;
  const AliasClasses& aliases_;
};

}  // namespace

bool ForwardScalarTensors(Compilation& compilation) { return Forwarder(compilation).Run(); }

}  // namespace hearth
