#include "jit/graph_edits/constant_table.h"

#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>

#include <cstring>

#include "jit/ir/symbols.h"

namespace hearth {
namespace {

// Identifies a scalar; empty for what is not one.
std::string ScalarKey(const c10::IValue& value) {
  const auto bytes = [](char tag, const auto& payload) {
    std::string key(1 + sizeof(payload), tag);
    std::memcpy(key.data() + 1, &payload, sizeof(payload));
    return key;
  };
  if (value.isNone()) return "N";
  if (value.isBool()) return value.toBool() ? "T" : "F";
  if (value.isInt()) return bytes('i', value.toInt());
  if (value.isDouble()) return bytes('d', value.toDouble());
  if (value.isDevice()) return "D" + value.toDevice().str();
  if (value.isString()) return "s" + value.toStringRef();
  return "";
}

}  // namespace

TypePtr PreciseType(const c10::IValue& value, const TypePtr& declared) {
  if (value.isTensor()) return c10::TensorType::get();
  if (value.isObject()) return value.toObjectRef().type();
  if (declared == nullptr) return value.type();
  switch (declared->kind()) {
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::UnionType:
    case c10::TypeKind::AnyType:
    case c10::TypeKind::NumberType:
      if (value.isNone() || value.isScalar() || value.isString() || value.isDevice()) return value.type();
      if (auto optional = declared->cast<c10::OptionalType>()) return optional->getElementType();
      return declared;
    default:
      return declared;
  }
}

ConstantTable::Entry* ConstantTable::Of(c10::IValue value, TypePtr type) {
  const std::string key = ScalarKey(value);
  if (!key.empty()) {
    Entry*& entry = scalars_[key];
    if (entry == nullptr) {
      entry = &entries_.emplace_back();
      entry->type = value.type();
      entry->value = std::move(value);
    }
    return entry;
  }
  Entry& entry = entries_.emplace_back();
  entry.type = PreciseType(value, type);
  entry.value = std::move(value);
  return &entry;
}

ConstantTable::Entry* ConstantTable::OfAttribute(const Entry& object, size_t slot) {
  const c10::ivalue::Object& instance = object.value.toObjectRef();
  auto [found, is_new] = attributes_.try_emplace({&instance, slot}, nullptr);
  if (!is_new) return found->second;
  const c10::ClassType& type = *instance.type();
  const c10::IValue& value = instance.getSlot(slot);
  Entry* entry = Of(value, type.getAttribute(slot));
  found->second = entry;
  if (entry->name.empty() && ScalarKey(value).empty()) {
    entry->name = object.name.empty() ? type.getAttributeName(slot) : object.name + "." + type.getAttributeName(slot);
    entry->instance = object.value;
    entry->slot = slot;
  }
  return entry;
}

ConstantTable::Entry* ConstantTable::OfBound(c10::IValue object, TypePtr type, Value* value) {
  Entry& entry = entries_.emplace_back();
  entry.value = std::move(object);
  entry.type = std::move(type);
  entry.materialized = value;
  return &entry;
}

void ConstantTable::BeginClosure(Block* body) {
  Scope& scope = scopes_.emplace_back(Scope{body, nullptr, {}});
  for (Entry& entry : entries_) {
    if (entry.materialized == nullptr) continue;
    scope.hidden.emplace_back(&entry, entry.materialized);
    entry.materialized = nullptr;
  }
}

void ConstantTable::EndClosure() {
  for (Entry& entry : entries_) entry.materialized = nullptr;
  for (const auto& [entry, value] : scopes_.back().hidden) entry->materialized = value;
  scopes_.pop_back();
}

Value* ConstantTable::Materialize(Entry* entry, const SourceRange& range) {
  if (entry->materialized != nullptr) return entry->materialized;
  Node* node = graph_->Create(sym::kConstant, {}, 1);
  node->SetRange(range);
  node->SetAttribute(sym::kValueAttr, entry->value);
  node->output()->SetType(entry->type);
  if (!entry->name.empty()) {
    node->output()->SetName(entry->name);
    node->SetAttribute(sym::kInstanceAttr, entry->instance);
    node->SetAttribute(sym::kSlotAttr, static_cast<int64_t>(entry->slot));
  }
  Scope& scope = scopes_.back();
  node->InsertAfter(scope.last != nullptr ? scope.last : scope.block->param_node());
  scope.last = node;
  return entry->materialized = node->output();
}

}  // namespace hearth
