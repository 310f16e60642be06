#include "jit/analysis/state_accesses.h"

#include <ATen/core/class_type.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "jit/analysis/aliases.h"
#include "jit/analysis/effects.h"
#include "jit/analysis/nested_classes.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/support/load_budget.h"

namespace hearth {
namespace {

using c10::ivalue::Object;

constexpr size_t kWordBits = 64;
// The part that code which may write constants of its own stands for: every method reads it.
constexpr size_t kEverything = kGenerators + 1;

struct SlotHash {
  size_t operator()(const StateSlot& slot) const { return std::hash<const void*>()(slot.first) * 31 + slot.second; }
};

bool IsAttribute(const Node& node) { return node.kind() == sym::kGetAttr || node.kind() == sym::kSetAttr; }
bool IsCall(const Node& node) {
  return node.kind() == sym::kCallFunction || node.kind() == sym::kCallMethod || node.kind() == sym::kWith;
}

void ForEachNode(const Block& block, const std::function<void(const Node&)>& visit) {
  for (const Node* node : block) {
    LoadBudget::Check();
    visit(*node);
    for (const Block* nested : node->blocks()) ForEachNode(*nested, visit);
  }
}

// A SetAttr that builds an object which nobody has seen yet.
bool IsConstruction(const Node& set) {
  const Value* object = set.input(0);
  const Node* made = object->node();
  if (made->kind() != sym::kCreateObject || made->block() != set.block()) return false;
  std::unordered_set<const Node*> seen_at;
  for (const Use& use : object->uses()) {
    if (IsAttribute(*use.user) && use.offset == 0) continue;
    const Node* at = use.user;
    while (at->block() != made->block()) at = at->block()->owner();
    seen_at.insert(at);
  }
  for (const Node* at = made; at != &set; at = at->next()) {
    if (at->kind() == sym::kReturn || seen_at.count(at) != 0) return false;
  }
  return true;
}

}  // namespace

StateSlot SlotOf(const Node& attribute, const Object& object) {
  return {&object, object.type()->getAttributeSlot(attribute.attribute<std::string>(sym::kNameAttr))};
}

void StateParts::Add(size_t part) {
  if (words_.size() <= part / kWordBits) words_.resize(part / kWordBits + 1);
  words_[part / kWordBits] |= uint64_t{1} << (part % kWordBits);
}

void StateParts::Add(const StateParts& other) {
  if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
  for (size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
}

bool StateParts::Has(size_t part) const {
  return part / kWordBits < words_.size() && (words_[part / kWordBits] >> (part % kWordBits) & 1) != 0;
}

bool StateParts::Meets(const StateParts& other) const {
  const size_t common = std::min(words_.size(), other.words_.size());
  for (size_t i = 0; i < common; ++i) {
    if ((words_[i] & other.words_[i]) != 0) return true;
  }
  return false;
}

size_t StateParts::NextFrom(size_t part) const {
  const size_t first = part / kWordBits;
  for (size_t i = first; i < words_.size(); ++i) {
    const uint64_t from_part = i == first ? ~uint64_t{0} << (part % kWordBits) : ~uint64_t{0};
    if ((words_[i] & from_part) != 0) return i * kWordBits + std::countr_zero(words_[i] & from_part);
  }
  return kEnd;
}

StateParts StateAccess::Touched() const {
  StateParts touched = reads;
  touched.Add(writes);
  return touched;
}

void StateAccess::Add(const StateAccess& other) {
  reads.Add(other.reads);
  writes.Add(other.writes);
}

StateAccess MethodState::All() const {
  StateAccess all;
  for (const Touch& touch : touches) all.Add(touch.access);
  return all;
}

// Union-find over four kinds of things: the alias classes of every graph, attributes, objects, and the memory that
// values of the model have now.
class StateAccesses::Builder {
 public:
  Builder(std::span<const Graph* const> graphs, const Object& self, const UnitEffects& effects)
      : graphs_(graphs), self_(self), effects_(effects) {
    for (const Graph* graph : graphs_) {
      const AliasClasses& classes = aliases_.emplace_back(*graph, &effects_, &self_, AliasClasses::Lists::kApart);
      const size_t first = parent_.size();
      first_id_.push_back(first);
      for (size_t i = 0; i < classes.bound(); ++i) {
        const size_t elements = classes.ElementsOf(i);
        elements_[NewId()] = elements == kNone ? kNone : first + elements;
      }
    }
    for (size_t g = 0; g < graphs_.size(); ++g) FindUses(g);
    for (const Object* object : escaping_) Escape(*object);
    for (const StateSlot& slot : loaded_) UnifyLoaded(slot);
    for (size_t g = 0; g < graphs_.size(); ++g) ConnectAttributes(g);
    CollapseNested(
        parent_.size(), kNone, [this](size_t id) { return ElementsOf(id); },
        [this](size_t a, size_t b) { Unify(a, b); });
    for (size_t g = 0; g < graphs_.size(); ++g) FindWrites(g);
  }

  bool IsInSight(const Object& object) const { return escaped_.count(&object) == 0; }

  MethodState StateOf(size_t g) {
    MethodState state;
    for (const Node* node : *graphs_[g]->block()) {
      MethodState::Touch touch{node, {}};
      AddAccess(g, *node, &touch.access, &state.to_the_end);
      if (touch.access.empty()) continue;
      state.touches.push_back(std::move(touch));
    }
    StateParts returned;
    for (const Value* output : graphs_[g]->outputs()) AddReachable(IdOf(g, *output), &returned);
    const StateAccess all = state.All();
    for (const size_t part : returned) {
      if (all.reads.Has(part)) state.to_the_end.reads.Add(part);
      if (all.writes.Has(part)) state.to_the_end.writes.Add(part);
    }
    return state;
  }

 private:
  static constexpr size_t kNone = AliasClasses::kNoMemory;

  size_t NewId() {
    parent_.push_back(parent_.size());
    is_state_.push_back(false);
    is_written_.push_back(false);
    elements_.push_back(kNone);
    return parent_.size() - 1;
  }

  size_t Find(size_t id) {
    while (parent_[id] != id) {
      parent_[id] = parent_[parent_[id]];
      id = parent_[id];
    }
    return id;
  }

  void Unify(size_t a, size_t b) {
    if (a == kNone || b == kNone) return;
    a = Find(a);
    b = Find(b);
    if (a == b) return;
    parent_[b] = a;
    is_state_[a] = is_state_[a] || is_state_[b];
    is_written_[a] = is_written_[a] || is_written_[b];
    const size_t elements[] = {ElementsOf(a), std::exchange(elements_[b], kNone)};
    if (elements[0] != kNone && elements[1] != kNone) return Unify(elements[0], elements[1]);
    // What is not known to be apart from its elements is one with them.
    elements_[a] = kNone;
    for (const size_t held : elements) Unify(a, held);
  }

  // What the lists of a class hold; kNone if that is this class.
  size_t ElementsOf(size_t id) {
    const size_t elements = elements_[Find(id)];
    return elements == kNone || Find(elements) == Find(id) ? kNone : Find(elements);
  }

  // Calls `visit` with the id and those of all that lists apart from their elements hold.
  template <typename Visit>
  void ForEachReachable(size_t id, Visit visit) {
    for (; id != kNone; id = ElementsOf(id)) visit(id);
  }

  size_t IdOf(size_t g, const Value& value) {
    const size_t alias_class = aliases_[g].ClassOf(value);
    return alias_class == AliasClasses::kNoMemory ? kNone : first_id_[g] + alias_class;
  }

  // The id of an attribute, an object or memory; made if it is new.
  template <typename Map, typename Key>
  size_t IdIn(Map* map, const Key& key) {
    auto [found, is_new] = map->emplace(key, 0);
    if (is_new) {
      found->second = NewId();
      is_state_[found->second] = true;
    }
    return found->second;
  }

  size_t OfMemory(const void* memory) { return IdIn(&memory_, memory); }

  // ---- What values of the model hold now ----

  // Makes one class of `id` and all memory that is reached from `value`.
  void UnifyContent(const c10::IValue& value, size_t id) {
    const auto visit = [&](const c10::IValue& part) { UnifyContent(part, id); };
    if (value.isTensor()) {
      const at::Tensor& tensor = value.toTensor();
      if (!tensor.defined()) return;
      Unify(id, OfMemory(tensor.unsafeGetTensorImpl()));
      if (tensor.has_storage()) Unify(id, OfMemory(tensor.storage().unsafeGetStorageImpl()));
    } else if (value.isObject()) {
      Unify(id, OfMemory(&value.toObjectRef()));
      Escape(value.toObjectRef());
    } else if (value.isTuple()) {
      for (const c10::IValue& element : value.toTupleRef().elements()) visit(element);
    } else if (value.isList()) {
      const size_t memory = OfMemory(value.internalToPointer());
      const bool known = Find(memory) == Find(id);
      Unify(id, memory);
      if (known) return;
      for (const c10::IValue& element : value.toListRef()) visit(element);
    } else if (value.isGenericDict()) {
      const size_t memory = OfMemory(value.internalToPointer());
      const bool known = Find(memory) == Find(id);
      Unify(id, memory);
      if (known) return;
      for (const auto& entry : value.toGenericDict()) {
        visit(entry.key());
        visit(entry.value());
      }
    } else if (value.isPtrType() && !value.isString()) {
      Unify(id, OfMemory(value.internalToPointer()));
    }
  }

  // From now on the object is one with all that it reaches.
  void Escape(const Object& object) {
    if (!escaped_.insert(&object).second) return;
    const size_t id = OfMemory(&object);
    for (size_t slot = 0; slot < object.slots().size(); ++slot) {
      Unify(id, IdIn(&attributes_, StateSlot{&object, slot}));
      UnifyContent(object.slots()[slot], id);
    }
  }

  // ---- The graphs ----

  const Object* Known(const Value& value) const { return KnownObject(value, &self_); }

  void FindUses(size_t g) {
    const auto use_inputs = [&](const Node& node, size_t first) {
      for (size_t i = first; i < node.inputs().size(); ++i) {
        const Object* object = Known(*node.input(i));
        if (object == nullptr) continue;
        Unify(IdOf(g, *node.input(i)), OfMemory(object));
        escaping_.push_back(object);
      }
    };
    use_inputs(*graphs_[g]->block()->return_node(), 0);
    ForEachNode(*graphs_[g]->block(), [&](const Node& node) {
      for (const Block* block : node.blocks()) use_inputs(*block->return_node(), 0);
      if (node.kind() == sym::kConstant) {
        const auto& value = node.attribute<c10::IValue>(sym::kValueAttr);
        if (!value.isObject()) UnifyContent(value, IdOf(g, *node.output()));
        return;
      }
      const Object* object = IsAttribute(node) ? Known(*node.input(0)) : nullptr;
      use_inputs(node, object != nullptr ? 1 : 0);
      if (object != nullptr) (node.kind() == sym::kGetAttr ? loaded_ : assigned_).insert(SlotOf(node, *object));
      if (node.kind() == sym::kAwaitable) EscapeInto(g, node);
    });
  }

  // An awaitable may be kept and run by another run: whoever has it has what its body uses.
  void EscapeInto(size_t g, const Node& awaitable) {
    ForEachNode(*awaitable.block(0), [&](const Node& node) {
      for (const Value* input : node.inputs()) {
        const Object* object = Known(*input);
        if (object == nullptr) continue;
        Unify(IdOf(g, *awaitable.output()), OfMemory(object));
        escaping_.push_back(object);
      }
    });
  }

  // Where nobody loads an attribute, what is stored there is out of every run's reach.
  bool IsLoaded(const StateSlot& slot) const { return loaded_.count(slot) != 0 || escaped_.count(slot.first) != 0; }

  void ConnectAttributes(size_t g) {
    ForEachNode(*graphs_[g]->block(), [&](const Node& node) {
      const Object* object = IsAttribute(node) ? Known(*node.input(0)) : nullptr;
      if (object == nullptr) return;
      const StateSlot slot = SlotOf(node, *object);
      if (!IsLoaded(slot)) return;
      const Value& value = node.kind() == sym::kGetAttr ? *node.output() : *node.input(1);
      Unify(IdIn(&attributes_, slot), IdOf(g, value));
    });
  }

  void UnifyLoaded(const StateSlot& slot) {
    const auto& [object, number] = slot;
    if (number < object->slots().size()) UnifyContent(object->slots()[number], IdIn(&attributes_, slot));
  }

  // The class of what a node writes in place; the value's id, through `found`.
  void ForEachWrite(size_t g, const Node& node, const std::function<void(size_t)>& found) {
    if (node.kind() == sym::kSetAttr) {
      const Object* object = Known(*node.input(0));
      if (object == nullptr) {
        if (!IsConstruction(node)) found(IdOf(g, *node.input(0)));
      } else if (!IsInSight(*object)) {
        found(OfMemory(object));
      }
      return;
    }
    // What an awaitable does it does when it is waited for.
    const bool calls = IsCall(node);
    const bool writes_all = node.kind() == c10::prim::awaitable_wait || (calls && effects_.OfCall(node).writes);
    if (!writes_all && (calls || !EffectsOf(node).writes)) return;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      if (writes_all) {
        ForEachReachable(IdOf(g, *node.input(i)), found);
      } else if (WritesInput(node, i)) {
        found(IdOf(g, *node.input(i)));
      }
    }
  }

  void FindWrites(size_t g) {
    ForEachNode(*graphs_[g]->block(), [&](const Node& node) {
      ForEachWrite(g, node, [&](size_t id) {
        if (id != kNone) is_written_[Find(id)] = true;
      });
      writes_everything_ = writes_everything_ || (IsCall(node) && effects_.OfCall(node).writes_constants);
    });
  }

  // ---- Parts ----

  // The part that a class is; kNone for one that is no state or that nothing writes.
  size_t PartOf(size_t id) {
    if (id == kNone) return kNone;
    id = Find(id);
    if (!is_state_[id] || !is_written_[id]) return kNone;
    return NumberOf(&memory_parts_, id);
  }

  size_t PartOf(const StateSlot& slot) {
    return assigned_.count(slot) == 0 ? kNone : NumberOf(&attribute_parts_, slot);
  }

  template <typename Map, typename Key>
  size_t NumberOf(Map* map, const Key& key) {
    auto [found, is_new] = map->emplace(key, num_parts_);
    if (is_new) ++num_parts_;
    return found->second;
  }

  static void AddPart(size_t part, StateParts* parts) {
    if (part != kNone) parts->Add(part);
  }

  void AddReachable(size_t id, StateParts* parts) {
    ForEachReachable(id, [&](size_t reached) { AddPart(PartOf(reached), parts); });
  }

  void AddAccess(size_t g, const Node& node, StateAccess* access, StateAccess* to_the_end) {
    LoadBudget::Check();
    StateAccess own;
    if (node.kind() != sym::kConstant) AddOwnAccess(g, node, &own);
    StateAccess nested;
    for (const Block* block : node.blocks()) {
      for (const Node* inner : *block) AddAccess(g, *inner, &nested, to_the_end);
    }
    // What was not inlined may fork.
    if (IsCall(node)) to_the_end->Add(own);
    if (IsClosure(node)) {
      to_the_end->Add(own);
      to_the_end->Add(nested);
    }
    access->Add(own);
    access->Add(nested);
  }

  void AddOwnAccess(size_t g, const Node& node, StateAccess* access) {
    if (writes_everything_) {
      access->reads.Add(kEverything);
      if (IsCall(node) && effects_.OfCall(node).writes_constants) access->writes.Add(kEverything);
    }
    const NodeEffects effects = EffectsOf(node);
    const FunctionEffects callee = effects.calls ? effects_.OfCall(node) : FunctionEffects();
    if (effects.seeds || callee.seeds) access->writes.Add(kGenerators);
    if (effects.random || callee.random) access->reads.Add(kGenerators);
    if (const Object* object = IsAttribute(node) ? Known(*node.input(0)) : nullptr) {
      const bool get = node.kind() == sym::kGetAttr;
      AddPart(PartOf(SlotOf(node, *object)), get ? &access->reads : &access->writes);
      if (get && !IsInSight(*object)) AddPart(PartOf(OfMemory(object)), &access->reads);
    }
    for (const Value* input : node.inputs()) AddReachable(IdOf(g, *input), &access->reads);
    ForEachWrite(g, node, [&](size_t id) { AddPart(PartOf(id), &access->writes); });
  }

  const std::span<const Graph* const> graphs_;
  const Object& self_;
  const UnitEffects& effects_;
  std::vector<AliasClasses> aliases_;  // by graph
  std::vector<size_t> first_id_;       // by graph: the id of its alias class 0
  std::vector<size_t> parent_;
  std::vector<bool> is_state_;    // meaningful at roots
  std::vector<bool> is_written_;  // in place; meaningful at roots
  std::vector<size_t> elements_;  // what the lists hold that are apart from it; meaningful at roots
  std::unordered_map<StateSlot, size_t, SlotHash> attributes_;
  std::unordered_map<const void*, size_t> memory_;
  std::unordered_set<StateSlot, SlotHash> loaded_;
  std::unordered_set<StateSlot, SlotHash> assigned_;
  std::vector<const Object*> escaping_;
  std::unordered_set<const Object*> escaped_;
  bool writes_everything_ = false;
  std::unordered_map<size_t, size_t> memory_parts_;
  std::unordered_map<StateSlot, size_t, SlotHash> attribute_parts_;
  size_t num_parts_ = kEverything + 1;
};

StateAccesses::StateAccesses(std::span<const Graph* const> graphs, const Object& self, const UnitEffects& effects)
    : builder_(std::make_unique<Builder>(graphs, self, effects)) {
  for (size_t g = 0; g < graphs.size(); ++g) methods_.push_back(builder_->StateOf(g));
}

StateAccesses::~StateAccesses() = default;

bool StateAccesses::IsInSight(const Object& object) const { return builder_->IsInSight(object); }

}  // namespace hearth
