#include "jit/graph_edits/arena_builder.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <set>
#include <utility>

#include "jit/ir/symbols.h"
#include "jit/operators/registry.h"
#include "jit/support/arena_limits.h"

namespace hearth {
namespace {

// Where nobody knows a better one.
constexpr int64_t kSomeSize = 8;

// If the size is nothing but an atom, which.
std::optional<size_t> AtomOf(const SizeAlgebra& sizes, KnownSize size) {
  if (!size.is_expression()) return {};
  const SizeAlgebra::Polynomial polynomial = sizes.PolynomialOf(size);
  const SizeAlgebra::Term& term = polynomial.front();
  if (polynomial.size() != 1 || term.atoms.size() != 1 || term.coefficient != 1) return {};
  return term.atoms.front();
}

}  // namespace

void ArenaBuilder::FindOrigins() {
  if (std::exchange(found_origins_, true)) return;
  for (Value* input : graph_.inputs()) AddOrigins(facts_.Of(*input), {input, {}, {}});
}

void ArenaBuilder::AddOrigins(const ValueFacts& facts, Origin origin) {
  const auto add = [&](KnownSize size) {
    const std::optional<size_t> atom = AtomOf(facts_.sizes(), size);
    if (!atom || !origins_.emplace(*atom, origin).second) return;
    if (facts_.sizes().DivisionOf(*atom)) {
      origins_.erase(*atom);
    } else if (!facts_.sizes().Likely(size)) {
      facts_.sizes().Expect(size, std::max(kSomeSize, facts_.sizes().Least(size).value_or(kSomeSize)));
    }
  };
  if (facts.kind == ValueFacts::Kind::kInt) add(facts.number);
  if (facts.sizes) {
    for (size_t i = 0; i < facts.sizes->size(); ++i) {
      origin.dimension = i;
      add((*facts.sizes)[i]);
    }
    origin.dimension.reset();
  }
  for (size_t i = 0; i < facts.elements.size(); ++i) {
    Origin element = origin;
    element.elements.push_back(i);
    AddOrigins(facts.elements[i], std::move(element));
  }
}

bool ArenaBuilder::CanCompute(const KnownSizes& sizes) {
  FindOrigins();
  return std::ranges::all_of(sizes, [&](KnownSize size) { return CanCompute(size); });
}

bool ArenaBuilder::CanCompute(KnownSize size) {
  if (!size.is_expression()) return size.is_known();
  for (const SizeAlgebra::Term& term : facts_.sizes().PolynomialOf(size)) {
    if (!std::ranges::all_of(term.atoms, [&](size_t atom) { return CanComputeAtom(atom); })) return false;
  }
  return true;
}

bool ArenaBuilder::CanComputeAtom(size_t atom) {
  if (const auto division = facts_.sizes().DivisionOf(atom)) {
    return CanCompute(division->dividend) && CanCompute(division->divisor);
  }
  if (!origins_.contains(atom)) return false;
  if (numbers_.size() < kMostArenaNumbers) numbers_.insert(atom);
  return numbers_.contains(atom);
}

size_t ArenaBuilder::LikelyBytes(const KnownSizes& sizes, c10::ScalarType dtype) {
  size_t bytes = c10::elementSize(dtype);
  for (const KnownSize& size : sizes) {
    const int64_t likely = facts_.sizes().Likely(size).value_or(0);
    if (likely <= 0 || static_cast<size_t>(likely) > kMostBytesOfPlace / bytes) return 0;
    bytes *= static_cast<size_t>(likely);
  }
  return bytes;
}

void ArenaBuilder::Finish(size_t likely_bytes) {
  Node* first = graph_.block()->param_node()->next();
  // Behind the baseline's state at entry, so that whoever looks for that finds it where it was.
  if (first->kind() == sym::kFrameState) first = first->next();
  const InsertionGuard here(&graph_, first);
  graph_.SetCurrentRange(first->range());

  std::set<size_t> used;
  for (const Place& place : places_) {
    for (const KnownSize& size : place.sizes) AddAtoms(size, &used);
  }
  std::vector<Value*> numbers;
  for (const size_t atom : used) numbers.push_back(Read(origins_.at(atom)));
  Node* arena = graph_.Insert(graph_.Create(sym::kArena, numbers, 0));
  arena->SetAttribute(sym::kBytesAttr, static_cast<int64_t>(likely_bytes));
  Block* block = arena->AddBlock();
  for (const size_t atom : used) {
    Value* number = block->AddParam(c10::IntType::get());
    atoms_.emplace(atom, number);
  }
  const InsertionGuard inside(&graph_, block->return_node());
  std::vector<Value*> values;
  for (const Place& place : places_) {
    std::vector<Value*> inputs = {ComputeAll(place.sizes), Compute(static_cast<int64_t>(place.dtype))};
    for (const size_t below : place.over) inputs.push_back(values[below]);
    Node* made = graph_.Insert(graph_.Create(sym::kPlace, inputs));
    made->output()->SetType(c10::TensorType::get());
    values.push_back(made->output());
  }
  for (Value* value : values) block->AddReturn(value);
}

void ArenaBuilder::AddAtoms(KnownSize size, std::set<size_t>* atoms) {
  if (!size.is_expression()) return;
  for (const SizeAlgebra::Term& term : facts_.sizes().PolynomialOf(size)) {
    for (const size_t atom : term.atoms) {
      if (const auto division = facts_.sizes().DivisionOf(atom)) {
        AddAtoms(division->dividend, atoms);
        AddAtoms(division->divisor, atoms);
      } else {
        atoms->insert(atom);
      }
    }
  }
}

Value* ArenaBuilder::Read(const Origin& origin) {
  Value* value = origin.input;
  for (const size_t element : origin.elements) {
    const c10::TypePtr& type = value->type();
    const bool list = type->kind() == c10::TypeKind::ListType;
    value = ReadFrom(value, element,
                     list ? type->expectRef<c10::ListType>().getElementType()
                          : type->expectRef<c10::TupleType>().elements()[element]);
  }
  return origin.dimension ? ReadFrom(value, *origin.dimension, c10::IntType::get()) : value;
}

// What is read already is not read again.
Value* ArenaBuilder::ReadFrom(Value* whole, size_t part, c10::TypePtr type) {
  Value*& read = read_[{whole, part}];
  if (read != nullptr) return read;
  Value*& index = indices_[part];
  if (index == nullptr) index = graph_.InsertConstant(static_cast<int64_t>(part));
  const c10::TypeKind kind = whole->type()->kind();
  if (kind == c10::TypeKind::ListType) return read = Insert("aten::__getitem__", "t", {whole, index}, std::move(type));
  if (kind != c10::TypeKind::TupleType) return read = Insert("aten::size", "int", {whole, index}, std::move(type));
  Node* get = graph_.Insert(graph_.Create(sym::kTupleIndex, {whole, index}));
  get->output()->SetType(std::move(type));
  return read = get->output();
}

Value* ArenaBuilder::Compute(KnownSize size) {
  Value*& computed = computed_[size];
  if (computed != nullptr) return computed;
  if (size) return computed = graph_.InsertConstant(*size);
  Value* sum = nullptr;
  for (const SizeAlgebra::Term& term : facts_.sizes().PolynomialOf(size)) {
    Value* product = term.coefficient == 1 && !term.atoms.empty() ? nullptr : Compute(term.coefficient);
    for (const size_t atom : term.atoms) {
      Value* const factor = ComputeAtom(atom);
      product = product == nullptr ? factor : Insert("aten::mul", "int", {factor, product}, c10::IntType::get());
    }
    sum = sum == nullptr ? product : Insert("aten::add", "int", {sum, product}, c10::IntType::get());
  }
  return computed_[size] = sum;
}

Value* ArenaBuilder::ComputeAll(const KnownSizes& sizes) {
  Value*& computed = lists_[sizes];
  if (computed != nullptr) return computed;
  std::vector<Value*> numbers;
  for (const KnownSize& size : sizes) numbers.push_back(Compute(size));
  Node* list = graph_.Insert(graph_.Create(sym::kListConstruct, numbers));
  list->output()->SetType(c10::ListType::ofInts());
  return computed = list->output();
}

Value* ArenaBuilder::ComputeAtom(size_t atom) {
  if (const auto found = atoms_.find(atom); found != atoms_.end()) return found->second;
  const SizeAlgebra::Division division = facts_.sizes().DivisionOf(atom).value();
  const char* op = division.is_quotient ? "aten::floordiv" : "aten::remainder";
  Value* const value = Insert(op, "int", {Compute(division.dividend), Compute(division.divisor)}, c10::IntType::get());
  atoms_.emplace(atom, value);
  return value;
}

Value* ArenaBuilder::Insert(const char* op, const char* overload, std::initializer_list<Value*> inputs,
                            c10::TypePtr type) {
  const c10::Symbol symbol = c10::Symbol::fromQualString(op);
  Node* node = graph_.Insert(graph_.Create(symbol, inputs));
  node->SetOperator(OperatorRegistry::Global().Find(symbol, overload));
  node->output()->SetType(std::move(type));
  return node->output();
}

}  // namespace hearth
