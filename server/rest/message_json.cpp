#include "server/rest/message_json.h"

#include <google/protobuf/descriptor.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "jit/support/text.h"

namespace hearth::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// The value of a field that is not repeated or, if `index` is not negative, one of a repeated field's.
class Value {
 public:
  Value(const Message& message, const FieldDescriptor& field, int index)
      : message_(message), reflection_(*message.GetReflection()), field_(field), index_(index) {}

  void Write(JsonWriter& writer) const {
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        writer.Int(Get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32));
        return;
      case FieldDescriptor::CPPTYPE_INT64:
        writer.Int64(Get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64));
        return;
      case FieldDescriptor::CPPTYPE_UINT32:
        writer.Uint(Get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32));
        return;
      case FieldDescriptor::CPPTYPE_UINT64:
        writer.Uint64(Get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64));
        return;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        writer.Double(Get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble));
        return;
      case FieldDescriptor::CPPTYPE_FLOAT:
        writer.Double(Get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat));
        return;
      case FieldDescriptor::CPPTYPE_BOOL:
        writer.Bool(Get(&Reflection::GetBool, &Reflection::GetRepeatedBool));
        return;
      case FieldDescriptor::CPPTYPE_ENUM:
        return WriteEnum(writer);
      case FieldDescriptor::CPPTYPE_STRING:
        return WriteText(writer, Text());
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return WriteMessage(writer, index_ < 0 ? reflection_.GetMessage(message_, &field_)
                                               : reflection_.GetRepeatedMessage(message_, &field_, index_));
    }
  }

  // As a key of an object.
  std::string Key() const {
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        return Text();
      case FieldDescriptor::CPPTYPE_INT32:
        return absl::StrCat(Get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32));
      case FieldDescriptor::CPPTYPE_INT64:
        return absl::StrCat(Get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64));
      case FieldDescriptor::CPPTYPE_UINT32:
        return absl::StrCat(Get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32));
      case FieldDescriptor::CPPTYPE_UINT64:
        return absl::StrCat(Get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64));
      default:
        return Get(&Reflection::GetBool, &Reflection::GetRepeatedBool) ? "true" : "false";
    }
  }

 private:
  template <typename T>
  T Get(T (Reflection::*one)(const Message&, const FieldDescriptor*) const,
        T (Reflection::*of_several)(const Message&, const FieldDescriptor*, int) const) const {
    return index_ < 0 ? (reflection_.*one)(message_, &field_) : (reflection_.*of_several)(message_, &field_, index_);
  }

  std::string Text() const {
    std::string text = Get(&Reflection::GetString, &Reflection::GetRepeatedString);
    return field_.type() == FieldDescriptor::TYPE_BYTES ? absl::Base64Escape(text) : ToUtf8(std::move(text));
  }

  // A value that the enumeration does not have is its number.
  void WriteEnum(JsonWriter& writer) const {
    const int number = Get(&Reflection::GetEnumValue, &Reflection::GetRepeatedEnumValue);
    const auto* const known = field_.enum_type()->FindValueByNumber(number);
    if (known == nullptr) {
      writer.Int(number);
    } else {
      WriteText(writer, known->name());
    }
  }

  const Message& message_;
  const Reflection& reflection_;
  const FieldDescriptor& field_;
  const int index_;
};

void WriteRepeated(JsonWriter& writer, const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  const int size = reflection.FieldSize(message, &field);
  if (!field.is_map()) {
    writer.StartArray();
    for (int i = 0; i < size; ++i) Value(message, field, i).Write(writer);
    writer.EndArray();
    return;
  }
  writer.StartObject();
  for (int i = 0; i < size; ++i) {
    const Message& entry = reflection.GetRepeatedMessage(message, &field, i);
    WriteKey(writer, Value(entry, *field.message_type()->map_key(), -1).Key());
    Value(entry, *field.message_type()->map_value(), -1).Write(writer);
  }
  writer.EndObject();
}

}  // namespace

void WriteMessage(JsonWriter& writer, const Message& message) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  writer.StartObject();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.has_presence() && !message.GetReflection()->HasField(message, &field)) continue;
    WriteKey(writer, field.name());
    if (field.is_repeated()) {
      WriteRepeated(writer, message, field);
    } else {
      Value(message, field, -1).Write(writer);
    }
  }
  writer.EndObject();
}

std::string MessageJson(const Message& message) {
  JsonText out;
  JsonWriter writer(out);
  WriteMessage(writer, message);
  return out.Take();
}

}  // namespace hearth::server
