#include "jit/kernels/convolution.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "jit/kernels/panel.h"
#include "jit/kernels/product.h"
#include "jit/kernels/target.h"

namespace hearth::kernels {
namespace {

// Of the input, what the kernel covers for one row of the result, and what is copied of it, is no more than about so
// much.
constexpr int64_t kMostFloats = 4 * kBlockFloats;

// Where one of the kernel's rows or columns is in the input, of one of the result's.
int64_t InputOf(const ConvolutionSide& side, int64_t result, int64_t kernel) {
  return result * side.stride - side.padding + kernel * side.dilation;
}

// Of the kernel's rows or columns, those that fall on some of the input's for one of the result's; {0, 0} if none does.
Range KernelInside(const ConvolutionSide& side, int64_t result) {
  Range inside = {0, side.kernel};
  while (inside.size() > 0 && InputOf(side, result, inside.begin) < 0) ++inside.begin;
  while (inside.size() > 0 && InputOf(side, result, inside.end - 1) >= side.input) --inside.end;
  return inside.size() > 0 ? inside : Range{0, 0};
}

// Columns of the result whose kernels cover so much: far apart, most columns of a kernel may be beside the image, and
// those for which the same ones are inside are computed together, of these alone.
bool IsFarApart(const ConvolutionSide& width) {
  constexpr int64_t kLeastColumns = 8;
  return width.kernel > 1 && width.dilation >= kLeastColumns;
}

// Of the result's columns, those from the first one on that have the same columns of the kernel inside.
Range AlikeColumns(const ConvolutionSide& width, const Range& columns) {
  const Range inside = KernelInside(width, columns.begin);
  int64_t end = columns.begin + 1;
  while (end < columns.end && KernelInside(width, end) == inside) ++end;
  return {columns.begin, end};
}

// With some of the kernel's columns.
ConvolutionSide WithKernel(ConvolutionSide width, const Range& columns) {
  width.kernel = columns.size();
  width.padding -= columns.begin * width.dilation;
  return width;
}

// How much of a kernel's rows or columns is inside of the input, on the average.
double ShareInside(const ConvolutionSide& side) {
  int64_t inside = 0;
  for (int64_t i = 0; i < side.result; ++i) inside += KernelInside(side, i).size();
  return static_cast<double>(inside) / static_cast<double>(side.result * side.kernel);
}

// How far apart rows or columns of the input are that are read at all, for so many of the result's.
int64_t StepOf(const ConvolutionSide& side, int64_t results) {
  if (side.kernel == 1) return side.stride;
  return results == 1 ? side.dilation : std::gcd(side.stride, side.dilation);
}

int64_t ReachOf(const ConvolutionSide& side) { return (side.kernel - 1) * side.dilation + 1; }

// Rows of the input that are copied for so many of the result's.
int64_t CopiedRows(const ConvolutionSide& height, int64_t rows) {
  return std::min((rows - 1) * height.stride + ReachOf(height), rows * height.kernel);
}

// Products that each of the result's elements is the sum of.
int64_t InnerSize(const ImageConvolution& of) { return of.height.kernel * of.width.kernel * (of.channels / of.groups); }

// Of a row of the input, of the channels of one group.
int64_t RowFloats(const ImageConvolution& of) { return of.width.input * (of.channels / of.groups); }

// Of some of the result's columns.
bool NeedsCopy(const ImageConvolution& of, const ConvolutionSide& width, const Range& columns) {
  const bool reaches_out =
      InputOf(width, columns.begin, 0) < 0 || InputOf(width, columns.end - 1, width.kernel - 1) >= width.input;
  return reaches_out || of.input_stride * width.stride % kConflictingStride == 0;
}

// Some rows of an image's result read these of its input.
struct InputRows {
  int64_t begin, step, count;

  InputRows(const ConvolutionSide& side, const Range& rows) {
    step = StepOf(side, rows.size());
    const int64_t above = InputOf(side, rows.begin, 0), below = InputOf(side, rows.end - 1, side.kernel - 1);
    begin = above >= 0 ? above : (step - (-above) % step) % step;
    count = std::max<int64_t>(std::min(below, side.input - 1) - begin + step, 0) / step;
  }
};

// What some rows and columns of an image's result are computed of: pixels of the input, with the channels of one group.
// `width` has the kernel's columns that are used.
class Pixels {
 public:
  Pixels(const ImageConvolution& of, const ConvolutionSide& width, int64_t image, int64_t group, const InputRows& rows,
         const Range& of_columns)
      : begin_(rows.begin), row_step_(rows.step) {
    const int64_t channels = of.channels / of.groups, image_row = of.width.input * of.input_stride;
    const float* const from = of.input + image * of.height.input * image_row + group * channels;
    const int64_t first = InputOf(width, of_columns.begin, 0);
    if (!NeedsCopy(of, width, of_columns)) {
      data_ = from + rows.begin * image_row + first * of.input_stride;
      pixel_ = of.input_stride;
      row_ = image_row * row_step_;
      return;
    }
    column_step_ = StepOf(width, of_columns.size());
    const int64_t apart = width.stride / column_step_;
    pixel_ = channels * apart % kConflictingStride == 0 ? channels + kLineFloats : channels;
    const int64_t columns = (of_columns.size() - 1) * apart + (width.kernel - 1) * (width.dilation / column_step_) + 1;
    row_ = columns * pixel_;
    thread_local std::vector<float> copies;
    copies.resize(static_cast<size_t>(std::max<int64_t>(rows.count, 1) * row_));
    data_ = copies.data();
    for (int64_t y = 0; y < rows.count; ++y)
      CopyRow(width, first, channels, of.input_stride, from + (rows.begin + y * row_step_) * image_row,
              copies.data() + y * row_);
  }

  // The first number of the pixel that the kernel's first column falls on, for the result's first one.
  const float* Row(int64_t input_row) const { return data_ + (input_row - begin_) / row_step_ * row_; }
  int64_t pixel() const { return pixel_; }  // from one pixel to the next
  // From what one row or column of the kernel falls on to what the next one does.
  int64_t KernelRow(const ConvolutionSide& height) const {
    return height.kernel == 1 ? 0 : height.dilation / row_step_ * row_;
  }
  int64_t KernelColumn(const ConvolutionSide& width) const {
    return width.kernel == 1 ? 0 : width.dilation / column_step_ * pixel_;
  }
  // From what one of the result's columns is computed of to what the next one is.
  int64_t ResultColumn(const ConvolutionSide& width) const { return width.stride / column_step_ * pixel_; }

 private:
  // From column `begin` of the input on, which may be before the first one; with zeros for what the padding stands for.
  void CopyRow(const ConvolutionSide& side, int64_t begin, int64_t channels, int64_t input_stride, const float* from,
               float* to) const {
    const int64_t step = column_step_, columns = row_ / pixel_;
    const int64_t first = std::clamp<int64_t>(DivideUp(-begin, step), 0, columns);
    const int64_t last = std::clamp<int64_t>(DivideUp(side.input - begin, step), first, columns);
    std::fill(to, to + first * pixel_, 0.0f);
    std::fill(to + last * pixel_, to + columns * pixel_, 0.0f);
    from += (begin + first * step) * input_stride;
    to += first * pixel_;
    const bool is_one_run = input_stride * step == channels && pixel_ == channels;
    const int64_t runs = is_one_run ? 1 : last - first, size = is_one_run ? (last - first) * channels : channels;
    for (int64_t i = 0; i < runs; ++i) std::copy_n(from + i * step * input_stride, size, to + i * pixel_);
  }

  const float* data_;
  int64_t begin_, row_step_, column_step_ = 1;  // of the input's rows and columns that are here
  int64_t row_, pixel_;                         // from one of them to the next
};

// Where the runs of numbers begin that a kernel's rows cover, from the pixel at its first row and column on.
struct Segments {
  std::vector<int64_t> begin;
  int64_t of_row;  // in one row of the kernel
  int64_t size;    // of each

  Segments(const ImageConvolution& of, const ConvolutionSide& width, const Pixels& pixels) {
    const int64_t channels = of.channels / of.groups;
    const int64_t row = pixels.KernelRow(of.height), column = pixels.KernelColumn(width);
    const bool is_one_run = column == channels;
    of_row = is_one_run ? 1 : width.kernel;
    size = is_one_run ? width.kernel * channels : channels;
    for (int64_t y = 0; y < of.height.kernel; ++y) {
      for (int64_t x = 0; x < of_row; ++x) begin.push_back(y * row + x * column);
    }
  }
};

// Some rows and columns of one image's result, of one group, computed of some columns of the kernel.
class Region {
 public:
  Region(const ImageConvolution& of, int64_t image, int64_t group, const Range& rows, const Range& columns,
         const Range& kernel_columns)
      : of_(of),
        width_(WithKernel(of.width, kernel_columns)),
        image_(image),
        rows_(rows),
        columns_(columns),
        kernel_begin_(kernel_columns.begin),
        pixels_(of, width_, image, group, InputRows(of.height, rows), columns),
        segments_(of, width_, pixels_),
        out_(of.out_channels / of.groups),
        first_channel_(group * out_),
        inner_(InnerSize(of)),
        inner_of_row_(std::max<int64_t>(inner_ / of.height.kernel, 1)),
        packed_(of.packed + group * PackedSize(inner_, out_)) {}

  // Of a panel that is long, or of which not all columns of the kernel are used, some of the kernel's rows at a time:
  // the next ones are fetched meanwhile.
  void Compute(const Range& panels) const {
    const bool is_whole = width_.kernel == of_.width.kernel;
    const int64_t most = is_whole ? std::max<int64_t>(kMostInner / inner_of_row_, 1) : 1;
    const int64_t pieces = DivideUp(of_.height.kernel, most);
    for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
      for (int64_t i = 0; i < pieces; ++i) {
        const Piece piece = PieceOf(panel, PartOf(of_.height.kernel, i, pieces));
        const int64_t tiles = rows_.size() * TilesOfPanel(columns_.size(), piece.count);
        const int64_t floats = piece.kernel_rows.size() * inner_of_row_ * piece.padded;
        const bool is_last = panel + 1 == panels.end && i + 1 == pieces;
        NextPanel next = is_last ? NextPanel() : NextPanel(piece.numbers + floats, floats, tiles);
        for (int64_t y = rows_.begin; y < rows_.end; ++y)
          ComputeRow(piece, y, panel == panels.begin && i == 0 && y == rows_.begin, next);
      }
    }
  }

 private:
  struct Piece {
    Range kernel_rows;
    int64_t column, count,
        padded;            // of the panel: its first one in the group, its columns, and with those that fill up
    const float* numbers;  // of the first one of the kernel's rows
  };

  Piece PieceOf(int64_t panel, const Range& kernel_rows) const {
    const int64_t column = panel * PanelColumns(), count = std::min(out_ - column, PanelColumns());
    const int64_t padded = PaddedColumns(count);
    return {kernel_rows, column, count, padded, packed_ + column * inner_ + kernel_rows.begin * inner_of_row_ * padded};
  }

  void ComputeRow(const Piece& piece, int64_t y, bool is_first_read, NextPanel& next) const {
    // Without those that are above or below the image; where all are, what follows the sum is computed once.
    const Range inside = KernelInside(of_.height, y);
    const Range used = {std::max(inside.begin, piece.kernel_rows.begin), std::min(inside.end, piece.kernel_rows.end)};
    if (used.size() < std::min<int64_t>(inside.size(), 1)) return;
    const bool is_first = used.begin == inside.begin, is_last = used.end == inside.end;
    const int64_t pixel = (image_ * of_.height.result + y) * of_.width.result + columns_.begin;
    const int64_t channel = first_channel_ + piece.column;
    const auto of_rows = static_cast<size_t>(used.size() * segments_.of_row);
    MultiplyPanel({.left = used.size() == 0 ? nullptr : pixels_.Row(InputOf(of_.height, y, used.begin)),
                   .left_stride = pixels_.ResultColumn(width_),
                   .segments = std::span(segments_.begin).subspan(0, of_rows),
                   .segment = segments_.size,
                   .rows = columns_.size(),
                   .panel = piece.numbers + ((used.begin - piece.kernel_rows.begin) * inner_of_row_ +
                                             kernel_begin_ * (of_.channels / of_.groups)) *
                                                piece.padded,
                   .panel_stride = piece.padded,
                   .is_first_read = is_first_read,
                   .columns = piece.count,
                   .bias = is_last && of_.bias != nullptr ? of_.bias + channel : nullptr,
                   .result = of_.result + pixel * of_.out_channels + channel,
                   .result_stride = of_.out_channels,
                   .continues = !is_first || (of_.adds && !is_last),
                   .adds = of_.adds && is_first && is_last,
                   .activation = is_last ? of_.activation : Activation::kNone,
                   .slope = of_.slope},
                  next);
  }

  const ImageConvolution& of_;
  const ConvolutionSide width_;  // with the columns of the kernel that are used
  const int64_t image_;
  const Range rows_, columns_;
  const int64_t kernel_begin_;  // of the columns that are used
  const Pixels pixels_;
  const Segments segments_;
  const int64_t out_, first_channel_;  // channels of a group; the first one of this group
  const int64_t inner_, inner_of_row_;
  const float* const packed_;
};

}  // namespace

int64_t ImageKernels::PackedSize() const {
  return groups * kernels::PackedSize(channels_of_group * height * width, out_channels / groups);
}

void PackImageKernels(const ImageKernels& sizes, const float* kernels, int64_t out_stride, int64_t channel_stride,
                      int64_t row_stride, int64_t column_stride, float* packed) {
  const int64_t inner = sizes.channels_of_group * sizes.height * sizes.width, out = sizes.out_channels / sizes.groups;
  // Each kernel's numbers in the order in which they are summed up.
  std::vector<float> ordered(static_cast<size_t>(inner * out));
  for (int64_t group = 0; group < sizes.groups; ++group) {
    float* to = ordered.data();
    for (int64_t o = group * out; o < (group + 1) * out; ++o) {
      for (int64_t y = 0; y < sizes.height; ++y) {
        for (int64_t x = 0; x < sizes.width; ++x) {
          const float* const from = kernels + o * out_stride + y * row_stride + x * column_stride;
          for (int64_t c = 0; c < sizes.channels_of_group; ++c) *to++ = from[c * channel_stride];
        }
      }
    }
    PackMatrix(ordered.data(), 1, inner, inner, out, packed + group * PackedSize(inner, out));
  }
}

ImageConvolutionParts::ImageConvolutionParts(const ImageConvolution& convolution, int most, int pieces)
    : convolution_(convolution),
      all_rows_(convolution.images * convolution.height.result),
      all_panels_(convolution.groups * PanelsOf(convolution.out_channels / convolution.groups)) {
  if (all_rows_ == 0 || all_panels_ == 0 || convolution.width.result == 0) {
    parts_.rows = 0;
    return;
  }
  // Images of few rows are divided into columns, too, of several tiles each, and so are rows of which a few would not
  // stay in the cache; not where columns are divided anyway.
  const int64_t floats = convolution.height.kernel * RowFloats(convolution);
  const int64_t tiles = IsFarApart(convolution.width) ? 1 : TilesOfRows(convolution.width.result);
  const int64_t most_pieces = std::max<int64_t>(tiles / 2, 1);
  units_of_row_ = std::min(std::max<int64_t>(DivideUp(most, all_rows_), DivideUp(floats, kMostFloats)), most_pieces);
  if (IsFarApart(convolution.width)) share_inside_ = ShareInside(convolution.height) * ShareInside(convolution.width);
  const int64_t units = all_rows_ * units_of_row_;
  parts_ = CheapestDivision(units, all_panels_, most,
                            [this](int64_t rows, int64_t panels) { return NanosecondsOf(rows, panels); });
  const int64_t height = DivideUp(units, parts_.rows), breadth = DivideUp(all_panels_, parts_.panels);
  pieces_ = PiecesOfPart(height, breadth, pieces);
  nanoseconds_ = NanosecondsOf(height, breadth) / static_cast<double>(pieces_.count());
}

double ImageConvolutionParts::NanosecondsOf(int64_t rows, int64_t panels) const {
  const ConvolutionSide &height = convolution_.height, &width = convolution_.width;
  const int64_t columns = panels * PanelColumns(), inner = InnerSize(convolution_);
  // Each row of the result is a product of its own; what all of them read of the kernels is read once.
  const int64_t products = rows * PartCycles(DivideUp(width.result, units_of_row_), columns) - (rows - 1) * columns / 4;
  const int64_t row = DivideUp(RowFloats(convolution_), units_of_row_);
  const bool copies = !IsFarApart(width) && NeedsCopy(convolution_, width, {0, width.result});
  const int64_t copied = copies ? CopiedRows(height, rows) * row : 0;
  return kNanosecondsOfCycle *
         (static_cast<double>(products * inner) * share_inside_ + static_cast<double>(copied / 4));
}

void ImageConvolutionParts::Compute(int64_t begin, int64_t end) const {
  const ImageConvolution& of = convolution_;
  const int64_t of_group = all_panels_ / of.groups;
  for (int64_t i = begin; i < end; ++i) {
    const auto [units, panels] = PieceAt(i, all_rows_ * units_of_row_, all_panels_, parts_, pieces_);
    for (int64_t from = panels.begin; from < panels.end;) {
      const int64_t group = from / of_group, to = std::min(panels.end, (group + 1) * of_group);
      ComputeUnits(units.begin, units.end, group, from - group * of_group, to - group * of_group);
      from = to;
    }
  }
}

void ImageConvolutionParts::ComputeUnits(int64_t begin, int64_t end, int64_t group, int64_t panel_begin,
                                         int64_t panel_end) const {
  const ImageConvolution& of = convolution_;
  const int64_t row_floats = RowFloats(of) * std::min(of.height.stride, of.height.kernel);
  const int64_t most = std::max<int64_t>(kBlockFloats / std::max<int64_t>(row_floats, 1), 1);
  // The rows between those of one row's kernel are more than what neighbours share.
  const bool is_alone = of.height.kernel > 1 && of.height.dilation > most;
  for (int64_t unit = begin; unit < end;) {
    // One piece of a row, or as many rows of one image as stay in the cache.
    const int64_t row = unit / units_of_row_, image = row / of.height.result, of_image = row - image * of.height.result;
    const int64_t left = std::min(end - unit, of.height.result - of_image);
    const int64_t count = units_of_row_ > 1 || is_alone ? 1 : DivideUp(left, DivideUp(left, most));
    const Range columns = PartOf(of.width.result, unit % units_of_row_, units_of_row_);
    for (int64_t column = columns.begin; column < columns.end;) {
      Range alike = {column, columns.end}, kernel = {0, of.width.kernel};
      if (IsFarApart(of.width)) {
        alike = AlikeColumns(of.width, alike);
        // Of nothing but padding, as much as one column is.
        if (const Range inside = KernelInside(of.width, column); inside.size() > 0) kernel = inside;
      }
      const Region region(of, image, group, {of_image, of_image + count}, alike, kernel);
      region.Compute({panel_begin, panel_end});
      column = alike.end;
    }
    unit += count;
  }
}

}  // namespace hearth::kernels
