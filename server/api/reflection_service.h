// grpc.reflection.v1alpha on the callback API: what the descriptors that this program was built with say of its
// services. No stream holds a thread, and only so many may be open at once.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "proto/reflection/reflection.grpc.pb.h"

namespace hearth::server {

class ReflectionStream;

using ReflectionServiceBase = grpc::reflection::v1alpha::ServerReflection::WithRawCallbackMethod_ServerReflectionInfo<
    grpc::reflection::v1alpha::ServerReflection::Service>;

class ReflectionService final : public ReflectionServiceBase {
 public:
  static constexpr size_t kMostStreams = 64;

  // `services` are the full names to list.
  explicit ReflectionService(std::vector<std::string> services) : services_(std::move(services)) {}

  // RESOURCE_EXHAUSTED where the most streams are open.
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ServerReflectionInfo(
      grpc::CallbackServerContext* context) override;

  // Ends all streams, and those that come.
  void Shutdown();

 private:
  friend class ReflectionStream;
  // Why the stream may not be; OK if it may.
  grpc::Status Add(std::shared_ptr<ReflectionStream> stream);
  void Remove(const std::shared_ptr<ReflectionStream>& stream);

  const std::vector<std::string> services_;
  std::mutex mutex_;
  bool shut_down_ = false;
  std::set<std::shared_ptr<ReflectionStream>> streams_;
};

}  // namespace hearth::server
