#include "server/api/classification.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

// Descending, a strict weak ordering with NaN, too.
template <typename T>
bool Before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  }
  return a > b;
}

template <typename T>
void AppendLargest(std::span<const T> elements, size_t classes, const std::vector<std::string>* labels,
                   std::vector<std::string>& out) {
  std::vector<size_t> order(elements.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(classes), order.end(),
                    [&](size_t a, size_t b) {
                      if (Before(elements[a], elements[b])) return true;
                      return !Before(elements[b], elements[a]) && a < b;
                    });
  for (size_t i = 0; i < classes; ++i) {
    const size_t index = order[i];
    // As std::to_string writes numbers: six digits behind the point.
    std::string& text = out.emplace_back(absl::StrCat(std::to_string(elements[index]), ":", index));
    if (labels != nullptr && index < labels->size() && !(*labels)[index].empty()) {
      absl::StrAppend(&text, ":", (*labels)[index]);
    }
  }
}

template <typename T>
void AppendEntries(const at::Tensor& tensor, int64_t entries, size_t each, size_t classes,
                   const std::vector<std::string>* labels, std::vector<std::string>& out) {
  const T* elements = static_cast<const T*>(tensor.const_data_ptr());
  for (int64_t i = 0; i < entries; ++i) {
    AppendLargest(std::span(elements + static_cast<size_t>(i) * each, each), classes, labels, out);
  }
}

}  // namespace

absl::StatusOr<WireTensor> Classify(const WireTensor& output, int64_t classes, bool batched,
                                    const std::vector<std::string>* labels) {
  WireTensor result{output.name, BytesDatatype(), {}, {}, {}};
  const bool has_batch = batched && !output.shape.empty();
  const int64_t entries = has_batch ? output.shape[0] : 1;
  int64_t each = 1;
  for (size_t i = has_batch ? 1 : 0; i < output.shape.size(); ++i) each *= output.shape[i];
  const int64_t count = std::min(classes, each);
  if (has_batch) result.shape.push_back(entries);
  result.shape.push_back(count);

  const auto append = [&]<typename T>(T, const at::Tensor& tensor) {
    AppendEntries<T>(tensor, entries, static_cast<size_t>(each), static_cast<size_t>(count), labels, result.strings);
  };
  switch (output.datatype->config) {
    case inference::TYPE_UINT8:
      append(uint8_t{}, output.tensor);
      return result;
    case inference::TYPE_UINT16:
      append(uint16_t{}, output.tensor);
      return result;
    case inference::TYPE_UINT32:
      append(uint32_t{}, output.tensor);
      return result;
    case inference::TYPE_UINT64:
      append(uint64_t{}, output.tensor);
      return result;
    case inference::TYPE_INT8:
      append(int8_t{}, output.tensor);
      return result;
    case inference::TYPE_INT16:
      append(int16_t{}, output.tensor);
      return result;
    case inference::TYPE_INT32:
      append(int32_t{}, output.tensor);
      return result;
    case inference::TYPE_INT64:
      append(int64_t{}, output.tensor);
      return result;
    case inference::TYPE_FP16:
    case inference::TYPE_BF16:
      append(float{}, output.tensor.to(at::kFloat));
      return result;
    case inference::TYPE_FP32:
      append(float{}, output.tensor);
      return result;
    case inference::TYPE_FP64:
      append(double{}, output.tensor);
      return result;
    default:
      return absl::InvalidArgumentError(absl::StrCat("class result not available for output '", output.name,
                                                     "' due to unsupported type '", output.datatype->name, "'"));
  }
}

}  // namespace hearth::server
