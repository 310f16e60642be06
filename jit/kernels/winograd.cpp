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

// Where the polynomials are evaluated for tiles of four by four. With 1 and 2, as textbooks have them, the sums are
// shorter to compute, and their numbers of more different sizes: the error of rounding is larger.
constexpr float kNear = 0.625F, kFar = 1.5F;

}  // namespace
}  // namespace hearth::kernels

#define HEARTH_LOOPS "jit/kernels/winograd_loops.h"
#include "jit/kernels/for_both_vectors.h"

namespace hearth::kernels {
namespace {

constexpr size_t kMostKernel = 3, kMostPatch = 6, kMostTile = 4;

// Along rows or columns.
struct Side {
  int64_t kernel, tile, patch;
  // Of kernels: the sums that are multiplied; and the numbers of a kernel as sums of these.
  std::array<std::array<double, kMostKernel>, kMostPatch> of_kernel;
  std::array<std::array<double, kMostPatch>, kMostKernel> to_kernel;
};

constexpr Side kOfOne = {1, 1, 1, {{{1}}}, {{{1}}}};
constexpr Side kOfTwo = {3,
                         2,
                         4,
                         {{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}},
                         {{{1, 0, 0, 0}, {0, 1, -1, 0}, {0, 0, 0, 1}}}};
constexpr double kNear2 = double{kNear} * kNear, kFar2 = double{kFar} * kFar, kBoth = kNear2 * kFar2;
constexpr double kOfNear = 0.5 / (kNear2 - kFar2), kOfFar = -kOfNear;
constexpr Side kOfFour = {3,
                          4,
                          6,
                          {{{1 / kBoth, 0, 0},
                            {kOfNear / kNear2, kOfNear / kNear, kOfNear},
                            {kOfNear / kNear2, -kOfNear / kNear, kOfNear},
                            {kOfFar / kFar2, kOfFar / kFar, kOfFar},
                            {kOfFar / kFar2, -kOfFar / kFar, kOfFar},
                            {0, 0, 1}}},
                          {{{kBoth}, {0, kNear / kOfNear / 2, -kNear / kOfNear / 2}, {0, 0, 0, 0, 0, 1}}}};

using SumPatchFunction = void (*)(const float* const*, int64_t, float*, int64_t, float*);
using SumTileFunction = void (*)(const float*, int64_t, const float*, int64_t, bool, float* const*);

struct Method {
  Side rows, columns;
  // Cycles for a vector of channels: of a patch's sums, and of a tile.
  int64_t patch_cycles, tile_cycles;
  SumPatchFunction sum_patch;
  SumTileFunction sum_tile;

  int64_t products() const { return rows.patch * columns.patch; }
};

#define HEARTH_METHOD(sums_of_rows, sums_of_columns, side_of_rows, side_of_columns, patch_cycles, tile_cycles) \
  {                                                                                                            \
    side_of_rows, side_of_columns, patch_cycles, tile_cycles,                                                  \
        HasAvx512() ? avx512::SumPatch<avx512::sums_of_rows, avx512::sums_of_columns>                          \
                    : avx2::SumPatch<avx2::sums_of_rows, avx2::sums_of_columns>,                               \
        HasAvx512() ? avx512::SumTile<avx512::sums_of_rows, avx512::sums_of_columns>                           \
                    : avx2::SumTile<avx2::sums_of_rows, avx2::sums_of_columns>                                 \
  }

const Method& MethodOf(WinogradTile tile, int64_t kernel_height, int64_t kernel_width) {
  static const Method two[] = {HEARTH_METHOD(SumsForTwo, SumsForTwo, kOfTwo, kOfTwo, 28, 24),
                               HEARTH_METHOD(SumsForOne, SumsForTwo, kOfOne, kOfTwo, 7, 8),
                               HEARTH_METHOD(SumsForTwo, SumsForOne, kOfTwo, kOfOne, 7, 8)};
  static const Method four[] = {HEARTH_METHOD(SumsForFour, SumsForFour, kOfFour, kOfFour, 120, 80),
                                HEARTH_METHOD(SumsForOne, SumsForFour, kOfOne, kOfFour, 16, 16),
                                HEARTH_METHOD(SumsForFour, SumsForOne, kOfFour, kOfOne, 16, 16)};
  const size_t shape = kernel_height == 1 ? 1 : kernel_width == 1 ? 2 : 0;
  return tile == WinogradTile::kTwo ? two[shape] : four[shape];
}

#undef HEARTH_METHOD

const Method& MethodOf(WinogradTile tile, const ImageConvolution& of) {
  return MethodOf(tile, of.height.kernel, of.width.kernel);
}

int64_t TilesDown(const Method& method, const ImageConvolution& of) {
  return DivideUp(of.height.result, method.rows.tile);
}
int64_t TilesAcross(const Method& method, const ImageConvolution& of) {
  return DivideUp(of.width.result, method.columns.tile);
}
int64_t TilesOf(const Method& method, const ImageConvolution& of) {
  return of.images * of.depth.result * TilesDown(method, of) * TilesAcross(method, of);
}

// Those that are computed, of several merged ones each.
int64_t GroupsOf(const ImageConvolution& of) { return of.groups / of.merged; }
int64_t ChannelsOfGroup(const ImageConvolution& of) { return of.channels / GroupsOf(of); }
int64_t PanelsOfGroup(const ImageConvolution& of) { return PanelsOf(of.out_channels / GroupsOf(of)); }

// Channels of all slices of a kernel, which are added up.
int64_t InnerOf(const ImageConvolution& of) { return of.depth.kernel * ChannelsOfGroup(of); }

// Of so many tiles and panels; those of several groups want the sums of each one's channels.
double NanosecondsOf(const Method& method, const ImageConvolution& of, int64_t tiles, int64_t panels) {
  // That a product of a few rows with a panel takes beside its multiplications.
  constexpr double kCyclesOfProduct = 30;
  const auto inner = static_cast<double>(InnerOf(of)), all_panels = static_cast<double>(panels);
  const double product = inner * static_cast<double>(PartCycles(tiles, panels * PanelColumns())) +
                         kCyclesOfProduct * static_cast<double>(TilesOfRows(tiles)) * all_panels;
  const int64_t groups = DivideUp(panels, PanelsOfGroup(of)), vectors = DivideUp(ChannelsOfGroup(of), LanesHere());
  const double sums = static_cast<double>(groups * of.depth.kernel * vectors * method.patch_cycles) +
                      all_panels * static_cast<double>(2 * method.tile_cycles);
  return kNanosecondsOfCycle * (static_cast<double>(method.products()) * product + static_cast<double>(tiles) * sums);
}

// Tiles whose patches' sums stay in a processor's own cache, about: fewer would have the kernels read more often.
int64_t TilesOfBlock(const Method& method, int64_t inner) {
  const int64_t most = 4 * kBlockFloats / std::max<int64_t>(method.products() * inner, 1), rows = RowsOfTile();
  return most < rows ? std::max<int64_t>(most, 1) : most / rows * rows;
}

// Memory of the calling thread, aligned to lines.
float* Aligned(std::vector<float>& memory, int64_t floats) {
  memory.resize(static_cast<size_t>(floats + kLineFloats));
  const auto beyond = static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory.data()) % kLineBytes / sizeof(float));
  return memory.data() + (kLineFloats - beyond) % kLineFloats;
}

// Some tiles of one group's result, one after the other along the rows of tiles of all images.
class TileBlock {
 public:
  TileBlock(const Method& method, const ImageConvolution& of, int64_t group, const Range& tiles)
      : method_(method),
        of_(of),
        tiles_(tiles),
        channels_(ChannelsOfGroup(of)),
        out_(of.out_channels / GroupsOf(of)),
        input_(of.input + group * channels_),
        first_out_(group * out_),
        inner_(InnerOf(of)),
        packed_(of.packed + group * method.products() * PackedSize(inner_, out_)),
        patch_(inner_ % kConflictingStride == 0 ? inner_ + kLineFloats : inner_),
        plane_(tiles.size() * patch_ + kLineFloats) {
    thread_local std::vector<float> sums, nothing;
    sums_ = Aligned(sums, method.products() * plane_);
    nothing.assign(static_cast<size_t>(channels_), 0.0f);
    float unfit[kLanes] = {};
    const float* pixels[kMostPatch * kMostPatch];
    for (int64_t i = 0; i < tiles.size(); ++i) {
      const Place place = PlaceOf(tiles.begin + i);
      for (int64_t z = 0; z < of.depth.kernel; ++z) {
        for (int64_t j = 0; j < method.products(); ++j) {
          const float* const pixel = InputAt(place, z, j / method.columns.patch, j % method.columns.patch);
          pixels[j] = pixel == nullptr ? nothing.data() : pixel;
        }
        method.sum_patch(pixels, channels_, sums_ + i * patch_ + z * channels_, plane_, unfit);
      }
    }
    is_finite_ = std::ranges::none_of(unfit, [](float number) { return std::isnan(number); });
  }

  void Compute(const Range& panels) const {
    for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
      const int64_t begin = panel * PanelColumns(), columns = std::min(out_ - begin, PanelColumns());
      const Panel of_panel = {first_out_ + begin, columns, PaddedColumns(columns),
                              packed_ + begin * inner_ * method_.products()};
      if (is_finite_) {
        ComputePanel(of_panel, panel == panels.begin, panel + 1 == panels.end);
      } else {
        ComputeEachPixel(of_panel);
      }
      Activate(of_panel);
    }
  }

 private:
  // Of a tile: its image, and its slice, first row and first column of the result.
  struct Place {
    int64_t image, slice, row, column;
  };

  // Some columns of the result's channels, from that of all of them on.
  struct Panel {
    int64_t begin, columns, padded;
    const float* packed;
  };

  Place PlaceOf(int64_t tile) const {
    const int64_t across = TilesAcross(method_, of_), row = tile / across;
    const int64_t down = TilesDown(method_, of_), slice = row / down;
    return {slice / of_.depth.result, slice % of_.depth.result, row % down * method_.rows.tile,
            tile % across * method_.columns.tile};
  }

  // Slice `z` of those that the kernel covers, row `y` and column `x` of a tile's patch; null for padding.
  const float* InputAt(const Place& place, int64_t z, int64_t y, int64_t x) const {
    const ConvolutionSide &depth = of_.depth, &height = of_.height, &width = of_.width;
    const int64_t slice = place.slice * depth.stride - depth.padding + z * depth.dilation;
    const int64_t row = place.row - height.padding + y, column = place.column - width.padding + x;
    const auto is_inside = [](int64_t at, const ConvolutionSide& side) { return at >= 0 && at < side.input; };
    if (!is_inside(slice, depth) || !is_inside(row, height) || !is_inside(column, width)) return nullptr;
    const int64_t slices = place.image * depth.input + slice;
    return input_ + ((slices * height.input + row) * width.input + column) * of_.input_stride;
  }

  // Of a tile; null outside of the result.
  float* ResultAt(const Place& place, int64_t y, int64_t x) const {
    const int64_t row = place.row + y, column = place.column + x;
    if (row >= of_.height.result || column >= of_.width.result) return nullptr;
    const int64_t slices = place.image * of_.depth.result + place.slice;
    return of_.result + ((slices * of_.height.result + row) * of_.width.result + column) * of_.out_channels;
  }

  // Calls `visit` with a number of a tile's pixel and where it is; null outside of the result.
  template <typename Visit>
  void ForTile(const Place& place, const Visit& visit) const {
    for (int64_t i = 0; i < method_.rows.tile * method_.columns.tile; ++i)
      visit(i, ResultAt(place, i / method_.columns.tile, i % method_.columns.tile));
  }

  void ComputePanel(const Panel& panel, bool is_first, bool is_last) const {
    thread_local std::vector<float> memory;
    const int64_t plane = tiles_.size() * PanelColumns() + kLineFloats;
    float* const products = Aligned(memory, method_.products() * plane + kLineFloats);
    const int64_t floats = inner_ * panel.padded, parts = std::max<int64_t>(DivideUp(inner_, kMostInner), 1);
    const int64_t tiles = TilesOfPanel(tiles_.size(), panel.columns);
    for (int64_t i = 0; i < method_.products(); ++i) {
      const float* const numbers = panel.packed + i * floats;
      for (int64_t part = 0; part < parts; ++part) {
        const Range inner = PartOf(inner_, part, parts);
        const float* const here = numbers + inner.begin * panel.padded;
        const bool ends = is_last && i + 1 == method_.products() && part + 1 == parts;
        NextPanel next =
            ends ? NextPanel() : NextPanel(here + inner.size() * panel.padded, inner.size() * panel.padded, tiles);
        const int64_t whole[] = {0};
        MultiplyPanel({.left = sums_ + i * plane_ + inner.begin,
                       .left_stride = patch_,
                       .segments = whole,
                       .segment = inner.size(),
                       .rows = tiles_.size(),
                       .panel = here,
                       .panel_stride = panel.padded,
                       .is_first_read = (is_first && i == 0 && part == 0) || tiles == 1,
                       .columns = panel.columns,
                       .result = products + i * plane,
                       .result_stride = PanelColumns(),
                       .continues = part > 0},
                      next);
      }
    }
    float* pixels[kMostTile * kMostTile];
    for (int64_t i = 0; i < tiles_.size(); ++i) {
      ForTile(PlaceOf(tiles_.begin + i),
              [&](int64_t j, float* pixel) { pixels[j] = pixel == nullptr ? nullptr : pixel + panel.begin; });
      method_.sum_tile(products + i * PanelColumns(), plane, of_.bias == nullptr ? nullptr : of_.bias + panel.begin,
                       panel.columns, of_.adds, pixels);
    }
  }

  // The kernels' numbers, [kernel rows, kernel columns, slices, channels, columns of the panel], of their sums.
  void FindKernels(const Panel& panel, std::vector<float>& kernels) const {
    const int64_t floats = inner_ * panel.padded, pixels = method_.rows.kernel * method_.columns.kernel;
    // Whole vectors can be read from each of the last row's.
    kernels.assign(static_cast<size_t>(pixels * floats + kLanes), 0.0f);
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
      const auto& of_row = method_.rows.to_kernel[static_cast<size_t>(pixel / method_.columns.kernel)];
      const auto& of_column = method_.columns.to_kernel[static_cast<size_t>(pixel % method_.columns.kernel)];
      float* const to = kernels.data() + pixel * floats;
      for (int64_t i = 0; i < method_.products(); ++i) {
        const auto factor = static_cast<float>(of_row[static_cast<size_t>(i / method_.columns.patch)] *
                                               of_column[static_cast<size_t>(i % method_.columns.patch)]);
        if (factor == 0) continue;
        const float* const from = panel.packed + i * floats;
        for (int64_t j = 0; j < floats; ++j) to[j] += factor * from[j];
      }
    }
  }

  // One product after the other: a pixel of the input with one of the kernel.
  void ComputeEachPixel(const Panel& panel) const {
    thread_local std::vector<float> kernels;
    FindKernels(panel, kernels);
    const int64_t of_pixel = channels_ * panel.padded, slices = of_.depth.kernel;
    const int64_t whole[] = {0}, pixels = method_.rows.kernel * method_.columns.kernel;
    // The channels of one of the merged groups, and those of the result that are computed of them.
    const int64_t of_merged = channels_ / of_.merged, out_of_merged = out_ / of_.merged;
    const int64_t first = panel.begin - first_out_;
    for (int64_t i = tiles_.begin; i < tiles_.end; ++i) {
      const Place place = PlaceOf(i);
      ForTile(place, [&](int64_t j, float* result) {
        if (result == nullptr) return;
        result += panel.begin;
        bool continues = of_.adds;
        for (int64_t k = 0; k < pixels * slices; ++k) {
          const int64_t y = k / slices / method_.columns.kernel, x = k / slices % method_.columns.kernel;
          const float* const from =
              InputAt(place, k % slices, j / method_.columns.tile + y, j % method_.columns.tile + x);
          if (from == nullptr) continue;
          for (int64_t column = 0; column < panel.columns;) {
            const int64_t merged = (first + column) / out_of_merged;
            const int64_t end = std::min((merged + 1) * out_of_merged - first, panel.columns);
            NextPanel nothing;
            MultiplyPanel({.left = from + merged * of_merged,
                           .segments = whole,
                           .segment = of_merged,
                           .rows = 1,
                           .panel = kernels.data() + k * of_pixel + merged * of_merged * panel.padded + column,
                           .panel_stride = panel.padded,
                           .columns = end - column,
                           .result = result + column,
                           .result_stride = of_.out_channels,
                           .continues = continues},
                          nothing);
            column = end;
          }
          continues = true;
        }
        for (int64_t column = 0; column < panel.columns; ++column) {
          if (!continues) result[column] = 0;
          if (of_.bias != nullptr) result[column] += of_.bias[panel.begin + column];
        }
      });
    }
  }

  // For as many neighbouring tiles as lie in one row.
  void Activate(const Panel& panel) const {
    if (of_.activation == Activation::kNone) return;
    const int64_t across = TilesAcross(method_, of_);
    for (int64_t i = tiles_.begin; i < tiles_.end;) {
      const int64_t end = std::min(tiles_.end, (i / across + 1) * across);
      const Place place = PlaceOf(i);
      const int64_t columns = std::min(of_.width.result - place.column, (end - i) * method_.columns.tile);
      for (int64_t y = 0; y < method_.rows.tile; ++y) {
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
  const int64_t channels_, out_;  // of the group
  const float* const input_;
  const int64_t first_out_, inner_;
  const float* const packed_;
  const int64_t patch_, plane_;  // from the sums of one patch to those of the next, and from one sum to the next
  float* sums_;
  bool is_finite_;
};

// The numbers of the kernels of a panel's columns, of one channel and slice.
using PanelKernels = double[kMostKernel][kMostKernel][2 * kLanes];

// Their sums, each `plane` floats behind the one before.
void SumKernels(const Method& method, const PanelKernels& kernels, int64_t columns, float* to, int64_t plane) {
  const auto height = static_cast<size_t>(method.rows.kernel), width = static_cast<size_t>(method.columns.kernel);
  for (size_t i = 0; i < static_cast<size_t>(method.rows.patch); ++i) {
    double rows[kMostKernel][2 * kLanes] = {};  // by the columns of the kernels
    for (size_t x = 0; x < width; ++x) {
      for (size_t y = 0; y < height; ++y) {
        const double factor = method.rows.of_kernel[i][y];
        for (int64_t o = 0; o < 2 * kLanes; ++o) rows[x][o] += factor * kernels[y][x][o];
      }
    }
    for (size_t j = 0; j < static_cast<size_t>(method.columns.patch); ++j, to += plane) {
      double sums[2 * kLanes] = {};
      for (size_t x = 0; x < width; ++x) {
        const double factor = method.columns.of_kernel[j][x];
        for (int64_t o = 0; o < 2 * kLanes; ++o) sums[o] += factor * rows[x][o];
      }
      for (int64_t o = 0; o < columns; ++o) to[o] = static_cast<float>(sums[o]);
    }
  }
}

}  // namespace

bool IsWinograd(const ImageConvolution& convolution) {
  const auto is_alone = [](const ConvolutionSide& side) { return side.kernel == 1 && side.stride == 1; };
  const auto is_of_three = [](const ConvolutionSide& side) {
    return side.kernel == 3 && side.stride == 1 && side.dilation == 1;
  };
  const ConvolutionSide &height = convolution.height, &width = convolution.width;
  return is_of_three(height) ? is_of_three(width) || is_alone(width) : is_alone(height) && is_of_three(width);
}

double WinogradNanoseconds(WinogradTile tile, const ImageConvolution& convolution) {
  const Method& method = MethodOf(tile, convolution);
  return NanosecondsOf(method, convolution, TilesOf(method, convolution),
                       GroupsOf(convolution) * PanelsOfGroup(convolution));
}

int64_t WinogradKernels::PackedSize(WinogradTile tile) const {
  const int64_t computed = groups / merged;
  return computed * MethodOf(tile, height, width).products() *
         kernels::PackedSize(depth * channels_of_group * merged, out_channels / computed);
}

void PackWinogradKernels(WinogradTile tile, const WinogradKernels& sizes, const float* kernels,
                         const std::array<int64_t, 5>& strides, float* packed) {
  const Method& method = MethodOf(tile, sizes.height, sizes.width);
  const auto [out_stride, channel_stride, slice_stride, row_stride, column_stride] = strides;
  const int64_t groups = sizes.groups / sizes.merged, out = sizes.out_channels / groups, panels = PanelsOf(out);
  const int64_t of_merged = sizes.channels_of_group, channels = of_merged * sizes.merged;
  const int64_t inner = sizes.depth * channels;
  for (int64_t panel = 0; panel < groups * panels; ++panel) {
    const int64_t of_group = panel % panels * PanelColumns(), begin = panel / panels * out + of_group;
    const int64_t columns = std::min(out - of_group, PanelColumns()), padded = PaddedColumns(columns);
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t channel = i % channels;
      const float* const first =
          kernels + begin * out_stride + i / channels * slice_stride + channel % of_merged * channel_stride;
      PanelKernels of_panel = {};
      for (int64_t o = 0; o < columns; ++o) {
        if ((of_group + o) / (out / sizes.merged) != channel / of_merged) continue;
        for (int64_t y = 0; y < sizes.height; ++y) {
          for (int64_t x = 0; x < sizes.width; ++x)
            of_panel[y][x][o] = first[o * out_stride + y * row_stride + x * column_stride];
        }
      }
      SumKernels(method, of_panel, padded, packed + i * padded, inner * padded);
    }
    packed += method.products() * inner * padded;
  }
}

WinogradParts::WinogradParts(WinogradTile tile, const ImageConvolution& convolution, int most, int pieces)
    : tile_(tile),
      convolution_(convolution),
      all_tiles_(TilesOf(MethodOf(tile, convolution), convolution)),
      all_panels_(GroupsOf(convolution) * PanelsOfGroup(convolution)) {
  if (all_tiles_ == 0 || all_panels_ == 0) {
    parts_.rows = 0;
    return;
  }
  const Method& method = MethodOf(tile, convolution);
  parts_ = CheapestDivision(all_tiles_, all_panels_, most, [&](int64_t tiles, int64_t panels) {
    return NanosecondsOf(method, convolution, tiles, panels);
  });
  const int64_t tiles = DivideUp(all_tiles_, parts_.rows), panels = DivideUp(all_panels_, parts_.panels);
  // Pieces along the panels would each want the sums of the patches.
  pieces_ = {std::clamp<int64_t>(tiles / (2 * RowsOfTile()), 1, pieces), 1};
  nanoseconds_ = NanosecondsOf(method, convolution, tiles, panels) / static_cast<double>(pieces_.count());
}

void WinogradParts::Compute(int64_t begin, int64_t end) const {
  const Method& method = MethodOf(tile_, convolution_);
  const int64_t of_group = PanelsOfGroup(convolution_);
  for (int64_t i = begin; i < end; ++i) {
    const auto [tiles, panels] = PieceAt(i, all_tiles_, all_panels_, parts_, pieces_);
    const int64_t blocks = DivideUp(tiles.size(), TilesOfBlock(method, InnerOf(convolution_)));
    for (int64_t j = 0; j < blocks; ++j) {
      const Range part = PartOf(tiles.size(), j, blocks);
      for (int64_t from = panels.begin; from < panels.end;) {
        const int64_t group = from / of_group, to = std::min(panels.end, (group + 1) * of_group);
        const TileBlock block(method, convolution_, group, {tiles.begin + part.begin, tiles.begin + part.end});
        block.Compute({from - group * of_group, to - group * of_group});
        from = to;
      }
    }
  }
}

}  // namespace hearth::kernels
