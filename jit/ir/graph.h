// The intermediate representation: a Graph in SSA form with structured control flow.
//
// A Graph owns a tree of Blocks; a Block is a list of Nodes with parameters and returns; a Node is one operation with
// inputs, outputs, attributes and, for control flow, nested Blocks. A Value is a Node's output or a Block's parameter,
// has a c10::Type, and is defined once. A Block sees its own values and those of the Blocks around it, defined earlier.
//
// Control flow:
//   %r, ... = prim::If(%cond)
//       Two blocks without parameters; their returns become the outputs.
//   %r, ... = prim::Loop(%max, %start, %i, ...)
//       One block: parameters (trip counter, carried...), returns (continue?, carried...).
//   %r, ... = prim::With(%manager)
//       One block with one parameter, what __enter__ gave; its returns become the outputs. __exit__ runs after it, also
//       when it raises.
//   %r = prim::fork(%captured, ...), prim::awaitable
//       One block, the closure's body: parameters mirror the captured inputs, its single return is the result.
//
// Use lists are kept right by the mutation functions here; no pass touches them by hand. Nodes are owned by the Graph
// and die with Node::Destroy or with it. A Graph is not thread-safe; a finished one may be read by many threads.
//
// The structure follows the SSA form with block arguments of MLIR and the TorchScript IR.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/interned_strings.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type_base.h>

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "jit/support/source_range.h"

namespace hearth {

using c10::Symbol;
using c10::TypePtr;

class Block;
class Graph;
class Node;
class Operator;
class Value;

// One place where a Value is read: input `offset` of `user`. A Block's returns are inputs of its return node.
struct Use {
  Node* user;
  size_t offset;
  bool operator==(const Use&) const = default;
};

// A call that was replaced by the callee's body. The chain from a Node outwards is its call stack at run time,
// innermost first; owned by the Graph.
struct InlinedCall {
  const InlinedCall* caller = nullptr;  // null in the method that was called from outside
  std::string callee;                   // the inlined function's qualified name
  SourceRange call_site;                // of the call, in the caller
};

class Value {
 public:
  const TypePtr& type() const { return type_; }
  void SetType(TypePtr type) { type_ = std::move(type); }

  // The node that defines it; for a Block's parameter, the block's parameter node (kind prim::Param).
  Node* node() const { return node_; }
  // Which of that node's outputs it is.
  size_t offset() const { return offset_; }
  // Unique in the Graph, in order of creation.
  size_t id() const { return id_; }

  // The source's name for it, without meaning; may be empty and need not be unique.
  const std::string& name() const { return name_; }
  void SetName(std::string name) { name_ = std::move(name); }

  const std::vector<Use>& uses() const { return uses_; }
  bool HasUses() const { return !uses_.empty(); }
  void ReplaceAllUsesWith(Value* replacement);

 private:
  friend class Graph;
  friend class Node;
  Value(Node* node, size_t offset, size_t id, TypePtr type)
      : node_(node), offset_(offset), id_(id), type_(std::move(type)) {}

  Node* node_;
  size_t offset_;
  size_t id_;
  TypePtr type_;
  std::string name_;
  std::vector<Use> uses_;
};

// What a Node may carry beside its inputs. A prim::Constant has the IValue `value`; prim::GetAttr the string `name`;
// prim::isinstance the types `types`; prim::CallFunction the callee as `function` (kept alive by the
// CompilationUnit).
using Attribute = std::variant<int64_t, std::string, c10::IValue, TypePtr, std::vector<TypePtr>, torch::jit::Function*>;

class Node {
 public:
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Symbol kind() const { return kind_; }
  Graph* graph() const { return graph_; }
  // The block whose list it is in; null while it is not in one.
  Block* block() const { return block_; }
  Node* next() const { return next_; }
  Node* prev() const { return prev_; }

  const SourceRange& range() const { return range_; }
  void SetRange(const SourceRange& range) { range_ = range; }
  const InlinedCall* inlined_call() const { return inlined_call_; }
  void SetInlinedCall(const InlinedCall* call) { inlined_call_ = call; }

  // The registered operator that this node calls; null for what the interpreter itself defines (constants, control
  // flow, containers, attributes, calls).
  const Operator* op() const { return op_; }
  void SetOperator(const Operator* op) { op_ = op; }

  std::span<Value* const> inputs() const { return inputs_; }
  Value* input(size_t i) const { return inputs_[i]; }
  Value* input() const { return inputs_.front(); }
  void AddInput(Value* value);
  void InsertInput(size_t i, Value* value);
  void ReplaceInput(size_t i, Value* value);
  void RemoveInput(size_t i);
  void RemoveAllInputs();

  std::span<Value* const> outputs() const { return outputs_; }
  Value* output(size_t i) const { return outputs_[i]; }
  Value* output() const { return outputs_.front(); }
  Value* AddOutput(TypePtr type);
  // The output must have no uses.
  void RemoveOutput(size_t i);

  std::span<Block* const> blocks() const { return blocks_; }
  Block* block(size_t i) const { return blocks_[i]; }
  Block* AddBlock();
  void RemoveBlock(size_t i);

  bool HasAttribute(Symbol name) const { return FindAttribute(name) != nullptr; }
  const Attribute* FindAttribute(Symbol name) const;
  void SetAttribute(Symbol name, Attribute value);
  std::span<const std::pair<Symbol, Attribute>> attributes() const { return attributes_; }
  // The attribute must be there and of that kind.
  template <typename T>
  const T& attribute(Symbol name) const {
    return std::get<T>(*FindAttribute(name));
  }

  // List position. The node must not be in a list before Insert*, and must be in one before Move*.
  Node* InsertBefore(Node* other);
  Node* InsertAfter(Node* other);
  void MoveBefore(Node* other);
  void MoveAfter(Node* other);
  // Takes it out of its block and frees it with its blocks. Its outputs must have no uses.
  void Destroy();

 private:
  friend class Block;
  friend class Graph;
  friend class Value;
  Node(Graph* graph, Symbol kind) : graph_(graph), kind_(kind) {}
  void Unlink();
  void DropUse(size_t i);
  // After inputs came or went: tells the uses of those from `first` on which inputs they are now.
  void RenumberInputs(size_t first);

  Graph* graph_;
  Symbol kind_;
  Block* block_ = nullptr;
  Node* next_ = nullptr;
  Node* prev_ = nullptr;
  const Operator* op_ = nullptr;
  const InlinedCall* inlined_call_ = nullptr;
  SourceRange range_;
  std::vector<Value*> inputs_;
  std::vector<size_t> places_;  // by input: where its Use stands in the value's list
  std::vector<Value*> outputs_;
  std::vector<Block*> blocks_;
  std::vector<std::pair<Symbol, Attribute>> attributes_;
};

// A list of Nodes. The list runs from the parameter node (kind prim::Param, outputs = parameters) to the return node
// (kind prim::Return, inputs = returns); iteration gives what lies between. The node in hand may be destroyed or moved
// while iterating if the iterator was advanced first; `for (Node* n : block)` reads next() before the body runs.
class Block {
 public:
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  Graph* graph() const { return graph_; }
  // The node whose block it is; null for a Graph's top block.
  Node* owner() const { return owner_; }

  std::span<Value* const> params() const { return param_node_->outputs(); }
  Value* param(size_t i) const { return param_node_->output(i); }
  Value* AddParam(TypePtr type) { return param_node_->AddOutput(std::move(type)); }
  void RemoveParam(size_t i) { param_node_->RemoveOutput(i); }

  std::span<Value* const> returns() const { return return_node_->inputs(); }
  size_t AddReturn(Value* value);
  void RemoveReturn(size_t i) { return_node_->RemoveInput(i); }

  Node* param_node() const { return param_node_; }
  Node* return_node() const { return return_node_; }
  bool empty() const { return param_node_->next() == return_node_; }

  Node* Append(Node* node) { return node->InsertBefore(return_node_); }
  Node* Prepend(Node* node) { return node->InsertAfter(param_node_); }

  class Iterator {
   public:
    using value_type = Node*;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(Node* node) : node_(node), next_(node->next()) {}
    Node* operator*() const { return node_; }
    Iterator& operator++() {
      node_ = next_;
      next_ = node_->next();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return node_ != other.node_; }

   private:
    Node* node_;
    Node* next_;
  };
  // An insertion right after the node in hand is not visited; one at the very end (before the return node) is, unless
  // made while the last node is in hand.
  Iterator begin() const { return Iterator(param_node_->next()); }
  Iterator end() const { return Iterator(return_node_); }

 private:
  friend class Graph;
  friend class Node;
  Block(Graph* graph, Node* owner) : graph_(graph), owner_(owner) {}

  Graph* graph_;
  Node* owner_;
  Node* param_node_ = nullptr;
  Node* return_node_ = nullptr;
};

class Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Block* block() const { return top_; }
  std::span<Value* const> inputs() const { return top_->params(); }
  std::span<Value* const> outputs() const { return top_->returns(); }
  Value* AddInput(TypePtr type, std::string name = "");

  // A new node, not yet in any list. `num_outputs` outputs of type Tensor, to be given their types by the caller.
  Node* Create(Symbol kind, std::span<Value* const> inputs = {}, size_t num_outputs = 1);
  Node* Create(Symbol kind, std::initializer_list<Value*> inputs, size_t num_outputs = 1) {
    return Create(kind, std::span<Value* const>(inputs.begin(), inputs.size()), num_outputs);
  }

  // Where Insert puts nodes: before this node. Starts at the top block's end.
  Node* insertion_point() const { return insertion_point_; }
  void SetInsertionPoint(Node* before) { insertion_point_ = before; }
  void SetInsertionPoint(Block* at_end_of) { insertion_point_ = at_end_of->return_node(); }
  // Puts the node there; it gets the current range if it has none of its own.
  Node* Insert(Node* node);
  // A prim::Constant at the insertion point. `type` may be more precise than the value tells (an empty list, an
  // Optional's None); null asks the value.
  Value* InsertConstant(c10::IValue value, TypePtr type = nullptr);

  // Given to nodes that Insert puts in.
  void SetCurrentRange(const SourceRange& range) { current_range_ = range; }
  const SourceRange& current_range() const { return current_range_; }
  const InlinedCall* NewInlinedCall(const InlinedCall* caller, std::string callee, const SourceRange& call_site);

  // Copies `from`'s nodes and returns into `to`, where `map(value)` gives what stands for a value defined outside of
  // `from` or a parameter of it. Parameters of `to` are not made; nested blocks are copied whole.
  // The copies' inlined calls are those of the originals with `under` below their outermost one.
  void CloneBlockInto(const Block& from, Block* to, std::vector<std::pair<const Value*, Value*>> map,
                      const InlinedCall* under = nullptr);
  // Copies the nodes of a block of this Graph to the insertion point with `arguments` for its parameters; gives what
  // its returns became.
  std::vector<Value*> CopyBlock(const Block& from, std::span<Value* const> arguments);
  // Copies the body of `callee` to the insertion point with `arguments` for its inputs; gives what its outputs became.
  std::vector<Value*> InlineGraph(const Graph& callee, std::span<Value* const> arguments,
                                  const InlinedCall* under = nullptr);
  std::unique_ptr<Graph> Clone() const;

  // Keeps a text alive that ranges of this Graph's nodes point into.
  void KeepSource(std::shared_ptr<const Source> source) { sources_.push_back(std::move(source)); }

  size_t num_nodes() const { return num_nodes_; }
  // One more than the largest Value id so far.
  size_t value_id_bound() const { return next_value_id_; }

 private:
  friend class Block;
  friend class Node;
  Value* NewValue(Node* node, size_t offset, TypePtr type);
  Node* NewNode(Symbol kind);
  Block* NewBlock(Node* owner);
  void FreeNode(Node* node);
  void FreeBlock(Block* block);

  Block* top_ = nullptr;
  Node* insertion_point_ = nullptr;
  SourceRange current_range_;
  size_t next_value_id_ = 0;
  size_t num_nodes_ = 0;
  std::deque<InlinedCall> inlined_calls_;
  std::vector<std::shared_ptr<const Source>> sources_;
};

// Sets the insertion point for a scope and puts the old one back.
class InsertionGuard {
 public:
  InsertionGuard(Graph* graph, Node* before) : graph_(graph), saved_(graph->insertion_point()) {
    graph->SetInsertionPoint(before);
  }
  InsertionGuard(Graph* graph, Block* at_end_of) : InsertionGuard(graph, at_end_of->return_node()) {}
  ~InsertionGuard() { graph_->SetInsertionPoint(saved_); }
  InsertionGuard(const InsertionGuard&) = delete;
  InsertionGuard& operator=(const InsertionGuard&) = delete;

 private:
  Graph* graph_;
  Node* saved_;
};

inline bool IsTensor(const Value& value) { return value.type()->kind() == c10::TypeKind::TensorType; }

}  // namespace hearth
