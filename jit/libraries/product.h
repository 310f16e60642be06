// The product of a linear layer whose weight is known and packed. Kernels of hearth's own take any number of rows
// (kernels/product.h). On a processor that they are not for, oneDNN takes the numbers of rows that it was prepared for,
// and nothing takes others: BLAS multiplies at once, and the library would prepare code first.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "jit/libraries/packed_weight.h"

namespace hearth::libraries {

class PrimitiveTable;
struct PreparedCall;

// Thread-safe but for Use.
class Product : public torch::CustomClassHolder {
 public:
  // `weight`: [columns, inner], float32, plain, with whatever strides. It is kept.
  explicit Product(at::Tensor weight);
  ~Product() override;

  const at::Tensor& weight() const { return weight_; }

  // The form that calls with so many rows want, on as many threads as the calling thread's operators have. Null where
  // nothing has good code for them.
  std::shared_ptr<const WeightForm> FormFor(int64_t rows) const;
  void Use(PackedWeight packed) { packed_ = std::move(packed); }
  // Whether calls with any number of rows are ready once there is a packed weight, whatever FormFor was asked for.
  static bool TakesAnyRows();
  // Whether so many threads share a product of these sizes whose weight is packed.
  static bool IsShared(int64_t rows, int64_t inner, int64_t columns, int threads);

  // Makes what calls with so many rows need on as many threads as the calling thread's operators have.
  void Prepare(int64_t rows, bool has_bias, std::string_view epilogue) const;

  // Whether Run takes such a call.
  bool IsReady(int64_t rows, bool has_bias, std::string_view epilogue) const;
  // `input`: [rows, inner]; `bias`: [columns], or null; `result`: [rows, columns]; float32, dense, of any sizes with as
  // many elements. False, and nothing is done, where it is not ready for that.
  bool Run(const at::Tensor& input, const at::Tensor* bias, std::string_view epilogue, at::Tensor& result) const;

  // As the constant operand of a node, and back; null if it is no such thing.
  static c10::IValue Wrap(c10::intrusive_ptr<Product> product);
  static const Product* Unwrap(const c10::IValue& value);

 private:
  std::optional<PreparedCall> Make(int64_t rows, bool has_bias, std::string_view epilogue) const;

  const at::Tensor weight_;
  PackedWeight packed_;
  const std::unique_ptr<PrimitiveTable> primitives_;
};

}  // namespace hearth::libraries
