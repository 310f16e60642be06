// Writes what makes values equal as bytes, each part with a letter for its kind and its length before it, so that
// different values never give the same bytes.
#pragma once

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "server/scheduling/call_arguments.h"

namespace hearth::server {

template <typename Out, typename Number>
void AppendBytes(Out& out, Number number) {
  char bytes[sizeof(number)];
  std::memcpy(bytes, &number, sizeof(number));
  out.append(bytes, sizeof(bytes));
}

template <typename Out>
void AppendText(Out& out, std::string_view part) {
  AppendBytes(out, part.size());
  out.append(part.data(), part.size());
}

// `Out` has std::string's append(bytes, size); `tensor(out, t)` writes a tensor, and says whether it can be written.
template <typename Out, typename AppendTensor>
class ValueKeyWriter {
 public:
  ValueKeyWriter(Out& out, AppendTensor tensor) : out_(out), tensor_(std::move(tensor)) {}

  // False for a value of another kind, in whatever depth.
  bool Append(const c10::IValue& value) {
    if (value.isTensor()) return tensor_(out_, value.toTensor());
    if (value.isNone()) {
      AppendBytes(out_, 'n');
    } else if (value.isInt()) {
      AppendBytes(out_, 'i');
      AppendBytes(out_, value.toInt());
    } else if (value.isBool()) {
      AppendBytes(out_, value.toBool() ? 't' : 'f');
    } else if (value.isDouble()) {
      AppendBytes(out_, 'd');
      AppendBytes(out_, value.toDouble());
    } else if (value.isString()) {
      AppendBytes(out_, 's');
      AppendText(out_, value.toStringRef());
    } else if (value.isTuple()) {
      return AppendAll('(', value.toTupleRef().elements());
    } else if (value.isList()) {
      return AppendAll('[', value.toList().vec());
    } else if (value.isGenericDict()) {
      return AppendDict(value.toGenericDict());
    } else {
      return false;
    }
    return true;
  }

 private:
  bool AppendAll(char kind, c10::ArrayRef<c10::IValue> values) {
    AppendBytes(out_, kind);
    AppendBytes(out_, values.size());
    for (const c10::IValue& value : values) {
      if (!Append(value)) return false;
    }
    return true;
  }

  bool AppendDict(const c10::impl::GenericDict& dict) {
    AppendBytes(out_, '{');
    AppendBytes(out_, dict.size());
    for (const auto& entry : dict) {
      if (!Append(entry.key()) || !Append(entry.value())) return false;
    }
    return true;
  }

  Out& out_;
  AppendTensor tensor_;
};

// A call's arguments.
template <typename Out, typename AppendTensor>
bool AppendCall(Out& out, const CallArguments& call, AppendTensor tensor) {
  ValueKeyWriter writer(out, std::move(tensor));
  AppendBytes(out, call.args.size());
  for (const c10::IValue& value : call.args) {
    if (!writer.Append(value)) return false;
  }
  for (const auto& [name, value] : call.kwargs) {
    AppendText(out, name);
    if (!writer.Append(value)) return false;
  }
  return true;
}

}  // namespace hearth::server
