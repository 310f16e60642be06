#include "wire/raw_bytes.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hearth {
namespace {

constexpr uintptr_t kAlignment = 16;
// Fewer bytes are copied: that costs less than referring to them, and a slice as small as 23 bytes holds them in
// itself.
constexpr uint64_t kReferredFrom = 4096;

// Integers of fewer than eight bits, one to a byte: LibTorch has the dtypes and cannot copy them.
bool IsCopiedAsBytes(c10::ScalarType dtype) {
  return (dtype >= c10::ScalarType::UInt1 && dtype <= c10::ScalarType::UInt7) ||
         (dtype >= c10::ScalarType::Int1 && dtype <= c10::ScalarType::Int7);
}

}  // namespace

RawBytes RawBytes::Of(std::string_view bytes) {
  RawBytes raw;
  raw.size = bytes.size();
  raw.pieces.push_back({grpc::Slice(bytes.data(), bytes.size()), 0, bytes.size()});
  return raw;
}

std::string RawBytes::Joined() const {
  std::string whole;
  whole.reserve(size);
  for (const Piece& piece : pieces) whole.append(reinterpret_cast<const char*>(piece.data()), piece.size);
  return whole;
}

std::optional<int64_t> CountElements(c10::IntArrayRef shape) {
  // Elements and bytes fit with room to spare, strides included.
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 16;
  // A dimension of 0 makes the tensor empty, however large the others are.
  bool empty = false;
  int64_t elements = 1;
  for (const int64_t size : shape) {
    if (size < 0) return std::nullopt;
    empty = empty || size == 0;
    const int64_t factor = std::max<int64_t>(size, 1);
    if (elements > kMost / factor) return std::nullopt;
    elements *= factor;
  }
  return empty ? 0 : elements;
}

at::Tensor TensorOfBytes(const RawBytes& bytes, c10::IntArrayRef shape, c10::ScalarType scalar) {
  if (bytes.pieces.size() == 1 && bytes.size >= kReferredFrom &&
      reinterpret_cast<uintptr_t>(bytes.pieces[0].data()) % kAlignment == 0 && scalar != c10::ScalarType::Bool) {
    // The message's memory is ours: gRPC hands each byte of it to one call only, so a model may write to it.
    const grpc::Slice slice = bytes.pieces[0].slice;
    return at::for_blob(const_cast<uint8_t*>(bytes.pieces[0].data()), shape)
        .deleter([slice](void*) {})
        .options(at::TensorOptions(scalar))
        .resizeable_storage()
        .allocator(c10::GetCPUAllocator())
        .make_tensor();
  }
  // What at::empty comes to, without the way there.
  at::Tensor tensor = at::detail::empty_cpu(shape, scalar);
  auto* const begin = static_cast<uint8_t*>(tensor.mutable_data_ptr());
  uint8_t* out = begin;
  for (const RawBytes::Piece& piece : bytes.pieces) {
    if (piece.size == 0) continue;
    std::memcpy(out, piece.data(), piece.size);
    out += piece.size;
  }
  if (scalar == c10::ScalarType::Bool) {
    // Any byte may come; a C++ bool that is neither 0 nor 1 is undefined behaviour in every kernel.
    std::transform(begin, out, begin, [](uint8_t byte) { return byte != 0; });
  }
  return tensor;
}

at::Tensor ReadyToSend(at::Tensor tensor) {
  // Each of these is a trip through the dispatcher even where there is nothing to do.
  if (tensor.is_conj() || tensor.is_neg()) tensor = tensor.resolve_conj().resolve_neg();
  if (IsCopiedAsBytes(tensor.scalar_type())) tensor = tensor.view(at::kByte);
  if (!tensor.is_cpu()) tensor = tensor.cpu();
  if (!tensor.is_contiguous()) tensor = tensor.contiguous();
  // Memory that a weight, another output or a model's state still holds may be written while it is being sent.
  if (tensor.use_count() > 1 || tensor.storage().use_count() > 1) tensor = tensor.clone();
  return tensor;
}

std::string ShapeText(c10::IntArrayRef shape) { return absl::StrCat("[", absl::StrJoin(shape, ","), "]"); }

}  // namespace hearth
