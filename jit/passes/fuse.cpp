#include "jit/passes/fuse.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "jit/analysis/visible_strides.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/definition.h"
#include "jit/definitions/place_rules.h"
#include "jit/fuser/ir/printer.h"
#include "jit/fuser/lowering/fusion_space.h"
#include "jit/fuser/lowering/group_lowering.h"
#include "jit/fuser/lowering/group_scales.h"
#include "jit/fuser/runtime/fused_kernel.h"
#include "jit/fuser/runtime/kernel_source.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/operators/registry.h"
#include "jit/passes/kernel_worth.h"

namespace hearth {
namespace {

const Symbol kFused = Symbol::fromQualString("hearth::fused");

// The interpreter calls operators natively up to so many (interpreter/code.h).
constexpr size_t kMostOperands = 32;
constexpr size_t kMostResults = 8;
constexpr size_t kMostNodesOfGroup = 64;

class GroupFuser {
 public:
  explicit GroupFuser(Compilation& compilation)
      : compilation_(compilation),
        graph_(compilation.graph()),
        facts_(compilation.facts()),
        memory_(compilation.memory()),
        worth_(compilation.target(), compilation.facts()),
        kernels_(*compilation.inputs().kernels) {}

  bool Run() {
    Walk(graph_.block());
    return changed_;
  }

 private:
  struct Group {
    FusionSpace space;
    std::vector<Node*> nodes;  // in the order of the block
  };

  using Groups = std::vector<std::unique_ptr<Group>>;

  void Walk(Block* block) {
    const std::vector<Node*> nodes = nodes_left(*block);
    positions_.clear();
    for (size_t i = 0; i < nodes.size(); ++i) positions_.emplace(nodes[i], i);
    Groups groups = GroupsOf(nodes);
    while (LeaveOut(groups)) groups = GroupsOf(nodes);
    for (const std::unique_ptr<Group>& group : groups) {
      if (group->nodes.size() > 1 || (group->nodes.size() == 1 && worth_.IsWorthAlone(*group->nodes[0], group->space)))
        Replace(*group);
    }
    for (Node* node : nodes_left(*block)) {
      if (node->kind() == sym::kGroupScales) {
        ReplaceScales(node);
      } else if (!IsClosure(*node)) {
        for (Block* inner : node->blocks()) Walk(inner);
      }
    }
  }

  // Leaves reductions for good that give their results in another order than their rows', where their group is none.
  // Whether there are any.
  bool LeaveOut(const Groups& groups) {
    bool any = false;
    for (const std::unique_ptr<Group>& group : groups) {
      if (group->nodes.empty() || group->space.in_order || LowerGroup(WithOutputs(*group), facts_)) continue;
      for (const Node* node : group->nodes) {
        const std::optional<FusionSpace> space = SpaceOf(*node, facts_);
        if (space && !space->in_order) any |= left_out_.insert(node).second;
      }
    }
    return any;
  }

  Groups GroupsOf(const std::vector<Node*>& nodes) {
    Groups groups;
    std::unordered_map<const Node*, Group*> group_of;
    for (Node* node : nodes) {
      std::optional<FusionSpace> space = MayJoin(*node) ? SpaceOf(*node, facts_) : std::nullopt;
      if (!space || space->device.type() != kernels_.device()) continue;
      Group* group = groups.emplace_back(std::make_unique<Group>(Group{std::move(*space), {node}})).get();
      group_of.emplace(node, group);
      for (const Value* input : node->inputs()) {
        const auto producer = group_of.find(input->node());
        if (producer == group_of.end() || producer->second == group || !MayMerge(*producer->second, *group)) continue;
        Merge(producer->second, group, &group_of);
      }
    }
    return groups;
  }
  static std::vector<Node*> nodes_left(Block& block) {
    std::vector<Node*> nodes;
    for (Node* node : block) nodes.push_back(node);
    return nodes;
  }

  // Whether a kernel can compute the node, and nobody writes what it reads.
  bool MayJoin(const Node& node) {
    const std::optional<FusionSpace> space = SpaceOf(node, facts_);
    if (!space || left_out_.contains(&node)) return false;
    const auto may_be_written = [&](const Value* value) {
      return value->type()->kind() == c10::TypeKind::TensorType && memory_.MayBeWritten(*value);
    };
    if (std::ranges::any_of(node.inputs(), may_be_written)) return false;
    if (space->moves &&
        (std::ranges::any_of(MovedTensors(node), may_be_written) || !worth_.IsWorthMoving(node, *space))) {
      return false;
    }
    if (const std::optional<Gather> gather = GatherOf(node, facts_)) {
      if (may_be_written(gather->tensor) || may_be_written(gather->ids) || space->nesting.empty()) return false;
    }
    const bool copies = node.kind() == c10::aten::contiguous || node.kind() == c10::aten::clone;
    if (copies && !worth_.IsWorthCopying(node, *space)) return false;
    return !space->in_order || LowerGroup({{&node}, {node.output()}}, facts_).has_value();
  }

  // Whether both compute with one tensor that has several elements along a dimension of their spaces: with any other
  // size there, it or they would raise. A kept result of a reduction has one element, and binds nobody.
  bool AreBoundIn(size_t dimension, const Group& producer, const Group& consumer) const {
    std::unordered_set<const Value*> binding;
    const auto add_binding = [&](const Value& value) {
      if (HasSeveral(value, dimension, producer.space.sizes.size())) binding.insert(&value);
    };
    for (const Node* node : producer.nodes) {
      add_binding(*node->output());
      for (const Value* operand : AlignedOperands(*node)) add_binding(*operand);
    }
    return std::ranges::any_of(consumer.nodes, [&](const Node* node) {
      return std::ranges::any_of(AlignedOperands(*node),
                                 [&](const Value* operand) { return binding.contains(operand); });
    });
  }

  // Of a tensor that is broadcast to a rank.
  bool HasSeveral(const Value& value, size_t dimension, size_t rank) const {
    const std::optional<KnownSizes>& sizes = facts_.Of(value).sizes;
    const size_t extra = sizes ? rank - std::min(rank, sizes->size()) : 0;
    if (!sizes || sizes->size() > rank || dimension < extra) return false;
    return facts_.sizes().Least((*sizes)[dimension - extra]).value_or(0) >= 2;
  }

  // The tensors that a node reads in the place of its loops.
  static std::vector<const Value*> AlignedOperands(const Node& node) {
    if (ReadsMemory(node)) return {};
    if (DefinitionOf(node.kind()).row != nullptr) return {node.input(0)};
    std::vector<const Value*> operands;
    for (const Value* input : node.inputs()) {
      if (input->type()->kind() == c10::TypeKind::TensorType) operands.push_back(input);
    }
    return operands;
  }

  // The space of both, if what one computes may be read by the other.
  std::optional<FusionSpace> SpaceOfBoth(const Group& producer, const Group& consumer) const {
    const AreBound are_bound = [&](size_t dimension) { return AreBoundIn(dimension, producer, consumer); };
    if (auto both = Joined(producer.space, consumer.space, facts_.sizes(), are_bound)) return both;
    const auto is_inside = [&](const Use& use) {
      return std::ranges::find(producer.nodes, use.user) != producer.nodes.end() ||
             std::ranges::find(consumer.nodes, use.user) != consumer.nodes.end();
    };
    const bool leaves = std::ranges::any_of(
        producer.nodes, [&](const Node* node) { return !std::ranges::all_of(node->output()->uses(), is_inside); });
    return leaves ? std::nullopt : JoinedWithin(producer.space, consumer.space, facts_.sizes(), are_bound);
  }

  bool MayMerge(const Group& producer, const Group& consumer) const {
    if (producer.nodes.size() + consumer.nodes.size() > kMostNodesOfGroup || !SpaceOfBoth(producer, consumer) ||
        NumOperandsOfBoth(producer, consumer) >= kMostOperands) {
      return false;
    }
    const auto last = std::max(positions_.at(producer.nodes.back()), positions_.at(consumer.nodes.back()));
    const auto is_inside = [&](const Node* node) {
      return std::ranges::find(producer.nodes, node) != producer.nodes.end() ||
             std::ranges::find(consumer.nodes, node) != consumer.nodes.end();
    };
    const auto ends_before_use = [&](const Node* node) {
      return std::ranges::all_of(node->output()->uses(), [&](const Use& use) {
        if (is_inside(use.user) && ReadsMemory(*use.user)) return false;
        return is_inside(use.user) ? IsReadInGroup(*node, facts_) : PositionOf(use.user, *node->block()) > last;
      });
    };
    return std::ranges::all_of(producer.nodes, ends_before_use) && std::ranges::all_of(consumer.nodes, ends_before_use);
  }
  // What a kernel takes from outside of both, itself not among it.
  static size_t NumOperandsOfBoth(const Group& producer, const Group& consumer) {
    std::unordered_set<const Value*> operands, inside;
    const auto add = [&](const Value* value) {
      const c10::TypeKind kind = value->type()->kind();
      const bool is_number = kind == c10::TypeKind::IntType || kind == c10::TypeKind::FloatType;
      const bool is_operand = kind == c10::TypeKind::TensorType || (is_number && ConstantOf(*value) == nullptr);
      if (is_operand && !inside.contains(value)) operands.insert(value);
    };
    for (const Group* group : {&producer, &consumer}) {
      for (const Node* node : group->nodes) inside.insert(node->output());
    }
    for (const Group* group : {&producer, &consumer}) {
      for (const Node* node : group->nodes) {
        for (const Value* input : node->inputs()) {
          add(input);
          if (input->node()->kind() == sym::kListConstruct) std::ranges::for_each(input->node()->inputs(), add);
        }
      }
    }
    return operands.size();
  }
  // Of a node in this block or in one within; the block's end comes last.
  size_t PositionOf(const Node* user, const Block& block) const {
    while (user->block() != &block) user = user->block()->owner();
    const auto found = positions_.find(user);
    return found == positions_.end() ? positions_.size() : found->second;
  }

  void Merge(Group* from, Group* into, std::unordered_map<const Node*, Group*>* group_of) const {
    into->space = *SpaceOfBoth(*from, *into);
    for (Node* node : from->nodes) (*group_of)[node] = into;
    into->nodes.insert(into->nodes.end(), from->nodes.begin(), from->nodes.end());
    from->nodes.clear();
    std::ranges::sort(into->nodes, {}, [&](const Node* node) { return positions_.at(node); });
  }

  // Null: none, or none yet.
  std::shared_ptr<const fuser::KernelCode> CodeOf(const std::string& text) {
    if (const auto known = kernels_.Find(text)) return *known;
    if (compilation_.inputs().makes_kernels) {
      std::shared_ptr<const fuser::KernelCode> code = kernels_.Get(text, [this] { compilation_.Rest(); });
      if (code != nullptr || kernels_.Find(text)) return code;
    }
    compilation_.report().kernels.push_back(text);
    return nullptr;
  }

  // Whether nobody can tell the tensor from new memory in its order: the strides of dimensions of one element may
  // differ.
  bool HasStridesOfNew(const Value& value) const {
    const ValueFacts& facts = facts_.Of(value);
    const auto has_several = [&](KnownSize size) { return facts_.sizes().Least(size).value_or(0) >= 2; };
    return facts.order.is_exact() || std::ranges::all_of(*facts.sizes, has_several) || !StridesMayShow(value, facts_);
  }

  static FusionGroup WithOutputs(const Group& group) {
    FusionGroup fused{{group.nodes.begin(), group.nodes.end()}, {}};
    for (const Node* node : group.nodes) {
      const bool leaves = std::ranges::any_of(node->output()->uses(), [&](const Use& use) {
        return std::ranges::find(group.nodes, use.user) == group.nodes.end();
      });
      if (leaves) fused.outputs.push_back(node->output());
    }
    return fused;
  }

  void Replace(const Group& group) {
    const FusionGroup fused = WithOutputs(group);
    if (fused.outputs.empty() || fused.outputs.size() > kMostResults) return;
    if (!std::ranges::all_of(fused.outputs, [&](const Value* output) { return HasStridesOfNew(*output); })) return;
    Replace(group.nodes, fused.outputs, LowerGroup(fused, facts_));
  }

  void ReplaceScales(Node* node) {
    const ValueFacts& images = facts_.Of(*node->input(0));
    if (!images.device || images.device->type() != kernels_.device()) return;
    Replace({node}, {node->output(0), node->output(1)}, LowerGroupScales(*node, facts_));
  }

  // If there is a kernel of them, and its code.
  void Replace(const std::vector<Node*>& nodes, const std::vector<const Value*>& outputs,
               std::optional<LoweredGroup> lowered) {
    if (!lowered || lowered->operands.size() + 1 > kMostOperands) return;
    const std::string text = fuser::Print(lowered->kernel);
    std::shared_ptr<const fuser::KernelCode> code = CodeOf(text);
    if (code == nullptr) return;
    auto kernel = c10::make_intrusive<fuser::FusedKernel>(std::move(lowered->signature), text, std::move(code));

    Node* last = nodes.back();
    const InsertionGuard here(&graph_, last);
    graph_.SetCurrentRange(last->range());
    std::vector<Value*> operands{
        graph_.InsertConstant(fuser::FusedKernel::Wrap(std::move(kernel)), c10::CapsuleType::get())};
    for (const Value* operand : lowered->operands) operands.push_back(const_cast<Value*>(operand));
    const bool several = outputs.size() > 1;
    Node* node = graph_.Insert(graph_.Create(kFused, operands, outputs.size()));
    node->SetOperator(OperatorRegistry::Global().Find(kFused, several ? "several" : ""));
    node->SetInlinedCall(last->inlined_call());
    for (size_t i = 0; i < outputs.size(); ++i) {
      auto* output = const_cast<Value*>(outputs[i]);
      node->output(i)->SetType(output->type());
      node->output(i)->SetName(output->name());
      output->ReplaceAllUsesWith(node->output(i));
    }
    for (size_t i = nodes.size(); i-- > 0;) Destroy(nodes[i]);
    facts_.Infer(*node);
    changed_ = true;
  }

  // And the lists that were made for it alone.
  static void Destroy(Node* node) {
    std::unordered_set<Node*> lists;
    for (const Value* input : node->inputs()) {
      if (input->node()->kind() == sym::kListConstruct) lists.insert(input->node());
    }
    node->Destroy();
    for (Node* list : lists) {
      if (!list->output()->HasUses()) list->Destroy();
    }
  }

  Compilation& compilation_;
  Graph& graph_;
  ValueFactTable& facts_;
  const WrittenMemory& memory_;
  const KernelWorth worth_;
  fuser::KernelSource& kernels_;
  std::unordered_map<const Node*, size_t> positions_;  // in the block
  std::unordered_set<const Node*> left_out_;
  bool changed_ = false;
};

}  // namespace

bool Fuse(Compilation& compilation) { return compilation.inputs().kernels != nullptr && GroupFuser(compilation).Run(); }

}  // namespace hearth
