#include "jit/executor/copied_values.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <unordered_map>
#include <utility>

namespace hearth {
namespace {

constexpr int kMaxDepth = 32;

class Copier {
 public:
  explicit Copier(size_t max_bytes) : bytes_left_(max_bytes) {}

  // Whether it could be copied.
  bool Copy(const c10::IValue& value, c10::IValue* copy, int depth = 0) {
    if (depth > kMaxDepth) return false;
    if (value.isTensor()) return CopyTensor(value.toTensor(), copy);
    const bool is_container = value.isList() || value.isTuple() || value.isGenericDict();
    if (!is_container) {
      *copy = value;
      return value.isNone() || value.isScalar() || value.isString() || value.isDevice();
    }
    const auto [known, is_new] = containers_.try_emplace(value.internalToPointer());
    if (!is_new) {
      *copy = known->second;
      return true;
    }
    if (value.isList()) return CopyList(value, copy, depth);
    if (value.isTuple()) return CopyTuple(value, copy, depth);
    return CopyDict(value, copy, depth);
  }

 private:
  bool CopyTensor(const at::Tensor& tensor, c10::IValue* copy) {
    if (!tensor.defined()) {
      *copy = tensor;
      return true;
    }
    const bool plain = tensor.layout() == c10::kStrided && tensor.has_storage() && !tensor.is_quantized() &&
                       !tensor.is_conj() && !tensor.is_neg() && !tensor.requires_grad() && !tensor.is_meta();
    if (!plain) return false;
    const c10::Storage& storage = tensor.storage();
    auto [found, is_new] = storages_.try_emplace(storage.unsafeGetStorageImpl());
    if (is_new) {
      if (storage.nbytes() > bytes_left_) return false;
      bytes_left_ -= storage.nbytes();
      const auto size = static_cast<int64_t>(storage.nbytes());
      at::Tensor bytes = at::empty({0}, tensor.options().dtype(at::kByte));
      bytes.set_(storage, 0, {size}, {1});
      found->second = bytes.clone().storage();
    }
    at::Tensor made = at::empty({0}, tensor.options());
    made.set_(found->second, tensor.storage_offset(), tensor.sizes(), tensor.strides());
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) made.unsafeGetTensorImpl()->set_wrapped_number(true);
    *copy = std::move(made);
    return true;
  }

  bool CopyList(const c10::IValue& value, c10::IValue* copy, int depth) {
    const c10::impl::GenericList list = value.toList();
    c10::impl::GenericList made(list.elementType());
    containers_[value.internalToPointer()] = *copy = made;
    for (const c10::IValue& element : list) {
      c10::IValue copied;
      if (!Copy(element, &copied, depth + 1)) return false;
      made.push_back(std::move(copied));
    }
    return true;
  }

  bool CopyTuple(const c10::IValue& value, c10::IValue* copy, int depth) {
    std::vector<c10::IValue> elements;
    for (const c10::IValue& element : value.toTupleRef().elements()) {
      if (!Copy(element, &elements.emplace_back(), depth + 1)) return false;
    }
    *copy = c10::ivalue::Tuple::createNamed(std::move(elements), value.toTupleRef().type());
    containers_[value.internalToPointer()] = *copy;
    return true;
  }

  bool CopyDict(const c10::IValue& value, c10::IValue* copy, int depth) {
    const c10::impl::GenericDict dict = value.toGenericDict();
    c10::impl::GenericDict made(dict.keyType(), dict.valueType());
    containers_[value.internalToPointer()] = *copy = made;
    for (const auto& item : dict) {
      c10::IValue copied;
      if (item.key().isTensor() || !Copy(item.value(), &copied, depth + 1)) return false;
      made.insert(item.key(), std::move(copied));
    }
    return true;
  }

  size_t bytes_left_;
  std::unordered_map<const c10::StorageImpl*, c10::Storage> storages_;
  std::unordered_map<const void*, c10::IValue> containers_;
};

}  // namespace

std::optional<std::vector<c10::IValue>> CopyDeep(std::span<const c10::IValue> values, size_t max_bytes) {
  Copier copier(max_bytes);
  std::vector<c10::IValue> copies;
  copies.reserve(values.size());
  for (const c10::IValue& value : values) {
    if (!copier.Copy(value, &copies.emplace_back())) return std::nullopt;
  }
  return copies;
}

}  // namespace hearth
