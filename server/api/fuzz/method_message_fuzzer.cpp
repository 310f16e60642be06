// Feeds any bytes to what reads the messages of all methods but inferences, and to what inflates compressed ones. The
// first byte chooses the message's type and its compression; the second says how large the slices are in which the
// bytes come. What is read is looked at as its method would.
#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "proto/health/health.pb.h"
#include "proto/hearth.pb.h"
#include "proto/inference/service.pb.h"
#include "proto/reflection/reflection.pb.h"
#include "server/api/infer_parameters.h"
#include "server/api/inflate.h"
#include "server/api/read_message.h"
#include "server/api/request_message.h"
#include "server/api/trace_settings.h"

namespace hearth::server {
namespace {

constexpr size_t kMost = 1 << 20;

template <typename... Messages>
std::unique_ptr<google::protobuf::Message> NewMessage(size_t which) {
  std::vector<std::unique_ptr<google::protobuf::Message>> all;
  (all.push_back(std::make_unique<Messages>()), ...);
  return std::move(all[which % all.size()]);
}

std::unique_ptr<google::protobuf::Message> NewRequest(size_t which) {
  using namespace inference;
  return NewMessage<ModelStatisticsRequest, RepositoryIndexRequest, RepositoryModelLoadRequest,
                    RepositoryModelUnloadRequest, SystemSharedMemoryRegisterRequest, CudaSharedMemoryRegisterRequest,
                    TraceSettingRequest, LogSettingsRequest, v1::ListPlansRequest, grpc::health::v1::HealthCheckRequest,
                    grpc::reflection::v1alpha::ServerReflectionRequest>(which);
}

void ReadParameters(const grpc::ByteBuffer& buffer) {
  static const SharedRegions regions(false);
  google::protobuf::Arena arena;
  auto parsed = ParseInferRequest(buffer, arena);
  if (!parsed.ok()) return;
  constexpr uint64_t kLevels = 3;
  const auto parameters = ReadRequestParameters(*parsed->fields, kLevels);
  if (parameters.ok() && parameters->timeout && parameters->timeout->count() <= 0) std::abort();
  if (parameters.ok() && parameters->priority > kLevels) std::abort();
  const auto outputs = ReadRequestedOutputs(*parsed->fields, regions);
  if (outputs.ok() && std::ranges::any_of(*outputs, [](const RequestedOutput& one) { return one.classes < 0; })) {
    std::abort();
  }
  auto request = MatchContents(*std::move(parsed));
  if (request.ok()) (void)ReadRegions(regions, *request);
}

}  // namespace
}  // namespace hearth::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hearth::server;
  if (size < 2) return 0;
  const size_t piece = data[1] == 0 ? size : data[1];
  std::vector<grpc::Slice> slices;
  for (size_t at = 2; at < size; at += piece) slices.emplace_back(data + at, std::min(piece, size - at));
  grpc::ByteBuffer buffer(slices.data(), slices.size());
  const auto compression = static_cast<Compression>(data[0] % 3);
  if (compression != Compression::kNone) {
    if (!Inflate(buffer, compression, kMost, nullptr).ok()) return 0;
    if (buffer.Length() > kMost) std::abort();
  }
  ReadParameters(buffer);
  const auto request = NewRequest(data[0] / 3);
  if (!ReadMessage(buffer, {.bytes = kMost}, nullptr, *request).ok()) return 0;
  if (const auto* trace = dynamic_cast<inference::TraceSettingRequest*>(request.get())) {
    inference::TraceSettingResponse response;
    (void)AnswerTraceSettings(*trace, response, nullptr);
  }
  return 0;
}
