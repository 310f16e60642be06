// The loops of depthwise.cpp, for whatever vectors the namespace around has (vector_avx512.h, vector_avx2.h). Included
// once for each, where code for these is compiled.

// Channels that are computed together; the last ones of a number that is no multiple may be one vector.
constexpr int64_t kChannelsOfPanel = 2 * kLanes;
// Neighbours in the result that are computed together: their sums, and what they are multiplied with, are in registers.
constexpr std::array<int64_t, 3> kPixelCounts =
    kSumRegisters < 24 ? std::array<int64_t, 3>{1, 2, 4} : std::array<int64_t, 3>{2, 4, 7};
constexpr int64_t kMostPixels = kPixelCounts.back();

// kEdge: where the kernel reaches over the image's edge for some of the pixels, where the tile has fewer than kPixels,
// or where the last vector is not full.
template <int kPixels, int kVectors, bool kEdge>
struct PixelSums {
  Vector of[kPixels][kVectors];

  __attribute__((always_inline)) void Start(const PixelTile& tile) {
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) {
      const Vector bias = tile.bias == nullptr ? Zeros() : Load(tile, tile.bias, i);
#pragma GCC unroll 16
      for (int pixel = 0; pixel < kPixels; ++pixel) of[pixel][i] = bias;
    }
  }

  __attribute__((always_inline)) void Finish(const PixelTile& tile) const {
#pragma GCC unroll 16
    for (int pixel = 0; pixel < kPixels; ++pixel) {
      if (kEdge && pixel >= tile.pixels) break;
      float* const to = tile.result + pixel * tile.result_stride;
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) {
        Vector sum = tile.adds ? Add(of[pixel][i], Load(tile, to, i)) : of[pixel][i];
        sum = Max(Broadcast(tile.least), sum);
        if (kEdge && i + 1 == kVectors) {
          StoreFirst(to + i * kLanes, tile.last, sum);
        } else {
          StoreUnaligned(to + i * kLanes, sum);
        }
      }
    }
  }

  static __attribute__((always_inline)) Vector Load(const PixelTile& tile, const float* from, int i) {
    return kEdge && i + 1 == kVectors ? LoadFirst(from + i * kLanes, tile.last) : LoadUnaligned(from + i * kLanes);
  }
};

// A kernel of kKernel columns without dilation: every vector of the input is read once for a row of the kernel.
template <int kKernel, int kStride, int kPixels, int kVectors, bool kEdge>
void ComputePixels(const PixelTile& tile) {
  using Block = PixelSums<kPixels, kVectors, kEdge>;
  Block sums;
  sums.Start(tile);
  const float* row = tile.input + tile.column * tile.input_stride;
  const float* packed = tile.packed;
  for (int64_t y = 0; y < tile.rows; ++y) {
    Vector weights[kKernel][kVectors];
#pragma GCC unroll 16
    for (int x = 0; x < kKernel; ++x) {
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) weights[x][i] = LoadUnaligned(packed + (x * kVectors + i) * kLanes);
    }
#pragma GCC unroll 32
    for (int column = 0; column < (kPixels - 1) * kStride + kKernel; ++column) {
      if (kEdge && static_cast<uint64_t>(tile.column + column) >= static_cast<uint64_t>(tile.columns)) continue;
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) {
        const Vector input = Block::Load(tile, row + column * tile.input_stride, i);
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
  sums.Finish(tile);
}

// Any kernel.
template <int kPixels, int kVectors, bool kEdge>
void ComputeAnyPixels(const PixelTile& tile) {
  using Block = PixelSums<kPixels, kVectors, kEdge>;
  Block sums;
  sums.Start(tile);
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
        if (kEdge && static_cast<uint64_t>(column + pixel * tile.stride) >= static_cast<uint64_t>(tile.columns))
          continue;
#pragma GCC unroll 16
        for (int i = 0; i < kVectors; ++i)
          sums.of[pixel][i] = MultiplyAdd(Block::Load(tile, from + pixel * step, i), weights[i], sums.of[pixel][i]);
      }
      packed += kVectors * kLanes;
      from += tile.dilation * tile.input_stride;
      column += tile.dilation;
    }
    row += tile.row_stride;
  }
  sums.Finish(tile);
}

using PixelFunction = void (*)(const PixelTile&);

struct PixelFunctions {
  // By the number of vectors less 1, by kPixelCounts, and whether it is an edge.
  PixelFunction of[2][kPixelCounts.size()][2];
};

template <int kKernel, int kStride>
constexpr PixelFunctions FixedFunctions() {
  PixelFunctions functions{};
#define HEARTH_PIXELS(vectors, index)                                                                         \
  functions.of[vectors - 1][index][0] = ComputePixels<kKernel, kStride, kPixelCounts[index], vectors, false>; \
  functions.of[vectors - 1][index][1] = ComputePixels<kKernel, kStride, kPixelCounts[index], vectors, true>
  HEARTH_PIXELS(1, 0);
  HEARTH_PIXELS(1, 1);
  HEARTH_PIXELS(1, 2);
  HEARTH_PIXELS(2, 0);
  HEARTH_PIXELS(2, 1);
  HEARTH_PIXELS(2, 2);
#undef HEARTH_PIXELS
  return functions;
}

constexpr PixelFunctions AnyFunctions() {
  PixelFunctions functions{};
#define HEARTH_PIXELS(vectors, index)                                                          \
  functions.of[vectors - 1][index][0] = ComputeAnyPixels<kPixelCounts[index], vectors, false>; \
  functions.of[vectors - 1][index][1] = ComputeAnyPixels<kPixelCounts[index], vectors, true>
  HEARTH_PIXELS(1, 0);
  HEARTH_PIXELS(1, 1);
  HEARTH_PIXELS(1, 2);
  HEARTH_PIXELS(2, 0);
  HEARTH_PIXELS(2, 1);
  HEARTH_PIXELS(2, 2);
#undef HEARTH_PIXELS
  return functions;
}

const PixelFunctions& FunctionsFor(const ConvolutionSide& width) {
  static constexpr PixelFunctions kAny = AnyFunctions();
  // With fewer registers what oneDNN generates is as good, and what it has no code for is no such kernel.
  if constexpr (kSumRegisters < 24) return kAny;
  // By kernel, then stride.
  static constexpr PixelFunctions kFixed[3][2] = {{FixedFunctions<3, 1>(), FixedFunctions<3, 2>()},
                                                  {FixedFunctions<5, 1>(), FixedFunctions<5, 2>()},
                                                  {FixedFunctions<7, 1>(), FixedFunctions<7, 2>()}};
  const bool is_fixed =
      width.dilation == 1 && width.stride <= 2 && width.kernel >= 3 && width.kernel <= 7 && width.kernel % 2 == 1;
  return is_fixed ? kFixed[(width.kernel - 3) / 2][width.stride - 1] : kAny;
}

// Of a row of pixels: how it is cut into tiles of about the same size.
struct RowCut {
  explicit RowCut(int64_t pixels) : tiles(DivideUp(pixels, kMostPixels)), size(DivideUp(pixels, tiles)) {
    while (kPixelCounts[index] < size) ++index;
  }

  int64_t tiles, size;
  size_t index = 0;  // in kPixelCounts
};

// All rows of one panel from `begin` up to `end`.
void ComputePanelRows(const ImageConvolution& convolution, int64_t image, int64_t panel, int64_t begin, int64_t end) {
  const ConvolutionSide &height = convolution.height, &width = convolution.width;
  const int64_t first = panel * kChannelsOfPanel, channels = std::min(convolution.channels - first, kChannelsOfPanel);
  const int64_t vectors = DivideUp(channels, kLanes);
  const int64_t stride = convolution.channels, input_stride = convolution.input_stride;
  const auto& functions = FunctionsFor(width).of[vectors - 1];
  const RowCut cut(width.result);
  const bool is_full = channels % kLanes == 0, is_relu = convolution.activation == Activation::kRelu;
  const Activation later = is_relu ? Activation::kNone : convolution.activation;
  const float* const input = convolution.input + image * height.input * width.input * input_stride + first;
  const float* const packed = convolution.packed + first * height.kernel * width.kernel;
  PixelTile tile{.input = nullptr,
                 .packed = nullptr,
                 .bias = convolution.bias == nullptr ? nullptr : convolution.bias + first,
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
                 .least = is_relu ? 0 : -std::numeric_limits<float>::infinity(),
                 .last = channels - (vectors - 1) * kLanes};
  for (int64_t y = begin; y < end; ++y) {
    // The kernel's rows that fall into the image.
    const int64_t top = y * height.stride - height.padding;
    const int64_t skipped = top >= 0 ? 0 : std::min(DivideUp(-top, height.dilation), height.kernel);
    const int64_t within = height.input <= top ? 0 : (height.input - 1 - top) / height.dilation + 1;
    tile.rows = std::max<int64_t>(std::min(within, height.kernel) - skipped, 0);
    tile.input = tile.rows == 0 ? input : input + (top + skipped * height.dilation) * width.input * input_stride;
    tile.packed = packed + skipped * width.kernel * vectors * kLanes;
    float* const row = convolution.result + ((image * height.result + y) * width.result) * stride + first;
    for (int64_t x = 0; x < width.result; x += cut.size) {
      tile.pixels = std::min(cut.size, width.result - x);
      tile.column = x * width.stride - width.padding;
      tile.result = row + x * stride;
      const int64_t reach = (kPixelCounts[cut.index] - 1) * width.stride + (width.kernel - 1) * width.dilation;
      const bool is_inside =
          is_full && tile.pixels == kPixelCounts[cut.index] && tile.column >= 0 && tile.column + reach < width.input;
      functions[cut.index][is_inside ? 0 : 1](tile);
      Activate(later, convolution.slope, tile.result, tile.pixels, channels, stride);
    }
  }
}
