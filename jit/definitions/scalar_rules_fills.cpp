// Scalar rules of what is made as another tensor is: of one number, or of the elements of a third.
#include "jit/definitions/scalar_rules.h"

namespace hearth::scalar {

using fuser::Scalar;

Scalar Copied(ScalarCall& c) { return c.In(1, c.result()); }
Scalar Filled(ScalarCall& c) {
  const size_t number = c.call().find(c.call().has("fill_value") ? "fill_value" : "value");
  if (!c.call().is_tensor_type(number)) return c.CanFill(number) ? c.In(number, c.result()) : Scalar();
  // How a number of another dtype is read is LibTorch's to say.
  return c.call().in(number).dtype == c.call().out().dtype ? c.In(number, c.result()) : Scalar();
}
Scalar Ones(ScalarCall& c) { return c.Constant(c.result(), 1); }
Scalar Zeros(ScalarCall& c) { return c.Constant(c.result(), 0); }

}  // namespace hearth::scalar
