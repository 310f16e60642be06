#include "jit/passes/autocast.h"

#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>
#include <c10/core/ScalarType.h>

#include <optional>
#include <string>
#include <vector>

#include "jit/compiler/compilation.h"
#include "jit/definitions/definition.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/operators/registry.h"

namespace hearth {
namespace {

bool IsAutocast(const TypePtr& type) {
  auto manager = type->cast<c10::ClassType>();
  if (manager == nullptr || !manager->name()) return false;
  const std::string name = manager->name()->qualifiedName();
  return name.starts_with("__torch__.torch.") && name.find(".autocast_mode.") != std::string::npos &&
         name.ends_with(".autocast");
}

// What is in force in a region. Null: as outside of any region.
struct Region {
  Value* cuda_enabled = nullptr;
  Value* cpu_enabled = nullptr;
  Value* cuda_dtype = nullptr;
  Value* cpu_dtype = nullptr;
};

bool IsOff(const Value* enabled) {
  if (enabled == nullptr) return true;
  const c10::IValue* constant = ConstantOf(*enabled);
  return constant != nullptr && !constant->toBool();
}

// What `name` of an object made in this graph was set to; null unless that happened exactly once.
Value* AttributeOf(const Value& object, const std::string& name) {
  Value* value = nullptr;
  for (const Use& use : object.uses()) {
    if (use.user->kind() != sym::kSetAttr || use.offset != 0) continue;
    if (use.user->attribute<std::string>(sym::kNameAttr) != name) continue;
    if (value != nullptr) return nullptr;
    value = use.user->input(1);
  }
  return value;
}

class Autocast {
 public:
  explicit Autocast(Graph& graph) : graph_(graph) { Walk(graph.block(), {}); }
  bool changed() const { return changed_; }

 private:
  void Walk(Block* block, const Region& region) {
    for (Node* node : *block) {
      if (node->kind() == sym::kWith && IsAutocast(node->input()->type())) {
        Walk(node->block(0), Enter(*node, region));
        continue;
      }
      if (node->op() != nullptr) Cast(node, region);
      // A closure does not see the values that a region is described by.
      for (Block* nested : node->blocks()) Walk(nested, IsTask(*node) ? CopyInto(nested, region) : region);
    }
  }

  Region Enter(const Node& with, const Region& outer) {
    const Value& manager = *with.input();
    Value* enabled = AttributeOf(manager, "_enabled");
    Value* dtype = AttributeOf(manager, "fast_dtype");
    const Value* device = AttributeOf(manager, "device");
    const c10::IValue* device_name = device == nullptr ? nullptr : ConstantOf(*device);
    if (enabled == nullptr || dtype == nullptr || device_name == nullptr || !device_name->isString()) return outer;
    Region region = outer;
    if (device_name->toStringRef() == "cuda") {
      region.cuda_enabled = enabled;
      region.cuda_dtype = dtype;
    } else if (device_name->toStringRef() == "cpu") {
      region.cpu_enabled = enabled;
      region.cpu_dtype = dtype;
    }
    return region;
  }

  Region CopyInto(Block* closure, const Region& region) {
    InsertionGuard guard(&graph_, closure->param_node()->next());
    const auto copy = [&](Value* value) -> Value* {
      const c10::IValue* constant = value == nullptr ? nullptr : ConstantOf(*value);
      return constant == nullptr ? nullptr : graph_.InsertConstant(*constant);
    };
    Region copied;
    copied.cuda_dtype = copy(region.cuda_dtype);
    copied.cpu_dtype = copy(region.cpu_dtype);
    if (copied.cuda_dtype != nullptr) copied.cuda_enabled = copy(region.cuda_enabled);
    if (copied.cpu_dtype != nullptr) copied.cpu_enabled = copy(region.cpu_enabled);
    return copied;
  }

  void Cast(Node* node, const Region& region) {
    if (IsOff(region.cuda_enabled) && IsOff(region.cpu_enabled)) return;
    const AutocastPolicy policy = DefinitionOf(node->kind()).autocast;
    if (policy == AutocastPolicy::kNone || EffectsOf(*node->op()).writes) return;
    if (policy == AutocastPolicy::kFullUnlessDtypeGiven && GivesDtype(*node)) return;

    std::unordered_map<Value*, Value*> casts;
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      Value* input = node->input(i);
      if (input->type()->kind() != c10::TypeKind::TensorType) continue;
      Value*& cast = casts[input];
      if (cast == nullptr) cast = InsertCast(node, input, policy == AutocastPolicy::kReduced, region);
      node->ReplaceInput(i, cast);
    }
  }

  static bool GivesDtype(const Node& node) {
    const std::vector<c10::Argument>& arguments = node.op()->schema().arguments();
    for (size_t i = 0; i < arguments.size() && i < node.inputs().size(); ++i) {
      if (arguments[i].name() == "dtype") return node.input(i)->type()->kind() != c10::TypeKind::NoneType;
    }
    return false;
  }

  Value* InsertCast(Node* node, Value* input, bool reduced, const Region& region) {
    static const Operator* const kReduced =
        OperatorRegistry::Global().Find(Symbol::fromQualString("aten::_autocast_to_reduced_precision"), "");
    static const Operator* const kFull =
        OperatorRegistry::Global().Find(Symbol::fromQualString("aten::_autocast_to_full_precision"), "");
    const Operator* op = reduced ? kReduced : kFull;
    if (input->node()->op() == op) return input;

    InsertionGuard guard(&graph_, node);
    std::vector<Value*> inputs = {input, OrConstant(region.cuda_enabled, false), OrConstant(region.cpu_enabled, false)};
    if (reduced) {
      inputs.push_back(OrConstant(region.cuda_dtype, static_cast<int64_t>(c10::ScalarType::Half)));
      inputs.push_back(OrConstant(region.cpu_dtype, static_cast<int64_t>(c10::ScalarType::BFloat16)));
    }
    Node* cast = graph_.Create(op->symbol(), inputs, 1);
    cast->SetOperator(op);
    cast->SetRange(node->range());
    cast->SetInlinedCall(node->inlined_call());
    changed_ = true;
    return graph_.Insert(cast)->output();
  }

  Value* OrConstant(Value* value, c10::IValue otherwise) {
    return value != nullptr ? value : graph_.InsertConstant(std::move(otherwise));
  }

  Graph& graph_;
  bool changed_ = false;
};

}  // namespace

bool InsertAutocasts(Compilation& compilation) { return Autocast(compilation.graph()).changed(); }

}  // namespace hearth
