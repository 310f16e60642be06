#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "jit/interpreter/lowering.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

using Step = ArenaLayout::Step;

// The places of which slots ask for the tensor.
void AddSlots(const Block& block, std::unordered_set<int64_t>* places) {
  for (const Node* node : block) {
    if (node->kind() == sym::kSlot) places->insert(node->attribute<int64_t>(sym::kPlaceAttr));
    if (IsClosure(*node)) continue;
    for (const Block* inner : node->blocks()) AddSlots(*inner, places);
  }
}

// An Arena's block becomes an ArenaLayout.
class LayoutReader {
 public:
  explicit LayoutReader(const Node& arena) {
    for (const Value* given : arena.block(0)->params()) Number(given);
    layout_.num_given = static_cast<uint32_t>(count_);
    for (const Node* node : *arena.block(0)) Read(*node);
    // Places are numbered as they are returned, and that is their order.
    const std::span<Value* const> returns = arena.block(0)->returns();
    const bool in_order = std::ranges::equal(returns, places_);
    TORCH_CHECK(in_order, "an Arena returns its places in their order");
    layout_.likely_bytes = static_cast<size_t>(arena.attribute<int64_t>(sym::kBytesAttr));
    std::unordered_set<int64_t> slots;
    AddSlots(*arena.block(), &slots);
    for (size_t i = 0; i < layout_.places.size(); ++i) {
      layout_.places[i].has_tensor = slots.contains(static_cast<int64_t>(i));
    }
  }
  ArenaLayout Take() { return std::move(layout_); }

 private:
  void Number(const Value* value) { numbers_.emplace(value, count_++); }
  int64_t NumberOf(const Value* value) const {
    const auto found = numbers_.find(value);
    TORCH_CHECK(found != numbers_.end(), "the sizes of a place are computed of ints in its Arena");
    return static_cast<int64_t>(found->second);
  }
  void AddStep(const Node& node, Step step) {
    layout_.steps.push_back(step);
    Number(node.output());
  }

  void Read(const Node& node) {
    const c10::Symbol kind = node.kind();
    if (kind == sym::kConstant && node.attribute<c10::IValue>(sym::kValueAttr).isInt()) {
      return AddStep(node, {Step::Kind::kConstant, node.attribute<c10::IValue>(sym::kValueAttr).toInt(), 0});
    }
    if (kind == sym::kListConstruct) return;  // its place looks at what is in it
    if (kind == sym::kPlace) return ReadPlace(node);
    static const std::unordered_map<std::string_view, Step::Kind> kKinds = {
        {"aten::add", Step::Kind::kAdd},
        {"aten::mul", Step::Kind::kMultiply},
        {"aten::floordiv", Step::Kind::kDivide},
        {"aten::remainder", Step::Kind::kRemainder},
    };
    const auto found = kKinds.find(kind.toQualString());
    TORCH_CHECK(found != kKinds.end() && node.inputs().size() == 2, "an Arena does not compute ", kind.toQualString());
    AddStep(node, {found->second, NumberOf(node.input(0)), NumberOf(node.input(1))});
  }

  void ReadPlace(const Node& node) {
    const Node& sizes = *node.input(0)->node();
    const Node& dtype = *node.input(1)->node();
    TORCH_CHECK(sizes.kind() == sym::kListConstruct && dtype.kind() == sym::kConstant,
                "a place has sizes that its Arena computes, and a dtype that is a constant");
    ArenaLayout::Place place{
        static_cast<c10::ScalarType>(dtype.attribute<c10::IValue>(sym::kValueAttr).toInt()), {}, {}};
    for (const Value* size : sizes.inputs()) place.sizes.push_back(static_cast<uint32_t>(NumberOf(size)));
    for (const Value* below : node.inputs().subspan(2)) {
      const auto found = std::ranges::find(places_, below);
      TORCH_CHECK(found != places_.end(), "a place lies over places");
      place.over.push_back(static_cast<uint32_t>(found - places_.begin()));
    }
    layout_.places.push_back(std::move(place));
    places_.push_back(node.output());
  }

  ArenaLayout layout_;
  size_t count_ = 0;
  std::unordered_map<const Value*, size_t> numbers_;
  std::vector<const Value*> places_;
};

}  // namespace

void Lowering::LowerArena(const Node* node) {
  TORCH_CHECK(code_->arenas == nullptr && node->block() == &top_, "a plan has one Arena, in its outermost block");
  code_->arenas = std::make_unique<const Arenas>(LayoutReader(*node).Take());
  EmitNode(Opcode::kArena, node);
}

int32_t Lowering::PlaceOf(const Node* node) const {
  const int64_t place = node->attribute<int64_t>(sym::kPlaceAttr);
  TORCH_CHECK(
      code_->arenas != nullptr && place >= 0 && static_cast<size_t>(place) < code_->arenas->layout().places.size(),
      "a place is one of the plan's Arena");
  return static_cast<int32_t>(place);
}

void Lowering::LowerSlot(const Node* node) {
  const int32_t place = PlaceOf(node);
  const int32_t output = Define(node->output());
  Instruction& instruction = Emit(Opcode::kSlot, node);
  instruction.target = place;
  instruction.c = output;
  if (!node->output()->HasUses()) DropAll({node->output()}, node);
}

}  // namespace hearth
