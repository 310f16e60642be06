#include "server/rest/answer_json.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/support/text.h"
#include "server/api/slice_builder.h"
#include "server/rest/json_writer.h"
#include "wire/conversion_check.h"

namespace hearth::server {
namespace {

// The digits of this float, as few as tell it from every other float, are those of another one to who reads them as a
// double first and rounds that, as most clients do. It is the only such float, as trying all of them shows.
constexpr uint32_t kTwiceRounded = 0x15ae43fd;

// Of an answer whose tensors are in binary form.
constexpr size_t kUsualJson = 256;

template <typename T>
void AppendNumber(JsonText& out, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) {
      out.Append("NaN");
      return;
    }
    if (std::isinf(value)) {
      out.Append(value < 0 ? "-Infinity" : "Infinity");
      return;
    }
    if constexpr (std::is_same_v<T, float>) {
      if ((std::bit_cast<uint32_t>(value) & INT32_MAX) == kTwiceRounded) return AppendNumber<double>(out, value);
    }
  }
  char digits[32];
  const std::string_view text(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr - digits);
  out.Append(text);
  // A float stays one, and a negative zero negative, to who tells integers by the lack of a point.
  if (std::is_floating_point_v<T> && text.find_first_of(".e") == text.npos) out.Append(".0");
}

template <typename T>
void AppendNumbers(JsonText& out, const at::Tensor& tensor) {
  const T* const values = static_cast<const T*>(tensor.const_data_ptr());
  const int64_t count = tensor.numel();
  for (int64_t i = 0; i < count; ++i) {
    CheckConversionAt(static_cast<size_t>(i));
    if (i > 0) out.Put(',');
    if constexpr (std::is_same_v<T, bool>) {
      out.Append(values[i] ? "true" : "false");
    } else {
      AppendNumber(out, values[i]);
    }
  }
}

absl::Status CannotSend(const WireTensor& output, const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("output '", output.name, "' ", what, " cannot be sent as JSON: ask for it with binary_data"));
}

absl::Status AppendElements(JsonText& out, const at::Tensor& tensor, const WireTensor& output) {
  switch (output.datatype->scalar) {
    case c10::ScalarType::Bool:
      return AppendNumbers<bool>(out, tensor), absl::OkStatus();
    case c10::ScalarType::Byte:
      return AppendNumbers<uint8_t>(out, tensor), absl::OkStatus();
    case c10::ScalarType::UInt16:
      return AppendNumbers<uint16_t>(out, tensor), absl::OkStatus();
    case c10::ScalarType::UInt32:
      return AppendNumbers<uint32_t>(out, tensor), absl::OkStatus();
    case c10::ScalarType::UInt64:
      return AppendNumbers<uint64_t>(out, tensor), absl::OkStatus();
    case c10::ScalarType::Char:
      return AppendNumbers<int8_t>(out, tensor), absl::OkStatus();
    case c10::ScalarType::Short:
      return AppendNumbers<int16_t>(out, tensor), absl::OkStatus();
    case c10::ScalarType::Int:
      return AppendNumbers<int32_t>(out, tensor), absl::OkStatus();
    case c10::ScalarType::Long:
      return AppendNumbers<int64_t>(out, tensor), absl::OkStatus();
    case c10::ScalarType::Float:
      return AppendNumbers<float>(out, tensor), absl::OkStatus();
    case c10::ScalarType::Double:
      return AppendNumbers<double>(out, tensor), absl::OkStatus();
    default:
      return CannotSend(output, absl::StrCat("of ", output.datatype->name));
  }
}

absl::Status WriteData(JsonWriter& writer, JsonText& out, const WireTensor& output) {
  WriteKey(writer, "data");
  if (output.datatype->is_bytes()) {
    writer.StartArray();
    size_t written = 0;
    for (const std::string& element : output.strings) {
      CheckConversionAt(++written);
      if (!IsUtf8(element)) return CannotSend(output, "has an element that is not UTF-8 and");
      WriteText(writer, element);
    }
    writer.EndArray();
    return absl::OkStatus();
  }
  // The writer need not see each number.
  writer.RawValue("[", 1, rapidjson::kArrayType);
  absl::Status status = AppendElements(out, output.tensor, output);
  out.Put(']');
  return status;
}

void WritePlace(JsonWriter& writer, const RegionPlace& place) {
  WriteKey(writer, "parameters");
  writer.StartObject();
  WriteKey(writer, "shared_memory_region");
  WriteText(writer, place.region);
  WriteKey(writer, "shared_memory_byte_size");
  writer.Uint64(place.byte_size);
  if (place.offset != 0) {
    WriteKey(writer, "shared_memory_offset");
    writer.Uint64(place.offset);
  }
  writer.EndObject();
}

void WriteBinarySize(JsonWriter& writer, size_t size) {
  WriteKey(writer, "parameters");
  writer.StartObject();
  WriteKey(writer, "binary_data_size");
  writer.Uint64(size);
  writer.EndObject();
}

void WriteDescription(JsonWriter& writer, const WireTensor& output) {
  WriteKey(writer, "name");
  WriteText(writer, output.name);
  WriteKey(writer, "datatype");
  WriteText(writer, output.datatype->name);
  WriteKey(writer, "shape");
  writer.StartArray();
  for (const int64_t size : output.shape) writer.Int64(size);
  writer.EndArray();
}

void WriteHeader(JsonWriter& writer, const AnswerHeader& header) {
  if (!header.id.empty()) {
    WriteKey(writer, "id");
    WriteText(writer, header.id);
  }
  WriteKey(writer, "model_name");
  WriteText(writer, header.model_name);
  WriteKey(writer, "model_version");
  WriteText(writer, header.model_version);
}

// A size to reserve: of the text, and of the small tensors that are copied behind it.
size_t RoomFor(const std::vector<AnswerOutput>& outputs) {
  size_t room = kUsualJson;
  for (const AnswerOutput& output : outputs) {
    const size_t size = output.tensor.tensor.defined() ? output.tensor.tensor.nbytes() : 0;
    if (size < SliceBuilder::kCopiedBelow) room += size;
  }
  return room;
}

}  // namespace

absl::StatusOr<JsonAnswer> EncodeJsonAnswer(const AnswerHeader& header, std::vector<AnswerOutput> outputs,
                                            const std::vector<bool>& binary) {
  JsonText out(RoomFor(outputs));
  rapidjson::CrtAllocator allocator;
  JsonWriter writer(out, &allocator);
  std::vector<std::string> encoded(outputs.size());  // BYTES in binary form
  writer.StartObject();
  WriteHeader(writer, header);
  WriteKey(writer, "outputs");
  writer.StartArray();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& [output, written_to] = outputs[i];
    writer.StartObject();
    WriteDescription(writer, output);
    if (written_to.has_value()) {
      WritePlace(writer, *written_to);
    } else if (binary[i]) {
      if (output.datatype->is_bytes()) encoded[i] = EncodeStrings(output.strings);
      WriteBinarySize(writer, output.datatype->is_bytes() ? encoded[i].size() : output.tensor.nbytes());
    } else if (absl::Status status = WriteData(writer, out, output); !status.ok()) {
      return status;
    }
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();

  JsonAnswer answer;
  answer.json_size = out.size();
  SliceBuilder builder;
  builder.Add(out.Take());
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto& [output, written_to] = outputs[i];
    if (written_to.has_value() || !binary[i]) continue;
    if (output.datatype->is_bytes()) {
      builder.Add(std::move(encoded[i]));
    } else {
      builder.Add(std::move(output.tensor));
    }
  }
  builder.Take().Swap(&answer.body);
  answer.has_binary = answer.body.Length() > answer.json_size;
  return answer;
}

}  // namespace hearth::server
