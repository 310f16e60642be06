#include "wire/tensor_difference.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace hearth {
namespace {

// "'y'[0,3]"
std::string PlaceOf(const WireTensor& tensor, int64_t element) {
  std::vector<int64_t> index(tensor.shape.size());
  for (size_t i = index.size(); i-- > 0;) {
    index[i] = element % tensor.shape[i];
    element /= tensor.shape[i];
  }
  return absl::StrCat("'", tensor.name, "'", ShapeText(index));
}

double Apart(double expected, double got) {
  if (expected == got || (std::isnan(expected) && std::isnan(got))) return 0;
  const double apart = std::abs(got - expected) / std::max(1.0, std::abs(expected));
  return std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;
}

template <typename Element>
TensorDifference CompareFloats(const WireTensor& expected, const WireTensor& got, double tolerance) {
  const auto* const ours = static_cast<const Element*>(expected.tensor.const_data_ptr());
  const auto* const theirs = static_cast<const Element*>(got.tensor.const_data_ptr());
  const int64_t count = expected.tensor.numel();
  TensorDifference difference;
  int64_t worst = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double apart = Apart(static_cast<double>(ours[i]), static_cast<double>(theirs[i]));
    if (apart <= difference.largest) continue;
    difference.largest = apart;
    worst = i;
  }
  if (difference.largest <= tolerance) return difference;
  difference.text = absl::StrFormat("%s is %.9g, expected %.9g", PlaceOf(expected, worst),
                                    static_cast<double>(theirs[worst]), static_cast<double>(ours[worst]));
  return difference;
}

// Of a whole number or a boolean, little-endian.
std::string NumberText(const Datatype& datatype, const char* bytes) {
  uint64_t number = 0;
  std::memcpy(&number, bytes, datatype.size);
  const auto bits = static_cast<unsigned>(64 - 8 * datatype.size);
  if (!std::string_view(datatype.name).starts_with("INT")) return absl::StrCat(number);
  return absl::StrCat(static_cast<int64_t>(number << bits) >> bits);
}

// Of whole numbers, and whatever else has elements of a fixed size.
std::string CompareExactly(const WireTensor& expected, const WireTensor& got) {
  const auto size = static_cast<int64_t>(expected.datatype->size);
  const auto* const ours = static_cast<const char*>(expected.tensor.const_data_ptr());
  const auto* const theirs = static_cast<const char*>(got.tensor.const_data_ptr());
  for (int64_t i = 0; i < expected.tensor.numel(); ++i) {
    if (std::memcmp(ours + i * size, theirs + i * size, static_cast<size_t>(size)) == 0) continue;
    return absl::StrCat(PlaceOf(expected, i), " is ", NumberText(*got.datatype, theirs + i * size), ", expected ",
                        NumberText(*expected.datatype, ours + i * size));
  }
  return "";
}

std::string CompareStrings(const WireTensor& expected, const WireTensor& got) {
  for (size_t i = 0; i < std::min(expected.strings.size(), got.strings.size()); ++i) {
    if (expected.strings[i] == got.strings[i]) continue;
    return absl::StrCat("the text of ", PlaceOf(expected, static_cast<int64_t>(i)), " is another");
  }
  return "";
}

}  // namespace

TensorDifference CompareTensors(const WireTensor& expected, const WireTensor& got, double tolerance) {
  const std::string called = absl::StrCat("'", expected.name, "'");
  if (expected.datatype != got.datatype) {
    return {0, absl::StrCat(called, " is ", got.datatype->name, ", expected ", expected.datatype->name)};
  }
  if (expected.shape != got.shape) {
    return {0, absl::StrCat(called, " has the shape ", ShapeText(got.shape), ", expected ", ShapeText(expected.shape))};
  }
  if (expected.datatype->is_bytes()) return {0, CompareStrings(expected, got)};
  switch (expected.datatype->scalar) {
    case c10::ScalarType::Double:
      return CompareFloats<double>(expected, got, tolerance);
    case c10::ScalarType::Float:
      return CompareFloats<float>(expected, got, tolerance);
    case c10::ScalarType::Half:
      return CompareFloats<c10::Half>(expected, got, tolerance);
    case c10::ScalarType::BFloat16:
      return CompareFloats<c10::BFloat16>(expected, got, tolerance);
    default:
      return {0, CompareExactly(expected, got)};
  }
}

TensorDifference CompareTensors(const std::vector<WireTensor>& expected, const std::vector<WireTensor>& got,
                                double tolerance) {
  TensorDifference all;
  for (const WireTensor& tensor : expected) {
    const auto found = std::ranges::find(got, tensor.name, &WireTensor::name);
    TensorDifference one;
    if (found == got.end()) {
      one.text = absl::StrCat("there is no output '", tensor.name, "', only ",
                              absl::StrJoin(got, ", ", [](std::string* out, const WireTensor& each) {
                                absl::StrAppend(out, "'", each.name, "'");
                              }));
    } else {
      one = CompareTensors(tensor, *found, tolerance);
    }
    all.largest = std::max(all.largest, one.largest);
    if (all.text.empty()) all.text = std::move(one.text);
  }
  return all;
}

}  // namespace hearth
