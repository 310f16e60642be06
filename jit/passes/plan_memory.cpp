#include "jit/passes/plan_memory.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/analysis/aliases.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
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

// By an operator's name with overload, the overload that takes the same and where the result shall be; null if there
// is none, or none that is faster.
const Operator* IntoMemory(const Operator& op) {
  static const std::unordered_map<std::string_view, std::pair<const char*, const char*>> kOverloads = {
      {"aten::add.Tensor", {"aten::add", "out"}},    {"aten::sub.Tensor", {"aten::sub", "out"}},
      {"aten::mul.Tensor", {"aten::mul", "out"}},    {"aten::div.Tensor", {"aten::div", "out"}},
      {"aten::maximum", {"aten::maximum", "out"}},   {"aten::minimum", {"aten::minimum", "out"}},
      {"aten::sigmoid", {"aten::sigmoid", "out"}},   {"aten::tanh", {"aten::tanh", "out"}},
      {"aten::exp", {"aten::exp", "out"}},           {"aten::log", {"aten::log", "out"}},
      {"aten::neg", {"aten::neg", "out"}},           {"aten::sqrt", {"aten::sqrt", "out"}},
      {"aten::rsqrt", {"aten::rsqrt", "out"}},       {"aten::silu", {"aten::silu", "out"}},
      {"aten::gelu", {"aten::gelu", "out"}},         {"aten::clamp", {"aten::clamp", "out"}},
      {"aten::hardtanh", {"aten::hardtanh", "out"}}, {"aten::leaky_relu", {"aten::leaky_relu", "out"}},
      {"aten::elu", {"aten::elu", "out"}},           {"aten::softmax.int", {"aten::softmax", "int_out"}},
      {"aten::cat", {"aten::cat", "out"}},           {"hearth::linear", {"hearth::linear", "into"}},
      {"aten::matmul", {"hearth::matmul", "into"}},
  };
  std::string name = op.schema().name();
  if (!op.schema().overload_name().empty()) name += "." + op.schema().overload_name();
  const auto found = kOverloads.find(name);
  if (found == kOverloads.end()) return nullptr;
  return OperatorRegistry::Global().Find(Symbol::fromQualString(found->second.first), found->second.second);
}

// Of at most this many floats, arithmetic has code of its own that takes over the memory of an operand
// (operators/native_small_tensor).
constexpr int64_t kHandledAlready = 64;

bool IsArithmetic(const Operator& op) {
  const std::string& name = op.schema().name();
  return name == "aten::add" || name == "aten::sub" || name == "aten::mul" || name == "aten::div";
}

class Planner {
 public:
  explicit Planner(Compilation& compilation)
      : target_(compilation.target()),
        graph_(compilation.graph()),
        facts_(compilation.facts()),
        aliases_(compilation.aliases()),
        builder_(graph_, facts_) {}

  bool Run() {
    Number(*graph_.block());
    FindLifetimes(*graph_.block());
    FindResults(*graph_.block());
    if (results_.empty() || results_.size() > kMostSlots) return false;
    Place();
    std::erase_if(results_, [](const Result& result) { return result.offset == SIZE_MAX; });
    if (results_.empty()) return false;
    AddPlaces();
    for (const Result& result : results_) Replace(result);
    return true;
  }

 private:
  // From when on and until when somebody may use something of a class of aliases.
  struct Lifetime {
    const Block* block = nullptr;  // of its Values, if that is one
    bool in_one_block = true;
    size_t begin = SIZE_MAX;
    size_t end = 0;
  };
  struct Result {
    Node* node;
    const Operator* into;
    KnownSizes sizes;
    c10::ScalarType dtype;
    Lifetime lives;
    // As they may well be.
    size_t bytes = 0;
    size_t offset = SIZE_MAX;
    size_t place = 0;
  };

  // Nodes in order, each before and after what is in its blocks.
  void Number(const Block& block) {
    for (Node* node : block) {
      begins_[node] = next_++;
      for (const Block* inner : node->blocks()) Number(*inner);
      ends_[node] = next_++;
    }
    begins_[block.return_node()] = ends_[block.return_node()] = next_++;
  }

  void FindLifetimes(const Block& block) {
    for (const Value* param : block.params()) Define(*param, block);
    for (const Node* node : block) {
      for (const Value* output : node->outputs()) Define(*output, block);
      for (const Block* inner : node->blocks()) FindLifetimes(*inner);
    }
  }

  void Define(const Value& value, const Block& block) {
    const size_t alias_class = aliases_.ClassOf(value);
    if (alias_class == AliasClasses::kNoMemory) return;
    Lifetime& lives = lifetimes_[alias_class];
    if (lives.block == nullptr) lives.block = &block;
    if (lives.block != &block || value.node()->kind() == sym::kParam) lives.in_one_block = false;
    lives.begin = std::min(lives.begin, value.node()->kind() == sym::kParam ? 0 : begins_[value.node()]);
    for (const Use& use : value.uses()) {
      if (use.user->kind() == sym::kReturn || IsClosure(*use.user)) lives.in_one_block = false;
      lives.end = std::max(lives.end, EndOf(*use.user, block));
    }
    if (!value.HasUses() && value.node()->kind() != sym::kParam) lives.end = std::max(lives.end, ends_[value.node()]);
  }

  // Of a use by `user`, for a Value of `block`.
  size_t EndOf(const Node& user, const Block& block) const {
    const Node* node = &user;
    while (node->block() != &block) node = node->block()->owner();
    if (node->kind() != sym::kFrameState) return ends_.at(node);
    do {
      node = node->next();
    } while (node->kind() != sym::kFrameState && node->kind() != sym::kReturn);
    return ends_.at(node);
  }

  void FindResults(const Block& block) {
    for (Node* node : block) {
      if (IsClosure(*node)) continue;
      for (const Block* inner : node->blocks()) FindResults(*inner);
      if (node->op() == nullptr || node->outputs().size() != 1) continue;
      const Operator* into = IntoMemory(*node->op());
      if (into != nullptr) TryResult(node, into);
    }
  }

  void TryResult(Node* node, const Operator* into) {
    const Value& value = *node->output();
    const ValueFacts& facts = facts_.Of(value);
    if (!facts.is_tensor() || !facts.plain || !facts.contiguous() || !facts.sizes) return;
    if (!facts.dtype || !facts.device || !target_.PlansMemory(*facts.device) || facts_.memory().MayChangeShape(value))
      return;
    const size_t alias_class = aliases_.ClassOf(value);
    if (aliases_.FactsOf(alias_class).outlives()) return;
    const Lifetime& lives = lifetimes_.at(alias_class);
    if (!lives.in_one_block) return;
    if (!builder_.CanCompute(*facts.sizes)) return;
    Result result{.node = node, .into = into, .sizes = *facts.sizes, .dtype = *facts.dtype, .lives = lives};
    const size_t bytes = builder_.LikelyBytes(result.sizes, result.dtype);
    if (bytes == 0) return;
    if (IsArithmetic(*node->op()) && bytes <= kHandledAlready * sizeof(float)) return;
    result.bytes = ArenaAligned(bytes);
    results_.push_back(std::move(result));
  }

  static bool Meet(const Result& a, const Result& b) {
    return a.lives.begin <= b.lives.end && b.lives.begin <= a.lives.end;
  }

  void Place() {
    std::ranges::stable_sort(results_, std::greater(), &Result::bytes);
    std::vector<const Result*> beside;
    for (size_t i = 0; i < results_.size(); ++i) {
      Result& result = results_[i];
      beside.clear();
      for (size_t j = 0; j < i; ++j) {
        const Result& other = results_[j];
        if (Meet(result, other) && other.offset != SIZE_MAX) beside.push_back(&other);
      }
      std::ranges::sort(beside, {}, &Result::offset);
      size_t offset = 0;
      for (const Result* other : beside) {
        if (offset + result.bytes <= other->offset) break;
        offset = std::max(offset, other->offset + other->bytes);
      }
      if (offset + result.bytes <= kMostBytesOfArena) result.offset = offset;
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
        if (Meet(result, results_[j])) met[results_[j].place] = true;
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
  }

  void Replace(const Result& result) {
    Node* node = result.node;
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
  ValueFactTable& facts_;
  const AliasClasses& aliases_;  // what a list holds lives as long as the list
  ArenaBuilder builder_;
  size_t next_ = 0;
  std::unordered_map<const Node*, size_t> begins_;
  std::unordered_map<const Node*, size_t> ends_;
  std::unordered_map<size_t, Lifetime> lifetimes_;  // by class of aliases
  std::vector<Result> results_;
};

}  // namespace

bool PlanMemory(Compilation& compilation) { return Planner(compilation).Run(); }

}  // namespace hearth
