#include "server/repository/ensemble_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/repository/model_config.h"

namespace hearth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kEdges =
    "input { name: 'x' data_type: TYPE_FP32 dims: 1 } output { name: 'y' data_type: TYPE_FP32 dims: 1 } ";

absl::StatusOr<EnsembleGraph> GraphOf(const std::string& steps, const std::string& edges = kEdges) {
  auto config = ParseModelConfig(edges + "ensemble_scheduling { " + steps + " }", "config.pbtxt");
  EXPECT_TRUE(config.ok()) << config.status();
  config->set_name("e");
  return EnsembleGraph::Create(*config);
}

std::string StepText(const std::string& model, const std::string& from, const std::string& to) {
  return "step { model_name: '" + model + "' input_map { key: 'in' value: '" + from +
         "' } output_map { key: 'out' value: '" + to + "' } } ";
}

std::string WhyRefused(const std::string& steps, const std::string& edges = kEdges) {
  return std::string(GraphOf(steps, edges).status().message());
}

TEST(EnsembleGraph, TensorsGoFromInputsThroughStepsToOutputsInWhateverOrderStepsAreWritten) {
  const auto graph = GraphOf(StepText("b", "t", "y") + StepText("a", "x", "t"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_EQ(graph->steps().size(), 2);
  EXPECT_EQ(graph->NameOf(1), "step 2 ('a')");
  ASSERT_EQ(graph->inputs().size(), 1);
  EXPECT_THAT(graph->tensors()[graph->inputs()[0]].takers, ElementsAre(1));
  EXPECT_TRUE(graph->tensors()[graph->outputs()[0]].is_output);
  EXPECT_EQ(graph->steps()[0].inputs[0].tensor, graph->steps()[1].outputs[0].tensor);
}

TEST(EnsembleGraph, AVersionIsANumberOrAny) {
  const std::string step = "input_map { key: 'in' value: 'x' } output_map { key: 'out' value: 'y' } ";
  EXPECT_EQ(GraphOf("step { model_name: 'a' " + step + "}")->steps()[0].version, "");
  EXPECT_EQ(GraphOf("step { model_name: 'a' model_version: -1 " + step + "}")->steps()[0].version, "");
  EXPECT_EQ(GraphOf("step { model_name: 'a' model_version: 3 " + step + "}")->steps()[0].version, "3");
  EXPECT_THAT(WhyRefused("step { model_name: 'a' model_version: -2 " + step + "}"), HasSubstr("model_version -2"));
}

TEST(EnsembleGraph, WhatIsNotSoundIsRefusedWithTheStep) {
  const std::string ok = StepText("a", "x", "y");
  EXPECT_EQ(WhyRefused(""), "ensemble_scheduling has no step");
  EXPECT_THAT(WhyRefused(ok, "output { name: 'y' data_type: TYPE_FP32 dims: 1 } "),
              HasSubstr("inputs must be declared"));
  EXPECT_THAT(WhyRefused(ok, "input { name: 'x' data_type: TYPE_FP32 dims: 1 } "),
              HasSubstr("outputs must be declared"));
  EXPECT_THAT(WhyRefused(StepText("", "x", "y")), HasSubstr("step[0] has no model_name"));
  EXPECT_THAT(WhyRefused(StepText("a/b", "x", "y")), HasSubstr("path separator"));
  EXPECT_THAT(WhyRefused(StepText("e", "x", "y")), HasSubstr("is the ensemble itself"));
  EXPECT_THAT(WhyRefused(StepText("a", "x", "t")), HasSubstr("no step makes the output 'y'"));
  EXPECT_THAT(WhyRefused(ok + StepText("b", "z", "y2")), HasSubstr("step[1] ('b') takes the tensor 'z'"));
  EXPECT_THAT(WhyRefused(ok + StepText("b", "x", "y")), HasSubstr("step[1] ('b') makes the tensor 'y', which step 1"));
  EXPECT_THAT(WhyRefused(ok + StepText("b", "y", "x")), HasSubstr("'x', which is an input of the ensemble"));
  EXPECT_THAT(WhyRefused(ok + StepText("b", "x", "t")), HasSubstr("the tensor 't' is of use to no step"));
  EXPECT_THAT(WhyRefused(ok, std::string(kEdges) + "input { name: 'z' data_type: TYPE_FP32 dims: 1 } "),
              HasSubstr("the tensor 'z' is of use to no step"));
  EXPECT_THAT(WhyRefused("step { model_name: 'a' input_map { key: 'in' value: 'x' } }"),
              HasSubstr("has no output_map"));
  EXPECT_THAT(WhyRefused("step { model_name: 'a' model_namespace: 'n' }"), HasSubstr("model_namespace"));
}

TEST(EnsembleGraph, StepsThatWaitForEachOtherAreNamed) {
  const std::string two =
      "step { model_name: 'a' input_map { key: 'in' value: 'x' } input_map { key: 'back' value: 'u' } "
      "output_map { key: 'out' value: 't' } } ";
  EXPECT_THAT(WhyRefused(two + StepText("b", "t", "u") + StepText("c", "u", "y")),
              HasSubstr("wait for each other's outputs: step 1 ('a'), step 2 ('b'), step 3 ('c')"));
}

TEST(EnsembleGraph, ATensorMayGoToOneStepTwice) {
  const auto graph = GraphOf(
      "step { model_name: 'a' input_map { key: 'p' value: 'x' } input_map { key: 'q' value: 'x' } "
      "output_map { key: 'out' value: 'y' } }");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(graph->tensors()[graph->inputs()[0]].takers, ElementsAre(0, 0));
}

TEST(EnsembleGraph, MoreStepsThanAnEnsembleMayHaveAreRefused) {
  std::string steps;
  for (int i = 0; i <= kMostEnsembleSteps; ++i) steps += StepText("a", "x", "t" + std::to_string(i));
  EXPECT_THAT(WhyRefused(steps), HasSubstr("it may have 256"));
}

}  // namespace
}  // namespace hearth::server
