#include "jit/analysis/value_fact_table.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <utility>

#include "jit/analysis/always_raises.h"
#include "jit/analysis/argument_facts.h"
#include "jit/definitions/definition.h"
#include "jit/definitions/node_effects.h"
#include "jit/definitions/operator_facts.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

using Kind = ValueFacts::Kind;

// Deeper loops carry nothing that is known: each level multiplies the work.
constexpr size_t kMaxLoopDepth = 4;

const ValueFacts& Unknown() {
  static const ValueFacts kUnknown;
  return kUnknown;
}

template <typename Visit>
void ForEachSize(ValueFacts* facts, Visit visit) {
  if (facts->sizes) std::ranges::for_each(*facts->sizes, visit);
  visit(facts->number);
  for (ValueFacts& element : facts->elements) ForEachSize(&element, visit);
}

// What a loop carries is made in the round before: a size that is known by what a round makes is not what the same
// round, later, makes. Only what it began with holds in all rounds.
void ForgetNewAtoms(ValueFacts* carried, const ValueFacts& before) {
  if (before.kind == Kind::kNever) {
    ForEachSize(carried, [](KnownSize& size) { size = size ? size : KnownSize(); });
  } else if (before.elements.size() == carried->elements.size()) {
    for (size_t i = 0; i < before.elements.size(); ++i) ForgetNewAtoms(&carried->elements[i], before.elements[i]);
  }
}

}  // namespace

ValueFactTable::ValueFactTable(const Graph& graph, std::span<const ArgumentFacts> arguments,
                               const WrittenMemory& memory, SizeAlgebra& sizes)
    : graph_(graph), memory_(memory), sizes_(sizes), facts_(graph.value_id_bound()) {
  TORCH_CHECK(arguments.empty() || arguments.size() == graph.inputs().size(),
              "facts about another number of arguments than the graph has inputs");
  for (size_t i = 0; i < arguments.size(); ++i) {
    ValueFacts facts = FactsOfArgument(arguments[i]);
    size_t number = 0;
    NameArgument(arguments[i], graph.inputs()[i]->id(), &number, &facts);
    Set(*graph.inputs()[i], std::move(facts));
  }
}

// Sizes that are given tell no more than they say.
void ValueFactTable::NameArgument(const ArgumentFacts& argument, size_t input, size_t* number, ValueFacts* facts) {
  for (size_t i = 0; i < facts->elements.size(); ++i) {
    if (i < argument.elements.size()) NameArgument(argument.elements[i], input, number, &facts->elements[i]);
  }
  const auto name = [&](KnownSize* size, std::optional<int64_t> least) {
    if (!size->is_known()) *size = sizes_.Atom({input, (*number)++}, least);
  };
  if (facts->kind == Kind::kInt) name(&facts->number, {});
  if (!facts->sizes) return;
  const std::optional<std::vector<int64_t>>& likely = argument.tensor.likely_sizes;
  for (size_t i = 0; i < facts->sizes->size(); ++i) {
    KnownSize& size = (*facts->sizes)[i];
    std::optional<int64_t> least;
    if (facts->is_tensor()) least = argument.tensor.sizes ? 1 : LeastOf(argument.tensor.size_classes[i]);
    name(&size, least);
    if (likely && i < likely->size()) sizes_.Expect(size, (*likely)[i]);
  }
}

void ValueFactTable::Name(const Value& value, ValueFacts* facts) {
  if (facts->kind == Kind::kUnknown && value.type()->kind() == c10::TypeKind::IntType) facts->kind = Kind::kInt;
  if (facts->kind == Kind::kInt && !facts->number.is_known()) facts->number = sizes_.Atom({value.id(), 0}, {});
  const bool numbers = facts->is_tensor() || (facts->kind == Kind::kList && !memory_.MayHoldOthers(value));
  if (!facts->sizes || !numbers) return;
  const std::optional<int64_t> least = facts->is_tensor() ? std::optional<int64_t>(0) : std::nullopt;
  for (size_t i = 0; i < facts->sizes->size(); ++i) {
    KnownSize& size = (*facts->sizes)[i];
    if (!size.is_known()) size = sizes_.Atom({value.id(), i}, least);
  }
}

void ValueFactTable::Weaken(ValueFacts* facts, size_t alias_class) const {
  if (alias_class == AliasClasses::kNoMemory) return;
  const WrittenMemory::Writes& writes = memory_.ToClass(alias_class);
  size_t elements = alias_class;
  if (facts->kind == Kind::kTensor) {
    // Writing what requires gradients makes a tensor require them.
    if (writes.any) facts->requires_grad.reset();
    if (writes.shape) {
      *facts = {};
      facts->kind = Kind::kTensor;
    }
  } else if (facts->kind == Kind::kList) {
    if (writes.length) {
      *facts = {};
    } else if (writes.list) {
      if (facts->sizes) facts->sizes.emplace(facts->sizes->size(), KnownSize());
      facts->elements.assign(facts->elements.size(), {});
    }
    const size_t apart = memory_.aliases().ElementsOf(alias_class);
    if (apart != AliasClasses::kNoMemory) elements = apart;
  }
  for (ValueFacts& element : facts->elements) Weaken(&element, elements);
}

const ValueFacts& ValueFactTable::Of(const Value& value) const {
  return value.id() < facts_.size() ? facts_[value.id()] : Unknown();
}

void ValueFactTable::Set(const Value& value, ValueFacts facts) {
  if (Contradicts(facts, *value.type())) {
    facts = {};
    facts.kind = Kind::kNever;
  }
  if (facts.count() > ValueFacts::kMaxFacts) facts = {};
  Weaken(&facts, memory_.aliases().ClassOf(value));
  Name(value, &facts);
  if (value.id() >= facts_.size()) facts_.resize(graph_.value_id_bound());
  facts_[value.id()] = std::move(facts);
}

void ValueFactTable::InferAll() { InferBlock(*graph_.block()); }

void ValueFactTable::InferBlock(const Block& block) {
  const Scope scope(this, block);
  for (const Node* node : block) InferNode(*node);
}

void ValueFactTable::InferNode(const Node& node) {
  if (node.blocks().empty()) return Infer(node);
  Enter(node);
  for (const Block* block : node.blocks()) InferBlock(*block);
  Leave(node);
}

void ValueFactTable::Infer(const Node& node) {
  const Symbol kind = node.kind();
  if (kind == sym::kConstant) {
    const auto& value = node.attribute<c10::IValue>(sym::kValueAttr);
    const bool shapes = value.isTensor() || value.isTensorList() || value.isTuple();
    if (!shapes || memory_.ConstantsKeepShape()) Set(*node.output(), FactsOfConstant(value));
    return;
  }
  if (kind == sym::kTupleConstruct || kind == sym::kListConstruct) {
    ValueFacts facts;
    if (node.inputs().size() > ValueFacts::kMaxElements) return;
    facts.kind = kind == sym::kTupleConstruct ? Kind::kTuple : Kind::kList;
    const bool ints =
        facts.kind == Kind::kList && node.output()->type()->containedType(0)->kind() == c10::TypeKind::IntType;
    if (ints) facts.sizes.emplace();
    for (const Value* input : node.inputs()) {
      if (!ints) {
        facts.elements.push_back(Of(*input));
      } else {
        facts.sizes->push_back(Of(*input).number);
      }
    }
    return Set(*node.output(), std::move(facts));
  }
  if (kind == sym::kTupleUnpack || kind == sym::kListUnpack) {
    const ValueFacts whole = Of(*node.input());
    if (whole.kind == Kind::kList && whole.sizes && whole.sizes->size() == node.outputs().size()) {
      for (size_t i = 0; i < node.outputs().size(); ++i) {
        ValueFacts element;
        element.kind = Kind::kInt;
        element.number = (*whole.sizes)[i];
        Set(*node.output(i), std::move(element));
      }
      return;
    }
    const bool fits = whole.elements.size() == node.outputs().size();
    // Also where nothing is known: a loop is walked again when what it carries round turns out to be less than it began
    // with.
    for (size_t i = 0; i < node.outputs().size(); ++i) Set(*node.output(i), fits ? whole.elements[i] : ValueFacts());
    return;
  }
  if (kind == sym::kTupleIndex) {
    const ValueFacts& whole = Of(*node.input(0));
    const auto length = static_cast<int64_t>(whole.elements.size());
    const int64_t index = Of(*node.input(1)).number.value_or(length);
    const int64_t position = index < 0 ? index + length : index;
    const bool known = whole.kind == Kind::kTuple && position >= 0 && position < length;
    return Set(*node.output(), known ? ValueFacts(whole.elements[static_cast<size_t>(position)]) : ValueFacts());
  }
  if (kind == sym::kUncheckedCast) return Set(*node.output(), ValueFacts(Of(*node.input())));
  if (kind == sym::kUninitialized) {
    ValueFacts never;
    never.kind = Kind::kNever;
    return Set(*node.output(), std::move(never));
  }
  if (kind == sym::kGuard) {
    for (const Value* condition : node.inputs()) Learn(*condition, true, *node.block());
  }
  if (node.op() == nullptr) {
    // A loop is walked more than once: what was learned in the round before does not hold before it is learned again.
    for (const Value* output : node.outputs()) Set(*output, {});
    return;
  }
  if (node.outputs().empty()) return;
  std::vector<ValueFacts> outputs(node.outputs().size());
  InferOperator(
      node, [this](const Value& value) -> const ValueFacts& { return Of(value); }, sizes_, outputs);
  for (size_t i = 0; i < outputs.size(); ++i) Set(*node.output(i), std::move(outputs[i]));
}

void ValueFactTable::Enter(const Node& node) {
  if (node.kind() == sym::kLoop) {
    EnterLoop(node);
  } else if (IsTask(node)) {
    for (size_t i = 0; i < node.inputs().size(); ++i) Set(*node.block(0)->param(i), ValueFacts(Of(*node.input(i))));
  }
}

void ValueFactTable::EnterLoop(const Node& loop) {
  const Block& body = *loop.block(0);
  if (loop_depth_ >= kMaxLoopDepth) {
    for (const Value* param : body.params()) Set(*param, {});
    return;
  }
  ++loop_depth_;
  std::vector<ValueFacts> carried;
  for (size_t i = 2; i < loop.inputs().size(); ++i) carried.push_back(Of(*loop.input(i)));
  bool weaker = true;
  while (weaker) {
    for (size_t i = 0; i < carried.size(); ++i) Set(*body.param(i + 1), carried[i]);
    InferBlock(body);
    weaker = false;
    for (size_t i = 0; i < carried.size(); ++i) {
      ValueFacts joined = Join(carried[i], Of(*body.returns()[i + 1]));
      ForgetNewAtoms(&joined, carried[i]);
      if (joined == carried[i]) continue;
      carried[i] = std::move(joined);
      weaker = true;
    }
  }
  --loop_depth_;
}

// What must have been so for the run to get past it. Of Values that are defined in the block of the branch: all that
// comes later sees them past it.
void ValueFactTable::LearnFrom(const Node& branch) {
  const bool then_raises = AlwaysRaises(*branch.block(0));
  if (then_raises == AlwaysRaises(*branch.block(1))) return;
  // Not dtypes: what read the tensor before it was checked would be given code for a dtype that it may not have. A
  // guard stands before all that reads it.
  for (const Value* side : branch.input()->node()->inputs()) {
    if (side->node()->kind() == c10::prim::dtype) return;
  }
  Learn(*branch.input(), !then_raises, *branch.block());
}

void ValueFactTable::Learn(const Value& condition, bool holds, const Block& block) {
  constexpr int64_t kMaxRank = 64;
  const Node& comparison = *condition.node();
  LearnRelation(comparison, holds);
  if (comparison.kind() != (holds ? c10::aten::eq : c10::aten::ne) || comparison.inputs().size() != 2) return;
  for (size_t i = 0; i < 2; ++i) {
    const c10::IValue* constant = ConstantOf(*comparison.input(i));
    const Node& question = *comparison.input(1 - i)->node();
    if (constant == nullptr || !constant->isInt() ||
        (question.kind() != c10::aten::dim && question.kind() != c10::prim::dtype))
      continue;
    const int64_t number = constant->toInt();
    const Value& tensor = *question.input();
    if (tensor.node()->block() != &block || memory_.MayChangeShape(tensor)) return;
    ValueFacts facts = Of(tensor);
    facts.kind = Kind::kTensor;
    if (question.kind() == c10::aten::dim) {
      if (facts.rank() || number < 0 || number > kMaxRank) return;
      facts.sizes.emplace(static_cast<size_t>(number), KnownSize());
    } else {
      if (facts.dtype || number < 0 || number >= static_cast<int64_t>(c10::NumScalarTypes)) return;
      facts.dtype = static_cast<c10::ScalarType>(number);
    }
    Set(tensor, std::move(facts));
  }
}

void ValueFactTable::LearnRelation(const Node& comparison, bool holds) {
  const Relation relation = DefinitionOf(comparison.kind()).relation;
  if (relation == Relation::kNone || comparison.inputs().size() != 2) return;
  const Value *a = comparison.input(0), *b = comparison.input(1);
  if (relation == Relation::kEqual || relation == Relation::kNotEqual) {
    if (holds == (relation == Relation::kEqual)) LearnEqual(*a, *b);
    return;
  }
  if (Of(*a).kind != Kind::kInt || Of(*b).kind != Kind::kInt) return;
  // a < b, or what that is not.
  if (relation == Relation::kGreater || relation == Relation::kLessOrEqual) std::swap(a, b);
  const bool less = holds == (relation == Relation::kLess || relation == Relation::kGreater);
  const KnownSize smaller = Of(less ? *a : *b).number, larger = Of(less ? *b : *a).number;
  const auto before = sizes_.LearnAtLeast(sizes_.Subtract(larger, smaller), less ? 1 : 0);
  if (before) bounds_.push_back(*before);
}

void ValueFactTable::LearnEqual(const Value& a, const Value& b) {
  // Copies: what is learned changes them.
  const ValueFacts one = Of(a), other = Of(b);
  if (one.kind == Kind::kInt && other.kind == Kind::kInt) LearnEqual(one.number, other.number);
  if (one.kind != Kind::kList || other.kind != Kind::kList || !one.sizes || !other.sizes) return;
  if (one.sizes->size() != other.sizes->size()) return;
  for (size_t i = 0; i < one.sizes->size(); ++i) LearnEqual((*Of(a).sizes)[i], (*Of(b).sizes)[i]);
}

void ValueFactTable::LearnEqual(KnownSize a, KnownSize b) {
  const std::optional<SizeAlgebra::Meaning> known = sizes_.Solve(a, b);
  if (!known) return;
  for (size_t id = 0; id < facts_.size(); ++id) {
    bool mentioned = false;
    const auto substitute = [&](KnownSize& size) {
      const KnownSize meaning = sizes_.Substitute(size, *known);
      if (meaning == size) return;
      if (!mentioned) undo_.emplace_back(id, facts_[id]);
      mentioned = true;
      size = meaning;
    };
    ForEachSize(&facts_[id], substitute);
  }
}

ValueFactTable::Scope::Scope(ValueFactTable* table, const Block& block)
    : table_(table), facts_(table->undo_.size()), bounds_(table->bounds_.size()) {
  const Node* owner = block.owner();
  if (owner == nullptr || owner->kind() != sym::kIf) return;
  table->LearnRelation(*owner->input()->node(), &block == owner->block(0));
}

ValueFactTable::Scope::~Scope() {
  auto& undo = table_->undo_;
  for (; undo.size() > facts_; undo.pop_back()) table_->facts_[undo.back().first] = std::move(undo.back().second);
  auto& bounds = table_->bounds_;
  for (; bounds.size() > bounds_; bounds.pop_back()) table_->sizes_.Restore(bounds.back());
}

// A size that differs is at least what the lesser of them is. Within a loop what is known of both may become less.
void ValueFactTable::JoinBranches(const Value& output, const ValueFacts& a, const ValueFacts& b) {
  std::vector<std::optional<int64_t>> least;
  if (loop_depth_ == 0 && a.sizes && b.sizes && a.sizes->size() == b.sizes->size()) {
    for (size_t i = 0; i < a.sizes->size(); ++i) {
      least.push_back(std::min(sizes_.Least((*a.sizes)[i]), sizes_.Least((*b.sizes)[i])));
    }
  }
  Set(output, Join(a, b));
  const ValueFacts& joined = Of(output);
  if (!joined.is_tensor() || !joined.sizes) return;
  for (size_t i = 0; i < least.size(); ++i) {
    if (least[i]) sizes_.LearnAtLeast((*joined.sizes)[i], *least[i]);
  }
}

void ValueFactTable::Leave(const Node& node) {
  if (node.kind() == sym::kIf) LearnFrom(node);
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    ValueFacts facts;
    if (node.kind() == sym::kIf) {
      JoinBranches(*node.output(i), Of(*node.block(0)->returns()[i]), Of(*node.block(1)->returns()[i]));
      continue;
    } else if (node.kind() == sym::kLoop) {
      facts = Join(Of(*node.input(i + 2)), Of(*node.block(0)->returns()[i + 1]));
    } else if (node.kind() == sym::kWith) {
      facts = Of(*node.block(0)->returns()[i]);
    }
    Set(*node.output(i), std::move(facts));
  }
}

}  // namespace hearth
