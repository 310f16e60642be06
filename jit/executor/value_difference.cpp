#include "jit/executor/value_difference.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/class_type.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <sstream>
#include <unordered_set>

namespace hearth {
namespace {

constexpr int kMaxComparedDepth = 64;

struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

// What two correct orders of evaluating the same operators may differ by.
Tolerance ToleranceOf(c10::ScalarType dtype, bool on_cpu) {
  switch (dtype) {
    case c10::ScalarType::Double:
    case c10::ScalarType::ComplexDouble:
      return {1e-7, 1e-7};
    case c10::ScalarType::Float:
    case c10::ScalarType::ComplexFloat:
      // Elsewhere products may be rounded to TF32, which has the precision of a half.
      return on_cpu ? Tolerance{1.3e-4, 2e-5} : Tolerance{1e-2, 1e-2};
    case c10::ScalarType::Half:
    case c10::ScalarType::ComplexHalf:
      return {2e-2, 2e-2};
    case c10::ScalarType::BFloat16:
      return {5e-2, 5e-2};
    default:
      return {};
  }
}

bool Near(double expected, double got) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
  return expected == got || std::abs(expected - got) <= std::max(1e-7 * std::abs(expected), 1e-9);
}

class Comparison {
 public:
  // Whether they agree; if not, difference() says where.
  bool Compare(const c10::IValue& expected, const c10::IValue& got, const std::string& path, int depth) {
    if (expected.tagKind() != got.tagKind()) {
      return Differ(path, "expected " + expected.tagKind() + ", got " + got.tagKind());
    }
    if (depth > kMaxComparedDepth) return true;
    if (expected.isTensor()) return CompareTensors(expected.toTensor(), got.toTensor(), path);
    if (expected.isDouble()) return Near(expected.toDouble(), got.toDouble()) || DifferInValue(expected, got, path);
    if (expected.isComplexDouble()) {
      const auto e = expected.toComplexDouble();
      const auto g = got.toComplexDouble();
      return (Near(e.real(), g.real()) && Near(e.imag(), g.imag())) || DifferInValue(expected, got, path);
    }
    if (expected.isInt() || expected.isBool() || expected.isString() || expected.isDevice()) {
      return expected == got || DifferInValue(expected, got, path);
    }
    if (expected.isList()) return CompareAll(expected.toListRef(), got.toListRef(), path, depth);
    if (expected.isTuple()) {
      return CompareAll(expected.toTupleRef().elements().asArrayRef(), got.toTupleRef().elements().asArrayRef(), path,
                        depth);
    }
    if (expected.isGenericDict()) return CompareDicts(expected.toGenericDict(), got.toGenericDict(), path, depth);
    if (expected.isObject()) return CompareObjects(expected.toObjectRef(), got.toObjectRef(), path, depth);
    return true;
  }

  std::string difference() && { return std::move(difference_); }

 private:
  bool Differ(const std::string& path, const std::string& what) {
    difference_ = path + ": " + what;
    return false;
  }

  bool DifferInValue(const c10::IValue& expected, const c10::IValue& got, const std::string& path) {
    std::ostringstream what;
    what << "expected " << expected << ", got " << got;
    return Differ(path, what.str());
  }

  bool CompareAll(c10::ArrayRef<c10::IValue> expected, c10::ArrayRef<c10::IValue> got, const std::string& path,
                  int depth) {
    if (expected.size() != got.size()) {
      return Differ(path,
                    "expected " + std::to_string(expected.size()) + " elements, got " + std::to_string(got.size()));
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      if (!Compare(expected[i], got[i], path + "." + std::to_string(i), depth + 1)) return false;
    }
    return true;
  }

  bool CompareDicts(const c10::impl::GenericDict& expected, const c10::impl::GenericDict& got, const std::string& path,
                    int depth) {
    if (expected.size() != got.size()) {
      return Differ(path, "expected " + std::to_string(expected.size()) + " keys, got " + std::to_string(got.size()));
    }
    auto other = got.begin();
    for (const auto& item : expected) {
      std::ostringstream key;
      key << path << '.' << item.key();
      if (!Compare(item.key(), other->key(), key.str(), depth + 1)) return false;
      if (!Compare(item.value(), other->value(), key.str(), depth + 1)) return false;
      ++other;
    }
    return true;
  }

  bool CompareObjects(const c10::ivalue::Object& expected, const c10::ivalue::Object& got, const std::string& path,
                      int depth) {
    if (&expected == &got || !visited_.insert(&expected).second) return true;
    if (expected.type() != got.type()) {
      return Differ(path, "expected " + expected.type()->annotation_str() + ", got " + got.type()->annotation_str());
    }
    for (size_t i = 0; i < expected.type()->numAttributes(); ++i) {
      const std::string inner = path + "." + expected.type()->getAttributeName(i);
      if (!Compare(expected.getSlot(i), got.getSlot(i), inner, depth + 1)) return false;
    }
    return true;
  }

  bool CompareTensors(const at::Tensor& expected, const at::Tensor& got, const std::string& path) {
    if (!expected.defined() || !got.defined()) {
      return expected.defined() == got.defined() || Differ(path, "one of the tensors is undefined");
    }
    const auto differ = [&](const char* what, const auto& ours, const auto& theirs) {
      std::ostringstream text;
      text << "expected " << what << ' ' << ours << ", got " << theirs;
      return Differ(path, text.str());
    };
    if (expected.scalar_type() != got.scalar_type()) {
      return differ("dtype", expected.scalar_type(), got.scalar_type());
    }
    if (expected.device() != got.device()) return differ("device", expected.device(), got.device());
    if (expected.layout() != got.layout()) return differ("layout", expected.layout(), got.layout());
    if (expected.sizes() != got.sizes()) return differ("sizes", expected.sizes(), got.sizes());
    if (expected.layout() != c10::kStrided || expected.is_meta() || expected.is_quantized()) return true;
    for (int64_t i = 0; i < expected.dim(); ++i) {
      if (expected.numel() > 0 && expected.size(i) > 1 && expected.stride(i) != got.stride(i)) {
        return differ("strides", expected.strides(), got.strides());
      }
    }
    return CompareElements(expected, got, path);
  }

  bool CompareElements(const at::Tensor& expected, const at::Tensor& got, const std::string& path) {
    if (expected.numel() == 0) return true;
    if (!expected.is_floating_point() && !expected.is_complex()) {
      return expected.equal(got) || Differ(path, "the elements are not the same");
    }
    const auto wide = expected.is_complex() ? at::kComplexDouble : at::kDouble;
    const at::Tensor ours = expected.to(at::kCPU).to(wide);
    const at::Tensor theirs = got.to(at::kCPU).to(wide);
    const at::Tensor finite = ours.isfinite();
    // What is not finite is the same, or not a number on both sides.
    const at::Tensor same =
        at::logical_or(at::eq(ours, theirs), at::logical_and(at::ne(ours, ours), at::ne(theirs, theirs)));
    if (!at::logical_or(same, finite).all().item<bool>()) return Differ(path, "the infinite elements are not the same");
    const at::Tensor size = at::where(finite, ours.abs(), at::zeros_like(ours.abs()));
    const at::Tensor apart = at::where(finite, at::sub(ours, theirs).abs(), at::zeros_like(ours.abs()));
    const double worst = apart.max().item<double>();
    const Tolerance tolerance = ToleranceOf(expected.scalar_type(), expected.is_cpu());
    if (worst <= tolerance.absolute + tolerance.relative * size.max().item<double>()) return true;
    std::ostringstream what;
    what << "elements differ by up to " << worst << ", the largest is " << size.max().item<double>();
    return Differ(path, what.str());
  }

  std::string difference_;
  std::unordered_set<const c10::ivalue::Object*> visited_;
};

}  // namespace

std::string ValueDifference(const c10::IValue& expected, const c10::IValue& got) {
  Comparison comparison;
  comparison.Compare(expected, got, "result", 0);
  return std::move(comparison).difference();
}

}  // namespace hearth
