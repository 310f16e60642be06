// Kernels of operators that are LibTorch's on a CPU (definitions/place_rules.h), as they are for a GPU and as the
// evaluator runs them, beside LibTorch's operators on a CPU: windows, and rolled elements.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>
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

// What the kernel of `expression`, an operator of %x, makes of the images; undefined if it has none. `like` has the
// result's sizes and order.
at::Tensor ByKernel(const std::string& constants, const std::string& expression, const at::Tensor& images,
                    const at::Tensor& like) {
  const std::unique_ptr<Graph> graph = ParseGraph(
      "graph(%x : Tensor):\n  %none : NoneType = prim::Constant[value=None]()\n  %false : bool = "
      "prim::Constant[value=False]()\n  %true : bool = prim::Constant[value=True]()\n" +
      constants + "  %y : Tensor = " + expression + "\n  return (%y)\n");
  const std::vector<IValue> arguments = {images};
  const WrittenMemory written(*graph, nullptr);
  SizeAlgebra sizes;
  std::vector<ArgumentFacts> of_arguments = ArgumentSpec::Of(arguments).value().Facts();
  ExactShape::Of(arguments).value().AddTo(of_arguments);
  of_arguments[0].tensor.device = c10::Device(c10::kCUDA, 0);
  ValueFactTable facts(*graph, of_arguments, written, sizes);
  facts.InferAll();
  const Value* output = graph->outputs()[0];
  const std::optional<LoweredGroup> lowered = LowerGroup({{output->node()}, {output}}, facts);
  if (!lowered) return {};
  const at::Tensor result = at::full_like(like, std::numeric_limits<double>::quiet_NaN());
  fuser::RunOnTensors(lowered->kernel, {}, {images, result});
  return result;
}

std::string List(const std::string& name, const std::vector<int64_t>& numbers) {
  std::string text = "  %" + name + " : List[int] = prim::Constant[value=[";
  for (size_t i = 0; i < numbers.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  return text + "]]()\n";
}

std::string Truth(bool value) { return value ? "%true" : "%false"; }

std::vector<at::Tensor> Images(bool are_finite = false) {
  std::vector<at::Tensor> all;
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    for (const at::MemoryFormat format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
      at::Tensor images = at::randn({2, 3, 11, 14});
      if (!are_finite) {
        images.view(-1)[17] = std::numeric_limits<double>::quiet_NaN();
        images.view(-1)[170] = -std::numeric_limits<double>::infinity();
      }
      all.push_back(images.to(dtype).contiguous(format));
    }
  }
  return all;
}

struct Windows {
  std::vector<int64_t> size, stride, padding, dilation;
  bool has_sizes_rounded_up;  // whether facts tell those of the result then
};

const Windows kWindows[] = {
    {{3, 3}, {2, 2}, {1, 1}, {1, 1}, true}, {{2}, {}, {0}, {1}, true},      {{3, 2}, {1, 3}, {1, 0}, {1, 1}, false},
    {{5, 5}, {1, 1}, {2, 2}, {1, 1}, true}, {{1, 1}, {2}, {0}, {1}, false}, {{4}, {2}, {2}, {1}, true},
    {{2, 3}, {2}, {1}, {3, 2}, true},       {{3}, {2}, {0, 1}, {1}, true},
};

// A result of half precision is LibTorch's or its neighbour, as sums are added up in another order.
void ExpectLike(const at::Tensor& actual, const at::Tensor& expected) {
  const double tolerance = expected.scalar_type() == at::kDouble  ? 1e-13
                           : expected.scalar_type() == at::kFloat ? 2e-6
                           : expected.scalar_type() == at::kHalf  ? 1e-3
                                                                  : 8e-3;
  EXPECT_TRUE(at::allclose(actual, expected, tolerance, tolerance, /*equal_nan=*/true)) << actual << expected;
}

TEST(WindowsTest, LargestOfAWindow) {
  for (const at::Tensor& images : Images()) {
    for (const Windows& windows : kWindows) {
      for (const bool rounds_up : {false, true}) {
        if (rounds_up && !windows.has_sizes_rounded_up) continue;
        const at::Tensor expected =
            at::max_pool2d(images, windows.size, windows.stride, windows.padding, windows.dilation, rounds_up);
        const at::Tensor actual = ByKernel(
            List("size", windows.size) + List("stride", windows.stride) + List("padding", windows.padding) +
                List("dilation", windows.dilation),
            "aten::max_pool2d(%x, %size, %stride, %padding, %dilation, " + Truth(rounds_up) + ")", images, expected);
        ASSERT_TRUE(actual.defined());
        EXPECT_TRUE(at::allclose(actual, expected, 0, 0, /*equal_nan=*/true)) << actual << expected;
      }
    }
  }
}

TEST(WindowsTest, MeanOfAWindow) {
  for (const at::Tensor& images : Images()) {
    for (const Windows& windows : kWindows) {
      if (windows.dilation != std::vector<int64_t>{1} && windows.dilation != std::vector<int64_t>{1, 1}) continue;
      for (const bool rounds_up : {false, true}) {
        if (rounds_up && !windows.has_sizes_rounded_up) continue;
        for (const bool counts_padding : {false, true}) {
          for (const std::optional<int64_t> divisor : {std::optional<int64_t>(), std::optional<int64_t>(-3)}) {
            const at::Tensor expected = at::avg_pool2d(images, windows.size, windows.stride, windows.padding, rounds_up,
                                                       counts_padding, divisor);
            const at::Tensor actual =
                ByKernel(List("size", windows.size) + List("stride", windows.stride) +
                             List("padding", windows.padding) + "  %divisor : int = prim::Constant[value=-3]()\n",
                         "aten::avg_pool2d(%x, %size, %stride, %padding, " + Truth(rounds_up) + ", " +
                             Truth(counts_padding) + ", " + (divisor ? "%divisor" : "%none") + ")",
                         images, expected);
            ASSERT_TRUE(actual.defined());
            ExpectLike(actual, expected);
          }
        }
      }
    }
  }
}

// Of pixels that are no numbers LibTorch makes more on a GPU, and so do kernels, than on a CPU: 0 times each is none.
TEST(WindowsTest, BetweenFourPixels) {
  for (const at::Tensor& images : Images(/*are_finite=*/true)) {
    for (const std::vector<int64_t>& sizes :
         std::vector<std::vector<int64_t>>{{22, 28}, {7, 9}, {11, 20}, {30, 14}, {5, 5}}) {
      for (const bool aligns : {false, true}) {
        const at::Tensor expected = at::upsample_bilinear2d(images, sizes, aligns);
        const at::Tensor actual =
            ByKernel(List("sizes", sizes), "aten::upsample_bilinear2d(%x, %sizes, " + Truth(aligns) + ", %none, %none)",
                     images, expected);
        ASSERT_TRUE(actual.defined());
        ExpectLike(actual, expected);
      }
    }
    // A factor that the sizes do not say.
    const at::Tensor expected = at::upsample_bilinear2d(images, {24, 31}, false, 2.2, 2.25);
    const at::Tensor actual =
        ByKernel(List("sizes", {24, 31}) +
                     "  %h : float = prim::Constant[value=2.2]()\n  %w : float = prim::Constant[value=2.25]()\n",
                 "aten::upsample_bilinear2d(%x, %sizes, %false, %h, %w)", images, expected);
    ASSERT_TRUE(actual.defined());
    ExpectLike(actual, expected);
  }
}

// Those of `images` as volumes of two layers, and as sequences.
at::Tensor VolumesOf(const at::Tensor& images) {
  const at::Tensor volumes = at::stack({images, images * 0.5, images - 1}, 2);
  return images.is_contiguous() ? volumes.contiguous() : volumes.contiguous(at::MemoryFormat::ChannelsLast3d);
}
at::Tensor SequencesOf(const at::Tensor& images) { return images.contiguous().flatten(1, 2); }

TEST(WindowsTest, WindowsOfSequencesAndVolumes) {
  for (const at::Tensor& images : Images()) {
    const at::Tensor sequences = SequencesOf(images), volumes = VolumesOf(images);
    for (const bool counts_padding : {false, true}) {
      const std::string of_sequences = List("size", {5}) + List("stride", {2}) + List("padding", {2});
      at::Tensor expected = at::avg_pool1d(sequences, {5}, {2}, {2}, false, counts_padding);
      at::Tensor actual = ByKernel(
          of_sequences, "aten::avg_pool1d(%x, %size, %stride, %padding, %false, " + Truth(counts_padding) + ")",
          sequences, expected);
      ASSERT_TRUE(actual.defined());
      ExpectLike(actual, expected);
      const std::string of_volumes = List("size", {2, 3, 2}) + List("stride", {1, 2, 3}) + List("padding", {1, 0, 1});
      // On a CPU, LibTorch has none of half precision.
      expected = at::avg_pool3d(volumes.to(volumes.scalar_type() == at::kDouble ? at::kDouble : at::kFloat), {2, 3, 2},
                                {1, 2, 3}, {1, 0, 1}, false, counts_padding)
                     .to(volumes.scalar_type());
      actual = ByKernel(of_volumes,
                        "aten::avg_pool3d(%x, %size, %stride, %padding, %false, " + Truth(counts_padding) + ", %none)",
                        volumes, expected);
      // Means of channels-last volumes lie in the default order, in which memory is not gone through.
      ASSERT_EQ(actual.defined(), volumes.is_contiguous());
      if (actual.defined()) ExpectLike(actual, expected);
    }
    const std::string of_sequences =
        List("size", {3}) + List("stride", {}) + List("padding", {1}) + List("dilation", {2});
    at::Tensor expected = at::max_pool1d(sequences, {3}, {}, {1}, {2});
    at::Tensor actual = ByKernel(of_sequences, "aten::max_pool1d(%x, %size, %stride, %padding, %dilation, %false)",
                                 sequences, expected);
    ASSERT_TRUE(actual.defined());
    EXPECT_TRUE(at::allclose(actual, expected, 0, 0, /*equal_nan=*/true)) << actual << expected;
    const std::string of_volumes =
        List("size", {2, 3, 4}) + List("stride", {2, 1, 3}) + List("padding", {1, 1, 2}) + List("dilation", {1});
    expected = at::max_pool3d(volumes, {2, 3, 4}, {2, 1, 3}, {1, 1, 2}, {1});
    actual =
        ByKernel(of_volumes, "aten::max_pool3d(%x, %size, %stride, %padding, %dilation, %false)", volumes, expected);
    ASSERT_TRUE(actual.defined());
    EXPECT_TRUE(at::allclose(actual, expected, 0, 0, /*equal_nan=*/true)) << actual << expected;
  }
}

TEST(WindowsTest, BetweenNeighboursOfSequencesAndVolumes) {
  for (const at::Tensor& images : Images(/*are_finite=*/true)) {
    const at::Tensor sequences = SequencesOf(images), volumes = VolumesOf(images);
    for (const bool aligns : {false, true}) {
      for (const int64_t length : {28, 9, 5}) {
        const at::Tensor expected = at::upsample_linear1d(sequences, {length}, aligns);
        const at::Tensor actual =
            ByKernel(List("sizes", {length}), "aten::upsample_linear1d(%x, %sizes, " + Truth(aligns) + ", %none)",
                     sequences, expected);
        ASSERT_TRUE(actual.defined());
        ExpectLike(actual, expected);
      }
      for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{6, 22, 7}, {2, 11, 30}, {5, 5, 5}}) {
        const at::Tensor expected = at::upsample_trilinear3d(volumes, sizes, aligns);
        const at::Tensor actual = ByKernel(
            List("sizes", sizes), "aten::upsample_trilinear3d(%x, %sizes, " + Truth(aligns) + ", %none, %none, %none)",
            volumes, expected);
        ASSERT_TRUE(actual.defined());
        ExpectLike(actual, expected);
      }
    }
  }
}

TEST(WindowsTest, RolledElements) {
  for (const at::Tensor& images : Images()) {
    for (const std::vector<int64_t>& shifts : std::vector<std::vector<int64_t>>{{-3, 3}, {0, 40}, {11, -14}}) {
      const at::Tensor expected = at::roll(images, shifts, {2, -1}).contiguous();
      const at::Tensor actual =
          ByKernel(List("shifts", shifts) + List("dims", {2, -1}), "aten::roll(%x, %shifts, %dims)", images, expected);
      if (!images.is_contiguous()) {
        // Memory is gone through as it lies.
        EXPECT_FALSE(actual.defined());
        continue;
      }
      ASSERT_TRUE(actual.defined());
      EXPECT_TRUE(at::allclose(actual, expected, 0, 0, /*equal_nan=*/true)) << actual << expected;
    }
  }
}

TEST(WindowsTest, LargeWindowsAndThoseThatLibTorchRefusesHaveNoKernel) {
  const at::Tensor images = at::randn({2, 3, 11, 14});
  const std::string rest = List("stride", {1}) + List("dilation", {1});
  const auto has_kernel = [&](const std::vector<int64_t>& size, const std::vector<int64_t>& padding) {
    return ByKernel(List("size", size) + List("padding", padding) + rest,
                    "aten::max_pool2d(%x, %size, %stride, %padding, %dilation, %false)", images, images)
        .defined();
  };
  EXPECT_TRUE(has_kernel({3}, {1}));
  EXPECT_FALSE(has_kernel({7}, {3}));
  EXPECT_FALSE(has_kernel({3}, {2}));
  EXPECT_FALSE(has_kernel({3, 3, 3}, {1}));
}

}  // namespace
}  // namespace hearth
