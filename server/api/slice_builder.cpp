#include "server/api/slice_builder.h"

#include <google/protobuf/io/coded_stream.h>

#include <utility>

#include "server/api/wire_types.h"

namespace hearth::server {
namespace {

using google::protobuf::io::CodedOutputStream;

void AppendVarint(std::string& out, uint64_t value) {
  uint8_t bytes[10];
  uint8_t* end = CodedOutputStream::WriteVarint64ToArray(value, bytes);
  out.append(reinterpret_cast<const char*>(bytes), end - bytes);
}

// Malloc is quick with what is smaller than this, so that it is copied; a larger text is handed over as it is.
constexpr size_t kSmallText = 1024;

grpc::Slice SliceOf(std::string bytes) {
  auto* owner = new std::string(std::move(bytes));
  return {owner->data(), owner->size(), [](void* held) { delete static_cast<std::string*>(held); }, owner};
}

}  // namespace

void AppendHead(std::string& out, uint32_t field, uint64_t size) {
  AppendVarint(out, field << 3 | kLengthDelimited);
  AppendVarint(out, size);
}

void AppendText(std::string& out, uint32_t field, std::string_view text) {
  if (text.empty()) return;
  AppendHead(out, field, text.size());
  out += text;
}

void AppendPackedVarints(std::string& out, uint32_t field, const std::vector<int64_t>& numbers) {
  if (numbers.empty()) return;
  size_t size = 0;
  for (const int64_t number : numbers) size += CodedOutputStream::VarintSize64(static_cast<uint64_t>(number));
  AppendHead(out, field, size);
  for (const int64_t number : numbers) AppendVarint(out, static_cast<uint64_t>(number));
}

void SliceBuilder::Add(at::Tensor tensor) {
  const size_t size = tensor.nbytes();
  if (size < kCopiedBelow) {
    text_.append(static_cast<const char*>(tensor.const_data_ptr()), size);
    return;
  }
  FlushText();
  auto* owner = new at::Tensor(std::move(tensor));
  slices_.emplace_back(
      const_cast<void*>(owner->const_data_ptr()), size, [](void* held) { delete static_cast<at::Tensor*>(held); },
      owner);
}

void SliceBuilder::Add(std::string bytes) {
  if (bytes.size() < kCopiedBelow) {
    if (text_.empty()) {
      text_ = std::move(bytes);
    } else {
      text_ += bytes;
    }
    return;
  }
  FlushText();
  slices_.push_back(SliceOf(std::move(bytes)));
}

void SliceBuilder::Add(grpc::Slice bytes) {
  if (bytes.size() < kCopiedBelow) {
    text_.append(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
    return;
  }
  FlushText();
  slices_.push_back(std::move(bytes));
}

void SliceBuilder::AddBytes(uint32_t field, const grpc::ByteBuffer& bytes) {
  AppendHead(text_, field, bytes.Length());
  std::vector<grpc::Slice> slices;
  (void)bytes.Dump(&slices);
  for (grpc::Slice& slice : slices) Add(std::move(slice));
}

void SliceBuilder::AddBytes(uint32_t field, at::Tensor tensor) {
  AppendHead(text_, field, tensor.nbytes());
  Add(std::move(tensor));
}

void SliceBuilder::AddBytes(uint32_t field, std::string bytes) {
  AppendHead(text_, field, bytes.size());
  Add(std::move(bytes));
}

grpc::ByteBuffer SliceBuilder::Take() {
  FlushText();
  return grpc::ByteBuffer(slices_.data(), slices_.size());
}

grpc::ByteBuffer SliceBuilder::TakeAsField(uint32_t field) {
  FlushText();
  size_t size = 0;
  for (const grpc::Slice& slice : slices_) size += slice.size();
  AppendHead(text_, field, size);
  slices_.insert(slices_.begin(), grpc::Slice(text_));
  return grpc::ByteBuffer(slices_.data(), slices_.size());
}

void SliceBuilder::FlushText() {
  if (text_.empty()) return;
  if (text_.size() < kSmallText) {
    slices_.emplace_back(text_);
  } else {
    slices_.push_back(SliceOf(std::move(text_)));
  }
  text_.clear();
}

}  // namespace hearth::server
