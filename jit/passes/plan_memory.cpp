#include "jit/passes/plan_memory.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/analysis/aliases.h"
#include "jit/analysis/liveness.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/visible_strides.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/definition.h"
#include "jit/definitions/value_facts.h"
#include "jit/graph_edits/arena_builder.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/operators/registry.h"
#include "jit/support/arena_limits.h"

namespace hearth {
namespace {

// Of the quadratic search for places.
constexpr size_t kMostSlots = 4096;

// The overload that takes the same and where the result shall be; null if there is none, or none that is faster.
const Operator* IntoMemory(const Operator& op) {
  const IntoOverload& into = DefinitionOf(op.symbol()).into;
  if (into.name == nullptr || into.of != op.schema().overload_name()) return nullptr;
  return OperatorRegistry::Global().Find(Symbol::fromQualString(into.name), into.overload);
}

// Whether it gives one tensor, in memory that it allocates. Not of operators that LibTorch does not bring: they may
// keep what they allocate.
bool MakesTensor(const Operator& op) {
  const c10::FunctionSchema& schema = op.schema();
  if (schema.returns().size() != 1 || schema.is_mutable()) return false;
  if (schema.returns()[0].alias_info() != nullptr) return false;
  return schema.returns()[0].type()->kind() == c10::TypeKind::TensorType &&
         (schema.name().starts_with("aten::") || schema.name().starts_with("hearth::"));
}

// Whether the first memory of the result's size that it asks for is the result's. A convolution by oneDNN may compute
// in a layout of its own first, in memory that it takes from the allocator bare.
bool AllocatesResultFirst(const Operator& op) {
  if (DefinitionOf(op.symbol()).kind != OperatorClass::kConvolution) return true;
  return op.symbol() == sym::kConvolution || op.symbol() == sym::kAddConvolution;
}

// Of at most this many floats, arithmetic has code of its own that takes over the memory of an operand
// (operators/native_small_tensor).
constexpr int64_t kHandledAlready = 64;

bool IsCheapArithmetic(const Operator& op) {
  const Symbol symbol = op.symbol();
  return symbol == c10::aten::add || symbol == c10::aten::sub || symbol == c10::aten::mul || symbol == c10::aten::div;
}

class MemoryPlanner {
 public:
  explicit MemoryPlanner(Compilation& compilation)
      : target_(compilation.target()),
        graph_(compilation.graph()),
        report_(compilation.report().memory),
        facts_(compilation.facts()),
        aliases_(compilation.aliases()),
        builder_(graph_, facts_),
        intervals_(compilation.liveness().IntervalsOf(aliases_)) {}

  bool Run() {
    FindResults(*graph_.block());
    if (results_.empty() || results_.size() > kMostSlots) return false;
    report_.peak = Peak();
    Place();
    std::erase_if(results_, [](const Result& result) { return result.offset == SIZE_MAX; });
    if (results_.empty()) return false;
    AddPlaces();
    for (const Result& result : results_) Replace(result);
    return true;
  }

 private:
  struct Result {
    Node* node;
    const Operator* into;  // null: the operator makes it in its place
    KnownSizes sizes;
    c10::ScalarType dtype;
    Liveness::Interval lives;
    // As they may well be.
    size_t bytes = 0;
    size_t offset = SIZE_MAX;
    size_t place = 0;
  };

  void FindResults(const Block& block) {
    for (Node* node : block) {
      if (IsClosure(*node)) continue;
      for (const Block* inner : node->blocks()) FindResults(*inner);
      if (node->op() == nullptr || !MakesTensor(*node->op())) continue;
      ++report_.results;
      TryResult(node);
    }
  }

  void TryResult(Node* node) {
    const Value& value = *node->output();
    const ValueFacts& facts = facts_.Of(value);
    if (!facts.is_tensor() || !facts.plain || !facts.sizes || !facts.dtype || !facts.device) return;
    if (!target_.PlansMemory(*facts.device) || facts_.memory().MayChangeShape(value)) return;
    const size_t alias_class = aliases_.ClassOf(value);
    if (aliases_.FactsOf(alias_class).outlives()) return;
    const Liveness::ClassInterval& lives = intervals_.at(alias_class);
    if (!lives.in_one_block) return;
    // It may give what it was given.
    if (std::ranges::any_of(node->inputs(), [&](const Value* in) { return aliases_.ClassOf(*in) == alias_class; }))
      return;
    if (!builder_.CanCompute(*facts.sizes)) return;
    Result result{.node = node, .into = nullptr, .sizes = *facts.sizes, .dtype = *facts.dtype, .lives = lives};
    const size_t bytes = builder_.LikelyBytes(result.sizes, result.dtype);
    if (bytes == 0) return;
    if (bytes <= kMostBytesOfSlot) {
      // To allocate so little costs less than to say where.
      // The strides of dimensions of one element are those of new memory there, and may be others otherwise.
      const bool alike = facts.order.is_exact() || !StridesMayShow(value, facts_);
      result.into = facts.contiguous() && alike ? IntoMemory(*node->op()) : nullptr;
      if (result.into == nullptr) return;
      if (IsCheapArithmetic(*node->op()) && bytes <= kHandledAlready * sizeof(float)) return;
    } else if (!AllocatesResultFirst(*node->op())) {
      return;
    }
    result.bytes = ArenaAligned(bytes);
    results_.push_back(std::move(result));
  }

  // The most that lives at one time: what the results would take if each were freed right after its last use.
  size_t Peak() const {
    std::map<size_t, int64_t> changes;  // by position
    for (const Result& result : results_) {
      changes[result.lives.begin] += static_cast<int64_t>(result.bytes);
      changes[result.lives.end + 1] -= static_cast<int64_t>(result.bytes);
    }
    int64_t lives = 0, peak = 0;
    for (const auto& [position, change] : changes) peak = std::max(peak, lives += change);
    return static_cast<size_t>(peak);
  }

  void Place() {
    std::ranges::stable_sort(results_, std::greater(), &Result::bytes);
    std::vector<const Result*> beside;
    for (size_t i = 0; i < results_.size(); ++i) {
      Result& result = results_[i];
      beside.clear();
      for (size_t j = 0; j < i; ++j) {
        const Result& other = results_[j];
        if (result.lives.Meets(other.lives) && other.offset != SIZE_MAX) beside.push_back(&other);
      }
      std::ranges::sort(beside, {}, &Result::offset);
      size_t offset = 0;
      for (const Result* other : beside) {
        if (offset + result.bytes <= other->offset) break;
        offset = std::max(offset, other->offset + other->bytes);
      }
      if (result.into != nullptr || offset + result.bytes <= report_.peak) result.offset = offset;
    }
  }

  // From the lowest on: each lies over all others that it meets. Of those it is enough to name the ones that no other
  // one of them lies over. Results of one kind over the same ones are in one place.
  void AddPlaces() {
    std::ranges::stable_sort(results_, {}, &Result::offset);
    std::vector<std::vector<bool>> beneath;  // by place: which ones, however far
    std::map<ArenaBuilder::Place, size_t> places;
    size_t bytes = 0;
    for (size_t i = 0; i < results_.size(); ++i) {
      Result& result = results_[i];
      bytes = std::max(bytes, result.offset + result.bytes);
      std::vector<bool> met(beneath.size()), below(beneath.size());
      for (size_t j = 0; j < i; ++j) {
        if (result.lives.Meets(results_[j].lives)) met[results_[j].place] = true;
      }
      ArenaBuilder::Place place{result.sizes, result.dtype, {}};
      for (size_t other = met.size(); other-- > 0;) {
        if (!met[other] || below[other]) continue;
        place.over.push_back(other);
        for (size_t lower = 0; lower < other; ++lower) below[lower] = below[lower] || beneath[other][lower];
        below[other] = true;
      }
      const auto [found, is_new] = places.emplace(place, beneath.size());
      result.place = found->second;
      if (!is_new) continue;
      beneath.push_back(std::move(below));
      builder_.Add(place);
    }
    builder_.Finish(bytes);
    report_.planned = results_.size();
    report_.bytes = bytes;
  }

  void Replace(const Result& result) {
    Node* node = result.node;
    if (result.into == nullptr) return node->SetAttribute(sym::kPlaceAttr, static_cast<int64_t>(result.place));
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    Node* slot = graph_.Insert(graph_.Create(sym::kSlot));
    slot->SetAttribute(sym::kPlaceAttr, static_cast<int64_t>(result.place));
    slot->output()->SetType(c10::TensorType::get());
    node->AddInput(slot->output());
    Node* into = graph_.Insert(graph_.Create(result.into->symbol(), node->inputs()));
    into->SetOperator(result.into);
    into->output()->SetType(node->output()->type());
    into->output()->SetName(node->output()->name());
    for (Node* made : {slot, into}) {
      made->SetRange(node->range());
      made->SetInlinedCall(node->inlined_call());
    }
    node->output()->ReplaceAllUsesWith(into->output());
    node->Destroy();
  }

  const Target& target_;
  Graph& graph_;
  CompilationReport::Memory& report_;
  ValueFactTable& facts_;
  const AliasClasses& aliases_;  // what a list holds lives as long as the list
  ArenaBuilder builder_;
  const std::unordered_map<size_t, Liveness::ClassInterval> intervals_;  // by class of aliases
  std::vector<Result> results_;
};

}  // namespace

bool PlanMemory(Compilation& compilation) { return MemoryPlanner(compilation).Run(); }

}  // namespace hearth
