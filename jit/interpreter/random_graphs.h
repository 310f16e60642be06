// For tests: random programs of nested branches and loops as Graphs, and what they mean. Strings stand for everything
// that is counted; lists of strings, appended to, for everything that is written: one comes from outside, others are
// made on the way.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/ir/graph.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"
#include "jit/operators/registry.h"

namespace hearth {

// The meaning of a Graph, read off its structure.
class GraphWalker {
 public:
  using IValue = c10::IValue;

  std::vector<IValue> Walk(const Graph& graph, const std::vector<IValue>& arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) values_[graph.inputs()[i]] = arguments[i];
    return WalkBlock(*graph.block());
  }

 private:
  std::vector<IValue> WalkBlock(const Block& block) {
    for (const Node* node : block) WalkNode(node);
    std::vector<IValue> returns;
    for (const Value* value : block.returns()) returns.push_back(values_.at(value));
    return returns;
  }

  void WalkNode(const Node* node) {
    std::vector<IValue> inputs;
    for (const Value* input : node->inputs()) inputs.push_back(values_.at(input));
    std::vector<IValue> outputs;
    if (node->kind() == sym::kConstant) {
      outputs = {node->attribute<IValue>(sym::kValueAttr)};
    } else if (node->kind() == sym::kIf) {
      outputs = WalkBlock(*node->block(inputs[0].toBool() ? 0 : 1));
    } else if (node->kind() == sym::kLoop) {
      const Block& body = *node->block(0);
      outputs.assign(inputs.begin() + 2, inputs.end());
      bool go = inputs[1].toBool();
      for (int64_t i = 0; go && i < inputs[0].toInt(); ++i) {
        values_[body.param(0)] = i;
        for (size_t k = 0; k < outputs.size(); ++k) values_[body.param(k + 1)] = outputs[k];
        std::vector<IValue> returns = WalkBlock(body);
        go = returns[0].toBool();
        outputs.assign(returns.begin() + 1, returns.end());
      }
    } else if (node->kind() == sym::kTupleConstruct) {
      outputs = {c10::ivalue::Tuple::create(inputs)};
    } else if (node->kind() == sym::kListConstruct) {
      c10::impl::GenericList list(node->output()->type()->containedType(0));
      for (const IValue& input : inputs) list.push_back(input);
      outputs = {list};
    } else if (node->kind() == sym::kTupleUnpack) {
      const auto& elements = inputs[0].toTupleRef().elements();
      outputs.assign(elements.begin(), elements.end());
    } else if (node->kind() == sym::kTupleIndex) {
      const auto& elements = inputs[0].toTupleRef().elements();
      const int64_t index = inputs[1].toInt();
      outputs = {elements.at(static_cast<size_t>(index < 0 ? index + static_cast<int64_t>(elements.size()) : index))};
    } else if (node->kind() == sym::kUncheckedCast) {
      outputs = inputs;
    } else {
      node->op()->Run(inputs);
      outputs = inputs;
    }
    for (size_t i = 0; i < outputs.size(); ++i) values_[node->output(i)] = outputs[i];
  }

  std::unordered_map<const Value*, IValue> values_;
};

// Programs of (int, int, str, str, bool, List[str]). With effects, they append to lists and read them; without, the
// order of evaluation is all that matters.
class GraphGenerator {
 public:
  GraphGenerator(uint32_t seed, bool effects) : random_(seed), effects_(effects) {}

  std::unique_ptr<Graph> Generate() {
    auto graph = std::make_unique<Graph>();
    graph_ = graph.get();
    Scope scope;
    for (int i = 0; i < 2; ++i) scope.ints.push_back(graph->AddInput(c10::IntType::get()));
    for (int i = 0; i < 2; ++i) scope.strings.push_back(graph->AddInput(c10::StringType::get()));
    scope.bools.push_back(graph->AddInput(c10::BoolType::get()));
    log_ = graph->AddInput(c10::ListType::ofStrings());
    scope.bools.push_back(graph->InsertConstant(true));
    scope.ints.push_back(graph->InsertConstant(int64_t{3}));
    scope.strings.push_back(graph->InsertConstant("k"));
    Fill(scope, 0);
    std::vector<Value*> results;
    for (int i = 0; i < 3; ++i) results.push_back(Pick(scope.ints));
    for (int i = 0; i < 3; ++i) results.push_back(Pick(scope.strings));
    Node* tuple = graph->Insert(graph->Create(sym::kTupleConstruct, std::span<Value* const>(results)));
    std::vector<TypePtr> types;
    for (const Value* result : results) types.push_back(result->type());
    tuple->output()->SetType(c10::TupleType::create(types));
    graph->block()->AddReturn(tuple->output());
    return graph;
  }

 private:
  struct Scope {
    std::vector<Value*> ints;
    std::vector<Value*> strings;
    std::vector<Value*> bools;
    std::vector<Value*> lists;  // made here, never empty
  };

  int Random(int bound) { return static_cast<int>(random_() % static_cast<uint32_t>(bound)); }
  // Later values rather than earlier ones.
  Value* Pick(const std::vector<Value*>& values) {
    const int size = static_cast<int>(values.size());
    return values[static_cast<size_t>(Random(2) == 0 ? Random(size) : size - 1 - Random(std::min(size, 3)))];
  }

  Value* Operate(const char* name, const char* overload, std::initializer_list<Value*> inputs, TypePtr type) {
    const Symbol symbol = Symbol::fromQualString(name);
    Node* node = graph_->Insert(graph_->Create(symbol, inputs));
    node->SetOperator(OperatorRegistry::Global().Find(symbol, overload));
    node->output()->SetType(std::move(type));
    return node->output();
  }

  void Fill(Scope& scope, int depth) {
    for (int i = 2 + Random(6); i > 0; --i) {
      if (effects_ && Random(4) == 0) Act(scope);
      switch (Random(depth < 3 ? 10 : 6)) {
        case 0:
          scope.ints.push_back(Operate("aten::add", "int", {Pick(scope.ints), Pick(scope.ints)}, c10::IntType::get()));
          break;
        case 1:
          scope.ints.push_back(Operate("aten::mul", "int", {Pick(scope.ints), Pick(scope.ints)}, c10::IntType::get()));
          break;
        case 2:
          scope.bools.push_back(Operate("aten::lt", "int", {Pick(scope.ints), Pick(scope.ints)}, c10::BoolType::get()));
          break;
        case 3: {
          Value* joined =
              Operate("aten::add", "str", {Pick(scope.strings), Pick(scope.strings)}, c10::StringType::get());
          Value* low = graph_->InsertConstant(int64_t{0});
          Value* high = graph_->InsertConstant(int64_t{12});
          Value* step = graph_->InsertConstant(int64_t{1});
          scope.strings.push_back(Operate("aten::slice", "str", {joined, low, high, step}, c10::StringType::get()));
          break;
        }
        case 4:
          scope.ints.push_back(Operate("aten::len", "str", {Pick(scope.strings)}, c10::IntType::get()));
          break;
        case 5: {
          Node* pack = graph_->Insert(graph_->Create(sym::kTupleConstruct, {Pick(scope.strings), Pick(scope.ints)}));
          pack->output()->SetType(c10::TupleType::create({c10::StringType::get(), c10::IntType::get()}));
          Node* unpack = graph_->Insert(graph_->Create(sym::kTupleUnpack, {pack->output()}, 2));
          unpack->output(0)->SetType(c10::StringType::get());
          unpack->output(1)->SetType(c10::IntType::get());
          if (Random(2) == 0) scope.strings.push_back(unpack->output(0));
          scope.ints.push_back(unpack->output(1));
          break;
        }
        case 6:
        case 7:
          Branch(scope, depth);
          break;
        case 8:
          Choose(scope, depth);
          break;
        default:
          Loop(scope, depth);
      }
    }
  }

  void Act(Scope& scope) {
    if (Random(3) == 0) {
      Node* list = graph_->Insert(graph_->Create(sym::kListConstruct, {Pick(scope.strings)}));
      list->output()->SetType(c10::ListType::ofStrings());
      scope.lists.push_back(list->output());
    }
    const bool own = !scope.lists.empty() && Random(2) == 0;
    Value* list = own ? Pick(scope.lists) : log_;
    Operate("aten::append", "t", {list, Pick(scope.strings)}, c10::ListType::ofStrings());
    if (Random(2) == 0) scope.ints.push_back(Operate("aten::len", "t", {list}, c10::IntType::get()));
    if (own && Random(2) == 0) {
      Value* last = graph_->InsertConstant(int64_t{-1});
      scope.strings.push_back(Operate("aten::__getitem__", "t", {list, last}, c10::StringType::get()));
    }
  }

  void Results(const Scope& inner, int ints, int strings, Block* block) {
    for (int i = 0; i < ints; ++i) block->AddReturn(Pick(inner.ints));
    for (int i = 0; i < strings; ++i) block->AddReturn(Pick(inner.strings));
  }

  void Outputs(Node* node, int ints, int strings, Scope& scope) {
    for (int i = 0; i < ints + strings; ++i) {
      const TypePtr type = i < ints ? TypePtr(c10::IntType::get()) : TypePtr(c10::StringType::get());
      (i < ints ? scope.ints : scope.strings).push_back(node->AddOutput(type));
    }
  }

  void Branch(Scope& scope, int depth) {
    const int ints = Random(3);
    const int strings = Random(3);
    Node* node = graph_->Insert(graph_->Create(sym::kIf, {Pick(scope.bools)}, 0));
    for (int i = 0; i < 2; ++i) {
      Block* block = node->AddBlock();
      InsertionGuard guard(graph_, block);
      Scope inner = scope;
      if (Random(4) != 0) Fill(inner, depth + 1);
      Results(inner, ints, strings, block);
    }
    Outputs(node, ints, strings, scope);
  }

  // What may be None, and a branch by whether it is.
  void Choose(Scope& scope, int depth) {
    const TypePtr optional = c10::OptionalType::create(c10::StringType::get());
    Node* choice = graph_->Insert(graph_->Create(sym::kIf, {Pick(scope.bools)}));
    choice->output()->SetType(optional);
    for (const bool there : {true, false}) {
      Block* block = choice->AddBlock();
      InsertionGuard guard(graph_, block);
      block->AddReturn(there ? Pick(scope.strings) : graph_->InsertConstant({}, optional));
    }
    Value* none = graph_->InsertConstant({}, c10::NoneType::get());
    Node* branch =
        graph_->Create(sym::kIf, {Operate("aten::__isnot__", "", {choice->output(), none}, c10::BoolType::get())});
    graph_->Insert(branch)->output()->SetType(c10::StringType::get());
    for (const bool there : {true, false}) {
      Block* block = branch->AddBlock();
      InsertionGuard guard(graph_, block);
      Scope inner = scope;
      if (there) {
        Node* cast = graph_->Insert(graph_->Create(sym::kUncheckedCast, {choice->output()}));
        cast->output()->SetType(c10::StringType::get());
        inner.strings.push_back(cast->output());
      }
      if (Random(2) == 0) Fill(inner, depth + 1);
      block->AddReturn(Pick(inner.strings));
    }
    scope.strings.push_back(branch->output());
  }

  void Loop(Scope& scope, int depth) {
    const int ints = Random(3);
    const int strings = Random(3);
    Value* max = graph_->InsertConstant(int64_t{1 + Random(3)});
    if (Random(3) == 0) max = Operate("aten::remainder", "int", {Pick(scope.ints), max}, c10::IntType::get());
    std::vector<Value*> inputs = {max, Random(2) == 0 ? graph_->InsertConstant(true) : Pick(scope.bools)};
    for (int i = 0; i < ints; ++i) inputs.push_back(Pick(scope.ints));
    for (int i = 0; i < strings; ++i) inputs.push_back(Pick(scope.strings));
    Node* node = graph_->Insert(graph_->Create(sym::kLoop, std::span<Value* const>(inputs), 0));
    Block* body = node->AddBlock();
    {
      InsertionGuard guard(graph_, body);
      Scope inner = scope;
      inner.ints.push_back(body->AddParam(c10::IntType::get()));
      for (int i = 0; i < ints; ++i) inner.ints.push_back(body->AddParam(c10::IntType::get()));
      for (int i = 0; i < strings; ++i) inner.strings.push_back(body->AddParam(c10::StringType::get()));
      if (Random(4) == 0) {
        Value* one = graph_->InsertConstant(int64_t{1});
        inner.bools.push_back(Operate("aten::lt", "int", {body->param(0), one}, c10::BoolType::get()));
      }
      Fill(inner, depth + 1);
      body->AddReturn(Random(2) == 0 ? graph_->InsertConstant(true) : Pick(inner.bools));
      Results(inner, ints, strings, body);
    }
    Outputs(node, ints, strings, scope);
  }

  std::mt19937 random_;
  bool effects_;
  Value* log_ = nullptr;
  Graph* graph_ = nullptr;
};

}  // namespace hearth
