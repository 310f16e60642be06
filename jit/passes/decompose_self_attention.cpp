#include "jit/passes/decompose_self_attention.h"

#include <ATen/core/jit_type.h>
#include <c10/core/ScalarType.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "jit/analysis/number_of.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/inferring_edits.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

constexpr size_t kRank = 3;  // of sequences: their number, tokens, features

// The operators' arguments by place.
constexpr size_t kAttentionMask = 9, kAttentionWantsWeights = 10;
constexpr size_t kLayerMask = 18;

struct SelfAttention {
  int64_t features = 0;
  int64_t heads = 0;
  Value* qkv_weight = nullptr;
  Value* qkv_bias = nullptr;
  Value* out_weight = nullptr;
  Value* out_bias = nullptr;
};

// From the argument at `first` on, which both operators have in this order.
std::optional<SelfAttention> SelfAttentionOf(const Node& node, size_t first) {
  const std::optional<int64_t> features = IntegerOf(*node.input(first)), heads = IntegerOf(*node.input(first + 1));
  if (!features || !heads || *heads < 1 || *features < 1 || *features % *heads != 0) return {};
  return SelfAttention{
      *features, *heads, node.input(first + 2), node.input(first + 3), node.input(first + 4), node.input(first + 5)};
}

std::optional<bool> BoolOf(const Value& value) {
  const c10::IValue* constant = ConstantOf(value);
  return constant != nullptr && constant->isBool() ? std::optional(constant->toBool()) : std::nullopt;
}

bool IsNone(const Value& value) {
  const c10::IValue* constant = ConstantOf(value);
  return constant != nullptr && constant->isNone();
}

class LayerDecomposer {
 public:
  explicit LayerDecomposer(Compilation& compilation)
      : graph_(compilation.graph()), facts_(compilation.facts()), edits_(graph_, compilation.facts()) {}

  bool Run() {
    const std::vector<Node*> found = NodesOutsideClosures(*graph_.block(), [this](const Node& node) {
      return node.op() != nullptr && (IsAttention(node) || IsEncoderLayer(node));
    });
    for (Node* node : found) {
      const InsertionGuard here(&graph_, node);
      graph_.SetCurrentRange(node->range());
      node_ = node;
      Value* result = node->kind() == c10::aten::_transformer_encoder_layer_fwd ? EncoderLayer() : Attention();
      result->SetName(node->output(0)->name());
      node->output(0)->ReplaceAllUsesWith(result);
      node->Destroy();
    }
    return !found.empty();
  }

 private:
  bool IsAttention(const Node& node) const {
    if (node.kind() != c10::aten::_native_multi_head_attention || !AreSequences(*node.input(0))) return false;
    const bool of_itself = node.input(0) == node.input(1) && node.input(0) == node.input(2);
    return of_itself && SelfAttentionOf(node, 3) && IsNone(*node.input(kAttentionMask)) &&
           BoolOf(*node.input(kAttentionWantsWeights)) == false && !node.output(1)->HasUses();
  }

  bool IsEncoderLayer(const Node& node) const {
    if (node.kind() != c10::aten::_transformer_encoder_layer_fwd || !AreSequences(*node.input(0))) return false;
    return SelfAttentionOf(node, 1) && IsNone(*node.input(kLayerMask)) && BoolOf(*node.input(7)) &&
           BoolOf(*node.input(8));
  }

  bool AreSequences(const Value& value) const {
    const ValueFacts& x = facts_.Of(value);
    return x.is_tensor() && x.plain && x.rank() == kRank && x.device && x.dtype && c10::isFloatingType(*x.dtype);
  }

  Value* Attention() { return Attend(node_->input(0), *SelfAttentionOf(*node_, 3)); }

  Value* EncoderLayer() {
    Value* const x = node_->input(0);
    const SelfAttention attention = *SelfAttentionOf(*node_, 1);
    const bool norm_first = *BoolOf(*node_->input(8));
    const auto norm = [&](Value* of, size_t weight) {
      return Make("aten::layer_norm", "",
                  {of, edits_.Constant(std::vector<int64_t>{attention.features}), node_->input(weight),
                   node_->input(weight + 1), node_->input(9), edits_.Constant(true)});
    };
    Value* attended = Add(Attend(norm_first ? norm(x, 10) : x, attention), x);
    if (!norm_first) attended = norm(attended, 10);
    Value* hidden = Linear(norm_first ? norm(attended, 12) : attended, node_->input(14), node_->input(15));
    hidden = Linear(Activated(hidden), node_->input(16), node_->input(17));
    Value* const sum = Add(hidden, attended);
    return norm_first ? sum : norm(sum, 12);
  }

  // What LibTorch's kernels for GPUs have inside a linear layer is the approximation.
  Value* Activated(Value* hidden) {
    if (!*BoolOf(*node_->input(7))) return Make("aten::relu", "", {hidden});
    const bool on_gpu = facts_.Of(*node_->input(0)).device->is_cuda();
    return Make("aten::gelu", "", {hidden, edits_.Constant(on_gpu ? "tanh" : "none")});
  }

  Value* Attend(Value* x, const SelfAttention& attention) {
    Value* const sequences = Size(x, 0);
    Value* const tokens = Size(x, 1);
    const auto number = [&](int64_t n) { return edits_.Constant(n); };
    Value* qkv = Linear(x, attention.qkv_weight, attention.qkv_bias);
    qkv = Make("aten::view", "",
               {qkv, Sizes({sequences, tokens, number(3), number(attention.heads),
                            number(attention.features / attention.heads)})});
    qkv = Make("aten::permute", "", {qkv, edits_.Constant(std::vector<int64_t>{2, 0, 3, 1, 4})});
    std::array<Value*, 3> parts;
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i] = Make("aten::select", "int", {qkv, number(0), number(static_cast<int64_t>(i))});
    }
    Value* const none = edits_.Constant(c10::IValue());
    Value* heads = Make("aten::scaled_dot_product_attention", "",
                        {parts[0], parts[1], parts[2], none, edits_.Constant(0.0), edits_.Constant(false), none,
                         edits_.Constant(false)});
    heads = Make("aten::transpose", "int", {heads, number(1), number(2)});
    Value* const joined = Make("aten::reshape", "", {heads, Sizes({sequences, tokens, number(attention.features)})});
    return Linear(joined, attention.out_weight, attention.out_bias);
  }

  Value* Linear(Value* x, Value* weight, Value* bias) { return Make("aten::linear", "", {x, weight, bias}); }
  Value* Add(Value* a, Value* b) { return Make("aten::add", "Tensor", {a, b, edits_.Constant(int64_t{1})}); }

  // A constant, if it is known.
  Value* Size(Value* x, size_t dimension) {
    const KnownSize known = (*facts_.Of(*x).sizes)[dimension];
    if (known) return edits_.Constant(*known);
    return Make("aten::size", "int", {x, edits_.Constant(static_cast<int64_t>(dimension))});
  }

  Value* Sizes(std::initializer_list<Value*> sizes) {
    Node* list = graph_.Create(sym::kListConstruct, std::span<Value* const>(sizes), 1);
    list->output()->SetType(c10::ListType::ofInts());
    list->InsertBefore(node_);
    return edits_.Infer(list->output());
  }

  Value* Make(const char* name, const char* overload, std::initializer_list<Value*> inputs) {
    return edits_.Infer(Operate(graph_, Symbol::fromQualString(name), overload, inputs, node_));
  }

  Graph& graph_;
  ValueFactTable& facts_;
  const InferringEdits edits_;
  Node* node_ = nullptr;  // that is being replaced
};

}  // namespace

bool DecomposeSelfAttention(Compilation& compilation) { return LayerDecomposer(compilation).Run(); }

}  // namespace hearth
