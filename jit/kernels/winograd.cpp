#include "jit/kernels/winograd.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "jit/kernels/activation.h"
#include "jit/kernels/panel.h"
#include "jit/kernels/product.h"
#include "jit/kernels/target.h"

namespace hearth::kernels {
namespace {

// Where the polynomials are evaluated for tiles of four by four: with these the error is least, 1.8 times that of the
// sum of all products one after the other (of 64 channels of normal numbers, the mean of squares); with 1 and 2, which
// textbooks have, four times. Tiles of two by two have 0.6 times that error.
constexpr float kNear = 0.625F, kFar = 1.5F;

}  // namespace
}  // namespace hearth::kernels

#define HEARTH_LOOPS "jit/kernels/winograd_loops.h"
#include "jit/kernels/for_both_vectors.h"

namespace hearth::kernels {
namespace {

constexpr int64_t kKernel = 3;
constexpr int64_t kMostPatch = 6, kMostTile = 4;

// What there is of each size of tiles.
struct Method {
  int64_t tile, patch;
  // Of kernels: the sums that are multiplied; and the numbers of a kernel as sums of these.
  std::array<std::array<double, kKernel>, kMostPatch> of_kernel;
  std::array<std::array<double, kMostPatch>, kKernel> to_kernel;
  // Cycles for a vector of channels: of a patch's sums, and of a tile.
  int64_t patch_cycles, tile_cycles;
  decltype(&avx2::SumPatch<avx2::SumsForTwo>) sum_patch;
  decltype(&avx2::SumTile<avx2::SumsForTwo>) sum_tile;

  int64_t products() const { return patch * patch; }
};

const Method& MethodOf(WinogradTile tile) {
  static const Method two = {
      .tile = 2,
      .patch = 4,
      .of_kernel = {{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}},
      .to_kernel = {{{1, 0, 0, 0}, {0, 1, -1, 0}, {0, 0, 0, 1}}},
      .patch_cycles = 28,
      .tile_cycles = 24,
      .sum_patch = HasAvx512() ? avx512::SumPatch<avx512::SumsForTwo> : avx2::SumPatch<avx2::SumsForTwo>,
      .sum_tile = HasAvx512() ? avx512::SumTile<avx512::SumsForTwo> : avx2::SumTile<avx2::SumsForTwo>};
  constexpr double kNear2 = double{kNear} * kNear, kFar2 = double{kFar} * kFar;
  constexpr double kBoth = kNear2 * kFar2, kOfNear = 0.5 / (kNear2 - kFar2), kOfFar = -kOfNear;
  static const Method four = {
      .tile = 4,
      .patch = 6,
      .of_kernel = {{{1 / kBoth, 0, 0},
                     {kOfNear / kNear2, kOfNear / kNear, kOfNear},
                     {kOfNear / kNear2, -kOfNear / kNear, kOfNear},
                     {kOfFar / kFar2, kOfFar / kFar, kOfFar},
                     {kOfFar / kFar2, -kOfFar / kFar, kOfFar},
                     {0, 0, 1}}},
      .to_kernel = {{{kBoth, 0, 0, 0, 0, 0},
                     {0, kNear / kOfNear / 2, -kNear / kOfNear / 2, 0, 0, 0},
                     {0, 0, 0, 0, 0, 1}}},
      .patch_cycles = 120,
      .tile_cycles = 80,
      .sum_patch = HasAvx512() ? avx512::SumPatch<avx512::SumsForFour> : avx2::SumPatch<avx2::SumsForFour>,
      .sum_tile = HasAvx512() ? avx512::SumTile<avx512::SumsForFour> : avx2::SumTile<avx2::SumsForFour>};
  return tile == WinogradTile::kTwo ? two : four;
}

int64_t TilesOf(const Method& method, const ConvolutionSide& side) { return DivideUp(side.result, method.tile); }

int64_t TilesOf(const Method& method, const ImageConvolution& of) {
  return of.images * TilesOf(method, of.height) * TilesOf(method, of.width);
}

// Of so many tiles and panels.
double NanosecondsOf(const Method& method, const ImageConvolution& of, int64_t tiles, int64_t panels) {
  // That a product of a few rows with a panel takes beside its multiplications.
  constexpr int64_t kCyclesOfProduct = 30;
  const int64_t products = of.channels * PartCycles(tiles, panels * PanelColumns());
  const int64_t beside = TilesOfRows(tiles) * panels * kCyclesOfProduct;
  const int64_t sums =
      tiles * (DivideUp(of.channels, LanesHere()) * method.patch_cycles + panels * 2 * method.tile_cycles);
  return kNanosecondsOfCycle * static_cast<double>(method.products() * (products + beside) + sums);
}

// Tiles whose patches' sums stay in a processor's own cache, about: fewer would have the kernels read more often.
int64_t TilesOfBlock(const Method& method, int64_t channels) {
  const int64_t most = 4 * kBlockFloats / std::max<int64_t>(method.products() * channels, 1), rows = RowsOfTile();
  return most < rows ? std::max<int64_t>(most, 1) : most / rows * rows;
}

// Memory of the calling thread, aligned to lines.
float* Aligned(std::vector<float>& memory, int64_t floats) {
  memory.resize(static_cast<size_t>(floats + kLineFloats));
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  constexpr uintptr_t kLineBytes = kLineFloats * sizeof(float);
  return memory.data() + (kLineBytes - address % kLineBytes) % kLineBytes / sizeof(float);
}

// Some tiles of the result, one after the other along the rows of tiles of all images.
class TileBlock {
 public:
  TileBlock(const Method& method, const ImageConvolution& of, const Range& tiles)
      : method_(method),
        of_(of),
        tiles_(tiles),
        pixel_(of.channels % kConflictingStride == 0 ? of.channels + kLineFloats : of.channels),
        plane_(tiles.size() * pixel_ + kLineFloats) {
    thread_local std::vector<float> sums, nothing;
    sums_ = Aligned(sums, method.products() * plane_);
    nothing.assign(static_cast<size_t>(of.channels), 0.0f);
    float unfit[kLanes] = {};
    const float* pixels[kMostPatch * kMostPatch];
    for (int64_t i = 0; i < tiles.size(); ++i) {
      const Place place = PlaceOf(tiles.begin + i);
      for (int64_t y = 0; y < method.patch; ++y) {
        for (int64_t x = 0; x < method.patch; ++x) {
          const float* const pixel = InputAt(place, y, x);
          pixels[y * method.patch + x] = pixel == nullptr ? nothing.data() : pixel;
        }
      }
      method.sum_patch(pixels, of.channels, sums_ + i * pixel_, plane_, unfit);
    }
    is_finite_ = std::ranges::none_of(unfit, [](float number) { return std::isnan(number); });
  }

  void Compute(const Range& panels) const {
    for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
      const Panel of_panel(method_, of_, panel);
      if (is_finite_) {
        ComputePanel(of_panel, panel == panels.begin, panel + 1 == panels.end);
      } else {
        ComputeEachPixel(of_panel);
      }
      Activate(of_panel);
    }
  }

 private:
  // Of a tile: its image, and its first row and column of the result.
  struct Place {
    int64_t image, row, column;
  };

  // Some columns of the result's channels.
  struct Panel {
    int64_t begin, columns, padded;
    const float* packed;

    Panel(const Method& method, const ImageConvolution& of, int64_t panel)
        : begin(panel * PanelColumns()),
          columns(std::min(of.out_channels - begin, PanelColumns())),
          padded(PaddedColumns(columns)),
          packed(of.packed + begin * of.channels * method.products()) {}
  };

  Place PlaceOf(int64_t tile) const {
    const int64_t across = TilesOf(method_, of_.width), down = TilesOf(method_, of_.height);
    return {tile / (across * down), tile / across % down * method_.tile, tile % across * method_.tile};
  }

  // Row `y` and column `x` of a tile's patch; null for padding.
  const float* InputAt(const Place& place, int64_t y, int64_t x) const {
    const int64_t row = place.row - of_.height.padding + y, column = place.column - of_.width.padding + x;
    if (row < 0 || row >= of_.height.input || column < 0 || column >= of_.width.input) return nullptr;
    return of_.input + ((place.image * of_.height.input + row) * of_.width.input + column) * of_.input_stride;
  }

  // Of a tile; null outside of the result.
  float* ResultAt(const Place& place, int64_t y, int64_t x) const {
    const int64_t row = place.row + y, column = place.column + x;
    if (row >= of_.height.result || column >= of_.width.result) return nullptr;
    return of_.result + ((place.image * of_.height.result + row) * of_.width.result + column) * of_.out_channels;
  }

  void ComputePanel(const Panel& panel, bool is_first, bool is_last) const {
    thread_local std::vector<float> memory;
    const int64_t plane = tiles_.size() * PanelColumns() + kLineFloats;
    float* const products = Aligned(memory, method_.products() * plane + kLineFloats);
    const int64_t floats = of_.channels * panel.padded,
                  parts = std::max<int64_t>(DivideUp(of_.channels, kMostInner), 1);
    for (int64_t i = 0; i < method_.products(); ++i) {
      const float* const numbers = panel.packed + i * floats;
      for (int64_t part = 0; part < parts; ++part) {
        const Range inner = PartOf(of_.channels, part, parts);
        const float* const here = numbers + inner.begin * panel.padded;
        const bool ends = is_last && i + 1 == method_.products() && part + 1 == parts;
        NextPanel next = ends ? NextPanel()
                              : NextPanel(here + inner.size() * panel.padded, inner.size() * panel.padded,
                                          TilesOfRows(tiles_.size()));
        const int64_t whole[] = {0};
        MultiplyPanel({.left = sums_ + i * plane_ + inner.begin,
                       .left_stride = pixel_,
                       .segments = whole,
                       .segment = inner.size(),
                       .rows = tiles_.size(),
                       .panel = here,
                       .panel_stride = panel.padded,
                       .is_first_read = (is_first && i == 0 && part == 0) || TilesOfRows(tiles_.size()) == 1,
                       .columns = panel.columns,
                       .result = products + i * plane,
                       .result_stride = PanelColumns(),
                       .continues = part > 0},
                      next);
      }
    }
    float* pixels[kMostTile * kMostTile];
    for (int64_t i = 0; i < tiles_.size(); ++i) {
      const Place place = PlaceOf(tiles_.begin + i);
      for (int64_t y = 0; y < method_.tile; ++y) {
        for (int64_t x = 0; x < method_.tile; ++x) {
          float* const pixel = ResultAt(place, y, x);
          pixels[y * method_.tile + x] = pixel == nullptr ? nullptr : pixel + panel.begin;
        }
      }
      method_.sum_tile(products + i * PanelColumns(), plane, of_.bias == nullptr ? nullptr : of_.bias + panel.begin,
                       panel.columns, of_.adds, pixels);
    }
  }

  // The kernels' numbers, [kernel rows, kernel columns, channels, columns of the panel], of their sums.
  void FindKernels(const Panel& panel, std::vector<float>& kernels) const {
    const int64_t floats = of_.channels * panel.padded;
    kernels.assign(static_cast<size_t>(kKernel * kKernel * floats), 0.0f);
    for (int64_t y = 0; y < kKernel; ++y) {
      for (int64_t x = 0; x < kKernel; ++x) {
        float* const to = kernels.data() + (y * kKernel + x) * floats;
        for (int64_t i = 0; i < method_.products(); ++i) {
          const auto row = static_cast<size_t>(i / method_.patch), column = static_cast<size_t>(i % method_.patch);
          const double factor =
              method_.to_kernel[static_cast<size_t>(y)][row] * method_.to_kernel[static_cast<size_t>(x)][column];
          if (factor == 0) continue;
          const float* const from = panel.packed + i * floats;
          for (int64_t j = 0; j < floats; ++j) to[j] += static_cast<float>(factor) * from[j];
        }
      }
    }
  }

  void ComputeEachPixel(const Panel& panel) const {
    thread_local std::vector<float> kernels;
    FindKernels(panel, kernels);
    // A pixel at a time: the pixels of the input are segments of the one row of a product.
    std::vector<int64_t> segments;
    const int64_t floats = of_.channels * panel.padded;
    ForEachPixel([&](const Place& place, int64_t y, int64_t x, float* result) {
      bool continues = of_.adds;
      NextPanel nothing;
      const int64_t whole[] = {0};
      for (int64_t i = 0; i < kKernel * kKernel; ++i) {
        const float* const pixel = InputAt(place, y + i / kKernel, x + i % kKernel);
        if (pixel == nullptr) continue;
        MultiplyPanel({.left = pixel,
                       .segments = whole,
                       .segment = of_.channels,
                       .rows = 1,
                       .panel = kernels.data() + i * floats,
                       .panel_stride = panel.padded,
                       .columns = panel.columns,
                       .result = result + panel.begin,
                       .result_stride = of_.out_channels,
                       .continues = continues},
                      nothing);
        continues = true;
      }
      for (int64_t j = 0; j < panel.columns; ++j) {
        if (!continues) result[panel.begin + j] = 0;
        if (of_.bias != nullptr) result[panel.begin + j] += of_.bias[panel.begin + j];
      }
    });
  }

  template <typename Visit>
  void ForEachPixel(const Visit& visit) const {
    for (int64_t i = tiles_.begin; i < tiles_.end; ++i) {
      const Place place = PlaceOf(i);
      for (int64_t y = 0; y < method_.tile; ++y) {
        for (int64_t x = 0; x < method_.tile; ++x) {
          if (float* const result = ResultAt(place, y, x)) visit(place, y, x, result);
        }
      }
    }
  }

  // For as many neighbouring tiles as lie in one row.
  void Activate(const Panel& panel) const {
    if (of_.activation == Activation::kNone) return;
    const int64_t across = TilesOf(method_, of_.width);
    for (int64_t i = tiles_.begin; i < tiles_.end;) {
      const int64_t end = std::min(tiles_.end, (i / across + 1) * across);
      const Place place = PlaceOf(i);
      const int64_t columns = std::min(of_.width.result - place.column, (end - i) * method_.tile);
      for (int64_t y = 0; y < method_.tile; ++y) {
        float* const row = ResultAt(place, y, 0);
        if (row == nullptr) break;
        kernels::Activate(of_.activation, of_.slope, row + panel.begin, columns, panel.columns, of_.out_channels);
      }
      i = end;
    }
  }

  const Method& method_;
  const ImageConvolution& of_;
  const Range tiles_;
  const int64_t pixel_, plane_;  // from the sums of one patch to those of the next, and from one sum to the next
  float* sums_;
  bool is_finite_;
};

}  // namespace

bool IsWinograd(const ImageConvolution& convolution) {
  const auto is = [](const ConvolutionSide& side) {
    return side.kernel == kKernel && side.stride == 1 && side.dilation == 1;
  };
  return convolution.groups == 1 && is(convolution.height) && is(convolution.width);
}

double WinogradNanoseconds(WinogradTile tile, const ImageConvolution& convolution) {
  const Method& method = MethodOf(tile);
  const int64_t panels = PanelsOf(convolution.out_channels);
  return NanosecondsOf(method, convolution, TilesOf(method, convolution), panels);
}

int64_t WinogradPackedSize(WinogradTile tile, const ImageKernels& sizes) {
  return MethodOf(tile).products() * PackedSize(sizes.channels_of_group, sizes.out_channels);
}

void PackWinogradKernels(WinogradTile tile, const ImageKernels& sizes, const float* kernels, int64_t out_stride,
                         int64_t channel_stride, int64_t row_stride, int64_t column_stride, float* packed) {
  const Method& method = MethodOf(tile);
  const auto patch = static_cast<size_t>(method.patch);
  for (int64_t begin = 0; begin < sizes.out_channels; begin += PanelColumns()) {
    const int64_t columns = std::min(sizes.out_channels - begin, PanelColumns()), padded = PaddedColumns(columns);
    for (int64_t c = 0; c < sizes.channels_of_group; ++c) {
      for (int64_t o = 0; o < padded; ++o) {
        double rows[kMostPatch][kKernel] = {};
        for (size_t i = 0; i < patch && o < columns; ++i) {
          for (size_t x = 0; x < kKernel; ++x) {
            for (size_t y = 0; y < kKernel; ++y) {
              rows[i][x] += method.of_kernel[i][y] *
                            kernels[(begin + o) * out_stride + c * channel_stride +
                                    static_cast<int64_t>(y) * row_stride + static_cast<int64_t>(x) * column_stride];
            }
          }
        }
        for (size_t i = 0; i < patch; ++i) {
          for (size_t j = 0; j < patch; ++j) {
            double sum = 0;
            for (size_t x = 0; x < kKernel; ++x) sum += method.of_kernel[j][x] * rows[i][x];
            const auto product = static_cast<int64_t>(i * patch + j);
            packed[(product * sizes.channels_of_group + c) * padded + o] = static_cast<float>(sum);
          }
        }
      }
    }
    packed += method.products() * sizes.channels_of_group * padded;
  }
}

WinogradParts::WinogradParts(WinogradTile tile, const ImageConvolution& convolution, int most, int pieces)
    : tile_(tile),
      convolution_(convolution),
      all_tiles_(TilesOf(MethodOf(tile), convolution)),
      all_panels_(PanelsOf(convolution.out_channels)) {
  if (all_tiles_ == 0 || all_panels_ == 0) {
    parts_.rows = 0;
    return;
  }
  const Method& method = MethodOf(tile);
  parts_ = CheapestDivision(all_tiles_, all_panels_, most, [&](int64_t tiles, int64_t panels) {
    return NanosecondsOf(method, convolution, tiles, panels);
  });
  const int64_t tiles = DivideUp(all_tiles_, parts_.rows), panels = DivideUp(all_panels_, parts_.panels);
  // Pieces along the panels would each want the sums of the patches.
  pieces_ = {std::clamp<int64_t>(tiles / (2 * RowsOfTile()), 1, pieces), 1};
  nanoseconds_ = NanosecondsOf(method, convolution, tiles, panels) / static_cast<double>(pieces_.count());
}

void WinogradParts::Compute(int64_t begin, int64_t end) const {
  const Method& method = MethodOf(tile_);
  for (int64_t i = begin; i < end; ++i) {
    const auto [tiles, panels] = PieceAt(i, all_tiles_, all_panels_, parts_, pieces_);
    const int64_t blocks = DivideUp(tiles.size(), TilesOfBlock(method, convolution_.channels));
    for (int64_t j = 0; j < blocks; ++j) {
      const Range part = PartOf(tiles.size(), j, blocks);
      const TileBlock block(method, convolution_, {tiles.begin + part.begin, tiles.begin + part.end});
      block.Compute(panels);
    }
  }
}

}  // namespace hearth::kernels
