// A call of aten::im2col (F.unfold) whose sizes are constants: which elements of images its windows have.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "jit/analysis/value_fact_table.h"
#include "jit/ir/graph.h"

namespace hearth {

struct WindowCall {
  // Of the rows or the columns of the images.
  struct Axis {
    int64_t size, kernel, dilation, padding, step;
    // How many elements there are from the first to the last one of a window.
    int64_t reach() const { return dilation * (kernel - 1) + 1; }
    int64_t padded() const { return size + 2 * padding; }
    // How many windows there are, or none.
    int64_t places() const { return padded() < reach() ? 0 : (padded() - reach()) / step + 1; }
  };

  std::optional<int64_t> batch;  // null: one image without a batch
  int64_t channels;
  std::array<Axis, 2> axes;

  int64_t elements() const { return axes[0].kernel * axes[1].kernel; }
  int64_t places() const { return axes[0].places() * axes[1].places(); }

  // Of a node of im2col, floating-point numbers on a GPU; null: it is none, or its sizes are no constants.
  static std::optional<WindowCall> Of(const Node& node, const ValueFactTable& facts);
};

// Whether a node swaps the last two dimensions of its input, and nothing else.
bool SwapsLastTwo(const Node& node, const ValueFactTable& facts);

}  // namespace hearth
