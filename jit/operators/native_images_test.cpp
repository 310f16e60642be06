// Native operators on images that lie channels-last, against LibTorch's.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/util/StringUtil.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/operators/native_testing.h"

namespace hearth {
namespace {

TEST(ReductionTest, TheMeanOfAllPixelsIsLibTorchs) {
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
           {1, 3, 5, 7}, {2, 32, 7, 7}, {2, 100, 14, 14}, {1, 960, 7, 7}, {3, 1, 4, 4}, {1, 8, 1, 1}, {2, 0, 3, 3}}) {
    const at::Tensor written = at::randn(sizes);
    for (const at::Tensor& images :
         {written, written.contiguous(at::MemoryFormat::ChannelsLast), written.to(at::kDouble)}) {
      for (const std::vector<int64_t>& to : std::vector<std::vector<int64_t>>{{1, 1}, {1, 2}}) {
        const at::Tensor result = CallNative("aten::adaptive_avg_pool2d", {images, to});
        const at::Tensor expected = at::adaptive_avg_pool2d(images, to);
        EXPECT_TRUE(at::allclose(result, expected, 1e-5, 1e-6)) << images.sizes();
        EXPECT_EQ(result.strides(), expected.strides()) << images.sizes();
      }
    }
  }
}

void ExpectSameImages(const at::Tensor& result, const at::Tensor& expected, const std::string& what) {
  EXPECT_TRUE(at::allclose(result, expected, 1e-5, 1e-5, /*equal_nan=*/true)) << what;
  EXPECT_EQ(result.strides(), expected.strides()) << what;
}

// As LibTorch makes them, channels-last, with parts of their memory left out, and of other numbers.
std::vector<at::Tensor> ImagesInAllForms(const std::vector<int64_t>& sizes) {
  const at::Tensor images = at::randn(sizes);
  const at::Tensor last = images.contiguous(at::MemoryFormat::ChannelsLast);
  return {images, last, last.slice(1, 0, std::max<int64_t>(sizes[1] - 1, 1)), last.to(at::kDouble)};
}

TEST(PoolingTest, WindowsArePooledAsLibTorchDoes) {
  struct Case {
    std::vector<int64_t> kernel, stride, padding;
  };
  const std::vector<Case> cases = {{{3, 3}, {2, 2}, {1, 1}}, {{2, 2}, {}, {0, 0}},     {{2}, {1}, {1}},
                                   {{3, 1}, {1, 3}, {1, 0}}, {{7, 7}, {7, 7}, {3, 3}}, {{1, 1}, {2, 2}, {0, 0}}};
  for (const auto& [kernel, stride, padding] : cases) {
    for (const std::vector<int64_t>& sizes :
         std::vector<std::vector<int64_t>>{{1, 3, 9, 11}, {2, 70, 7, 8}, {1, 64, 56, 56}, {1, 1, 7, 7}}) {
      for (const at::Tensor& images : ImagesInAllForms(sizes)) {
        const std::string what = c10::str(images.sizes(), " strides ", images.strides(), " by ", kernel);
        for (const bool rounds_up : {false, true}) {
          ExpectSameImages(
              CallNative("aten::max_pool2d", {images, kernel, stride, padding, std::vector<int64_t>{1}, rounds_up}),
              at::max_pool2d(images, kernel, stride, padding, 1, rounds_up), what);
          for (const bool counts_padding : {false, true}) {
            ExpectSameImages(CallNative("aten::avg_pool2d",
                                        {images, kernel, stride, padding, rounds_up, counts_padding, c10::IValue()}),
                             at::avg_pool2d(images, kernel, stride, padding, rounds_up, counts_padding), what);
          }
        }
      }
    }
  }
  at::Tensor images = at::randn({1, 20, 6, 6}).contiguous(at::MemoryFormat::ChannelsLast);
  const std::vector<int64_t> two{2, 2}, none{0, 0}, one{1, 1};
  ExpectSameImages(CallNative("aten::max_pool2d", {images, two, one, none, two, false}),
                   at::max_pool2d(images, two, one, none, two), "with holes");
  ExpectSameImages(CallNative("aten::avg_pool2d", {images, two, one, none, false, true, 3}),
                   at::avg_pool2d(images, two, one, none, false, true, 3), "with a divisor");
  images.select(2, 3).fill_(std::numeric_limits<float>::quiet_NaN());
  images.select(3, 2).fill_(-std::numeric_limits<float>::infinity());
  ExpectSameImages(CallNative("aten::max_pool2d", {images, two, one, none, one, false}),
                   at::max_pool2d(images, two, one), "with NaN");
  EXPECT_ANY_THROW(CallNative("aten::max_pool2d", {images, one, one, two, one, false}));
  EXPECT_ANY_THROW(
      CallNative("aten::avg_pool2d", {images, std::vector<int64_t>{9, 9}, one, none, false, true, c10::IValue()}));
}

TEST(PoolingTest, VolumesArePooledAsLibTorchDoes) {
  using Numbers = std::vector<int64_t>;
  at::Tensor last = at::randn({2, 33, 5, 9, 8}).contiguous(at::MemoryFormat::ChannelsLast3d);
  last.select(4, 3).fill_(std::numeric_limits<float>::quiet_NaN());
  const std::vector<at::Tensor> inputs = {last,    last.contiguous(),   last.slice(1, 0, 32), last.slice(1, 0, 1),
                                          last[0], last.slice(2, 2, 3), last.to(at::kDouble)};
  const auto expect_same = [&](const Numbers& kernel, const Numbers& stride, const Numbers& padding, int64_t dilation,
                               bool rounds_up) {
    const Numbers dilations{dilation};
    for (const at::Tensor& volumes : inputs) {
      const std::string what = c10::str(volumes.sizes(), " strides ", volumes.strides(), " by ", kernel);
      const torch::jit::Stack arguments{volumes, kernel, stride, padding, dilations, rounds_up};
      at::Tensor expected;
      try {
        expected = at::max_pool3d(volumes, kernel, stride, padding, dilations, rounds_up);
      } catch (const c10::Error&) {
        EXPECT_ANY_THROW(CallNative("aten::max_pool3d", arguments)) << what;
        continue;
      }
      ExpectSameImages(CallNative("aten::max_pool3d", arguments), expected, what);
    }
  };
  for (const bool rounds_up : {false, true}) {
    for (const int64_t dilation : {1, 2}) {
      expect_same({3, 3, 3}, {2, 2, 2}, {1, 1, 1}, dilation, rounds_up);
      expect_same({1, 3, 2}, {1, 2, 1}, {0, 1, 0}, dilation, rounds_up);
      expect_same({2}, {}, {0}, dilation, rounds_up);
      expect_same({3}, {1}, {1}, dilation, rounds_up);
    }
  }
}

TEST(ReductionTest, MeansAndSumsAlongDimensionsAreLibTorchs) {
  const std::vector<std::vector<int64_t>> dims = {{1}, {2, 3}, {-1, -2}, {2}, {3}, {1, 2}, {0}, {0, 1}, {}, {0, 2, 3}};
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
           {1, 100, 14, 14}, {2, 5, 20, 30}, {3, 200, 1, 9}, {1, 1, 4, 4}, {1, 2, 50, 70}}) {
    for (const at::Tensor& images : ImagesInAllForms(sizes)) {
      for (const at::Tensor& tensor : {images, images.transpose(0, 3)}) {
        for (const std::vector<int64_t>& along : dims) {
          for (const bool keeps : {false, true}) {
            const std::string what = c10::str(tensor.sizes(), " strides ", tensor.strides(), " along ", along);
            const torch::jit::Stack arguments{tensor, along, keeps, c10::IValue()};
            ExpectSameImages(CallNative("aten::mean.dim", arguments), at::mean(tensor, along, keeps), what);
            EXPECT_TRUE(
                at::allclose(CallNative("aten::sum.dim_IntList", arguments), at::sum(tensor, along, keeps), 1e-4, 1e-4))
                << what;
          }
        }
      }
    }
  }
  const at::Tensor tokens = at::randn({2, 300, 40});
  const std::vector<int64_t> middle{1};
  ExpectSameImages(CallNative("aten::mean.dim", {tokens, middle, false, c10::IValue()}), tokens.mean(1), "tokens");
  ExpectSameImages(CallNative("aten::mean.dim", {tokens, middle, false, static_cast<int64_t>(at::kDouble)}),
                   tokens.mean(1, false, at::kDouble), "as float64");
  EXPECT_ANY_THROW(CallNative("aten::mean.dim", {tokens, std::vector<int64_t>{1, 1}, false, c10::IValue()}));
  EXPECT_ANY_THROW(CallNative("aten::mean.dim", {tokens, std::vector<int64_t>{3}, false, c10::IValue()}));
}

// Of parts of a tensor too, as queries and keys of an attention are, whose dimensions lie apart.
TEST(ReductionTest, NormsAlongDimensionsAreLibTorchs) {
  const at::Tensor joined = at::randn({2, 100, 3, 4, 20}).permute({2, 0, 3, 4, 1});
  std::vector<at::Tensor> tensors{joined,
                                  joined[1],
                                  joined[2].slice(0, 1),
                                  joined[0].slice(3, 0, 1),
                                  at::randn({2, 300, 40}),
                                  at::randn({70, 40}).expand({3, 70, 40})};
  tensors.push_back(at::randn({5, 64, 33}).slice(2, 0, 32));
  tensors.front().select(4, 7).fill_(std::numeric_limits<float>::infinity());
  for (const at::Tensor& tensor : tensors) {
    for (const std::vector<int64_t>& along : std::vector<std::vector<int64_t>>{{-1}, {-2}, {0}, {0, -1}, {}}) {
      for (const bool keeps : {false, true}) {
        const std::string what = c10::str(tensor.sizes(), " strides ", tensor.strides(), " along ", along);
        for (const c10::IValue& order : {c10::IValue(2), c10::IValue(2.0), c10::IValue(1), c10::IValue(3.0)}) {
          ExpectSameImages(CallNative("aten::linalg_vector_norm", {tensor, order, along, keeps, c10::IValue()}),
                           at::linalg_vector_norm(tensor, order.toScalar(), at::OptionalIntArrayRef(along), keeps),
                           what);
          ExpectSameImages(CallNative("aten::norm.ScalarOpt_dim", {tensor, order, along, keeps}),
                           at::norm(tensor, order.toScalar(), along, keeps), what);
        }
        ExpectSameImages(CallNative("aten::norm.ScalarOpt_dim", {tensor, c10::IValue(), along, keeps}),
                         at::norm(tensor, std::nullopt, along, keeps), what);
      }
    }
  }
  const at::Tensor tokens = at::randn({2, 300, 40});
  const std::vector<int64_t> middle{1};
  ExpectSameImages(
      CallNative("aten::linalg_vector_norm", {tokens, 2, middle, false, static_cast<int64_t>(at::kDouble)}),
      at::linalg_vector_norm(tokens, 2, 1, false, at::kDouble), "as float64");
}

TEST(ReductionTest, SumsOfStackedImagesAreLibTorchs) {
  for (const at::Tensor& images : ImagesInAllForms({2, 2 * 40, 9, 11})) {
    const at::Tensor stacked = images.slice(1, 0, images.size(1) / 2 * 2).unflatten(1, {2, -1});
    for (const bool keeps : {false, true}) {
      const torch::jit::Stack arguments{stacked, std::vector<int64_t>{1}, keeps, c10::IValue()};
      ExpectSameImages(CallNative("aten::sum.dim_IntList", arguments), at::sum(stacked, 1, keeps),
                       c10::str(stacked.strides()));
    }
  }
}

TEST(GroupNormTest, ImagesAreNormalizedAsLibTorchDoes) {
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{1, 32, 20, 20}, {2, 48, 5, 7}, {1, 6, 3, 2}, {3, 128, 12, 13}}) {
    for (const at::Tensor& images : ImagesInAllForms(sizes)) {
      const int64_t channels = images.size(1);
      for (const int64_t groups : {int64_t{1}, channels, channels % 2 == 0 ? 2 : channels}) {
        const at::Tensor weight = at::randn({channels}, images.options()),
                         bias = at::randn({channels}, images.options());
        const at::Tensor shifted = images + 3;
        const std::string what = c10::str(images.sizes(), " strides ", images.strides(), " in ", groups);
        const at::Tensor result = CallNative("aten::group_norm", {shifted, groups, weight, bias, 1e-5, true});
        const at::Tensor exact =
            at::group_norm(shifted.to(at::kDouble), groups, weight.to(at::kDouble), bias.to(at::kDouble), 1e-5);
        const at::Tensor theirs = at::group_norm(shifted, groups, weight, bias, 1e-5);
        // A few numbers that are nearly alike leave little of a variance, in LibTorch's answer as well.
        const auto off = [&exact](const at::Tensor& answer) {
          return (answer.to(at::kDouble) - exact).abs().max().item<double>();
        };
        EXPECT_LE(off(result), std::max(5e-5, 2 * off(theirs))) << what;
        EXPECT_EQ(result.strides(), theirs.strides()) << what;
        ExpectSameImages(CallNative("aten::group_norm", {images, groups, c10::IValue(), c10::IValue(), 1e-3, true}),
                         at::group_norm(images, groups, {}, {}, 1e-3), what);
      }
    }
  }
  const at::Tensor images = at::randn({1, 6, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast);
  for (const int64_t groups : {4, 0})
    EXPECT_ANY_THROW(CallNative("aten::group_norm", {images, groups, c10::IValue(), c10::IValue(), 1e-5, true}));
  EXPECT_ANY_THROW(CallNative("aten::group_norm", {images, 2, at::ones({5}), c10::IValue(), 1e-5, true}));
}

// Also of parts of a tensor, as the keys of an attention are.
TEST(SoftmaxTest, OverTheTokensOfEachChannelIsLibTorchs) {
  const float infinity = std::numeric_limits<float>::infinity();
  const at::Tensor joined = at::randn({2, 300, 3, 4, 19});
  const at::Tensor keys = joined.permute({2, 0, 3, 1, 4})[1];
  at::Tensor strange = at::randn({3, 200, 24});
  strange.select(2, 3).fill_(-infinity);
  strange[0].select(1, 5).slice(0, 0, 150).fill_(-infinity);
  strange[1].select(1, 9).fill_(-200);
  strange[1].select(1, 9).slice(0, 0, 100).fill_(-infinity);
  strange[1][7][6] = infinity;
  strange[2][190][7] = std::numeric_limits<float>::quiet_NaN();
  for (const at::Tensor& tensor :
       {keys, strange, strange.transpose(1, 2), at::randn({1, 2, 512, 1, 1}), at::randn({2, 30, 5, 6}),
        at::randn({2, 30, 5, 6}).contiguous(at::MemoryFormat::ChannelsLast), at::randn({4, 70, 3}), at::randn({9}),
        at::randn({2, 70, 30}, at::kDouble), at::randn({0, 4, 9}), keys * 100}) {
    for (int64_t dim = -tensor.dim(); dim < tensor.dim(); ++dim) {
      const std::string what = c10::str(tensor.sizes(), " strides ", tensor.strides(), " along ", dim);
      const at::Tensor expected = at::softmax(tensor, dim);
      ExpectSameImages(CallNative("aten::softmax.int", {tensor, dim, c10::IValue()}), expected, what);
      const at::Tensor memory = at::empty(tensor.sizes(), tensor.scalar_type());
      EXPECT_TRUE(CallNative("aten::softmax.int_out", {tensor, dim, c10::IValue(), memory}).is_same(memory)) << what;
      ExpectSameImages(memory, expected, what);
    }
  }
  ExpectSameImages(CallNative("aten::softmax.int", {keys, 2, static_cast<int64_t>(at::kDouble)}),
                   at::softmax(keys, 2, at::kDouble), "as float64");
  EXPECT_ANY_THROW(CallNative("aten::softmax.int", {keys, 4, c10::IValue()}));
}

TEST(UpsamplingTest, ImagesOfAnotherSizeAreLibTorchs) {
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{1, 3, 5, 7}, {2, 70, 14, 9}, {1, 1, 4, 4}, {1, 5, 1, 6}}) {
    for (const at::Tensor& images : ImagesInAllForms(sizes)) {
      for (const auto& [down, across] :
           std::vector<std::pair<double, double>>{{2, 2}, {1, 4}, {3, 2}, {1.5, 2}, {1, 1}, {2.7, 1.3}}) {
        const std::string what = c10::str(images.sizes(), " strides ", images.strides(), " by ", down, ", ", across);
        const std::vector<double> factors{down, across};
        const std::vector<int64_t> to{static_cast<int64_t>(down * 10), images.size(3) * 2 - 1};
        const at::OptionalIntArrayRef none;
        const std::optional<at::ArrayRef<double>> no_factors;
        const c10::IValue nothing;
        const auto expect = [&](const char* name, const torch::jit::Stack& arguments, const at::Tensor& expected) {
          ExpectSameImages(CallNative(name, arguments), expected, what + name);
        };
        expect("aten::upsample_nearest2d.vec", {images, nothing, factors},
               at::upsample_nearest2d(images, none, factors));
        expect("aten::upsample_nearest2d.vec", {images, to, nothing}, at::upsample_nearest2d(images, to, no_factors));
        expect("aten::upsample_nearest2d", {images, to, down, nothing},
               at::upsample_nearest2d(images, to, std::optional(down)));
        expect("aten::_upsample_nearest_exact2d.vec", {images, nothing, factors},
               at::_upsample_nearest_exact2d(images, none, factors));
        expect("aten::_upsample_nearest_exact2d.vec", {images, to, nothing},
               at::_upsample_nearest_exact2d(images, to, no_factors));
        expect("aten::_upsample_nearest_exact2d", {images, to, nothing, across},
               at::_upsample_nearest_exact2d(images, to, std::nullopt, across));
        for (const bool align_corners : {false, true}) {
          expect("aten::upsample_bilinear2d.vec", {images, nothing, align_corners, factors},
                 at::upsample_bilinear2d(images, none, align_corners, factors));
          expect("aten::upsample_bilinear2d.vec", {images, to, align_corners, nothing},
                 at::upsample_bilinear2d(images, to, align_corners, no_factors));
          expect("aten::upsample_bilinear2d", {images, to, align_corners, down, across},
                 at::upsample_bilinear2d(images, to, align_corners, down, across));
          expect("aten::upsample_bicubic2d.vec", {images, nothing, align_corners, factors},
                 at::upsample_bicubic2d(images, none, align_corners, factors));
          expect("aten::upsample_bicubic2d.vec", {images, to, align_corners, nothing},
                 at::upsample_bicubic2d(images, to, align_corners, no_factors));
          expect("aten::upsample_bicubic2d", {images, to, align_corners, nothing, nothing},
                 at::upsample_bicubic2d(images, to, align_corners, std::nullopt, std::nullopt));
        }
      }
    }
  }
  const at::Tensor images = at::randn({1, 3, 4, 4});
  const std::vector<int64_t> negative{-1, 4}, one{4};
  const std::vector<double> none_left{0.1, 1};
  for (const auto& [to, factors] : std::vector<std::pair<c10::IValue, c10::IValue>>{
           {negative, {}}, {one, {}}, {{}, none_left}, {{}, {}}, {std::vector<int64_t>{4, 4}, none_left}})
    EXPECT_ANY_THROW(CallNative("aten::upsample_bilinear2d.vec", {images, to, false, factors}));
}

// Which pixel is the nearest one depends on how quotients are rounded.
TEST(UpsamplingTest, TheNearestPixelIsLibTorchsForAllSizes) {
  for (int64_t input = 1; input <= 40; ++input) {
    const at::Tensor images = at::arange(2 * input, at::kFloat).reshape({1, 2, 1, input});
    for (const at::Tensor& lying : {images, images.contiguous(at::MemoryFormat::ChannelsLast)}) {
      for (int64_t output = 1; output <= 100; output += output < 50 ? 1 : 7) {
        const std::vector<int64_t> to{1, output};
        const std::optional<at::ArrayRef<double>> no_factors;
        EXPECT_TRUE(at::equal(CallNative("aten::upsample_nearest2d.vec", {lying, to, c10::IValue()}),
                              at::upsample_nearest2d(lying, to, no_factors)))
            << input << " to " << output;
        EXPECT_TRUE(at::equal(CallNative("aten::_upsample_nearest_exact2d.vec", {lying, to, c10::IValue()}),
                              at::_upsample_nearest_exact2d(lying, to, no_factors)))
            << input << " to " << output;
      }
    }
  }
}

}  // namespace
}  // namespace hearth
