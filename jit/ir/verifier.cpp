#include "jit/ir/verifier.h"

#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>

#include "jit/ir/closure.h"
#include "jit/ir/printer.h"
#include "jit/ir/schema_check.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph)
      : graph_(graph), visible_(graph.value_id_bound()), uses_seen_(graph.value_id_bound()) {}

  void Run() {
    VerifyBlock(*graph_.block(), nullptr);
    for (const Value* value : defined_) {
      if (value->uses().size() != uses_seen_[value->id()]) {
        Fail(*value->node(), "an output's use list has " + std::to_string(value->uses().size()) + " entries for " +
                                 std::to_string(uses_seen_[value->id()]) + " uses");
      }
    }
  }

 private:
  [[noreturn]] static void Fail(const Node& node, const std::string& what) {
    throw VerifyError(what + ", in\n  " + PrintNode(node) + "\n" + node.range().Highlight());
  }

  void Define(const Node& node) {
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      const Value* value = node.output(i);
      if (value->node() != &node || value->offset() != i) Fail(node, "an output does not know where it is defined");
      if (value->id() >= visible_.size()) Fail(node, "an output's number is out of range");
      if (value->type() == nullptr) Fail(node, "an output has no type");
      for (const Use& use : value->uses()) {
        if (use.offset >= use.user->inputs().size() || use.user->input(use.offset) != value) {
          Fail(node, "an output's use list names a node that does not use it");
        }
      }
      visible_[value->id()] = true;
      defined_.push_back(value);
    }
  }

  void UseInputs(const Node& node) {
    for (const Value* input : node.inputs()) {
      if (input == nullptr) Fail(node, "an input is null");
      if (input->id() >= visible_.size() || !visible_[input->id()]) {
        Fail(node, "an input is not defined before its use, or not visible here");
      }
      ++uses_seen_[input->id()];
    }
  }

  void VerifyBlock(const Block& block, const Node* owner) {
    if (block.owner() != owner) Fail(*block.param_node(), "a block does not know its node");
    const size_t outer = defined_.size();
    Define(*block.param_node());
    const Node* previous = block.param_node();
    for (const Node* node = previous->next(); node != block.return_node(); node = node->next()) {
      if (node == nullptr) Fail(*previous, "a block's list of nodes breaks off after this node");
      if (node->prev() != previous) Fail(*node, "a block's list of nodes does not lead back to the node before");
      if (node->block() != &block) Fail(*node, "a node does not know its block");
      if (node->graph() != &graph_) Fail(*node, "a node belongs to another graph");
      VerifyNode(*node);
      previous = node;
    }
    UseInputs(*block.return_node());
    for (size_t i = outer; i < defined_.size(); ++i) visible_[defined_[i]->id()] = false;
  }

  void VerifyNode(const Node& node) {
    UseInputs(node);
    const bool closure = IsClosure(node);
    // A closure's body sees its parameters and nothing around it.
    std::vector<bool> outside(closure ? visible_.size() : 0);
    if (closure) visible_.swap(outside);
    for (const Block* block : node.blocks()) VerifyBlock(*block, &node);
    if (closure) visible_.swap(outside);
    if (node.op() != nullptr) {
      if (node.op()->symbol() != node.kind()) Fail(node, "the operator is of another kind");
      if (!node.blocks().empty()) Fail(node, "an operator has no blocks");
      const std::string mismatch = SchemaMismatch(node.op()->schema(), node);
      if (!mismatch.empty()) Fail(node, mismatch);
    } else {
      VerifyKind(node);
    }
    Define(node);
  }

  // ---- What the interpreter itself defines ----

  static void Demand(const Node& node, bool holds, const char* what) {
    if (!holds) Fail(node, what);
  }
  static void DemandInputs(const Node& node, size_t count) {
    if (node.inputs().size() != count) Fail(node, "this kind of node has " + std::to_string(count) + " inputs");
  }
  static void DemandOutputs(const Node& node, size_t count) {
    if (node.outputs().size() != count) Fail(node, "this kind of node has " + std::to_string(count) + " outputs");
  }
  static void DemandBlocks(const Node& node, size_t count) {
    if (node.blocks().size() != count) Fail(node, "this kind of node has " + std::to_string(count) + " blocks");
  }
  static void DemandType(const Node& node, const Value* value, c10::TypeKind kind, const char* what) {
    Demand(node, value->type()->kind() == kind, what);
  }
  template <typename T>
  static const T& DemandAttribute(const Node& node, Symbol name) {
    const Attribute* attribute = node.FindAttribute(name);
    if (attribute == nullptr || !std::holds_alternative<T>(*attribute)) {
      Fail(node, std::string("this kind of node has the attribute ") + name.toUnqualString());
    }
    return std::get<T>(*attribute);
  }
  // What `block` returns from `first` on goes where values of `targets`' types are expected.
  static void DemandReturns(const Node& node, const Block& block, size_t first, std::span<Value* const> targets) {
    if (block.returns().size() != first + targets.size()) {
      Fail(node, "a block returns " + std::to_string(block.returns().size()) + " values, not " +
                     std::to_string(first + targets.size()));
    }
    for (size_t i = 0; i < targets.size(); ++i) {
      DemandSubtype(node, block.returns()[first + i], targets[i]);
    }
  }
  static void DemandSubtype(const Node& node, const Value* from, const Value* to) {
    if (!from->type()->isSubtypeOf(*to->type())) {
      Fail(node,
           "a " + from->type()->annotation_str() + " goes where a " + to->type()->annotation_str() + " is expected");
    }
  }

  void VerifyKind(const Node& node) const {
    const Symbol kind = node.kind();
    if (kind == sym::kConstant) {
      DemandInputs(node, 0);
      DemandOutputs(node, 1);
      const auto& value = DemandAttribute<c10::IValue>(node, sym::kValueAttr);
      Demand(node, value.type()->isSubtypeOf(*node.output()->type()), "the constant is not of the output's type");
    } else if (kind == sym::kIf) {
      VerifyIf(node);
    } else if (kind == sym::kLoop) {
      VerifyLoop(node);
    } else if (kind == sym::kWith) {
      DemandBlocks(node, 1);
      DemandInputs(node, 1);
      Demand(node, node.block(0)->params().size() <= 1, "a With's block has at most one parameter");
      DemandReturns(node, *node.block(0), 0, node.outputs());
    } else if (IsTask(node)) {
      VerifyClosure(node);
    } else if (kind == sym::kGetAttr) {
      DemandInputs(node, 1);
      DemandOutputs(node, 1);
      VerifyAttribute(node);
    } else if (kind == sym::kSetAttr) {
      DemandInputs(node, 2);
      DemandOutputs(node, 0);
      VerifyAttribute(node);
    } else if (kind == sym::kCallFunction) {
      Demand(node, DemandAttribute<torch::jit::Function*>(node, sym::kFunctionAttr) != nullptr, "no function");
    } else if (kind == sym::kCallMethod) {
      DemandAttribute<std::string>(node, sym::kNameAttr);
      Demand(node, !node.inputs().empty(), "a method is called on an object");
    } else if (kind == sym::kIsInstance) {
      DemandAttribute<std::vector<TypePtr>>(node, sym::kTypesAttr);
      DemandInputs(node, 1);
      DemandOutputs(node, 1);
    } else if (kind == sym::kTupleSlice) {
      DemandAttribute<int64_t>(node, sym::kBeginAttr);
      DemandAttribute<int64_t>(node, sym::kEndAttr);
    } else if (kind == sym::kListConstruct || kind == sym::kTupleConstruct || kind == sym::kDictConstruct) {
      VerifyContainer(node);
    } else if (kind == sym::kTupleUnpack) {
      DemandInputs(node, 1);
      auto tuple = node.input()->type()->cast<c10::TupleType>();
      Demand(node, tuple != nullptr && tuple->elements().size() == node.outputs().size(),
             "the input is not a tuple of as many elements as there are outputs");
    } else if (kind == sym::kListUnpack) {
      DemandInputs(node, 1);
      DemandType(node, node.input(), c10::TypeKind::ListType, "the input is a list");
    } else if (kind == sym::kTupleIndex) {
      DemandInputs(node, 2);
      DemandType(node, node.input(0), c10::TypeKind::TupleType, "the input is a tuple");
    } else if (kind == sym::kCreateObject) {
      DemandInputs(node, 0);
      DemandOutputs(node, 1);
      DemandType(node, node.output(), c10::TypeKind::ClassType, "the output is an object");
    } else if (kind == sym::kUncheckedCast) {
      DemandInputs(node, 1);
      DemandOutputs(node, 1);
    } else if (kind == sym::kUninitialized) {
      DemandInputs(node, 0);
      DemandOutputs(node, 1);
    } else if (kind == sym::kStateStep) {
      DemandInputs(node, 0);
      DemandOutputs(node, 0);
      DemandAttribute<int64_t>(node, sym::kStepAttr);
    } else if (kind == sym::kFrameState) {
      DemandOutputs(node, 0);
      DemandAttribute<int64_t>(node, sym::kAnchorAttr);
    } else if (kind == sym::kGuard) {
      Demand(node, !node.inputs().empty(), "a guard has a condition");
      DemandOutputs(node, 0);
      for (const Value* condition : node.inputs()) {
        DemandType(node, condition, c10::TypeKind::BoolType, "what is guarded is a bool");
      }
    } else if (kind == sym::kObserve) {
      DemandInputs(node, 1);
      DemandOutputs(node, 0);
      DemandAttribute<int64_t>(node, sym::kSiteAttr);
    } else if (kind == sym::kArena) {
      VerifyArena(node);
    } else if (kind == sym::kPlace) {
      Demand(node, node.inputs().size() >= 2, "a place has sizes and a dtype");
      DemandOutputs(node, 1);
    } else if (kind == sym::kSlot) {
      DemandInputs(node, 0);
      DemandOutputs(node, 1);
      DemandAttribute<int64_t>(node, sym::kPlaceAttr);
    } else if (kind != sym::kToList && kind != sym::kRaiseException) {
      Fail(node, "this node has no operator, and its kind is not one that does without");
    }
  }

  static void VerifyIf(const Node& node) {
    DemandInputs(node, 1);
    DemandBlocks(node, 2);
    DemandType(node, node.input(), c10::TypeKind::BoolType, "the condition is a bool");
    for (const Block* block : node.blocks()) {
      Demand(node, block->params().empty(), "an If's block has no parameters");
      DemandReturns(node, *block, 0, node.outputs());
    }
  }

  static void VerifyLoop(const Node& node) {
    DemandBlocks(node, 1);
    const Block& body = *node.block(0);
    Demand(node, node.inputs().size() == node.outputs().size() + 2, "a Loop has two inputs more than outputs");
    DemandType(node, node.input(0), c10::TypeKind::IntType, "the trip count is an int");
    DemandType(node, node.input(1), c10::TypeKind::BoolType, "the first condition is a bool");
    Demand(node, body.params().size() == node.outputs().size() + 1,
           "a Loop's block takes the trip and what it carries");
    DemandType(node, body.param(0), c10::TypeKind::IntType, "the trip is an int");
    DemandReturns(node, body, 1, node.outputs());
    DemandType(node, body.returns()[0], c10::TypeKind::BoolType, "the condition to go on is a bool");
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      DemandSubtype(node, node.input(i + 2), body.param(i + 1));
      DemandSubtype(node, body.returns()[i + 1], body.param(i + 1));
    }
  }

  static void VerifyClosure(const Node& node) {
    DemandBlocks(node, 1);
    DemandOutputs(node, 1);
    const Block& body = *node.block(0);
    Demand(node, body.params().size() == node.inputs().size(), "the body has a parameter for each value captured");
    Demand(node, body.returns().size() == 1, "the body has one result");
    for (size_t i = 0; i < node.inputs().size(); ++i) DemandSubtype(node, node.input(i), body.param(i));
  }

  static void VerifyArena(const Node& node) {
    DemandBlocks(node, 1);
    DemandOutputs(node, 0);
    const Block& places = *node.block(0);
    Demand(node, places.params().size() == node.inputs().size(), "the block has a parameter for each number");
    for (const Value* number : node.inputs()) DemandType(node, number, c10::TypeKind::IntType, "a number is an int");
    for (const Value* number : places.params()) DemandType(node, number, c10::TypeKind::IntType, "a number is an int");
    Demand(node, DemandAttribute<int64_t>(node, sym::kBytesAttr) >= 0, "its bytes are not negative");
    for (const Value* place : places.returns()) {
      Demand(node, place->node()->kind() == sym::kPlace, "what the block returns are places");
    }
  }

  static void VerifyAttribute(const Node& node) {
    const std::string& name = DemandAttribute<std::string>(node, sym::kNameAttr);
    auto type = node.input(0)->type()->cast<c10::ClassType>();
    Demand(node, type != nullptr, "attributes belong to objects");
    Demand(node, type->hasAttribute(name), "the object has no such attribute");
    const TypePtr declared = type->getAttribute(name);
    const bool fits = node.kind() == sym::kGetAttr ? declared->isSubtypeOf(*node.output()->type())
                                                   : node.input(1)->type()->isSubtypeOf(*declared);
    Demand(node, fits, "the value is not of the attribute's type");
  }

  static void VerifyContainer(const Node& node) {
    DemandOutputs(node, 1);
    const TypePtr& type = node.output()->type();
    if (node.kind() == sym::kListConstruct) {
      auto list = type->cast<c10::ListType>();
      Demand(node, list != nullptr, "the output is a list");
      for (const Value* input : node.inputs()) {
        Demand(node, input->type()->isSubtypeOf(*list->getElementType()), "an element is not of the list's type");
      }
    } else if (node.kind() == sym::kDictConstruct) {
      auto dict = type->cast<c10::DictType>();
      Demand(node, dict != nullptr && node.inputs().size() % 2 == 0, "the output is a dict, the inputs are pairs");
      for (size_t i = 0; i < node.inputs().size(); ++i) {
        const TypePtr& expected = i % 2 == 0 ? dict->getKeyType() : dict->getValueType();
        Demand(node, node.input(i)->type()->isSubtypeOf(*expected), "an entry is not of the dict's type");
      }
    } else {
      auto tuple = type->cast<c10::TupleType>();
      Demand(node, tuple != nullptr && tuple->elements().size() == node.inputs().size(),
             "the output is a tuple of as many elements as there are inputs");
      for (size_t i = 0; i < node.inputs().size(); ++i) {
        Demand(node, node.input(i)->type()->isSubtypeOf(*tuple->elements()[i]), "an element is not of its type");
      }
    }
  }

  const Graph& graph_;
  std::vector<bool> visible_;      // by value id: defined, in a block around here
  std::vector<size_t> uses_seen_;  // by value id
  std::vector<const Value*> defined_;
};

}  // namespace

void Verify(const Graph& graph) { Verifier(graph).Run(); }

}  // namespace hearth
