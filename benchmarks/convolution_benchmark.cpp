// What convolutions of images take: on one thread by hearth's own kernel that computes every product
// (kernels/convolution.h), and as a plan has them for so many threads (libraries/convolution.h): with fewer products
// (kernels/winograd.h), by oneDNN, or on several threads by the same kernel.
// Both take turns, with what the processor multiplies and adds at most (peak.h); of each, a quarter of the turns were
// faster than the time that is shown. Operations are those of the sum of all products, of which fewer may be computed.
// The planned one has as many copies of its kernels as fill so many megabytes, one copy in each call: what is read
// between two calls of a layer in a model that is as large. By default it has one, which stays in the cache.
//
// A FILE has layers in place of those below, a line each: NAME CHANNELS SIZE OUT_CHANNELS KERNEL STRIDE PADDING GROUPS.
//
//     build/release/bin/convolution_benchmark [MILLISECONDS [THREADS [MEGABYTES [FILE]]]]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/peak.h"
#include "jit/kernels/convolution.h"
#include "jit/kernels/target.h"
#include "jit/libraries/convolution.h"
#include "jit/support/denormals.h"
#include "jit/support/operator_threads.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Layer {
  std::string name;
  int64_t channels, size, out_channels, kernel, stride, padding, groups = 1;
};

const std::vector<Layer> kLayers = {
    {"resnet50, first", 3, 224, 64, 7, 2, 3},
    {"resnet50, stage 1", 64, 56, 64, 3, 1, 1},
    {"resnet50, into stage 2", 128, 56, 128, 3, 2, 1},
    {"resnet50, stage 2", 128, 28, 128, 3, 1, 1},
    {"resnet50, stage 3", 256, 14, 256, 3, 1, 1},
    {"resnet50, stage 4", 512, 7, 512, 3, 1, 1},
    {"resnet50, stage 3, one pixel", 1024, 14, 256, 1, 1, 0},
    {"resnet50, stage 4, one pixel", 2048, 7, 512, 1, 1, 0},
    {"resnet50, out of stage 4", 512, 7, 2048, 1, 1, 0},
    {"resnet50, shortcut", 512, 28, 1024, 1, 2, 0},
    {"poolformer, stage 1, wider", 64, 56, 256, 1, 1, 0},
    {"poolformer, stage 1, narrower", 256, 56, 64, 1, 1, 0},
    {"poolformer, stage 3, narrower", 1280, 14, 320, 1, 1, 0},
    {"poolformer, into stage 2", 64, 56, 128, 3, 2, 1},
    {"fastvit, stage 1, depthwise", 48, 64, 48, 7, 1, 3, 48},
    {"fastvit, stage 3, depthwise", 192, 16, 192, 7, 1, 3, 192},
    {"fastvit, into stage 2, depthwise", 48, 64, 96, 7, 2, 3, 48},
    {"fastvit, stage 1, wider", 48, 64, 144, 1, 1, 0},
    {"fastvit, stage 3, narrower", 576, 16, 192, 1, 1, 0},
    {"fastvit, stage 4, wider", 384, 8, 1152, 1, 1, 0},
    {"mobilenet, first", 3, 224, 16, 3, 2, 1},
    {"vision transformer, patches", 3, 224, 768, 16, 16, 0},
    {"convnext, into stage 2", 192, 28, 384, 2, 2, 0},
    {"unet, wide", 64, 128, 64, 3, 1, 1},
    {"unet, last", 64, 128, 3, 3, 1, 1},
    {"densenet", 128, 28, 32, 3, 1, 1},
    {"detector, stage 1", 64, 32, 64, 3, 1, 1},
    {"detector, stage 3", 256, 8, 256, 3, 1, 1},
    {"resnext, stage 1", 128, 56, 128, 3, 1, 1, 32},
    {"resnext, stage 2", 256, 28, 256, 3, 1, 1, 32},
    {"resnext, into stage 3", 512, 28, 512, 3, 2, 1, 32},
    {"resnext, stage 3", 512, 14, 512, 3, 1, 1, 32},
    {"resnext, stage 4", 1024, 7, 1024, 3, 1, 1, 32},
    {"regnet, into stage 3", 120, 56, 120, 3, 2, 1, 5},
    {"regnety, stage 2", 120, 28, 120, 3, 1, 1, 5},
    {"regnety, stage 3", 336, 14, 336, 3, 1, 1, 14},
    {"regnety, stage 4", 888, 7, 888, 3, 1, 1, 37},
    {"regnet, stage 3", 112, 28, 112, 3, 1, 1, 7},
};

std::vector<Layer> LayersOf(const char* file) {
  std::ifstream lines(file);
  std::vector<Layer> layers;
  for (std::string line; std::getline(lines, line);) {
    Layer& layer = layers.emplace_back();
    const bool is_layer(std::istringstream(line) >> layer.name >> layer.channels >> layer.size >> layer.out_channels >>
                        layer.kernel >> layer.stride >> layer.padding >> layer.groups);
    TORCH_CHECK(is_layer, "a name and seven numbers expected in '", file, "', not '", line, "'");
  }
  TORCH_CHECK(!layers.empty(), "no layers in '", file, "'");
  return layers;
}

template <typename Call>
void Turn(const Call& call, std::vector<double>* times) {
  // The first ones find the other's data in the cache, and threads that sleep.
  constexpr int kCalls = 8, kFirst = 3;
  for (int i = 0; i < kCalls; ++i) {
    const Clock::time_point begin = Clock::now();
    call();
    if (i >= kFirst) times->push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
}

double FirstQuartile(std::vector<double> times) {
  const auto quarter = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 4);
  std::ranges::nth_element(times, quarter);
  return *quarter;
}

void Compare(const Layer& layer, std::chrono::milliseconds most, int threads, int64_t megabytes) {
  at::set_num_threads(threads);
  const at::Tensor weight = at::randn({layer.out_channels, layer.channels / layer.groups, layer.kernel, layer.kernel});
  const at::Tensor bias = at::randn({layer.out_channels});
  const at::Tensor input =
      at::randn({1, layer.channels, layer.size, layer.size}).contiguous(at::MemoryFormat::ChannelsLast);
  const int64_t copies = std::max<int64_t>((megabytes << 20) / static_cast<int64_t>(weight.nbytes()), 1);
  std::vector<std::unique_ptr<hearth::libraries::Convolution>> planned;
  for (int64_t i = 0; i < copies; ++i) {
    planned.push_back(std::make_unique<hearth::libraries::Convolution>(
        weight, hearth::libraries::ConvolutionSettings{.padding = {layer.padding, layer.padding},
                                                       .stride = {layer.stride, layer.stride},
                                                       .dilation = {1, 1},
                                                       .groups = layer.groups}));
    const auto form = planned.back()->FormFor(input.sizes());
    if (form) planned.back()->Add({form, hearth::libraries::Pack(weight, *form)});
  }
  const at::Tensor expected = planned[0]->Run(input, &bias, "relu");

  const hearth::kernels::ImageKernels sizes{layer.out_channels, layer.channels / layer.groups, layer.groups,
                                            layer.kernel, layer.kernel};
  std::vector<float> packed(static_cast<size_t>(sizes.PackedSize()));
  hearth::kernels::PackImageKernels(sizes, weight.const_data_ptr<float>(), weight.stride(0), weight.stride(1),
                                    weight.stride(2), weight.stride(3), packed.data());
  at::Tensor result = at::empty_like(expected);
  const hearth::kernels::ConvolutionSide side{layer.size,   layer.kernel,  expected.size(2),
                                              layer.stride, layer.padding, 1};
  const hearth::kernels::ImageConvolution convolution{.channels = layer.channels,
                                                      .out_channels = layer.out_channels,
                                                      .groups = layer.groups,
                                                      .height = side,
                                                      .width = side,
                                                      .input = input.const_data_ptr<float>(),
                                                      .input_stride = layer.channels,
                                                      .packed = packed.data(),
                                                      .bias = bias.const_data_ptr<float>(),
                                                      .result = result.mutable_data_ptr<float>(),
                                                      .activation = hearth::kernels::Activation::kRelu};
  const hearth::kernels::ImageConvolutionParts parts(convolution, 1, 1);
  const auto own = [&] {
    const hearth::DenormalsAreZero fast;
    parts.Compute(0, parts.count());
  };
  std::vector<double> of_plan, of_own, of_peak;
  size_t next = 0;
  const Clock::time_point begin = Clock::now();
  do {
    Turn([&] { planned[next++ % planned.size()]->Run(input, &bias, "relu"); }, &of_plan);
    Turn(own, &of_own);
    const hearth::benchmarks::Work most_work = hearth::benchmarks::MultiplyAndAddForAWhile();
    of_peak.push_back(most_work.time.count() / static_cast<double>(most_work.operations));
  } while (Clock::now() - begin < most);
  TORCH_CHECK(at::allclose(result, expected, 1e-3, 1e-3), "the kernel's answer is another one");
  const double products = static_cast<double>(expected.numel()) * static_cast<double>(weight.numel()) /
                          static_cast<double>(layer.out_channels);
  const double plan = FirstQuartile(of_plan), one = FirstQuartile(of_own), peak = 1 / FirstQuartile(of_peak);
  const double own_speed = 2e-3 * products / one, planned_speed = 2e-3 * products / plan;
  std::printf("| %s | %.1f | %.0f | %.2f | %.1f | %.0f | %.2f | %.2f |\n", layer.name.c_str(), one, own_speed,
              own_speed / peak, plan, planned_speed, planned_speed / peak / threads, one / plan);
}

}  // namespace

int main(int argc, char** argv) {
  if (!hearth::kernels::HasVectors()) {
    std::fputs("this processor has neither AVX-512 nor AVX2\n", stderr);
    return 1;
  }
  const std::chrono::milliseconds most(argc > 1 ? std::atoi(argv[1]) : 500);
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
  const int64_t megabytes = argc > 3 ? std::atoi(argv[3]) : 0;
  // As in the daemon; threads of OpenMP's that waited for more would disturb whoever is next.
  hearth::LetIdleTeamsSleep();
  std::printf(
      "| convolution | own on one thread, us | GFLOP/s | of the peak | planned for %d, us | GFLOP/s | of the peak | "
      "times as fast |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n",
      threads);
  for (const Layer& layer : argc > 4 ? LayersOf(argv[4]) : kLayers) Compare(layer, most, threads, megabytes);
}
