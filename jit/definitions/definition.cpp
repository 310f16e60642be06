#include "jit/definitions/definition.h"

#include <array>
#include <string>
#include <vector>

#include "jit/definitions/definition_lists.h"

namespace hearth {
namespace {

using c10::Symbol;

std::array<std::span<const OperatorDefinition>, 13> Tables() {
  return {ContainerDefinitions(), CreationDefinitions(), FusedDefinitions(),     ImageDefinitions(),
          IndexingDefinitions(),  LayerDefinitions(),    NumberDefinitions(),    PointwiseDefinitions(),
          ProcessDefinitions(),   QueryDefinitions(),    ReductionDefinitions(), SpecialDefinitions(),
          ViewDefinitions()};
}

// Symbols are numbered in the order in which they were interned, so those of operators are small numbers.
class Index {
 public:
  Index() {
    for (const auto& table : Tables()) {
      for (const OperatorDefinition& definition : table) {
        const std::string name(definition.name);
        Put(&definitions_, name, &definition);
        if (definition.in_place) Put(&in_place_, name + "_", &definition);
      }
    }
  }

  const OperatorDefinition* Find(Symbol symbol) const { return At(definitions_, symbol); }
  const OperatorDefinition* FindInPlace(Symbol symbol) const { return At(in_place_, symbol); }

 private:
  using ById = std::vector<const OperatorDefinition*>;

  static void Put(ById* by_id, const std::string& name, const OperatorDefinition* definition) {
    const auto id = static_cast<size_t>(static_cast<c10::unique_t>(Symbol::fromQualString(name)));
    if (id >= by_id->size()) by_id->resize(id + 1);
    (*by_id)[id] = definition;
  }

  static const OperatorDefinition* At(const ById& by_id, Symbol symbol) {
    const auto id = static_cast<size_t>(static_cast<c10::unique_t>(symbol));
    return id < by_id.size() ? by_id[id] : nullptr;
  }

  ById definitions_;
  ById in_place_;
};

const Index& Definitions() {
  static const Index kIndex;
  return kIndex;
}

}  // namespace

const OperatorDefinition* FindDefinition(Symbol symbol) { return Definitions().Find(symbol); }

const OperatorDefinition& DefinitionOf(Symbol symbol) {
  static const OperatorDefinition kNothing;
  const OperatorDefinition* definition = FindDefinition(symbol);
  return definition != nullptr ? *definition : kNothing;
}

const OperatorDefinition* FindInPlace(Symbol symbol) { return Definitions().FindInPlace(symbol); }

void ForEachDefinition(const std::function<void(const OperatorDefinition&)>& visit) {
  for (const auto& table : Tables()) {
    for (const OperatorDefinition& definition : table) visit(definition);
  }
}

Relation Mirrored(Relation relation) {
  switch (relation) {
    case Relation::kLess:
      return Relation::kGreater;
    case Relation::kLessOrEqual:
      return Relation::kGreaterOrEqual;
    case Relation::kGreater:
      return Relation::kLess;
    case Relation::kGreaterOrEqual:
      return Relation::kLessOrEqual;
    default:
      return relation;
  }
}

Symbol SymbolOf(Relation relation) {
  switch (relation) {
    case Relation::kEqual:
      return c10::aten::eq;
    case Relation::kNotEqual:
      return c10::aten::ne;
    case Relation::kLess:
      return c10::aten::lt;
    case Relation::kLessOrEqual:
      return c10::aten::le;
    case Relation::kGreater:
      return c10::aten::gt;
    case Relation::kGreaterOrEqual:
      return c10::aten::ge;
    case Relation::kNone:
      break;
  }
  return Symbol();
}

}  // namespace hearth
