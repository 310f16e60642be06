#include "jit/interpreter/work_share.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_nested_tensor_from_tensor_list.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "jit/interpreter/test_support.h"

namespace hearth {
namespace {

// Of a call of the operator with tensors.
WorkMeasure MeasureOf(const std::string& call) {
  const std::unique_ptr<Graph> graph =
      ParseGraph("graph(%a : Tensor, %b : Tensor, %c : Tensor):\n  " + call + "\n  return (%y)\n");
  return WorkMeasureOf(**graph->block()->begin());
}

std::vector<const c10::IValue*> PointersTo(const std::vector<c10::IValue>& values) {
  std::vector<const c10::IValue*> pointers;
  for (const c10::IValue& value : values) pointers.push_back(&value);
  return pointers;
}

bool Alone(WorkMeasure measure, const std::vector<c10::IValue>& operands, int threads = 2) {
  return IsDoneAlone(measure, PointersTo(operands), threads);
}

TEST(WorkShareTest, OperatorsAreMeasuredByTheirClass) {
  EXPECT_EQ(MeasureOf("%y : Tensor = aten::relu(%a)"), WorkMeasure::kElements);
  EXPECT_EQ(MeasureOf("%y : Tensor = aten::relu_(%a)"), WorkMeasure::kElements);
  EXPECT_EQ(MeasureOf("%y : Tensor = aten::linear(%a, %b, %c)"), WorkMeasure::kProduct);
  EXPECT_EQ(MeasureOf("%y : Tensor = aten::bmm(%a, %b)"), WorkMeasure::kProduct);
  EXPECT_EQ(MeasureOf("%y : Tensor = aten::max(%a)"), WorkMeasure::kRows);
  EXPECT_EQ(MeasureOf("%y : Tensor = aten::detach(%a)"), WorkMeasure::kUnknown);
  EXPECT_EQ(MeasureOf("%y : Tensor = aten::dot(%a, %b)"), WorkMeasure::kUnknown);
  EXPECT_EQ(MeasureOf("%y : Tensor = aten::det(%a)"), WorkMeasure::kUnknown);
}

TEST(WorkShareTest, LittleWorkIsDoneAlone) {
  const at::Tensor small = at::empty({1 << 16}), large = at::empty({1 << 22});
  EXPECT_TRUE(Alone(WorkMeasure::kElements, {small, small, 1}));
  EXPECT_FALSE(Alone(WorkMeasure::kElements, {small, large, 1}));
  EXPECT_FALSE(Alone(WorkMeasure::kElements, {c10::List<at::Tensor>({large, small}), 1}));
  EXPECT_TRUE(Alone(WorkMeasure::kElements, {c10::List<at::Tensor>({small, at::Tensor()}), 1}));
  EXPECT_FALSE(Alone(WorkMeasure::kUnknown, {small}));
  // What LibTorch does not share is let be.
  const at::Tensor tiny = at::empty({1000});
  EXPECT_FALSE(Alone(WorkMeasure::kElements, {tiny}));
  EXPECT_TRUE(Alone(WorkMeasure::kRows, {tiny}));
  // Many threads save nearly all of the time, two half of it.
  const at::Tensor medium = at::empty({250'000});
  EXPECT_TRUE(Alone(WorkMeasure::kElements, {medium}, 2));
  EXPECT_FALSE(Alone(WorkMeasure::kElements, {medium}, 16));
}

TEST(WorkShareTest, ProductsCountTheirMultiplications) {
  const at::Tensor left = at::empty({32, 256}), narrow = at::empty({256, 256}), wide = at::empty({256, 4096});
  EXPECT_TRUE(Alone(WorkMeasure::kProduct, {left, narrow}));
  EXPECT_FALSE(Alone(WorkMeasure::kProduct, {left, wide}));
  EXPECT_TRUE(Alone(WorkMeasure::kAddedProduct, {at::empty({4096}), left, narrow}));
  EXPECT_FALSE(Alone(WorkMeasure::kProduct, {left})) << "no product: the operator says what is wrong";
  EXPECT_FALSE(Alone(WorkMeasure::kProduct, {left, c10::IValue()}));
  EXPECT_FALSE(Alone(WorkMeasure::kProduct, {at::Tensor(), narrow}));
  const at::Tensor nested = at::_nested_tensor_from_tensor_list({at::ones({2, 8}), at::ones({3, 9})});
  EXPECT_FALSE(Alone(WorkMeasure::kProduct, {nested, narrow})) << "its sizes are for nobody to ask";
}

TEST(WorkShareTest, ConvolutionsCountTheirMultiplications) {
  const at::Tensor image = at::empty({1, 16, 56, 56});
  EXPECT_TRUE(Alone(WorkMeasure::kConvolution, {image, at::empty({16, 1, 3, 3})}));
  EXPECT_FALSE(Alone(WorkMeasure::kConvolution, {image, at::empty({64, 16, 3, 3})}));
  EXPECT_FALSE(Alone(WorkMeasure::kConvolution, {at::empty({16, 56, 56}), at::empty({16, 1, 3, 3})}));
}

TEST(WorkShareTest, LayersCountTheirMultiplications) {
  const at::Tensor tokens = at::empty({1, 32, 64}), heads = at::empty({1, 4, 32, 16});
  EXPECT_TRUE(Alone(WorkMeasure::kAttention, {heads, heads, heads}));
  EXPECT_FALSE(Alone(WorkMeasure::kAttention, {at::empty({1, 12, 512, 64}), at::empty({1, 12, 512, 64})}));
  EXPECT_TRUE(Alone(WorkMeasure::kLayer, {tokens, 64, at::empty({192, 64}), at::empty({192})}));
  EXPECT_FALSE(Alone(WorkMeasure::kLayer, {tokens, 64, at::empty({3072, 256}), at::empty({192})}));
  // However many steps there are.
  const at::Tensor steps = at::empty({500, 1, 32});
  EXPECT_TRUE(Alone(WorkMeasure::kRecurrence, {steps, at::Tensor(), c10::List<at::Tensor>({at::empty({512, 160})})}));
  EXPECT_FALSE(Alone(WorkMeasure::kRecurrence,
                     {at::empty({500, 64, 32}), at::Tensor(), c10::List<at::Tensor>({at::empty({512, 160})})}));
}

TEST(WorkShareTest, ThreadsComeBack) {
  const int before = at::get_num_threads();
  const c10::IValue small = at::empty({1 << 16});
  const c10::IValue* const operands[] = {&small};
  {
    const WorkShare share(WorkMeasure::kElements, operands);
    EXPECT_EQ(at::get_num_threads(), 1);
  }
  EXPECT_EQ(at::get_num_threads(), before);
  {
    const WorkShare share(WorkMeasure::kUnknown, operands);
    EXPECT_EQ(at::get_num_threads(), before);
  }
}

}  // namespace
}  // namespace hearth
