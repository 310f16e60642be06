#include "jit/analysis/batch_axes.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "jit/analysis/always_raises.h"
#include "jit/definitions/batch_rules.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

using RowKind = BatchState::Kind;

constexpr int kMostRoundsOfLoop = 16;

BatchState UnknownAt(const Node& node, std::string_view reason) {
  return BatchState::Because(RowKind::kUnknown, &node, reason);
}

// Of what a number is computed of, or a list of numbers holds.
BatchState Worst(const BatchState& a, const BatchState& b) {
  const auto rank = [](const BatchState& state) {
    switch (state.kind) {
      case RowKind::kNever:
      case RowKind::kUniform:
        return 0;
      case RowKind::kCount:
        return 1;
      case RowKind::kUnknown:
        return 3;
      case RowKind::kMixed:
        return 4;
      default:
        return 2;
    }
  };
  return rank(b) > rank(a) ? b : a;
}

// The number of rows: the first size of the first tensor whose sizes are known, else one of its own.
KnownSize RowsOf(const Graph& graph, ValueFactTable& facts, std::span<const BatchState> inputs) {
  constexpr size_t kNoValue = std::numeric_limits<size_t>::max();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::optional<KnownSizes>& sizes = facts.Of(*graph.inputs()[i]).sizes;
    if (inputs[i].is_rows() && sizes && !sizes->empty() && sizes->front().is_expression()) return sizes->front();
  }
  return facts.sizes().Atom({kNoValue, 0}, 1);
}

}  // namespace

BatchAxes::BatchAxes(const Graph& graph, ValueFactTable& facts, std::span<const BatchState> inputs)
    : facts_(facts), sizes_(facts.sizes(), RowsOf(graph, facts, inputs)), states_(graph.value_id_bound()) {
  for (size_t i = 0; i < inputs.size(); ++i) Set(*graph.inputs()[i], Begin(inputs[i], facts.Of(*graph.inputs()[i])));
  Visit(*graph.block());
}

// Of an argument with these facts.
BatchState BatchAxes::Begin(BatchState state, const ValueFacts& facts) {
  for (size_t i = 0; i < state.elements.size() && i < facts.elements.size(); ++i)
    state.elements[i] = Begin(std::move(state.elements[i]), facts.elements[i]);
  if (!state.is_rows()) return state;
  if (facts.rank() == size_t{0})
    return BatchState::Because(RowKind::kUnknown, nullptr, "is given a tensor without rows");
  if (facts.sizes) sizes_.SetMeaning(facts.sizes->front(), sizes_.rows());
  state.per_row = 1;
  state.of_inputs = true;
  return state;
}

KnownSize BatchAxes::PerRow(const Value& value) {
  const BatchState& state = Of(value);
  const std::optional<KnownSizes>& sizes = facts_.Of(value).sizes;
  if (!state.is_rows() || state.outer != 1) return {};
  const KnownSize by_size = sizes && state.axis < sizes->size() ? sizes_.PerRow((*sizes)[state.axis]) : KnownSize();
  return by_size.is_known() ? by_size : state.per_row;
}

bool BatchAxes::IsWritten(const Value& value) const {
  const WrittenMemory& memory = facts_.memory();
  return HasMemory(*value.type()) && (memory.MayBeWritten(value) || memory.MayHoldOthers(value));
}

void BatchAxes::Set(const Value& value, BatchState state) {
  if (state.kind != RowKind::kUnknown && state.kind != RowKind::kNever && IsWritten(value)) {
    const auto writes = [&](const Use& use) { return use.user->op() != nullptr && WritesInput(*use.user, use.offset); };
    const auto writer = std::ranges::find_if(value.uses(), writes);
    state = UnknownAt(writer == value.uses().end() ? *value.node() : *writer->user, "writes in place");
  }
  Learn(facts_.Of(value), state);
  states_[value.id()] = std::move(state);
}

void BatchAxes::SetAll(const Node& node, const BatchState& state) {
  for (const Value* output : node.outputs()) Set(*output, state);
}

// What the state of a value says about its sizes that have no other name.
void BatchAxes::Learn(const ValueFacts& facts, const BatchState& state) {
  using FactKind = ValueFacts::Kind;
  if (facts.kind == FactKind::kInt && state.is_uniform()) sizes_.SetUniform(facts.number);
  if (facts.kind == FactKind::kList && facts.sizes && state.is_uniform()) {
    for (const KnownSize number : *facts.sizes) sizes_.SetUniform(number);
  }
  if (facts.is_tensor() && facts.sizes) {
    const KnownSizes& known = *facts.sizes;
    for (size_t i = 0; i < known.size(); ++i) {
      if (state.kind == RowKind::kUniform || (state.is_rows() && i != state.axis)) {
        sizes_.SetUniform(known[i]);
      } else if (state.is_rows() && state.per_row.is_known()) {
        SizeAlgebra& algebra = sizes_.algebra();
        sizes_.SetMeaning(known[i], algebra.Multiply(algebra.Multiply(state.outer, state.per_row), sizes_.rows()));
      } else if (state.kind == RowKind::kRowNumbers && i == state.axis) {
        sizes_.SetMeaning(known[i], sizes_.rows());
      }
    }
  }
  for (size_t i = 0; i < facts.elements.size(); ++i) {
    const bool apart = state.kind == RowKind::kContainer && i < state.elements.size();
    Learn(facts.elements[i], apart ? state.elements[i] : state);
  }
}

void BatchAxes::Visit(const Block& block) {
  for (const Node* node : block) Visit(*node);
}

void BatchAxes::Visit(const Node& node) {
  if (node.kind() == sym::kIf) {
    VisitIf(node);
  } else if (node.kind() == sym::kLoop) {
    VisitLoop(node);
  } else if (IsTask(node) || node.kind() == sym::kWith) {
    VisitTask(node);
  } else if (!VisitPrimitive(node)) {
    VisitOperator(node);
  }
}

void BatchAxes::VisitIf(const Node& branch) {
  for (const Block* block : branch.blocks()) Visit(*block);
  const BatchState& condition = Of(*branch.input());
  const bool raises[] = {AlwaysRaises(*branch.block(0)), AlwaysRaises(*branch.block(1))};
  for (size_t i = 0; i < branch.outputs().size(); ++i) {
    const Value &then = *branch.block(0)->returns()[i], &otherwise = *branch.block(1)->returns()[i];
    if (raises[0] != raises[1]) {
      Set(*branch.output(i), Of(raises[0] ? otherwise : then));
    } else if (condition.is_uniform() || &then == &otherwise) {
      Set(*branch.output(i), Join(Of(then), Of(otherwise)));
    } else if (condition.kind == RowKind::kUnknown) {
      Set(*branch.output(i), condition);
    } else {
      Set(*branch.output(i), UnknownAt(branch, condition.kind == RowKind::kCount ? "decides by the number of rows"
                                                                                 : "decides by what is in the rows"));
    }
  }
}

void BatchAxes::VisitLoop(const Node& loop) {
  const Block& body = *loop.block(0);
  std::vector<BatchState> carried;
  for (size_t i = 2; i < loop.inputs().size(); ++i) carried.push_back(Of(*loop.input(i)));
  const BatchSizes::Known before = sizes_.known();
  bool settled = false;
  for (int round = 0; round < kMostRoundsOfLoop && !settled; ++round) {
    // What was learned about sizes rests on what was carried.
    sizes_.Restore(before);
    Set(*body.param(0), BatchState::Uniform());
    for (size_t i = 0; i < carried.size(); ++i) Set(*body.param(i + 1), carried[i]);
    Visit(body);
    settled = true;
    for (size_t i = 0; i < carried.size(); ++i) {
      BatchState joined = Join(carried[i], Of(*body.returns()[i + 1]));
      settled &= joined == carried[i];
      carried[i] = std::move(joined);
    }
  }
  const BatchState rounds = Worst(Worst(Of(*loop.input(0)), Of(*loop.input(1))), Of(*body.returns()[0]));
  if (settled && rounds.is_uniform()) {
    for (size_t i = 0; i < carried.size(); ++i) Set(*loop.output(i), carried[i]);
    return;
  }
  if (!settled) sizes_.Restore(before);
  if (rounds.kind == RowKind::kUnknown) return SetAll(loop, rounds);
  SetAll(loop, UnknownAt(loop, rounds.kind == RowKind::kCount ? "runs as often as the number of rows says"
                                                              : "runs as often as what is in the rows says"));
}

void BatchAxes::VisitTask(const Node& task) {
  const Block& body = *task.block(0);
  for (size_t i = 0; i < body.params().size(); ++i)
    Set(*body.param(i), IsTask(task) ? Of(*task.input(i)) : BatchState::Uniform());
  Visit(body);
  for (size_t i = 0; i < task.outputs().size(); ++i) Set(*task.output(i), Of(*body.returns()[i]));
}

// One of a container's elements, of which nothing but the container's state is known.
BatchState BatchAxes::ElementOf(const Node& node, const BatchState& all, const Value& element) {
  const ValueFacts& facts = facts_.Of(element);
  if (facts.kind == ValueFacts::Kind::kInt) {
    if (sizes_.IsUniform(facts.number)) return BatchState::Uniform();
    if (sizes_.IsOfRows(facts.number))
      return BatchState::Because(RowKind::kCount, &node, "asks how many rows there are");
  }
  return JoinOfElements(all);
}

bool BatchAxes::VisitPrimitive(const Node& node) {
  const c10::Symbol kind = node.kind();
  if (kind == sym::kConstant) {
    const bool none = node.attribute<c10::IValue>(sym::kValueAttr).isNone();
    SetAll(node, none ? BatchState::Never() : BatchState::Uniform());
  } else if (kind == sym::kGetAttr) {
    SetAll(node,
           Of(*node.input()).is_uniform() ? BatchState::Uniform() : UnknownAt(node, "reads an object's attribute"));
  } else if (kind == sym::kTupleConstruct || kind == sym::kListConstruct || kind == sym::kDictConstruct) {
    const bool numbers = kind == sym::kListConstruct && !HasMemory(*node.output()->type()->containedType(0));
    const size_t step = kind == sym::kDictConstruct ? 2 : 1;
    BatchState all{.kind = RowKind::kContainer};
    BatchState worst = BatchState::Uniform();
    for (size_t i = step - 1; i < node.inputs().size(); i += step) {
      all.elements.push_back(Of(*node.input(i)));
      worst = Worst(worst, Of(*node.input(i)));
    }
    BatchState keys = BatchState::Uniform();
    for (size_t i = 0; i < node.inputs().size() && step == 2; i += step) keys = Worst(keys, Of(*node.input(i)));
    if (!keys.is_uniform()) return SetAll(node, UnknownAt(node, "has keys that depend on the rows")), true;
    SetAll(node, numbers ? worst : all);
  } else if (kind == sym::kTupleUnpack || kind == sym::kListUnpack) {
    const BatchState all = Of(*node.input());
    const bool apart = all.kind == RowKind::kContainer && all.elements.size() == node.outputs().size();
    for (size_t i = 0; i < node.outputs().size(); ++i)
      Set(*node.output(i), apart ? all.elements[i] : ElementOf(node, all, *node.output(i)));
  } else if (kind == sym::kTupleIndex) {
    const BatchState& all = Of(*node.input(0));
    const auto length = static_cast<int64_t>(all.elements.size());
    const int64_t index = facts_.Of(*node.input(1)).number.value_or(length);
    const int64_t at = index < 0 ? index + length : index;
    const bool apart = all.kind == RowKind::kContainer && at >= 0 && at < length;
    SetAll(node, apart ? all.elements[static_cast<size_t>(at)] : ElementOf(node, all, *node.output()));
  } else if (kind == sym::kTupleSlice) {
    SetAll(node, JoinOfElements(Of(*node.input())));
  } else if (kind == sym::kUncheckedCast) {
    SetAll(node, Of(*node.input()));
  } else if (kind == sym::kUninitialized) {
    SetAll(node, BatchState::Never());
  } else if (kind == sym::kIsInstance) {
    const BatchState& of = Of(*node.input());
    SetAll(node, of.kind == RowKind::kUnknown ? of : BatchState::Uniform());
  } else if (kind == c10::aten::wait) {
    SetAll(node, Of(*node.input()));
  } else if (node.op() == nullptr) {
    BatchState worst = BatchState::Uniform();
    for (const Value* input : node.inputs()) worst = Worst(worst, JoinOfElements(Of(*input)));
    const bool settled =
        worst.kind == RowKind::kUniform || worst.kind == RowKind::kUnknown || worst.kind == RowKind::kMixed;
    SetAll(node, settled ? worst : UnknownAt(node, "is not looked into"));
  } else {
    return false;
  }
  return true;
}

void BatchAxes::VisitOperator(const Node& node) {
  if (node.outputs().empty()) return;
  const NodeEffects effects = EffectsOf(node);
  if (effects.random) return SetAll(node, UnknownAt(node, "draws random numbers"));
  const auto has_memory = [](const Value* input) { return HasMemory(*input->type()); };
  if (effects.writes && std::ranges::any_of(node.inputs(), has_memory))
    return SetAll(node, UnknownAt(node, "writes in place"));
  const std::function<const ValueFacts&(const Value&)> facts_of = [this](const Value& value) -> const ValueFacts& {
    return facts_.Of(value);
  };
  const BatchCall::StateOf state_of = [this](const Value& value) -> const BatchState& { return Of(value); };
  std::vector<ValueFacts> known;
  for (const Value* output : node.outputs()) known.push_back(facts_.Of(*output));
  std::vector<BatchState> states(known.size());
  Call facts(node, facts_of, sizes_.algebra(), known);
  BatchCall call(facts, state_of, sizes_, states);
  if (const BatchRule rule = node.op()->is_vararg() ? nullptr : FindBatchRule(node.kind())) {
    rule(call);
  } else if (call.AllClear()) {
    if (call.AllUniform()) {
      call.Give(BatchState::Uniform());
    } else {
      call.Unclear("has no rule for rows");
    }
  }
  for (size_t i = 0; i < states.size(); ++i) Set(*node.output(i), std::move(states[i]));
}

}  // namespace hearth
