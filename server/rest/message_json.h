// The protocol's messages as JSON in Triton's spelling: fields under the names that they have in the .proto, all of
// them but those that can be told apart from unset and are not set; 64-bit integers as numbers; enumerations by name,
// bytes in base64, maps as objects.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "server/rest/json_writer.h"

namespace hearth::server {

void WriteMessage(JsonWriter& writer, const google::protobuf::Message& message);
std::string MessageJson(const google::protobuf::Message& message);

}  // namespace hearth::server
