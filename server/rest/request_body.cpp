#include "server/rest/request_body.h"

#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/rest/request_json.h"
#include "wire/datatypes.h"

namespace hearth::server {
namespace {

std::string_view ViewOf(const grpc::Slice& slice) {
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

RawBytes PieceOf(const grpc::Slice& slice, size_t offset, size_t size) {
  RawBytes raw;
  raw.size = size;
  if (size > 0) raw.pieces.push_back({slice, offset, size});
  return raw;
}

// The shape of an input that has so many bytes; at most one of its dimensions may vary.
absl::StatusOr<std::vector<int64_t>> ShapeOfRaw(const inference::ModelInput& input, const Datatype& datatype,
                                                size_t size) {
  std::vector<int64_t> shape;
  std::optional<size_t> varying;
  int64_t elements = 1;
  for (const int64_t dimension : input.dims()) {
    if (dimension >= 0) {
      if (dimension > 0 && elements > std::numeric_limits<int32_t>::max() / dimension) {
        return absl::InvalidArgumentError("has too large a shape for a request without JSON");
      }
      elements *= dimension;
    } else if (varying.has_value()) {
      return absl::InvalidArgumentError(
          "has more than one dimension that varies: its shape does not follow from the number of bytes");
    } else {
      varying = shape.size();
    }
    shape.push_back(dimension);
  }
  if (datatype.is_bytes()) {
    if (!varying.has_value() && elements == 1) return shape;
    return absl::InvalidArgumentError("of BYTES must have the shape [1] for a request without JSON");
  }
  if (varying.has_value()) {
    const size_t rest = static_cast<size_t>(elements) * datatype.size;
    shape[*varying] = rest == 0 ? 0 : static_cast<int64_t>(size / rest);
  }
  return shape;
}

absl::StatusOr<InferBody> ReadRawBody(const grpc::Slice& body, const inference::ModelConfig& config,
                                      google::protobuf::Arena& arena) {
  if (config.input_size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a request without JSON (Inference-Header-Content-Length: 0) is for models whose configuration has "
        "one input; this one has ",
        config.input_size()));
  }
  const inference::ModelInput& described = config.input(0);
  const Datatype* const datatype = FindDatatype(described.data_type());
  if (datatype == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("input '", described.name(), "' has no datatype"));
  }
  const auto shape = ShapeOfRaw(described, *datatype, body.size());
  if (!shape.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("input '", described.name(), "' ", shape.status().message()));
  }
  auto* const fields = google::protobuf::Arena::CreateMessage<inference::ModelInferRequest>(&arena);
  auto& input = *fields->add_inputs();
  input.set_name(described.name());
  input.set_datatype(datatype->name);
  if (config.max_batch_size() > 0) input.add_shape(1);
  input.mutable_shape()->Add(shape->begin(), shape->end());

  InferBody read;
  read.request.fields = fields;
  read.binary_by_default = true;
  RawBytes contents = PieceOf(body, 0, body.size());
  if (datatype->is_bytes()) {
    const auto length = static_cast<uint32_t>(body.size());
    contents.pieces.insert(contents.pieces.begin(), {grpc::Slice(&length, sizeof(length)), 0, sizeof(length)});
    contents.size += sizeof(length);
  }
  read.request.raw_inputs.emplace_back(std::move(contents));
  return read;
}

// The contents of each input, of which those in binary form lie behind each other from `at` on.
absl::StatusOr<std::vector<std::optional<RawBytes>>> TakeContents(InferRequestJson& json, const grpc::Slice& body,
                                                                  size_t at) {
  std::vector<std::optional<RawBytes>> contents;
  contents.reserve(json.inputs.size());
  for (size_t i = 0; i < json.inputs.size(); ++i) {
    InferRequestJson::Contents& input = json.inputs[i];
    contents.push_back(std::move(input.read));
    if (!input.binary_size.has_value()) continue;
    if (*input.binary_size > body.size() - at) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", json.fields->inputs(static_cast<int>(i)).name(), "' should have ", *input.binary_size,
                       " bytes behind the request's JSON, where ", body.size() - at,
                       " are left; the header Inference-Header-Content-Length says where the JSON ends"));
    }
    contents.back() = PieceOf(body, at, *input.binary_size);
    at += *input.binary_size;
  }
  if (at == body.size()) return contents;
  return absl::InvalidArgumentError(
      absl::StrCat(body.size() - at, " bytes follow the contents of the request's inputs, which belong to none"));
}

}  // namespace

absl::StatusOr<InferBody> ReadInferBody(const BodyHeaders& headers, grpc::Slice body, size_t most,
                                        const inference::ModelConfig& config, google::protobuf::Arena& arena) {
  if (headers.coding != ContentCoding::kIdentity) {
    auto decoded = Decode(headers.coding, body, most);
    if (!decoded.ok()) return decoded.status();
    body = *std::move(decoded);
  }
  const size_t json_size = headers.json_size.value_or(body.size());
  if (json_size > body.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Inference-Header-Content-Length is ", json_size, " and the body has ", body.size(), " bytes"));
  }
  if (headers.json_size == 0U) return ReadRawBody(body, config, arena);
  auto json = ReadInferRequestJson(ViewOf(body).substr(0, json_size), arena);
  if (!json.ok()) return json.status();
  auto contents = TakeContents(*json, body, json_size);
  if (!contents.ok()) return contents.status();
  return InferBody{{json->fields, *std::move(contents)}, std::move(json->binary_outputs), json->binary_by_default};
}

}  // namespace hearth::server
