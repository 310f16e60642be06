// The named tensors of a method: from its schema, and from the model's configuration where it has one, to the arguments
// of a call and from its result back. value_from_tensors.h and tensors_from_value.h say how values are spelt.
//
// Inputs. A tensor's name is the path of an argument or of a part of it: "x", "x.0". "NAME__i" (Triton's INPUT__0) is
// argument i, "NAME__i.PATH" a part of it. If the method takes one Dict alone, names are its keys. Where the
// configuration has inputs, its names come first: they are arguments' names if every one is such a name or path, else
// positions if every one is NAME__i, else keys if the method takes one Dict, else they stand for the arguments in their
// order. Arguments that have a default or are Optional may be left out; of the configuration's inputs only those that
// it calls optional. An input that a request names otherwise than the configuration does is held to what that says all
// the same.
//
// Outputs. A name is the path of a leaf of the answer; an answer that is one leaf is called "OUTPUT__0". "NAME__i" is
// part i of an answer that has parts, or the whole of one that has none. Where the configuration has outputs, their
// names are used: a path's name is that path, NAME__i a position, any other the leaf of the same position. A client
// that names no outputs gets those of the configuration, or all leaves.
//
// Immutable once it is set up, and thread-safe.
#pragma once

#include <ATen/core/function_schema.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/runtime.h"
#include "proto/inference/model_config.pb.h"
#include "server/api/answer_names.h"
#include "server/api/schema_tensors.h"
#include "server/repository/observed_tensors.h"
#include "server/repository/sequence_settings.h"
#include "server/repository/servable.h"
#include "wire/tensors_from_value.h"
#include "wire/wire_tensor.h"

namespace hearth::server {

// What a call's tensors are compared with, and what of them is new. Signature::Bind and Unbind fill it; the caller
// records it once the call has gone well.
struct CallObservation {
  const ObservedCalls* known = nullptr;
  std::vector<Sighting> inputs, outputs;  // empty: nothing is new
};

// Into what was known, `known`. What it keeps is the model's memory and counts for no request.
void RecordObservation(ObservedCalls& known, const CallObservation& observation);

class Signature : public CallInterface {
 public:
  // `schema` (argument 0 is self) outlives the signature. kInvalidArgument if the configuration's inputs cannot be the
  // method's.
  static absl::StatusOr<std::unique_ptr<Signature>> Create(const c10::FunctionSchema& schema,
                                                           const inference::ModelConfig& config);

  // Takes the tensors. They stay where they are: the runtime copies them to its device, on the stream of the run.
  // kInvalidArgument for a name that is unknown, given twice or missing, and for a datatype, shape or batch that does
  // not fit (expected and got). `observation` may be null.
  absl::StatusOr<BoundArguments> Bind(std::vector<WireTensor> inputs, CallObservation* observation = nullptr) const;

  absl::StatusOr<BoundArguments> BindWarmup(const inference::ModelWarmup& sample,
                                            const DataFiles& files) const override;

  // The tensors that answer a request, named as `requested` (or, if that is empty, as said above). They may still be
  // the model's own, or on its device: see ReadyToSend. kInvalidArgument for a requested output that the answer does
  // not have; kInternal if the answer is not what the configuration says.
  absl::StatusOr<std::vector<WireTensor>> Unbind(c10::IValue result, const std::vector<std::string>& requested,
                                                 CallObservation* observation = nullptr) const;

  // Of a model that keeps states from request to request; null of any other. Its controls and states are inputs, and
  // its states outputs, behind those that clients see.
  const SequenceSettings* sequence() const { return sequence_ ? &*sequence_ : nullptr; }
  // Reads the files that its sequences begin with, if there are any. kInvalidArgument and kFailedPrecondition as
  // DataFiles has them.
  absl::Status ReadInitialStates(const DataFiles& files);
  // The outputs that a request gets that names none, if the configuration says.
  std::vector<std::string> DefaultOutputs() const;

  // kInvalidArgument for a name that no input has, and where inputs of these names alone leave out one that is needed.
  absl::Status CheckInputs(const std::vector<std::string>& names) const;

  // kInvalidArgument for a requested output that no answer can have, where the schema says what an answer has.
  absl::Status CheckRequested(const std::vector<std::string>& requested) const;

  // kInvalidArgument for a requested output that is a state of the model's sequences.
  absl::Status CheckNoState(const std::vector<std::string>& requested) const;

  std::shared_ptr<ObservedCalls> ObservedAfter(std::shared_ptr<ObservedCalls> before) const override;

  // What the configuration says of each argument, behind self.
  std::vector<BatchArgument> BatchArguments() const;
  // Finds the tensors that are padded and cut. kInvalidArgument for names that the method has not.
  absl::Status ResolvePadding(BatchPadding padding);
  void CompleteQueueSettings(QueueSettings& settings) const override { settings.padding = padding_; }
  void set_batching(std::string batching) { batching_ = std::move(batching); }
  std::string batching() const override { return batching_; }

  // For metadata: the configuration's if it has any, else from the schema and from what was observed, which may be
  // null; a List or Dict of unknown length is "x.*" until it is observed. Every one has a datatype and a shape.
  std::vector<TensorSpec> inputs(const ObservedTensors* observed = nullptr) const;
  std::vector<TensorSpec> outputs(const ObservedTensors* observed = nullptr) const;

 private:
  // Where a tensor goes: a part of argument `index` (0 is the first after self).
  struct Target {
    int index = 0;
    std::string path;

    bool operator==(const Target&) const = default;
  };
  struct ConfiguredInput {
    const inference::ModelInput* config;
    Target target;
  };

  Signature(const c10::FunctionSchema& schema, const inference::ModelConfig& config);
  absl::Status ResolveConfiguredInputs();
  void NameResult();
  int argument_count() const { return static_cast<int>(schema_.arguments().size()) - 1; }
  const c10::Argument& argument(int index) const { return schema_.arguments()[index + 1]; }
  bool TakesOneDict() const;
  std::optional<Target> ByName(const std::string& name) const;
  std::optional<Target> ByPosition(const std::string& name) const;
  absl::StatusOr<Target> Resolve(const std::string& name) const;
  // The configuration's input of that name or, under another name, of the same target; null: it has none.
  const ConfiguredInput* Configured(const std::string& name, const Target& target) const;
  absl::Status CheckAgainst(const inference::ModelInput& config, WireTensor& tensor) const;
  absl::Status CheckAllGiven(const std::vector<const inference::ModelInput*>& given) const;
  std::optional<SeenTensor> Seen(const Target& target, const WireTensor& tensor, std::string& path) const;
  std::string DisplayName(int index) const;
  std::string KnownInputs() const;
  // The names that a request may ask for of an answer: the configuration's, else the answer's own.
  std::vector<std::string> KnownOutputs(const std::vector<WireTensor>& leaves) const;
  absl::Status FinishOutput(WireTensor& leaf) const;
  void Observe(const std::vector<WireTensor>& leaves, CallObservation& observation) const;

  const c10::FunctionSchema& schema_;
  const inference::ModelConfig config_;         // with what sequences add
  const int64_t most_rows_;                     // of a request
  const int visible_inputs_, visible_outputs_;  // without what sequences add
  std::optional<SequenceSettings> sequence_;
  const SchemaTensors arguments_;
  const SchemaTensors result_;
  std::map<std::string, ConfiguredInput> configured_inputs_;
  // Of an answer as the schema has it; null where that leaves names open.
  std::vector<WireTensor> result_leaves_;
  std::unique_ptr<const AnswerNames> result_names_;
  BatchPadding padding_;
  std::string batching_;
};

// Of a version that is served.
inline const Signature& SignatureOf(const Servable& servable) {
  return static_cast<const Signature&>(*servable.call_interface);
}

}  // namespace hearth::server
