#include "jit/passes/spell_out.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "jit/analysis/number_of.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/visible_strides.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/convolution_call.h"
#include "jit/definitions/definition.h"
#include "jit/definitions/node_effects.h"
#include "jit/definitions/row_rules.h"
#include "jit/graph_edits/inferring_edits.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/operators/registry.h"

namespace hearth {
namespace {

class Speller {
 public:
  explicit Speller(Compilation& compilation)
      : target_(compilation.target()),
        graph_(compilation.graph()),
        facts_(compilation.facts()),
        memory_(compilation.memory()),
        edits_(graph_, compilation.facts()),
        has_kernels_(compilation.inputs().kernels != nullptr) {}

  bool Run() {
    for (Node* node : NodesOutsideClosures(*graph_.block(), IsKnown)) {
      const InsertionGuard here(&graph_, node);
      graph_.SetCurrentRange(node->range());
      Value* made = node->kind() == c10::aten::prelu           ? Prelu(node)
                    : node->kind() == c10::aten::instance_norm ? InstanceNorm(node)
                    : node->kind() == c10::aten::group_norm    ? GroupNorm(node)
                    : node->kind() == c10::aten::type_as       ? TypeAs(node)
                    : IsOfAll(*node)                           ? OfRowsFirst(node)
                    : IsLoss(*node)                            ? Loss(node)
                                                               : Extremum(node);
      if (made == nullptr) continue;
      made->SetName(node->output(0)->name());
      node->output(0)->ReplaceAllUsesWith(made);
      node->Destroy();
      changed_ = true;
    }
    return changed_;
  }

 private:
  static bool IsKnown(const Node& node) {
    const Symbol kind = node.kind();
    const bool is_known = kind == c10::aten::prelu || kind == c10::aten::instance_norm || kind == c10::aten::max ||
                          kind == c10::aten::min || kind == c10::aten::group_norm;
    return (is_known || kind == c10::aten::type_as || IsOfAll(node) || IsLoss(node)) && node.op() != nullptr;
  }

  static bool IsOfAll(const Node& node) {
    return (node.kind() == c10::aten::any || node.kind() == c10::aten::all) && node.inputs().size() == 1;
  }

  // Of those that have a scalar rule where each element is asked for.
  static bool IsLoss(const Node& node) {
    const OperatorDefinition& definition = DefinitionOf(node.kind());
    if (definition.kind != OperatorClass::kReduction || definition.scalar == nullptr || node.op() == nullptr)
      return false;
    return ReductionOf(node) < node.inputs().size();
  }
  // Which input says what becomes of the elements of a loss; how many there are if none does.
  static size_t ReductionOf(const Node& node) {
    const std::vector<c10::Argument>& arguments = node.op()->schema().arguments();
    const auto found = std::ranges::find(arguments, "reduction", &c10::Argument::name);
    return std::min<size_t>(found - arguments.begin(), node.inputs().size());
  }

  static bool IsFloating(const ValueFacts& facts) {
    return facts.is_tensor() && facts.plain && facts.dtype && c10::isFloatingType(*facts.dtype) && facts.sizes;
  }

  // Null where it stays.
  Value* Prelu(Node* node) const {
    Value *const x = node->input(0), *weight = node->input(1);
    const ValueFacts &of_x = facts_.Of(*x), &of_weight = facts_.Of(*weight);
    if (!has_kernels_ || !IsFloating(of_x) || !IsFloating(of_weight) || of_x.dtype != of_weight.dtype) return nullptr;
    if (memory_.MayBeWritten(*x) || memory_.MayBeWritten(*weight)) return nullptr;
    const size_t rank = of_x.sizes->size();
    if (of_weight.sizes->size() != 1 || rank < 2) return nullptr;
    const std::optional<int64_t> numbers = of_weight.sizes->front().constant();
    if (!numbers || (*numbers != 1 && (*of_x.sizes)[1] != *numbers)) return nullptr;
    if (*numbers != 1 && rank > 2) {
      std::vector<int64_t> sizes(rank - 1, 1);
      sizes.front() = *numbers;
      weight = edits_.Infer(Operate(graph_, c10::aten::reshape, "", {weight, edits_.Constant(sizes)}, node));
    }
    Value* positive = edits_.Infer(Operate(graph_, c10::aten::gt, "Scalar", {x, edits_.Constant(int64_t{0})}, node));
    Value* scaled = edits_.Infer(Operate(graph_, c10::aten::mul, "Tensor", {x, weight}, node));
    return edits_.Infer(Operate(graph_, c10::aten::where, "self", {positive, x, scaled}, node));
  }

  // Likewise.
  Value* InstanceNorm(Node* node) const {
    constexpr size_t kMean = 3, kVariance = 4, kUsesInput = 5, kEpsilon = 7, kCudnn = 8;
    const ValueFacts& x = facts_.Of(*node->input(0));
    if (!IsFloating(x) || x.dtype != c10::kFloat || x.rank() != 4u || !x.device || !x.device->is_cpu()) return nullptr;
    const std::optional<int64_t> channels = (*x.sizes)[1].constant();
    const c10::IValue *mean = ConstantOf(*node->input(kMean)), *variance = ConstantOf(*node->input(kVariance)),
                      *uses_input = ConstantOf(*node->input(kUsesInput));
    if (!channels || *channels < 1 || mean == nullptr || !mean->isNone() || variance == nullptr ||
        !variance->isNone() || uses_input == nullptr || !uses_input->toBool())
      return nullptr;
    if (OrderMayShow(*node->output(), facts_)) return nullptr;
    return edits_.Infer(Operate(graph_, c10::aten::group_norm, "",
                                {node->input(0), edits_.Constant(*channels), node->input(1), node->input(2),
                                 node->input(kEpsilon), node->input(kCudnn)},
                                node));
  }

  // Likewise.
  Value* GroupNorm(Node* node) const {
    constexpr size_t kWeight = 2, kBias = 3, kEpsilon = 4;
    Value* x = node->input(0);
    const ValueFacts& images = facts_.Of(*x);
    const std::optional<int64_t> groups = IntegerOf(*node->input(1));
    if (!has_kernels_ || !groups || !AreGroupsOfGpu(images, *groups) || memory_.MayBeWritten(*x)) return nullptr;
    if (!IsOfChannels(*node->input(kWeight), images) || !IsOfChannels(*node->input(kBias), images)) return nullptr;
    if (ConstantOf(*node->input(kEpsilon)) == nullptr) return nullptr;
    // Of an order that is not known there is no kernel; convolutions of sequences have one once layouts are chosen.
    const bool of_sequences = images.rank() == 3u;
    const bool gets_order = target_.FusesConvolutions(*images.device, *images.dtype) &&
                            ConvolutionCall::OfSequences(*x->node()).has_value();
    if (of_sequences && !images.order.is_known() && !gets_order) return nullptr;
    // LibTorch's result lies in the default order, this one as the images do.
    if (!images.order.is_default_exactly() && OrderMayShow(*node->output(), facts_)) return nullptr;
    // Facts move as others are added.
    const c10::ScalarType dtype = *images.dtype;
    Value* none = edits_.Infer(graph_.InsertConstant({}, c10::NoneType::get()));
    const auto in_rows = [&](Value* value, Symbol symbol, const char* overload) {
      if (!of_sequences) return value;
      return edits_.Infer(Operate(graph_, symbol, overload, {value, edits_.Constant(int64_t{2})}, node));
    };
    const std::array<Value*, 6> inputs = {in_rows(x, c10::aten::unsqueeze, ""),
                                          node->input(1),
                                          node->input(kWeight),
                                          node->input(kBias),
                                          node->input(kEpsilon),
                                          none};
    Node* scales = graph_.Insert(graph_.Create(sym::kGroupScales, inputs, 2));
    scales->SetOperator(OperatorRegistry::Global().Find(sym::kGroupScales, ""));
    scales->SetInlinedCall(node->inlined_call());
    facts_.Infer(*scales);
    Value* factors = in_rows(scales->output(0), c10::aten::squeeze, "dim");
    Value* offsets = in_rows(scales->output(1), c10::aten::squeeze, "dim");
    x = edits_.InDtype(x, c10::kFloat, node);
    x = edits_.Infer(Operate(graph_, c10::aten::mul, "Tensor", {x, factors}, node));
    Value* one = edits_.Constant(int64_t{1});
    x = edits_.Infer(Operate(graph_, c10::aten::add, "Tensor", {x, offsets, one}, node));
    return edits_.InDtype(x, dtype, node);
  }

  // Images or sequences of known channels in a dtype of kernels. A block of threads computes the moments of a group:
  // longer ones are better split.
  bool AreGroupsOfGpu(const ValueFacts& images, int64_t groups) const {
    constexpr int64_t kLongestGroup = int64_t{1} << 20;
    if (!IsFloating(images) || images.dtype == c10::kDouble || (images.rank() != 4u && images.rank() != 3u))
      return false;
    if (!images.device || !images.device->is_cuda()) return false;
    const KnownSizes& sizes = *images.sizes;
    if (!std::ranges::all_of(sizes, [&](KnownSize size) { return facts_.sizes().IsAtLeast(size, 1); })) return false;
    const std::optional<int64_t> channels = sizes[1].constant();
    if (!channels || groups < 1 || *channels % groups != 0) return false;
    return !sizes[2] || !sizes.back() ||
           *channels / groups * *sizes[2] * (sizes.size() == 4 ? *sizes[3] : 1) <= kLongestGroup;
  }

  // Of a weight or a bias: whether it is none, or has a number for each channel that kernels can read.
  bool IsOfChannels(const Value& value, const ValueFacts& images) const {
    const ValueFacts& facts = facts_.Of(value);
    if (facts.kind == ValueFacts::Kind::kNone) return true;
    return IsFloating(facts) && facts.rank() == 1u && (*facts.sizes)[0] == (*images.sizes)[1] &&
           facts.device == images.device && (facts.dtype == images.dtype || facts.dtype == c10::kFloat) &&
           !memory_.MayBeWritten(value);
  }

  // Null where it stays: of several dimensions, or a long one, there is no kernel that adds all up.
  Value* Loss(Node* node) const {
    constexpr int64_t kMean = 1, kSum = 2;
    const size_t reduction = ReductionOf(*node);
    const std::optional<int64_t> number = IntegerOf(*node->input(reduction));
    const ValueFacts &x = facts_.Of(*node->input(0)), &target = facts_.Of(*node->input(1));
    if (!has_kernels_ || (number != kMean && number != kSum)) return nullptr;
    if (!IsFloating(x) || !IsFloating(target) || x.dtype != target.dtype || x.sizes != target.sizes) return nullptr;
    const auto has_several = [](KnownSize size) { return size != 1; };
    const auto is_short = [](KnownSize size) { return size && *size > 0 && *size <= kLongestReducedRow; };
    if (std::ranges::count_if(*x.sizes, has_several) != 1 || !std::ranges::all_of(*x.sizes, is_short)) return nullptr;
    std::vector<Value*> inputs(node->inputs().begin(), node->inputs().end());
    inputs[reduction] = edits_.Constant(int64_t{0});
    Value* each = edits_.Infer(OperateLike(graph_, *node, inputs));
    const Symbol symbol = number == kMean ? c10::aten::mean : c10::aten::sum;
    return edits_.Infer(Operate(graph_, symbol, "", {each, edits_.Constant(c10::IValue())}, node));
  }

  // Likewise.
  Value* TypeAs(Node* node) const {
    Value* x = node->input(0);
    const ValueFacts &of_x = facts_.Of(*x), &other = facts_.Of(*node->input(1));
    const bool is_known = of_x.is_tensor() && of_x.plain && other.is_tensor() && other.plain && other.dtype;
    if (!has_kernels_ || !is_known || !of_x.device || of_x.device != other.device) return nullptr;
    return edits_.InDtype(x, *other.dtype, node);
  }

  // Likewise: where what is asked about is computed, its rows are, too.
  Value* OfRowsFirst(Node* node) const {
    constexpr int64_t kShortestRow = 32, kFewest = int64_t{1} << 15;
    Value* x = node->input();
    const ValueFacts& facts = facts_.Of(*x);
    if (!has_kernels_ || !facts.is_tensor() || !facts.plain || facts.dtype != c10::kBool || memory_.MayBeWritten(*x) ||
        !facts.device || !facts.device->is_cuda() || !facts.order.is_default() || facts.rank().value_or(0) < 2) {
      return nullptr;
    }
    const KnownSize row = facts.sizes->back();
    if (!row || *row < kShortestRow || *row > kLongestReducedRow) return nullptr;
    if (facts_.sizes().LeastElements(*facts.sizes) < kFewest) return nullptr;
    Value* rows = edits_.Infer(
        Operate(graph_, node->kind(), "dim", {x, edits_.Constant(int64_t{-1}), edits_.Constant(false)}, node));
    return edits_.Infer(Operate(graph_, node->kind(), "", {rows}, node));
  }

  // Likewise.
  Value* Extremum(Node* node) const {
    if (node->op()->schema().overload_name() != "dim" || node->outputs().size() != 2) return nullptr;
    const std::optional<int64_t> dimension = IntegerOf(*node->input(1));
    const ValueFacts& x = facts_.Of(*node->input(0));
    if (!dimension || node->output(1)->HasUses() || !IsFloating(x) || x.sizes->empty()) return nullptr;
    const Symbol symbol = node->kind() == c10::aten::max ? c10::aten::amax : c10::aten::amin;
    return edits_.Infer(Operate(
        graph_, symbol, "", {node->input(0), edits_.Constant(std::vector<int64_t>{*dimension}), node->input(2)}, node));
  }

  const Target& target_;
  Graph& graph_;
  ValueFactTable& facts_;
  const WrittenMemory& memory_;
  const InferringEdits edits_;
  const bool has_kernels_;
  bool changed_ = false;
};

}  // namespace

bool SpellOut(Compilation& compilation) { return Speller(compilation).Run(); }

}  // namespace hearth
