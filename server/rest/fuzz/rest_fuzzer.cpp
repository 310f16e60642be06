// Feeds any bytes to the reader of inference requests: the first byte says how the body is encoded and whether a header
// says where its JSON ends, the next two where. What comes out is looked at in full, and an answer is written of it,
// which must be JSON again.
#include <google/protobuf/arena.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "server/api/request_message.h"
#include "server/rest/answer_json.h"
#include "server/rest/json_text.h"
#include "server/rest/json_value.h"
#include "server/rest/request_body.h"

namespace hearth::server {
namespace {

constexpr size_t kMostBytes = 1 << 20;

inference::ModelConfig OneInput(bool strings) {
  inference::ModelConfig config;
  auto& input = *config.add_input();
  input.set_name("x");
  input.set_data_type(strings ? inference::TYPE_STRING : inference::TYPE_INT32);
  input.add_dims(strings ? 1 : -1);
  return config;
}

void Touch(const WireTensor& input) {
  uint64_t sum = 0;
  for (const std::string& text : input.strings) sum += text.size();
  if (input.tensor.defined()) {
    const auto* bytes = static_cast<const uint8_t*>(input.tensor.const_data_ptr());
    for (size_t i = 0; i < input.tensor.nbytes(); ++i) sum += bytes[i];
  }
  if (sum == UINT64_MAX) std::abort();
}

void Answer(std::vector<WireTensor> inputs, const std::string& id) {
  std::vector<AnswerOutput> outputs;
  for (WireTensor& input : inputs) outputs.push_back({std::move(input), std::nullopt});
  const std::vector<bool> binary(outputs.size(), false);
  const auto answer = EncodeJsonAnswer({"model", "1", id}, std::move(outputs), binary);
  if (!answer.ok() || answer->json_size > kMostBytes) return;
  grpc::Slice whole;
  if (!answer->body.DumpToSingleSlice(&whole).ok()) std::abort();
  struct Ignored {
    bool Null() { return true; }
    bool Bool(bool) { return true; }
    bool Number(std::string_view) { return true; }
    bool String(std::string_view) { return true; }
    bool Key(std::string_view) { return true; }
    bool StartObject() { return true; }
    bool EndObject() { return true; }
    bool StartArray(size_t) { return true; }
    bool EndArray(size_t) { return true; }
  } events;
  if (!ReadJson({reinterpret_cast<const char*>(whole.begin()), whole.size()}, events).ok()) std::abort();
}

}  // namespace
}  // namespace hearth::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hearth::server;
  if (size < 3) return 0;
  BodyHeaders headers;
  headers.coding = static_cast<ContentCoding>(data[0] % 3);
  if ((data[0] & 4) != 0) headers.json_size = static_cast<size_t>(data[1] << 8 | data[2]);
  google::protobuf::Arena arena;
  const auto body =
      ReadInferBody(headers, grpc::Slice(data + 3, size - 3), kMostBytes, OneInput((data[0] & 8) != 0), arena);
  if (body.ok()) {
    auto inputs = ReadInputs(body->request);
    if (inputs.ok()) {
      for (const auto& input : *inputs) Touch(input);
      Answer(*std::move(inputs), body->request.fields->id());
    }
  }
  (void)ParseJsonValue({reinterpret_cast<const char*>(data + 3), size - 3});
  return 0;
}
