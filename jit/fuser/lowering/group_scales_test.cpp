// Kernels of the scales of group norms, as the evaluator runs them, beside LibTorch's group norm.
#include "jit/fuser/lowering/group_scales.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "jit/analysis/argument_spec.h"
#include "jit/analysis/exact_shape.h"
#include "jit/analysis/written_memory.h"
#include "jit/fuser/ir/aten_testing.h"
#include "jit/ir/parser.h"
#include "jit/operators/registry.h"

namespace hearth {
namespace {

using c10::IValue;

std::string GraphOf(int64_t groups) {
  return "graph(%x : Tensor, %w : Optional[Tensor], %b : Optional[Tensor], %a : Optional[Tensor]):\n"
         "  %groups : int = prim::Constant[value=" +
         std::to_string(groups) +
         "]()\n"
         "  %eps : float = prim::Constant[value=0.001]()\n"
         "  %f : Tensor, %o : Tensor = hearth::group_scales(%x, %groups, %w, %b, %eps, %a)\n"
         "  return (%f, %o)\n";
}

struct Scales {
  at::Tensor factors, offsets;
};

enum class KernelFor { kTheirSizes, kAnySizes };

// By the node's kernel; undefined tensors if it has none.
Scales ScalesOf(const at::Tensor& images, int64_t groups, const IValue& weight, const IValue& bias,
                const IValue& added = {}, KernelFor kernel_for = KernelFor::kTheirSizes) {
  const std::unique_ptr<Graph> graph = ParseGraph(GraphOf(groups));
  const std::vector<IValue> arguments = {images, weight, bias, added};
  const WrittenMemory written(*graph, nullptr);
  SizeAlgebra sizes;
  std::vector<ArgumentFacts> of_arguments = ArgumentSpec::Of(arguments).value().Facts();
  ExactShape::Of(arguments).value().AddTo(of_arguments);
  if (kernel_for == KernelFor::kAnySizes) of_arguments[0].tensor.sizes = {-1, images.size(1), -1, -1};
  ValueFactTable facts(*graph, of_arguments, written, sizes);
  facts.InferAll();
  const Node* node = graph->outputs()[0]->node();
  const std::optional<LoweredGroup> lowered = LowerGroupScales(*node, facts);
  if (!lowered) return {};
  const Scales scales = {at::zeros({images.size(0), images.size(1), 1, 1}),
                         at::zeros({images.size(0), images.size(1), 1, 1})};
  std::vector<fuser::BufferMemory> memory = {fuser::MemoryOfTensor(images)};
  for (const IValue& numbers : {weight, bias, added}) {
    if (numbers.isTensor()) memory.push_back(fuser::MemoryOfTensor(numbers.toTensor()));
  }
  memory.push_back(fuser::MemoryOfTensor(scales.factors));
  memory.push_back(fuser::MemoryOfTensor(scales.offsets));
  std::vector<at::Tensor> scratch;
  for (const fuser::KernelSignature::Scratch& each : lowered->signature.scratch) {
    scratch.push_back(at::full({each.elements}, std::nan(""), each.dtype));
    memory.push_back(fuser::MemoryOfTensor(scratch.back()));
  }
  EXPECT_NO_THROW(fuser::Verify(lowered->kernel)) << fuser::Print(lowered->kernel);
  std::vector<int64_t> symbols;
  for (const fuser::KernelSignature::Symbol& symbol : lowered->signature.symbols) {
    int64_t product = 1;
    for (const uint16_t extent : symbol.extents) product *= images.size(lowered->signature.extents[extent].dimension);
    symbols.push_back(product);
  }
  EXPECT_EQ(symbols.empty(), kernel_for == KernelFor::kTheirSizes);
  fuser::Evaluate(lowered->kernel, symbols, memory);
  return scales;
}

TEST(GroupScalesTest, NumbersTimesFactorsPlusOffsetsAreLibTorchsGroupNorm) {
  for (const at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16}) {
    for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
             {2, 12, 5, 7}, {1, 8, 1, 6}, {3, 4, 2, 1}, {2, 6, 48, 64}, {1, 4, 101, 83}}) {
      for (const at::MemoryFormat format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
        const at::Tensor images = at::randn(sizes).add(2).to(dtype).contiguous(format);
        for (const int64_t groups : {int64_t{1}, int64_t{2}, sizes[1]}) {
          const at::Tensor weight = at::randn({sizes[1]}).to(dtype), bias = at::randn({sizes[1]});
          const Scales scales = ScalesOf(images, groups, weight, bias), plain = ScalesOf(images, groups, {}, {});
          ASSERT_TRUE(scales.factors.defined() && plain.factors.defined());
          const at::Tensor wide = images.to(at::kFloat);
          EXPECT_TRUE(at::allclose(wide * scales.factors + scales.offsets,
                                   at::group_norm(wide, groups, weight.to(at::kFloat), bias, 1e-3), 1e-4, 1e-4));
          EXPECT_TRUE(at::allclose(wide * plain.factors + plain.offsets, at::group_norm(wide, groups, {}, {}, 1e-3),
                                   1e-4, 1e-4));
          const Scales of_any = ScalesOf(images, groups, weight, bias, {}, KernelFor::kAnySizes);
          EXPECT_TRUE(at::allclose(of_any.factors, scales.factors, 1e-4, 1e-4));
          EXPECT_TRUE(at::allclose(of_any.offsets, scales.offsets, 1e-4, 1e-4));
          const at::Tensor added = at::randn({sizes[1]}).to(dtype);
          const at::Tensor sum = images.add(added.reshape({-1, 1, 1})).to(at::kFloat);
          const Scales of_sum = ScalesOf(images, groups, weight, bias, added);
          EXPECT_TRUE(at::allclose(sum * of_sum.factors + of_sum.offsets,
                                   at::group_norm(sum, groups, weight.to(at::kFloat), bias, 1e-3), 1e-4, 1e-4));
        }
      }
    }
  }
}

TEST(GroupScalesTest, TheOperatorGivesWhatItsKernelDoes) {
  const Operator* op = OperatorRegistry::Global().Find(c10::Symbol::fromQualString("hearth::group_scales"), "");
  const at::Tensor images = at::randn({2, 12, 5, 7}).add(2).to(at::kHalf).contiguous(at::MemoryFormat::ChannelsLast);
  const IValue epsilon = 1e-3, numbers = at::randn({12}).to(at::kHalf), x = images;
  for (const int64_t count : {1, 3, 12}) {
    const IValue groups = count;
    for (const IValue& channels : {numbers, IValue()}) {
      const std::vector<const IValue*> arguments = {&x, &groups, &channels, &channels, &epsilon, &channels};
      std::vector<IValue> given(2);
      op->native()({arguments.data(), arguments.size()}, given.data());
      const Scales scales = ScalesOf(images, count, channels, channels, channels);
      EXPECT_TRUE(at::allclose(given[0].toTensor(), scales.factors, 1e-4, 1e-4));
      EXPECT_TRUE(at::allclose(given[1].toTensor(), scales.offsets, 1e-4, 1e-4));
      EXPECT_TRUE(given[0].toTensor().is_contiguous() && given[1].toTensor().is_contiguous());
    }
  }
}

TEST(GroupScalesTest, PartsAndOtherOrdersHaveNoKernel) {
  const at::Tensor images = at::randn({2, 12, 5, 7});
  EXPECT_FALSE(ScalesOf(images.slice(1, 0, 4), 2, {}, {}).factors.defined());
  EXPECT_FALSE(ScalesOf(images.transpose(2, 3), 2, {}, {}).factors.defined());
  EXPECT_FALSE(ScalesOf(images, 5, {}, {}).factors.defined());
}

}  // namespace
}  // namespace hearth
