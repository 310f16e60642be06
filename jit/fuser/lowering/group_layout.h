// The memory of a group's kernel (group_lowering.h): which tensors and numbers it takes from outside of the group, the
// dimensions that its loops go through, what its signature says of them, and its buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "jit/analysis/value_fact_table.h"
#include "jit/definitions/place_rules.h"
#include "jit/fuser/ir/builder.h"
#include "jit/fuser/lowering/fusion_space.h"
#include "jit/fuser/lowering/group_lowering.h"
#include "jit/fuser/runtime/kernel_signature.h"

namespace hearth {

class GroupLayout {
 public:
  // In the place of a dimension of the space, or of the kernel: the one along which a node picks elements of a tensor.
  static constexpr size_t kPicked = SIZE_MAX;

  // A tensor from outside.
  struct Input {
    const Value* value;
    uint16_t operand;                      // of the kernel's node
    std::vector<size_t> dimensions;        // the space's that its own are, or kPicked
    std::vector<PartOrder::Level> levels;  // its own that do not have one element
    std::vector<bool> has;                 // of the space's dimensions
    std::vector<size_t> inner;             // kernel dimensions, or kPicked, as they are nested in it
    bool is_whole = false;                 // dense, with all of the kernel's dimensions in their order
    fuser::BufferId buffer = 0;

    // The node that reads it in other places, and as which of its tensors; null: it is read in the place of the loops.
    const Node* mover = nullptr;
    size_t tensor = 0;
    std::map<size_t, uint16_t> extents = {};                // along the space's dimensions that are moved, or kPicked
    std::unordered_map<size_t, fuser::ValueId> sizes = {};  // the same in the kernel

    bool IsDense() const;
  };
  using Places = std::unordered_map<size_t, fuser::ValueId>;  // along the space's dimensions, or kPicked

  GroupLayout(const FusionGroup& group, ValueFactTable& facts, fuser::KernelBuilder& builder)
      : group_(group), facts_(facts), builder_(builder) {}

  // Finds all that and declares the buffers. False if the group can have no kernel.
  bool Make();

  const FusionSpace& space() const { return space_; }
  // The node of the group that gives the value; null: none does.
  const Node* Inside(const Value& value) const;
  bool HasElementForRow(const Value& value) const { return of_rows_.contains(&value); }
  // Null: it is no tensor from outside that is read in the place of the loops.
  const Input* FindInput(const Value& value) const;
  const Input& MovedInput(const Node& mover, size_t tensor) const;
  std::optional<fuser::ValueId> Number(const Value& value) const;
  // Of the kernel's dimensions, outermost first.
  const std::vector<fuser::ValueId>& sizes() const { return sizes_; }
  // Of the loop at the top, if the kernel has several dimensions.
  fuser::ValueId rounds() const { return rounds_; }
  const std::vector<fuser::BufferId>& outputs() const { return outputs_; }
  // The kernel's dimension that is one of the space's and no other; null: that has one element.
  std::optional<size_t> KernelDimension(size_t of_space) const;
  // The indices of an element of the input: at `point`, in the kernel's dimensions, but where `places` says another.
  std::vector<fuser::ValueId> Indices(const Input& input, const std::vector<fuser::ValueId>& point,
                                      const Places& places) const;
  // The node whose tensors lie one after the other along the innermost of the kernel's dimensions; null: none.
  const Node* Join() const;

  fuser::KernelSignature TakeSignature() { return std::move(signature_); }
  std::vector<const Value*> TakeOperands() { return std::move(operands_); }

 private:
  bool FindSpace();
  bool AddOperands(const Node& node);
  bool AddOperand(const Value& value);
  bool AddMoved(const Node& node);
  bool AddGathered(const Node& node);
  std::optional<Input> InputOf(const Value& value, std::vector<size_t> dimensions);
  bool HasSizesOfSpace(const Input& input) const;
  bool GoesAlongMemory(const Input& input) const;
  bool NameExtents();
  bool FindDimensions();
  void Declare();

  uint16_t OperandOf(const Value& value);
  std::vector<size_t> Aligned(const Value& value) const;
  bool Continues(size_t outer, size_t inner) const;
  std::vector<size_t> DimensionsOf(const Value& value) const;
  fuser::KernelSignature::Tensor SignatureOf(const Value& value, const std::vector<size_t>& dimensions) const;
  fuser::KernelSignature::Tensor SignatureOf(const Input& input) const;
  int64_t ConstantStride(const PartOrder::Level& level) const;
  bool IsMoved(size_t dimension) const { return moved_.contains(dimension); }
  std::optional<int64_t> ConstantSize(const std::vector<size_t>& dimensions) const;
  fuser::ValueId SizeSymbol(std::vector<uint16_t> extents);
  std::vector<fuser::ValueId> SizesOfWhole() const;
  std::vector<fuser::ValueId> StridesOfWhole();
  std::vector<fuser::ValueId> SizesOf(const Input& input) const;
  std::vector<fuser::ValueId> StridesOf(const Input& input);

  const FusionGroup& group_;
  ValueFactTable& facts_;
  fuser::KernelBuilder& builder_;
  FusionSpace space_{c10::Device(c10::kCPU), {}, {}};
  std::unordered_map<const Value*, const Node*> inside_;
  std::unordered_set<const Value*> of_rows_;  // what has an element for each row
  std::vector<const Value*> operands_;
  std::vector<Input> inputs_;
  std::unordered_map<const Value*, fuser::ValueId> numbers_;
  std::vector<const Value*> number_order_;
  std::map<size_t, int64_t> moved_;  // the space's dimensions along which nodes read other places: their sizes
  std::vector<int16_t> extents_;     // the number of that of each of the space's dimensions
  std::vector<std::vector<size_t>> dimensions_;  // the kernel's, outermost first: each is some of the space's
  fuser::KernelSignature signature_;
  std::vector<fuser::ValueId> sizes_;
  std::vector<fuser::BufferId> outputs_;
  fuser::ValueId rounds_ = fuser::kNoValue;
};

}  // namespace hearth
