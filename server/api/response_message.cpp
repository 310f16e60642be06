#include "server/api/response_message.h"

#include <grpcpp/support/slice.h>

#include <string>
#include <string_view>
#include <utility>

#include "proto/inference/service.pb.h"
#include "server/api/slice_builder.h"

namespace hearth::server {
namespace {

using Response = inference::ModelInferResponse;
using Output = inference::ModelInferResponse::InferOutputTensor;

// As the parameters that clients ask for it with.
void AppendPlace(std::string& out, const RegionPlace& place) {
  Output output;
  const auto parameter = [&output](std::string_view name) -> inference::InferParameter& {
    return (*output.mutable_parameters())[std::string(name)];
  };
  parameter("shared_memory_region").set_string_param(place.region);
  parameter("shared_memory_byte_size").set_int64_param(static_cast<int64_t>(place.byte_size));
  if (place.offset != 0) parameter("shared_memory_offset").set_int64_param(static_cast<int64_t>(place.offset));
  output.AppendToString(&out);
}

void AppendHeader(std::string& out, const AnswerHeader& header, const std::vector<AnswerOutput>& outputs) {
  AppendText(out, Response::kModelNameFieldNumber, header.model_name);
  AppendText(out, Response::kModelVersionFieldNumber, header.model_version);
  AppendText(out, Response::kIdFieldNumber, header.id);
  std::string described;
  for (const auto& [output, written_to] : outputs) {
    described.clear();
    AppendText(described, Output::kNameFieldNumber, output.name);
    AppendText(described, Output::kDatatypeFieldNumber, output.datatype->name);
    AppendPackedVarints(described, Output::kShapeFieldNumber, output.shape);
    if (written_to.has_value()) AppendPlace(described, *written_to);
    AppendHead(out, Response::kOutputsFieldNumber, described.size());
    out += described;
  }
}

void AddContents(SliceBuilder& builder, std::vector<AnswerOutput> outputs) {
  for (auto& [output, written_to] : outputs) {
    if (written_to.has_value()) {
      // Clients find an output's contents by its number.
      builder.AddBytes(Response::kRawOutputContentsFieldNumber, std::string());
    } else if (output.datatype->is_bytes()) {
      builder.AddBytes(Response::kRawOutputContentsFieldNumber, EncodeStrings(output.strings));
    } else {
      builder.AddBytes(Response::kRawOutputContentsFieldNumber, std::move(output.tensor));
    }
  }
}

}  // namespace

grpc::ByteBuffer EncodeInferResponse(const AnswerHeader& header, std::vector<AnswerOutput> outputs) {
  SliceBuilder builder;
  AppendHeader(builder.text(), header, outputs);
  AddContents(builder, std::move(outputs));
  return builder.Take();
}

grpc::ByteBuffer EncodeStreamResponse(const AnswerHeader& header, std::vector<AnswerOutput> outputs) {
  static const std::string final_response = [] {
    Response response;
    (*response.mutable_parameters())["triton_final_response"].set_bool_param(true);
    return response.SerializeAsString();
  }();
  SliceBuilder builder;
  builder.text() += final_response;
  AppendHeader(builder.text(), header, outputs);
  AddContents(builder, std::move(outputs));
  return builder.TakeAsField(inference::ModelStreamInferResponse::kInferResponseFieldNumber);
}

grpc::ByteBuffer EncodeStreamError(const std::string& message, const std::string& id) {
  inference::ModelStreamInferResponse response;
  response.set_error_message(message);
  response.mutable_infer_response()->set_id(id);
  const grpc::Slice slice(response.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace hearth::server
