#include "server/rest/settings_json.h"

#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/rest/json_writer.h"
#include "server/rest/message_json.h"

namespace hearth::server {
namespace {

using Kind = JsonValue::Kind;

constexpr const char* kTraceLevel = "trace_level";

template <typename Number>
absl::StatusOr<Number> ReadNumber(const JsonValue& body, const char* name) {
  const JsonValue* const value = body.Find(name);
  Number number = 0;
  if (value == nullptr || value->kind != Kind::kNumber || !absl::SimpleAtoi(value->text, &number)) {
    return WrongField(name, "a whole number");
  }
  return number;
}

// In the order of their names.
template <typename Response>
std::string RegionsOf(const Response& response) {
  const std::map<std::string, typename Response::RegionStatus> regions(response.regions().begin(),
                                                                       response.regions().end());
  JsonText out;
  JsonWriter writer(out);
  writer.StartArray();
  for (const auto& [name, region] : regions) WriteMessage(writer, region);
  writer.EndArray();
  return out.Take();
}

}  // namespace

absl::Status ReadTraceSettings(const JsonValue& body, inference::TraceSettingRequest& request) {
  for (const auto& [name, value] : body.members) {
    auto& setting = (*request.mutable_settings())[name];
    if (value.kind == Kind::kNull) continue;
    if (value.kind == Kind::kString || value.kind == Kind::kNumber) {
      setting.add_value(value.text);
      continue;
    }
    if (value.kind != Kind::kArray) return WrongField(name, "a text, an array of texts or null");
    for (const JsonValue& element : value.elements) {
      if (element.kind != Kind::kString) return WrongField(name, "an array of texts");
      setting.add_value(element.text);
    }
  }
  return absl::OkStatus();
}

std::string TraceSettingsJson(const inference::TraceSettingResponse& response) {
  const std::map<std::string, inference::TraceSettingResponse::SettingValue> settings(response.settings().begin(),
                                                                                      response.settings().end());
  JsonText out;
  JsonWriter writer(out);
  writer.StartObject();
  for (const auto& [name, setting] : settings) {
    WriteKey(writer, name);
    if (name != kTraceLevel) {
      WriteText(writer, setting.value().empty() ? "" : setting.value(0));
      continue;
    }
    writer.StartArray();
    for (const std::string& value : setting.value()) WriteText(writer, value);
    writer.EndArray();
  }
  writer.EndObject();
  return out.Take();
}

absl::Status ReadLogSettings(const JsonValue& body, inference::LogSettingsRequest& request) {
  for (const auto& [name, value] : body.members) {
    if (value.kind == Kind::kNull) continue;
    auto& setting = (*request.mutable_settings())[name];
    uint32_t number = 0;
    if (value.kind == Kind::kBool) {
      setting.set_bool_param(value.boolean);
    } else if (value.kind == Kind::kString) {
      setting.set_string_param(value.text);
    } else if (value.kind == Kind::kNumber && absl::SimpleAtoi(value.text, &number)) {
      setting.set_uint32_param(number);
    } else {
      return WrongField(name, "a boolean, a whole number or a text");
    }
  }
  return absl::OkStatus();
}

std::string LogSettingsJson(const inference::LogSettingsResponse& response) {
  const std::map<std::string, inference::LogSettingsResponse::SettingValue> settings(response.settings().begin(),
                                                                                     response.settings().end());
  JsonText out;
  JsonWriter writer(out);
  writer.StartObject();
  for (const auto& [name, setting] : settings) {
    WriteKey(writer, name);
    if (setting.has_bool_param()) {
      writer.Bool(setting.bool_param());
    } else if (setting.has_uint32_param()) {
      writer.Uint(setting.uint32_param());
    } else {
      WriteText(writer, setting.string_param());
    }
  }
  writer.EndObject();
  return out.Take();
}

absl::Status ReadRegion(const JsonValue& body, inference::SystemSharedMemoryRegisterRequest& request) {
  const JsonValue* const key = body.Find("key");
  if (key == nullptr || key->kind != Kind::kString) return WrongField("key", "a text");
  request.set_key(key->text);
  const auto byte_size = ReadNumber<uint64_t>(body, "byte_size");
  if (!byte_size.ok()) return byte_size.status();
  request.set_byte_size(*byte_size);
  if (body.Find("offset") == nullptr) return absl::OkStatus();
  const auto offset = ReadNumber<uint64_t>(body, "offset");
  if (offset.ok()) request.set_offset(*offset);
  return offset.status();
}

absl::Status ReadRegion(const JsonValue& body, inference::CudaSharedMemoryRegisterRequest& request) {
  const JsonValue* const handle = body.Find("raw_handle");
  const JsonValue* const text = handle == nullptr ? nullptr : handle->Find("b64");
  if (text == nullptr || text->kind != Kind::kString ||
      !absl::Base64Unescape(text->text, request.mutable_raw_handle())) {
    return WrongField("raw_handle", R"({"b64": base64})");
  }
  const auto byte_size = ReadNumber<uint64_t>(body, "byte_size");
  if (!byte_size.ok()) return byte_size.status();
  request.set_byte_size(*byte_size);
  const auto device = ReadNumber<int64_t>(body, "device_id");
  if (device.ok()) request.set_device_id(*device);
  return device.status();
}

std::string RegionsJson(const inference::SystemSharedMemoryStatusResponse& response) { return RegionsOf(response); }

std::string RegionsJson(const inference::CudaSharedMemoryStatusResponse& response) { return RegionsOf(response); }

}  // namespace hearth::server
