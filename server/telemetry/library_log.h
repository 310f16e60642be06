// What gRPC and Protobuf write of themselves.
#pragma once

namespace hearth::server {

// Sends it to the loggers "grpc" and "protobuf" instead of standard error, at the level debug: they tell of what
// clients send, as often as clients send it. Call once, before either is used; it lasts as long as the process.
void TakeLibraryLogs();

}  // namespace hearth::server
