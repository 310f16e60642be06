#include "jit/frequent_calls.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <string>
#include <utility>

#include "jit/analysis/exact_shape.h"
#include "jit/executor/tiers.h"

namespace hearth {
namespace {

using Maker = std::function<c10::IValue()>;
using Makers = std::vector<Maker>;

at::Tensor MakeTensor(const std::vector<int64_t>& sizes, c10::ScalarType dtype, bool is_inference) {
  const c10::InferenceMode mode(is_inference);
  if (!c10::isFloatingType(dtype)) return at::zeros(sizes, dtype);
  // Not the process's generator: what models draw from it does not depend on this.
  return at::rand(sizes, at::detail::createCPUGenerator(), at::kFloat).to(dtype);
}

std::optional<Maker> MakerOf(const ArgumentFacts& facts);

std::optional<Makers> MakersOf(const std::vector<ArgumentFacts>& elements) {
  Makers makers;
  for (const ArgumentFacts& element : elements) {
    auto maker = MakerOf(element);
    if (!maker) return std::nullopt;
    makers.push_back(*std::move(maker));
  }
  return makers;
}

std::optional<Maker> TensorMaker(const TensorFacts& facts) {
  if (!facts.sizes || facts.keys || facts.layout_class != LayoutClass::kContiguous) return std::nullopt;
  return [sizes = *facts.sizes, dtype = facts.dtype, is_inference = facts.is_inference] {
    return c10::IValue(MakeTensor(sizes, dtype, is_inference));
  };
}

std::optional<Maker> ListMaker(const ArgumentFacts& facts) {
  auto makers = MakersOf(facts.elements);
  if (!makers || facts.contained != c10::TypeKind::TensorType || facts.length != makers->size()) return std::nullopt;
  return [makers = *std::move(makers)] {
    c10::List<at::Tensor> list;
    for (const Maker& make : makers) list.push_back(make().toTensor());
    return c10::IValue(std::move(list));
  };
}

std::optional<Maker> TupleMaker(const ArgumentFacts& facts) {
  auto makers = MakersOf(facts.elements);
  if (!makers || facts.length != makers->size()) return std::nullopt;
  return [makers = *std::move(makers)] {
    std::vector<c10::IValue> elements;
    for (const Maker& make : makers) elements.push_back(make());
    return c10::IValue(c10::ivalue::Tuple::create(std::move(elements)));
  };
}

std::optional<Maker> DictMaker(const ArgumentFacts& facts) {
  auto makers = MakersOf(facts.elements);
  if (!makers || facts.contained != c10::TypeKind::TensorType || facts.keys.size() != makers->size()) {
    return std::nullopt;
  }
  if (!std::ranges::all_of(facts.keys, [](const c10::IValue& key) { return key.isString(); })) return std::nullopt;
  return [keys = facts.keys, makers = *std::move(makers)] {
    c10::Dict<std::string, at::Tensor> dict;
    for (size_t i = 0; i < keys.size(); ++i) dict.insert(keys[i].toStringRef(), makers[i]().toTensor());
    return c10::IValue(dict);
  };
}

std::optional<Maker> MakerOf(const ArgumentFacts& facts) {
  switch (facts.kind) {
    case ArgumentKind::kTensor:
      return TensorMaker(facts.tensor);
    case ArgumentKind::kNone:
      return [] { return c10::IValue(); };
    case ArgumentKind::kList:
      return ListMaker(facts);
    case ArgumentKind::kTuple:
      return TupleMaker(facts);
    case ArgumentKind::kDict:
      return DictMaker(facts);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::function<Arguments()>> ArgumentMaker(std::span<const ArgumentFacts> facts,
                                                        std::span<const c10::Argument> parameters) {
  if (facts.size() != parameters.size()) return std::nullopt;
  Makers makers;
  for (size_t i = 0; i < facts.size(); ++i) {
    auto maker = MakerOf(facts[i]);
    if (!maker && parameters[i].default_value()) {
      maker = [value = *parameters[i].default_value()] { return value.deepcopy(); };
    }
    if (!maker) return std::nullopt;
    makers.push_back(*std::move(maker));
  }
  return [makers = std::move(makers)] {
    Arguments arguments;
    for (const Maker& make : makers) arguments.push_back(make());
    return arguments;
  };
}

std::vector<FrequentCall> FrequentCalls(const ModelExecutor& executor, size_t most) {
  std::vector<FrequentCall> calls;
  if (executor.tiers() == nullptr || executor.module() == nullptr) return calls;
  for (const SpecProfile& profile : executor.tiers()->profiles()) {
    const auto method = std::ranges::find_if(executor.methods(), [&](const ModelExecutor::Method& each) {
      return each.function->qualname().qualifiedName() == profile.method;
    });
    const auto spec = profile.spec.Restore([](const std::string&) { return nullptr; });
    if (method == executor.methods().end() || !spec) continue;
    // Self is not in the spec.
    const auto parameters = std::span(method->schema().arguments()).subspan(1);
    for (const StoredShape& shape : profile.shapes) {
      const auto sizes = ExactShape::Restore(shape.numbers, *spec);
      if (!sizes) continue;
      std::vector<ArgumentFacts> facts = spec->Facts();
      sizes->AddTo(facts);
      auto make = ArgumentMaker(facts, parameters);
      if (make) calls.push_back({method->name(), sizes->ToString(), shape.calls, *std::move(make)});
    }
  }
  std::ranges::stable_sort(calls, std::greater(), &FrequentCall::calls);
  if (calls.size() > most) calls.resize(most);
  return calls;
}

}  // namespace hearth
