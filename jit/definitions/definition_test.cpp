#include "jit/definitions/definition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "jit/definitions/node_effects.h"
#include "jit/operators/registry.h"

namespace hearth {
namespace {

using c10::Symbol;

std::span<const Operator* const> Overloads(const std::string& name) {
  return OperatorRegistry::Global().Candidates(Symbol::fromQualString(name));
}

// Of a library that a process may be without.
bool IsOptional(const OperatorDefinition& definition) { return definition.name.starts_with("torchvision::"); }

TEST(DefinitionTest, EveryOperatorIsRegisteredAndDefinedOnce) {
  std::set<std::string_view> names;
  ForEachDefinition([&](const OperatorDefinition& definition) {
    EXPECT_TRUE(names.insert(definition.name).second) << definition.name << " is defined twice";
    EXPECT_TRUE(IsOptional(definition) || !Overloads(std::string(definition.name)).empty()) << definition.name;
  });
  EXPECT_GT(names.size(), 400u);
}

TEST(DefinitionTest, IsFoundByName) {
  ASSERT_NE(FindDefinition(c10::aten::add), nullptr);
  EXPECT_EQ(FindDefinition(c10::aten::add)->name, "aten::add");
  EXPECT_EQ(FindDefinition(Symbol::fromQualString("aten::no_such_operator")), nullptr);
  EXPECT_EQ(DefinitionOf(Symbol::fromQualString("aten::no_such_operator")).kind, OperatorClass::kOther);
  ASSERT_NE(FindInPlace(c10::aten::relu_), nullptr);
  EXPECT_EQ(FindInPlace(c10::aten::relu_)->name, "aten::relu");
  EXPECT_EQ(FindInPlace(c10::aten::relu), nullptr);
}

TEST(DefinitionTest, FormsInPlaceWriteTheirFirstOperandAloneAndGiveItBack) {
  ForEachDefinition([&](const OperatorDefinition& definition) {
    if (!definition.in_place) return;
    const std::string name = std::string(definition.name) + "_";
    size_t on_tensors = 0;
    for (const Operator* op : Overloads(name)) {
      const std::vector<c10::Argument>& arguments = op->schema().arguments();
      if (arguments.empty() || arguments[0].type()->kind() != c10::TypeKind::TensorType) continue;
      ++on_tensors;
      for (size_t i = 0; i < arguments.size(); ++i) {
        const c10::AliasInfo* alias = arguments[i].alias_info();
        EXPECT_EQ(alias != nullptr && alias->isWrite(), i == 0) << op->schema();
      }
      ASSERT_EQ(op->schema().returns().size(), 1u) << op->schema();
      EXPECT_NE(op->schema().returns()[0].alias_info(), nullptr) << op->schema();
    }
    EXPECT_GT(on_tensors, 0u) << name;
  });
}

TEST(DefinitionTest, OverloadsIntoMemoryTakeWhatTheOthersTakeAndATensor) {
  ForEachDefinition([&](const OperatorDefinition& definition) {
    const IntoOverload& into = definition.into;
    if (into.name == nullptr) return;
    const auto find = [](std::string_view name, std::string_view overload) {
      return OperatorRegistry::Global().Find(Symbol::fromQualString(std::string(name)), overload);
    };
    const Operator* of = find(definition.name, into.of);
    const Operator* op = find(into.name, into.overload);
    ASSERT_TRUE(of != nullptr && op != nullptr) << definition.name;
    const std::vector<c10::Argument>& arguments = op->schema().arguments();
    ASSERT_EQ(arguments.size(), of->schema().arguments().size() + 1) << op->schema();
    EXPECT_TRUE(arguments.back().alias_info() != nullptr && arguments.back().alias_info()->isWrite()) << op->schema();
    for (size_t i = 0; i + 1 < arguments.size(); ++i) {
      EXPECT_EQ(*arguments[i].type(), *of->schema().arguments()[i].type()) << op->schema();
    }
  });
}

TEST(DefinitionTest, OperandsThatMaySwapHaveOneType) {
  ForEachDefinition([&](const OperatorDefinition& definition) {
    std::istringstream overloads{std::string(definition.commutes)};
    for (std::string overload; overloads >> overload;) {
      const bool relates = definition.relation != Relation::kNone;
      const Symbol swapped =
          relates ? SymbolOf(Mirrored(definition.relation)) : Symbol::fromQualString(std::string(definition.name));
      for (const Symbol symbol : {Symbol::fromQualString(std::string(definition.name)), swapped}) {
        const Operator* op = OperatorRegistry::Global().Find(symbol, overload);
        ASSERT_NE(op, nullptr) << definition.name << "." << overload;
        const std::vector<c10::Argument>& arguments = op->schema().arguments();
        ASSERT_EQ(arguments.size(), 2u) << op->schema();
        EXPECT_EQ(*arguments[0].type(), *arguments[1].type()) << op->schema();
      }
    }
  });
}

TEST(DefinitionTest, RelationsAreNamedByTheirOperators) {
  ForEachDefinition([&](const OperatorDefinition& definition) {
    if (definition.relation == Relation::kNone) return;
    EXPECT_EQ(SymbolOf(definition.relation).toQualString(), definition.name);
    EXPECT_EQ(Mirrored(Mirrored(definition.relation)), definition.relation);
  });
}

TEST(DefinitionTest, EffectsSayWhatSchemasHide) {
  OperatorRegistry& registry = OperatorRegistry::Global();
  EXPECT_TRUE(IsPure(*registry.Find(c10::aten::add, "Tensor")));
  EXPECT_TRUE(EffectsOf(*registry.Find(c10::aten::batch_norm, "")).writes);
  EXPECT_TRUE(EffectsOf(*registry.Find(c10::aten::warn, "")).has_side_effect);
}

// What a schema announces needs no row.
TEST(DefinitionTest, HiddenEffectsAreHidden) {
  ForEachDefinition([&](const OperatorDefinition& definition) {
    if (!definition.hides_writes && !definition.acts) return;
    const std::span<const Operator* const> overloads = Overloads(std::string(definition.name));
    EXPECT_TRUE(std::ranges::any_of(overloads, [&](const Operator* op) {
      const OperatorEffects& announced = op->announced_effects();
      return definition.hides_writes ? !announced.writes : !announced.has_side_effect;
    })) << definition.name;
    for (const Operator* op : overloads) EXPECT_FALSE(IsPure(*op)) << op->schema();
  });
}

// Else their results would not be the same in every run.
TEST(DefinitionTest, WhatIsFoldedHasNoEffect) {
  ForEachDefinition([&](const OperatorDefinition& definition) {
    if (definition.folding == Folding::kNone) return;
    EXPECT_FALSE(definition.acts || definition.reads_mode || definition.seeds) << definition.name;
    // A norm writes its statistics, but where it is given none (node_effects).
    if (definition.hides_writes && definition.kind == OperatorClass::kNormalization) return;
    const std::span<const Operator* const> overloads = Overloads(std::string(definition.name));
    EXPECT_TRUE(std::ranges::any_of(overloads, [](const Operator* op) { return IsPure(*op); })) << definition.name;
  });
}

}  // namespace
}  // namespace hearth
