#include "server/api/request_message.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/api/split_message.h"
#include "server/api/typed_contents.h"

namespace hearth::server {
namespace {

using Input = inference::ModelInferRequest::InferInputTensor;

// Where each element of any datatype may lie.
constexpr int64_t kAlignment = 16;

c10::IntArrayRef ShapeOf(const Input& input) { return {input.shape().data(), static_cast<size_t>(input.shape_size())}; }

// Of bytes on the CPU.
RawBytes RawBytesOf(at::Tensor bytes) {
  RawBytes raw;
  raw.size = bytes.nbytes();
  auto* const held = new at::Tensor(std::move(bytes));
  raw.pieces.push_back(
      {grpc::Slice(
           held->mutable_data_ptr(), raw.size, [](void* tensor) { delete static_cast<at::Tensor*>(tensor); }, held),
       0, raw.size});
  return raw;
}

// The tensor whose bytes these are, over their memory where that may be.
absl::StatusOr<WireTensor> ReadShared(const Input& input, const at::Tensor& bytes) {
  auto tensor = DescribeTensor(input.name(), input.datatype(), ShapeOf(input));
  if (!tensor.ok()) return tensor;
  const Datatype& datatype = *tensor->datatype;
  // Any byte may come as a boolean.
  if (datatype.is_bytes() || datatype.scalar == c10::ScalarType::Bool || bytes.storage_offset() % kAlignment != 0) {
    return ReadRaw(input.name(), input.datatype(), ShapeOf(input), RawBytesOf(bytes.cpu()));
  }
  tensor->tensor = bytes.view(datatype.scalar).view(tensor->shape);
  return tensor;
}

absl::StatusOr<WireTensor> ReadInput(const Input& input, const RawBytes* raw, const at::Tensor* shared) {
  auto tensor = [&] {
    if (shared != nullptr) return ReadShared(input, *shared);
    return raw != nullptr ? ReadRaw(input.name(), input.datatype(), ShapeOf(input), *raw) : ReadContents(input);
  }();
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
    const bool is_shared = !message.shared_inputs.empty() && message.shared_inputs[i].defined();
    auto tensor = ReadInput(inputs[i], message.raw_inputs[i].has_value() ? &*message.raw_inputs[i] : nullptr,
                            is_shared ? &message.shared_inputs[i] : nullptr);
    if (!tensor.ok()) return tensor.status();
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

}  // namespace hearth::server
