#include "jit/passes/specialize.h"

#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>

#include <vector>

#include "jit/analysis/effects.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/constant_table.h"
#include "jit/graph_edits/simplify_node.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/module/compilation_unit.h"
#include "jit/module/function.h"
#include "jit/support/load_budget.h"

namespace hearth {
namespace {

constexpr size_t kMaxCallDepth = 64;
constexpr size_t kMaxBlockDepth = 256;
// Emitted nodes looked at, as a multiple of the node budget: code that folds away to nothing takes time all the same.
constexpr size_t kWalkFactor = 16;

// What an emitted value became: a value of the new graph, or a constant that may not be in it yet.
struct Known {
  Value* value = nullptr;
  ConstantTable::Entry* constant = nullptr;
};

// One function whose graph is being walked.
struct Frame {
  Frame(const Graph& graph, torch::jit::Function* of, const Frame* from, const InlinedCall* under)
      : function(of), caller(from), call(under), known(graph.value_id_bound()), depth(from ? from->depth + 1 : 0) {}

  torch::jit::Function* function;  // null for the outermost
  const Frame* caller;
  const InlinedCall* call;
  std::vector<Known> known;  // by value id in the emitted graph
  size_t depth;

  const Known& operator[](const Value* value) const { return known[value->id()]; }
  void Set(const Value* value, Known now) { known[value->id()] = now; }
};

class Specializer {
 public:
  explicit Specializer(const CompilationInputs& options)
      : options_(options), graph_(std::make_unique<Graph>()), constants_(graph_.get()) {}

  std::unique_ptr<Graph> Run(const Graph& emitted) {
    Frame frame(emitted, nullptr, nullptr, nullptr);
    for (size_t i = 0; i < emitted.inputs().size(); ++i) {
      const Value* input = emitted.inputs()[i];
      Known known{graph_->AddInput(input->type(), input->name())};
      if (i == 0 && options_.self != nullptr) {
        known.constant = constants_.OfBound(options_.self, input->type(), known.value);
        known.value = nullptr;
      }
      frame.Set(input, known);
    }
    WalkBlock(*emitted.block(), frame);
    for (const Value* output : emitted.outputs()) {
      graph_->block()->AddReturn(Materialize(frame[output], output->node()->range()));
    }
    return std::move(graph_);
  }

  // Ids of Values that went from one function to another in a tuple, which is gone now.
  std::vector<size_t> TakeSentInTuples() { return std::move(sent_in_tuples_); }

 private:
  // ---- Values ----

  Value* Materialize(const Known& known, const SourceRange& range) {
    return known.value != nullptr ? known.value : constants_.Materialize(known.constant, range);
  }

  static const TypePtr& TypeOf(const Known& known) {
    return known.value != nullptr ? known.value->type() : known.constant->type;
  }

  static bool IsConstant(const Known& known, bool* as_bool) {
    if (known.constant == nullptr || !known.constant->value.isBool()) return false;
    *as_bool = known.constant->value.toBool();
    return true;
  }

  static bool Same(const Known& a, const Known& b) { return a.value == b.value && a.constant == b.constant; }

  // ---- Nodes ----

  void WalkBlock(const Block& block, Frame& frame) {
    ++block_depth_;
    for (const Node* node : block) WalkNode(*node, frame);
    --block_depth_;
  }

  void WalkNode(const Node& node, Frame& frame) {
    LoadBudget::Check();
    const Symbol kind = node.kind();
    if (kind == sym::kConstant) return BindConstant(node, frame);
    if (kind == sym::kGetAttr && TryFreeze(node, frame)) return;
    if ((kind == sym::kCallMethod || kind == sym::kCallFunction) && TryInline(node, frame)) return;
    if (kind == sym::kIf) return WalkIf(node, frame);
    if (kind == sym::kLoop) return WalkLoop(node, frame);
    if (IsTask(node)) return WalkClosure(node, frame);
    if (TrySimplify(node, frame)) return;
    Node* copy = CopyHead(node, frame);
    graph_->Insert(copy);
    for (const Block* block : node.blocks()) CopyBlock(*block, copy->AddBlock(), frame);
    CopyOutputs(node, copy, frame);
  }

  // The node without outputs and blocks, not yet in a block.
  Node* CopyHead(const Node& node, Frame& frame) {
    Node* copy = graph_->Create(node.kind(), {}, 0);
    for (const Value* input : node.inputs()) copy->AddInput(Materialize(frame[input], node.range()));
    for (const auto& [name, value] : node.attributes()) copy->SetAttribute(name, value);
    copy->SetOperator(node.op());
    return Place(node, copy, frame);
  }

  static Node* Place(const Node& node, Node* copy, const Frame& frame) {
    copy->SetRange(node.range());
    copy->SetInlinedCall(frame.call);
    return copy;
  }

  void CopyOutputs(const Node& node, Node* copy, Frame& frame) {
    for (const Value* output : node.outputs()) frame.Set(output, {AddNamed(copy, *output)});
  }

  static Value* AddNamed(Node* copy, const Value& output) {
    Value* made = copy->AddOutput(output.type());
    made->SetName(output.name());
    return made;
  }

  static Value* AddNamedParam(Block* block, const Value& param, const TypePtr& type) {
    Value* made = block->AddParam(type);
    made->SetName(param.name());
    return made;
  }

  void CopyBlock(const Block& from, Block* to, Frame& frame) {
    InsertionGuard guard(graph_.get(), to);
    for (const Value* param : from.params()) frame.Set(param, {AddNamedParam(to, *param, param->type())});
    WalkBlock(from, frame);
    for (const Value* value : from.returns()) to->AddReturn(Materialize(frame[value], from.return_node()->range()));
  }

  void BindConstant(const Node& node, Frame& frame) {
    const auto& value = node.attribute<c10::IValue>(sym::kValueAttr);
    frame.Set(node.output(), {nullptr, constants_.Of(Redirected(value), node.output()->type())});
  }

  c10::IValue Redirected(const c10::IValue& value) const {
    if (options_.literal_device && value.isDevice()) return *options_.literal_device;
    return value;
  }

  bool TrySimplify(const Node& node, Frame& frame) {
    operands_.clear();
    for (const Value* input : node.inputs()) {
      const Known& known = frame[input];
      operands_.push_back({known.constant ? &known.constant->value : nullptr, known.value, TypeOf(known)});
    }
    if (!SimplifyNode(node, operands_, &replacements_)) return false;
    if (node.kind() == sym::kTupleUnpack || node.kind() == sym::kTupleIndex) NoteTuple(operands_[0], frame);
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      Replacement& replacement = replacements_[i];
      Known known;
      if (replacement.operand) {
        known = frame[node.input(*replacement.operand)];
      } else if (replacement.value != nullptr) {
        known.value = replacement.value;
      } else {
        known.constant = constants_.Of(Redirected(*replacement.constant), replacement.type);
      }
      frame.Set(node.output(i), known);
    }
    return true;
  }

  void NoteTuple(const Operand& tuple, const Frame& frame) {
    if (tuple.value == nullptr || tuple.value->node()->inlined_call() == frame.call) return;
    for (const Value* element : tuple.value->node()->inputs()) sent_in_tuples_.push_back(element->id());
  }

  // ---- Attributes ----

  bool TryFreeze(const Node& node, Frame& frame) {
    const Known& object = frame[node.input()];
    if (object.constant == nullptr || !object.constant->value.isObject() || options_.effects == nullptr) return false;
    const c10::ClassType& type = *object.constant->value.toObjectRef().type();
    const std::optional<size_t> slot = type.findAttributeSlot(node.attribute<std::string>(sym::kNameAttr));
    if (!slot || options_.effects->IsAssigned(type, *slot)) return false;
    // What a list or dict holds would be taken for what it holds for ever.
    if (options_.effects->MayBeFilled(*type.getAttribute(*slot))) return false;
    frame.Set(node.output(), {nullptr, constants_.OfAttribute(*object.constant, *slot)});
    return true;
  }

  // ---- Calls ----

  bool TryInline(const Node& node, Frame& frame) {
    Function* callee = dynamic_cast<Function*>(Callee(node, frame));
    if (callee == nullptr || !MayInline(*callee, frame)) return false;
    const Graph& body = callee->emitted_graph();
    if (body.inputs().size() != node.inputs().size() || body.outputs().size() < node.outputs().size() ||
        graph_->num_nodes() + body.num_nodes() > options_.node_budget ||
        walked_ + body.num_nodes() > kWalkFactor * options_.node_budget || block_depth_ > kMaxBlockDepth) {
      return false;
    }
    walked_ += body.num_nodes() + 1;
    Frame inner(body, callee, &frame,
                graph_->NewInlinedCall(frame.call, callee->qualname().qualifiedName(), node.range()));
    for (size_t i = 0; i < node.inputs().size(); ++i) inner.Set(body.inputs()[i], frame[node.input(i)]);
    WalkBlock(*body.block(), inner);
    for (size_t i = 0; i < node.outputs().size(); ++i) frame.Set(node.output(i), inner[body.outputs()[i]]);
    return true;
  }

  static torch::jit::Function* Callee(const Node& node, const Frame& frame) {
    if (node.kind() == sym::kCallFunction) return node.attribute<torch::jit::Function*>(sym::kFunctionAttr);
    const Known& object = frame[node.input(0)];
    auto type = TypeOf(object)->cast<c10::ClassType>();
    return type == nullptr ? nullptr : FindMethod(*type, node.attribute<std::string>(sym::kNameAttr));
  }

  static bool MayInline(const Function& callee, const Frame& frame) {
    if (frame.depth >= kMaxCallDepth) return false;
    for (const Frame* at = &frame; at != nullptr; at = at->caller) {
      if (at->function == &callee) return false;
    }
    return true;
  }

  // ---- Control flow ----

  void WalkIf(const Node& node, Frame& frame) {
    bool condition = false;
    if (IsConstant(frame[node.input()], &condition)) {
      const Block& taken = *node.block(condition ? 0 : 1);
      WalkBlock(taken, frame);
      for (size_t i = 0; i < node.outputs().size(); ++i) frame.Set(node.output(i), frame[taken.returns()[i]]);
      return;
    }
    Node* copy = graph_->Insert(CopyHead(node, frame));
    for (const Block* block : node.blocks()) {
      InsertionGuard guard(graph_.get(), copy->AddBlock());
      WalkBlock(*block, frame);
    }
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      const Known results[2] = {frame[node.block(0)->returns()[i]], frame[node.block(1)->returns()[i]]};
      if (Same(results[0], results[1])) {
        frame.Set(node.output(i), results[0]);
        continue;
      }
      for (size_t b = 0; b < 2; ++b) copy->block(b)->AddReturn(Materialize(results[b], node.range()));
      Value* output = AddNamed(copy, *node.output(i));
      // Where both give the same type it may be narrower than the declared one: an Optional that never is None.
      if (*TypeOf(results[0]) == *TypeOf(results[1])) output->SetType(TypeOf(results[0]));
      frame.Set(node.output(i), {output});
    }
  }

  void WalkLoop(const Node& node, Frame& frame) {
    const Block& body = *node.block(0);
    const Known& trips = frame[node.input(0)];
    const Known& start = frame[node.input(1)];
    bool first = true;
    const bool never =
        (trips.constant != nullptr && trips.constant->value.toInt() <= 0) || (IsConstant(start, &first) && !first);
    if (never) {
      for (size_t i = 0; i < node.outputs().size(); ++i) frame.Set(node.output(i), frame[node.input(i + 2)]);
      return;
    }
    Node* copy = graph_->Create(sym::kLoop, {Materialize(trips, node.range()), Materialize(start, node.range())}, 0);
    graph_->Insert(Place(node, copy, frame));
    for (const auto& [name, value] : node.attributes()) copy->SetAttribute(name, value);
    Block* copied = copy->AddBlock();
    frame.Set(body.param(0), {AddNamedParam(copied, *body.param(0), body.param(0)->type())});
    std::vector<size_t> carried;
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      if (body.returns()[i + 1] == body.param(i + 1)) {
        frame.Set(body.param(i + 1), frame[node.input(i + 2)]);
        continue;
      }
      carried.push_back(i);
      copy->AddInput(Materialize(frame[node.input(i + 2)], node.range()));
      frame.Set(body.param(i + 1), {AddNamedParam(copied, *body.param(i + 1), body.param(i + 1)->type())});
    }
    {
      InsertionGuard guard(graph_.get(), copied);
      WalkBlock(body, frame);
    }
    copied->AddReturn(Materialize(frame[body.returns()[0]], node.range()));
    for (size_t i : carried) copied->AddReturn(Materialize(frame[body.returns()[i + 1]], node.range()));
    std::erase_if(carried,
                  [&](size_t i) { return StopCarrying(copy, frame[body.param(i + 1)], frame[body.returns()[i + 1]]); });
    for (size_t i = 0; i < node.outputs().size(); ++i) frame.Set(node.output(i), frame[node.input(i + 2)]);
    for (size_t i : carried) frame.Set(node.output(i), {AddNamed(copy, *node.output(i))});
  }

  // What turned out to be carried round unchanged is what it was before the loop.
  static bool StopCarrying(Node* loop, const Known& param, const Known& result) {
    if (!Same(param, result)) return false;
    const size_t offset = param.value->offset();
    Value* before = loop->input(offset + 1);
    param.value->ReplaceAllUsesWith(before);
    loop->block(0)->RemoveReturn(offset);
    loop->block(0)->RemoveParam(offset);
    loop->RemoveInput(offset + 1);
    return true;
  }

  // What a closure captures is its inputs; constants need no capturing.
  void WalkClosure(const Node& node, Frame& frame) {
    const Block& body = *node.block(0);
    Node* copy = graph_->Insert(Place(node, graph_->Create(node.kind(), {}, 0), frame));
    for (const auto& [name, value] : node.attributes()) copy->SetAttribute(name, value);
    Block* copied = copy->AddBlock();
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const Known& captured = frame[node.input(i)];
      if (captured.constant != nullptr) {
        frame.Set(body.param(i), captured);
        continue;
      }
      copy->AddInput(captured.value);
      frame.Set(body.param(i), {AddNamedParam(copied, *body.param(i), TypeOf(captured))});
    }
    constants_.BeginClosure(copied);
    {
      InsertionGuard guard(graph_.get(), copied);
      WalkBlock(body, frame);
    }
    for (const Value* value : body.returns()) copied->AddReturn(Materialize(frame[value], node.range()));
    constants_.EndClosure();
    CopyOutputs(node, copy, frame);
  }

  const CompilationInputs& options_;
  std::unique_ptr<Graph> graph_;
  ConstantTable constants_;
  size_t walked_ = 0;       // emitted nodes of callees so far
  size_t block_depth_ = 0;  // blocks around the one being walked
  std::vector<Operand> operands_;
  std::vector<Replacement> replacements_;
  std::vector<size_t> sent_in_tuples_;
};

}  // namespace

bool Specialize(Compilation& compilation) {
  Specializer specializer(compilation.inputs());
  compilation.Replace(specializer.Run(compilation.source()));
  compilation.sent_in_tuples() = specializer.TakeSentInTuples();
  return true;
}

}  // namespace hearth
