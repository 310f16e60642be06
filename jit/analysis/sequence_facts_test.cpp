// What is inferred of layers of sequences is held against what LibTorch gives.
#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>
#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jit/analysis/test_support.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/interpreter/random_graphs.h"
#include "jit/ir/parser.h"

namespace hearth {
namespace {

using c10::IValue;

constexpr int64_t kInputs = 5, kHidden = 4;

struct Layer {
  const char* name;
  int64_t gates;
  bool has_memory;
};

// Weights and biases of one layer are arguments of the graph, as the input and the state are.
std::string GraphOf(const Layer& layer, int64_t directions, bool batch_first) {
  std::string parameters, list;
  for (int64_t i = 0; i < 4 * directions; ++i) {
    parameters += c10::str(", %p", i, " : Tensor");
    list += c10::str(i == 0 ? "" : ", ", "%p", i);
  }
  const char* const state = layer.has_memory ? "%states" : "%h";
  return c10::str("graph(%x : Tensor, %h : Tensor, %c : Tensor", parameters, "):\n",
                  "  %one : int = prim::Constant[value=1]()\n  %zero : float = prim::Constant[value=0.]()\n",
                  "  %yes : bool = prim::Constant[value=True]()\n  %no : bool = prim::Constant[value=False]()\n",
                  "  %states : List[Tensor] = prim::ListConstruct(%h, %c)\n",
                  "  %parameters : List[Tensor] = prim::ListConstruct(", list, ")\n  %y : Tensor, %last : Tensor",
                  layer.has_memory ? ", %memory : Tensor" : "", " = ", layer.name, ".input(%x, ", state,
                  ", %parameters, %yes, %one, %zero, %no, ", directions == 2 ? "%yes" : "%no", ", ",
                  batch_first ? "%yes" : "%no", ")\n  return (%y, %last", layer.has_memory ? ", %memory" : "", ")\n");
}

std::vector<IValue> ArgumentsOf(const Layer& layer, int64_t directions, std::vector<int64_t> sizes, int64_t sequences) {
  sizes.push_back(kInputs);
  const at::Tensor state = at::rand({directions, sequences, kHidden});
  std::vector<IValue> arguments = {at::rand(sizes), state, state.clone()};
  for (int64_t i = 0; i < directions; ++i) {
    for (const int64_t width : {kInputs, kHidden}) arguments.emplace_back(at::rand({layer.gates * kHidden, width}));
    for (int bias = 0; bias < 2; ++bias) arguments.emplace_back(at::rand({layer.gates * kHidden}));
  }
  return arguments;
}

TEST(SequenceFactsTest, WhatIsInferredOfRecurrentLayersIsWhatLibTorchGives) {
  size_t known = 0;
  for (const Layer& layer : {Layer{"aten::lstm", 4, true}, Layer{"aten::gru", 3, false},
                             Layer{"aten::rnn_tanh", 1, false}, Layer{"aten::rnn_relu", 1, false}}) {
    for (const int64_t directions : {1, 2}) {
      for (const bool batch_first : {false, true}) {
        const std::string text = GraphOf(layer, directions, batch_first);
        const std::unique_ptr<Graph> graph = ParseGraph(text);
        for (const auto& [steps, sequences] : {std::pair<int64_t, int64_t>{3, 2}, {1, 2}, {3, 1}, {1, 1}}) {
          SCOPED_TRACE(c10::str(text, steps, " steps, ", sequences, " sequences"));
          const std::vector<IValue> arguments =
              ArgumentsOf(layer, directions,
                          batch_first ? std::vector{sequences, steps} : std::vector{steps, sequences}, sequences);
          const WrittenMemory memory(*graph, nullptr);
          SizeAlgebra sizes;
          ValueFactTable table(*graph, ArgumentSpec::Of(arguments).value().Facts(), memory, sizes);
          table.InferAll();
          const std::vector<IValue> results = GraphWalker().Walk(*graph, arguments);
          const KnownArguments of_arguments(&table, *graph, arguments);
          for (size_t i = 0; i < results.size(); ++i) {
            EXPECT_TRUE(table.Of(*graph->outputs()[i]).order.is_known());
            known += ExpectHolds(table.Of(*graph->outputs()[i]), results[i], of_arguments);
          }
        }
      }
    }
  }
  EXPECT_GT(known, 0);
}

// Two convolutions and an activation between them.
void ExpectConvolutionsAreTold(const Graph& graph, int64_t batch, int64_t channels, int64_t kernel, int64_t length) {
  SCOPED_TRACE(c10::str(batch, " x ", channels, " x ", length, ", kernel ", kernel));
  const std::vector<IValue> arguments = {at::rand({batch, channels, length}), at::rand({4, channels, kernel}),
                                         at::rand({4, 4, kernel}), at::rand({4})};
  const WrittenMemory memory(graph, nullptr);
  SizeAlgebra sizes;
  ValueFactTable table(graph, ArgumentSpec::Of(arguments).value().Facts(), memory, sizes);
  table.InferAll();
  std::vector<IValue> results;
  try {
    results = GraphWalker().Walk(graph, arguments);
  } catch (const std::exception&) {
    return;  // a kernel that is longer than what it is given
  }
  // Of an argument with a dimension of size 1 a spec does not say which strides it has.
  const bool is_told = batch > 1 && channels > 1 && kernel > 1 && length > 1;
  for (size_t i = 0; i < results.size(); ++i) {
    const ValueFacts& facts = table.Of(*graph.outputs()[i]);
    EXPECT_TRUE(facts.order.is_known() || !is_told);
    ExpectHolds(facts, results[i], KnownArguments(&table, graph, arguments));
  }
}

// The order of what a convolution gives is known of dense sequences of any length, one step among them.
TEST(SequenceFactsTest, WhatIsInferredOfConvolutionsIsWhatLibTorchGives) {
  for (const auto& [stride, padding] : {std::pair<int64_t, int64_t>{1, 0}, {1, 1}, {2, 0}, {2, 1}}) {
    const std::string text = c10::str(
        "graph(%x : Tensor, %w : Tensor, %v : Tensor, %b : Tensor):\n  %one : int = prim::Constant[value=1]()\n",
        "  %ones : List[int] = prim::Constant[value=[1]]()\n  %stride : List[int] = prim::Constant[value=[", stride,
        "]]()\n  %padding : List[int] = prim::Constant[value=[", padding, "]]()\n",
        "  %y : Tensor = aten::conv1d(%x, %w, %b, %stride, %padding, %ones, %one)\n  %a : Tensor = aten::relu(%y)\n",
        "  %z : Tensor = aten::conv1d(%a, %v, %b, %stride, %padding, %ones, %one)\n  return (%y, %z)\n");
    SCOPED_TRACE(text);
    const std::unique_ptr<Graph> graph = ParseGraph(text);
    for (const int64_t batch : {1, 3}) {
      for (const int64_t channels : {1, 2, 5}) {
        for (const int64_t length : {1, 2, 3, 5, 9, 40}) {
          for (const int64_t kernel : {1, 3}) ExpectConvolutionsAreTold(*graph, batch, channels, kernel, length);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hearth
