#include "jit/fuser/lowering/group_lowering.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "jit/definitions/definition.h"
#include "jit/definitions/row_rules.h"
#include "jit/definitions/scalar_rules.h"
#include "jit/fuser/ir/builder.h"
#include "jit/fuser/lowering/group_layout.h"

namespace hearth {
namespace {

using fuser::BufferId;
using fuser::KernelBuilder;
using fuser::Scalar;
using fuser::ValueId;

class Lowering {
 public:
  Lowering(const FusionGroup& group, ValueFactTable& facts)
      : group_(group), facts_(facts), layout_(group, facts, builder_) {}

  std::optional<LoweredGroup> Run() {
    if (!layout_.Make() || !Emit()) return {};
    return LoweredGroup{builder_.Finish(), layout_.TakeSignature(), layout_.TakeOperands()};
  }

 private:
  // The loops. False if a rule has no kernel for its node.
  bool Emit() {
    const size_t rank = sizes().size();
    point_.assign(rank, fuser::kNoValue);
    if (rank == 0) {
      builder_.Parallel(builder_.Integer(1), [&](ValueId) { EmitResults(); });
      return fits_;
    }
    joined_ = layout_.space().device.is_cpu() && layout_.space().row == 0 ? layout_.Join() : nullptr;
    if (rank == 1 && layout_.space().row == 0) {
      EmitOverInnermost();
      return fits_;
    }
    builder_.Parallel(layout_.rounds(), [&](ValueId round) {
      round_ = round;
      for (size_t i = rank - 1; i-- > 1;) {
        point_[i] = builder_.Call(fuser::Opcode::kRemainder, {round, sizes()[i]});
        round = builder_.Call(fuser::Opcode::kFloorDivide, {round, sizes()[i]});
      }
      if (rank > 1) point_[0] = round;
      for (const Node* node : group_.nodes) FindPicked(*node);
      for (const Node* node : group_.nodes) ReduceRow(*node);
      EmitResultsOfRows();
      const auto is_of_rows = [&](const Value* output) { return layout_.HasElementForRow(*output); };
      if (!std::ranges::all_of(group_.outputs, is_of_rows)) EmitOverInnermost();
    });
    return fits_;
  }

  // A loop for each of the tensors that are joined along it, where they are: it reads that one alone.
  void EmitOverInnermost() {
    const auto emit = [&](ValueId index) { AtPlace(index, [&] { EmitResults(); }); };
    if (joined_ == nullptr) return builder_.Parallel(sizes().back(), emit);
    ValueId begin = builder_.Integer(0);
    const size_t dimension = MovedDimensions(*joined_, facts_)->front();
    for (size_t i = 0; i < MovedTensors(*joined_).size(); ++i) {
      const ValueId size = layout_.MovedInput(*joined_, i).sizes.at(dimension);
      part_ = i;
      builder_.Parallel(size, [&](ValueId index) { emit(builder_.Call(fuser::Opcode::kAdd, {begin, index})); });
      begin = builder_.Call(fuser::Opcode::kAdd, {begin, size});
    }
    part_.reset();
  }

  const std::vector<ValueId>& sizes() const { return layout_.sizes(); }

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
      if (layout_.HasElementForRow(*group_.outputs[i])) continue;
      const Scalar element = Element(*group_.outputs[i]);
      if (element) builder_.Store(layout_.outputs()[i], PlaceOfWhole(), element.id());
    }
  }

  void EmitResultsOfRows() {
    for (size_t i = 0; i < group_.outputs.size() && fits_; ++i) {
      if (!layout_.HasElementForRow(*group_.outputs[i])) continue;
      builder_.Store(layout_.outputs()[i], {round_}, of_rows_.at(group_.outputs[i]).id());
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
      const std::vector<ValueId> results = lowering_.builder_.Reduce(lowering_.sizes().back(), [&](ValueId index) {
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
    void Scan(Scalar initial, const Step& next) override {
      KernelBuilder& builder = lowering_.builder_;
      const ValueId first = initial.id();
      builder.Sequential(lowering_.sizes().back(), {&first, 1}, [&](ValueId index, std::span<const ValueId> carried) {
        ValueId carried_on = fuser::kNoValue;
        lowering_.AtPlace(index, [&] {
          const Scalar value = next({builder, carried[0]});
          Keep(value.To(ComputedIn(dtype_)));
          carried_on = value.id();
        });
        return std::vector<ValueId>{carried_on};
      });
    }
    Scalar Count() override { return Scalar(lowering_.builder_, lowering_.sizes().back()).To(ComputedIn(dtype_)); }

   private:
    Lowering& lowering_;
    const fuser::Dtype dtype_;
    std::optional<BufferId> kept_;
  };

  // A node that reads elements in other places than that which is being emitted.
  class Place final : public PlaceCall {
   public:
    Place(Lowering& lowering, const Call& call, fuser::Dtype result)
        : PlaceCall(call, result, lowering.builder_),
          lowering_(lowering),
          dimensions_(*MovedDimensions(call.node(), lowering.facts_)) {}

    Scalar Index(size_t i) override {
      const size_t dimension = *lowering_.layout_.KernelDimension(dimensions_[i]);
      return {lowering_.builder_, lowering_.point_[dimension]};
    }
    Scalar Size(size_t tensor, size_t i) override {
      return {lowering_.builder_, InputOf(tensor).sizes.at(dimensions_[i])};
    }
    Scalar At(size_t tensor, std::span<const Scalar> places) override {
      const GroupLayout::Input& input = InputOf(tensor);
      return {lowering_.builder_, lowering_.builder_.Load(input.buffer, Indices(input, places))};
    }
    Scalar AtIf(Scalar condition, size_t tensor, std::span<const Scalar> places) override {
      const GroupLayout::Input& input = InputOf(tensor);
      return {lowering_.builder_, lowering_.builder_.LoadIf(condition.id(), input.buffer, Indices(input, places))};
    }
    std::optional<size_t> part() const override {
      return &call().node() == lowering_.joined_ ? lowering_.part_ : std::nullopt;
    }

   private:
    const GroupLayout::Input& InputOf(size_t tensor) const {
      return lowering_.layout_.MovedInput(call().node(), tensor);
    }
    std::vector<ValueId> Indices(const GroupLayout::Input& input, std::span<const Scalar> places) const {
      GroupLayout::Places moved;
      for (size_t i = 0; i < places.size(); ++i) moved.emplace(dimensions_[i], places[i].id());
      return lowering_.layout_.Indices(input, lowering_.point_, moved);
    }

    Lowering& lowering_;
    const std::vector<size_t> dimensions_;
  };

  // Outside of loops over the innermost dimension: which element a node picks, where that is one for all of these.
  void FindPicked(const Node& node) {
    if (DefinitionOf(node.kind()).gather == nullptr) return;
    const std::vector<size_t>& inner = layout_.MovedInput(node, kIds).inner;
    if (std::ranges::find(inner, point_.size() - 1) == inner.end()) picked_[&node] = Picked(node);
  }

  // In the place that is being emitted; none of a tensor that has one alone.
  Scalar Picked(const Node& node) {
    if (const auto found = picked_.find(&node); found != picked_.end()) return found->second;
    const GroupLayout::Input &tensor = layout_.MovedInput(node, kTensor), &ids = layout_.MovedInput(node, kIds);
    const auto size = tensor.sizes.find(GroupLayout::kPicked);
    if (size == tensor.sizes.end()) return {};
    const Scalar count(builder_, size->second);
    const Scalar id =
        Scalar(builder_, builder_.Load(ids.buffer, layout_.Indices(ids, point_, {}))).To(fuser::Dtype::kInt64);
    const IdRange range = GatherOf(node, facts_)->range;
    if (range == IdRange::kAny) return id.With(fuser::Opcode::kRemainder, count);
    const Scalar from_start = range == IdRange::kFromEnd ? Select(id < 0, id + count, id) : id;
    return layout_.space().device.is_cuda() ? from_start.With(fuser::Opcode::kWithin, count) : from_start;
  }

  Scalar PickedElement(const Node& node) {
    const GroupLayout::Input& tensor = layout_.MovedInput(node, kTensor);
    const Scalar picked = Picked(node);
    GroupLayout::Places places;
    if (picked) places.emplace(GroupLayout::kPicked, picked.id());
    return {builder_, builder_.Load(tensor.buffer, layout_.Indices(tensor, point_, places))};
  }

  BufferId Keep(Scalar value) {
    const BufferId buffer = builder_.Local(value.dtype(), {sizes().back()});
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
      if (layout_.HasElementForRow(value)) of_rows_[&value] = NewElement(value);
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
      of_rows_[&value] = row.reduced[0].To(row.row->result());
    }
  }

  // Of a tensor of the group or one of its operands, in its own dtype; none if there is no rule for it.
  Scalar Element(const Value& value) {
    if (layout_.HasElementForRow(value)) return of_rows_[&value];
    if (const auto found = elements_.find(&value); found != elements_.end()) return found->second;
    if (const auto kept = kept_.find(&value); kept != kept_.end()) {
      const Scalar element = Kept(kept->second);
      elements_.emplace(&value, element);
      return element;
    }
    const Scalar element = NewElement(value);
    if (!element) fits_ = false;
    elements_.emplace(&value, element);
    const bool is_inside = layout_.Inside(value) != nullptr;
    if (fits_ && !rows_.empty() && is_inside && TakesLong(value)) kept_.emplace(&value, Keep(element));
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
    const OperatorDefinition& definition = DefinitionOf(node.kind());
    return !kCheap->contains(node.kind()) && definition.row == nullptr && !ReadsMemory(node);
  }

  Scalar NewElement(const Value& value) {
    if (const auto number = layout_.Number(value)) return {builder_, *number};
    if (layout_.Inside(value) == nullptr) return Load(value);
    const Node& node = *layout_.Inside(value);
    const fuser::Dtype dtype = *KernelDtype(*facts_.Of(value).dtype);
    if (const RowRule* rule = DefinitionOf(node.kind()).row) {
      const ReducedRow& row = rows_.at(&value);
      const Scalar result = rule->element(*row.row, row.reduced);
      return fits_ ? result.To(dtype) : Scalar();
    }
    if (DefinitionOf(node.kind()).gather != nullptr) return PickedElement(node);
    std::vector<ValueFacts> given{facts_.Of(value)};
    const Call call(node, facts_of_, facts_.sizes(), given);
    if (const PlaceRule* rule = DefinitionOf(node.kind()).place) {
      Place place(*this, call, dtype);
      const Scalar result = rule->element(place);
      return result ? result.To(dtype) : Scalar();
    }
    ScalarCall scalar(call, dtype, builder_, [&](size_t operand) { return Operand(*node.input(operand)); });
    const Scalar result = DefinitionOf(node.kind()).scalar(scalar);
    return result && scalar.fits() && fits_ ? result.To(dtype) : Scalar();
  }
  Scalar Load(const Value& value) {
    const GroupLayout::Input* input = layout_.FindInput(value);
    if (input == nullptr) return {};
    if (input->is_whole) return {builder_, builder_.Load(input->buffer, PlaceOfWhole())};
    return {builder_, builder_.Load(input->buffer, layout_.Indices(*input, point_, {}))};
  }
  // The point that is being emitted, in a buffer as SizesOfWhole says.
  std::vector<ValueId> PlaceOfWhole() const {
    return point_.size() > 1 ? std::vector<ValueId>{round_, point_.back()} : point_;
  }

  struct ReducedRow {
    std::vector<ValueFacts> facts;
    std::unique_ptr<Call> call;
    std::unique_ptr<Row> row;
    std::vector<Scalar> reduced;
  };

  // Of a node that picks elements.
  static constexpr size_t kTensor = 0, kIds = 1;

  const FusionGroup& group_;
  ValueFactTable& facts_;
  const std::function<const ValueFacts&(const Value&)> facts_of_ = [this](const Value& of) -> const ValueFacts& {
    return facts_.Of(of);
  };
  KernelBuilder builder_;
  GroupLayout layout_;
  const Node* joined_ = nullptr;  // whose tensors have a loop each
  std::optional<size_t> part_;    // in which of them the point is
  ValueId round_ = fuser::kNoValue;
  std::vector<ValueId> point_;                         // that is being emitted, by the kernel's dimensions
  std::unordered_map<const Value*, Scalar> elements_;  // there
  std::unordered_map<const Node*, Scalar> picked_;     // outside of loops over the innermost dimension
  std::unordered_map<const Value*, BufferId> kept_;    // from an earlier loop over the row
  std::unordered_map<const Value*, ReducedRow> rows_;
  std::unordered_map<const Value*, Scalar> of_rows_;  // what has an element for each row; none until it is computed
  bool fits_ = true;
};

}  // namespace

std::optional<LoweredGroup> LowerGroup(const FusionGroup& group, ValueFactTable& facts) {
  return Lowering(group, facts).Run();
}

}  // namespace hearth
