#include "jit/libraries/product.h"

#include <ATen/Parallel.h>

#include <utility>

#include "jit/kernels/target.h"
#include "jit/libraries/onednn.h"
#include "jit/support/parallel_for.h"

namespace hearth::libraries {
namespace {

using dnnl::memory;
using Description = dnnl::matmul::primitive_desc;

// Of [inner, columns]. Empty where the library has nothing good. Throws dnnl::error for what it cannot even describe.
Description DescribeProduct(int64_t rows, const memory::desc& weight, bool has_bias, std::string_view epilogue) {
  if (!PartsOf(epilogue).afterwards.empty()) return {};
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

bool Product::TakesAnyRows() { return kernels::HasVectors(); }

bool Product::IsShared(int64_t rows, int64_t inner, int64_t columns, int threads) {
  return kernels::HasVectors() &&
         IsWorthSharing(kernels::NanosecondsOf({.rows = rows, .inner = inner, .columns = columns}), threads);
}

std::shared_ptr<const WeightForm> Product::FormFor(int64_t rows) const try {
  if (auto panels = OwnForm(WeightUser::kProduct)) return panels;
  const memory::desc any({weight_.size(1), weight_.size(0)}, memory::data_type::f32, memory::format_tag::any);
  const Description made = DescribeProduct(rows, any, /*has_bias=*/true, "");
  return made.get(true) == nullptr ? nullptr : MakeWeightForm(made.weights_desc());
} catch (const dnnl::error&) {
  return nullptr;
}

std::optional<PreparedCall> Product::Make(int64_t rows, bool has_bias, std::string_view epilogue) const try {
  const Description made = DescribeProduct(rows, packed_.form->form, has_bias, epilogue);
  if (made.get(true) == nullptr) return {};
  PreparedCall call = CallOf<dnnl::matmul>(made);
  return call;
} catch (const dnnl::error&) {
  return {};
}

void Product::Prepare(int64_t rows, bool has_bias, std::string_view epilogue) const {
  if (packed_.form == nullptr || packed_.form->user == WeightUser::kProduct || rows <= 0) return;
  primitives_->Get({{rows}, has_bias, epilogue, at::get_num_threads()}, [&] { return Make(rows, has_bias, epilogue); });
}

bool Product::IsReady(int64_t rows, bool has_bias, std::string_view epilogue) const {
  if (packed_.form == nullptr) return false;
  if (packed_.form->user == WeightUser::kProduct) return KernelEpilogueOf(epilogue).has_value();
  return primitives_->Find({{rows}, has_bias, epilogue, at::get_num_threads()}) != nullptr;
}

bool Product::Run(const at::Tensor& input, const at::Tensor* bias, std::string_view epilogue,
                  at::Tensor& result) const {
  if (packed_.form == nullptr) return false;
  const int64_t inner = weight_.size(1), columns = weight_.size(0), rows = result.numel() / columns;
  if (packed_.form->user != WeightUser::kProduct) {
    const auto prepared = primitives_->Find({{rows}, bias != nullptr, epilogue, at::get_num_threads()});
    if (prepared != nullptr) Execute(*prepared, input, packed_.numbers, bias, result);
    return prepared != nullptr;
  }
  const std::optional<KernelEpilogue> following = KernelEpilogueOf(epilogue);
  if (!following) return false;
  MultiplyOnThreads({.rows = rows,
                     .inner = inner,
                     .columns = columns,
                     .left = input.const_data_ptr<float>(),
                     .left_stride = inner,
                     .packed = packed_.numbers.const_data_ptr<float>(),
                     .bias = bias == nullptr ? nullptr : bias->const_data_ptr<float>(),
                     .result = result.mutable_data_ptr<float>(),
                     .result_stride = columns,
                     .adds = following->adds,
                     .activation = following->activation,
                     .slope = following->slope});
  return true;
}

c10::IValue Product::Wrap(c10::intrusive_ptr<Product> product) { return c10::IValue::make_capsule(std::move(product)); }

const Product* Product::Unwrap(const c10::IValue& value) {
  if (!value.isCapsule()) return nullptr;
  return dynamic_cast<const Product*>(value.toCapsule().get());
}

}  // namespace hearth::libraries
