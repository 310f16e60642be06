#include "server/rest/request_json.h"

#include <charconv>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "server/rest/json_tensor.h"
#include "server/rest/json_text.h"

namespace hearth::server {
namespace {

using inference::InferParameter;
using Parameters = google::protobuf::Map<std::string, InferParameter>;

// Parameters that say how tensors are carried: of the request, of an input, of an output.
constexpr const char* kBinaryByDefault = "binary_data_output";
constexpr const char* kBinarySize = "binary_data_size";
constexpr const char* kBinaryOutput = "binary_data";

std::string Text(std::string_view text) { return std::string(text); }

template <typename T>
std::optional<T> IntegerOf(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The contents of a tensor alone.
class ContentsEvents {
 public:
  explicit ContentsEvents(JsonTensor& tensor) : tensor_(tensor) {}

  bool Null() { return tensor_.Null(); }
  bool Bool(bool value) { return tensor_.Bool(value); }
  bool Number(std::string_view text) { return tensor_.Number(text); }
  bool String(std::string_view text) { return tensor_.String(text); }
  bool Key(std::string_view) { return false; }
  bool StartObject() { return tensor_.Object(); }
  bool EndObject() { return false; }
  bool StartArray(size_t) { return true; }
  bool EndArray(size_t) { return true; }

 private:
  JsonTensor& tensor_;
};

class RequestEvents {
 public:
  RequestEvents(std::string_view json, google::protobuf::Arena& arena) : json_(json) {
    request_.fields = google::protobuf::Arena::CreateMessage<inference::ModelInferRequest>(&arena);
  }

  const absl::Status& error() const { return error_; }

  // What has been read, once it is all.
  absl::StatusOr<InferRequestJson> Finish() {
    if (!request_fields_.Has(Field::kInputs)) return absl::InvalidArgumentError("has no 'inputs'");
    for (size_t i = 0; i < request_.inputs.size(); ++i) {
      if (absl::Status status = FinishInput(i); !status.ok()) return status;
    }
    if (binary_by_default_) {
      const auto value = BoolOf(*binary_by_default_, kBinaryByDefault, "the request");
      if (!value.ok()) return value.status();
      request_.binary_by_default = *value;
    }
    for (size_t i = 0; i < binary_outputs_.size(); ++i) {
      request_.binary_outputs.emplace_back();
      if (!binary_outputs_[i]) continue;
      const std::string& name = request_.fields->outputs(static_cast<int>(i)).name();
      const auto value = BoolOf(*binary_outputs_[i], kBinaryOutput, absl::StrCat("output '", name, "'"));
      if (!value.ok()) return value.status();
      request_.binary_outputs.back() = *value;
    }
    return std::move(request_);
  }

  bool Null() {
    if (state() == State::kContents) return Take(tensor_->Null());
    const bool is_left_out = (state() == State::kRequest || state() == State::kOutput) &&
                             (field_ == Field::kId || field_ == Field::kParameters || field_ == Field::kOutputs);
    return is_left_out || Other("null");
  }

  bool Bool(bool value) {
    if (state() == State::kContents) return Take(tensor_->Bool(value));
    if (state() != State::kParameters) return Other("a boolean");
    parameter_->set_bool_param(value);
    return true;
  }

  bool Number(std::string_view text) {
    if (state() == State::kContents) return Take(tensor_->Number(text));
    if (state() == State::kShape) return AddDimension(text);
    if (state() == State::kParameters) return SetNumber(text);
    return Other("a number");
  }

  bool String(std::string_view text) {
    if (state() == State::kContents) return Take(tensor_->String(text));
    if (state() == State::kParameters) {
      parameter_->set_string_param(text.data(), text.size());
      return true;
    }
    std::string* const field = StringField();
    if (field == nullptr) return Other("a string");
    field->assign(text.data(), text.size());
    return true;
  }

  bool Key(std::string_view name) {
    switch (state()) {
      case State::kRequest:
        return SetField(name, request_fields_);
      case State::kInput:
      case State::kOutput:
        return SetField(name, item_fields_);
      case State::kParameters:
        return StartParameter(name);
      default:
        return true;
    }
  }

  bool StartObject() {
    switch (state()) {
      case State::kText:
        return Enter(State::kRequest);
      case State::kInputs:
        request_.fields->add_inputs();
        request_.inputs.emplace_back();
        inputs_.emplace_back();
        item_fields_ = {};
        return CountPart() && Enter(State::kInput);
      case State::kOutputs:
        request_.fields->add_outputs();
        binary_outputs_.emplace_back();
        item_fields_ = {};
        return CountPart() && Enter(State::kOutput);
      case State::kContents:
        return Take(tensor_->Object());
      case State::kRequest:
      case State::kInput:
      case State::kOutput:
        if (field_ != Field::kParameters) return IsSkipped() ? Enter(State::kSkipped) : Other("an object");
        parameters_of_ = state();
        return Enter(State::kParameters);
      default:
        return IsSkipped() ? Enter(State::kSkipped) : Other("an object");
    }
  }

  bool EndObject() {
    states_.pop_back();
    return true;
  }

  bool StartArray(size_t begin) {
    if (state() == State::kContents || IsSkipped()) {
      return Enter(state() == State::kContents ? State::kContents : State::kSkipped);
    }
    if (state() == State::kRequest && field_ == Field::kInputs) return Enter(State::kInputs);
    if (state() == State::kRequest && field_ == Field::kOutputs) return Enter(State::kOutputs);
    if (state() == State::kInput && field_ == Field::kShape) return Enter(State::kShape);
    if (state() == State::kInput && field_ == Field::kData) return StartContents(begin);
    return Other("an array");
  }

  bool EndArray(size_t end) {
    const State ended = state();
    states_.pop_back();
    if (state() != State::kInput || field_ != Field::kData) return true;
    if (ended == State::kSkipped) {
      inputs_.back().unread = json_.substr(contents_begin_, end - contents_begin_);
      return true;
    }
    return FinishContents(request_.inputs.size() - 1, *std::exchange(tensor_, std::nullopt));
  }

 private:
  enum class State : uint8_t {
    kText,
    kRequest,
    kInputs,
    kInput,
    kShape,
    kContents,
    kOutputs,
    kOutput,
    kParameters,
    kSkipped
  };
  enum class Field : uint8_t { kUnknown, kId, kParameters, kInputs, kOutputs, kName, kShape, kDatatype, kData };

  // What is kept of an input until all has been read.
  struct Input {
    std::string_view unread;  // the contents, if they came before its shape or datatype
    std::optional<InferParameter> binary_size;
  };

  struct Fields {
    bool Has(Field field) const { return (bits >> static_cast<int>(field) & 1) != 0; }
    void Add(Field field) { bits |= 1U << static_cast<int>(field); }

    uint32_t bits = 0;
  };

  static Field FieldNamed(State state, std::string_view name) {
    struct Known {
      State state;
      std::string_view name;
      Field field;
    };
    static constexpr Known kKnown[] = {
        {State::kRequest, "id", Field::kId},
        {State::kRequest, "parameters", Field::kParameters},
        {State::kRequest, "inputs", Field::kInputs},
        {State::kRequest, "outputs", Field::kOutputs},
        {State::kInput, "name", Field::kName},
        {State::kInput, "shape", Field::kShape},
        {State::kInput, "datatype", Field::kDatatype},
        {State::kInput, "parameters", Field::kParameters},
        {State::kInput, "data", Field::kData},
        {State::kOutput, "name", Field::kName},
        {State::kOutput, "parameters", Field::kParameters},
    };
    for (const Known& known : kKnown) {
      if (known.state == state && known.name == name) return known.field;
    }
    return Field::kUnknown;
  }

  State state() const { return states_.back(); }
  inference::ModelInferRequest::InferInputTensor& input() {
    return *request_.fields->mutable_inputs(request_.fields->inputs_size() - 1);
  }
  inference::ModelInferRequest::InferRequestedOutputTensor& output() {
    return *request_.fields->mutable_outputs(request_.fields->outputs_size() - 1);
  }

  bool Enter(State state) {
    states_.push_back(state);
    return true;
  }

  // Whether what comes now is read over.
  bool IsSkipped() const {
    switch (state()) {
      case State::kSkipped:
        return true;
      case State::kRequest:
      case State::kInput:
      case State::kOutput:
        return field_ == Field::kUnknown;
      default:
        return false;
    }
  }

  bool SetField(std::string_view name, Fields& seen) {
    field_ = FieldNamed(state(), name);
    if (field_ == Field::kUnknown) return true;
    if (seen.Has(field_)) return Refuse(absl::StrCat("has '", Text(name), "' twice in ", Place()));
    seen.Add(field_);
    return true;
  }

  std::string* StringField() {
    if (state() == State::kRequest && field_ == Field::kId) return request_.fields->mutable_id();
    if (state() == State::kInput && field_ == Field::kName) return input().mutable_name();
    if (state() == State::kInput && field_ == Field::kDatatype) return input().mutable_datatype();
    if (state() == State::kOutput && field_ == Field::kName) return output().mutable_name();
    return nullptr;
  }

  Parameters& MapOfParameters() {
    if (parameters_of_ == State::kRequest) return *request_.fields->mutable_parameters();
    return parameters_of_ == State::kInput ? *input().mutable_parameters() : *output().mutable_parameters();
  }

  // Where a parameter is kept that says how tensors are carried, which is of no concern to whoever has the request;
  // null for any other.
  std::optional<InferParameter>* OwnParameter(std::string_view name) {
    switch (parameters_of_) {
      case State::kRequest:
        return name == kBinaryByDefault ? &binary_by_default_ : nullptr;
      case State::kInput:
        return name == kBinarySize ? &inputs_.back().binary_size : nullptr;
      default:
        return name == kBinaryOutput ? &binary_outputs_.back() : nullptr;
    }
  }

  bool StartParameter(std::string_view name) {
    if (!CountPart()) return false;
    bool is_new = false;
    if (std::optional<InferParameter>* const own = OwnParameter(name)) {
      is_new = !own->has_value();
      parameter_ = is_new ? &own->emplace() : nullptr;
    } else {
      const auto [entry, added] = MapOfParameters().try_emplace(Text(name));
      is_new = added;
      parameter_ = &entry->second;
    }
    return is_new || Refuse(absl::StrCat("has the parameter '", Text(name), "' twice in ", Place()));
  }

  bool SetNumber(std::string_view text) {
    if (const auto integer = IntegerOf<int64_t>(text)) {
      parameter_->set_int64_param(*integer);
      return true;
    }
    if (const auto integer = IntegerOf<uint64_t>(text)) {
      parameter_->set_uint64_param(*integer);
      return true;
    }
    double value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) {
      return Refuse(absl::StrCat("has a parameter with the number ", Text(text),
                                 ", which is too large or too small, in ", Place()));
    }
    parameter_->set_double_param(value);
    return true;
  }

  bool AddDimension(std::string_view text) {
    if (input().shape_size() == kMostDimensions) {
      return Refuse(absl::StrCat("has more than ", kMostDimensions, " dimensions in ", Place()));
    }
    const auto size = IntegerOf<int64_t>(text);
    if (!size.has_value()) {
      return Refuse(absl::StrCat("has the dimension ", Text(text.substr(0, 40)), " in ", Place(),
                                 ", which should be an integer"));
    }
    input().add_shape(*size);
    return true;
  }

  bool StartContents(size_t begin) {
    contents_begin_ = begin;
    if (!item_fields_.Has(Field::kShape) || !item_fields_.Has(Field::kDatatype)) return Enter(State::kSkipped);
    auto tensor = TensorOf(request_.inputs.size() - 1, json_.size() - begin);
    if (!tensor.ok()) {
      error_ = tensor.status();
      return false;
    }
    tensor_ = *std::move(tensor);
    return Enter(State::kContents);
  }

  absl::StatusOr<JsonTensor> TensorOf(size_t index, size_t text_size) const {
    const auto& input = request_.fields->inputs(static_cast<int>(index));
    const c10::IntArrayRef shape(input.shape().data(), input.shape_size());
    const auto described = DescribeTensor(input.name(), input.datatype(), shape);
    if (!described.ok()) return OfInput(index, described.status());
    auto tensor = JsonTensor::Create(*described, text_size);
    if (!tensor.ok()) return OfInput(index, tensor.status());
    return tensor;
  }

  bool FinishContents(size_t index, JsonTensor tensor) {
    auto raw = std::move(tensor).Finish();
    if (!raw.ok()) {
      error_ = OfInput(index, raw.status());
      return false;
    }
    request_.inputs[index].read = *std::move(raw);
    return true;
  }

  // What an element of the tensor that is being read has come to.
  bool Take(bool taken) {
    if (!taken) error_ = OfInput(request_.inputs.size() - 1, tensor_->error());
    return taken;
  }

  absl::Status OfInput(size_t index, const absl::Status& status) const {
    const std::string& name = request_.fields->inputs(static_cast<int>(index)).name();
    const std::string which = name.empty() ? absl::StrCat("input ", index) : absl::StrCat("input '", name, "'");
    return absl::InvalidArgumentError(absl::StrCat(which, " ", status.message()));
  }

  absl::Status FinishInput(size_t index) {
    const auto& input = request_.fields->inputs(static_cast<int>(index));
    InferRequestJson::Contents& contents = request_.inputs[index];
    const auto& [unread, binary_size] = inputs_[index];
    if (!unread.empty()) {
      auto tensor = TensorOf(index, unread.size());
      if (!tensor.ok()) return tensor.status();
      ContentsEvents events(*tensor);
      if (!ReadJson(unread, events).ok()) return OfInput(index, tensor->error());
      if (!FinishContents(index, *std::move(tensor))) return error_;
    }
    if (binary_size) {
      if (binary_size->parameter_choice_case() != InferParameter::kInt64Param || binary_size->int64_param() < 0) {
        return OfInput(index, absl::InvalidArgumentError("has a 'binary_data_size' that is not a number of bytes"));
      }
      contents.binary_size = binary_size->int64_param();
    }
    const int places = static_cast<int>(contents.read.has_value()) +
                       static_cast<int>(contents.binary_size.has_value()) +
                       static_cast<int>(input.parameters().contains("shared_memory_region"));
    if (places == 1) return absl::OkStatus();
    return OfInput(index, absl::InvalidArgumentError(
                              absl::StrCat("has its contents in ", places,
                                           " places; it needs one of 'data' and the parameters 'binary_data_size' and "
                                           "'shared_memory_region'")));
  }

  static absl::StatusOr<bool> BoolOf(const InferParameter& parameter, const char* name, const std::string& of) {
    if (parameter.parameter_choice_case() == InferParameter::kBoolParam) return parameter.bool_param();
    return absl::InvalidArgumentError(absl::StrCat(of, " has the parameter '", name, "', which should be a boolean"));
  }

  bool CountPart() {
    if (++parts_ <= kMostRequestParts) return true;
    return Refuse(absl::StrCat("has more than ", kMostRequestParts, " inputs, outputs and parameters"));
  }

  bool Refuse(const std::string& message) {
    error_ = absl::InvalidArgumentError(message);
    return false;
  }

  // A value that is not handled where it came: read over, or of the wrong type.
  bool Other(const char* got) {
    if (IsSkipped()) return true;
    return Refuse(absl::StrCat("has ", got, " for ", Place(), ", which should be ", Expected()));
  }

  const char* Expected() const {
    switch (state()) {
      case State::kText:
      case State::kInputs:
      case State::kOutputs:
        return "an object";
      case State::kShape:
        return "an integer";
      case State::kParameters:
        return "a string, a number or a boolean";
      default:
        break;
    }
    switch (field_) {
      case Field::kParameters:
        return "an object";
      case Field::kInputs:
      case Field::kOutputs:
      case Field::kShape:
      case Field::kData:
        return "an array";
      default:
        return "a string";
    }
  }

  // Where the reader is.
  std::string Place() const {
    static constexpr const char* kNames[] = {"?",    "id",    "parameters", "inputs", "outputs",
                                             "name", "shape", "datatype",   "data"};
    const char* const field = kNames[static_cast<int>(field_)];
    std::string place;
    for (size_t i = 0; i < states_.size(); ++i) {
      if (states_[i] == State::kInput) absl::StrAppend(&place, "inputs[", request_.inputs.size() - 1, "].");
      if (states_[i] == State::kOutput) absl::StrAppend(&place, "outputs[", request_.fields->outputs_size() - 1, "].");
    }
    switch (state()) {
      case State::kText:
        return "the request";
      case State::kInputs:
        return "an element of 'inputs'";
      case State::kOutputs:
        return "an element of 'outputs'";
      default:
        return absl::StrCat("'", place, field, "'");
    }
  }

  const std::string_view json_;
  InferRequestJson request_;
  std::vector<Input> inputs_;
  std::optional<InferParameter> binary_by_default_;
  std::vector<std::optional<InferParameter>> binary_outputs_;
  absl::InlinedVector<State, 16> states_{State::kText};
  Field field_ = Field::kUnknown;
  Fields request_fields_, item_fields_;
  int parts_ = 0;
  State parameters_of_ = State::kRequest;
  InferParameter* parameter_ = nullptr;
  std::optional<JsonTensor> tensor_;
  size_t contents_begin_ = 0;
  absl::Status error_;
};

}  // namespace

absl::StatusOr<InferRequestJson> ReadInferRequestJson(std::string_view json, google::protobuf::Arena& arena) {
  RequestEvents events(json, arena);
  absl::Status status = ReadJson(json, events);
  if (absl::IsCancelled(status)) status = events.error();
  absl::StatusOr<InferRequestJson> request =
      status.ok() ? events.Finish() : absl::StatusOr<InferRequestJson>(std::move(status));
  if (request.ok()) return request;
  return absl::Status(request.status().code(), absl::StrCat("the request's JSON: ", request.status().message()));
}

}  // namespace hearth::server
