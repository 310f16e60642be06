// Makes a NativeFunction of one of LibTorch's unboxed entry points (at::_ops::add_Tensor::call): converts each argument
// to the parameter's C++ type without a stack, and tensors without touching their reference counts.
#pragma once

#include <ATen/core/IListRef.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <c10/core/SymIntArrayRef.h>
#include <c10/util/OptionalArrayRef.h>
#include <c10/util/SmallVector.h>

#include <array>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "jit/operators/native_support.h"

namespace hearth::native {

// How an argument becomes a parameter of type T: a holder made from the IValue that lives until the call has returned
// and gives the T.
template <typename T>
struct Parameter {
  explicit Parameter(const IValue& value) : held(value.to<T>()) {}
  T get() { return std::move(held); }
  T held;
};

template <>
struct Parameter<const at::Tensor&> {
  explicit Parameter(const IValue& value) : held(value.toTensor()) {}
  const at::Tensor& get() { return held; }
  const at::Tensor& held;
};

// In-place operators take their tensor by reference and never reseat it.
template <>
struct Parameter<at::Tensor&> {
  explicit Parameter(const IValue& value) : held(const_cast<at::Tensor&>(value.toTensor())) {}
  at::Tensor& get() { return held; }
  at::Tensor& held;
};

template <>
struct Parameter<const at::Scalar&> {
  explicit Parameter(const IValue& value) : held(value.toScalar()) {}
  const at::Scalar& get() { return held; }
  at::Scalar held;
};

template <>
struct Parameter<c10::SymInt> {
  explicit Parameter(const IValue& value) : held(value.toInt()) {}
  c10::SymInt get() { return held; }
  int64_t held;
};

// Enumerations come as numbers, and LibTorch indexes tables with whatever it gets.
inline int64_t CheckedEnumerator(const IValue& value, int64_t bound, const char* what) {
  const int64_t number = value.toInt();
  TORCH_CHECK(number >= 0 && number < bound, number, " is no ", what);
  return number;
}
template <>
struct Parameter<c10::ScalarType> {
  explicit Parameter(const IValue& value)
      : held(static_cast<c10::ScalarType>(
            CheckedEnumerator(value, static_cast<int64_t>(c10::ScalarType::NumOptions), "dtype"))) {}
  c10::ScalarType get() { return held; }
  c10::ScalarType held;
};
template <>
struct Parameter<c10::Layout> {
  explicit Parameter(const IValue& value)
      : held(static_cast<c10::Layout>(
            CheckedEnumerator(value, static_cast<int64_t>(c10::Layout::NumOptions), "layout"))) {}
  c10::Layout get() { return held; }
  c10::Layout held;
};
template <>
struct Parameter<c10::MemoryFormat> {
  explicit Parameter(const IValue& value)
      : held(static_cast<c10::MemoryFormat>(
            CheckedEnumerator(value, static_cast<int64_t>(c10::MemoryFormat::NumOptions), "memory format"))) {}
  c10::MemoryFormat get() { return held; }
  c10::MemoryFormat held;
};
template <typename T>
requires std::is_enum_v<T>
struct Parameter<std::optional<T>> {
  explicit Parameter(const IValue& value) {
    if (!value.isNone()) held = Parameter<T>(value).get();
  }
  std::optional<T> get() { return held; }
  std::optional<T> held;
};

using Numbers = c10::SmallVector<int64_t, 6>;

inline void ReadNumbers(const IValue& value, Numbers& numbers) {
  for (const IValue& element : Elements(value)) numbers.push_back(element.toInt());
}
// A SymInt's bits are the number itself, except for numbers so negative that they would read as a pointer.
inline c10::SymIntArrayRef AsSymInts(const Numbers& numbers) {
  for (int64_t number : numbers) TORCH_CHECK(c10::SymInt::check_range(number), "integer out of range: ", number);
  return c10::SymIntArrayRef(reinterpret_cast<const c10::SymInt*>(numbers.data()), numbers.size());
}
static_assert(sizeof(c10::SymInt) == sizeof(int64_t));

template <>
struct Parameter<c10::IntArrayRef> {
  explicit Parameter(const IValue& value) { ReadNumbers(value, held); }
  c10::IntArrayRef get() { return held; }
  Numbers held;
};
template <>
struct Parameter<c10::SymIntArrayRef> {
  explicit Parameter(const IValue& value) { ReadNumbers(value, held); }
  c10::SymIntArrayRef get() { return AsSymInts(held); }
  Numbers held;
};
template <>
struct Parameter<at::OptionalIntArrayRef> {
  explicit Parameter(const IValue& value) : present(!value.isNone()) {
    if (present) ReadNumbers(value, held);
  }
  at::OptionalIntArrayRef get() { return present ? at::OptionalIntArrayRef(held) : at::OptionalIntArrayRef(); }
  bool present;
  Numbers held;
};
template <>
struct Parameter<at::OptionalSymIntArrayRef> {
  explicit Parameter(const IValue& value) : present(!value.isNone()) {
    if (present) ReadNumbers(value, held);
  }
  at::OptionalSymIntArrayRef get() {
    return present ? at::OptionalSymIntArrayRef(AsSymInts(held)) : at::OptionalSymIntArrayRef();
  }
  bool present;
  Numbers held;
};
template <>
struct Parameter<std::optional<at::ArrayRef<double>>> {
  explicit Parameter(const IValue& value) : present(!value.isNone()) {
    if (!present) return;
    for (const IValue& element : Elements(value)) held.push_back(element.toDouble());
  }
  std::optional<at::ArrayRef<double>> get() {
    return present ? std::optional<at::ArrayRef<double>>(held) : std::nullopt;
  }
  bool present;
  c10::SmallVector<double, 4> held;
};
template <>
struct Parameter<std::optional<c10::SymInt>> {
  explicit Parameter(const IValue& value) {
    if (!value.isNone()) held = c10::SymInt(value.toInt());
  }
  std::optional<c10::SymInt> get() { return held; }
  std::optional<c10::SymInt> held;
};

template <>
struct Parameter<at::TensorList> {
  explicit Parameter(const IValue& value) {
    const std::vector<IValue>& elements = Elements(value);
    held.reserve(elements.size());
    for (const IValue& element : elements) held.push_back(element.toTensor());
  }
  at::TensorList get() { return held; }
  std::vector<at::Tensor> held;
};
template <>
struct Parameter<const at::ITensorListRef&> {
  explicit Parameter(const IValue& value) : held(value.toTensorList()), list(held) {}
  const at::ITensorListRef& get() { return list; }
  c10::List<at::Tensor> held;
  at::ITensorListRef list;
};
template <>
struct Parameter<const c10::List<std::optional<at::Tensor>>&> {
  explicit Parameter(const IValue& value) : held(value.to<c10::List<std::optional<at::Tensor>>>()) {}
  const c10::List<std::optional<at::Tensor>>& get() { return held; }
  c10::List<std::optional<at::Tensor>> held;
};

template <typename T>
struct Parameter<const std::optional<T>&> {
  explicit Parameter(const IValue& value) {
    if (value.isNone()) return;
    if constexpr (std::is_same_v<T, at::Tensor>) {
      held = value.toTensor();
    } else if constexpr (std::is_same_v<T, at::Scalar>) {
      held = value.toScalar();
    } else {
      held = value.to<T>();
    }
  }
  const std::optional<T>& get() { return held; }
  std::optional<T> held;
};

template <>
struct Parameter<std::string_view> {
  explicit Parameter(const IValue& value) : held(value.toStringRef()) {}
  std::string_view get() { return held; }
  const std::string& held;
};
template <>
struct Parameter<std::optional<std::string_view>> {
  explicit Parameter(const IValue& value) {
    if (!value.isNone()) held = value.toStringRef();
  }
  std::optional<std::string_view> get() { return held; }
  std::optional<std::string_view> held;
};

template <typename T>
inline void PutResult(T&& result, IValue* out) {
  if constexpr (std::is_same_v<std::decay_t<T>, c10::SymInt>) {
    *out = result.expect_int();
  } else {
    *out = IValue(std::forward<T>(result));
  }
}
template <typename... T>
inline void PutResult(std::tuple<T...>&& results, IValue* out) {
  std::apply([&](auto&&... result) { (PutResult(std::forward<decltype(result)>(result), out++), ...); },
             std::move(results));
}

template <typename Op, typename Schema>
struct Thunk;

template <typename Op, typename Result, typename... Arguments>
struct Thunk<Op, Result(Arguments...)> {
  static void Call(NativeArguments in, IValue* out) { CallWith(in, out, std::index_sequence_for<Arguments...>()); }

 private:
  template <size_t... kIndex>
  static void CallWith(NativeArguments in, IValue* out, std::index_sequence<kIndex...>) {
    if constexpr (std::is_void_v<Result>) {
      Op::call(Parameter<Arguments>(in[kIndex]).get()...);
    } else if constexpr (std::is_same_v<Result, at::Tensor&>) {
      *out = IValue(at::Tensor(Op::call(Parameter<Arguments>(in[kIndex]).get()...)));
    } else {
      PutResult(Op::call(Parameter<Arguments>(in[kIndex]).get()...), out);
    }
  }
};

// The qualified name with overload, "aten::add.Tensor", of a struct of at::_ops, kept for the life of the process.
template <typename Op>
constexpr auto kSchemaName = [] {
  constexpr std::string_view name = Op::name;
  constexpr std::string_view overload = Op::overload_name;
  std::array<char, name.size() + (overload.empty() ? 0 : overload.size() + 1)> text{};
  size_t i = 0;
  for (char c : name) text[i++] = c;
  if (!overload.empty()) text[i++] = '.';
  for (char c : overload) text[i++] = c;
  return text;
}();

template <typename Op>
constexpr NativeEntry EntryOf() {
  return {std::string_view(kSchemaName<Op>.data(), kSchemaName<Op>.size()), Thunk<Op, typename Op::schema>::Call};
}

}  // namespace hearth::native
