#include "jit/passes/autocast.h"

#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>
#include <c10/core/ScalarType.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/operators/registry.h"

namespace hearth {
namespace {

enum class Policy {
  kReduced,
  kFull,
  kFullUnlessDtypeGiven,
  kWidest,  // what is not known to be reduced counts as float32, so in effect kFull
};

std::optional<Policy> PolicyOf(Symbol symbol) {
  static const std::unordered_map<Symbol, Policy> kPolicies = [] {
    std::unordered_map<Symbol, Policy> policies;
    const auto add = [&](Policy policy, std::initializer_list<const char*> names) {
      for (const char* name : names) policies.emplace(Symbol::fromQualString(std::string("aten::") + name), policy);
    };
    add(Policy::kReduced, {"_convolution",
                           "conv1d",
                           "conv2d",
                           "conv3d",
                           "conv_tbc",
                           "conv_transpose1d",
                           "convolution",
                           "cudnn_convolution",
                           "cudnn_convolution_transpose",
                           "prelu",
                           "addmm",
                           "addmv",
                           "addr",
                           "matmul",
                           "mm",
                           "mv",
                           "linear",
                           "addbmm",
                           "baddbmm",
                           "bmm",
                           "chain_matmul",
                           "_thnn_fused_lstm_cell",
                           "_thnn_fused_gru_cell",
                           "lstm_cell",
                           "gru_cell",
                           "rnn_tanh_cell",
                           "rnn_relu_cell"});
    add(Policy::kFull, {"native_layer_norm",
                        "acos",
                        "asin",
                        "cosh",
                        "erfinv",
                        "exp",
                        "expm1",
                        "log",
                        "log10",
                        "log2",
                        "log1p",
                        "reciprocal",
                        "rsqrt",
                        "sinh",
                        "tan",
                        "pow",
                        "softplus",
                        "gelu",
                        "layer_norm",
                        "group_norm",
                        "frobenius_norm",
                        "nuclear_norm",
                        "cosine_similarity",
                        "cosine_embedding_loss",
                        "nll_loss",
                        "nll_loss2d",
                        "hinge_embedding_loss",
                        "kl_div",
                        "l1_loss",
                        "smooth_l1_loss",
                        "mse_loss",
                        "margin_ranking_loss",
                        "multilabel_margin_loss",
                        "soft_margin_loss",
                        "triplet_margin_loss",
                        "multi_margin_loss",
                        "binary_cross_entropy_with_logits",
                        "dist",
                        "pdist",
                        "cdist",
                        "renorm"});
    add(Policy::kFullUnlessDtypeGiven, {"prod", "log_softmax", "cumprod", "cumsum", "sum"});
    add(Policy::kWidest, {"addcdiv", "addcmul", "atan2", "bilinear", "cat", "cross", "dot", "equal", "index_put",
                          "stack", "tensordot", "add", "sub", "mul", "div"});
    return policies;
  }();
  auto found = kPolicies.find(symbol);
  return found == kPolicies.end() ? std::nullopt : std::optional(found->second);
}

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
    const std::optional<Policy> policy = PolicyOf(node->kind());
    if (!policy || node->op()->effects().writes) return;
    if (*policy == Policy::kFullUnlessDtypeGiven && GivesDtype(*node)) return;

    std::unordered_map<Value*, Value*> casts;
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      Value* input = node->input(i);
      if (input->type()->kind() != c10::TypeKind::TensorType) continue;
      Value*& cast = casts[input];
      if (cast == nullptr) cast = InsertCast(node, input, *policy == Policy::kReduced, region);
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
