#include "jit/passes/fold_constant_tensors.h"

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>
#include <ATen/core/stack.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/definition.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"
#include "jit/weights/derived_constants.h"

namespace hearth {
namespace {

// Of what is only a step on the way to what is small.
constexpr size_t kMaxStepBytes = size_t{64} << 20;

bool BroadcastToLittle(const std::vector<at::Tensor>& tensors) {
  constexpr int64_t kMost = kMaxFoldedTensorBytes;  // bytes or larger elements
  std::vector<int64_t> sizes;
  for (const at::Tensor& tensor : tensors) {
    const auto extra = static_cast<int64_t>(sizes.size()) - tensor.dim();
    if (extra < 0) sizes.insert(sizes.begin(), static_cast<size_t>(-extra), 1);
    for (int64_t i = 0; i < tensor.dim(); ++i) {
      int64_t& size = sizes[static_cast<size_t>(i + std::max<int64_t>(extra, 0))];
      size = std::max(size, tensor.size(i));
    }
  }
  int64_t elements = 1;
  for (const int64_t size : sizes) {
    if (size > kMost || (elements *= size) > kMost) return false;
  }
  return true;
}

// Whether it gives about as much as it is given, for as much work, however large that is.
bool KeepsSizes(const OperatorDefinition& definition) {
  switch (definition.kind) {
    case OperatorClass::kPointwise:
    case OperatorClass::kReduction:
    case OperatorClass::kNormalization:
    case OperatorClass::kView:
    case OperatorClass::kConversion:
      return true;
    default:
      return false;
  }
}

// Whether it gives the same in every run, and of what size is known beforehand: not such as take long for little.
bool Folds(const OperatorDefinition& definition) {
  if (definition.facts == nullptr || definition.uninitialized || definition.reads_mode || definition.seeds)
    return false;
  switch (definition.kind) {
    case OperatorClass::kScan:
    case OperatorClass::kProduct:
    case OperatorClass::kConvolution:
    case OperatorClass::kPooling:
    case OperatorClass::kResampling:
    case OperatorClass::kJoin:
    case OperatorClass::kIndexing:
    case OperatorClass::kCreation:
      return true;
    default:
      return KeepsSizes(definition);
  }
}

bool Multiplies(const OperatorDefinition& definition) {
  return definition.kind == OperatorClass::kProduct || definition.kind == OperatorClass::kConvolution;
}

// About how many numbers a product of `factors` multiplies and adds up, a bias among them or not: of matrices [m, k]
// and [k, n] with a result [m, n], each of m, k and n is a size of two of the three, so that m * k * n is the root of
// the product of their elements.
double ProductsOf(const std::vector<at::Tensor>& factors, double result) {
  std::vector<double> elements;
  for (const at::Tensor& factor : factors) elements.push_back(static_cast<double>(factor.numel()));
  std::ranges::sort(elements, std::greater());
  elements.resize(2, 1);
  return std::sqrt(elements[0] * elements[1] * result);
}

std::optional<double> ElementsOf(const ValueFacts& facts) {
  if (!facts.is_tensor() || !facts.sizes || !std::ranges::all_of(*facts.sizes, &KnownSize::has_value)) return {};
  double elements = 1;
  for (const KnownSize size : *facts.sizes) elements *= static_cast<double>(*size);
  return elements;
}

std::optional<double> BytesOf(const ValueFacts& facts) {
  const std::optional<double> elements = ElementsOf(facts);
  if (!elements || !facts.dtype) return {};
  return *elements * static_cast<double>(c10::elementSize(*facts.dtype));
}

// Tells constants apart; false for what is not looked at.
bool AppendTo(std::string* text, const c10::IValue& value) {
  *text += ';';
  if (value.isNone()) {
    *text += "None";
  } else if (value.isBool()) {
    *text += value.toBool() ? "True" : "False";
  } else if (value.isInt()) {
    *text += std::to_string(value.toInt());
  } else if (value.isDouble()) {
    *text += 'd' + std::to_string(std::bit_cast<uint64_t>(value.toDouble()));
  } else if (value.isDevice()) {
    *text += value.toDevice().str();
  } else if (value.isString()) {
    *text += '"' + value.toStringRef() + '"';
  } else if (value.isIntList()) {
    for (const int64_t element : value.toIntVector()) *text += std::to_string(element) + ',';
  } else {
    return false;
  }
  return true;
}

class TensorFolder {
 public:
  explicit TensorFolder(Compilation& compilation)
      : target_(compilation.target()),
        graph_(compilation.graph()),
        facts_(compilation.facts()),
        memory_(compilation.memory()),
        derived_(*compilation.weights()) {}

  bool Run() {
    Walk(graph_.block());
    return changed_;
  }

 private:
  // Constants stay where the node was, which is right in closures too.
  void Walk(Block* block) {
    for (Node* node : *block) {
      for (Block* nested : node->blocks()) Walk(nested);
      if (std::optional<at::Tensor> result = Compute(*node)) Replace(node, std::move(*result));
    }
  }

  std::optional<at::Tensor> Compute(const Node& node) const {
    const OperatorDefinition& definition = DefinitionOf(node.kind());
    if (node.op() == nullptr || !Folds(definition) || node.op()->is_vararg() || !node.op()->has_boxed()) return {};
    if (node.outputs().size() != 1 || node.output()->type()->kind() != c10::TypeKind::TensorType) return {};
    if (EffectsOf(node).any() || !StaysInside(*node.output())) return {};
    std::string purpose = c10::toString(node.op()->schema());
    std::vector<at::Tensor> from;
    torch::jit::Stack stack;
    for (const Value* input : node.inputs()) {
      const c10::IValue* constant = ConstantOf(*input);
      if (constant == nullptr && IsMadeAfter(node) && facts_.Of(*input).is_tensor()) {
        std::optional<at::Tensor> like = LikeThat(facts_.Of(*input));
        if (!like) return {};
        purpose += ";" + std::string(c10::toString(like->scalar_type())) + " " + like->device().str();
        stack.emplace_back(*std::move(like));
      } else if (constant == nullptr) {
        std::optional<c10::impl::GenericList> list = ConstantsIn(*input);
        if (!list) return {};
        purpose += ";[";
        for (const c10::IValue& element : list->vec()) {
          purpose += element.isNone() ? "None," : "Tensor,";
          if (element.isTensor()) from.push_back(element.toTensor());
        }
        stack.emplace_back(*std::move(list));
      } else if (constant->isTensor()) {
        const bool may_be_large = KeepsSizes(definition) || Multiplies(definition);
        if (!IsUsable(constant->toTensor()) || !(may_be_large || IsSmall(constant->toTensor()))) return {};
        // Where it stands counts: what follows may be optional.
        purpose += ";Tensor";
        from.push_back(constant->toTensor());
        stack.emplace_back(constant->toTensor().detach());
      } else {
        if (!AppendTo(&purpose, *constant)) return {};
        stack.push_back(*constant);
      }
    }
    size_t most = LeadsToLittle(*node.output()) ? kMaxStepBytes : kMaxFoldedTensorBytes;
    if (KeepsSizes(definition)) {
      for (const at::Tensor& tensor : from) most = std::max(most, MemoryOf(tensor));
    }
    if (!GivesAtMost(most, node, from)) return {};
    constexpr double kMostProducts = 1 << 28;
    if (Multiplies(definition) && ProductsOf(from, ElementsOf(facts_.Of(*node.output())).value_or(0)) > kMostProducts)
      return {};
    try {
      std::vector<at::Tensor> made = derived_.Get(purpose, from, [&] { return std::vector{Made(node, stack)}; });
      return !made.empty() && IsUsable(made[0]) && MemoryOf(made[0]) <= most ? std::optional(std::move(made[0]))
                                                                             : std::nullopt;
    } catch (const std::exception&) {
      return {};
    }
  }

  // Whether what comes of them is so small, which tensors as small need not be together: broadcasting multiplies.
  bool GivesAtMost(size_t most, const Node& node, const std::vector<at::Tensor>& from) const {
    const OperatorDefinition& definition = DefinitionOf(node.kind());
    if (definition.kind == OperatorClass::kView && !definition.hides_aliases) return true;
    if (const std::optional<double> bytes = BytesOf(facts_.Of(*node.output())))
      return *bytes <= static_cast<double>(most);
    return KeepsSizes(definition) && !from.empty() && BroadcastToLittle(from);
  }

  // Whether it goes into nothing but a few operators, one after the other, that are given constants beside it, and the
  // last of which gives little.
  bool LeadsToLittle(const Value& value) const {
    constexpr int kMostSteps = 4;
    const Value* step = &value;
    for (int i = 0; i < kMostSteps && step->uses().size() == 1; ++i) {
      const Node& user = *step->uses()[0].user;
      const auto is_known = [&](const Value* input) { return input == step || ConstantOf(*input) != nullptr; };
      if (user.op() == nullptr || user.outputs().size() != 1 || !Folds(DefinitionOf(user.kind()))) return false;
      if (!std::ranges::all_of(user.inputs(), is_known)) return false;
      step = user.output();
      const std::optional<double> bytes = BytesOf(facts_.Of(*step));
      if (!bytes) return false;
      if (*bytes <= kMaxFoldedTensorBytes) return true;
    }
    return false;
  }

  // Of a literal that nobody writes: a list of small constants, or of these and None.
  std::optional<c10::impl::GenericList> ConstantsIn(const Value& value) const {
    const Node& literal = *value.node();
    if (literal.kind() != sym::kListConstruct || memory_.MayHoldOthers(value)) return {};
    c10::impl::GenericList elements(value.type()->containedType(0));
    for (const Value* element : literal.inputs()) {
      const c10::IValue* constant = ConstantOf(*element);
      const bool is_tensor = constant != nullptr && constant->isTensor() && IsSmall(constant->toTensor());
      if (!is_tensor && (constant == nullptr || !constant->isNone())) return {};
      elements.push_back(is_tensor ? c10::IValue(constant->toTensor().detach()) : c10::IValue());
    }
    return elements;
  }

  // Whether the result takes its operand's dtype and device, and nothing else of it.
  static bool IsMadeAfter(const Node& node) {
    const Symbol kind = node.kind();
    return kind == c10::aten::new_zeros || kind == c10::aten::new_ones || kind == c10::aten::new_full;
  }

  // Instead of a tensor that a new one is made after.
  std::optional<at::Tensor> LikeThat(const ValueFacts& facts) const {
    if (!facts.plain || !facts.dtype || !facts.device || !target_.FoldsTensors(*facts.device)) return {};
    return at::empty({0}, at::TensorOptions(*facts.device).dtype(*facts.dtype));
  }

  static at::Tensor Made(const Node& node, torch::jit::Stack& stack) {
    const at::NoGradGuard no_gradients;
    node.op()->Run(stack);
    return stack.at(0).toTensor();
  }

  // An empty one is not worth it, and some of LibTorch's operators divide by its sizes.
  bool IsUsable(const at::Tensor& tensor) const {
    return tensor.defined() && tensor.numel() > 0 && tensor.layout() == at::kStrided &&
           target_.FoldsTensors(tensor.device()) && !tensor.is_quantized();
  }

  bool IsSmall(const at::Tensor& tensor) const { return IsUsable(tensor) && MemoryOf(tensor) <= kMaxFoldedTensorBytes; }

  bool StaysInside(const Value& value) const {
    const AliasClasses::Facts& facts = memory_.aliases().FactsOf(memory_.aliases().ClassOf(value));
    return !facts.written && !facts.returned && !facts.called && !memory_.MayBeWritten(value);
  }

  void Replace(Node* node, at::Tensor tensor) {
    Node* constant = graph_.Create(sym::kConstant);
    constant->SetAttribute(sym::kValueAttr, c10::IValue(std::move(tensor)));
    constant->output()->SetType(c10::TensorType::get());
    constant->output()->SetName(node->output()->name());
    constant->SetRange(node->range());
    constant->InsertBefore(node);
    node->output()->ReplaceAllUsesWith(constant->output());
    const std::vector<Value*> operands(node->inputs().begin(), node->inputs().end());
    node->Destroy();
    // What was only a step on the way is let go at once: there may be no room for all steps of all weights.
    for (Value* operand : operands) {
      if (ConstantOf(*operand) == nullptr || !ConstantOf(*operand)->isTensor()) continue;
      const bool is_last = std::ranges::count(operands, operand) == 1;
      if (is_last && operand->uses().empty()) operand->node()->Destroy();
    }
    changed_ = true;
  }

  const Target& target_;
  Graph& graph_;
  ValueFactTable& facts_;
  const WrittenMemory& memory_;
  DerivedConstants& derived_;
  bool changed_ = false;
};

}  // namespace

bool FoldConstantTensors(Compilation& compilation) { return TensorFolder(compilation).Run(); }

}  // namespace hearth
