// One inference of the Open Inference Protocol: named tensors to the arguments of `forward`, and its answer back to
// named tensors. Each transport derives from it and says how a request is read and an answer written; what the
// request's parameters ask for is done here.
#pragma once

#include <google/protobuf/arena.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/inference/service.pb.h"
#include "server/api/infer_parameters.h"
#include "server/api/live_sample.h"
#include "server/api/request_message.h"
#include "server/api/request_task.h"
#include "server/api/response_message.h"
#include "server/api/sequences.h"
#include "server/api/signature.h"

namespace hearth::server {

class InferTask : public RequestTask {
 public:
  using RequestTask::RequestTask;

 protected:
  // Whether to read the message, but for contents that lie elsewhere, takes little time.
  virtual bool IsReadQuickly(const grpc::ByteBuffer& message) const = 0;
  // Reads the message, and calls Identify as soon as it knows the model. What is returned may refer to the message and
  // lie in the arena. Parameters that are the transport's own (binary_data of REST) are its to keep; the others are
  // looked at here.
  virtual absl::StatusOr<InferRequestMessage> Read(const grpc::ByteBuffer& message, google::protobuf::Arena& arena) = 0;
  // Writes the answer, whose tensors live until it is sent.
  virtual absl::Status Write(const AnswerHeader& header, std::vector<AnswerOutput> outputs,
                             grpc::ByteBuffer& answer) = 0;

 private:
  absl::StatusOr<DispatchedCall> Prepare(const grpc::ByteBuffer& message) final;
  absl::Status Encode(c10::IValue result, grpc::ByteBuffer& answer) final;
  absl::Status Commit() final;
  std::function<void(std::function<void()> go)> TurnAwaiter() const final;
  void OnEnd() final;

  // Takes the request's place in its sequence, and serves it with the version that this is of. NotItsTurn while others
  // come before it.
  absl::Status EnterSequence(const SequenceSettings& settings, const SequenceRequest& request);
  // The inputs that the sequence has for the model.
  std::vector<WireTensor> TensorsOfSequence(const SequenceSettings& settings, const SequenceRequest& request) const;
  // Takes the states from the outputs, of which they are the last; without a datatype for one that the model left out.
  static std::vector<WireTensor> TakeStates(const SequenceSettings& settings, std::vector<WireTensor>& outputs);

  // Not while clients share memory: few bytes of a message may then name many.
  bool IsShort(const grpc::ByteBuffer& message) const final;
  // Writes an output to where the request wants it.
  static absl::StatusOr<RegionPlace> WriteTo(const RegionPart& part, const WireTensor& output);
  // The output as it is sent. `plain`, if it is not null, gets it as the model gave it, on the CPU.
  absl::StatusOr<AnswerOutput> Finish(WireTensor output, WireTensor* plain) const;
  // The inputs, for whoever records the request or has another version answer it, too; none where nobody does.
  std::optional<std::vector<WireTensor>> KeepInputs(const std::vector<WireTensor>& inputs);
  void KeepRequest(const inference::ModelInferRequest& fields, std::vector<WireTensor> inputs);
  bool keeps_answer() const { return sample_ != nullptr || (recorded() != nullptr && recorded()->wants_answer()); }
  // There is no memory for what is kept, which is not the request's fault.
  void KeepNothing();
  void KeepAnswer(const AnswerHeader& header, const std::vector<AnswerOutput>& sent, std::vector<WireTensor> plain);

  std::vector<RequestedOutput> requested_;
  std::vector<std::string> names_;  // theirs
  CallObservation observation_;
  std::optional<Sequences::Place> sequence_place_;  // in its sequence, until it ends
  std::vector<WireTensor> states_;                  // that the sequence is to keep
  LiveCalls::Place place_;                          // of the sample
  std::unique_ptr<LiveSample> sample_;
};

}  // namespace hearth::server
