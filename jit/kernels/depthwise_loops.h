// The loops of depthwise.cpp, for whatever vectors the namespace around has (vector_avx512.h, vector_avx2.h). Included
// once for each, where code for these is compiled.

// Channels that are computed together; the last ones of a number that is no multiple may be one vector.
constexpr int64_t kChannelsOfPanel = 2 * kLanes;
// Neighbours in the result that are computed together: their sums, and what they are multiplied with, are in registers.
constexpr std::array<int64_t, 3> kPixelCounts = {2, 4, 7};
constexpr int64_t kMostPixels = kPixelCounts.back();
// Vectors of a panel that are computed at once, of kernels that stay in registers themselves.
constexpr int kMostAtOnce = kSumRegisters < 24 ? 1 : 2;

// Where a tile lies: inside of the image; where the kernel reaches over its edge for some of the pixels, or the tile
// has fewer than its function is for; or anywhere, with a last vector that is not full.
enum Place { kInside, kAtEdge, kPartial };
constexpr size_t kPlaces = kPartial + 1;

// Of `kCount` vectors of a panel of `kVectors`, from `first` on.
template <int kPixels, int kVectors, int kCount, Place kPlace>
struct PixelSums {
  Vector of[kPixels][kCount];

  __attribute__((always_inline)) void Start(const PixelTile& tile, int first) {
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      const Vector bias = tile.bias == nullptr ? Zeros() : Load(tile, tile.bias, first + i);
#pragma GCC unroll 16
      for (int pixel = 0; pixel < kPixels; ++pixel) of[pixel][i] = bias;
    }
  }

  __attribute__((always_inline)) void Finish(const PixelTile& tile, int first) const {
    // What is stored might be the tile itself, as the compiler sees it.
    const Vector least = Broadcast(tile.least), most = Broadcast(tile.most);
    const bool adds = tile.adds;
    const int64_t pixels = tile.pixels, stride = tile.result_stride;
    float* to = tile.result;
#pragma GCC unroll 16
    for (int pixel = 0; pixel < kPixels; ++pixel, to += stride) {
      if (kPlace != kInside && pixel >= pixels) break;
#pragma GCC unroll 16
      for (int i = 0; i < kCount; ++i) {
        const int vector = first + i;
        const Vector sum = adds ? Add(of[pixel][i], Load(tile, to, vector)) : of[pixel][i];
        const Vector bounded = Min(most, Max(least, sum));
        if (kPlace == kPartial && vector + 1 == kVectors) {
          StoreFirst(to + vector * kLanes, tile.last, bounded);
        } else {
          StoreUnaligned(to + vector * kLanes, bounded);
        }
      }
    }
  }

  static __attribute__((always_inline)) Vector Load(const PixelTile& tile, const float* from, int vector) {
    const float* const at = from + vector * kLanes;
    return kPlace == kPartial && vector + 1 == kVectors ? LoadFirst(at, tile.last) : LoadUnaligned(at);
  }
};

// A kernel of kKernel columns without dilation: every vector of the input is read once for a row of the kernel.
template <int kKernel, int kStride, int kPixels, int kVectors, Place kPlace>
void ComputePixels(const PixelTile& tile) {
  constexpr int kAtOnce = std::min(kVectors, kMostAtOnce);
  using Sums = PixelSums<kPixels, kVectors, kAtOnce, kPlace>;
#pragma GCC unroll 2
  for (int first = 0; first < kVectors; first += kAtOnce) {
    Sums sums;
    sums.Start(tile, first);
    const float* row = tile.input + tile.column * tile.input_stride;
    const float* packed = tile.packed + first * kLanes;
    for (int64_t y = 0; y < tile.rows; ++y) {
      Vector weights[kKernel][kAtOnce];
#pragma GCC unroll 16
      for (int x = 0; x < kKernel; ++x) {
#pragma GCC unroll 16
        for (int i = 0; i < kAtOnce; ++i) weights[x][i] = LoadUnaligned(packed + (x * kVectors + i) * kLanes);
      }
      const float* from = row;
#pragma GCC unroll 32
      for (int column = 0; column < (kPixels - 1) * kStride + kKernel; ++column, from += tile.input_stride) {
        if (kPlace != kInside && static_cast<uint64_t>(tile.column + column) >= static_cast<uint64_t>(tile.columns))
          continue;
#pragma GCC unroll 16
        for (int i = 0; i < kAtOnce; ++i) {
          const Vector input = Sums::Load(tile, from, first + i);
#pragma GCC unroll 16
          for (int pixel = 0; pixel < kPixels; ++pixel) {
            const int x = column - pixel * kStride;
            if (x >= 0 && x < kKernel) sums.of[pixel][i] = MultiplyAdd(input, weights[x][i], sums.of[pixel][i]);
          }
        }
      }
      row += tile.row_stride;
      packed += kKernel * kVectors * kLanes;
    }
    sums.Finish(tile, first);
  }
}

// Any kernel.
template <int kPixels, int kVectors, Place kPlace>
void ComputeAnyPixels(const PixelTile& tile) {
  using Sums = PixelSums<kPixels, kVectors, kVectors, kPlace>;
  Sums sums;
  sums.Start(tile, 0);
  const float* row = tile.input + tile.column * tile.input_stride;
  const float* packed = tile.packed;
  const int64_t step = tile.stride * tile.input_stride;
  for (int64_t y = 0; y < tile.rows; ++y) {
    const float* from = row;
    int64_t column = tile.column;
    for (int64_t x = 0; x < tile.kernel; ++x) {
      Vector weights[kVectors];
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) weights[i] = LoadUnaligned(packed + i * kLanes);
#pragma GCC unroll 16
      for (int pixel = 0; pixel < kPixels; ++pixel) {
        if (kPlace != kInside &&
            static_cast<uint64_t>(column + pixel * tile.stride) >= static_cast<uint64_t>(tile.columns))
          continue;
#pragma GCC unroll 16
        for (int i = 0; i < kVectors; ++i)
          sums.of[pixel][i] = MultiplyAdd(Sums::Load(tile, from + pixel * step, i), weights[i], sums.of[pixel][i]);
      }
      packed += kVectors * kLanes;
      from += tile.dilation * tile.input_stride;
      column += tile.dilation;
    }
    row += tile.row_stride;
  }
  sums.Finish(tile, 0);
}

using PixelFunction = void (*)(const PixelTile&);

// By kPixelCounts, and Place.
using PanelFunctions = std::array<std::array<PixelFunction, kPlaces>, kPixelCounts.size()>;
// Of panels of one vector and of two.
using PixelFunctions = std::array<PanelFunctions, 2>;

// With `kKernel` 0, of any kernel and stride.
template <int kKernel, int kStride, int kPixels, int kVectors>
constexpr std::array<PixelFunction, kPlaces> FunctionsOfPlaces() {
  if constexpr (kKernel == 0) {
    return {ComputeAnyPixels<kPixels, kVectors, kInside>, ComputeAnyPixels<kPixels, kVectors, kAtEdge>,
            ComputeAnyPixels<kPixels, kVectors, kPartial>};
  } else {
    return {ComputePixels<kKernel, kStride, kPixels, kVectors, kInside>,
            ComputePixels<kKernel, kStride, kPixels, kVectors, kAtEdge>,
            ComputePixels<kKernel, kStride, kPixels, kVectors, kPartial>};
  }
}

template <int kKernel, int kStride, int kVectors>
constexpr PanelFunctions FunctionsOfPanel() {
  return {FunctionsOfPlaces<kKernel, kStride, kPixelCounts[0], kVectors>(),
          FunctionsOfPlaces<kKernel, kStride, kPixelCounts[1], kVectors>(),
          FunctionsOfPlaces<kKernel, kStride, kPixelCounts[2], kVectors>()};
}

template <int kKernel, int kStride>
constexpr PixelFunctions kFunctionsOf = {FunctionsOfPanel<kKernel, kStride, 1>(),
                                         FunctionsOfPanel<kKernel, kStride, 2>()};

const PixelFunctions& FunctionsFor(const ConvolutionSide& width) {
  // By kernel, then stride.
  static constexpr const PixelFunctions* kFixed[3][2] = {{&kFunctionsOf<3, 1>, &kFunctionsOf<3, 2>},
                                                         {&kFunctionsOf<5, 1>, &kFunctionsOf<5, 2>},
                                                         {&kFunctionsOf<7, 1>, &kFunctionsOf<7, 2>}};
  const bool is_fixed =
      width.dilation == 1 && width.stride <= 2 && width.kernel >= 3 && width.kernel <= 7 && width.kernel % 2 == 1;
  return is_fixed ? *kFixed[(width.kernel - 3) / 2][width.stride - 1] : kFunctionsOf<0, 0>;
}

// Of a row of pixels: how it is cut into tiles of about the same size.
struct RowCut {
  explicit RowCut(int64_t pixels) : tiles(DivideUp(pixels, kMostPixels)), size(DivideUp(pixels, tiles)) {
    while (kPixelCounts[index] < size) ++index;
  }

  int64_t tiles, size;
  size_t index = 0;  // in kPixelCounts
};

// Rows of one image's result, for the channels of some panels: those of all panels for a few pixels before the next
// pixels, so that memory is read as it lies.
void ComputeRows(const ImageConvolution& convolution, int64_t image, const Range& rows, const Range& panels) {
  const ConvolutionSide &height = convolution.height, &width = convolution.width;
  const int64_t stride = convolution.channels, input_stride = convolution.input_stride;
  const int64_t kernel = height.kernel * width.kernel;
  const PixelFunctions& functions = FunctionsFor(width);
  const RowCut cut(width.result);
  const ActivationSteps steps = StepsOf(convolution.activation);
  const int64_t reach = (kPixelCounts[cut.index] - 1) * width.stride + (width.kernel - 1) * width.dilation;
  const float* const input = convolution.input + image * height.input * width.input * input_stride;
  PixelTile tile{.input = nullptr,
                 .packed = nullptr,
                 .bias = nullptr,
                 .result = nullptr,
                 .input_stride = input_stride,
                 .result_stride = stride,
                 .row_stride = height.dilation * width.input * input_stride,
                 .rows = 0,
                 .column = 0,
                 .columns = width.input,
                 .pixels = 0,
                 .kernel = width.kernel,
                 .stride = width.stride,
                 .dilation = width.dilation,
                 .adds = convolution.adds,
                 .least = steps.least,
                 .most = steps.most,
                 .last = 0};
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    // The kernel's rows that fall into the image.
    const int64_t top = y * height.stride - height.padding;
    const int64_t skipped = top >= 0 ? 0 : std::min(DivideUp(-top, height.dilation), height.kernel);
    const int64_t within = height.input <= top ? 0 : (height.input - 1 - top) / height.dilation + 1;
    tile.rows = std::max<int64_t>(std::min(within, height.kernel) - skipped, 0);
    const float* const from =
        tile.rows == 0 ? input : input + (top + skipped * height.dilation) * width.input * input_stride;
    float* const to = convolution.result + (image * height.result + y) * width.result * stride;
    for (int64_t x = 0; x < width.result; x += cut.size) {
      tile.pixels = std::min(cut.size, width.result - x);
      tile.column = x * width.stride - width.padding;
      const bool is_inside =
          tile.pixels == kPixelCounts[cut.index] && tile.column >= 0 && tile.column + reach < width.input;
      for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
        const int64_t first = panel * kChannelsOfPanel;
        const int64_t channels = std::min(convolution.channels - first, kChannelsOfPanel);
        const int64_t vectors = DivideUp(channels, kLanes);
        tile.input = from + first;
        tile.packed = convolution.packed + first * kernel + skipped * width.kernel * vectors * kLanes;
        tile.bias = convolution.bias == nullptr ? nullptr : convolution.bias + first;
        tile.result = to + x * stride + first;
        tile.last = channels - (vectors - 1) * kLanes;
        const Place place = tile.last < kLanes ? kPartial : is_inside ? kInside : kAtEdge;
        functions[static_cast<size_t>(vectors - 1)][cut.index][place](tile);
        if (steps.later != Activation::kNone)
          Activate(steps.later, convolution.slope, tile.result, tile.pixels, channels, stride);
      }
    }
  }
}
