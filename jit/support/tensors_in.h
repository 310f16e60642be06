// The tensors in a value, wherever containers have them. Objects are not looked into.
#pragma once

#include <ATen/core/ivalue.h>

#include <functional>

namespace hearth {

// The value with another tensor in place of each, undefined ones included, in order; containers are new ones.
c10::IValue MapTensors(const c10::IValue& value, const std::function<at::Tensor(const at::Tensor&)>& map);

// Calls `visit` with the tensors of two values, pair by pair. False if the values are not alike: another structure, or
// another value where there is no tensor. Dicts are alike if they have the same keys in the same order.
bool VisitPairs(const c10::IValue& a, const c10::IValue& b,
                const std::function<void(const at::Tensor& of_a, const at::Tensor& of_b)>& visit);

}  // namespace hearth
