#include "server/api/infer_task.h"

#include <google/protobuf/arena.h>

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "server/api/signature.h"

namespace hearth::server {

absl::StatusOr<DispatchedCall> InferTask::Prepare(const grpc::ByteBuffer& message) {
  // The fields of a usual request fit here, so that they take no trips to the allocator.
  alignas(std::max_align_t) char memory[4096];
  google::protobuf::Arena arena(memory, sizeof(memory));
  const auto request = Read(message, arena);
  if (!request.ok()) return request.status();
  const inference::ModelInferRequest& fields = *request->fields;

  for (const char* unsupported : {"sequence_id"}) {
    auto parameter = fields.parameters().find(unsupported);
    const bool set = parameter != fields.parameters().end() &&
                     (parameter->second.int64_param() != 0 || !parameter->second.string_param().empty());
    if (set) return absl::InvalidArgumentError(absl::StrCat("the parameter '", unsupported, "' is not offered here"));
  }
  absl::flat_hash_set<std::string> names;
  for (const auto& output : fields.outputs()) {
    for (const char* unsupported : {"classification", "shared_memory_region"}) {
      if (!output.parameters().contains(unsupported)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("output '", output.name(), "': the parameter '", unsupported, "' is not offered here"));
    }
    // As Triton does: an output that is named again is sent once.
    if (names.insert(output.name()).second) requested_.push_back(output.name());
  }
  auto inputs = ReadInputs(*request);
  if (!inputs.ok()) return inputs.status();
  const auto& signature = static_cast<const Signature&>(*servable().call_interface);
  if (absl::Status status = signature.CheckRequested(requested_); !status.ok()) return status;
  observation_.known = servable().observed.get();
  auto bound = signature.Bind(*std::move(inputs), &observation_);
  if (!bound.ok()) return bound.status();
  set_batch_size(bound->batch_size);
  DispatchedCall call;
  call.args = std::move(bound->args);
  call.kwargs = std::move(bound->kwargs);
  return call;
}

absl::Status InferTask::Encode(c10::IValue result, grpc::ByteBuffer& answer) {
  const auto& signature = static_cast<const Signature&>(*servable().call_interface);
  auto outputs = signature.Unbind(std::move(result), requested_, &observation_);
  if (!outputs.ok()) return outputs.status();
  std::vector<AnswerOutput> answers;
  answers.reserve(outputs->size());
  for (WireTensor& output : *outputs) answers.push_back({std::move(output), std::nullopt});
  if (absl::Status status = Write({servable().name, version(), id()}, std::move(answers), answer); !status.ok()) {
    return status;
  }
  RecordObservation(*servable().observed, observation_);
  return absl::OkStatus();
}

}  // namespace hearth::server
