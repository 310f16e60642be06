#include "server/status/status_service.h"

#include <functional>
#include <utility>

#include "server/api/elsewhere.h"
#include "server/api/message_call.h"

namespace hearth::server {

grpc::ServerUnaryReactor* StatusService::ServerStatus(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return StartMethodCall<v1::ServerStatusRequest, v1::ServerStatusResponse>(
      {calls_, context, request, response},
      [this](const v1::ServerStatusRequest&, v1::ServerStatusResponse& answer, std::function<void(absl::Status)> done) {
        auto work = [this, &answer] {
          answer = status_.Describe();
          return absl::OkStatus();
        };
        DoElsewhere(dispatcher_, std::move(work), std::move(done));
      });
}

}  // namespace hearth::server
