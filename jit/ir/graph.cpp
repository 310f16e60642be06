#include "jit/ir/graph.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <unordered_map>

#include "jit/ir/symbols.h"
#include "jit/support/load_budget.h"

namespace hearth {

// ---- Value ----

void Value::ReplaceAllUsesWith(Value* replacement) {
  if (replacement == this) return;
  for (const Use& use : uses_) {
    use.user->inputs_[use.offset] = replacement;
    use.user->places_[use.offset] = replacement->uses_.size();
    replacement->uses_.push_back(use);
  }
  uses_.clear();
}

// ---- Node: inputs ----

void Node::AddInput(Value* value) {
  inputs_.push_back(value);
  places_.push_back(value->uses_.size());
  value->uses_.push_back({this, inputs_.size() - 1});
}

void Node::DropUse(size_t i) {
  std::vector<Use>& uses = inputs_[i]->uses_;
  const size_t place = places_[i];
  TORCH_INTERNAL_ASSERT(place < uses.size() && (uses[place] == Use{this, i}), "a use is missing from its value's list");
  uses[place] = uses.back();
  uses[place].user->places_[uses[place].offset] = place;
  uses.pop_back();
}

void Node::RenumberInputs(size_t first) {
  for (size_t i = first; i < inputs_.size(); ++i) inputs_[i]->uses_[places_[i]].offset = i;
}

void Node::InsertInput(size_t i, Value* value) {
  const auto at = static_cast<std::ptrdiff_t>(i);
  inputs_.insert(inputs_.begin() + at, value);
  places_.insert(places_.begin() + at, value->uses_.size());
  value->uses_.push_back({this, i});
  RenumberInputs(i + 1);
}

void Node::ReplaceInput(size_t i, Value* value) {
  if (inputs_[i] == value) return;
  DropUse(i);
  inputs_[i] = value;
  places_[i] = value->uses_.size();
  value->uses_.push_back({this, i});
}

void Node::RemoveInput(size_t i) {
  DropUse(i);
  const auto at = static_cast<std::ptrdiff_t>(i);
  inputs_.erase(inputs_.begin() + at);
  places_.erase(places_.begin() + at);
  RenumberInputs(i);
}

void Node::RemoveAllInputs() {
  for (size_t i = 0; i < inputs_.size(); ++i) DropUse(i);
  inputs_.clear();
  places_.clear();
}

// ---- Node: outputs, blocks, attributes ----

Value* Node::AddOutput(TypePtr type) {
  outputs_.push_back(graph_->NewValue(this, outputs_.size(), std::move(type)));
  return outputs_.back();
}

void Node::RemoveOutput(size_t i) {
  TORCH_INTERNAL_ASSERT(!outputs_[i]->HasUses(), "an output that is used was removed");
  delete outputs_[i];
  outputs_.erase(outputs_.begin() + static_cast<std::ptrdiff_t>(i));
  for (size_t k = i; k < outputs_.size(); ++k) outputs_[k]->offset_ = k;
}

Block* Node::AddBlock() {
  blocks_.push_back(graph_->NewBlock(this));
  return blocks_.back();
}

void Node::RemoveBlock(size_t i) {
  graph_->FreeBlock(blocks_[i]);
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
}

const Attribute* Node::FindAttribute(Symbol name) const {
  for (const auto& [key, value] : attributes_) {
    if (key == name) return &value;
  }
  return nullptr;
}

void Node::SetAttribute(Symbol name, Attribute value) {
  for (auto& [key, current] : attributes_) {
    if (key == name) {
      current = std::move(value);
      return;
    }
  }
  attributes_.emplace_back(name, std::move(value));
}

// ---- Node: list ----

Node* Node::InsertBefore(Node* other) {
  TORCH_INTERNAL_ASSERT(block_ == nullptr && other->block_ != nullptr);
  block_ = other->block_;
  prev_ = other->prev_;
  next_ = other;
  prev_->next_ = this;
  other->prev_ = this;
  return this;
}

Node* Node::InsertAfter(Node* other) { return InsertBefore(other->next_); }

void Node::Unlink() {
  prev_->next_ = next_;
  next_->prev_ = prev_;
  prev_ = next_ = nullptr;
  block_ = nullptr;
}

void Node::MoveBefore(Node* other) {
  if (other == this) return;
  Unlink();
  InsertBefore(other);
}

void Node::MoveAfter(Node* other) {
  if (other == this) return;
  Unlink();
  InsertAfter(other);
}

void Node::Destroy() {
  if (block_) Unlink();
  graph_->FreeNode(this);
}

// ---- Block ----

size_t Block::AddReturn(Value* value) {
  return_node_->AddInput(value);
  return return_node_->inputs().size() - 1;
}

// ---- Graph ----

Graph::Graph() : top_(NewBlock(nullptr)), insertion_point_(top_->return_node()) {}

Graph::~Graph() {
  // Use lists are not kept up while everything goes at once; a work list, since blocks may be nested very deeply.
  std::vector<Block*> blocks = {top_};
  while (!blocks.empty()) {
    Block* block = blocks.back();
    blocks.pop_back();
    for (Node* node = block->param_node_; node != nullptr;) {
      Node* next = node == block->return_node_ ? nullptr : node->next_;
      for (Block* nested : node->blocks_) blocks.push_back(nested);
      for (Value* output : node->outputs_) delete output;
      delete node;
      node = next;
    }
    delete block;
  }
}

Value* Graph::NewValue(Node* node, size_t offset, TypePtr type) {
  return new Value(node, offset, next_value_id_++, std::move(type));
}

Node* Graph::NewNode(Symbol kind) {
  LoadBudget::Check();
  ++num_nodes_;
  return new Node(this, kind);
}

Block* Graph::NewBlock(Node* owner) {
  auto* block = new Block(this, owner);
  Node* param = NewNode(sym::kParam);
  Node* ret = NewNode(sym::kReturn);
  num_nodes_ -= 2;
  param->block_ = ret->block_ = block;
  param->next_ = ret;
  ret->prev_ = param;
  block->param_node_ = param;
  block->return_node_ = ret;
  return block;
}

void Graph::FreeNode(Node* node) {
  node->RemoveAllInputs();
  while (!node->blocks_.empty()) node->RemoveBlock(node->blocks_.size() - 1);
  for (Value* output : node->outputs_) {
    TORCH_INTERNAL_ASSERT(!output->HasUses(),
                          "a node whose output is used was destroyed: ", node->kind().toQualString());
    delete output;
  }
  --num_nodes_;
  delete node;
}

void Graph::FreeBlock(Block* block) {
  block->return_node_->RemoveAllInputs();
  // Last to first, so that every use goes before what it uses.
  for (Node* node = block->return_node_->prev_; node != block->param_node_;) {
    Node* prev = node->prev_;
    node->Destroy();
    node = prev;
  }
  for (Value* param : block->param_node_->outputs_) delete param;
  delete block->param_node_;
  delete block->return_node_;
  delete block;
}

Value* Graph::AddInput(TypePtr type, std::string name) {
  Value* input = top_->AddParam(std::move(type));
  input->SetName(std::move(name));
  return input;
}

Node* Graph::Create(Symbol kind, std::span<Value* const> inputs, size_t num_outputs) {
  Node* node = NewNode(kind);
  node->inputs_.reserve(inputs.size());
  for (Value* input : inputs) node->AddInput(input);
  for (size_t i = 0; i < num_outputs; ++i) node->AddOutput(c10::TensorType::get());
  return node;
}

Node* Graph::Insert(Node* node) {
  if (node->range_.source == nullptr) node->range_ = current_range_;
  return node->InsertBefore(insertion_point_);
}

Value* Graph::InsertConstant(c10::IValue value, TypePtr type) {
  Node* node = Create(sym::kConstant, {}, 1);
  node->output()->SetType(type ? std::move(type) : value.type());
  node->SetAttribute(sym::kValueAttr, std::move(value));
  return Insert(node)->output();
}

const InlinedCall* Graph::NewInlinedCall(const InlinedCall* caller, std::string callee, const SourceRange& call_site) {
  inlined_calls_.push_back({caller, std::move(callee), call_site});
  return &inlined_calls_.back();
}

namespace {

// Copies nodes from one graph to another (or the same), keeping track of what every value and inlined call became.
class Cloner {
 public:
  Cloner(Graph* to, const Graph& from, const InlinedCall* under)
      : to_(to), values_(from.value_id_bound()), under_(under) {}
  // Of parts of a graph: what is not copied stands for itself.
  explicit Cloner(Graph* graph) : to_(graph), values_(graph->value_id_bound()), within_(true) {}

  void Map(const Value* from, Value* to) { values_[from->id()] = to; }
  Value* Mapped(const Value* from) const {
    Value* to = values_[from->id()];
    if (to == nullptr && within_) return const_cast<Value*>(from);
    TORCH_INTERNAL_ASSERT(to, "a value is used that the copy does not have");
    return to;
  }

  Node* CloneNode(const Node& node) {
    Node* copy = to_->Create(node.kind(), {}, 0);
    for (const Value* input : node.inputs()) copy->AddInput(Mapped(input));
    for (const Value* output : node.outputs()) Map(output, CopyValue(*output, copy->AddOutput(output->type())));
    for (const auto& [name, value] : node.attributes()) copy->SetAttribute(name, value);
    copy->SetOperator(node.op());
    copy->SetRange(node.range());
    copy->SetInlinedCall(MapCall(node.inlined_call()));
    for (const Block* block : node.blocks()) CloneNestedBlock(*block, copy->AddBlock());
    return copy;
  }

 private:
  static Value* CopyValue(const Value& from, Value* to) {
    to->SetName(from.name());
    return to;
  }

  void CloneNestedBlock(const Block& from, Block* to) {
    for (const Value* param : from.params()) Map(param, CopyValue(*param, to->AddParam(param->type())));
    for (const Node* node : from) to->Append(CloneNode(*node));
    for (const Value* value : from.returns()) to->AddReturn(Mapped(value));
  }

  const InlinedCall* MapCall(const InlinedCall* call) {
    if (within_) return call;
    if (call == nullptr) return under_;
    auto found = calls_.find(call);
    if (found != calls_.end()) return found->second;
    const InlinedCall* copy = to_->NewInlinedCall(MapCall(call->caller), call->callee, call->call_site);
    calls_.emplace(call, copy);
    return copy;
  }

  Graph* to_;
  std::vector<Value*> values_;  // by id in the original
  const InlinedCall* under_ = nullptr;
  bool within_ = false;
  std::unordered_map<const InlinedCall*, const InlinedCall*> calls_;
};

}  // namespace

void Graph::CloneBlockInto(const Block& from, Block* to, std::vector<std::pair<const Value*, Value*>> map,
                           const InlinedCall* under) {
  Cloner cloner(this, *from.graph(), under);
  for (const auto& [original, copy] : map) cloner.Map(original, copy);
  for (const Node* node : from) to->Append(cloner.CloneNode(*node));
  for (const Value* value : from.returns()) to->AddReturn(cloner.Mapped(value));
}

std::vector<Value*> Graph::CopyBlock(const Block& from, std::span<Value* const> arguments) {
  TORCH_INTERNAL_ASSERT(arguments.size() == from.params().size(), "a block has another number of parameters");
  Cloner cloner(this);
  for (size_t i = 0; i < arguments.size(); ++i) cloner.Map(from.param(i), arguments[i]);
  for (const Node* node : from) cloner.CloneNode(*node)->InsertBefore(insertion_point_);
  std::vector<Value*> results;
  for (const Value* value : from.returns()) results.push_back(cloner.Mapped(value));
  return results;
}

std::vector<Value*> Graph::InlineGraph(const Graph& callee, std::span<Value* const> arguments,
                                       const InlinedCall* under) {
  TORCH_INTERNAL_ASSERT(arguments.size() == callee.inputs().size(), "a call has the wrong number of arguments");
  Cloner cloner(this, callee, under);
  for (size_t i = 0; i < arguments.size(); ++i) cloner.Map(callee.inputs()[i], arguments[i]);
  for (const Node* node : *callee.block()) cloner.CloneNode(*node)->InsertBefore(insertion_point_);
  std::vector<Value*> results;
  for (const Value* output : callee.outputs()) results.push_back(cloner.Mapped(output));
  sources_.insert(sources_.end(), callee.sources_.begin(), callee.sources_.end());
  return results;
}

std::unique_ptr<Graph> Graph::Clone() const {
  auto copy = std::make_unique<Graph>();
  std::vector<std::pair<const Value*, Value*>> map;
  for (const Value* input : inputs()) map.emplace_back(input, copy->AddInput(input->type(), input->name()));
  copy->CloneBlockInto(*top_, copy->top_, std::move(map));
  copy->sources_ = sources_;
  return copy;
}

}  // namespace hearth
