// Operators that work on any value: identity, optionals, tuples, enums, devices, modes.
#include <ATen/core/enum_type.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/Device.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_set>

#include "jit/operators/native_support.h"
#include "jit/support/logging.h"

namespace hearth::native {
namespace {

void Is(NativeArguments in, IValue* out) { *out = in[0].is(in[1]); }
void IsNot(NativeArguments in, IValue* out) { *out = !in[0].is(in[1]); }

void Same(NativeArguments in, IValue* out) {
  IValue same = in[0];
  *out = std::move(same);
}

void UnwrapOptional(NativeArguments in, IValue* out) {
  TORCH_CHECK(!in[0].isNone(), "Unwrapping null optional");
  IValue same = in[0];
  *out = std::move(same);
}

void TupleIndex(NativeArguments in, IValue* out) {
  const auto& elements = in[0].toTupleRef().elements();
  const int64_t index = in[1].toInt();
  const int64_t size = static_cast<int64_t>(elements.size());
  const int64_t position = index < 0 ? index + size : index;
  if (position < 0 || position >= size) throw std::out_of_range("Tuple list index out of range");
  IValue element = elements[static_cast<size_t>(position)];
  *out = std::move(element);
}

void EnumName(NativeArguments in, IValue* out) { *out = in[0].toEnumHolder()->name(); }
void EnumValue(NativeArguments in, IValue* out) {
  IValue value = in[0].toEnumHolder()->value();
  *out = std::move(value);
}
template <bool kEqual>
void CompareEnums(NativeArguments in, IValue* out) {
  // The holders' own operator== is not among the symbols that LibTorch exports.
  const auto left = in[0].toEnumHolder();
  const auto right = in[1].toEnumHolder();
  *out = (left->name() == right->name() && left->type()->equals(*right->type())) == kEqual;
}

void DeviceType(NativeArguments in, IValue* out) {
  *out = c10::DeviceTypeName(in[0].toDevice().type(), /*lower_case=*/true);
}
void DeviceIndex(NativeArguments in, IValue* out) {
  const c10::Device device = in[0].toDevice();
  *out = device.has_index() ? IValue(static_cast<int64_t>(device.index())) : IValue();
}
template <bool kEqual>
void CompareDevices(NativeArguments in, IValue* out) {
  *out = (in[0].toDevice() == in[1].toDevice()) == kEqual;
}
void ParseDevice(NativeArguments in, IValue* out) { *out = c10::Device(in[0].toStringRef()); }
// LibTorch's own takes its arguments off the stack in the wrong order and always fails.
void MakeDevice(NativeArguments in, IValue* out) {
  const auto index = in[1].toInt();
  TORCH_CHECK(index >= -1 && index <= std::numeric_limits<c10::DeviceIndex>::max(), "Invalid device index: ", index);
  *out = c10::Device(c10::Device(in[0].toStringRef()).type(), static_cast<c10::DeviceIndex>(index));
}

// A run without gradients leaves the dispatcher's autograd layers out; switching gradients on puts them back.
void SetGradEnabled(NativeArguments in, IValue* out) {
  const bool enabled = in[0].toBool();
  c10::GradMode::set_enabled(enabled);
  c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
  keys.excluded_ = enabled ? keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView
                           : keys.excluded_ | c10::autograd_dispatch_keyset_with_ADInplaceOrView;
  c10::impl::_force_tls_local_dispatch_key_set(keys);
}

// Python warns once for each place; a place's message stands for it here, and the memory of them is bounded.
void Warn(NativeArguments in, IValue*) {
  static spdlog::logger& log = LoggerOf("operators/warn");
  static std::mutex mutex;
  static std::unordered_set<std::string> seen;
  constexpr size_t kRemembered = 4096;
  const std::string& message = in[0].toStringRef();
  {
    std::lock_guard lock(mutex);
    if (seen.size() >= kRemembered || !seen.insert(message).second) return;
  }
  log.warn("{}", message);
}

constexpr NativeEntry kEntries[] = {
    {"aten::__is__", Is},
    {"aten::__isnot__", IsNot},
    {"aten::Size", Same},
    {"aten::_unwrap_optional", UnwrapOptional},
    {"prim::unchecked_unwrap_optional", Same},
    {"prim::TupleIndex", TupleIndex},
    {"prim::EnumName", EnumName},
    {"prim::EnumValue.int", EnumValue},
    {"prim::EnumValue.float", EnumValue},
    {"prim::EnumValue.str", EnumValue},
    {"aten::eq.enum", CompareEnums<true>},
    {"aten::ne.enum", CompareEnums<false>},
    {"prim::type", DeviceType},
    {"prim::index", DeviceIndex},
    {"aten::eq.device", CompareDevices<true>},
    {"aten::ne.device", CompareDevices<false>},
    {"aten::device", ParseDevice},
    {"aten::device.with_index", MakeDevice},
    {"aten::is_grad_enabled", [](NativeArguments, IValue* out) { *out = c10::GradMode::is_enabled(); }},
    {"aten::set_grad_enabled", SetGradEnabled},
    {"aten::warn", Warn},
    {"aten::is_scripting", [](NativeArguments, IValue* out) { *out = true; }},
};

}  // namespace

std::span<const NativeEntry> ValueNatives() { return kEntries; }

}  // namespace hearth::native
