#include "jit/fuser/lowering/group_lowering.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "jit/definitions/definition.h"
#include "jit/definitions/row_rules.h"
#include "jit/definitions/scalar_rules.h"
#include "jit/fuser/ir/builder.h"

namespace hearth {
namespace {

using fuser::BufferId;
using fuser::KernelBuilder;
using fuser::KernelSignature;
using fuser::Scalar;
using fuser::ValueId;

// How a tensor's dimensions are nested that do not have one element, and where there may be gaps.
std::vector<PartOrder::Level> LevelsOf(const ValueFacts& facts) {
  std::vector<PartOrder::Level> levels;
  const PartOrder nested = facts.nested();
  const bool is_known = nested.is_known();
  for (size_t i = 0; i < facts.sizes->size(); ++i) {
    const PartOrder::Level level = is_known ? nested.levels()[i] : PartOrder::Level{static_cast<uint8_t>(i), true, 0};
    if ((*facts.sizes)[level.dimension] != 1) {
      levels.push_back(level);
    } else if (!levels.empty()) {
      levels.back().has_gap |= level.has_gap;
    }
  }
  return levels;
}

std::vector<size_t> NestingOf(const ValueFacts& facts) {
  std::vector<size_t> nesting;
  for (const PartOrder::Level& level : LevelsOf(facts)) nesting.push_back(level.dimension);
  return nesting;
}

bool HasOneDimension(const ValueFacts& facts) {
  return std::ranges::count_if(*facts.sizes, [](KnownSize size) { return size != 1; }) <= 1;
}

// Whether kernels can read a tensor with these facts.
bool IsReadable(const ValueFacts& facts) {
  if (!facts.is_tensor() || !facts.plain || !facts.dtype || !KernelDtype(*facts.dtype)) return false;
  if (!facts.device || !(facts.device->is_cpu() || facts.device->is_cuda()) || !facts.sizes) return false;
  // Of no elements, the strides depend on who makes the tensor.
  const auto is_usable = [](KnownSize size) { return size.is_known() && size != 0; };
  if (!std::ranges::all_of(*facts.sizes, is_usable)) return false;
  return facts.nested().is_known() || HasOneDimension(facts);
}

// Whether they can write it.
bool IsWritable(const ValueFacts& facts) {
  return IsReadable(facts) && (facts.order.is_known() || HasOneDimension(facts));
}

// Whether a size is what the space's is, in every run that does not raise.
bool IsWhole(KnownSize size, KnownSize of_space, const SizeAlgebra& algebra) {
  return size == of_space || (algebra.Least(size).value_or(0) >= 2 && algebra.Least(of_space).value_or(0) >= 2);
}

bool IsNumber(const Value& value) {
  return value.type()->kind() == c10::TypeKind::IntType || value.type()->kind() == c10::TypeKind::FloatType;
}

// Whether each tensor that the node reads has one element along a dimension in which its space has several.
bool ReadsLittle(const Node& node, const KnownSizes& sizes, ValueFactTable& facts) {
  const auto is_small = [&](const Value* value) {
    if (value->type()->kind() != c10::TypeKind::TensorType) return true;
    const std::optional<KnownSizes>& own = facts.Of(*value).sizes;
    if (!own || own->size() > sizes.size()) return false;
    const size_t extra = sizes.size() - own->size();
    for (size_t i = 0; i < sizes.size(); ++i) {
      const bool is_one = i < extra || (*own)[i - extra] == 1;
      if (is_one && facts.sizes().IsAtLeast(sizes[i], 2)) return true;
    }
    return false;
  };
  return std::ranges::all_of(node.inputs(), is_small);
}

bool IsReduction(const Node& node) {
  const RowRule* rule = DefinitionOf(node.kind()).row;
  return rule != nullptr && rule->IsReduction();
}

// Along which dimensions the rows lie that the node depends on.
std::optional<std::vector<size_t>> RowDimensions(const Node& node, const RowRule& rule, ValueFactTable& facts) {
  const std::function<const ValueFacts&(const Value&)> facts_of = [&](const Value& of) -> const ValueFacts& {
    return facts.Of(of);
  };
  std::vector<ValueFacts> given{facts.Of(*node.output())};
  return rule.dimensions(Call(node, facts_of, facts.sizes(), given));
}

// How many of the innermost dimensions are the row that the node depends on; null if its row is none of these.
std::optional<size_t> RowOf(const Node& node, const RowRule& rule, const FusionSpace& space, ValueFactTable& facts) {
  std::optional<std::vector<size_t>> dimensions = space.sizes.empty() ? std::nullopt : RowDimensions(node, rule, facts);
  if (!dimensions) return {};
  std::erase_if(*dimensions, [&](size_t dimension) { return space.sizes[dimension] == 1; });
  if (dimensions->empty() || dimensions->size() > space.nesting.size()) return {};
  std::vector<size_t> innermost(space.nesting.end() - static_cast<ptrdiff_t>(dimensions->size()), space.nesting.end());
  std::ranges::sort(innermost);
  std::ranges::sort(*dimensions);
  return innermost == *dimensions ? std::optional(innermost.size()) : std::nullopt;
}

// The dimensions that have several elements, but for the rows.
std::vector<size_t> OutsideOfRows(const FusionSpace& space) {
  return {space.nesting.begin(), space.nesting.end() - static_cast<ptrdiff_t>(space.row)};
}

// Whether what has the space has an element for each row of the other one, in the same order if that one asks for it.
bool IsForRowsOf(const FusionSpace& space, const FusionSpace& of) {
  if (of.row == 0 || space.row != 0 || space.device != of.device || space.sizes.size() != of.sizes.size()) return false;
  const std::vector<size_t> rows = OutsideOfRows(of);
  if (of.in_order ? space.nesting != rows : !std::ranges::is_permutation(space.nesting, rows)) return false;
  for (size_t i = 0; i < space.sizes.size(); ++i) {
    const bool in_row =
        std::ranges::find(of.nesting.end() - static_cast<ptrdiff_t>(of.row), of.nesting.end(), i) != of.nesting.end();
    if (space.sizes[i] != (in_row ? KnownSize(1) : of.sizes[i])) return false;
  }
  return true;
}

// Which dimensions of what it reduces a reduction's result has.
std::vector<size_t> KeptDimensions(const Node& node, ValueFactTable& facts) {
  std::vector<size_t> kept(facts.Of(*node.input(0)).sizes->size());
  std::iota(kept.begin(), kept.end(), 0);
  if (IsReadInGroup(node, facts)) return kept;
  const std::vector<size_t> reduced = *RowDimensions(node, *DefinitionOf(node.kind()).row, facts);
  std::erase_if(kept, [&](size_t dimension) { return std::ranges::find(reduced, dimension) != reduced.end(); });
  return kept;
}

// Whether the results of a node that gives one for each row lie in memory as the rows do.
bool GivesRowsInOrder(const Node& node, const FusionSpace& space, ValueFactTable& facts) {
  std::vector<size_t> nesting = NestingOf(facts.Of(*node.output()));
  if (IsReduction(node)) {
    const std::vector<size_t> kept = KeptDimensions(node, facts);
    for (size_t& dimension : nesting) dimension = kept[dimension];
  }
  return nesting == OutsideOfRows(space);
}

class Lowering {
 public:
  Lowering(const FusionGroup& group, ValueFactTable& facts) : group_(group), facts_(facts) {}

  std::optional<LoweredGroup> Run() {
    std::optional<FusionSpace> space;
    std::vector<FusionSpace> own;
    const auto leaves = [&](const Node& node) {
      return std::ranges::find(group_.outputs, node.output()) != group_.outputs.end();
    };
    // Those from which the order of the loops follows come first.
    std::vector<size_t> in_turn;
    for (const Node* node : group_.nodes) {
      std::optional<FusionSpace> of_node = SpaceOf(*node, facts_);
      if (!of_node) return {};
      const bool decides = leaves(*node) || of_node->row != 0;
      in_turn.insert(decides ? in_turn.begin() : in_turn.end(), own.size());
      own.push_back(*std::move(of_node));
      inside_.insert_or_assign(node->output(), node);
    }
    for (const size_t i : in_turn) {
      std::optional<FusionSpace> both = space ? Joined(*space, own[i], facts_.sizes()) : own[i];
      if (!both && !leaves(*group_.nodes[i])) both = JoinedWithin(own[i], *space, facts_.sizes());
      if (!both) return {};
      space = std::move(both);
    }
    space_ = *space;
    for (size_t i = 0; i < own.size(); ++i) {
      const Node& node = *group_.nodes[i];
      if (!IsReduction(node) && !IsForRowsOf(own[i], space_)) continue;
      if (leaves(node) && !GivesRowsInOrder(node, space_, facts_)) return {};
      of_rows_.emplace(node.output(), Scalar());
    }
    for (const Node* node : group_.nodes) {
      for (const Value* value : node->inputs()) {
        if (!AddOperand(*value)) return {};
      }
    }
    if (tensors_.empty() || !NameExtents()) return {};
    if (!FindDimensions()) return {};
    Declare();
    if (!Emit()) return {};
    return LoweredGroup{builder_.Finish(), std::move(signature_), std::move(operands_)};
  }

 private:
  struct TensorInput {
    const Value* value;
    size_t operand;
    std::vector<PartOrder::Level> levels;  // its dimensions that do not have one element
    std::vector<bool> has;                 // of the space's dimensions
    std::vector<size_t> inner;             // kernel dimensions, as they are nested in it
    bool is_whole = false;                 // dense, with all of the kernel's dimensions in their order
    BufferId buffer = 0;

    bool IsDense() const { return std::ranges::none_of(levels, &PartOrder::Level::has_gap); }
  };

  // What a node of the group takes from outside of it, or of one that was before it. False if no kernel can take it.
  bool AddOperand(const Value& value) {
    if (const auto node = inside_.find(&value); node != inside_.end()) return IsReadInGroup(*node->second, facts_);
    if (numbers_.contains(&value) || IsTensorInput(value)) return true;
    if (value.type()->kind() == c10::TypeKind::TensorType) {
      const ValueFacts& facts = facts_.Of(value);
      if (!IsReadable(facts) || facts.device != space_.device || facts.sizes->size() > space_.sizes.size())
        return false;
      TensorInput input{&value, operands_.size() + 1, LevelsOf(facts), {}, {}};
      input.has.assign(space_.sizes.size(), false);
      // One dimension has an order, but of a view nobody knows its stride.
      if (!facts.nested().is_known() && !input.levels.empty()) {
        if (!SpaceOf(*value.node(), facts_)) return false;
        for (PartOrder::Level& level : input.levels) level.has_gap = false;
      }
      const size_t extra = space_.sizes.size() - facts.sizes->size();
      for (const auto& [dimension, has_gap, stride] : input.levels) {
        if (!IsWhole((*facts.sizes)[dimension], space_.sizes[extra + dimension], facts_.sizes())) return false;
        input.has[extra + dimension] = true;
      }
      tensors_.push_back(std::move(input));
      operands_.push_back(&value);
    } else if (ConstantOf(value) == nullptr && IsNumber(value)) {
      numbers_.emplace(&value, kNotDeclared);
      operands_.push_back(&value);
      number_order_.push_back(&value);
    }
    // Constants, and what is neither, are the rules' to read.
    return true;
  }
  bool IsTensorInput(const Value& value) const {
    return std::ranges::any_of(tensors_, [&](const TensorInput& input) { return input.value == &value; });
  }

  // Where the size of each of the space's dimensions is read. False if no input has one of them.
  bool NameExtents() {
    extents_.assign(space_.sizes.size(), KernelSignature::kOne);
    for (const size_t dimension : space_.nesting) {
      const auto input = std::ranges::find_if(tensors_, [&](const TensorInput& one) { return one.has[dimension]; });
      if (input == tensors_.end()) return false;
      extents_[dimension] = static_cast<int16_t>(signature_.extents.size());
      signature_.extents.push_back(
          {static_cast<uint16_t>(input - tensors_.begin()), static_cast<uint16_t>(dimension - ExtraOf(*input->value))});
    }
    return true;
  }
  // How many dimensions the space has more.
  size_t ExtraOf(const Value& value) const { return space_.sizes.size() - facts_.Of(value).sizes->size(); }

  // The kernel's dimensions, outermost first: each is some of the space's. False if a row is not one of them.
  bool FindDimensions() {
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
    for (TensorInput& input : tensors_) {
      const size_t extra = ExtraOf(*input.value);
      for (const auto& [own, has_gap, stride] : input.levels) {
        const auto found = std::ranges::find_if(
            dimensions_, [&, own = own](const std::vector<size_t>& all) { return all.front() == own + extra; });
        if (found != dimensions_.end()) input.inner.push_back(static_cast<size_t>(found - dimensions_.begin()));
      }
    }
    return true;
  }
  // Whether `inner` comes right after `outer` in all inputs that have them.
  bool Continues(size_t outer, size_t inner) const {
    return std::ranges::all_of(tensors_, [&](const TensorInput& input) {
      if (!input.has[outer] && !input.has[inner]) return true;
      if (!input.has[outer] || !input.has[inner]) return false;
      const size_t extra = ExtraOf(*input.value);
      const auto place = std::ranges::find(input.levels, outer - extra, &PartOrder::Level::dimension);
      if (place->has_gap || place + 1 == input.levels.end() || (place + 1)->dimension + extra != inner) return false;
      // Of one element, a part may have any stride.
      const ValueFacts& facts = facts_.Of(*input.value);
      return !(place + 1)->has_gap || facts.nested().is_exact() || facts_.sizes().IsAtLeast(space_.sizes[inner], 2);
    });
  }

  // Which of the space's they are.
  std::vector<size_t> DimensionsOf(const Value& value) const {
    const auto node = inside_.find(&value);
    if (node != inside_.end() && IsReduction(*node->second)) return KeptDimensions(*node->second, facts_);
    std::vector<size_t> dimensions(facts_.Of(value).sizes->size());
    std::iota(dimensions.begin(), dimensions.end(), ExtraOf(value));
    return dimensions;
  }

  KernelSignature::Tensor SignatureOf(const Value& value) const {
    const ValueFacts& facts = facts_.Of(value);
    KernelSignature::Tensor tensor{*facts.dtype, {}, {}};
    const std::vector<size_t> dimensions = DimensionsOf(value);
    for (size_t i = 0; i < facts.sizes->size(); ++i) {
      tensor.extents.push_back((*facts.sizes)[i] == 1 ? KernelSignature::kOne : extents_[dimensions[i]]);
    }
    // Of a tensor without an order, one dimension at most has elements.
    const PartOrder nested = facts.nested();
    for (size_t i = 0; i < facts.sizes->size(); ++i) {
      tensor.nesting.push_back(nested.is_known() ? nested.levels()[i].dimension : static_cast<uint8_t>(i));
    }
    return tensor;
  }
  KernelSignature::Tensor SignatureOf(const TensorInput& input) const {
    KernelSignature::Tensor tensor = SignatureOf(*input.value);
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
  int64_t ConstantStride(const PartOrder::Level& level) const {
    const bool is_constant = space_.row > 0 && space_.device.is_cuda() && level.stride != 0;
    return is_constant ? level.stride : KernelSignature::kAnyGap;
  }

  // How rows are best mapped to a GPU's threads depends on their number and length: a kernel is for these alone where
  // they are known.
  std::optional<int64_t> ConstantSize(const std::vector<size_t>& dimensions) const {
    if (!space_.device.is_cuda() || (space_.row == 0 && dimensions_.size() < 3)) return {};
    int64_t size = 1;
    for (const size_t dimension : dimensions) {
      if (!space_.sizes[dimension]) return {};
      size *= *space_.sizes[dimension];
    }
    return size;
  }

  void Declare() {
    for (const std::vector<size_t>& all : dimensions_) {
      if (const std::optional<int64_t> size = ConstantSize(all)) {
        sizes_.push_back(builder_.Integer(*size));
        for (const size_t dimension : all) signature_.extents[extents_[dimension]].size = *space_.sizes[dimension];
        continue;
      }
      KernelSignature::Symbol symbol;
      for (const size_t dimension : all) symbol.extents.push_back(static_cast<uint16_t>(extents_[dimension]));
      // Factors of one product, in an order that does not depend on the layout.
      std::ranges::sort(symbol.extents);
      signature_.symbols.push_back(std::move(symbol));
      sizes_.push_back(builder_.Symbol());
    }
    for (const Value* number : number_order_) {
      const bool real = number->type()->kind() == c10::TypeKind::FloatType;
      const auto operand = std::ranges::find(operands_, number) - operands_.begin() + 1;
      signature_.symbols.push_back(
          {real ? KernelSignature::Symbol::Kind::kReal : KernelSignature::Symbol::Kind::kInteger,
           {},
           static_cast<uint16_t>(operand)});
      numbers_[number] = builder_.Symbol(real ? fuser::Dtype::kFloat64 : fuser::Dtype::kInt64);
    }
    rounds_ = builder_.Integer(1);
    for (size_t i = 0; i + 1 < sizes_.size(); ++i) {
      rounds_ = builder_.Call(fuser::Opcode::kMultiply, {rounds_, sizes_[i]});
    }
    std::vector<size_t> all(dimensions_.size());
    std::iota(all.begin(), all.end(), 0);
    for (TensorInput& input : tensors_) {
      signature_.inputs.push_back({static_cast<uint16_t>(input.operand), SignatureOf(input)});
      const fuser::Dtype dtype = *KernelDtype(*facts_.Of(*input.value).dtype);
      input.is_whole = input.IsDense() && input.inner == all;
      input.buffer = input.is_whole ? builder_.Input(dtype, SizesOfWhole(), StridesOfWhole())
                                    : builder_.Input(dtype, Sizes(input.inner), StridesOf(input));
    }
    for (const Value* value : group_.outputs) {
      signature_.outputs.push_back(SignatureOf(*value));
      const fuser::Dtype dtype = *KernelDtype(*facts_.Of(*value).dtype);
      outputs_.push_back(of_rows_.contains(value) ? builder_.Output(dtype, {rounds_}, {builder_.Integer(1)})
                                                  : builder_.Output(dtype, SizesOfWhole(), StridesOfWhole()));
    }
  }
  std::vector<ValueId> SizesOfWhole() const {
    return dimensions_.size() > 1 ? std::vector<ValueId>{rounds_, sizes_.back()} : sizes_;
  }
  std::vector<ValueId> StridesOfWhole() {
    std::vector<ValueId> strides(std::min(dimensions_.size(), size_t{2}), builder_.Integer(1));
    if (strides.size() == 2) strides[0] = sizes_.back();
    return strides;
  }
  std::vector<ValueId> Sizes(const std::vector<size_t>& of) const {
    std::vector<ValueId> sizes;
    for (const size_t dimension : of) sizes.push_back(sizes_[dimension]);
    return sizes;
  }
  std::vector<ValueId> Strides(const std::vector<size_t>& of) {
    std::vector<ValueId> strides(of.size());
    ValueId stride = builder_.Integer(1);
    for (size_t i = of.size(); i-- > 0;) {
      strides[i] = stride;
      stride = builder_.Call(fuser::Opcode::kMultiply, {stride, sizes_[of[i]]});
    }
    return strides;
  }

  // Those that sizes do not tell are read when the kernel is called.
  std::vector<ValueId> StridesOf(const TensorInput& input) {
    std::vector<ValueId> strides = Strides(input.inner);
    const size_t extra = ExtraOf(*input.value);
    bool has_gap = false;
    for (size_t i = input.inner.size(); i-- > 0;) {
      const size_t dimension = dimensions_[input.inner[i]].back() - extra;
      const PartOrder::Level& level = *std::ranges::find(input.levels, dimension, &PartOrder::Level::dimension);
      has_gap |= level.has_gap;
      if (!has_gap) continue;
      if (const int64_t stride = ConstantStride(level); stride != KernelSignature::kAnyGap) {
        strides[i] = builder_.Integer(stride);
        continue;
      }
      signature_.symbols.push_back({.kind = KernelSignature::Symbol::Kind::kStride,
                                    .extents = {},
                                    .operand = static_cast<uint16_t>(input.operand),
                                    .dimension = static_cast<uint16_t>(dimension)});
      strides[i] = builder_.Symbol();
    }
    return strides;
  }

  // The loops. False if a rule has no kernel for its node.
  bool Emit() {
    const size_t rank = dimensions_.size();
    point_.assign(rank, fuser::kNoValue);
    if (rank == 0 || (rank == 1 && space_.row == 0)) {
      builder_.Parallel(rank == 0 ? builder_.Integer(1) : sizes_[0], [&](ValueId index) {
        if (rank != 0) point_[0] = index;
        EmitResults();
      });
      return fits_;
    }
    builder_.Parallel(rounds_, [&](ValueId round) {
      round_ = round;
      for (size_t i = rank - 1; i-- > 1;) {
        point_[i] = builder_.Call(fuser::Opcode::kRemainder, {round, sizes_[i]});
        round = builder_.Call(fuser::Opcode::kFloorDivide, {round, sizes_[i]});
      }
      if (rank > 1) point_[0] = round;
      for (const Node* node : group_.nodes) ReduceRow(*node);
      EmitResultsOfRows();
      if (std::ranges::all_of(group_.outputs, [&](const Value* output) { return of_rows_.contains(output); })) return;
      builder_.Parallel(sizes_.back(), [&](ValueId index) { AtPlace(index, [&] { EmitResults(); }); });
    });
    return fits_;
  }

  // `emit` emits what a loop over the innermost dimension does at `index`.
  template <typename Function>
  void AtPlace(ValueId index, Function emit) {
    point_.back() = index;
    elements_.clear();
    emit();
    elements_.clear();
    point_.back() = fuser::kNoValue;
  }

  void EmitResults() {
    for (size_t i = 0; i < group_.outputs.size() && fits_; ++i) {
      if (of_rows_.contains(group_.outputs[i])) continue;
      const Scalar element = Element(*group_.outputs[i]);
      if (element) builder_.Store(outputs_[i], PlaceOfWhole(), element.id());
    }
  }

  void EmitResultsOfRows() {
    for (size_t i = 0; i < group_.outputs.size() && fits_; ++i) {
      const auto of_rows = of_rows_.find(group_.outputs[i]);
      if (of_rows == of_rows_.end()) continue;
      builder_.Store(outputs_[i], {round_}, of_rows->second.id());
    }
  }

  // A node that depends on a row, and what it keeps of it.
  class Row final : public RowCall {
   public:
    Row(Lowering& lowering, const Call& call, fuser::Dtype result)
        : RowCall(call, result, lowering.builder_, [&](size_t i) { return lowering.Operand(*call.node().input(i)); }),
          lowering_(lowering),
          dtype_(result) {}

    Scalar Reduce(fuser::Reduction reduction, const Element& element) override {
      const std::vector<ValueId> results = lowering_.builder_.Reduce(lowering_.sizes_.back(), [&](ValueId index) {
        ValueId reduced = fuser::kNoValue;
        lowering_.AtPlace(index, [&] { reduced = element().id(); });
        return std::vector<KernelBuilder::Reduced>{{reduction, reduced}};
      });
      return {lowering_.builder_, results[0]};
    }
    Scalar Keep(Scalar value) override {
      kept_ = lowering_.Keep(value);
      return value;
    }
    Scalar Kept() override { return lowering_.Kept(*kept_); }
    Scalar Count() override { return Scalar(lowering_.builder_, lowering_.sizes_.back()).To(ComputedIn(dtype_)); }

   private:
    Lowering& lowering_;
    const fuser::Dtype dtype_;
    std::optional<BufferId> kept_;
  };

  BufferId Keep(Scalar value) {
    const BufferId buffer = builder_.Local(value.dtype(), {sizes_.back()});
    builder_.Store(buffer, std::span(&point_.back(), 1), value.id());
    return buffer;
  }
  Scalar Kept(BufferId buffer) { return {builder_, builder_.Load(buffer, std::span(&point_.back(), 1))}; }

  // Outside of loops over the row: what the node needs of it, or gives for each.
  void ReduceRow(const Node& node) {
    const RowRule* rule = DefinitionOf(node.kind()).row;
    const Value& value = *node.output();
    if (!fits_) return;
    if (rule == nullptr) {
      if (const auto of_rows = of_rows_.find(&value); of_rows != of_rows_.end()) of_rows->second = NewElement(value);
      return;
    }
    ReducedRow& row = rows_[&value];
    row.facts = {facts_.Of(value)};
    row.call = std::make_unique<Call>(node, facts_of_, facts_.sizes(), row.facts);
    row.row = std::make_unique<Row>(*this, *row.call, *KernelDtype(*row.facts[0].dtype));
    row.reduced = rule->reduce(*row.row);
    if (row.reduced.empty()) {
      fits_ = false;
    } else if (rule->IsReduction()) {
      of_rows_.at(&value) = row.reduced[0].To(row.row->result());
    }
  }

  // Of a tensor of the group or one of its operands, in its own dtype; none if there is no rule for it.
  Scalar Element(const Value& value) {
    if (const auto of_rows = of_rows_.find(&value); of_rows != of_rows_.end()) return of_rows->second;
    if (const auto found = elements_.find(&value); found != elements_.end()) return found->second;
    if (const auto kept = kept_.find(&value); kept != kept_.end()) {
      const Scalar element = Kept(kept->second);
      elements_.emplace(&value, element);
      return element;
    }
    const Scalar element = NewElement(value);
    if (!element) fits_ = false;
    elements_.emplace(&value, element);
    if (fits_ && !rows_.empty() && inside_.contains(&value) && TakesLong(value)) kept_.emplace(&value, Keep(element));
    return element;
  }
  // As a rule sees it: what it makes of a stand-in is thrown away.
  Scalar Operand(const Value& value) {
    const Scalar element = Element(value);
    return element ? element : Scalar(builder_, builder_.Integer(0));
  }
  // Whether it is better kept for the next loop over the row than computed again.
  static bool TakesLong(const Value& value) {
    static const auto* const kCheap = new std::unordered_set<c10::Symbol>{
        c10::aten::add, c10::aten::sub,   c10::aten::mul,         c10::aten::neg,   c10::aten::relu,
        c10::aten::to,  c10::aten::where, c10::aten::masked_fill, c10::aten::clamp, c10::aten::rsub};
    const Node& node = *value.node();
    return !kCheap->contains(node.kind()) && DefinitionOf(node.kind()).row == nullptr;
  }

  Scalar NewElement(const Value& value) {
    if (const auto number = numbers_.find(&value); number != numbers_.end()) return {builder_, number->second};
    const auto found = inside_.find(&value);
    if (found == inside_.end()) return Load(value);
    const Node& node = *found->second;
    const fuser::Dtype dtype = *KernelDtype(*facts_.Of(value).dtype);
    if (const RowRule* rule = DefinitionOf(node.kind()).row) {
      const ReducedRow& row = rows_.at(&value);
      const Scalar result = rule->element(*row.row, row.reduced);
      return fits_ ? result.To(dtype) : Scalar();
    }
    std::vector<ValueFacts> given{facts_.Of(value)};
    const Call call(node, facts_of_, facts_.sizes(), given);
    ScalarCall scalar(call, dtype, builder_, [&](size_t operand) { return Operand(*node.input(operand)); });
    const Scalar result = DefinitionOf(node.kind()).scalar(scalar);
    return result && scalar.fits() && fits_ ? result.To(dtype) : Scalar();
  }
  Scalar Load(const Value& value) {
    const auto input = std::ranges::find_if(tensors_, [&](const TensorInput& one) { return one.value == &value; });
    if (input == tensors_.end()) return {};
    if (input->is_whole) return {builder_, builder_.Load(input->buffer, PlaceOfWhole())};
    std::vector<ValueId> indices;
    for (const size_t dimension : input->inner) indices.push_back(point_[dimension]);
    return {builder_, builder_.Load(input->buffer, indices)};
  }
  std::vector<ValueId> PlaceOfWhole() const {
    return point_.size() > 1 ? std::vector<ValueId>{round_, point_.back()} : point_;
  }

  static constexpr ValueId kNotDeclared = fuser::kNoValue;

  struct ReducedRow {
    std::vector<ValueFacts> facts;
    std::unique_ptr<Call> call;
    std::unique_ptr<Row> row;
    std::vector<Scalar> reduced;
  };

  const FusionGroup& group_;
  ValueFactTable& facts_;
  const std::function<const ValueFacts&(const Value&)> facts_of_ = [this](const Value& of) -> const ValueFacts& {
    return facts_.Of(of);
  };
  FusionSpace space_{c10::Device(c10::kCPU), {}, {}};
  std::unordered_map<const Value*, const Node*> inside_;
  std::vector<const Value*> operands_;
  std::vector<TensorInput> tensors_;
  std::unordered_map<const Value*, ValueId> numbers_;
  std::vector<const Value*> number_order_;
  std::vector<int16_t> extents_;  // the number of that of each of the space's dimensions
  std::vector<std::vector<size_t>> dimensions_;
  KernelSignature signature_;
  KernelBuilder builder_;
  std::vector<ValueId> sizes_;  // of the kernel's dimensions
  std::vector<BufferId> outputs_;
  ValueId rounds_ = fuser::kNoValue;  // of the loop at the top, if the kernel has several dimensions
  ValueId round_ = fuser::kNoValue;
  std::vector<ValueId> point_;                         // that is being emitted, by the kernel's dimensions
  std::unordered_map<const Value*, Scalar> elements_;  // there
  std::unordered_map<const Value*, BufferId> kept_;    // from an earlier loop over the row
  std::unordered_map<const Value*, ReducedRow> rows_;
  std::unordered_map<const Value*, Scalar> of_rows_;  // what has an element for each row; none until it is computed
  bool fits_ = true;
};

}  // namespace

std::optional<FusionSpace> SpaceOf(const Node& node, ValueFactTable& facts) {
  const OperatorDefinition& definition = DefinitionOf(node.kind());
  if (node.op() == nullptr || node.outputs().size() != 1) return {};
  if (definition.scalar == nullptr && definition.row == nullptr) return {};
  if (node.output()->type()->kind() != c10::TypeKind::TensorType || !IsWritable(facts.Of(*node.output()))) return {};
  const bool is_reduction = IsReduction(node);
  const ValueFacts& known = facts.Of(is_reduction ? *node.input(0) : *node.output());
  if (!IsReadable(known)) return {};
  FusionSpace space{*known.device, *known.sizes, NestingOf(known)};
  space.reads_little = ReadsLittle(node, space.sizes, facts);
  if (definition.row == nullptr) return space;
  const std::optional<size_t> row = RowOf(node, *definition.row, space, facts);
  if (!row) return {};
  space.row = *row;
  space.in_order = !is_reduction || GivesRowsInOrder(node, space, facts);
  if (!space.in_order && !IsReadInGroup(node, facts)) return {};
  return space;
}

std::optional<FusionSpace> Joined(const FusionSpace& a, const FusionSpace& b, const SizeAlgebra& algebra) {
  if (IsForRowsOf(a, b)) return b;
  if (IsForRowsOf(b, a)) return a;
  if (a.row != b.row && a.row != 0 && b.row != 0) return {};
  const bool are_one = a.device == b.device && a.nesting == b.nesting &&
                       std::ranges::equal(a.sizes, b.sizes,
                                          [&](KnownSize one, KnownSize other) { return IsWhole(one, other, algebra); });
  if (!are_one) return {};
  FusionSpace both = a.row != 0 ? a : b;
  both.in_order = a.in_order && b.in_order;
  both.reads_little = a.reads_little && b.reads_little;
  return both;
}

std::optional<FusionSpace> JoinedWithin(const FusionSpace& within, const FusionSpace& around,
                                        const SizeAlgebra& algebra) {
  if (within.row != 0 || within.nesting.empty() || around.nesting.empty()) return {};
  if (!within.reads_little && within.nesting.back() != around.nesting.back()) return {};
  FusionSpace turned = within;
  turned.nesting = around.nesting;
  return std::ranges::is_permutation(within.nesting, around.nesting) ? Joined(turned, around, algebra) : std::nullopt;
}

bool IsReadInGroup(const Node& node, ValueFactTable& facts) {
  return !IsReduction(node) || facts.Of(*node.output()).rank() == facts.Of(*node.input(0)).rank();
}

std::optional<LoweredGroup> LowerGroup(const FusionGroup& group, ValueFactTable& facts) {
  return Lowering(group, facts).Run();
}

}  // namespace hearth
