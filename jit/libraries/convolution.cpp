#include "jit/libraries/convolution.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/convolution.h>

#include <algorithm>
#include <utility>

#include "jit/kernels/depthwise.h"
#include "jit/kernels/target.h"
#include "jit/libraries/convolution_parts.h"
#include "jit/libraries/onednn.h"
#include "jit/support/denormals.h"
#include "jit/support/operator_threads.h"
#include "jit/support/parallel_for.h"

namespace hearth::libraries {
namespace {

using dnnl::memory;
using Descriptor = dnnl::convolution_forward::primitive_desc;

memory::dims WeightSizes(const Convolution& convolution) {
  const at::IntArrayRef sizes = convolution.weight().sizes();
  memory::dims result(sizes.begin(), sizes.end());
  const int64_t groups = convolution.settings().groups;
  if (groups > 1) {
    result[0] /= groups;
    result.insert(result.begin(), groups);
  }
  return result;
}

bool IsFloat(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat && tensor.layout() == at::kStrided && tensor.device().is_cpu() &&
         !tensor.is_neg();
}

ConvolutionShape ShapeOf(const Convolution& convolution, at::IntArrayRef input, at::IntArrayRef result) {
  const at::Tensor& weight = convolution.weight();
  const ConvolutionSettings& settings = convolution.settings();
  return {.images = input[0],
          .channels = input[1],
          .height = input[2],
          .width = input[3],
          .out_channels = result[1],
          .rows = result[2],
          .columns = result[3],
          .kernel_height = weight.size(2),
          .kernel_width = weight.size(3),
          .stride = settings.stride[0],
          .padding = settings.padding[0],
          .dilation = settings.dilation[0],
          .groups = settings.groups};
}

// Of float32: images in rows of pixels, of which some channels are looked at.
memory::desc ChannelsOfImages(const memory::dims& sizes, int64_t all_channels) {
  const memory::dims strides = {sizes[2] * sizes[3] * all_channels, 1, sizes[3] * all_channels, all_channels};
  return {sizes, memory::data_type::f32, strides};
}

// What a part of a convolution is made of, or all of it.
struct Region {
  memory::desc input, weight, result;
  int64_t padding_above, padding_below;
};

// Empty where the library has nothing good. Throws dnnl::error for what it cannot even describe.
Descriptor Describe(const Convolution& convolution, const Region& region, bool has_bias, std::string_view epilogue) {
  const ConvolutionSettings& settings = convolution.settings();
  memory::dims dilation;
  for (const int64_t number : settings.dilation) dilation.push_back(number - 1);
  const memory::dims before = {region.padding_above, settings.padding[1]},
                     after = {region.padding_below, settings.padding[1]};
  const memory::desc bias = has_bias ? DenseForm({region.result.get_dims()[1]}, memory::format_tag::a) : memory::desc();
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const dnnl::primitive_attr attributes = AttributesOf(epilogue);
  Descriptor made = has_bias ? Descriptor(Engine(), kind, algorithm, region.input, region.weight, bias, region.result,
                                          settings.stride, dilation, before, after, attributes, /*allow_empty=*/true)
                             : Descriptor(Engine(), kind, algorithm, region.input, region.weight, region.result,
                                          settings.stride, dilation, before, after, attributes, /*allow_empty=*/true);
  return made.get(true) != nullptr && IsOptimized(made) ? made : Descriptor();
}

Region WholeOf(const Convolution& convolution, at::IntArrayRef input, at::IntArrayRef result, memory::desc weight) {
  const int64_t padding = convolution.settings().padding[0];
  return {DenseForm(input, memory::format_tag::nhwc), std::move(weight), DenseForm(result, memory::format_tag::nhwc),
          padding, padding};
}

// How many output channels stand in the innermost blocks of a weight's form; 0 where these are not the blocks between
// which it can be cut.
int64_t ChannelBlock(const memory::desc& weight) {
  const memory::dims sizes = weight.get_inner_blks(), dimensions = weight.get_inner_idxs(),
                     strides = weight.get_strides();
  int64_t block = 1;
  for (size_t i = 0; i < sizes.size(); ++i) block *= dimensions[i] == 0 ? sizes[i] : 1;
  const bool is_outermost = std::ranges::max(strides) == strides[0];
  return is_outermost ? block : 0;
}

// The parts of a convolution, each a primitive of one thread. Empty where it is better computed in one piece, or the
// library has nothing good for a part.
std::vector<PreparedPrimitive> PreparedParts(const Convolution& convolution, const Region& whole, bool has_bias,
                                             std::string_view epilogue, std::span<const ConvolutionPart> parts) try {
  const memory::dims input = whole.input.get_dims(), result = whole.result.get_dims();
  const int64_t block = ChannelBlock(whole.weight);
  std::vector<PreparedPrimitive> prepared;
  std::vector<size_t> first;  // parts of which no other one before has the same sizes
  for (size_t i = 0; i < parts.size(); ++i) {
    const ConvolutionPart& part = parts[i];
    const auto is_like = [&](size_t other) {
      const ConvolutionPart& like = parts[other];
      return like.rows == part.rows && like.input_rows == part.input_rows && like.channels == part.channels &&
             like.padding_above == part.padding_above && like.padding_below == part.padding_below;
    };
    if (const auto found = std::ranges::find_if(first, is_like); found != first.end()) {
      prepared.push_back(prepared[*found]);
    } else {
      first.push_back(i);
      const bool has_all_channels = part.channels == result[1];
      memory::dims weight = whole.weight.get_dims();
      if (!has_all_channels) weight[0] = part.channels;
      const memory::desc any(weight, memory::data_type::f32, memory::format_tag::any);
      const Region region = {DenseForm({1, input[1], part.input_rows, input[3]}, memory::format_tag::nhwc),
                             has_all_channels ? whole.weight : any,
                             ChannelsOfImages({1, part.channels, part.rows, result[3]}, result[1]), part.padding_above,
                             part.padding_below};
      const Descriptor made = Describe(convolution, region, has_bias, epilogue);
      if (made.get(true) == nullptr) return {};
      const memory::desc wanted = made.weights_desc();
      const bool has_same_form = wanted.get_strides() == whole.weight.get_strides() &&
                                 wanted.get_inner_blks() == whole.weight.get_inner_blks() &&
                                 wanted.get_inner_idxs() == whole.weight.get_inner_idxs();
      if (!has_same_form) return {};
      prepared.push_back(PrimitiveOf<dnnl::convolution_forward>(made));
    }
    PreparedPrimitive& now = prepared.back();
    now.input_begin = (part.image * input[2] + part.input_row) * input[3] * input[1];
    now.result_begin = (part.image * result[2] + part.row) * result[3] * result[1] + part.channel;
    now.weight_begin = part.channel == 0 ? 0 : part.channel / block * whole.weight.get_strides()[0];
    now.bias_begin = part.channel;
  }
  return prepared;
} catch (const dnnl::error&) {
  return {};
}

// Whether each pixel of the result is computed of one of the input's, of all of its channels.
bool IsOfSinglePixels(const Convolution& convolution) {
  const ConvolutionSettings& settings = convolution.settings();
  const auto are = [](const std::vector<int64_t>& numbers, int64_t number) {
    return std::ranges::all_of(numbers, [&](int64_t each) { return each == number; });
  };
  return settings.groups == 1 && convolution.weight().size(2) == 1 && convolution.weight().size(3) == 1 &&
         are(settings.stride, 1) && are(settings.padding, 0);
}

// Whether every channel has a kernel of its own.
bool IsDepthwise(const Convolution& convolution) {
  const at::Tensor& weight = convolution.weight();
  return weight.size(1) == 1 && weight.size(0) == convolution.settings().groups && weight.size(0) > 1;
}

// Images whose pixels lie one after another, each with its channels side by side: as they are, if they are so, or are
// some channels of such; else a copy.
class ImagesOfPixels {
 public:
  explicit ImagesOfPixels(const at::Tensor& images) : images_(images), stride_(images.stride(3)) {
    if (AreOfPixels(images)) return;
    images_ = images.contiguous(at::MemoryFormat::ChannelsLast);
    stride_ = images.size(1);
  }

  const float* data() const { return images_.const_data_ptr<float>(); }
  // From one pixel to the next, in elements.
  int64_t stride() const { return stride_; }

 private:
  static bool AreOfPixels(const at::Tensor& images) {
    const int64_t pixel = images.stride(3), width = images.size(3), height = images.size(2);
    return images.stride(1) == 1 && pixel >= images.size(1) && images.stride(2) == width * pixel &&
           images.stride(0) == height * width * pixel;
  }

  at::Tensor images_;
  int64_t stride_;
};

at::Tensor ChannelsLast(at::IntArrayRef sizes) {
  return at::detail::empty_cpu(sizes, at::kFloat, std::nullopt, std::nullopt, std::nullopt,
                               at::MemoryFormat::ChannelsLast);
}

// Whether depthwise convolutions are hearth's own, whatever the library has for them: with AVX2 that is as good on one
// thread, and several are sooner awake for ours (support/worker_threads.h).
bool PrefersOwnKernels() { return kernels::HasAvx512() || (kernels::HasVectors() && at::get_num_threads() > 1); }

}  // namespace

Convolution::Convolution(at::Tensor weight, ConvolutionSettings settings)
    : weight_(std::move(weight)), settings_(std::move(settings)), primitives_(std::make_unique<PrimitiveTable>()) {
  TORCH_CHECK(IsFloat(weight_) && weight_.dim() == 4 && settings_.groups > 0 &&
                  weight_.size(0) % settings_.groups == 0 && settings_.padding.size() == 2 &&
                  settings_.stride.size() == 2 && settings_.dilation.size() == 2,
              "not a convolution of images");
}

Convolution::~Convolution() = default;

std::vector<int64_t> Convolution::ResultSizes(at::IntArrayRef input) const {
  std::vector<int64_t> sizes = {input[0], weight_.size(0)};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t kernel = settings_.dilation[i] * (weight_.size(static_cast<int64_t>(i) + 2) - 1) + 1;
    sizes.push_back((input[i + 2] + 2 * settings_.padding[i] - kernel) / settings_.stride[i] + 1);
  }
  return sizes;
}

std::shared_ptr<const WeightForm> Convolution::FormFor(at::IntArrayRef sizes) const {
  if (IsOfSinglePixels(*this)) {
    if (auto panels = PanelForm()) return panels;
  }
  if (IsDepthwise(*this) && PrefersOwnKernels()) return DepthwiseForm();
  const memory::desc any(WeightSizes(*this), memory::data_type::f32, memory::format_tag::any);
  const std::vector<int64_t> result = ResultSizes(sizes);
  const ConvolutionShape shape = ShapeOf(*this, sizes, result);
  std::optional<OneOperatorThread> alone;
  if (shape.nanoseconds() < kWorthSharing || IsSharedInParts(shape)) alone.emplace();
  try {
    const Descriptor made = Describe(*this, WholeOf(*this, sizes, result, any), /*has_bias=*/true, "");
    // A product for each channel, of one column: that is what the library does where the kernel is too far dilated.
    if (IsDepthwise(*this) && (made.get(true) == nullptr || IsByProducts(made))) return DepthwiseForm();
    return made.get(true) == nullptr ? nullptr : MakeWeightForm(made.weights_desc());
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

const PackedWeight* Convolution::Panels(std::string_view epilogue) const {
  const auto found = std::ranges::find_if(packed_, [](const PackedWeight& packed) { return packed.form->has_panels; });
  return found == packed_.end() || !KernelEpilogueOf(epilogue) ? nullptr : &*found;
}

const PackedWeight* Convolution::Kernels(at::IntArrayRef sizes, std::string_view epilogue) const {
  const auto found =
      std::ranges::find_if(packed_, [](const PackedWeight& packed) { return packed.form->is_depthwise; });
  if (found == packed_.end() || !KernelEpilogueOf(epilogue)) return nullptr;
  if (packed_.size() > 1 && !PrefersOwnKernels()) return nullptr;
  const auto has_some = [](int64_t size) { return size > 0; };
  return std::ranges::all_of(sizes, has_some) && std::ranges::all_of(ResultSizes(sizes), has_some) ? &*found : nullptr;
}

void Convolution::Prepare(at::IntArrayRef sizes, bool has_bias, std::string_view epilogue) const {
  if (Panels(epilogue) == nullptr && Kernels(sizes, epilogue) == nullptr) Prepared(sizes, has_bias, epilogue);
}

bool Convolution::IsPrepared(at::IntArrayRef sizes, bool has_bias, std::string_view epilogue) const {
  return Panels(epilogue) != nullptr || Kernels(sizes, epilogue) != nullptr ||
         primitives_->Find({sizes, has_bias, epilogue, at::get_num_threads()}) != nullptr;
}

std::shared_ptr<const PreparedCall> Convolution::Prepared(at::IntArrayRef sizes, bool has_bias,
                                                          std::string_view epilogue) const {
  const PrimitiveKey key{sizes, has_bias, epilogue, at::get_num_threads()};
  return primitives_->Get(key, [&] { return Make(sizes, has_bias, epilogue); });
}

std::optional<PreparedCall> Convolution::Make(at::IntArrayRef sizes, bool has_bias, std::string_view epilogue) const
    try {
  std::vector<int64_t> result = ResultSizes(sizes);
  if (std::ranges::any_of(sizes, [](int64_t size) { return size == 0; }) ||
      std::ranges::any_of(result, [](int64_t size) { return size <= 0; }))
    return {};
  const int threads = at::get_num_threads();
  const ConvolutionShape shape = ShapeOf(*this, sizes, result);
  for (size_t i = 0; i < packed_.size(); ++i) {
    if (packed_[i].form->has_panels || packed_[i].form->is_depthwise) continue;
    const Region whole = WholeOf(*this, sizes, result, packed_[i].form->form);
    PreparedCall call{.packed = i};
    for (const int64_t block : {settings_.groups == 1 ? ChannelBlock(whole.weight) : 0, int64_t{0}}) {
      const OneOperatorThread alone;
      call.parts = PreparedParts(*this, whole, has_bias, epilogue, PartsOf(shape, threads, block));
      if (!call.parts.empty()) break;
    }
    if (call.parts.empty()) {
      std::optional<OneOperatorThread> alone;
      if (shape.nanoseconds() < kWorthSharing) alone.emplace();
      const Descriptor made = Describe(*this, whole, has_bias, epilogue);
      if (made.get(true) == nullptr) continue;
      call.parts.push_back(PrimitiveOf<dnnl::convolution_forward>(made));
    }
    call.nanoseconds_of_part = shape.nanoseconds() / static_cast<double>(call.parts.size());
    call.result_sizes = std::move(result);
    return call;
  }
  return {};
} catch (const dnnl::error&) {
  return {};
}

at::Tensor Convolution::RunByLibTorch(const at::Tensor& input, const at::Tensor* bias) const {
  const std::optional<at::Tensor> optional_bias = bias == nullptr ? std::nullopt : std::optional(*bias);
  return at::convolution(input, weight_, optional_bias, settings_.stride, settings_.padding, settings_.dilation,
                         /*transposed=*/false, {0, 0}, settings_.groups)
      .contiguous(at::MemoryFormat::ChannelsLast);
}

void Convolution::Check(const at::Tensor& input, const at::Tensor* bias) const {
  TORCH_CHECK(IsFloat(input) && input.dim() == 4 && input.size(1) == weight_.size(1) * settings_.groups,
              "not an input of the convolution that was planned");
  TORCH_CHECK(bias == nullptr || (IsFloat(*bias) && bias->dim() == 1 && bias->size(0) == weight_.size(0)),
              "not a bias of the convolution that was planned");
}

void Convolution::Compute(const PreparedCall& prepared, const at::Tensor& input, const at::Tensor* bias,
                          at::Tensor& result) const {
  const at::Tensor dense = input.contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor dense_bias = bias == nullptr ? at::Tensor() : bias->contiguous();
  Execute(prepared, dense, packed_[prepared.packed].numbers, bias == nullptr ? nullptr : &dense_bias, result);
}

void Convolution::ComputePixels(const PackedWeight& panels, const at::Tensor& input, const at::Tensor* bias,
                                std::string_view epilogue, at::Tensor& result) const {
  const ImagesOfPixels images(input);
  const at::Tensor dense_bias = bias == nullptr ? at::Tensor() : bias->contiguous();
  const KernelEpilogue following = *KernelEpilogueOf(epilogue);
  MultiplyOnThreads({.rows = input.sizes()[0] * input.sizes()[2] * input.sizes()[3],
                     .inner = weight_.size(1),
                     .columns = weight_.size(0),
                     .left = images.data(),
                     .left_stride = images.stride(),
                     .packed = panels.numbers.const_data_ptr<float>(),
                     .bias = bias == nullptr ? nullptr : dense_bias.const_data_ptr<float>(),
                     .result = result.mutable_data_ptr<float>(),
                     .result_stride = weight_.size(0),
                     .adds = following.adds,
                     .activation = following.activation,
                     .slope = following.slope});
}

void Convolution::ComputeChannels(const PackedWeight& packed, const at::Tensor& input, const at::Tensor* bias,
                                  std::string_view epilogue, at::Tensor& result) const {
  const ImagesOfPixels images(input);
  const at::Tensor dense_bias = bias == nullptr ? at::Tensor() : bias->contiguous();
  const KernelEpilogue following = *KernelEpilogueOf(epilogue);
  const auto side = [&](size_t i) {
    const auto dimension = static_cast<int64_t>(i) + 2;
    return kernels::DepthwiseSide{input.size(dimension), weight_.size(dimension), result.size(dimension),
                                  settings_.stride[i],   settings_.padding[i],    settings_.dilation[i]};
  };
  const kernels::Depthwise convolution{.images = input.size(0),
                                       .channels = input.size(1),
                                       .height = side(0),
                                       .width = side(1),
                                       .input = images.data(),
                                       .input_stride = images.stride(),
                                       .packed = packed.numbers.const_data_ptr<float>(),
                                       .bias = bias == nullptr ? nullptr : dense_bias.const_data_ptr<float>(),
                                       .result = result.mutable_data_ptr<float>(),
                                       .adds = following.adds,
                                       .activation = following.activation,
                                       .slope = following.slope};
  const kernels::DepthwiseParts parts(convolution, at::get_num_threads());
  ParallelFor(parts.count(), parts.nanoseconds(), [&](int64_t begin, int64_t end) {
    const DenormalsAreZero fast;
    parts.Compute(begin, end);
  });
}

at::Tensor Convolution::Run(const at::Tensor& input, const at::Tensor* bias, std::string_view epilogue) const {
  TORCH_CHECK(!Adds(epilogue), "a convolution that adds has a tensor to add to");
  Check(input, bias);
  if (const PackedWeight* panels = Panels(epilogue)) {
    at::Tensor result = ChannelsLast(ResultSizes(input.sizes()));
    ComputePixels(*panels, input, bias, epilogue, result);
    return result;
  }
  if (const PackedWeight* kernels = Kernels(input.sizes(), epilogue)) {
    at::Tensor result = ChannelsLast(ResultSizes(input.sizes()));
    ComputeChannels(*kernels, input, bias, epilogue, result);
    return result;
  }
  const auto prepared = Prepared(input.sizes(), bias != nullptr, epilogue);
  if (prepared == nullptr) {
    at::Tensor result = RunByLibTorch(input, bias);
    ApplyEpilogue(epilogue, result);
    return result;
  }
  // First what a plan may have a place for.
  at::Tensor result = ChannelsLast(prepared->result_sizes);
  Compute(*prepared, input, bias, result);
  return result;
}

void Convolution::RunOnto(at::Tensor& onto, const at::Tensor& input, const at::Tensor* bias,
                          std::string_view epilogue) const {
  TORCH_CHECK(Adds(epilogue), "a convolution that does not add has no tensor to add to");
  Check(input, bias);
  TORCH_CHECK(IsFloat(onto) && onto.dim() == 4 && onto.sizes() == at::IntArrayRef(ResultSizes(input.sizes())) &&
                  onto.is_contiguous(at::MemoryFormat::ChannelsLast),
              "not a tensor that the convolution can be added to");
  if (const PackedWeight* panels = Panels(epilogue)) {
    ComputePixels(*panels, input, bias, epilogue, onto);
    return;
  }
  if (const PackedWeight* kernels = Kernels(input.sizes(), epilogue)) {
    ComputeChannels(*kernels, input, bias, epilogue, onto);
    return;
  }
  const auto prepared = Prepared(input.sizes(), bias != nullptr, epilogue);
  if (prepared == nullptr) {
    onto.add_(RunByLibTorch(input, bias));
    ApplyEpilogue(epilogue, onto);
  } else {
    Compute(*prepared, input, bias, onto);
  }
}

c10::IValue Convolution::Wrap(c10::intrusive_ptr<Convolution> convolution) {
  return c10::IValue::make_capsule(std::move(convolution));
}

const Convolution* Convolution::Unwrap(const c10::IValue& value) {
  if (!value.isCapsule()) return nullptr;
  return dynamic_cast<const Convolution*>(value.toCapsule().get());
}

}  // namespace hearth::libraries
