#include "server/api/request_message.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/api/split_message.h"
#include "server/api/typed_contents.h"

namespace hearth::server {
namespace {

absl::StatusOr<WireTensor> ReadInput(const inference::ModelInferRequest::InferInputTensor& input, const RawBytes* raw) {
  const c10::IntArrayRef shape(input.shape().data(), input.shape_size());
  auto tensor = raw != nullptr ? ReadRaw(input.name(), input.datatype(), shape, *raw) : ReadContents(input);
  if (tensor.ok()) return tensor;
  return absl::InvalidArgumentError(absl::StrCat("input '", input.name(), "' ", tensor.status().message()));
}

// Tensors, their parameters and contents; names and texts.
constexpr SplitMessage::Parts kMostParts = {.messages = 1 << 16, .texts = 1 << 20};

}  // namespace

absl::StatusOr<ParsedInferRequest> ParseInferRequest(const grpc::ByteBuffer& buffer, google::protobuf::Arena& arena) {
  auto split = SplitMessage::Of(buffer, inference::ModelInferRequest::kRawInputContentsFieldNumber);
  auto* fields = google::protobuf::Arena::CreateMessage<inference::ModelInferRequest>(&arena);
  absl::Status status = split.status();
  if (status.ok()) status = split->CheckParts(*fields->GetDescriptor(), kMostParts);
  if (status.ok() && !split->ParseRest(*fields)) status = absl::InvalidArgumentError("a field is not as it should be");
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("the request is not a ModelInferRequest: ", status.message()));
  }
  return ParsedInferRequest{fields, split->TakeRaw()};
}

absl::StatusOr<InferRequestMessage> MatchContents(ParsedInferRequest request) {
  const auto& inputs = request.fields->inputs();
  std::vector<RawBytes>& contents = request.raw_input_contents;
  InferRequestMessage message{request.fields, {}};
  message.raw_inputs.resize(inputs.size());
  if (contents.empty()) return message;
  const auto is_elsewhere = [](const auto& input) { return input.parameters().contains("shared_memory_region"); };
  const auto expected = static_cast<size_t>(inputs.size() - std::ranges::count_if(inputs, is_elsewhere));
  if (expected != contents.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the request has ", expected, " inputs and ", contents.size(),
                                                   " raw_input_contents; there must be one for each"));
  }
  auto next = contents.begin();
  for (int i = 0; i < inputs.size(); ++i) {
    if (is_elsewhere(inputs[i])) continue;
    if (inputs[i].has_contents()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", inputs[i].name(), "' has typed contents in a request with raw_input_contents"));
    }
    message.raw_inputs[i] = std::move(*next++);
  }
  return message;
}

absl::StatusOr<std::vector<WireTensor>> ReadInputs(const InferRequestMessage& message) {
  const auto& inputs = message.fields->inputs();
  std::vector<WireTensor> tensors;
  tensors.reserve(inputs.size());
  for (int i = 0; i < inputs.size(); ++i) {
    auto tensor = ReadInput(inputs[i], message.raw_inputs[i].has_value() ? &*message.raw_inputs[i] : nullptr);
    if (!tensor.ok()) return tensor.status();
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

}  // namespace hearth::server
