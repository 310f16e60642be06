// Random programs of nested branches and loops, run as Code and by walking the Graph with a table of values: whatever
// registers were chosen, the answers agree and nothing is left alive.
#include "jit/interpreter/lowering.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

#include "jit/interpreter/interpreter.h"
#include "jit/ir/printer.h"
#include "jit/ir/symbols.h"
#include "jit/ir/verifier.h"
#include "jit/operators/registry.h"

namespace hearth {
namespace {

using c10::IValue;

// The meaning of a Graph, read off its structure.
class Walker {
 public:
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
    } else if (node->kind() == sym::kTupleUnpack) {
      const auto& elements = inputs[0].toTupleRef().elements();
      outputs.assign(elements.begin(), elements.end());
    } else {
      node->op()->Run(inputs);
      outputs = inputs;
    }
    for (size_t i = 0; i < outputs.size(); ++i) values_[node->output(i)] = outputs[i];
  }

  std::unordered_map<const Value*, IValue> values_;
};

// Strings stand for everything that is counted; they are immutable, so that order of evaluation is all that matters.
class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  std::unique_ptr<Graph> Generate() {
    auto graph = std::make_unique<Graph>();
    graph_ = graph.get();
    Scope scope;
    for (int i = 0; i < 2; ++i) scope.ints.push_back(graph->AddInput(c10::IntType::get()));
    for (int i = 0; i < 2; ++i) scope.strings.push_back(graph->AddInput(c10::StringType::get()));
    scope.bools.push_back(graph->AddInput(c10::BoolType::get()));
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
      switch (Random(depth < 3 ? 9 : 6)) {
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
        default:
          Loop(scope, depth);
      }
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

  void Loop(Scope& scope, int depth) {
    const int ints = Random(3);
    const int strings = Random(3);
    Value* max = graph_->InsertConstant(int64_t{Random(4)});
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
      Fill(inner, depth + 1);
      body->AddReturn(Random(2) == 0 ? graph_->InsertConstant(true) : Pick(inner.bools));
      Results(inner, ints, strings, body);
    }
    Outputs(node, ints, strings, scope);
  }

  std::mt19937 random_;
  Graph* graph_ = nullptr;
};

TEST(LoweringTest, RandomProgramsGiveWhatTheirGraphMeans) {
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    const std::unique_ptr<Graph> graph = Generator(seed).Generate();
    ASSERT_NO_THROW(Verify(*graph)) << PrintGraph(*graph);
    const auto code = CompileCode(*graph, "f");
    for (const bool flag : {false, true}) {
      const std::vector<IValue> arguments = {2, -5, "ab", "xyz", flag};
      const IValue expected = Walker().Walk(*graph, arguments)[0];
      RunOptions options;
      options.token = std::make_shared<CancellationToken>();
      options.token->SetDeadline(std::chrono::steady_clock::now() + std::chrono::seconds(20));
      IValue actual;
      ASSERT_NO_THROW(actual = hearth::Run(*code, arguments, options)) << "seed " << seed << "\n"
                                                                       << PrintGraph(*graph) << DumpCode(*code);
      ASSERT_EQ(actual, expected) << "seed " << seed << "\n" << PrintGraph(*graph) << DumpCode(*code);
      // One reference is the argument list's own.
      for (const IValue& argument : arguments) {
        if (argument.isString()) {
          const size_t in_result = static_cast<size_t>(
              std::count_if(actual.toTupleRef().elements().begin(), actual.toTupleRef().elements().end(),
                            [&](const IValue& element) { return element.is(argument); }) +
              std::count_if(expected.toTupleRef().elements().begin(), expected.toTupleRef().elements().end(),
                            [&](const IValue& element) { return element.is(argument); }));
          ASSERT_EQ(argument.use_count(), 1 + in_result) << "seed " << seed << "\n" << DumpCode(*code);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hearth
