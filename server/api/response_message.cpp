#include "server/api/response_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/support/slice.h>

#include <utility>

namespace hearth::server {
namespace {

using google::protobuf::io::CodedOutputStream;

constexpr uint32_t kLengthDelimited = 2;
// A tensor of fewer bytes is copied next to what precedes it: a slice of its own costs more than that.
constexpr size_t kCopiedBelow = 4096;

std::string Tag(int field) { return std::string(1, static_cast<char>(field << 3 | kLengthDelimited)); }

void AppendVarint(std::string& out, uint64_t value) {
  uint8_t bytes[10];
  uint8_t* end = CodedOutputStream::WriteVarint64ToArray(value, bytes);
  out.append(reinterpret_cast<const char*>(bytes), end - bytes);
}

// Collects a message's bytes: some copied, some referred to.
class SliceBuilder {
 public:
  std::string& text() { return text_; }

  void Refer(at::Tensor tensor, size_t size) {
    FlushText();
    auto* owner = new at::Tensor(std::move(tensor));
    slices_.emplace_back(
        const_cast<void*>(owner->const_data_ptr()), size, [](void* held) { delete static_cast<at::Tensor*>(held); },
        owner);
  }

  void Refer(std::string bytes) {
    FlushText();
    auto* owner = new std::string(std::move(bytes));
    slices_.emplace_back(
        owner->data(), owner->size(), [](void* held) { delete static_cast<std::string*>(held); }, owner);
  }

  std::vector<grpc::Slice> Take() {
    FlushText();
    return std::move(slices_);
  }

 private:
  void FlushText() {
    if (text_.empty()) return;
    slices_.emplace_back(text_);
    text_.clear();
  }

  std::string text_;
  std::vector<grpc::Slice> slices_;
};

std::vector<grpc::Slice> Encode(inference::ModelInferResponse header, std::vector<WireTensor> outputs) {
  for (const WireTensor& output : outputs) {
    auto* described = header.add_outputs();
    described->set_name(output.name);
    described->set_datatype(output.datatype->name);
    described->mutable_shape()->Add(output.shape.begin(), output.shape.end());
  }
  SliceBuilder builder;
  header.AppendToString(&builder.text());
  for (WireTensor& output : outputs) {
    builder.text() += Tag(inference::ModelInferResponse::kRawOutputContentsFieldNumber);
    if (output.datatype->is_bytes()) {
      std::string encoded = EncodeStrings(output.strings);
      AppendVarint(builder.text(), encoded.size());
      if (encoded.size() < kCopiedBelow) {
        builder.text() += encoded;
      } else {
        builder.Refer(std::move(encoded));
      }
      continue;
    }
    const size_t size = output.tensor.nbytes();
    AppendVarint(builder.text(), size);
    if (size < kCopiedBelow) {
      builder.text().append(static_cast<const char*>(output.tensor.const_data_ptr()), size);
    } else {
      builder.Refer(std::move(output.tensor), size);
    }
  }
  return builder.Take();
}

}  // namespace

grpc::ByteBuffer EncodeInferResponse(inference::ModelInferResponse header, std::vector<WireTensor> outputs) {
  const std::vector<grpc::Slice> slices = Encode(std::move(header), std::move(outputs));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

grpc::ByteBuffer EncodeStreamResponse(inference::ModelInferResponse header, std::vector<WireTensor> outputs) {
  std::vector<grpc::Slice> slices = Encode(std::move(header), std::move(outputs));
  size_t size = 0;
  for (const grpc::Slice& slice : slices) size += slice.size();
  std::string start = Tag(inference::ModelStreamInferResponse::kInferResponseFieldNumber);
  AppendVarint(start, size);
  slices.insert(slices.begin(), grpc::Slice(start));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

grpc::ByteBuffer EncodeStreamError(const std::string& message, const std::string& id) {
  inference::ModelStreamInferResponse response;
  response.set_error_message(message);
  response.mutable_infer_response()->set_id(id);
  const grpc::Slice slice(response.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace hearth::server
