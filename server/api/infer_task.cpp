#include "server/api/infer_task.h"

#include <ATen/ops/from_blob.h>
#include <google/protobuf/arena.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/api/classification.h"
#include "server/api/recorded_message.h"
#include "server/api/sequence_tensors.h"
#include "server/api/signature.h"
#include "wire/raw_bytes.h"

namespace hearth::server {

bool InferTask::IsShort(const grpc::ByteBuffer& message) const {
  return !environment().regions.any() && IsReadQuickly(message);
}

absl::StatusOr<DispatchedCall> InferTask::Prepare(const grpc::ByteBuffer& message) {
  // The fields of a usual request fit here, so that they take no trips to the allocator.
  alignas(std::max_align_t) char memory[4096];
  google::protobuf::Arena arena(memory, sizeof(memory));
  auto request = Read(message, arena);
  if (!request.ok()) return request.status();
  const inference::ModelInferRequest& fields = *request->fields;

  const SequenceSettings* sequence = SignatureOf(servable()).sequence();
  const uint64_t levels = servable().config.dynamic_batching().priority_levels();
  const auto parameters = ReadRequestParameters(fields, levels, /*has_sequences=*/sequence != nullptr);
  if (!parameters.ok()) return parameters.status();
  QueueRequest queue{.priority = parameters->priority, .timeout = std::nullopt};
  if (servable().queue_settings.PolicyOf(queue.priority).may_shorten) {
    queue.timeout = parameters->timeout;
  } else if (parameters->timeout) {
    LimitTime(*parameters->timeout);
  }
  if (sequence != nullptr) {
    if (absl::Status entered = EnterSequence(*sequence, parameters->sequence); !entered.ok()) return entered;
  }
  auto requested = ReadRequestedOutputs(fields, environment().regions);
  if (!requested.ok()) return requested.status();
  requested_ = *std::move(requested);
  names_.clear();
  for (const RequestedOutput& output : requested_) names_.push_back(output.name);

  const Signature& signature = SignatureOf(servable());
  sequence = signature.sequence();
  absl::Status status = signature.CheckRequested(names_);
  if (status.ok()) status = signature.CheckNoState(names_);
  if (status.ok()) status = ReadRegions(environment().regions, *request);
  if (!status.ok()) return status;
  auto inputs = ReadInputs(*request);
  if (!inputs.ok()) return inputs.status();
  std::optional<std::vector<WireTensor>> kept = KeepInputs(*inputs);
  observation_.known = servable().observed.get();
  if (sequence != nullptr) {
    const bool batched = servable().config.max_batch_size() > 0;
    const auto has_rows = [](const WireTensor& input) { return !input.shape.empty() && input.shape[0] != 1; };
    if (batched && std::ranges::any_of(*inputs, has_rows)) {
      return absl::InvalidArgumentError(
          absl::StrCat("inference request to model '", servable().name,
                       "' must specify batch-size 1 due to requirements of sequence batcher"));
    }
    for (WireTensor& tensor : TensorsOfSequence(*sequence, parameters->sequence)) inputs->push_back(std::move(tensor));
  }
  auto bound = signature.Bind(*std::move(inputs), &observation_);
  if (!bound.ok()) return bound.status();
  if (kept) KeepRequest(fields, *std::move(kept));
  DispatchedCall call;
  call.arguments = {std::move(bound->args), std::move(bound->kwargs)};
  call.rows = bound->batch_size;
  call.queue = queue;
  call.answer_stays_on_device = std::ranges::any_of(requested_, [](const RequestedOutput& output) {
    return output.region.has_value() && output.region->region->kind() == SharedRegion::Kind::kDevice;
  });
  return call;
}

absl::Status InferTask::EnterSequence(const SequenceSettings& settings, const SequenceRequest& request) {
  Sequences* const sequences = environment().sequences;
  if (sequences == nullptr) return absl::UnimplementedError("this server has no sequences");
  if (!request.is_set()) {
    return absl::InvalidArgumentError(absl::StrCat("inference request to model '", servable().name,
                                                   "' must specify a non-zero or non-empty correlation ID"));
  }
  if (!sequence_place_) {
    if (absl::Status status = CheckSequenceName(settings, request, servable().name); !status.ok()) return status;
    auto place = sequences->Join(servable_ptr(), requested_version(), request, settings.longest_idle);
    if (!place.ok()) return place.status();
    sequence_place_ = *std::move(place);
  }
  ServeWith(Sequences::servable(*sequence_place_));
  if (!sequences->HasTurn(*sequence_place_)) return NotItsTurn();
  if (!sequences->HasEnded(*sequence_place_)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("inference request for sequence ", request.name, " to model '",
                                                 servable().name, "' comes after the one that ended the sequence"));
}

std::vector<WireTensor> InferTask::TensorsOfSequence(const SequenceSettings& settings,
                                                     const SequenceRequest& request) const {
  std::vector<WireTensor> states = environment().sequences->States(*sequence_place_);
  // Kept for the case that the run fails.
  if (!servable().model->LeavesArguments("forward")) {
    for (WireTensor& state : states) {
      if (state.tensor.defined()) state.tensor = state.tensor.clone();
    }
  }
  return SequenceInputs(settings, request, std::move(states), servable().config.max_batch_size() > 0);
}

std::vector<WireTensor> InferTask::TakeStates(const SequenceSettings& settings, std::vector<WireTensor>& outputs) {
  std::vector<WireTensor> states(settings.states.size());
  for (size_t i = states.size(); i-- > 0;) {
    if (outputs.empty() || outputs.back().name != settings.states[i].output) continue;
    states[i] = std::move(outputs.back());
    outputs.pop_back();
    at::Tensor& tensor = states[i].tensor;
    if (!tensor.defined()) continue;
    tensor = ReadyToSend(std::move(tensor));
    // A view would keep all of what it is a part of.
    if (tensor.storage().nbytes() > tensor.nbytes()) tensor = tensor.clone();
  }
  return states;
}

absl::Status InferTask::Commit() {
  const auto was_given = [](const WireTensor& state) { return state.datatype != nullptr; };
  if (std::ranges::none_of(states_, was_given)) return absl::OkStatus();
  // What the model left out stays as it was.
  const std::vector<WireTensor> before = environment().sequences->States(*sequence_place_);
  for (size_t i = 0; i < states_.size() && i < before.size(); ++i) {
    if (!was_given(states_[i])) states_[i] = before[i];
  }
  environment().sequences->Keep(*sequence_place_, std::move(states_));
  return absl::OkStatus();
}

std::function<void(std::function<void()>)> InferTask::TurnAwaiter() const {
  return [sequences = environment().sequences, place = *sequence_place_](std::function<void()> go) {
    sequences->Await(place, std::move(go));
  };
}

void InferTask::OnEnd() {
  if (const auto place = std::exchange(sequence_place_, std::nullopt)) environment().sequences->Leave(*place);
}

absl::Status InferTask::Encode(c10::IValue result, grpc::ByteBuffer& answer) {
  const Signature& signature = SignatureOf(servable());
  const SequenceSettings* sequence = signature.sequence();
  std::vector<std::string> names = names_;
  if (sequence != nullptr) {
    if (names.empty()) names = signature.DefaultOutputs();
    for (const auto& state : sequence->states) names.push_back(state.output);
  }
  auto outputs = signature.Unbind(std::move(result), names, &observation_);
  if (!outputs.ok()) return outputs.status();
  if (sequence != nullptr) states_ = TakeStates(*sequence, *outputs);
  std::vector<AnswerOutput> answers;
  answers.reserve(outputs->size());
  std::vector<WireTensor> plain(keeps_answer() ? outputs->size() : 0);
  for (WireTensor& output : *outputs) {
    auto finished = Finish(std::move(output), plain.empty() ? nullptr : &plain[answers.size()]);
    if (!finished.ok()) return finished.status();
    answers.push_back(*std::move(finished));
  }
  const AnswerHeader header{servable().name, version(), id()};
  if (!plain.empty()) KeepAnswer(header, answers, std::move(plain));
  if (absl::Status status = Write(header, std::move(answers), answer); !status.ok()) return status;
  RecordObservation(*servable().observed, observation_);
  return absl::OkStatus();
}

std::optional<std::vector<WireTensor>> InferTask::KeepInputs(const std::vector<WireTensor>& inputs) {
  // What a sequence kept is not in its requests.
  if (SignatureOf(servable()).sequence() == nullptr) place_ = servable().live_calls.TakePlace();
  if (place_ == nullptr && recorded() == nullptr) return std::nullopt;
  const size_t bytes = BytesOf(inputs);
  if (bytes > LiveCalls::kMostBytes) place_ = nullptr;
  const bool records = recorded() != nullptr && recorded()->TakeRoom(bytes);
  if (place_ == nullptr && !records) return std::nullopt;
  // What is kept outlives the request, and has bounds of its own.
  const MemoryAccount::Scope nobody(nullptr);
  try {
    return KeepTensors(inputs, /*copies=*/!servable().model->LeavesArguments("forward"));
  } catch (const std::exception&) {
    // There is no memory for it, which is not the request's fault.
    KeepNothing();
    return std::nullopt;
  }
}

void InferTask::KeepNothing() {
  if (recorded() != nullptr) recorded()->GiveUp();
  sample_ = nullptr;
  place_ = nullptr;
}

void InferTask::KeepRequest(const inference::ModelInferRequest& fields, std::vector<WireTensor> inputs) try {
  const MemoryAccount::Scope nobody(nullptr);
  if (recorded() != nullptr) {
    recorded()->SetRequest("inference.GRPCInferenceService/ModelInfer",
                           EncodeRecordedRequest(fields, servable().name, asked_version(), inputs));
  }
  if (place_ != nullptr) sample_ = std::make_unique<LiveSample>(std::move(inputs), names_);
} catch (const std::exception&) {
  KeepNothing();
}

void InferTask::KeepAnswer(const AnswerHeader& header, const std::vector<AnswerOutput>& sent,
                           std::vector<WireTensor> plain) try {
  const MemoryAccount::Scope nobody(nullptr);
  if (recorded() != nullptr && recorded()->wants_answer()) {
    std::vector<AnswerOutput> outputs = sent;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].written_to) outputs[i] = {plain[i], std::nullopt};
    }
    recorded()->SetAnswer(EncodeInferResponse(header, std::move(outputs)));
  }
  if (sample_ == nullptr) return;
  sample_->SetAnswer(std::move(plain));
  if (sample_->bytes() > LiveCalls::kMostBytes) return;
  servable().live_calls.Leave(std::move(place_), std::move(sample_));
} catch (const std::exception&) {
  KeepNothing();
}

absl::StatusOr<AnswerOutput> InferTask::Finish(WireTensor output, WireTensor* plain) const {
  const auto wish = std::ranges::find(requested_, output.name, &RequestedOutput::name);
  AnswerOutput finished{std::move(output), std::nullopt};
  if (wish != requested_.end() && wish->region.has_value()) {
    if (plain != nullptr) {
      *plain = finished.tensor;
      if (plain->tensor.defined()) plain->tensor = ReadyToSend(std::move(plain->tensor));
    }
    auto place = WriteTo(*wish->region, finished.tensor);
    if (!place.ok()) return place.status();
    finished.written_to = *std::move(place);
    finished.tensor.tensor = at::Tensor();
    return finished;
  }
  if (!finished.tensor.datatype->is_bytes()) finished.tensor.tensor = ReadyToSend(std::move(finished.tensor.tensor));
  if (plain != nullptr) *plain = finished.tensor;
  if (wish == requested_.end() || wish->classes == 0) return finished;
  const auto labels = servable().labels.find(wish->name);
  const bool batched = servable().config.max_batch_size() > 0;
  auto classes =
      Classify(finished.tensor, wish->classes, batched, labels == servable().labels.end() ? nullptr : &labels->second);
  if (!classes.ok()) return classes.status();
  finished.tensor = *std::move(classes);
  return finished;
}

absl::StatusOr<RegionPlace> InferTask::WriteTo(const RegionPart& part, const WireTensor& output) {
  const bool is_text = output.datatype->is_bytes();
  std::string text = is_text ? EncodeStrings(output.strings) : "";
  const size_t size = is_text ? text.size() : output.tensor.nbytes();
  if (size > part.byte_size) {
    return absl::InvalidArgumentError(absl::StrCat("shared memory size specified with the request for output '",
                                                   output.name, "' (", part.byte_size, " bytes) should be at least ",
                                                   size, " bytes to hold the results"));
  }
  const at::Tensor bytes = is_text
                               ? at::from_blob(text.data(), {static_cast<int64_t>(size)}, at::TensorOptions(at::kByte))
                               : output.tensor.resolve_neg().contiguous().view({-1}).view(at::kByte);
  absl::Status status = part.region->Write(part.offset, bytes);
  if (!status.ok()) return status;
  return RegionPlace{part.region->name(), part.offset, size};
}

}  // namespace hearth::server
