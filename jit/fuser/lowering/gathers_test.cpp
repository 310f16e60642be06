// Kernels that pick elements by ids (definitions/gather_rules.h), as the evaluator runs them, beside LibTorch's
// operators.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "jit/analysis/argument_spec.h"
#include "jit/analysis/exact_shape.h"
#include "jit/analysis/written_memory.h"
#include "jit/fuser/ir/aten_testing.h"
#include "jit/fuser/lowering/group_lowering.h"
#include "jit/ir/parser.h"

namespace hearth {
namespace {

using c10::IValue;

std::optional<LoweredGroup> Lower(const std::string& statement, const at::Tensor& tensor, const at::Tensor& ids,
                                  c10::Device device = c10::kCPU) {
  const std::unique_ptr<Graph> graph = ParseGraph(
      "graph(%x : Tensor, %ids : Tensor):\n"
      "  %none : NoneType = prim::Constant[value=None]()\n"
      "  %false : bool = prim::Constant[value=False]()\n"
      "  %d : int = prim::Constant[value=1]()\n"
      "  %last : int = prim::Constant[value=-1]()\n" +
      statement + "  return (%y)\n");
  const std::vector<IValue> arguments = {tensor, ids};
  const WrittenMemory written(*graph, nullptr);
  SizeAlgebra sizes;
  std::vector<ArgumentFacts> of_arguments = ArgumentSpec::Of(arguments).value().Facts();
  ExactShape::Of(arguments).value().AddTo(of_arguments);
  for (ArgumentFacts& argument : of_arguments) argument.tensor.device = device;
  ValueFactTable facts(*graph, of_arguments, written, sizes);
  facts.InferAll();
  const Value* output = graph->outputs()[0];
  return LowerGroup({{output->node()}, {output}}, facts);
}

void ExpectKernelGives(const std::string& statement, const at::Tensor& tensor, const at::Tensor& ids,
                       const at::Tensor& expected) {
  const std::optional<LoweredGroup> lowered = Lower(statement, tensor, ids);
  ASSERT_TRUE(lowered.has_value()) << statement;
  std::vector<int64_t> symbols;
  for (const fuser::KernelSignature::Symbol& symbol : lowered->signature.symbols) {
    const std::vector<at::Tensor> operands = {{}, tensor, ids};
    if (symbol.kind == fuser::KernelSignature::Symbol::Kind::kStride) {
      symbols.push_back(operands[symbol.operand].stride(symbol.dimension));
      continue;
    }
    int64_t product = 1;
    for (const uint16_t extent : symbol.extents) {
      const fuser::KernelSignature::Extent& from = lowered->signature.extents[extent];
      product *= operands[lowered->signature.inputs[from.input].operand].size(from.dimension);
    }
    symbols.push_back(product);
  }
  const at::Tensor actual = at::full(expected.sizes(), 77, expected.options());
  fuser::RunOnTensors(lowered->kernel, symbols, {tensor, ids, actual});
  EXPECT_TRUE(at::equal(actual, expected)) << statement << actual << expected;
}

const char kEmbedding[] = "  %y : Tensor = aten::embedding(%x, %ids, %last, %false, %false)\n";
const char kSelect[] = "  %y : Tensor = aten::index_select(%x, %d, %ids)\n";
const char kIndex[] =
    "  %list : List[Optional[Tensor]] = prim::ListConstruct(%none, %ids)\n"
    "  %y : Tensor = aten::index.Tensor(%x, %list)\n";
const char kGather[] = "  %y : Tensor = aten::gather(%x, %d, %ids, %false)\n";
const char kTakeAlong[] = "  %y : Tensor = aten::take_along_dim(%x, %ids, %last)\n";

TEST(GathersTest, Embeddings) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kInt}) {
    const at::Tensor words = at::randn({9, 5}).mul(10).to(dtype);
    for (const at::ScalarType of_ids : {at::kLong, at::kInt}) {
      for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{}, {1}, {4}, {2, 3}, {2, 1, 3}}) {
        const at::Tensor ids = at::randint(9, sizes, at::kLong).to(of_ids);
        ExpectKernelGives(kEmbedding, words, ids, at::embedding(words, ids));
      }
    }
    const at::Tensor ids = at::randint(9, {3, 4}, at::kLong);
    ExpectKernelGives(kEmbedding, words.slice(0, 0, 1), at::zeros_like(ids), at::embedding(words, at::zeros_like(ids)));
  }
}

TEST(GathersTest, AlongTheDimensionInTheMiddle) {
  const at::Tensor x = at::randn({2, 5, 3});
  for (const at::Tensor& ids : {at::tensor({4, 0, 0, 2}), at::tensor({3})}) {
    ExpectKernelGives(kSelect, x, ids, x.index_select(1, ids));
    ExpectKernelGives(kIndex, x, ids - 5, x.index({at::indexing::Slice(), ids - 5}));
  }
  const at::Tensor square = at::randint(-5, 5, {2, 2}, at::kLong);
  ExpectKernelGives(kIndex, x, square, x.index({at::indexing::Slice(), square}));
  const at::Tensor one = at::tensor(3);
  ExpectKernelGives(kIndex, x, one, x.index({at::indexing::Slice(), one}));
}

TEST(GathersTest, IdsForEachElement) {
  const at::Tensor x = at::randn({2, 5, 3});
  const at::Tensor ids = at::randint(5, {2, 4, 3}, at::kLong);
  ExpectKernelGives(kGather, x, ids, x.gather(1, ids));
  // The remainder counts; both are broadcast.
  const at::Tensor far = at::randint(-20, 20, {2, 1, 7}, at::kLong);
  ExpectKernelGives(kTakeAlong, x, far, at::take_along_dim(x, far, -1));
}

TEST(GathersTest, HaveNoKernel) {
  const at::Tensor x = at::randn({2, 5, 3}), ids = at::randint(2, {2, 4, 3}, at::kLong);
  EXPECT_TRUE(Lower(kGather, x, ids));
  // Nothing would look at ids of a single element.
  const c10::Device gpu(c10::kCUDA, 0);
  EXPECT_TRUE(Lower(kSelect, x, at::tensor({0, 0}), gpu));
  EXPECT_FALSE(Lower(kSelect, x.slice(1, 0, 1).contiguous(), at::tensor({0, 0}), gpu));
  EXPECT_FALSE(Lower(kGather, x, ids.slice(2, 0, 2)));
  EXPECT_FALSE(Lower(kIndex, x, at::ones({5}, at::kBool)));
  EXPECT_FALSE(Lower(kEmbedding, x, ids));
  // The innermost loop would go through its memory across rows.
  EXPECT_FALSE(Lower(kEmbedding, at::randn({5, 9}).t(), ids));
}

TEST(GathersTest, TheCallLooksAtIds) {
  const at::Tensor x = at::randn({2, 5, 3});
  using Ids = fuser::KernelSignature::Ids;
  EXPECT_EQ(Lower(kSelect, x, at::tensor({1, 2}))->signature.ids, (std::vector<Ids>{{1, 0, 1, /*from_end=*/false}}));
  EXPECT_EQ(Lower(kIndex, x, at::tensor({1, 2}))->signature.ids, (std::vector<Ids>{{1, 0, 1, /*from_end=*/true}}));
  EXPECT_TRUE(Lower(kTakeAlong, x, at::zeros({2, 1, 4}, at::kLong))->signature.ids.empty());
  // On a GPU the kernel itself does.
  EXPECT_TRUE(Lower(kSelect, x, at::tensor({1, 2}), c10::Device(c10::kCUDA, 0))->signature.ids.empty());
}

}  // namespace
}  // namespace hearth
