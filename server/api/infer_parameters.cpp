#include "server/api/infer_parameters.h"

#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "wire/wire_tensor.h"

namespace hearth::server {
namespace {

using inference::InferParameter;
using Parameters = google::protobuf::Map<std::string, InferParameter>;

constexpr const char* kRegion = "shared_memory_region";
constexpr const char* kRegionSize = "shared_memory_byte_size";
constexpr const char* kRegionOffset = "shared_memory_offset";
constexpr const char* kClassification = "classification";

absl::Status WrongParameter(const std::string& name, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("the parameter '", name, "' ", what));
}

// A number of either kind of integer; kInvalidArgument for anything else.
absl::StatusOr<int64_t> IntegerOf(const std::string& name, const InferParameter& parameter) {
  if (parameter.has_int64_param()) return parameter.int64_param();
  const bool fits = parameter.uint64_param() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (parameter.has_uint64_param() && fits) return static_cast<int64_t>(parameter.uint64_param());
  return WrongParameter(name, "is no int64");
}

absl::StatusOr<uint64_t> SizeOf(const std::string& name, const InferParameter& parameter) {
  const auto value = IntegerOf(name, parameter);
  if (!value.ok()) return value.status();
  if (*value < 0) return WrongParameter(name, absl::StrCat("is ", *value, ", below 0"));
  return static_cast<uint64_t>(*value);
}

absl::Status CheckBool(const std::string& name, const InferParameter& parameter) {
  return parameter.has_bool_param() ? absl::OkStatus() : WrongParameter(name, "is no bool");
}

// Of what only a model with state between its requests could be asked for.
absl::Status CheckNoSequence(const std::string& name, const InferParameter& parameter) {
  const bool is_nothing = parameter.int64_param() == 0 && parameter.uint64_param() == 0 &&
                          parameter.string_param().empty() && !parameter.bool_param() && !parameter.has_double_param();
  return is_nothing ? absl::OkStatus()
                    : WrongParameter(name, "is not offered by this model, which has no sequences of requests");
}

// One of the three that tell of a sequence, for a model that has them.
absl::Status ReadSequence(const std::string& name, const InferParameter& parameter, SequenceRequest& sequence) {
  if (name != "sequence_id") {
    if (absl::Status status = CheckBool(name, parameter); !status.ok()) return status;
    (name == "sequence_start" ? sequence.starts : sequence.ends) = parameter.bool_param();
    return absl::OkStatus();
  }
  if (parameter.has_string_param()) {
    sequence.name = parameter.string_param();
    sequence.is_text = true;
    if (sequence.name.size() <= kLongestSequenceName) return absl::OkStatus();
    return WrongParameter(name,
                          absl::StrCat("has ", sequence.name.size(), " bytes; it may have ", kLongestSequenceName));
  }
  if (parameter.has_uint64_param()) {
    sequence.number = parameter.uint64_param();
  } else if (parameter.has_int64_param() && parameter.int64_param() >= 0) {
    sequence.number = static_cast<uint64_t>(parameter.int64_param());
  } else {
    return WrongParameter(name, "is no string and no number from 0 on");
  }
  if (sequence.number != 0) sequence.name = std::to_string(sequence.number);
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> PriorityOf(const std::string& name, const InferParameter& parameter, uint64_t levels) {
  const auto priority = IntegerOf(name, parameter);
  if (!priority.ok()) return priority.status();
  if (*priority < 0) return WrongParameter(name, absl::StrCat("is ", *priority, ", below 0"));
  absl::Status status = CheckPriority(static_cast<uint64_t>(*priority), levels);
  if (!status.ok()) return status;
  return static_cast<uint64_t>(*priority);
}

// Where the parameters say that contents lie; nothing if they do not.
absl::StatusOr<std::optional<RegionPart>> RegionOf(const Parameters& parameters, const SharedRegions& regions) {
  const auto name = parameters.find(kRegion);
  const auto size = parameters.find(kRegionSize);
  const auto offset = parameters.find(kRegionOffset);
  if (name == parameters.end()) {
    if (size == parameters.end() && offset == parameters.end()) return std::nullopt;
    return WrongParameter(size == parameters.end() ? kRegionOffset : kRegionSize,
                          absl::StrCat("needs '", kRegion, "'"));
  }
  if (!name->second.has_string_param()) return WrongParameter(kRegion, "is no string");
  if (size == parameters.end()) return WrongParameter(kRegion, absl::StrCat("needs '", kRegionSize, "'"));
  RegionPart part;
  auto read = SizeOf(kRegionSize, size->second);
  if (!read.ok()) return read.status();
  part.byte_size = *read;
  if (offset != parameters.end()) {
    read = SizeOf(kRegionOffset, offset->second);
    if (!read.ok()) return read.status();
    part.offset = *read;
  }
  auto region = regions.Find(name->second.string_param());
  if (!region.ok()) return region.status();
  part.region = *std::move(region);
  if (absl::Status status = part.region->Check(part.offset, part.byte_size); !status.ok()) return status;
  return part;
}

absl::StatusOr<RequestedOutput> ReadOutput(const inference::ModelInferRequest::InferRequestedOutputTensor& output,
                                           const SharedRegions& regions) {
  RequestedOutput requested{output.name(), 0, std::nullopt};
  for (const auto& [name, parameter] : output.parameters()) {
    if (name == kClassification) {
      const auto classes = IntegerOf(name, parameter);
      if (!classes.ok()) return classes.status();
      if (*classes < 0) return WrongParameter(name, absl::StrCat("is ", *classes, ", below 0"));
      requested.classes = *classes;
    } else if (name == "binary_data") {
      // How REST carries it.
      if (absl::Status status = CheckBool(name, parameter); !status.ok()) return status;
    } else if (name != kRegion && name != kRegionSize && name != kRegionOffset) {
      return WrongParameter(name, "is not known");
    }
  }
  auto region = RegionOf(output.parameters(), regions);
  if (!region.ok()) return region.status();
  requested.region = *std::move(region);
  if (requested.region.has_value() && requested.classes > 0) {
    return absl::InvalidArgumentError("shared memory can't be set on classification output");
  }
  return requested;
}

// Whether the part has as many bytes as the input; those of BYTES are known when they are read.
absl::Status CheckPart(const inference::ModelInferRequest::InferInputTensor& input, const RegionPart& part) {
  const auto tensor =
      DescribeTensor(input.name(), input.datatype(), c10::IntArrayRef(input.shape().data(), input.shape_size()));
  if (!tensor.ok()) return tensor.status();
  if (tensor->datatype->is_bytes()) return absl::OkStatus();
  const auto expected = static_cast<uint64_t>(*CountElements(tensor->shape)) * tensor->datatype->size;
  if (expected == part.byte_size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("of ", input.datatype(), " and shape ", ShapeText(tensor->shape),
                                                 " expects ", expected, " bytes of shared memory, got ",
                                                 part.byte_size));
}

template <typename Tensor>
absl::Status Of(const char* kind, const Tensor& tensor, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(kind, " '", tensor.name(), "': ", status.message()));
}

}  // namespace

absl::Status CheckPriority(uint64_t priority, uint64_t levels) {
  if (levels == 0 || priority <= levels) return absl::OkStatus();
  return WrongParameter(
      "priority", absl::StrCat("is ", priority, "; it is from 1 to the model's priority_levels, which is ", levels,
                               ", or 0 for its default"));
}

absl::StatusOr<RequestParameters> ReadRequestParameters(const inference::ModelInferRequest& request,
                                                        uint64_t priority_levels, bool has_sequences) {
  RequestParameters read;
  for (const auto& [name, parameter] : request.parameters()) {
    absl::Status status;
    if (name == "timeout") {
      const auto timeout = IntegerOf(name, parameter);
      if (!timeout.ok()) return timeout.status();
      if (*timeout < 0) return WrongParameter(name, absl::StrCat("is ", *timeout, ", below 0"));
      if (*timeout > 0) read.timeout = std::chrono::microseconds(*timeout);
    } else if (name == "priority") {
      const auto priority = PriorityOf(name, parameter, priority_levels);
      if (!priority.ok()) return priority.status();
      read.priority = *priority;
    } else if (name == "sequence_id" || name == "sequence_start" || name == "sequence_end") {
      status = has_sequences ? ReadSequence(name, parameter, read.sequence) : CheckNoSequence(name, parameter);
    } else if (name == "binary_data_output" || name == "triton_enable_empty_final_response") {
      // The first is about REST's form of answers. The second asks for a mark of a request's last answer, which each
      // answer of a stream has.
      status = CheckBool(name, parameter);
    } else if (absl::StartsWith(name, "triton_")) {
      status = WrongParameter(name, "is not known");
    }
    if (!status.ok()) return status;
  }
  return read;
}

absl::StatusOr<std::vector<RequestedOutput>> ReadRequestedOutputs(const inference::ModelInferRequest& request,
                                                                  const SharedRegions& regions) {
  std::vector<RequestedOutput> outputs;
  absl::flat_hash_set<std::string> names;
  for (const auto& output : request.outputs()) {
    // As Triton does: an output that is named again is sent once.
    if (!names.insert(output.name()).second) {
      if (output.parameters().empty()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("output '", output.name(), "' is asked for twice, with parameters"));
    }
    auto read = ReadOutput(output, regions);
    if (!read.ok()) return Of("output", output, read.status());
    outputs.push_back(*std::move(read));
  }
  return outputs;
}

absl::Status ReadRegions(const SharedRegions& regions, InferRequestMessage& message) {
  const auto& inputs = message.fields->inputs();
  for (int i = 0; i < inputs.size(); ++i) {
    const auto part = RegionOf(inputs[i].parameters(), regions);
    if (!part.ok()) return Of("input", inputs[i], part.status());
    if (!part->has_value()) continue;
    if (message.raw_inputs[i].has_value() || inputs[i].has_contents()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", inputs[i].name(), "' lies in shared memory and has contents, too"));
    }
    if (absl::Status status = CheckPart(inputs[i], **part); !status.ok()) return Of("input", inputs[i], status);
    auto bytes = (*part)->region->Read((*part)->offset, (*part)->byte_size);
    if (!bytes.ok()) return Of("input", inputs[i], bytes.status());
    message.shared_inputs.resize(inputs.size());
    message.shared_inputs[i] = *std::move(bytes);
  }
  return absl::OkStatus();
}

}  // namespace hearth::server
