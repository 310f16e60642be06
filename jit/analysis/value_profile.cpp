#include "jit/analysis/value_profile.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <string_view>
#include <utility>

#include "jit/analysis/argument_words.h"
#include "jit/definitions/node_effects.h"
#include "jit/definitions/operator_facts.h"
#include "jit/ir/closure.h"
#include "jit/ir/contains.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

constexpr size_t kMaxStringBytes = 64;
constexpr size_t kMaxSites = 1024;

void Collect(const Block& block, std::vector<Value*>* values) {
  for (Value* param : block.params()) values->push_back(param);
  for (const Node* node : block) {
    for (Value* output : node->outputs()) values->push_back(output);
    for (const Block* nested : node->blocks()) Collect(*nested, values);
  }
}

uint64_t HashOf(std::string_view text) {
  return std::accumulate(text.begin(), text.end(), uint64_t{text.size()}, argument_words::AddToHash);
}

void AddToFingerprint(const Block& block, uint64_t* print) {
  const auto add = [&](uint64_t word) { *print = argument_words::AddToHash(*print, word); };
  const auto add_types = [&](const auto& values) {
    add(values.size());
    for (const Value* value : values) add(static_cast<uint64_t>(value->type()->kind()));
  };
  add_types(block.params());
  for (const Node* node : block) {
    add(HashOf(node->kind().toQualString()));
    add_types(node->outputs());
    for (const Block* nested : node->blocks()) AddToFingerprint(*nested, print);
  }
  add(0);
}

bool IsScalar(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::StringType:
      return true;
    default:
      return false;
  }
}

class SiteFinder {
 public:
  explicit SiteFinder(const Graph& graph) : number_(graph.value_id_bound()) {
    const std::vector<Value*> values = ValuesInOrder(graph);
    for (size_t i = 0; i < values.size(); ++i) number_[values[i]->id()] = i;
    for (const Value* input : graph.inputs()) {
      if (input->HasUses() && IsScalar(*input->type())) Put(*input);
    }
    forks_ = AnyNode(*graph.block(), IsClosure);
    Visit(*graph.block());
  }

  std::vector<ProfileSite> TakeSites() { return std::move(sites_); }

 private:
  void Put(const Value& value) {
    if (sites_.size() < kMaxSites) sites_.push_back({number_[value.id()], &value});
  }

  void Visit(const Block& block) {
    for (const Node* node : block) {
      if (node->kind() == sym::kConstant || node->kind() == sym::kUninitialized) continue;
      if (IsClosure(*node) || (node->kind() == sym::kLoop && !TouchesTensors(*node->block(0)))) continue;
      for (const Block* nested : node->blocks()) Visit(*nested);
      for (const Value* output : node->outputs()) {
        if (IsOpen(*node, *output) && (!forks_ || IsScalar(*output->type()))) Put(*output);
      }
    }
  }

  static bool TouchesTensors(const Block& block) {
    const auto is_tensor = [](const Value* value) { return value->type()->kind() == c10::TypeKind::TensorType; };
    bool touches = false;
    for (const Node* node : block) {
      touches |= std::ranges::any_of(node->inputs(), is_tensor) || std::ranges::any_of(node->outputs(), is_tensor);
      for (const Block* nested : node->blocks()) touches |= TouchesTensors(*nested);
    }
    return touches;
  }

  static bool IsOpen(const Node& node, const Value& value) {
    const c10::Type& type = *value.type();
    if (!value.HasUses()) return false;
    if (MayBeSeveral(type)) return true;
    if (node.kind() == c10::aten::len) return true;
    if (type.kind() == c10::TypeKind::TensorType) return !HasFactRule(node) || node.kind() == c10::aten::__getitem__;
    return std::ranges::any_of(value.uses(), [&](const Use& use) {
      const Symbol user = use.user->kind();
      if (type.kind() == c10::TypeKind::BoolType) return user == sym::kIf;
      return type.kind() == c10::TypeKind::IntType && user == sym::kLoop && use.offset == 0;
    });
  }

  std::vector<size_t> number_;  // by Value id
  std::vector<ProfileSite> sites_;
  bool forks_ = false;  // whether what has memory may be written elsewhere while it is looked at
};

// A number drawn for (run, size): the finalizer of MurmurHash3 (A. Appleby, 2011).
uint64_t Draw(uint64_t run, int64_t size) {
  uint64_t bits = run * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(size);
  bits = (bits ^ bits >> 33) * 0xff51afd7ed558ccd;
  bits = (bits ^ bits >> 33) * 0xc4ceb9fe1a85ec53;
  return bits ^ bits >> 33;
}

bool IsSame(const c10::IValue& a, const c10::IValue& b) {
  if (a.isInt()) return b.isInt() && a.toInt() == b.toInt();
  if (a.isBool()) return b.isBool() && a.toBool() == b.toBool();
  if (a.isDouble()) {
    return b.isDouble() && std::bit_cast<uint64_t>(a.toDouble()) == std::bit_cast<uint64_t>(b.toDouble());
  }
  return a.isString() && b.isString() && a.toStringRef() == b.toStringRef();
}

}  // namespace

std::vector<Value*> ValuesInOrder(const Graph& graph) {
  std::vector<Value*> values;
  Collect(*graph.block(), &values);
  return values;
}

bool MayBeSeveral(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::AnyType:
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::UnionType:
      return true;
    default:
      return false;
  }
}

uint64_t FingerprintOf(const Graph& graph) {
  uint64_t print = 0;
  AddToFingerprint(*graph.block(), &print);
  return print;
}

std::vector<ProfileSite> FindProfileSites(const Graph& baseline) { return SiteFinder(baseline).TakeSites(); }

// Mostly it is what it was before; that must be found out without making anything.
void ValueObservation::Add(const c10::IValue& value, uint64_t run) {
  const bool first = times == 0;
  const uint64_t occasion = run + (times << 32);
  runs += first ? 1 : 0;  // one Add after another is of one run
  ++times;
  none |= value.isNone();
  some |= !value.isNone();
  if (first) {
    const bool scalar = value.isInt() || value.isDouble() || value.isBool() ||
                        (value.isString() && value.toStringRef().size() <= kMaxStringBytes);
    if (scalar) constant = value;
  } else if (constant && !IsSame(*constant, value)) {
    constant.reset();
  }
  AddFacts(value);
  AddDimensions(value, occasion, first);
}

void ValueObservation::AddFacts(const c10::IValue& value) {
  if (facts.kind == ValueFacts::Kind::kUnknown || (value.isTensor() && HoldOf(facts, value.toTensor()))) return;
  const bool tells = value.isTensor() || value.isNone();
  facts = hearth::Join(facts, tells ? FactsOfConstant(value) : ValueFacts());
}

void ValueObservation::AddDimensions(const c10::IValue& value, uint64_t occasion, bool first) {
  if (!value.isTensor() || !facts.sizes) return dimensions.clear();
  const c10::IntArrayRef sizes = value.toTensor().sizes();
  if (first) dimensions.resize(sizes.size());
  if (dimensions.size() != sizes.size()) return dimensions.clear();
  for (size_t i = 0; i < sizes.size(); ++i) {
    dimensions[i].by_eight &= sizes[i] % 8 == 0;
    dimensions[i].symbol += Draw(occasion, sizes[i]);
  }
}

void ValueObservation::Join(const ValueObservation& other) {
  if (other.times == 0) return;
  if (times == 0) {
    *this = other;
    return;
  }
  runs += other.runs;
  times += other.times;
  none |= other.none;
  some |= other.some;
  if (!constant || !other.constant || !IsSame(*constant, *other.constant)) constant.reset();
  if (facts != other.facts) facts = hearth::Join(facts, other.facts);
  if (dimensions.size() != other.dimensions.size()) dimensions.clear();
  for (size_t i = 0; i < dimensions.size(); ++i) {
    dimensions[i].by_eight &= other.dimensions[i].by_eight;
    dimensions[i].symbol += other.dimensions[i].symbol;
  }
}

void ValueProfile::Join(const RunSamples& samples, std::span<const ProfileSite> sites) {
  ++runs;
  for (size_t i = 0; i < sites.size(); ++i) {
    if (samples.sites()[i].times > 0) values[sites[i].number].Join(samples.sites()[i]);
  }
}

}  // namespace hearth
