#include "jit/archive/storage_table.h"

#include <ATen/core/Tensor.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorOptions.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "jit/support/errors.h"

namespace hearth {
namespace {

constexpr uintptr_t kAlignment = 64;

c10::Storage MakeStorage(c10::DataPtr data, size_t size, bool resizable) {
  // What is resized moves to memory of the allocator's.
  c10::Allocator* allocator = resizable ? c10::GetAllocator(data.device().type()) : nullptr;
  return c10::Storage(c10::Storage::use_byte_size_t(), size, std::move(data), allocator, resizable);
}

c10::Storage ViewOf(const RecordBytes& bytes, bool resizable) {
  auto* owner = new std::shared_ptr<const void>(bytes.owner);
  const auto release = [](void* context) { delete static_cast<std::shared_ptr<const void>*>(context); };
  return MakeStorage(c10::DataPtr(bytes.data, owner, release, c10::Device(c10::kCPU)), bytes.size, resizable);
}

c10::Storage CopyOf(const RecordBytes& bytes, bool resizable) {
  c10::DataPtr data = c10::GetCPUAllocator()->allocate(bytes.size);
  std::memcpy(data.mutable_get(), bytes.data, bytes.size);
  return MakeStorage(std::move(data), bytes.size, resizable);
}

// The size of the numbers whose bytes a machine orders: a complex number is two of them.
size_t SwappedBytes(c10::ScalarType dtype) {
  return c10::isComplexType(dtype) ? c10::elementSize(dtype) / 2 : c10::elementSize(dtype);
}

void ReverseEach(char* data, size_t size, size_t element) {
  for (size_t at = 0; at + element <= size; at += element) std::reverse(data + at, data + at + element);
}

c10::Storage MoveTo(const c10::Storage& storage, c10::Device device) {
  at::Tensor bytes = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(c10::kByte));
  const int64_t size = static_cast<int64_t>(storage.nbytes());
  const int64_t stride = 1;
  bytes.unsafeGetTensorImpl()->set_sizes_and_strides({&size, 1}, {&stride, 1});
  return bytes.to(device).storage();
}

}  // namespace

c10::Storage StorageTable::Get(const std::string& key, c10::ScalarType dtype, int64_t numel, bool may_be_left_out) {
  const int64_t element = static_cast<int64_t>(c10::elementSize(dtype));
  int64_t needed = 0;
  if (numel < 0 || __builtin_mul_overflow(numel, element, &needed)) {
    throw ArchiveError("storage '" + key + "' has an impossible number of elements: " + std::to_string(numel));
  }
  if (numel == 0) return MakeStorage(c10::DataPtr(nullptr, device_), 0, resizable_);
  auto found = by_key_.find(key);
  if (found == by_key_.end()) found = by_key_.emplace(key, Open(key, dtype)).first;
  const Entry& entry = found->second;
  if (entry.storage.nbytes() == 0 && may_be_left_out) return {};
  if (entry.storage.nbytes() < static_cast<size_t>(needed)) {
    throw ArchiveError("storage '" + key + "' has " + std::to_string(entry.storage.nbytes()) + " bytes, but " +
                       std::to_string(numel) + " elements of " + c10::toString(dtype) + " need " +
                       std::to_string(needed));
  }
  if (SwappedBy(dtype) != entry.swapped_by) {
    throw ArchiveError("storage '" + key + "' of a big-endian archive is used with elements of two sizes");
  }
  return entry.storage;
}

size_t StorageTable::SwappedBy(c10::ScalarType dtype) const { return big_endian_ ? SwappedBytes(dtype) : 1; }

StorageTable::Entry StorageTable::Open(const std::string& key, c10::ScalarType dtype) {
  const size_t swapped_by = SwappedBy(dtype);
  const std::optional<size_t> size = size_ ? size_(key) : std::nullopt;
  if (!size) return {Load(key, swapped_by), swapped_by};
  empty_.push_back(key);
  return {MakeStorage(c10::DataPtr(nullptr, device_), *size, resizable_), swapped_by};
}

void StorageTable::Fill() {
  for (const std::string& key : empty_) {
    const Entry& entry = by_key_.at(key);
    c10::Storage loaded = Load(key, entry.swapped_by);
    entry.storage.unsafeGetStorageImpl()->set_data_ptr_noswap(loaded.set_data_ptr(c10::DataPtr(nullptr, device_)));
  }
  empty_.clear();
}

c10::Storage StorageTable::Load(const std::string& key, size_t swapped_by) {
  const RecordBytes bytes = read_(key);
  c10::Storage storage;
  if (swapped_by > 1) {
    storage = CopyOf(bytes, resizable_);
    ReverseEach(static_cast<char*>(storage.mutable_data()), bytes.size, swapped_by);
  } else if (device_.is_cpu() && reinterpret_cast<uintptr_t>(bytes.data) % kAlignment != 0) {
    storage = CopyOf(bytes, resizable_);
  } else {
    storage = ViewOf(bytes, resizable_);
  }
  return device_.is_cpu() ? storage : MoveTo(storage, device_);
}

}  // namespace hearth
