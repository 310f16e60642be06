#include "jit/libraries/product.h"

#include <ATen/Parallel.h>

#include <utility>

#include "jit/libraries/onednn.h"

namespace hearth::libraries {
namespace {

using dnnl::memory;
using Description = dnnl::matmul::primitive_desc;

// Of [inner, columns]. Empty where the library has nothing good. Throws dnnl::error for what it cannot even describe.
Description DescribeProduct(int64_t rows, const memory::desc& weight, bool has_bias, std::string_view epilogue) {
  const int64_t inner = weight.get_dims()[0], columns = weight.get_dims()[1];
  const memory::desc source = DenseForm({rows, inner}, memory::format_tag::ab),
                     target = DenseForm({rows, columns}, memory::format_tag::ab);
  const dnnl::primitive_attr attributes = AttributesOf(epilogue);
  Description made = has_bias ? Description(Engine(), source, weight, DenseForm({1, columns}, memory::format_tag::ab),
                                            target, attributes, /*allow_empty=*/true)
                              : Description(Engine(), source, weight, target, attributes, /*allow_empty=*/true);
  return made.get(true) != nullptr && IsOptimized(made) ? made : Description();
}

}  // namespace

Product::Product(at::Tensor weight) : weight_(std::move(weight)), primitives_(std::make_unique<PrimitiveTable>()) {
  TORCH_CHECK(weight_.scalar_type() == at::kFloat && weight_.dim() == 2 && weight_.device().is_cpu(),
              "not the weight of a linear layer");
}

Product::~Product() = default;

std::shared_ptr<const WeightForm> Product::FormFor(int64_t rows) const try {
  const memory::desc any({weight_.size(1), weight_.size(0)}, memory::data_type::f32, memory::format_tag::any);
  const Description made = DescribeProduct(rows, any, /*has_bias=*/true, "");
  return made.get(true) == nullptr ? nullptr : MakeWeightForm(made.weights_desc());
} catch (const dnnl::error&) {
  return nullptr;
}

std::optional<PreparedPrimitive> Product::Make(int64_t rows, bool has_bias, std::string_view epilogue) const try {
  const Description made = DescribeProduct(rows, packed_.form->form, has_bias, epilogue);
  if (made.get(true) == nullptr) return {};
  return PreparedPrimitive{.primitive = dnnl::matmul(made),
                           .input = made.src_desc(),
                           .weight = made.weights_desc(),
                           .bias = made.bias_desc(),
                           .result = made.dst_desc(),
                           .scratch = made.scratchpad_desc()};
} catch (const dnnl::error&) {
  return {};
}

void Product::Prepare(int64_t rows, bool has_bias, std::string_view epilogue) const {
  if (packed_.form == nullptr || rows <= 0) return;
  primitives_->Get({{rows}, has_bias, epilogue, at::get_num_threads()}, [&] { return Make(rows, has_bias, epilogue); });
}

std::shared_ptr<const PreparedPrimitive> Product::Find(int64_t rows, bool has_bias, std::string_view epilogue) const {
  return primitives_->Find({{rows}, has_bias, epilogue, at::get_num_threads()});
}

void Product::Run(const PreparedPrimitive& prepared, const at::Tensor& input, const at::Tensor* bias,
                  at::Tensor& result) const {
  Execute(prepared, input, packed_.numbers, bias, result);
}

c10::IValue Product::Wrap(c10::intrusive_ptr<Product> product) { return c10::IValue::make_capsule(std::move(product)); }

const Product* Product::Unwrap(const c10::IValue& value) {
  if (!value.isCapsule()) return nullptr;
  return dynamic_cast<const Product*>(value.toCapsule().get());
}

}  // namespace hearth::libraries
