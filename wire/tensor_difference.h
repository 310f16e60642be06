// Where two answers to one request differ, tensor by tensor, and how much.
#pragma once

#include <string>
#include <vector>

#include "wire/wire_tensor.h"

namespace hearth {

struct TensorDifference {
  // Of the elements of floating-point tensors: |got - expected| / max(1, |expected|), which for large numbers is
  // relative. NaN and NaN, and an infinity and itself, are no difference; with any other number they are an infinite
  // one.
  double largest = 0;
  // "'y'[0,3] is 1.5, expected 1", of the largest; empty if they are as far apart as is tolerated, or less. All that is
  // not floating-point is the same or different.
  std::string text;
};

// `tolerance`: what `largest` may be.
TensorDifference CompareTensors(const WireTensor& expected, const WireTensor& got, double tolerance);

// Of tensors by their names: the first text, the largest number. A tensor that is missing is a difference; one that was
// not expected is none.
TensorDifference CompareTensors(const std::vector<WireTensor>& expected, const std::vector<WireTensor>& got,
                                double tolerance);

}  // namespace hearth
