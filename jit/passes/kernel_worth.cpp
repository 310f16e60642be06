#include "jit/passes/kernel_worth.h"

#include <ATen/core/jit_type.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "jit/definitions/definition.h"
#include "jit/definitions/place_rules.h"

namespace hearth {
namespace {

// Elements that are worth several threads (support/parallel_for.h).
constexpr int64_t kFewestShared = int64_t{1} << 13;
// On a CPU: where each element has to be looked for in all of the tensors that are joined.
constexpr size_t kMostSelected = 4;
// On a CPU, loops over fewer elements take longer than a copy of them.
constexpr int64_t kShortestMovedLoop = 16;
// On a GPU: a warp has 8 elements of it for each of its threads.
constexpr int64_t kLongestShortRow = 256;
// On a GPU: elements that a thread loads at once, and those of a tensor that is worth it.
constexpr int64_t kFewestInVector = 4;
constexpr int64_t kFewestInVectors = int64_t{1} << 16;
// Tensors that are joined: a kernel's node has 32 operands, and others are among these.
constexpr size_t kMostJoined = 28;

}  // namespace

bool KernelWorth::IsWorthAlone(const Node& node, const FusionSpace& space) const {
  if (space.moves) {
    const PlaceRule& rule = *DefinitionOf(node.kind()).place;
    return space.device.is_cuda() && (rule.alone_on_gpu || (rule.joins && HasVectorsOfParts(node, space)));
  }
  if (DefinitionOf(node.kind()).gather != nullptr) return space.device.is_cuda() && IsShortLookup(node);
  if (IsFilledOrCopied(node, space)) return false;
  if (space.device.is_cpu()) return target_.threads > 1 && facts_.sizes().LeastElements(space.sizes) >= kFewestShared;
  if (!space.device.is_cuda()) return false;
  if (space.row == 0) return HasVectorsOfParts(node, space);
  if (space.row > 1) return false;
  const KnownSize length = space.sizes[space.nesting.back()];
  return length && *length <= kLongestShortRow;
}

// For so few rows of a table LibTorch has a kernel for a GPU that goes through these one after the other.
bool KernelWorth::IsShortLookup(const Node& node) const {
  constexpr int64_t kMostRows = 16;
  const bool is_lookup = node.kind() == c10::aten::embedding || node.kind() == c10::aten::index_select;
  const std::optional<Gather> gather = is_lookup ? GatherOf(node, facts_) : std::nullopt;
  if (!gather) return false;
  const std::optional<std::vector<int64_t>> ids = ConstantsOf(facts_.Of(*gather->ids).sizes);
  return ids && c10::multiply_integers(*ids) <= kMostRows;
}

// LibTorch fills and copies memory as fast, and in place where a tensor is no longer needed.
bool KernelWorth::IsFilledOrCopied(const Node& node, const FusionSpace& space) {
  static const auto kFill = Symbol::fromQualString("aten::fill"), kZero = Symbol::fromQualString("aten::zero");
  const Symbol kind = node.kind();
  if (DefinitionOf(kind).kind == OperatorClass::kCreation || kind == kFill || kind == kZero) return true;
  return kind == c10::aten::copy || (kind == c10::aten::clone && space.device.is_cpu());
}

// LibTorch's kernels for a GPU load and store vectors where all tensors lie alike, ours also where some are
// broadcast, or parts of others, or nested otherwise.
bool KernelWorth::HasVectorsOfParts(const Node& node, const FusionSpace& space) const {
  if (space.nesting.empty()) return false;
  const KnownSize length = space.sizes[space.nesting.back()];
  if (!length || *length % kFewestInVector != 0 || facts_.sizes().LeastElements(space.sizes) < kFewestInVectors)
    return false;
  const auto lies_along = [&](const Value* tensor) { return LiesAlong(*tensor, space); };
  if (space.moves) {
    const std::vector<const Value*> tensors = MovedTensors(node);
    return std::ranges::all_of(tensors, lies_along) && JoinsVectors(node, space) &&
           !std::ranges::all_of(tensors, [&](const Value* tensor) { return facts_.Of(*tensor).order.is_known(); });
  }
  std::vector<const Value*> tensors;
  for (const Value* input : node.inputs()) {
    if (input->type()->kind() == c10::TypeKind::TensorType) tensors.push_back(input);
  }
  return std::ranges::all_of(tensors, lies_along) &&
         !std::ranges::all_of(tensors, [&](const Value* tensor) { return LiesAlike(*tensor, space); });
}

// Whether no vector is of several of the tensors that the node joins.
bool KernelWorth::JoinsVectors(const Node& node, const FusionSpace& space) const {
  const size_t innermost = space.nesting.back();
  if (MovedDimensions(node, facts_) != std::vector<size_t>{innermost}) return true;
  return std::ranges::all_of(MovedTensors(node), [&](const Value* tensor) {
    const KnownSize size = (*facts_.Of(*tensor).sizes)[innermost];
    return size && *size % kFewestInVector == 0;
  });
}

// Whether neighbours along the space's innermost dimension are neighbours in the tensor, or one element.
bool KernelWorth::LiesAlong(const Value& tensor, const FusionSpace& space) const {
  const ValueFacts& facts = facts_.Of(tensor);
  if (!facts.sizes || facts.sizes->size() > space.sizes.size()) return false;
  const std::vector<PartOrder::Level> levels = LevelsOf(facts);
  const size_t innermost = space.nesting.back() - (space.sizes.size() - facts.sizes->size());
  return std::ranges::find(levels, innermost, &PartOrder::Level::dimension) == levels.end() ||
         (levels.back().dimension == innermost && !levels.back().has_gap);
}

// Whether the tensor has all of the space's elements, in its order.
bool KernelWorth::LiesAlike(const Value& tensor, const FusionSpace& space) const {
  const ValueFacts& facts = facts_.Of(tensor);
  const auto is_level = [](const PartOrder::Level& level, size_t dimension) {
    return level.dimension == dimension && !level.has_gap;
  };
  return facts.sizes == space.sizes && std::ranges::equal(LevelsOf(facts), space.nesting, is_level);
}

bool KernelWorth::IsWorthMoving(const Node& node, const FusionSpace& space) const {
  const size_t num_tensors = MovedTensors(node).size();
  if (num_tensors > kMostJoined || space.nesting.empty()) return false;
  if (!space.device.is_cpu()) return true;
  if (DefinitionOf(node.kind()).place->only_on_gpu) return false;
  const size_t innermost = space.nesting.back();
  const bool is_joined_along = num_tensors > 1 && MovedDimensions(node, facts_) == std::vector<size_t>{innermost};
  if (num_tensors > kMostSelected && !is_joined_along) return false;
  const KnownSize length = space.sizes[innermost];
  return !length || *length >= kShortestMovedLoop * static_cast<int64_t>(is_joined_along ? num_tensors : 1);
}

bool KernelWorth::IsWorthCopying(const Node& node, const FusionSpace& space) const {
  if (space.nesting.empty()) return false;
  if (space.device.is_cuda()) return LiesAlong(*node.input(0), space);
  return node.kind() == c10::aten::clone && LiesAlike(*node.input(0), space);
}

}  // namespace hearth
