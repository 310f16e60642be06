#include "jit/passes/split_tuples.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <span>
#include <vector>

#include "jit/analysis/uninitialized.h"
#include "jit/compiler/compilation.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

constexpr size_t kMaxTupleElements = 16;

bool IsMade(const Value& value) { return value.node()->kind() == sym::kTupleConstruct; }
bool IsUninitialized(const Value& value) { return value.node()->kind() == sym::kUninitialized; }

class Splitter {
 public:
  explicit Splitter(Graph& graph) : graph_(graph) { Walk(*graph.block()); }
  bool changed() const { return changed_; }

 private:
  void Walk(const Block& block) {
    for (Node* node : block) {
      for (const Block* inner : node->blocks()) Walk(*inner);
      if (node->kind() == sym::kIf) {
        for (size_t i = node->outputs().size(); i-- > 0;) {
          if (IsWorthSplitting(*node->output(i)) && HasElements(*node, i)) SplitResult(node, i);
        }
      } else if (node->kind() == sym::kLoop) {
        for (size_t i = node->outputs().size(); i-- > 0;) {
          const bool used = node->output(i)->HasUses() || node->block(0)->param(i + 1)->HasUses();
          if (used && IsTuple(*node->output(i)) && IsMade(*node->block(0)->returns()[i + 1]) &&
              (IsUninitialized(*node->input(i + 2)) || !MayBeUninitialized(*node->input(i + 2)))) {
            SplitCarried(node, i);
          }
        }
      }
    }
  }

  // A branch that is left early gives nothing.
  static bool HasElements(const Node& branch, size_t i) {
    const Value& first = *branch.block(0)->returns()[i];
    const Value& second = *branch.block(1)->returns()[i];
    return (IsMade(first) && (IsMade(second) || IsUninitialized(second))) || (IsUninitialized(first) && IsMade(second));
  }

  static bool IsTuple(const Value& value) {
    const auto* type = value.type()->castRaw<c10::TupleType>();
    return type != nullptr && type->elements().size() <= kMaxTupleElements;
  }

  // A tuple that is handed on as it is would have to be made either way.
  static bool IsWorthSplitting(const Value& value) {
    return IsTuple(value) && std::ranges::any_of(value.uses(), [](const Use& use) {
             const Symbol kind = use.user->kind();
             return kind == sym::kTupleUnpack || kind == sym::kTupleIndex || kind == sym::kReturn;
           });
  }

  // A tuple of the type of `like`, not yet in any block.
  Node* Make(std::span<Value* const> elements, const Value& like) {
    Node* tuple = graph_.Create(sym::kTupleConstruct, elements, 1);
    tuple->output()->SetType(like.type());
    tuple->output()->SetName(like.name());
    tuple->SetRange(like.node()->range());
    return tuple;
  }

  // An element of what is made or uninitialized; a node that it needs stands before `place`.
  Value* Element(const Value& tuple, size_t k, Node* place) {
    if (IsMade(tuple)) return tuple.node()->input(k);
    Node* nothing = graph_.Create(sym::kUninitialized, {}, 1);
    nothing->output()->SetType(tuple.type()->expectRef<c10::TupleType>().elements()[k]);
    nothing->SetRange(place->range());
    nothing->SetInlinedCall(place->inlined_call());
    return nothing->InsertBefore(place)->output();
  }

  void SplitResult(Node* branch, size_t i) {
    const Value& whole = *branch->output(i);
    const auto& types = whole.type()->expectRef<c10::TupleType>().elements();
    std::vector<Value*> elements;
    for (size_t k = 0; k < types.size(); ++k) {
      elements.push_back(branch->AddOutput(types[k]));
      for (Block* block : branch->blocks()) {
        block->AddReturn(Element(*block->returns()[i], k, block->return_node()));
      }
    }
    Node* tuple = Make(elements, whole)->InsertAfter(branch);
    branch->output(i)->ReplaceAllUsesWith(tuple->output());
    for (Block* block : branch->blocks()) block->RemoveReturn(i);
    branch->RemoveOutput(i);
    changed_ = true;
  }

  std::vector<Value*> Elements(Value& tuple, Node* place) {
    const auto& types = tuple.type()->expectRef<c10::TupleType>().elements();
    std::vector<Value*> elements;
    if (IsMade(tuple) || IsUninitialized(tuple)) {
      for (size_t k = 0; k < types.size(); ++k) elements.push_back(Element(tuple, k, place));
      return elements;
    }
    Node* apart = graph_.Create(sym::kTupleUnpack, {&tuple}, types.size());
    apart->SetRange(place->range());
    apart->SetInlinedCall(place->inlined_call());
    apart->InsertBefore(place);
    for (size_t k = 0; k < types.size(); ++k) {
      apart->output(k)->SetType(types[k]);
      elements.push_back(apart->output(k));
    }
    return elements;
  }

  void SplitCarried(Node* loop, size_t i) {
    Block* body = loop->block(0);
    const Value& whole = *loop->output(i);
    const auto& types = whole.type()->expectRef<c10::TupleType>().elements();
    const std::vector<Value*> start = Elements(*loop->input(i + 2), loop);
    std::vector<Value*> params;
    std::vector<Value*> outputs;
    const Node& made = *body->returns()[i + 1]->node();
    for (size_t k = 0; k < types.size(); ++k) {
      loop->AddInput(start[k]);
      params.push_back(body->AddParam(types[k]));
      body->AddReturn(made.input(k));
      outputs.push_back(loop->AddOutput(types[k]));
    }
    Node* inside = body->Prepend(Make(params, *body->param(i + 1)));
    body->param(i + 1)->ReplaceAllUsesWith(inside->output());
    Node* behind = Make(outputs, whole)->InsertAfter(loop);
    loop->output(i)->ReplaceAllUsesWith(behind->output());
    body->RemoveReturn(i + 1);
    body->RemoveParam(i + 1);
    loop->RemoveInput(i + 2);
    loop->RemoveOutput(i);
    changed_ = true;
  }

  Graph& graph_;
  bool changed_ = false;
};

}  // namespace

bool SplitTuples(Compilation& compilation) { return Splitter(compilation.graph()).changed(); }

}  // namespace hearth
