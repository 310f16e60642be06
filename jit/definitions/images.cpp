// The rules for what is made of batches of images, and for the same in one and three dimensions: convolutions, pooling,
// resampling, padding, batch norms.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/definitions/definition_lists.h"
#include "jit/definitions/fact_rules.h"
#include "jit/definitions/place_rules.h"
#include "jit/libraries/convolution.h"

namespace hearth {
namespace {

// Element `i` of a list in which a single number stands for all.
KnownSize At(const std::optional<KnownSizes>& list, size_t i) {
  if (!list || list->empty()) return {};
  return list->size() == 1 ? list->front() : i < list->size() ? (*list)[i] : KnownSize();
}

KnownSize Window(SizeAlgebra& algebra, KnownSize size, KnownSize kernel, KnownSize stride, KnownSize padding,
                 KnownSize dilation) {
  if (!algebra.IsAtLeast(stride, 1)) return {};
  const KnownSize reach = algebra.Multiply(dilation, algebra.Subtract(kernel, 1));
  const KnownSize room = algebra.Subtract(algebra.Add(size, algebra.Multiply(padding, 2)), algebra.Add(reach, 1));
  if (algebra.Most(room).value_or(0) < 0) return {};
  return algebra.Add(algebra.Divide(room, stride), 1);
}

// What a transposed convolution makes of a size: how far its windows reach, less the padding.
KnownSize Spread(SizeAlgebra& algebra, KnownSize size, KnownSize kernel, KnownSize stride, KnownSize padding,
                 KnownSize output_padding, KnownSize dilation) {
  const KnownSize reach = algebra.Add(algebra.Multiply(dilation, algebra.Subtract(kernel, 1)), 1);
  const KnownSize steps = algebra.Multiply(algebra.Subtract(size, 1), stride);
  const KnownSize all = algebra.Add(algebra.Add(steps, reach), output_padding);
  const KnownSize spread = algebra.Subtract(all, algebra.Multiply(padding, 2));
  return algebra.IsAtLeast(spread, 0) ? spread : KnownSize();
}

// The same rounded up, where a window may begin within the image and end beyond it. LibTorch leaves out one that would
// begin beyond it: none does where a window reaches as far as this asks.
KnownSize WindowRoundedUp(SizeAlgebra& algebra, KnownSize size, KnownSize kernel, KnownSize stride, KnownSize padding,
                          KnownSize dilation) {
  const KnownSize reach = algebra.Multiply(dilation, algebra.Subtract(kernel, 1));
  const KnownSize rest = algebra.Subtract(stride, 1);
  if (!algebra.IsAtLeast(reach, algebra.Add(padding, rest))) return {};
  return Window(algebra, algebra.Add(size, rest), kernel, stride, padding, dilation);
}

// Whether a window over one pixel gives one pixel.
bool OneGivesOne(KnownSize kernel, KnownSize step, KnownSize pad, KnownSize apart) {
  return kernel && step && pad && apart && 2 * *pad - *apart * (*kernel - 1) < *step;
}

// Whether a convolution of one pixel gives one pixel, and its input has several channels: then an input that is dense
// both in the default order and channels-last gives a result that is so, too.
bool KeepsAmbiguity(Call& call) {
  const KnownSizes& weight = *call.in(1).sizes;
  const auto stride = call.numbers("stride"), padding = call.numbers("padding"), dilation = call.numbers("dilation");
  if (!call.sizes().IsAtLeast((*call.in(0).sizes)[1], 2)) return false;
  return OneGivesOne(weight[2], At(stride, 0), At(padding, 0), At(dilation, 0)) &&
         OneGivesOne(weight[3], At(stride, 1), At(padding, 1), At(dilation, 1));
}

// im2col: each place of the window is a column of [channels * height * width of the kernel], of a batch or without.
void Columns(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  if (sizes && (sizes->size() == 3 || sizes->size() == 4)) {
    const auto kernel = call.numbers("kernel_size"), stride = call.numbers("stride"), padding = call.numbers("padding"),
               dilation = call.numbers("dilation");
    KnownSize* const image = &sizes->back() - 1;
    KnownSize places = 1, elements = image[-1];
    for (size_t i = 0; i < 2; ++i) {
      elements = call.sizes().Multiply(elements, At(kernel, i));
      places = call.sizes().Multiply(
          places, Window(call.sizes(), image[i], At(kernel, i), At(stride, i), At(padding, i), At(dilation, i)));
    }
    image[-1] = elements;
    image[0] = places;
    sizes->pop_back();
  } else {
    sizes.reset();
  }
  call.Give(0, call.in(0), call.in(0).dtype, std::move(sizes));
  call.GiveOrder(StrideOrder::Default(true));
}

// col2im: the other way round.
void ImageOfColumns(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  const auto image = call.numbers("output_size"), kernel = call.numbers("kernel_size");
  if (sizes && sizes->size() >= 2) {
    KnownSize* const columns = &sizes->back() - 1;
    columns[0] = call.sizes().Divide(columns[0], call.sizes().Multiply(At(kernel, 0), At(kernel, 1)));
    columns[1] = At(image, 0);
    sizes->push_back(At(image, 1));
  }
  call.Give(0, call.in(0), call.in(0).dtype, std::move(sizes));
  call.GiveOrder(StrideOrder::Default(true));
}

bool HasFewElements(SizeAlgebra& algebra, const KnownSizes& sizes) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  return Product(algebra, sizes, 0, sizes.size()).value_or(kMost + 1) <= kMost;
}

// Whether what computes the convolution gives a channels-last result if its input or weight is so. Elsewhere that
// depends on which library LibTorch picks for the sizes. On a GPU it has cuDNN compute such convolutions, depthwise
// ones only where 32 bits count the elements.
bool FollowsChannelsLast(Call& call) {
  const ValueFacts& input = call.in(0);
  if (!input.device) return false;
  if (input.device->is_cpu()) return input.dtype == c10::kFloat;
  const bool half = input.dtype == c10::kHalf || input.dtype == c10::kBFloat16;
  const bool is_depthwise = call.computed("groups") != 1 && (*call.in(1).sizes)[1].value_or(1) == 1;
  return input.device->is_cuda() && half &&
         (!is_depthwise ||
          (HasFewElements(call.sizes(), *input.sizes) && HasFewElements(call.sizes(), *call.out().sizes)));
}

// Of sequences, [batch, channels, length], in a dtype that LibTorch has kernels of its libraries for: it makes the
// input contiguous first and takes it for an image of one row, which suggests the default format if its strides are
// that format's or its sizes others than 1.
StrideOrder OrderOfSequences(Call& call) {
  const ValueFacts& input = call.in(0);
  const ValueFacts& weight = call.in(1);
  if (!input.device || !input.dtype || !weight.default_strides()) return {};
  const bool is_half = input.dtype == c10::kHalf || input.dtype == c10::kBFloat16;
  const bool is_known = input.dtype == c10::kFloat ? input.device->is_cpu() || input.device->is_cuda()
                                                   : is_half && input.device->is_cuda();
  const KnownSizes& sizes = *input.sizes;
  const bool suggests =
      input.default_strides() || (call.sizes().IsAtLeast(sizes[1], 2) && call.sizes().IsAtLeast(sizes[2], 2));
  if (!is_known || !suggests || !call.sizes().IsAtLeast(sizes[0], 1)) return {};
  return StrideOrder::Default(true);
}

// Of images or volumes: in the format that the input or the weight suggests.
StrideOrder OrderOfConvolution(Call& call) {
  const ValueFacts& input = call.in(0);
  const ValueFacts& weight = call.in(1);
  if (input.rank() == 3u && weight.rank() == 3u) return OrderOfSequences(call);
  const bool of_volumes = input.rank() == 5u && weight.rank() == 5u;
  if (!of_volumes && (input.rank() != 4u || weight.rank() != 4u)) return {};
  const auto of_input = SuggestedFormat(call.sizes(), input), of_weight = SuggestedFormat(call.sizes(), weight);
  constexpr auto kDefault = c10::MemoryFormat::Contiguous, kChannelsLast = c10::MemoryFormat::ChannelsLast;
  if (of_input == kDefault && of_weight == kDefault) return StrideOrder::Default(true);
  // Some of what computes volumes gives the default order all the same.
  if (of_volumes) return {};
  if (!FollowsChannelsLast(call) || !call.sizes().IsAtLeast(input.sizes->front(), 1)) return {};
  if (of_input == kChannelsLast || of_weight == kChannelsLast) return StrideOrder::ChannelsLast(true);
  const bool images = input.contiguous() || input.order.is_channels_last();
  return of_weight == kDefault && images && KeepsAmbiguity(call) ? input.order.Inexact() : StrideOrder();
}

// Likewise of transposed ones, of float32 images on the CPU and, by cuDNN, of half precision on a GPU.
StrideOrder OrderOfTransposed(Call& call) {
  const ValueFacts& input = call.in(0);
  const ValueFacts& weight = call.in(1);
  const bool are_images = input.rank() == 4u && weight.rank() == 4u;
  if (!are_images || !input.device) return {};
  const bool half = input.dtype == c10::kHalf || input.dtype == c10::kBFloat16;
  if (!(input.device->is_cpu() && input.dtype == c10::kFloat) && !(input.device->is_cuda() && half)) return {};
  const auto of_input = SuggestedFormat(call.sizes(), input), of_weight = SuggestedFormat(call.sizes(), weight);
  if (!of_input || !of_weight) return {};
  if (of_input == c10::MemoryFormat::Contiguous && of_weight == c10::MemoryFormat::Contiguous)
    return StrideOrder::Default(true);
  return call.sizes().IsAtLeast(input.sizes->front(), 1) ? StrideOrder::ChannelsLast(true) : StrideOrder();
}

// Whose weight may be packed, which tells its sizes and nothing else.
void PlannedConvolution(Call& call) {
  const c10::IValue* constant = call.constant("planned");
  const auto* planned = constant == nullptr ? nullptr : libraries::Convolution::Unwrap(*constant);
  const ValueFacts& image = call.in(call.has("self") ? 1 : 0);
  const std::optional<KnownSizes>& input = image.sizes;
  if (planned == nullptr || !input || input->size() != planned->weight_sizes().size()) return;
  const libraries::ConvolutionSettings& settings = planned->settings();
  KnownSizes sizes = {input->front(), planned->weight_sizes()[0]};
  for (size_t i = 0; i + 2 < input->size(); ++i) {
    const KnownSize kernel = planned->weight_sizes()[i + 2];
    const KnownSize padded = call.sizes().Add((*input)[i + 2], settings.padding[i] + settings.padding_behind()[i]);
    sizes.push_back(Window(call.sizes(), padded, kernel, KnownSize(settings.stride[i]), KnownSize(0),
                           KnownSize(settings.dilation[i])));
  }
  ValueFacts& facts = call.out();
  facts.kind = ValueFacts::Kind::kTensor;
  facts.plain = image.plain;
  facts.dtype = image.dtype;
  facts.device = image.device;
  // Plans that record gradients have none of these.
  facts.requires_grad = false;
  facts.sizes = std::move(sizes);
  call.GiveOrder(input->size() == 5 ? StrideOrder::ChannelsLast3d(true) : StrideOrder::ChannelsLast(true));
}

void Convolution(Call& call) {
  const std::optional<KnownSizes>& input = call.in(0).sizes;
  const std::optional<KnownSizes>& weight = call.in(1).sizes;
  const std::optional<bool> flagged = call.flag("transposed");
  const bool transposed = call.has("transposed") ? flagged.value_or(true) : call.has("output_padding");
  std::optional<KnownSizes> sizes;
  if (input && weight && weight->size() > 2 && input->size() + 1 >= weight->size() && input->size() <= weight->size() &&
      !(call.has("transposed") && !flagged)) {
    sizes = UnknownSizes(input->size());
    const size_t channels = input->size() + 1 - weight->size();
    if (channels == 1) sizes->front() = input->front();
    const auto stride = call.numbers("stride"), padding = call.numbers("padding"), dilation = call.numbers("dilation");
    if (!transposed) {
      (*sizes)[channels] = weight->front();
      for (size_t i = 0; i + 2 < weight->size(); ++i) {
        (*sizes)[channels + 1 + i] = Window(call.sizes(), (*input)[channels + 1 + i], (*weight)[i + 2], At(stride, i),
                                            At(padding, i), At(dilation, i));
      }
    } else {
      (*sizes)[channels] = call.sizes().Multiply(call.computed("groups"), (*weight)[1]);
      const auto output_padding = call.numbers("output_padding");
      for (size_t i = 0; i + 2 < weight->size(); ++i) {
        (*sizes)[channels + 1 + i] = Spread(call.sizes(), (*input)[channels + 1 + i], (*weight)[i + 2], At(stride, i),
                                            At(padding, i), At(output_padding, i), At(dilation, i));
      }
    }
  }
  call.Give(0, call.in(0), Same(call.in(0), call.in(1)), std::move(sizes));
  call.GiveOrder(transposed ? OrderOfTransposed(call) : OrderOfConvolution(call));
}

// Batch and channels stay, the rest changes.
void Resample(Call& call, size_t spatial, const std::optional<KnownSizes>& to) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  if (sizes && sizes->size() >= spatial) {
    for (size_t i = 0; i < spatial; ++i) {
      (*sizes)[sizes->size() - spatial + i] = to && to->size() == spatial ? (*to)[i] : KnownSize();
    }
  } else {
    sizes.reset();
  }
  for (size_t i = 0; i < call.num_outputs(); ++i) {
    call.Give(i, call.in(0), i == 0 ? call.in(0).dtype : Dtype(c10::kLong), sizes);
  }
}
// The maxima are in the format that the input suggests, means in the default order.
StrideOrder OrderOfPooledVolumes(Call& call) {
  if (call.node().kind() != c10::aten::max_pool3d) return StrideOrder::Default(true);
  return SuggestedFormat(call.sizes(), call.in(0)) ? OrderOfSuggested(call.sizes(), call.in(0)) : StrideOrder();
}
// Whether sequences lie in the default order, also as images of one row.
bool HasLengthsThatShow(Call& call) {
  const ValueFacts& in = call.in(0);
  return in.default_strides() && in.sizes && !in.sizes->empty() && call.sizes().IsAtLeast(in.sizes->back(), 2);
}
void Pool(Call& call) {
  const size_t spatial = SpatialRank(call);
  const std::optional<KnownSizes>& from = call.in(0).sizes;
  const auto kernel = call.numbers("kernel_size"), padding = call.numbers("padding");
  const auto dilation = call.has("dilation") ? call.numbers("dilation") : KnownSizes{1};
  auto stride = call.numbers("stride");
  if (stride && stride->empty()) stride = kernel;
  std::optional<KnownSizes> to;
  const std::optional<bool> rounds_up = call.flag("ceil_mode");
  if (from && from->size() >= spatial && rounds_up) {
    const auto window = *rounds_up ? WindowRoundedUp : Window;
    to.emplace();
    for (size_t i = 0; i < spatial; ++i) {
      to->push_back(window(call.sizes(), (*from)[from->size() - spatial + i], At(kernel, i), At(stride, i),
                           At(padding, i), At(dilation, i)));
    }
  }
  Resample(call, spatial, to);
  if (spatial == 3 && call.in(0).rank() == 5u) return call.GiveOrder(OrderOfPooledVolumes(call));
  if (spatial == 1 && HasLengthsThatShow(call)) call.GiveOrder(StrideOrder::Default(true));
  if (spatial != 2 || call.in(0).rank() != 4u) return;
  // As if by single steps: where sizes are rounded up, the last window may stand beyond.
  const bool keeps_ambiguity = OneGivesOne(At(kernel, 0), 1, At(padding, 0), At(dilation, 0)) &&
                               OneGivesOne(At(kernel, 1), 1, At(padding, 1), At(dilation, 1));
  if (!keeps_ambiguity && !SuggestedFormat(call.sizes(), call.in(0))) return;
  const StrideOrder order = OrderOfSuggested(call.sizes(), call.in(0));
  for (size_t i = 0; i < call.num_outputs(); ++i) call.GiveOrder(order, i);
}
// So many times as large as the input, rounded down.
std::optional<KnownSizes> SizesByFactors(Call& call, size_t spatial) {
  const c10::IValue* factors = call.has("scale_factors") ? call.constant("scale_factors") : nullptr;
  const std::optional<KnownSizes>& from = call.in(0).sizes;
  if (factors == nullptr || !factors->isDoubleList() || !from || from->size() < spatial) return {};
  const std::vector<double> numbers = factors->toDoubleVector();
  if (numbers.size() != spatial) return {};
  KnownSizes to;
  for (size_t i = 0; i < spatial; ++i) {
    constexpr double kMost = 1 << 20;
    const KnownSize size = (*from)[from->size() - spatial + i];
    const double factor = numbers[i];
    if (!(factor > 0 && factor < kMost)) return {};
    if (size) {
      to.emplace_back(static_cast<int64_t>(static_cast<double>(*size) * factor));
    } else {
      to.push_back(factor == std::floor(factor) ? call.sizes().Multiply(size, static_cast<int64_t>(factor))
                                                : KnownSize());
    }
  }
  return to;
}
// Of one pixel each they are dense in every order, others in the default one.
void AverageOfVolumes(Call& call) {
  const KnownSizes& sizes = *call.out().sizes;
  const bool is_default = SuggestedFormat(call.sizes(), call.in(0)) == c10::MemoryFormat::Contiguous;
  const auto has_several = [&](size_t side) { return call.sizes().IsAtLeast(sizes[side], 2); };
  const bool are_pixels = sizes[2] == 1 && sizes[3] == 1 && sizes[4] == 1;
  if (are_pixels || is_default || has_several(2) || has_several(3) || has_several(4))
    call.GiveOrder(StrideOrder::Default(is_default || !are_pixels));
}
// Of sequences and volumes.
StrideOrder OrderOfResampled(Call& call) {
  if (SpatialRank(call) == 1) return StrideOrder::Default(true);
  const auto format = call.in(0).rank() == 5u ? SuggestedFormat(call.sizes(), call.in(0)) : std::nullopt;
  return format ? StrideOrder::OfFormat(*format) : StrideOrder();
}
// In the format that the input suggests; there may be more pixels than the input has. One pixel is dense in both.
void ResampleTo(Call& call) {
  auto to = call.numbers("output_size");
  if (!to) to = SizesByFactors(call, SpatialRank(call));
  Resample(call, SpatialRank(call), to);
  if (call.node().kind() == c10::aten::adaptive_avg_pool3d && call.in(0).rank() == 5u) return AverageOfVolumes(call);
  if (DefinitionOf(call.node().kind()).kind == OperatorClass::kResampling && SpatialRank(call) != 2)
    return call.GiveOrder(OrderOfResampled(call));
  if (SpatialRank(call) != 2 || call.in(0).rank() != 4u) return;
  const auto format = SuggestedFormat(call.sizes(), call.in(0));
  for (size_t i = 0; i < call.num_outputs(); ++i) {
    const KnownSizes& sizes = *call.out(i).sizes;
    if (sizes[2] == 1 && sizes[3] == 1) {
      call.GiveOrder(StrideOrder::Default(format == c10::MemoryFormat::Contiguous), i);
    } else if (format) {
      call.GiveOrder(OrderOfSuggested(call.sizes(), call.in(0)), i);
    }
  }
}

void BatchNorm(Call& call) {
  call.Give(0, call.in(0), call.in(0).dtype, call.in(0).sizes);
  if (call.in(0).rank() == 4u || call.in(0).rank() == 5u) call.GiveOrder(OrderOfSuggested(call.sizes(), call.in(0)));
}

// With elements of the input, reflected or repeated: on a CPU, in the format that the input suggests.
StrideOrder OrderOfPaddedByElements(Call& call) {
  const ValueFacts& in = call.in(0);
  const auto pad = call.numbers(call.has("padding") ? "padding" : "pad");
  if (!pad || !in.rank() || !in.device) return {};
  if (pad->size() == 2) return StrideOrder::Default(true);
  if (!in.device->is_cpu()) return in.contiguous() ? StrideOrder::Default(true) : StrideOrder();
  if (*in.rank() < 4) return StrideOrder::Default(true);
  const auto format = SuggestedFormat(call.sizes(), in);
  return format ? StrideOrder::OfFormat(*format) : StrideOrder();
}

// Two numbers a dimension, from the last one on.
void Pad(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  const auto pad = call.numbers(call.has("padding") ? "padding" : "pad");
  if (sizes && pad && pad->size() % 2 == 0 && pad->size() / 2 <= sizes->size()) {
    for (size_t i = 0; i < pad->size() / 2; ++i) {
      KnownSize& size = (*sizes)[sizes->size() - 1 - i];
      size = call.sizes().Add(size, call.sizes().Add((*pad)[2 * i], (*pad)[2 * i + 1]));
    }
  } else if (sizes) {
    sizes = UnknownSizes(sizes->size());
  }
  call.Give(0, call.in(0), call.in(0).dtype, std::move(sizes));
  const c10::IValue* mode = call.has("mode") ? call.constant("mode") : nullptr;
  const bool is_constant = !call.has("mode") || (mode != nullptr && mode->toStringRef() == "constant");
  const bool is_circular = mode != nullptr && mode->toStringRef() == "circular";
  if (is_circular) return call.GiveOrder(StrideOrder::Default(true));
  if (call.has("padding") || (mode != nullptr && !is_constant)) return call.GiveOrder(OrderOfPaddedByElements(call));
  const StrideOrder& before = call.in(0).order;
  const bool is_image = before.is_default() || before.has_channels_last();
  if (!is_constant || !is_image || !pad || !SuggestedFormat(call.sizes(), call.in(0))) return;
  const auto at_least = [&](int64_t least) {
    return [&call, least](KnownSize size) { return call.sizes().IsAtLeast(size, least); };
  };
  if (!std::ranges::all_of(*pad, at_least(0))) return;
  // What nothing is added to is copied with its strides.
  const StrideOrder order = OrderOfSuggested(call.sizes(), call.in(0));
  call.GiveOrder(std::ranges::any_of(*pad, at_least(1)) ? order : order.Inexact());
}

void SampleGrid(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  const std::optional<KnownSizes>& grid = call.in(1).sizes;
  for (size_t i = 2; sizes && i < sizes->size(); ++i) {
    (*sizes)[i] = grid && grid->size() == sizes->size() ? (*grid)[i - 1] : KnownSize();
  }
  call.Give(0, call.in(0), Same(call.in(0), call.in(1)), std::move(sizes));
}

using enum OperatorClass;

const OperatorDefinition kDefinitions[] = {
    {.name = "aten::conv1d", .kind = kConvolution, .facts = Convolution, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::conv2d", .kind = kConvolution, .facts = Convolution, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::conv3d", .kind = kConvolution, .facts = Convolution, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::conv_transpose1d",
     .kind = kConvolution,
     .facts = Convolution,
     .autocast = AutocastPolicy::kReduced},
    {.name = "aten::conv_transpose2d", .kind = kConvolution, .facts = Convolution},
    {.name = "aten::conv_transpose3d", .kind = kConvolution, .facts = Convolution},
    {.name = "aten::_convolution", .kind = kConvolution, .facts = Convolution, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::convolution", .kind = kConvolution, .facts = Convolution, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::cudnn_convolution_relu", .kind = kConvolution, .facts = Convolution},
    {.name = "aten::cudnn_convolution_add_relu", .kind = kConvolution, .facts = Convolution},
    {.name = "hearth::convolution", .kind = kConvolution, .facts = PlannedConvolution},
    {.name = "hearth::add_convolution", .kind = kConvolution, .facts = PlannedConvolution, .in_place = true},
    {.name = "aten::batch_norm", .kind = kNormalization, .facts = BatchNorm, .hides_writes = true},
    {.name = "aten::native_batch_norm", .kind = kNormalization, .facts = BatchNorm, .hides_writes = true},
    {.name = "aten::max_pool1d", .kind = kPooling, .facts = Pool, .place = &place::kMaxPool},
    {.name = "aten::max_pool2d", .kind = kPooling, .facts = Pool, .place = &place::kMaxPool},
    {.name = "aten::max_pool3d", .kind = kPooling, .facts = Pool, .place = &place::kMaxPool},
    {.name = "aten::max_pool2d_with_indices", .kind = kPooling, .facts = Pool},
    {.name = "aten::avg_pool1d", .kind = kPooling, .facts = Pool, .place = &place::kAveragePool},
    {.name = "aten::avg_pool2d", .kind = kPooling, .facts = Pool, .place = &place::kAveragePool},
    {.name = "aten::avg_pool3d", .kind = kPooling, .facts = Pool, .place = &place::kAveragePool},
    {.name = "aten::adaptive_avg_pool1d", .kind = kPooling, .facts = ResampleTo},
    {.name = "aten::adaptive_avg_pool2d", .kind = kPooling, .facts = ResampleTo},
    {.name = "aten::adaptive_avg_pool3d", .kind = kPooling, .facts = ResampleTo},
    {.name = "aten::adaptive_max_pool2d", .kind = kPooling, .facts = ResampleTo},
    {.name = "aten::upsample_nearest1d", .kind = kResampling, .facts = ResampleTo, .place = &place::kNearest},
    {.name = "aten::upsample_nearest2d", .kind = kResampling, .facts = ResampleTo, .place = &place::kNearest},
    {.name = "aten::upsample_nearest3d", .kind = kResampling, .facts = ResampleTo, .place = &place::kNearest},
    {.name = "aten::_upsample_nearest_exact1d",
     .kind = kResampling,
     .facts = ResampleTo,
     .place = &place::kNearestExact},
    {.name = "aten::_upsample_nearest_exact2d",
     .kind = kResampling,
     .facts = ResampleTo,
     .place = &place::kNearestExact},
    {.name = "aten::_upsample_nearest_exact3d",
     .kind = kResampling,
     .facts = ResampleTo,
     .place = &place::kNearestExact},
    {.name = "aten::upsample_linear1d", .kind = kResampling, .facts = ResampleTo, .place = &place::kLinear},
    {.name = "aten::upsample_bilinear2d", .kind = kResampling, .facts = ResampleTo, .place = &place::kLinear},
    {.name = "aten::upsample_trilinear3d", .kind = kResampling, .facts = ResampleTo, .place = &place::kLinear},
    {.name = "aten::upsample_bicubic2d", .kind = kResampling, .facts = ResampleTo},
    {.name = "aten::im2col", .kind = kIndexing, .facts = Columns},
    {.name = "aten::col2im", .kind = kIndexing, .facts = ImageOfColumns},
    {.name = "aten::pad", .kind = kIndexing, .facts = Pad, .place = &place::kPad},
    {.name = "aten::constant_pad_nd", .kind = kIndexing, .facts = Pad, .place = &place::kPad},
    {.name = "aten::reflection_pad1d", .kind = kIndexing, .facts = Pad, .place = &place::kPad},
    {.name = "aten::reflection_pad2d", .kind = kIndexing, .facts = Pad, .place = &place::kPad},
    {.name = "aten::reflection_pad3d", .kind = kIndexing, .facts = Pad, .place = &place::kPad},
    {.name = "aten::replication_pad1d", .kind = kIndexing, .facts = Pad, .place = &place::kPad},
    {.name = "aten::replication_pad2d", .kind = kIndexing, .facts = Pad, .place = &place::kPad},
    {.name = "aten::replication_pad3d", .kind = kIndexing, .facts = Pad, .place = &place::kPad},
    {.name = "aten::grid_sampler", .kind = kResampling, .facts = SampleGrid},
    {.name = "aten::grid_sampler_2d", .kind = kResampling, .facts = SampleGrid},
    {.name = "aten::grid_sampler_3d", .kind = kResampling, .facts = SampleGrid},
    {.name = "aten::conv_tbc", .kind = kConvolution, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::cudnn_convolution", .kind = kConvolution, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::cudnn_convolution_transpose", .kind = kConvolution, .autocast = AutocastPolicy::kReduced},
};

}  // namespace

std::span<const OperatorDefinition> ImageDefinitions() { return kDefinitions; }

}  // namespace hearth
