#include "jit/ir/graph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "jit/ir/symbols.h"

namespace hearth {
namespace {

const Symbol kAdd = Symbol::fromQualString("aten::add");

std::vector<Symbol> KindsOf(const Block& block) {
  std::vector<Symbol> kinds;
  for (const Node* node : block) kinds.push_back(node->kind());
  return kinds;
}

TEST(GraphTest, ANodeIsAUserOfItsInputsAndStopsBeingOneWhenDestroyed) {
  Graph graph;
  Value* x = graph.AddInput(c10::TensorType::get(), "x");
  Node* add = graph.Insert(graph.Create(kAdd, {x, x}));
  EXPECT_EQ(x->uses(), (std::vector<Use>{{add, 0}, {add, 1}}));
  add->Destroy();
  EXPECT_FALSE(x->HasUses());
  EXPECT_TRUE(graph.block()->empty());
}

TEST(GraphTest, RemovingAnInputShiftsTheOffsetsOfLaterUses) {
  Graph graph;
  Value* x = graph.AddInput(c10::TensorType::get());
  Value* y = graph.AddInput(c10::TensorType::get());
  Node* list = graph.Insert(graph.Create(sym::kListConstruct, {x, y, y}));
  list->RemoveInput(0);
  EXPECT_FALSE(x->HasUses());
  for (const Use& use : y->uses()) EXPECT_EQ(use.user->input(use.offset), y);
  list->InsertInput(0, x);
  ASSERT_EQ(list->inputs().size(), 3u);
  EXPECT_EQ(list->input(0), x);
  for (const Use& use : y->uses()) EXPECT_EQ(use.user->input(use.offset), y);
}

TEST(GraphTest, ReplacingAValueMovesEveryUseIncludingBlockReturns) {
  Graph graph;
  Value* x = graph.AddInput(c10::TensorType::get());
  Value* y = graph.AddInput(c10::TensorType::get());
  graph.Insert(graph.Create(kAdd, {x, x}));
  graph.block()->AddReturn(x);
  x->ReplaceAllUsesWith(y);
  EXPECT_FALSE(x->HasUses());
  EXPECT_EQ(y->uses().size(), 3u);
  EXPECT_EQ(graph.outputs()[0], y);
}

TEST(GraphTest, DestroyingAnIfTakesItsBlocksAndTheirUsesWithIt) {
  Graph graph;
  Value* x = graph.AddInput(c10::TensorType::get());
  Value* c = graph.AddInput(c10::BoolType::get());
  Node* branch = graph.Insert(graph.Create(sym::kIf, {c}));
  for (int i = 0; i < 2; ++i) {
    Block* block = branch->AddBlock();
    InsertionGuard guard(&graph, block);
    Value* doubled = graph.Insert(graph.Create(kAdd, {x, x}))->output();
    block->AddReturn(graph.Insert(graph.Create(kAdd, {doubled, x}))->output());
  }
  EXPECT_EQ(x->uses().size(), 6u);
  branch->Destroy();
  EXPECT_FALSE(x->HasUses());
  EXPECT_FALSE(c->HasUses());
}

TEST(GraphTest, IterationAllowsDestroyingTheNodeInHand) {
  Graph graph;
  Value* x = graph.AddInput(c10::TensorType::get());
  for (int i = 0; i < 5; ++i) graph.Insert(graph.Create(kAdd, {x, x}));
  for (Node* node : *graph.block()) node->Destroy();
  EXPECT_TRUE(graph.block()->empty());
  EXPECT_EQ(graph.num_nodes(), 0u);
}

TEST(GraphTest, ACloneHasTheSameNodesAndSharesNothing) {
  Graph graph;
  Value* x = graph.AddInput(c10::TensorType::get(), "x");
  Value* n = graph.AddInput(c10::IntType::get(), "n");
  Value* yes = graph.InsertConstant(true);
  Node* loop = graph.Insert(graph.Create(sym::kLoop, {n, yes, x}));
  Block* body = loop->AddBlock();
  body->AddParam(c10::IntType::get());
  Value* carried = body->AddParam(c10::TensorType::get());
  {
    InsertionGuard guard(&graph, body);
    Value* next = graph.Insert(graph.Create(kAdd, {carried, x}))->output();
    body->AddReturn(yes);
    body->AddReturn(next);
  }
  graph.block()->AddReturn(loop->output());

  std::unique_ptr<Graph> copy = graph.Clone();
  EXPECT_EQ(KindsOf(*copy->block()), KindsOf(*graph.block()));
  Node* copied_loop = copy->outputs()[0]->node();
  ASSERT_EQ(copied_loop->kind(), sym::kLoop);
  Node* copied_add = *copied_loop->block(0)->begin();
  EXPECT_EQ(copied_add->input(0), copied_loop->block(0)->param(1));
  EXPECT_EQ(copied_add->input(1), copy->inputs()[0]);
  EXPECT_EQ(copy->inputs()[0]->name(), "x");
  EXPECT_EQ(copied_loop->block(0)->returns()[0], *copied_loop->input(1)->node()->outputs().begin());
}

TEST(GraphTest, InliningPutsTheCallUnderEveryCopiedNode) {
  Graph inner;
  Value* a = inner.AddInput(c10::TensorType::get());
  const InlinedCall* deep = inner.NewInlinedCall(nullptr, "deep", {});
  Node* add = inner.Insert(inner.Create(kAdd, {a, a}));
  add->SetInlinedCall(deep);
  Node* sum = inner.Insert(inner.Create(kAdd, {add->output(), a}));
  inner.block()->AddReturn(sum->output());

  Graph outer;
  Value* x = outer.AddInput(c10::TensorType::get());
  const InlinedCall* call = outer.NewInlinedCall(nullptr, "inner", {});
  std::vector<Value*> results = outer.InlineGraph(inner, std::vector<Value*>{x}, call);
  outer.block()->AddReturn(results[0]);

  Node* first = *outer.block()->begin();
  ASSERT_NE(first->inlined_call(), nullptr);
  EXPECT_EQ(first->inlined_call()->callee, "deep");
  EXPECT_EQ(first->inlined_call()->caller, call);
  EXPECT_EQ(first->next()->inlined_call(), call);
}

TEST(GraphTest, AVeryDeeplyNestedGraphIsFreedWithoutRecursion) {
  Graph graph;
  Value* c = graph.AddInput(c10::BoolType::get());
  for (int i = 0; i < 200000; ++i) {
    Node* branch = graph.Insert(graph.Create(sym::kIf, {c}, 0));
    branch->AddBlock();
    graph.SetInsertionPoint(branch->AddBlock());
  }
  EXPECT_EQ(graph.num_nodes(), 200000u);
}

}  // namespace
}  // namespace hearth
