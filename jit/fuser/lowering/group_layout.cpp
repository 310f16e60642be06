#include "jit/fuser/lowering/group_layout.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "jit/definitions/definition.h"
#include "jit/definitions/scalar_rules.h"

namespace hearth {

using fuser::KernelSignature;
using fuser::ValueId;

namespace {

// On a CPU; what fills no vector is little of a longer one.
constexpr int64_t kLongestConstantLoop = 256;

bool PicksElements(const Node* node) { return DefinitionOf(node->kind()).gather != nullptr; }

bool IsNumber(const Value& value) {
  return value.type()->kind() == c10::TypeKind::IntType || value.type()->kind() == c10::TypeKind::FloatType;
}

}  // namespace

bool GroupLayout::Input::IsDense() const { return std::ranges::none_of(levels, &PartOrder::Level::has_gap); }

bool GroupLayout::Make() {
  if (!FindSpace()) return false;
  for (const Node* node : group_.nodes) {
    if (!AddOperands(*node)) return false;
  }
  if (inputs_.empty() || !NameExtents() || !FindDimensions()) return false;
  Declare();
  return true;
}

const Node* GroupLayout::Inside(const Value& value) const {
  const auto found = inside_.find(&value);
  return found == inside_.end() ? nullptr : found->second;
}

const GroupLayout::Input* GroupLayout::FindInput(const Value& value) const {
  const auto found = std::ranges::find_if(
      inputs_, [&](const Input& input) { return input.value == &value && input.mover == nullptr; });
  return found == inputs_.end() ? nullptr : &*found;
}

const GroupLayout::Input& GroupLayout::MovedInput(const Node& mover, size_t tensor) const {
  return *std::ranges::find_if(inputs_,
                               [&](const Input& input) { return input.mover == &mover && input.tensor == tensor; });
}

std::optional<ValueId> GroupLayout::Number(const Value& value) const {
  const auto found = numbers_.find(&value);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<size_t> GroupLayout::KernelDimension(size_t of_space) const {
  const auto found = std::ranges::find(dimensions_, std::vector<size_t>{of_space});
  return found == dimensions_.end() ? std::nullopt : std::optional<size_t>(found - dimensions_.begin());
}

std::vector<ValueId> GroupLayout::Indices(const Input& input, const std::vector<ValueId>& point,
                                          const Places& places) const {
  std::vector<ValueId> indices;
  for (const size_t dimension : input.inner) {
    const auto place = places.find(dimension == kPicked ? kPicked : dimensions_[dimension].front());
    indices.push_back(place == places.end() ? point[dimension] : place->second);
  }
  return indices;
}

const Node* GroupLayout::Join() const {
  for (const Node* node : group_.nodes) {
    const PlaceRule* rule = DefinitionOf(node->kind()).place;
    if (rule != nullptr && rule->joins && dimensions_.back() == MovedDimensions(*node, facts_)) return node;
  }
  return nullptr;
}

bool GroupLayout::FindSpace() {
  std::optional<FusionSpace> space;
  std::vector<FusionSpace> own;
  const auto leaves = [&](const Node& node) {
    return std::ranges::find(group_.outputs, node.output()) != group_.outputs.end();
  };
  // Those from which the order of the loops follows come first.
  std::vector<size_t> in_turn;
  for (const Node* node : group_.nodes) {
    std::optional<FusionSpace> of_node = SpaceOf(*node, facts_);
    if (!of_node) return false;
    const bool decides = leaves(*node) || of_node->row != 0;
    in_turn.insert(decides ? in_turn.begin() : in_turn.end(), own.size());
    own.push_back(*std::move(of_node));
    inside_.insert_or_assign(node->output(), node);
  }
  // Who made the group has seen to it.
  const AreBound are_bound = [](size_t) { return true; };
  for (const size_t i : in_turn) {
    std::optional<FusionSpace> both = space ? Joined(*space, own[i], facts_.sizes(), are_bound) : own[i];
    if (!both && !leaves(*group_.nodes[i])) both = JoinedWithin(own[i], *space, facts_.sizes(), are_bound);
    if (!both) return false;
    space = std::move(both);
  }
  space_ = *space;
  for (size_t i = 0; i < own.size(); ++i) {
    const Node& node = *group_.nodes[i];
    if (!IsReduction(node) && !IsForRowsOf(own[i], space_)) continue;
    if (leaves(node) && !GivesRowsInOrder(node, space_, facts_)) return false;
    of_rows_.insert(node.output());
  }
  return true;
}

bool GroupLayout::AddOperands(const Node& node) {
  if (DefinitionOf(node.kind()).place != nullptr) return AddMoved(node);
  if (DefinitionOf(node.kind()).gather != nullptr) return AddGathered(node);
  return std::ranges::all_of(node.inputs(), [&](const Value* value) { return AddOperand(*value); });
}

// What a node of the group takes from outside of it, or of one that was before it. False if no kernel can take it.
bool GroupLayout::AddOperand(const Value& value) {
  if (const Node* node = Inside(value)) return IsReadInGroup(*node, facts_);
  if (numbers_.contains(&value) || FindInput(value) != nullptr) return true;
  if (value.type()->kind() == c10::TypeKind::TensorType) {
    std::optional<Input> input = InputOf(value, Aligned(value));
    if (!input || !HasSizesOfSpace(*input)) return false;
    inputs_.push_back(*std::move(input));
  } else if (ConstantOf(value) == nullptr && IsNumber(value)) {
    numbers_.emplace(&value, fuser::kNoValue);
    OperandOf(value);
    number_order_.push_back(&value);
  }
  // Constants, and what is neither, are the rules' to read.
  return true;
}

// The tensors of a node that reads them in other places.
bool GroupLayout::AddMoved(const Node& node) {
  const std::vector<const Value*> tensors = MovedTensors(node);
  const std::optional<std::vector<size_t>> dimensions = MovedDimensions(node, facts_);
  if (!dimensions) return false;
  const KnownSizes to = *facts_.Of(*node.output()).sizes;
  for (const size_t dimension : *dimensions) {
    const KnownSize size = to[dimension];
    if (!size || *size < 2) return false;
    if (moved_.emplace(dimension, *size).first->second != *size) return false;
    space_.sizes[dimension] = size;
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Value& value = *tensors[i];
    std::optional<Input> input = Inside(value) == nullptr ? InputOf(value, Aligned(value)) : std::nullopt;
    if (!input || !GoesAlongMemory(*input)) return false;
    input->mover = &node;
    input->tensor = i;
    const KnownSizes sizes = *facts_.Of(value).sizes;
    for (size_t own = 0; own < sizes.size(); ++own) {
      const size_t dimension = input->dimensions[own];
      if (std::ranges::find(*dimensions, dimension) == dimensions->end()) {
        if (sizes[own] != 1 && !IsWhole(sizes[own], space_.sizes[dimension], facts_.sizes())) return false;
        continue;
      }
      if (!sizes[own]) return false;
      input->extents.emplace(dimension, static_cast<uint16_t>(signature_.extents.size()));
      signature_.extents.push_back({KernelSignature::kNoInput, 0, *sizes[own]});
    }
    inputs_.push_back(*std::move(input));
  }
  return true;
}

// The tensor that a node picks elements of, and the ids.
bool GroupLayout::AddGathered(const Node& node) {
  const std::optional<Gather> gather = GatherOf(node, facts_);
  if (!gather || Inside(*gather->tensor) != nullptr || Inside(*gather->ids) != nullptr) return false;
  std::vector<size_t> of_tensor = gather->of_tensor;
  of_tensor[gather->dimension] = kPicked;
  std::optional<Input> tensor = InputOf(*gather->tensor, std::move(of_tensor));
  std::optional<Input> ids = InputOf(*gather->ids, gather->of_ids);
  if (!tensor || !ids || !HasSizesOfSpace(*tensor) || !HasSizesOfSpace(*ids) || !GoesAlongMemory(*tensor)) return false;
  const auto number = static_cast<uint16_t>(inputs_.size()), dimension = static_cast<uint16_t>(gather->dimension);
  if ((*facts_.Of(*gather->tensor).sizes)[dimension] != 1) {
    tensor->extents.emplace(kPicked, static_cast<uint16_t>(signature_.extents.size()));
    signature_.extents.push_back({number, dimension});
  }
  // On a GPU the kernel itself looks at each id when it comes to it.
  if (gather->range != IdRange::kAny && space_.device.is_cpu())
    signature_.ids.push_back(
        {static_cast<uint16_t>(number + 1), number, dimension, gather->range == IdRange::kFromEnd});
  tensor->mover = ids->mover = &node;
  ids->tensor = 1;
  inputs_.push_back(*std::move(tensor));
  inputs_.push_back(*std::move(ids));
  return true;
}

// The space's dimensions that a tensor's are which is broadcast to it; one that has more dimensions is none of it.
std::vector<size_t> GroupLayout::Aligned(const Value& value) const {
  const std::optional<size_t> rank = facts_.Of(value).rank();
  if (!rank || *rank > space_.sizes.size()) return {};
  std::vector<size_t> dimensions(*rank);
  std::iota(dimensions.begin(), dimensions.end(), space_.sizes.size() - *rank);
  return dimensions;
}

bool GroupLayout::HasSizesOfSpace(const Input& input) const {
  const KnownSizes& sizes = *facts_.Of(*input.value).sizes;
  return std::ranges::all_of(input.levels, [&](const PartOrder::Level& level) {
    const size_t dimension = input.dimensions[level.dimension];
    return dimension == kPicked || IsWhole(sizes[level.dimension], space_.sizes[dimension], facts_.sizes());
  });
}

// Whether the innermost loop goes through its memory as it lies.
bool GroupLayout::GoesAlongMemory(const Input& input) const {
  if (space_.nesting.empty()) return true;
  const size_t innermost = space_.nesting.back();
  return !input.has[innermost] || input.dimensions[input.levels.back().dimension] == innermost;
}

// None if no kernel can read it.
std::optional<GroupLayout::Input> GroupLayout::InputOf(const Value& value, std::vector<size_t> dimensions) {
  const ValueFacts& facts = facts_.Of(value);
  if (!IsReadable(facts) || facts.device != space_.device || facts.sizes->size() != dimensions.size()) return {};
  const bool is_nested = facts.nested().is_known();
  Input input{&value, 0, std::move(dimensions), LevelsOf(facts), {}, {}};
  input.has.assign(space_.sizes.size(), false);
  for (const PartOrder::Level& level : input.levels) {
    const size_t dimension = input.dimensions[level.dimension];
    if (dimension != kPicked) input.has[dimension] = true;
  }
  // One dimension has an order, but of a view nobody knows its stride.
  if (!is_nested && !input.levels.empty()) {
    if (!SpaceOf(*value.node(), facts_)) return {};
    for (PartOrder::Level& level : input.levels) level.has_gap = false;
  }
  input.operand = OperandOf(value);
  return input;
}

uint16_t GroupLayout::OperandOf(const Value& value) {
  const auto found = std::ranges::find(operands_, &value);
  const auto operand = static_cast<uint16_t>(found - operands_.begin() + 1);
  if (found == operands_.end()) operands_.push_back(&value);
  return operand;
}

// Where the size of each of the space's dimensions is read. False if no input has one of them.
bool GroupLayout::NameExtents() {
  extents_.assign(space_.sizes.size(), KernelSignature::kOne);
  for (const size_t dimension : space_.nesting) {
    extents_[dimension] = static_cast<int16_t>(signature_.extents.size());
    if (const auto moved = moved_.find(dimension); moved != moved_.end()) {
      signature_.extents.push_back({KernelSignature::kNoInput, 0, moved->second});
      continue;
    }
    const auto input = std::ranges::find_if(inputs_, [&](const Input& one) { return one.has[dimension]; });
    if (input == inputs_.end()) return false;
    const auto own = std::ranges::find(input->dimensions, dimension) - input->dimensions.begin();
    signature_.extents.push_back({static_cast<uint16_t>(input - inputs_.begin()), static_cast<uint16_t>(own)});
  }
  return true;
}

// False if a row is not one of them.
bool GroupLayout::FindDimensions() {
  const size_t outside = space_.nesting.size() - space_.row;
  for (size_t i = 0; i < space_.nesting.size(); ++i) {
    const size_t dimension = space_.nesting[i];
    if (!dimensions_.empty() && i != outside && Continues(dimensions_.back().back(), dimension)) {
      dimensions_.back().push_back(dimension);
    } else {
      dimensions_.push_back({dimension});
    }
  }
  if (space_.row > 0 && dimensions_.back().size() != space_.row) return false;
  for (Input& input : inputs_) {
    for (const PartOrder::Level& level : input.levels) {
      const size_t dimension = input.dimensions[level.dimension];
      const auto found = std::ranges::find(dimensions_, dimension, [](const auto& all) { return all.front(); });
      if (found != dimensions_.end()) input.inner.push_back(static_cast<size_t>(found - dimensions_.begin()));
      if (dimension == kPicked) input.inner.push_back(kPicked);
    }
  }
  return true;
}

// Whether `inner` comes right after `outer` in all inputs that have them.
bool GroupLayout::Continues(size_t outer, size_t inner) const {
  if (IsMoved(outer) || IsMoved(inner)) return false;
  return std::ranges::all_of(inputs_, [&](const Input& input) {
    if (!input.has[outer] && !input.has[inner]) return true;
    if (!input.has[outer] || !input.has[inner]) return false;
    const auto dimension_of = [&](const PartOrder::Level& level) { return input.dimensions[level.dimension]; };
    const auto place = std::ranges::find(input.levels, outer, dimension_of);
    if (place->has_gap || place + 1 == input.levels.end() || dimension_of(*(place + 1)) != inner) return false;
    // Of one element, a part may have any stride.
    const ValueFacts& facts = facts_.Of(*input.value);
    return !(place + 1)->has_gap || facts.nested().is_exact() || facts_.sizes().IsAtLeast(space_.sizes[inner], 2);
  });
}

// Which of the space's they are.
std::vector<size_t> GroupLayout::DimensionsOf(const Value& value) const {
  const Node* node = Inside(value);
  if (node != nullptr && IsReduction(*node)) return KeptDimensions(*node, facts_);
  return Aligned(value);
}

KernelSignature::Tensor GroupLayout::SignatureOf(const Value& value, const std::vector<size_t>& dimensions) const {
  const ValueFacts& facts = facts_.Of(value);
  KernelSignature::Tensor tensor{*facts.dtype, {}, {}};
  for (size_t i = 0; i < facts.sizes->size(); ++i) {
    const bool is_one = (*facts.sizes)[i] == 1 || dimensions[i] == kPicked;
    tensor.extents.push_back(is_one ? KernelSignature::kOne : extents_[dimensions[i]]);
  }
  // Of a tensor without an order, one dimension at most has elements.
  const PartOrder nested = facts.nested();
  for (size_t i = 0; i < facts.sizes->size(); ++i) {
    tensor.nesting.push_back(nested.is_known() ? nested.levels()[i].dimension : static_cast<uint8_t>(i));
  }
  return tensor;
}

KernelSignature::Tensor GroupLayout::SignatureOf(const Input& input) const {
  KernelSignature::Tensor tensor = SignatureOf(*input.value, input.dimensions);
  for (size_t i = 0; i < input.dimensions.size(); ++i) {
    const auto own = input.extents.find(input.dimensions[i]);
    if (own != input.extents.end()) tensor.extents[i] = static_cast<int16_t>(own->second);
  }
  if (input.IsDense()) return tensor;
  for (const uint8_t dimension : tensor.nesting) {
    const auto level = std::ranges::find(input.levels, dimension, &PartOrder::Level::dimension);
    const bool has_gap = level != input.levels.end() && level->has_gap;
    const int64_t stride = has_gap ? ConstantStride(*level) : KernelSignature::kNoGap;
    tensor.strides.push_back(stride);
  }
  return tensor;
}

// Of one that may have a gap.
int64_t GroupLayout::ConstantStride(const PartOrder::Level& level) const {
  const bool is_constant = space_.row > 0 && space_.device.is_cuda() && level.stride != 0;
  return is_constant ? level.stride : KernelSignature::kAnyGap;
}

// How rows are best mapped to a GPU's threads depends on their number and length, and to find a place in several
// dimensions takes divisions, which are slow by what is no constant: a kernel is for these sizes alone where they are
// known. On a CPU what is picked is often a short row, such as an embedding's: a loop of constant length does without
// one for the elements that fill no vector. Of a reduction, LLVM would unroll such a loop before it makes vectors.
std::optional<int64_t> GroupLayout::ConstantSize(const std::vector<size_t>& dimensions) const {
  const bool is_on_gpu = space_.device.is_cuda();
  if (is_on_gpu && space_.row == 0 && dimensions_.size() < 3 && moved_.empty()) return {};
  if (!is_on_gpu) {
    const bool is_innermost = space_.row == 0 && dimensions == dimensions_.back();
    if (!is_innermost || std::ranges::none_of(group_.nodes, PicksElements)) return {};
  }
  int64_t size = 1;
  for (const size_t dimension : dimensions) {
    if (!space_.sizes[dimension]) return {};
    size *= *space_.sizes[dimension];
  }
  return is_on_gpu || size <= kLongestConstantLoop ? std::optional(size) : std::nullopt;
}

ValueId GroupLayout::SizeSymbol(std::vector<uint16_t> extents) {
  // Factors of one product, in an order that does not depend on the layout.
  std::ranges::sort(extents);
  signature_.symbols.push_back({.kind = KernelSignature::Symbol::Kind::kProduct, .extents = std::move(extents)});
  return builder_.Symbol();
}

void GroupLayout::Declare() {
  for (const std::vector<size_t>& all : dimensions_) {
    std::vector<uint16_t> extents;
    for (const size_t dimension : all) extents.push_back(static_cast<uint16_t>(extents_[dimension]));
    if (const std::optional<int64_t> size = ConstantSize(all)) {
      sizes_.push_back(builder_.Integer(*size));
      for (const size_t dimension : all) signature_.extents[extents_[dimension]].size = *space_.sizes[dimension];
    } else {
      sizes_.push_back(SizeSymbol(std::move(extents)));
    }
  }
  for (const Value* number : number_order_) {
    const bool real = number->type()->kind() == c10::TypeKind::FloatType;
    signature_.symbols.push_back({real ? KernelSignature::Symbol::Kind::kReal : KernelSignature::Symbol::Kind::kInteger,
                                  {},
                                  OperandOf(*number)});
    numbers_[number] = builder_.Symbol(real ? fuser::Dtype::kFloat64 : fuser::Dtype::kInt64);
  }
  rounds_ = builder_.Integer(1);
  for (size_t i = 0; i + 1 < sizes_.size(); ++i) {
    rounds_ = builder_.Call(fuser::Opcode::kMultiply, {rounds_, sizes_[i]});
  }
  std::vector<size_t> all(dimensions_.size());
  std::iota(all.begin(), all.end(), 0);
  for (Input& input : inputs_) {
    for (const auto& [dimension, extent] : input.extents) {
      const int64_t size = signature_.extents[extent].size;
      const bool is_constant = space_.device.is_cuda() && size != KernelSignature::kAnySize;
      input.sizes.emplace(dimension, is_constant ? builder_.Integer(size) : SizeSymbol({extent}));
    }
    signature_.inputs.push_back({input.operand, SignatureOf(input)});
    const fuser::Dtype dtype = *KernelDtype(*facts_.Of(*input.value).dtype);
    input.is_whole = input.mover == nullptr && input.IsDense() && input.inner == all;
    input.buffer = input.is_whole ? builder_.Input(dtype, SizesOfWhole(), StridesOfWhole())
                                  : builder_.Input(dtype, SizesOf(input), StridesOf(input));
  }
  for (const Value* value : group_.outputs) {
    signature_.outputs.push_back(SignatureOf(*value, DimensionsOf(*value)));
    const fuser::Dtype dtype = *KernelDtype(*facts_.Of(*value).dtype);
    outputs_.push_back(of_rows_.contains(value) ? builder_.Output(dtype, {rounds_}, {builder_.Integer(1)})
                                                : builder_.Output(dtype, SizesOfWhole(), StridesOfWhole()));
  }
}

// What is dense and has all dimensions: a row for each round of the loop at the top.
std::vector<ValueId> GroupLayout::SizesOfWhole() const {
  return dimensions_.size() > 1 ? std::vector<ValueId>{rounds_, sizes_.back()} : sizes_;
}

std::vector<ValueId> GroupLayout::StridesOfWhole() {
  std::vector<ValueId> strides(std::min(dimensions_.size(), size_t{2}), builder_.Integer(1));
  if (strides.size() == 2) strides[0] = sizes_.back();
  return strides;
}

std::vector<ValueId> GroupLayout::SizesOf(const Input& input) const {
  std::vector<ValueId> sizes;
  for (const size_t dimension : input.inner) {
    const auto own = input.sizes.find(dimension == kPicked ? kPicked : dimensions_[dimension].front());
    sizes.push_back(own == input.sizes.end() ? sizes_[dimension] : own->second);
  }
  return sizes;
}

// Those that sizes do not tell are read when the kernel is called.
std::vector<ValueId> GroupLayout::StridesOf(const Input& input) {
  const std::vector<ValueId> sizes = SizesOf(input);
  std::vector<ValueId> strides(sizes.size());
  ValueId stride = builder_.Integer(1);
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride = builder_.Call(fuser::Opcode::kMultiply, {stride, sizes[i]});
  }
  bool has_gap = false;
  for (size_t i = input.inner.size(); i-- > 0;) {
    const size_t dimension = input.inner[i] == kPicked ? kPicked : dimensions_[input.inner[i]].back();
    const PartOrder::Level& level = *std::ranges::find(
        input.levels, dimension, [&](const PartOrder::Level& one) { return input.dimensions[one.dimension]; });
    has_gap |= level.has_gap;
    if (!has_gap) continue;
    if (const int64_t constant = ConstantStride(level); constant != KernelSignature::kAnyGap) {
      strides[i] = builder_.Integer(constant);
      continue;
    }
    signature_.symbols.push_back({.kind = KernelSignature::Symbol::Kind::kStride,
                                  .extents = {},
                                  .operand = input.operand,
                                  .dimension = level.dimension});
    strides[i] = builder_.Symbol();
  }
  return strides;
}

}  // namespace hearth
