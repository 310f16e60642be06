#include "server/ensembles/ensemble_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/repository/model_config.h"

namespace hearth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

inference::ModelConfig Parse(const std::string& text) { return *ParseModelConfig(text, "config.pbtxt"); }

TEST(EnsembleSchema, NamesAreTheConfigurationsWhateverTheyHold) {
  const auto schema = EnsembleSchema(
      Parse("input { name: 'input.1' data_type: TYPE_FP32 dims: 1 } "
            "input { name: 'words' data_type: TYPE_STRING dims: -1 optional: true } "
            "output { name: '1' data_type: TYPE_FP32 dims: 1 } output { name: '0' data_type: TYPE_STRING dims: 1 }"));
  ASSERT_EQ(schema.arguments().size(), 3);
  EXPECT_EQ(schema.arguments()[1].name(), "input.1");
  EXPECT_EQ(schema.arguments()[2].type()->annotation_str(), "Optional[List[str]]");
  EXPECT_TRUE(schema.arguments()[2].default_value()->isNone());
  const auto answer = AnswerType(schema);
  EXPECT_EQ(answer->schema()->arguments()[0].name(), "1");
  EXPECT_EQ(answer->schema()->arguments()[1].name(), "0");
}

TEST(EnsembleSchema, StringsAreFlatAtTheEdgeAndHaveTheirShapeInside) {
  const auto config = Parse(
      "input { name: 'a' data_type: TYPE_STRING dims: [2, -1] } output { name: 'b' data_type: TYPE_STRING dims: [3] }");
  const auto edge = EdgeConfig(config);
  ASSERT_TRUE(edge.ok()) << edge.status();
  EXPECT_THAT(edge->input(0).reshape().shape(), ElementsAre(-1));
  EXPECT_THAT(*ShapeOfStrings(config.input(0), /*batched=*/false, 6), ElementsAre(2, 3));
  EXPECT_FALSE(ShapeOfStrings(config.input(0), /*batched=*/false, 5).has_value());

  const auto rows = Parse("max_batch_size: 4 input { name: 'a' data_type: TYPE_STRING dims: 1 }");
  EXPECT_EQ(EdgeConfig(rows)->input(0).reshape().shape_size(), 0);
  EXPECT_THAT(*ShapeOfStrings(rows.input(0), /*batched=*/true, 3), ElementsAre(3, 1));
}

TEST(EnsembleSchema, StringsWhoseShapeNobodyCouldTellAreRefused) {
  const auto open = EdgeConfig(Parse("input { name: 'a' data_type: TYPE_STRING dims: [-1, -1] }"));
  EXPECT_THAT(std::string(open.status().message()), HasSubstr("input 'a' of TYPE_STRING has more than one size"));
  const auto rows = EdgeConfig(Parse("max_batch_size: 2 output { name: 'b' data_type: TYPE_STRING dims: 2 }"));
  EXPECT_THAT(std::string(rows.status().message()), HasSubstr("output 'b' of TYPE_STRING has dims other than 1"));
}

}  // namespace
}  // namespace hearth::server
