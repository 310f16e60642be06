#include "jit/passes/pack_convolutions.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>
#include <ATen/core/stack.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "jit/analysis/constant_tensor.h"
#include "jit/analysis/node_effects.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/value_facts.h"
#include "jit/compiler/compilation.h"
#include "jit/ir/closure.h"
#include "jit/ir/contains.h"
#include "jit/ir/symbols.h"
#include "jit/operators/registry.h"
#include "jit/passes/operate.h"
#include "jit/support/operator_threads.h"
#include "jit/weights/derived_constants.h"

namespace hearth {
namespace {

Symbol Aten(const std::string& name) { return Symbol::fromQualString("aten::" + name); }

const Symbol kConvolution2d = Aten("conv2d");
const Symbol kGeneralConvolution = Aten("_convolution");
const Symbol kCat = Aten("cat");
const Symbol kAdd = Aten("add");
const Symbol kAddInPlace = Aten("add_");
const Symbol kPackedConvolution = Symbol::fromQualString("hearth::convolution");

const Operator* PackedOperator() {
  static const Operator* const kOperator = OperatorRegistry::Global().Find(kPackedConvolution, "");
  return kOperator;
}

// Their results do not depend on the formats of their inputs, and are in the format that these have.
bool PassesFormatOn(Symbol kind, bool in_place) {
  static const std::unordered_set<Symbol> kElementwise = [] {
    std::unordered_set<Symbol> symbols;
    for (const char* name : {"relu",        "relu6", "hardtanh",   "silu", "sigmoid", "tanh",     "hardswish",
                             "hardsigmoid", "gelu",  "leaky_relu", "elu",  "mish",    "softplus", "exp",
                             "neg",         "abs",   "clamp",      "add",  "sub",     "mul",      "div"}) {
      symbols.insert(Aten(name));
      symbols.insert(Aten(std::string(name) + "_"));
    }
    return symbols;
  }();
  static const std::unordered_set<Symbol> kOthers = [] {
    std::unordered_set<Symbol> symbols;
    for (const char* name : {"max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", "batch_norm", "cat", "mean",
                             "upsample_nearest2d", "upsample_bilinear2d"}) {
      symbols.insert(Aten(name));
    }
    return symbols;
  }();
  return kElementwise.count(kind) != 0 || (!in_place && kOthers.count(kind) != 0);
}

// What a convolution is told beside its input.
struct Settings {
  at::Tensor weight;
  std::vector<int64_t> padding, stride, dilation;
  int64_t groups = 1;
};

bool IsUsable(const at::Tensor& tensor) {
  return IsPlainOnCpu(tensor, at::kFloat) && tensor.numel() > 0 && tensor.is_contiguous() &&
         tensor.suggest_memory_format() == at::MemoryFormat::Contiguous;
}

std::optional<std::vector<int64_t>> PairOf(const Value& value) {
  const c10::IValue* constant = ConstantOf(value);
  if (constant == nullptr || !constant->isIntList()) return {};
  std::vector<int64_t> pair = constant->toIntVector();
  if (pair.size() == 1) pair.push_back(pair.front());
  return pair.size() == 2 ? std::optional(pair) : std::nullopt;
}

std::optional<Settings> SettingsOf(const Node& node) {
  if (node.op() == nullptr || !node.op()->schema().overload_name().empty()) return {};
  const bool general = node.kind() == kGeneralConvolution;
  if (!general && node.kind() != kConvolution2d) return {};
  if (general) {
    const c10::IValue* transposed = ConstantOf(*node.input(6));
    if (transposed == nullptr || !transposed->isBool() || transposed->toBool()) return {};
  }
  const at::Tensor* weight = ConstantTensor(*node.input(1));
  const c10::IValue* bias = ConstantOf(*node.input(2));
  if (weight == nullptr || weight->dim() != 4 || !IsUsable(*weight) || bias == nullptr) return {};
  if (bias->isTensor() ? !IsUsable(bias->toTensor()) : !bias->isNone()) return {};
  const auto stride = PairOf(*node.input(3)), padding = PairOf(*node.input(4)), dilation = PairOf(*node.input(5));
  const c10::IValue* groups = ConstantOf(*node.input(general ? 8 : 6));
  if (!stride || !padding || !dilation || groups == nullptr || !groups->isInt()) return {};
  const auto all = [](const std::vector<int64_t>& pair, int64_t least) {
    return std::ranges::all_of(pair, [&](int64_t number) { return number >= least; });
  };
  if (!all(*stride, 1) || !all(*padding, 0) || !all(*dilation, 1)) return {};
  if (groups->toInt() < 1 || weight->size(0) % groups->toInt() != 0) return {};
  return Settings{*weight, *padding, *stride, *dilation, groups->toInt()};
}

bool HasConvolutions(const Block& block) {
  return AnyNode(block, [](const Node& node) { return SettingsOf(node).has_value(); });
}

// An activation as hearth::convolution calls it. Those alone that keep a nan: relu is none of them.
struct Activation {
  std::string name;
  std::vector<double> parameters;
};

std::optional<Activation> ActivationOf(const Node& node) {
  static const std::unordered_map<Symbol, std::string> kNames = {
      {Aten("silu"), "swish"},           {Aten("silu_"), "swish"}, {Aten("hardswish"), "hardswish"},
      {Aten("hardswish_"), "hardswish"}, {Aten("gelu"), "gelu"},   {Aten("gelu_"), "gelu"}};
  const auto found = kNames.find(node.kind());
  if (found == kNames.end() || node.op() == nullptr || node.outputs().size() != 1) return {};
  if (found->second != "gelu") return Activation{found->second, {}};
  const c10::IValue* approximation = ConstantOf(*node.input(1));
  if (approximation == nullptr || !approximation->isString()) return {};
  return Activation{approximation->toStringRef() == "tanh" ? "gelu_tanh" : "gelu", {}};
}

c10::IValue Call(const char* name, torch::jit::Stack stack) {
  OperatorRegistry::Global().Find(Symbol::fromQualString(name), "")->Run(stack);
  return stack.at(0);
}

at::Tensor PackFor(const Settings& settings, const std::vector<int64_t>& sizes) {
  return Call("mkldnn::_reorder_convolution_weight",
              {settings.weight.detach(), settings.padding, settings.stride, settings.dilation, settings.groups, sizes})
      .toTensor();
}

// The sizes that images may well have, within what is known of them, and that a kernel fits into.
std::vector<std::vector<int64_t>> LikelySizes(const Settings& settings, const KnownSizes& known) {
  std::vector<std::vector<int64_t>> likely;
  for (const int64_t batch : {1, 8}) {
    if (known[0] && batch != 1) continue;
    for (const int64_t side : {7, 14, 19, 28, 56, 75, 112}) {
      std::vector<int64_t> sizes = {known[0].value_or(batch), settings.weight.size(1) * settings.groups,
                                    known[2].value_or(side), known[3].value_or(side)};
      bool fits = true;
      for (size_t i = 0; i < 2; ++i) {
        const int64_t kernel = settings.dilation[i] * (settings.weight.size(static_cast<int64_t>(i) + 2) - 1) + 1;
        fits &= sizes[i + 2] + 2 * settings.padding[i] >= kernel;
      }
      if (fits && (likely.empty() || likely.back() != sizes)) likely.push_back(std::move(sizes));
    }
  }
  return likely;
}

// A weight in another format than the one that the library wants for an input's sizes costs more than one that was not
// packed. So it is packed if the sizes are known, or if all that are likely want the same format; else it is in
// channels-last format, with which the library begins anew each time.
at::Tensor Pack(const Settings& settings, const std::optional<KnownSizes>& known) {
  const at::NoGradGuard no_gradients;
  const KnownSizes sizes = known && known->size() == 4 ? *known : KnownSizes(4);
  at::Tensor packed;
  for (const std::vector<int64_t>& likely : LikelySizes(settings, sizes)) {
    const at::Tensor candidate = PackFor(settings, likely);
    if (packed.defined() && !AreSame(candidate, packed)) {
      return settings.weight.detach().clone(at::MemoryFormat::ChannelsLast);
    }
    packed = candidate;
  }
  return packed.defined() ? packed : settings.weight.detach().clone(at::MemoryFormat::ChannelsLast);
}

std::string Text(const std::optional<KnownSizes>& sizes) {
  std::string text;
  for (size_t i = 0; sizes && i < sizes->size(); ++i) {
    text += (*sizes)[i] ? std::to_string(*(*sizes)[i]) + " " : "* ";
  }
  return text;
}

std::string Text(const Settings& settings) {
  std::string text;
  for (const std::vector<int64_t>& numbers : {settings.padding, settings.stride, settings.dilation}) {
    for (const int64_t number : numbers) text += std::to_string(number) + " ";
  }
  return text + std::to_string(settings.groups);
}

// Whether `user`, in the same block, is the only one to use it.
bool IsOnlyFor(const Value& value, const Node& user) {
  return value.uses().size() == 1 && value.uses().front().user == &user && value.node()->block() == user.block();
}

// Operands of hearth::convolution.
constexpr size_t kOther = 10;
constexpr size_t kActivation = 11;
constexpr size_t kParameters = 12;

class Packer {
 public:
  explicit Packer(Compilation& compilation)
      : graph_(compilation.graph()), facts_(compilation.facts()), derived_(*compilation.weights()) {}

  bool Run() {
    FindShared(*graph_.block());
    Walk(graph_.block());
    return changed_;
  }

 private:
  void Walk(Block* block) {
    for (Node* node : *block) Visit(node);
    Settle(block->return_node());
  }

  void Visit(Node* node) {
    const std::optional<Settings> settings = SettingsOf(*node);
    if (settings && IsImages(*node->input(0)) && !IsShared(*node->output())) {
      if (IsOfPixels(*node->input(0)) && settings->weight.size(2) * settings->weight.size(3) == 1) {
        // A small product, for which LibTorch has a shorter way; of one pixel, the format is a matter of strides alone.
        if (IsLoose(*node->input(0))) loose_.insert(node->output());
        return;
      }
      if (TryReplace(node, *settings)) return;
    }
    if (TryActivate(node) || TryAdd(node)) return;
    if (PassesOn(*node)) {
      if (node->kind() != sym::kListConstruct) loose_.insert(node->output());
    } else {
      Settle(node);
    }
    if (IsClosure(*node)) return;
    for (Block* nested : node->blocks()) Walk(nested);
  }

  // ---- Convolutions ----

  // Whether it is a batch of float images on the CPU.
  bool IsImages(const Value& value) const {
    if (IsLoose(value)) return true;
    const ValueFacts& facts = facts_.Of(value);
    return facts.is_tensor() && facts.plain && facts.rank() == 4u && facts.dtype == c10::kFloat && facts.device &&
           facts.device->is_cpu();
  }

  // Whether its images have one pixel each.
  bool IsOfPixels(const Value& value) const {
    const std::optional<KnownSizes> sizes = SizesOf(value);
    return sizes && sizes->size() == 4 && (*sizes)[2] == 1 && (*sizes)[3] == 1;
  }

  // Not where there is no room for a weight in another format.
  bool TryReplace(Node* node, const Settings& settings) {
    Value* x = node->input(0);
    const std::optional<KnownSizes> sizes = SizesOf(*x);
    at::Tensor weight = Packed(settings, sizes);
    // That for any sizes is there already, mostly.
    if (!weight.defined()) weight = Packed(settings, KnownSizes(4));
    if (!weight.defined()) return false;
    // For the calls that the plan is most likely for.
    c10::IValue for_likely;
    const std::vector<int64_t> likely = LikelyOf(sizes);
    if (!likely.empty()) {
      const at::Tensor other = Packed(settings, KnownSizes(likely.begin(), likely.end()));
      if (other.defined() && other.is_mkldnn() && !other.is_same(weight)) for_likely = other;
    }
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    Node* made =
        graph_.Create(kPackedConvolution,
                      {x, graph_.InsertConstant(weight), graph_.InsertConstant(for_likely),
                       graph_.InsertConstant(for_likely.isNone() ? std::vector<int64_t>() : likely), node->input(2),
                       graph_.InsertConstant(settings.padding), graph_.InsertConstant(settings.stride),
                       graph_.InsertConstant(settings.dilation), graph_.InsertConstant(settings.groups),
                       graph_.InsertConstant(IsLoose(*x)), graph_.InsertConstant({}),
                       graph_.InsertConstant(std::string("none")), graph_.InsertConstant(c10::List<double>())});
    made->SetOperator(PackedOperator());
    made->output()->SetType(c10::TensorType::get());
    made->output()->SetName(node->output()->name());
    made->SetInlinedCall(node->inlined_call());
    graph_.Insert(made);
    sizes_[made->output()] = facts_.Of(*node->output()).sizes;
    Become(node, made->output());
    return true;
  }

  // Undefined where there is no room for it.
  at::Tensor Packed(const Settings& settings, const std::optional<KnownSizes>& sizes) {
    const auto packed = derived_.Get("packed convolution " + Text(settings), Text(sizes), {settings.weight},
                                     [&] { return std::vector<at::Tensor>{Pack(settings, sizes)}; });
    return packed.empty() ? at::Tensor() : packed[0];
  }

  // Sizes that it may well have; none where they are known, or not all are likely.
  std::vector<int64_t> LikelyOf(const std::optional<KnownSizes>& sizes) {
    std::vector<int64_t> likely;
    bool known = true;
    for (size_t i = 0; sizes && i < sizes->size(); ++i) {
      known &= (*sizes)[i].has_value();
      const KnownSize size = facts_.sizes().Likely((*sizes)[i]);
      if (!size) return {};
      likely.push_back(*size);
    }
    return known ? std::vector<int64_t>() : likely;
  }

  // `node` gives what `value`, a convolution's result, now is.
  void Become(Node* node, Value* value) {
    node->output()->ReplaceAllUsesWith(value);
    node->Destroy();
    loose_.insert(value);
    changed_ = true;
  }

  // The convolution that gives `value` to `user` alone and does nothing more so far; null if there is none. The library
  // knows no activation after an addition that would keep a nan.
  Node* BareConvolution(const Value& value, const Node& user) const {
    Node* node = value.node();
    if (node->kind() != kPackedConvolution || !IsLoose(value) || !IsOnlyFor(value, user)) return nullptr;
    const c10::IValue* activation = ConstantOf(*node->input(kActivation));
    const c10::IValue* other = ConstantOf(*node->input(kOther));
    const bool bare = activation != nullptr && activation->toStringRef() == "none" && other != nullptr;
    return bare ? node : nullptr;
  }

  bool TryActivate(Node* node) {
    const std::optional<Activation> activation = ActivationOf(*node);
    if (!activation) return false;
    Node* convolution = BareConvolution(*node->input(0), *node);
    if (convolution == nullptr || IsShared(*node->output())) return false;
    const InsertionGuard before(&graph_, convolution);
    convolution->ReplaceInput(kActivation, graph_.InsertConstant(activation->name));
    convolution->ReplaceInput(kParameters, graph_.InsertConstant(c10::List<double>(activation->parameters)));
    Become(node, convolution->output());
    return true;
  }

  // An addition of two loose values of one size, as far as is known; that they are is checked by the operator.
  bool TryAdd(Node* node) {
    const bool in_place = node->kind() == kAddInPlace;
    if ((!in_place && node->kind() != kAdd) || node->op() == nullptr ||
        node->op()->schema().overload_name() != "Tensor") {
      return false;
    }
    const c10::IValue* alpha = ConstantOf(*node->input(2));
    if (alpha == nullptr || !alpha->isInt() || alpha->toInt() != 1 || IsShared(*node->output())) return false;
    if (in_place && !IsOnlyFor(*node->input(0), *node)) return false;
    for (size_t i = 0; i < 2; ++i) {
      Value* value = node->input(i);
      Value* other = node->input(1 - i);
      Node* convolution = BareConvolution(*value, *node);
      if (convolution == nullptr || !IsLoose(*other)) continue;
      if (!MayBeOfOneSize(SizesOf(*value), SizesOf(*other))) continue;
      // What it reads must still be there.
      if (!IsLoose(*convolution->input(0)) && facts_.memory().MayBeWritten(*convolution->input(0))) continue;
      convolution->MoveBefore(node);
      convolution->ReplaceInput(kOther, other);
      Become(node, convolution->output());
      return true;
    }
    return false;
  }

  static bool MayBeOfOneSize(const std::optional<KnownSizes>& a, const std::optional<KnownSizes>& b) {
    return a && b && std::ranges::equal(*a, *b, {}, &KnownSize::constant, &KnownSize::constant);
  }

  std::optional<KnownSizes> SizesOf(const Value& value) const {
    const auto found = sizes_.find(&value);
    return found != sizes_.end() ? found->second : facts_.Of(value).sizes;
  }

  // ---- Writes ----

  // A write in place to what nobody else can see is as good as a new value: the operand is used here alone, and is
  // memory that was made for it or that came so from another such write. A class of values that is written in another
  // way is shared.
  void FindShared(const Block& block) {
    for (const Node* node : block) {
      const bool calls = EffectsOf(*node).calls;
      for (size_t i = 0; i < node->inputs().size(); ++i) {
        if (!HasMemory(*node->input(i)->type()) || (!calls && !WritesInput(*node, i))) continue;
        if (!calls && i == 0 && IsFresh(*node->input(0), *node)) {
          fresh_.insert(node);
        } else {
          shared_.insert(facts_.memory().aliases().ClassOf(*node->input(i)));
        }
      }
      for (const Block* nested : node->blocks()) FindShared(*nested);
    }
  }

  bool IsFresh(const Value& value, const Node& user) const {
    const Node& maker = *value.node();
    if (!IsOnlyFor(value, user) || maker.op() == nullptr || maker.op()->is_vararg()) return false;
    if (fresh_.count(&maker) != 0) return true;
    for (size_t i = 0; i < maker.inputs().size(); ++i) {
      if (HasMemory(*maker.input(i)->type()) && OutputMayAliasInput(maker, value.offset(), i)) return false;
    }
    return true;
  }

  // Values made since the start belong to nobody else.
  bool IsShared(const Value& value) const { return shared_.count(facts_.memory().aliases().ClassOf(value)) != 0; }

  // ---- Formats ----

  bool IsLoose(const Value& value) const { return loose_.count(&value) != 0; }

  // Whether its strides are the default ones in the baseline and here.
  bool IsDefault(const Value& value) const {
    if (const at::Tensor* constant = ConstantTensor(value)) {
      return constant->is_contiguous() && constant->suggest_memory_format() == at::MemoryFormat::Contiguous;
    }
    const ValueFacts& facts = facts_.Of(value);
    // Of four dimensions, strides may be those of two formats.
    return facts.is_tensor() && facts.plain && facts.contiguous && facts.rank() && *facts.rank() < 4;
  }

  // Whether it gives a loose value: one input at least is loose, and the others do not decide otherwise. A list is
  // passed on if what alone takes it does.
  bool PassesOn(const Node& node) const {
    if (node.outputs().size() != 1) return false;
    if (node.kind() == sym::kListConstruct) {
      return node.output()->uses().size() == 1 && node.output()->uses().front().user->kind() == kCat &&
             HasLooseOnes(node);
    }
    if (node.op() == nullptr || IsShared(*node.output())) return false;
    if (fresh_.count(&node) != 0) return IsLoose(*node.input(0)) && PassesFormatOn(node.kind(), /*in_place=*/true);
    if (!PassesFormatOn(node.kind(), /*in_place=*/false) || EffectsOf(node).any()) return false;
    if (node.kind() != kCat) return HasLooseOnes(node);
    const Node& list = *node.input(0)->node();
    return list.kind() == sym::kListConstruct && list.output()->uses().size() == 1 && HasLooseOnes(list);
  }

  bool HasLooseOnes(const Node& node) const {
    bool loose = false;
    for (const Value* input : node.inputs()) {
      if (IsLoose(*input)) {
        loose = true;
      } else if (MayHaveFormat(*input) && !IsDefault(*input)) {
        return false;
      }
    }
    return loose;
  }

  // Numbers, lists of them and None have none.
  static bool MayHaveFormat(const Value& value) {
    const c10::IValue* constant = ConstantOf(value);
    if (constant != nullptr) return constant->isTensor() || constant->isTensorList();
    const c10::Type& type = *value.type();
    return HasMemory(type) && (type.kind() != c10::TypeKind::ListType || HasMemory(*type.containedType(0)));
  }

  // Gives the node its inputs in the default format.
  void Settle(Node* node) {
    static const Symbol kIsContiguous = Aten("is_contiguous");
    if (ReadsShapeOnly(node->kind()) && node->kind() != kIsContiguous) return;
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      if (IsLoose(*node->input(i))) node->ReplaceInput(i, Settled(node->input(i)));
    }
  }

  Value* Settled(Value* value) {
    Value*& settled = settled_[value];
    if (settled != nullptr) return settled;
    const InsertionGuard after(&graph_, value->node()->next());
    graph_.SetCurrentRange(value->node()->range());
    Value* format = graph_.InsertConstant(static_cast<int64_t>(at::MemoryFormat::Contiguous));
    return settled = Operate(graph_, Aten("clone"), "", {value, format}, value->node());
  }

  Graph& graph_;
  ValueFactTable& facts_;
  DerivedConstants& derived_;
  std::unordered_set<size_t> shared_;      // alias classes
  std::unordered_set<const Node*> fresh_;  // nodes that write in place to what nobody else can see
  std::unordered_set<const Value*> loose_;
  std::unordered_map<const Value*, std::optional<KnownSizes>> sizes_;  // of convolutions' results
  std::unordered_map<const Value*, Value*> settled_;
  bool changed_ = false;
};

}  // namespace

bool PackConvolutions(Compilation& compilation) {
  const Target& target = compilation.target();
  if (!target.onednn || PackedOperator() == nullptr || !HasConvolutions(*compilation.source().block())) return false;
  bool changed = false;
  AsIfOnThreads(target.threads, [&] { changed = Packer(compilation).Run(); });
  return changed;
}

}  // namespace hearth
