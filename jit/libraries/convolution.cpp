#include "jit/libraries/convolution.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/sum_ops.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "jit/kernels/convolution.h"
#include "jit/kernels/depthwise.h"
#include "jit/kernels/interleave.h"
#include "jit/kernels/target.h"
#include "jit/kernels/winograd.h"
#include "jit/libraries/onednn.h"
#include "jit/support/denormals.h"
#include "jit/support/operator_threads.h"
#include "jit/support/parallel_for.h"

namespace hearth::libraries {
namespace {

using dnnl::memory;
using Descriptor = dnnl::convolution_forward::primitive_desc;

memory::dims WeightSizes(const Convolution& convolution) {
  const at::IntArrayRef sizes = convolution.weight_sizes();
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

// Nanoseconds that it takes one thread, about.
double NanosecondsOf(const Convolution& convolution, at::IntArrayRef result) {
  constexpr double kProductsOfNanosecond = 50;
  const at::IntArrayRef weight = convolution.weight_sizes();
  const auto elements = static_cast<double>(c10::multiply_integers(result));
  return elements * static_cast<double>(c10::multiply_integers(weight.slice(1))) / kProductsOfNanosecond;
}

// Empty where the library has nothing good. Throws dnnl::error for what it cannot even describe.
Descriptor Describe(const Convolution& convolution, at::IntArrayRef input, at::IntArrayRef result,
                    const memory::desc& weight, bool has_bias, std::string_view epilogue) {
  const ConvolutionSettings& settings = convolution.settings();
  memory::dims dilation;
  for (const int64_t number : settings.dilation) dilation.push_back(number - 1);
  const auto channels_last = input.size() == 5 ? memory::format_tag::ndhwc : memory::format_tag::nhwc;
  const memory::desc from = DenseForm(input, channels_last), to = DenseForm(result, channels_last);
  const memory::desc bias = has_bias ? DenseForm({result[1]}, memory::format_tag::a) : memory::desc();
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const dnnl::primitive_attr attributes = AttributesOf(epilogue);
  Descriptor made = has_bias ? Descriptor(Engine(), kind, algorithm, from, weight, bias, to, settings.stride, dilation,
                                          settings.padding, settings.padding_behind(), attributes,
                                          /*allow_empty=*/true)
                             : Descriptor(Engine(), kind, algorithm, from, weight, to, settings.stride, dilation,
                                          settings.padding, settings.padding_behind(), attributes,
                                          /*allow_empty=*/true);
  return made.get(true) != nullptr && IsOptimized(made) ? made : Descriptor();
}

bool IsOfVolumes(const Convolution& convolution) { return convolution.weight_sizes().size() == 5; }

// Whether each pixel of the result is computed of one of the input's.
bool IsOfSinglePixels(const Convolution& convolution) {
  const ConvolutionSettings& settings = convolution.settings();
  const auto are = [](const std::vector<int64_t>& numbers, int64_t number) {
    return std::ranges::all_of(numbers, [&](int64_t each) { return each == number; });
  };
  return convolution.weight_sizes()[2] == 1 && convolution.weight_sizes()[3] == 1 && are(settings.stride, 1) &&
         are(settings.padding, 0) && are(settings.padding_behind(), 0);
}

// Whether it is a product of pixels with the weight: every pixel of the result is computed of all channels of one.
bool IsProduct(const Convolution& convolution) {
  return convolution.settings().groups == 1 && IsOfSinglePixels(convolution);
}

// Whether every one of several channels has a kernel of its own, or several.
bool IsDepthwise(const Convolution& convolution) {
  return convolution.weight_sizes()[1] == 1 && convolution.settings().groups > 1;
}

// Images, or volumes, whose pixels lie one after another, each with its channels side by side: as they are, if they are
// so, or are some channels of such; else a copy.
class ImagesOfPixels {
 public:
  explicit ImagesOfPixels(const at::Tensor& images) : images_(images), stride_(images.stride(-1)) {
    if (LieInPixels(images)) return;
    images_ = images.contiguous(ChannelsLastFormat(images.sizes().size()));
    stride_ = images.size(1);
  }

  const float* data() const { return images_.const_data_ptr<float>(); }
  // From one pixel to the next, in elements.
  int64_t stride() const { return stride_; }

 private:
  at::Tensor images_;
  int64_t stride_;
};

at::Tensor EmptyTensor(at::IntArrayRef sizes, at::MemoryFormat format) {
  return at::detail::empty_cpu(sizes, at::kFloat, std::nullopt, std::nullopt, std::nullopt, format);
}

at::Tensor ChannelsLast(at::IntArrayRef sizes) { return EmptyTensor(sizes, ChannelsLastFormat(sizes.size())); }

// Images whose channels are those of `images`, each so many times in a row.
at::Tensor Repeated(const ImagesOfPixels& images, at::IntArrayRef sizes, int64_t times) {
  constexpr double kNanosecondsOfNumber = 0.3;
  const int64_t channels = sizes[1] * times;
  at::Tensor repeated = ChannelsLast({sizes[0], channels, sizes[2], sizes[3]});
  const std::vector<kernels::RowSource> sources(static_cast<size_t>(times), {images.data(), images.stride()});
  const kernels::Interleaving work{sources, sizes[1], repeated.mutable_data_ptr<float>(), channels};
  ParallelFor(sizes[0] * sizes[2] * sizes[3], kNanosecondsOfNumber * static_cast<double>(channels),
              [&](int64_t begin, int64_t end) { kernels::Interleave(work, begin, end); });
  return repeated;
}

// Whether kernels of hearth's own compute it, whatever the library has for it. Those of one pixel and depthwise ones
// are the faster ones. For others, the library is as good on one thread, but for groups of whole vectors of AVX2;
// several threads are sooner awake for ours, and every other operator of a plan shares its work with the same ones
// (support/worker_threads.h). Groups that are narrower than half of a vector leave too much of it empty.
bool PrefersOwnKernels(const Convolution& convolution) {
  if (!kernels::HasVectors() || IsOfVolumes(convolution)) return false;
  if (IsDepthwise(convolution) || IsProduct(convolution)) return true;
  const int64_t groups = convolution.settings().groups, of_group = convolution.weight_sizes()[0] / groups;
  if (groups > 1 && 2 * of_group < kernels::LanesHere()) return false;
  const bool fills_vectors = groups > 1 && of_group % kernels::LanesHere() == 0;
  return at::get_num_threads() > 1 || (fills_vectors && (!kernels::HasAvx512() || IsOfSinglePixels(convolution)));
}

// What a kernel computes; the operands are left out.
kernels::ImageConvolution KernelCallOf(const Convolution& convolution, at::IntArrayRef input, at::IntArrayRef result) {
  const ConvolutionSettings& settings = convolution.settings();
  const auto side = [&](size_t i) {
    return kernels::ConvolutionSide{input[i + 2],        convolution.weight_sizes()[i + 2],
                                    result[i + 2],       settings.stride[i],
                                    settings.padding[i], settings.dilation[i]};
  };
  const size_t height = IsOfVolumes(convolution) ? 1 : 0;
  return {.images = input[0],
          .channels = input[1],
          .out_channels = result[1],
          .groups = settings.groups,
          .height = side(height),
          .width = side(height + 1),
          .depth = height == 1 ? side(0) : kernels::ConvolutionSide()};
}

// The form for what computes it with fewer products, where that is clearly the faster way for inputs of these sizes;
// else null. On every call the kernels are read from memory, of which their sums are more.
std::shared_ptr<const WeightForm> WinogradFormOf(const Convolution& convolution, at::IntArrayRef input,
                                                 at::IntArrayRef result) {
  constexpr double kNanosecondsOfFloat = 0.25, kMostOfDirect = 0.8, kMostOfTwo = 0.85;
  // Of narrow groups, the sums of patches and tiles take as long as the products that they save.
  constexpr int64_t kLeastOfGroup = 16, kMostOfMerged = 32;
  if (!kernels::HasVectors() || IsDepthwise(convolution)) return nullptr;
  kernels::ImageConvolution call = KernelCallOf(convolution, input, result);
  if (!kernels::IsWinograd(call) || std::ranges::any_of(result, [](int64_t size) { return size <= 0; })) return nullptr;
  const auto reading = [](int64_t floats) { return kNanosecondsOfFloat * static_cast<double>(floats); };
  // Slices of a volume are computed as images are, as often as the kernel has slices.
  kernels::ImageConvolution slices = call;
  slices.images *= call.depth.result * call.depth.kernel;
  const double direct = kernels::ImageConvolutionParts(slices, 1, 1).nanoseconds() +
                        reading(c10::multiply_integers(convolution.weight_sizes()));
  const int64_t of_group = convolution.weight_sizes()[1],
                narrower = std::min(of_group, call.out_channels / call.groups);
  double least = kMostOfDirect * direct;
  std::shared_ptr<const WeightForm> form;
  for (; call.groups % call.merged == 0; call.merged *= 2) {
    if (call.merged > 1 && of_group * call.merged > kMostOfMerged) break;
    if (call.groups > 1 && narrower * call.merged < kLeastOfGroup) continue;
    const kernels::WinogradKernels sizes{call.out_channels, of_group,           call.groups,      call.merged,
                                         call.depth.kernel, call.height.kernel, call.width.kernel};
    const auto with = [&](kernels::WinogradTile tile) {
      return kernels::WinogradNanoseconds(tile, call) + reading(sizes.PackedSize(tile));
    };
    const double two = with(kernels::WinogradTile::kTwo), four = with(kernels::WinogradTile::kFour);
    if (std::min(two, four) > least) continue;
    least = std::min(two, four);
    form = OwnForm(WeightUser::kWinograd, call.groups, call.merged,
                   four < kMostOfTwo * two ? kernels::WinogradTile::kFour : kernels::WinogradTile::kTwo);
  }
  return form;
}

std::shared_ptr<const WeightForm> OwnFormOf(const Convolution& convolution) {
  if (IsOfVolumes(convolution)) return nullptr;
  if (IsProduct(convolution)) return OwnForm(WeightUser::kProduct);
  if (IsDepthwise(convolution)) return OwnForm(WeightUser::kDepthwise);
  return OwnForm(WeightUser::kConvolution, convolution.settings().groups);
}

}  // namespace

bool HasFiniteSum(const at::Tensor& tensor) {
  return std::isfinite(at::_ops::sum::call(tensor, std::nullopt).item<float>());
}

Convolution::Convolution(at::Tensor weight, ConvolutionSettings settings)
    : weight_(std::move(weight)),
      weight_sizes_(weight_.sizes().vec()),
      settings_(std::move(settings)),
      as_images_(VolumesAsImages::Of(weight_, settings_)),
      primitives_(std::make_unique<PrimitiveTable>()) {
  const size_t sides = settings_.padding.size();
  TORCH_CHECK(IsFloat(weight_) && (sides == 2 || sides == 3) && weight_.dim() == static_cast<int64_t>(sides) + 2 &&
                  settings_.groups > 0 && weight_.size(0) % settings_.groups == 0 && settings_.stride.size() == sides &&
                  (settings_.end_padding.empty() || (sides == 2 && settings_.end_padding.size() == 2)) &&
                  settings_.dilation.size() == sides,
              "not a convolution of images or volumes");
  if (as_images_)
    of_images_ = std::make_unique<Convolution>(as_images_->WeightOf(weight_), as_images_->SettingsOf(settings_));
}

Convolution::~Convolution() = default;

std::vector<int64_t> Convolution::ResultSizes(at::IntArrayRef input) const {
  std::vector<int64_t> sizes = {input[0], weight_sizes_[0]};
  for (size_t i = 0; i < settings_.padding.size(); ++i) {
    const int64_t kernel = settings_.dilation[i] * (weight_sizes_[i + 2] - 1) + 1;
    const int64_t padded = settings_.padding[i] + input[i + 2] + settings_.padding_behind()[i];
    sizes.push_back((padded - kernel) / settings_.stride[i] + 1);
  }
  return sizes;
}

std::shared_ptr<const WeightForm> Convolution::FormFor(at::IntArrayRef sizes) const {
  if (of_images_) return of_images_->FormFor(as_images_->SizesOf(sizes));
  // One number that is not finite would spoil the sums of its kernel.
  if (auto winograd = WinogradFormOf(*this, sizes, ResultSizes(sizes)); winograd != nullptr && HasFiniteSum(weight_))
    return winograd;
  if (PrefersOwnKernels(*this)) return OwnFormOf(*this);
  const memory::desc any(WeightSizes(*this), memory::data_type::f32, memory::format_tag::any);
  const std::vector<int64_t> result = ResultSizes(sizes);
  std::optional<OneOperatorThread> alone;
  if (!IsWorthSharing(NanosecondsOf(*this, result), at::get_num_threads())) alone.emplace();
  try {
    const Descriptor made = Describe(*this, sizes, result, any, /*has_bias=*/true, "");
    // As products of matrices, the library copies the input, and has one for each group.
    if (made.get(true) == nullptr || (settings_.groups > 1 && IsByProducts(made))) return OwnFormOf(*this);
    return MakeWeightForm(made.weights_desc());
  } catch (const dnnl::error&) {
    return OwnFormOf(*this);
  }
}

at::Tensor Convolution::Packed(const WeightForm& form) const {
  return Pack(of_images_ ? of_images_->weight_ : weight_, form);
}

void Convolution::Add(PackedWeight packed) {
  Convolution& of = of_images_ ? *of_images_ : *this;
  if (packed.form->user != WeightUser::kLibrary) weight_ = of.weight_ = at::Tensor();
  of.packed_.push_back(std::move(packed));
}

size_t Convolution::forms() const { return (of_images_ ? *of_images_ : *this).packed_.size(); }

const PackedWeight* Convolution::Own(at::IntArrayRef sizes) const {
  const auto found = std::ranges::find_if(
      packed_, [](const PackedWeight& packed) { return packed.form->user != WeightUser::kLibrary; });
  if (found == packed_.end()) return nullptr;
  const auto has_some = [](int64_t size) { return size > 0; };
  const bool is_product = found->form->user == WeightUser::kProduct;
  return is_product || (std::ranges::all_of(sizes, has_some) && std::ranges::all_of(ResultSizes(sizes), has_some))
             ? &*found
             : nullptr;
}

void Convolution::Prepare(at::IntArrayRef sizes, bool has_bias, std::string_view epilogue) const {
  if (of_images_) return of_images_->Prepare(as_images_->SizesOf(sizes), has_bias, epilogue);
  if (Own(sizes) == nullptr) Prepared(sizes, has_bias, PartsOf(epilogue).of_library);
}

bool Convolution::IsPrepared(at::IntArrayRef sizes, bool has_bias, std::string_view epilogue) const {
  if (of_images_) return of_images_->IsPrepared(as_images_->SizesOf(sizes), has_bias, epilogue);
  const std::string_view of_library = PartsOf(epilogue).of_library;
  return Own(sizes) != nullptr || primitives_->Find({sizes, has_bias, of_library, at::get_num_threads()}) != nullptr;
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
  std::optional<OneOperatorThread> alone;
  if (!IsWorthSharing(NanosecondsOf(*this, result), at::get_num_threads())) alone.emplace();
  for (size_t i = 0; i < packed_.size(); ++i) {
    if (packed_[i].form->user != WeightUser::kLibrary) continue;
    const Descriptor made = Describe(*this, sizes, result, packed_[i].form->form, has_bias, epilogue);
    if (made.get(true) == nullptr) continue;
    PreparedCall call = CallOf<dnnl::convolution_forward>(made, std::move(result));
    call.packed = i;
    return call;
  }
  return {};
} catch (const dnnl::error&) {
  return {};
}

at::Tensor Convolution::RunByLibTorch(const at::Tensor& input, const at::Tensor* bias) const {
  const std::optional<at::Tensor> optional_bias = bias == nullptr ? std::nullopt : std::optional(*bias);
  // Without the weight there is none of the input that it would be multiplied with.
  const at::Tensor weight = weight_.defined() ? weight_ : EmptyTensor(weight_sizes_, at::MemoryFormat::Contiguous);
  at::Tensor padded = input;
  std::vector<int64_t> padding = settings_.padding;
  if (const std::vector<int64_t>& behind = settings_.padding_behind(); behind != padding) {
    padded = at::constant_pad_nd(input, {padding[1], behind[1], padding[0], behind[0]});
    padding = {0, 0};
  }
  return at::convolution(padded, weight, optional_bias, settings_.stride, padding, settings_.dilation,
                         /*transposed=*/false, /*output_padding=*/0, settings_.groups)
      .contiguous(ChannelsLastFormat(input.sizes().size()));
}

void Convolution::Check(const at::Tensor& input, const at::Tensor* bias) const {
  TORCH_CHECK(IsFloat(input) && input.sizes().size() == weight_sizes_.size() &&
                  input.size(1) == weight_sizes_[1] * settings_.groups,
              "not an input of the convolution that was planned");
  TORCH_CHECK(bias == nullptr || (IsFloat(*bias) && bias->dim() == 1 && bias->size(0) == weight_sizes_[0]),
              "not a bias of the convolution that was planned");
}

void Convolution::Compute(const PreparedCall& prepared, const at::Tensor& input, const at::Tensor* bias,
                          at::Tensor& result) const {
  const at::Tensor dense = input.contiguous(ChannelsLastFormat(input.sizes().size()));
  const at::Tensor dense_bias = bias == nullptr ? at::Tensor() : bias->contiguous();
  Execute(prepared, dense, packed_[prepared.packed].numbers, bias == nullptr ? nullptr : &dense_bias, result);
}

void Convolution::ComputeOwn(const PackedWeight& packed, const at::Tensor& input, const at::Tensor* bias,
                             const KernelEpilogue& following, at::Tensor& result) const {
  const ImagesOfPixels images(input);
  const at::Tensor dense_bias = bias == nullptr ? at::Tensor() : bias->contiguous();
  const float* const bias_numbers = bias == nullptr ? nullptr : dense_bias.const_data_ptr<float>();
  const float* const numbers = packed.numbers.const_data_ptr<float>();
  auto* const to = result.mutable_data_ptr<float>();
  if (packed.form->user == WeightUser::kProduct) {
    MultiplyOnThreads({.rows = input.sizes()[0] * input.sizes()[2] * input.sizes()[3],
                       .inner = weight_sizes_[1],
                       .columns = weight_sizes_[0],
                       .left = images.data(),
                       .left_stride = images.stride(),
                       .packed = numbers,
                       .bias = bias_numbers,
                       .result = to,
                       .result_stride = weight_sizes_[0],
                       .adds = following.adds,
                       .activation = following.activation,
                       .slope = following.slope});
    return;
  }
  kernels::ImageConvolution convolution = KernelCallOf(*this, input.sizes(), result.sizes());
  convolution.input = images.data();
  convolution.input_stride = images.stride();
  convolution.packed = numbers;
  convolution.bias = bias_numbers;
  convolution.result = to;
  convolution.adds = following.adds;
  convolution.activation = following.activation;
  convolution.slope = following.slope;
  const auto compute = [](const auto& parts) {
    ParallelFor(parts.count(), parts.nanoseconds(), [&](int64_t begin, int64_t end) {
      const DenormalsAreZero fast;
      parts.Compute(begin, end);
    });
  };
  if (packed.form->user == WeightUser::kDepthwise) {
    at::Tensor repeated;
    if (const int64_t kernels_of_channel = result.size(1) / input.size(1); kernels_of_channel > 1) {
      repeated = Repeated(images, input.sizes(), kernels_of_channel);
      convolution.channels = convolution.groups = convolution.input_stride = result.size(1);
      convolution.input = repeated.const_data_ptr<float>();
    }
    compute(kernels::DepthwiseParts(convolution, at::get_num_threads()));
  } else if (packed.form->user == WeightUser::kWinograd) {
    const kernels::WinogradTile tile = packed.form->tile;
    convolution.merged = packed.form->merged;
    const WorkDivision division = DivisionFor(kernels::WinogradNanoseconds(tile, convolution));
    compute(kernels::WinogradParts(tile, convolution, division.parts, division.pieces_of_part));
  } else {
    const WorkDivision division = DivisionFor(NanosecondsOf(*this, result.sizes()));
    compute(kernels::ImageConvolutionParts(convolution, division.parts, division.pieces_of_part));
  }
}

void Convolution::RunOwn(const PackedWeight& packed, const at::Tensor& input, const at::Tensor* bias,
                         std::string_view epilogue, at::Tensor& result) const {
  const std::optional<KernelEpilogue> all = KernelEpilogueOf(epilogue);
  ComputeOwn(packed, input, bias, all.value_or(KernelEpilogue{.adds = Adds(epilogue)}), result);
  if (!all) ApplyEpilogue(epilogue, result);
}

at::Tensor Convolution::Run(const at::Tensor& input, const at::Tensor* bias, std::string_view epilogue) const {
  TORCH_CHECK(!Adds(epilogue), "a convolution that adds has a tensor to add to");
  Check(input, bias);
  if (of_images_ && input.numel() > 0) {
    const at::Tensor images = of_images_->Run(as_images_->ImagesOf(input), bias, epilogue);
    return as_images_->VolumesOf(images, ResultSizes(input.sizes()));
  }
  if (const PackedWeight* own = Own(input.sizes())) {
    at::Tensor result = ChannelsLast(ResultSizes(input.sizes()));
    RunOwn(*own, input, bias, epilogue, result);
    return result;
  }
  const auto [of_library, afterwards] = PartsOf(epilogue);
  const auto prepared = Prepared(input.sizes(), bias != nullptr, of_library);
  if (prepared == nullptr) {
    at::Tensor result = RunByLibTorch(input, bias);
    ApplyEpilogue(epilogue, result);
    return result;
  }
  // First what a plan may have a place for.
  at::Tensor result = ChannelsLast(prepared->result_sizes);
  Compute(*prepared, input, bias, result);
  ApplyEpilogue(afterwards, result);
  return result;
}

void Convolution::RunOnto(at::Tensor& onto, const at::Tensor& input, const at::Tensor* bias,
                          std::string_view epilogue) const {
  TORCH_CHECK(Adds(epilogue), "a convolution that does not add has no tensor to add to");
  Check(input, bias);
  TORCH_CHECK(IsFloat(onto) && onto.sizes() == at::IntArrayRef(ResultSizes(input.sizes())) &&
                  onto.is_contiguous(ChannelsLastFormat(onto.sizes().size())),
              "not a tensor that the convolution can be added to");
  if (of_images_ && input.numel() > 0) {
    at::Tensor images = as_images_->ImagesOf(onto);
    return of_images_->RunOnto(images, as_images_->ImagesOf(input), bias, epilogue);
  }
  if (const PackedWeight* own = Own(input.sizes())) {
    RunOwn(*own, input, bias, epilogue, onto);
    return;
  }
  const auto [of_library, afterwards] = PartsOf(epilogue);
  const auto prepared = Prepared(input.sizes(), bias != nullptr, of_library);
  if (prepared == nullptr) {
    onto.add_(RunByLibTorch(input, bias));
    ApplyEpilogue(epilogue, onto);
  } else {
    Compute(*prepared, input, bias, onto);
    ApplyEpilogue(afterwards, onto);
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
