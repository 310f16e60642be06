#include "server/api/recorded_message.h"

#include <grpcpp/support/slice.h>

#include "server/api/slice_builder.h"

namespace hearth::server {
namespace {

// Names that are about where contents lie, and how REST carries them.
template <typename Parameters>
void EraseTransportParameters(Parameters& parameters) {
  for (const char* name : {"shared_memory_region", "shared_memory_byte_size", "shared_memory_offset", "binary_data",
                           "binary_data_size", "binary_data_output"}) {
    parameters.erase(name);
  }
}

}  // namespace

grpc::ByteBuffer EncodeRecordedRequest(const inference::ModelInferRequest& fields, const std::string& model,
                                       const std::string& version, const std::vector<WireTensor>& inputs) {
  inference::ModelInferRequest request = fields;
  request.set_model_name(model);
  request.set_model_version(version);
  request.clear_raw_input_contents();
  EraseTransportParameters(*request.mutable_parameters());
  for (auto& output : *request.mutable_outputs()) EraseTransportParameters(*output.mutable_parameters());
  for (auto& input : *request.mutable_inputs()) {
    EraseTransportParameters(*input.mutable_parameters());
    input.clear_contents();
  }
  SliceBuilder builder;
  request.AppendToString(&builder.text());
  for (const WireTensor& input : inputs) {
    constexpr uint32_t kField = inference::ModelInferRequest::kRawInputContentsFieldNumber;
    if (input.datatype->is_bytes()) {
      builder.AddBytes(kField, EncodeStrings(input.strings));
    } else {
      builder.AddBytes(kField, input.tensor.is_cpu() ? input.tensor : input.tensor.cpu());
    }
  }
  return builder.Take();
}

std::vector<WireTensor> KeepTensors(const std::vector<WireTensor>& tensors, bool copies) {
  std::vector<WireTensor> kept = tensors;
  for (WireTensor& each : kept) {
    if (copies && each.tensor.defined()) each.tensor = each.tensor.clone();
  }
  return kept;
}

grpc::ByteBuffer CopyOfMessage(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  (void)message.Dump(&slices);
  for (grpc::Slice& slice : slices) slice = grpc::Slice(slice.begin(), slice.size());
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace hearth::server
