// Weights in the forms of the library that computes with them (oneDNN), and what it may compute right after a product.
//
// An epilogue is words with spaces between them, each of which the library applies to every element of the result, in
// their order: "relu", "relu6", "leaky_relu=0.1" with any slope but 0, "gelu", "gelu_tanh", "silu", "sigmoid", "tanh",
// "hardswish", and "add", which adds the element that is in the result's memory beforehand and can only come first.
// They are ATen's functions, and keep a NaN. (Of minus infinity, "relu" gives NaN and not 0.) The library's own relu
// and clip drop a NaN; relu6 would take more to spell out than to compute it afterwards, as is done.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "jit/kernels/activation.h"

namespace hearth::libraries {

// How the library wants a weight for inputs of some sizes. Immutable.
struct WeightForm;

struct PackedWeight {
  std::shared_ptr<const WeightForm> form;
  at::Tensor numbers;  // float32, of one dimension; its bytes are the weight in that form
};

// Of a plain float32 tensor of the form's sizes.
at::Tensor Pack(const at::Tensor& weight, const WeightForm& form);
// What tells forms of one weight apart.
const std::string& TextOf(const WeightForm& form);

// With one more word.
std::string Followed(std::string_view epilogue, std::string_view word);
// By ATen's operators, in place, all but "add".
void ApplyEpilogue(std::string_view epilogue, at::Tensor& tensor);
bool Adds(std::string_view epilogue);
// Whether it has no activation.
bool IsBare(std::string_view epilogue);

// What a kernel of hearth's own computes after a product.
struct KernelEpilogue {
  bool adds = false;
  kernels::Activation activation = kernels::Activation::kNone;
  float slope = 0;
};
// Throws c10::Error for a word that is none. Nothing where the kernels do not have it all.
std::optional<KernelEpilogue> KernelEpilogueOf(std::string_view epilogue);

}  // namespace hearth::libraries
