#include "jit/analysis/element_bounds.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/all.h>
#include <ATen/ops/max.h>
#include <ATen/ops/min.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "jit/definitions/constant_tensor.h"

namespace hearth {
namespace {

// How deep operators are nested that are looked at, and how often one is: one that is used twice is looked at twice.
constexpr int kMostNested = 32;
constexpr int kMostLooks = 1024;
// Of a constant: sums of as many of them as are looked at, and of an arange's elements, stay far from overflow.
constexpr int64_t kLargestConstant = int64_t{1} << 40;

// Whether every element of what the node gives is one of its first operand's.
bool PicksElements(Symbol kind) {
  static const std::array kKinds = {c10::aten::unsqueeze, c10::aten::squeeze, c10::aten::expand,     c10::aten::view,
                                    c10::aten::reshape,   c10::aten::flatten, c10::aten::slice,      c10::aten::select,
                                    c10::aten::transpose, c10::aten::permute, c10::aten::contiguous, c10::aten::clone};
  return std::ranges::find(kKinds, kind) != kKinds.end();
}

std::optional<int64_t> IntegerIn(const Value& value) {
  const c10::IValue* constant = ConstantOf(value);
  if (constant == nullptr || !constant->isInt()) return {};
  const int64_t number = constant->toInt();
  return number >= -kLargestConstant && number <= kLargestConstant ? std::optional(number) : std::nullopt;
}

class Bounds {
 public:
  explicit Bounds(const ValueFactTable& facts) : facts_(facts) {}

  std::optional<int64_t> Least(const Value& tensor, int depth) {
    if (!IsOfType(tensor, c10::kLong, depth)) return {};
    if (const at::Tensor* constant = ConstantTensor(tensor)) return LeastOfConstant(*constant);
    const Node& maker = *tensor.node();
    if (maker.op() == nullptr) return {};
    const std::string_view overload = maker.op()->schema().overload_name();
    if (PicksElements(maker.kind()) && IsTensor(*maker.input(0))) return Least(*maker.input(0), depth + 1);
    if (maker.kind() == c10::aten::arange) return LeastOfRange(maker, overload);
    if (maker.kind() != c10::aten::add || IntegerIn(*maker.input(2)) != 1) return {};
    const std::optional<int64_t> left = Least(*maker.input(0), depth + 1);
    const std::optional<int64_t> right = overload == "Tensor" && IsTensor(*maker.input(1))
                                             ? Least(*maker.input(1), depth + 1)
                                             : IntegerIn(*maker.input(1));
    if (!left || !right) return {};
    return *left + *right;
  }

  bool AllTrue(const Value& tensor, int depth) {
    if (!IsOfType(tensor, c10::kBool, depth)) return false;
    if (const at::Tensor* constant = ConstantTensor(tensor))
      return IsReadable(*constant) && at::all(*constant).item<bool>();
    const Node& maker = *tensor.node();
    if (maker.op() == nullptr) return false;
    if (PicksElements(maker.kind())) return AllTrue(*maker.input(0), depth + 1);
    const std::string_view overload = maker.op()->schema().overload_name();
    if (maker.kind() == c10::aten::__and__ && overload == "Tensor") {
      return AllTrue(*maker.input(0), depth + 1) && AllTrue(*maker.input(1), depth + 1);
    }
    const bool is_greater = maker.kind() == c10::aten::gt;
    if ((!is_greater && maker.kind() != c10::aten::ge) || overload != "Scalar") return false;
    const std::optional<int64_t> least = Least(*maker.input(0), depth + 1), bound = IntegerIn(*maker.input(1));
    return least && bound && (is_greater ? *least > *bound : *least >= *bound);
  }

 private:
  static bool IsTensor(const Value& value) { return value.type()->kind() == c10::TypeKind::TensorType; }

  // Whether it is a tensor of that dtype, of which the elements are as they were made.
  bool IsOfType(const Value& tensor, c10::ScalarType dtype, int depth) {
    if (++looks_ > kMostLooks) return false;
    const ValueFacts& facts = facts_.Of(tensor);
    return depth <= kMostNested && facts.is_tensor() && facts.dtype == dtype && !facts_.memory().MayBeWritten(tensor);
  }

  static bool IsReadable(const at::Tensor& tensor) {
    return tensor.layout() == c10::kStrided && !tensor.is_meta() && !tensor.is_quantized();
  }

  static std::optional<int64_t> LeastOfConstant(const at::Tensor& tensor) {
    if (!IsReadable(tensor) || tensor.numel() == 0) return {};
    const auto least = at::min(tensor).item<int64_t>(), most = at::max(tensor).item<int64_t>();
    return least >= -kLargestConstant && most <= kLargestConstant ? std::optional(least) : std::nullopt;
  }

  // With a step of one, its elements are fewer than there are bytes of memory, so that none is far above the first.
  static std::optional<int64_t> LeastOfRange(const Node& range, std::string_view overload) {
    if (overload.empty()) return 0;
    const bool has_step = overload == "start_step";
    if (!has_step && overload != "start") return {};
    if (has_step && IntegerIn(*range.input(2)) != 1) return {};
    return IntegerIn(*range.input(0));
  }

  const ValueFactTable& facts_;
  int looks_ = 0;
};

}  // namespace

std::optional<int64_t> LeastElement(const Value& tensor, const ValueFactTable& facts) {
  return Bounds(facts).Least(tensor, 0);
}

bool IsAllTrue(const Value& tensor, const ValueFactTable& facts) { return Bounds(facts).AllTrue(tensor, 0); }

}  // namespace hearth
