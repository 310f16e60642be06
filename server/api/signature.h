// The named tensors of a method: from its schema, and from the model's configuration where it has one, to the arguments
// of a call and from its result back. value_from_tensors.h and tensors_from_value.h say how values are spelt.
//
// Inputs. A tensor's name is the path of an argument or of a part of it: "x", "x.0". "NAME__i" (Triton's INPUT__0) is
// argument i, "NAME__i.PATH" a part of it. If the method takes one Dict alone, names are its keys. Where the
// configuration has inputs, its names come first: they are arguments' names if every one is such a name or path, else
// positions if every one is NAME__i, else keys if the method takes one Dict, else they stand for the arguments in their
// order. Arguments that have a default or are Optional may be left out.
//
// Outputs. A name is the path of a leaf of the answer; an answer that is one leaf is called "OUTPUT__0". "NAME__i" is
// part i of an answer that has parts, or the whole of one that has none. Where the configuration has outputs, their
// names are used: a path's name is that path, NAME__i a position, any other the leaf of the same position. A client
// that names no outputs gets those of the configuration, or all leaves.
//
// Immutable, thread-safe.
#pragma once

#include <ATen/core/function_schema.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/runtime.h"
#include "proto/inference/model_config.pb.h"
#include "server/api/tensors_from_value.h"
#include "server/repository/servable.h"
#include "wire/wire_tensor.h"

namespace hearth::server {

inline constexpr const char* kOnlyOutput = "OUTPUT__0";

// What is known of an input or output before it is there.
struct TensorSpec {
  std::string name;
  const Datatype* datatype = nullptr;         // null: any, or the model's own choice
  std::optional<std::vector<int64_t>> shape;  // -1 varies; none: not known
  bool optional = false;
};

class Signature : public CallInterface {
 public:
  // `schema` (argument 0 is self) outlives the signature. kInvalidArgument if the configuration's inputs cannot be the
  // method's.
  static absl::StatusOr<std::unique_ptr<const Signature>> Create(const c10::FunctionSchema& schema,
                                                                 const inference::ModelConfig& config);

  // Takes the tensors. They stay where they are, on the CPU: the runtime copies them to its device, on the stream of
  // the run. kInvalidArgument for a name that is unknown, given twice or missing, and for a datatype or shape that does
  // not fit (expected and got).
  absl::StatusOr<BoundArguments> Bind(std::vector<WireTensor> inputs) const;

  absl::StatusOr<BoundArguments> BindWarmup(const inference::ModelWarmup& sample) const override;

  // The tensors that answer a request, named as `requested` (or, if that is empty, as said above) and ready to be sent.
  // kInvalidArgument for a requested output that the answer does not have; kInternal if the answer is not what the
  // configuration says.
  absl::StatusOr<std::vector<WireTensor>> Unbind(c10::IValue result, const std::vector<std::string>& requested) const;

  // For metadata: the configuration's if it has any, else from the schema; a List or Dict of unknown length is "x.*".
  std::vector<TensorSpec> inputs() const;
  std::vector<TensorSpec> outputs() const;

 private:
  // Where a tensor goes: a part of argument `index` (0 is the first after self).
  struct Target {
    int index = 0;
    std::string path;
  };
  struct ConfiguredInput {
    const inference::ModelInput* config;
    Target target;
  };

  Signature(const c10::FunctionSchema& schema, const inference::ModelConfig& config);
  absl::Status ResolveConfiguredInputs();
  int argument_count() const { return static_cast<int>(schema_.arguments().size()) - 1; }
  const c10::Argument& argument(int index) const { return schema_.arguments()[index + 1]; }
  bool TakesOneDict() const;
  std::optional<Target> ByName(const std::string& name) const;
  std::optional<Target> ByPosition(const std::string& name) const;
  absl::StatusOr<Target> Resolve(const std::string& name) const;
  absl::Status CheckAgainst(const inference::ModelInput& config, WireTensor& tensor) const;
  std::string DisplayName(int index) const;
  std::string KnownInputs() const;
  class Answer;
  absl::Status FinishOutput(WireTensor& leaf) const;

  const c10::FunctionSchema& schema_;
  const inference::ModelConfig config_;
  std::map<std::string, ConfiguredInput> configured_inputs_;
};

}  // namespace hearth::server
