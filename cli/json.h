// Values and tensors as JSON, for --json. Numbers that JSON cannot hold are the strings "nan", "inf" and "-inf"; bytes
// that are not UTF-8 are replaced when printed.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <string>

#include <nlohmann/json.hpp>

namespace hearth::cli {

using Json = nlohmann::ordered_json;

// The most elements a tensor's "values" holds; a larger tensor has its "min", "max" and "mean" only.
inline constexpr int64_t kMaxJsonElements = 1000;

// {"dtype", "shape", "device", "min", "max", "mean", "values"}; values flat in row-major order, complex ones as
// [re, im]. What a tensor has no such thing as (the mean of booleans) is left out.
Json TensorToJson(const at::Tensor& tensor);

// Tensors as above; lists and tuples as arrays; named tuples, objects and dicts with string keys as objects, other
// dicts as arrays of [key, value].
Json ValueToJson(const c10::IValue& value);

// On stdout, indented by two, with a newline.
void PrintJson(const Json& json);

}  // namespace hearth::cli
