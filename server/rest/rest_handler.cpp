#include "server/rest/rest_handler.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/inference/service.pb.h"
#include "server/rest/http_status.h"
#include "server/rest/message_json.h"
#include "server/rest/method_call.h"
#include "server/rest/rest_infer_task.h"
#include "server/rest/settings_json.h"

namespace hearth::server {
namespace {

// Of bodies that hold no tensors and no model's configuration.
constexpr int64_t kMostSmallBody = 1 << 20;

// The header of this name (in lower case), of which two would say two things; null if there is none.
absl::StatusOr<const std::string*> OnlyHeader(const HttpRequest& request, std::string_view name) {
  if (std::ranges::count(request.headers, name, &std::pair<std::string, std::string>::first) > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the request has the header ", std::string(name), " more than once"));
  }
  return request.Header(name);
}

std::optional<TraceContext> CallerTraceOf(const HttpRequest& request) {
  const std::string* const parent = request.Header("traceparent");
  if (parent == nullptr) return std::nullopt;
  return ParseTraceContext(*parent, request.AllOf("tracestate"));
}

absl::StatusOr<RestInferHead> ReadHead(const HttpRequest& request, const RestPath& path) {
  RestInferHead head{.model = path.model, .version = path.version};
  const auto size = OnlyHeader(request, "inference-header-content-length");
  if (!size.ok()) return size.status();
  if (*size != nullptr) {
    uint64_t json_size = 0;
    if (!absl::SimpleAtoi(**size, &json_size)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the header Inference-Header-Content-Length should be a number of bytes, not '", **size, "'"));
    }
    head.body.json_size = json_size;
  }
  const auto encoding = OnlyHeader(request, "content-encoding");
  if (!encoding.ok()) return encoding.status();
  if (*encoding != nullptr) {
    const auto coding = ParseContentCoding(**encoding);
    if (!coding) {
      return absl::UnimplementedError(
          absl::StrCat("the Content-Encoding '", **encoding, "' is not offered; gzip and deflate are"));
    }
    head.body.coding = *coding;
  }
  if (const std::string* accepted = request.Header("accept-encoding")) head.answer_coding = PreferredCoding(*accepted);
  return head;
}

absl::Status ReadIndexRequest(const JsonValue& body, inference::RepositoryIndexRequest& request) {
  const JsonValue* const ready = body.Find("ready");
  if (ready == nullptr) return absl::OkStatus();
  if (ready->kind != JsonValue::Kind::kBool) return WrongField("ready", "a boolean");
  request.set_ready(ready->boolean);
  return absl::OkStatus();
}

// Parameters of a load or unload. Files come in base64.
template <typename Parameters>
absl::Status ReadParameters(const JsonValue& body, Parameters& parameters) {
  const JsonValue* const given = body.Find("parameters");
  if (given == nullptr) return absl::OkStatus();
  if (given->kind != JsonValue::Kind::kObject) return WrongField("parameters", "an object");
  for (const auto& [name, value] : given->members) {
    auto& parameter = parameters[name];
    int64_t number = 0;
    if (value.kind == JsonValue::Kind::kBool) {
      parameter.set_bool_param(value.boolean);
    } else if (value.kind == JsonValue::Kind::kNumber && absl::SimpleAtoi(value.text, &number)) {
      parameter.set_int64_param(number);
    } else if (value.kind != JsonValue::Kind::kString) {
      return WrongField(name, "a string, an integer or a boolean");
    } else if (!absl::StartsWith(name, "file:")) {
      parameter.set_string_param(value.text);
    } else if (!absl::Base64Unescape(value.text, parameter.mutable_bytes_param())) {
      return WrongField(name, "text in base64");
    }
  }
  return absl::OkStatus();
}

// An array, where what is not known is left out.
std::string IndexJson(const inference::RepositoryIndexResponse& response) {
  JsonText out;
  JsonWriter writer(out);
  const auto write = [&](const char* name, const std::string& text) {
    if (text.empty()) return;
    WriteKey(writer, name);
    WriteText(writer, text);
  };
  writer.StartArray();
  for (const auto& model : response.models()) {
    writer.StartObject();
    write("name", model.name());
    write("version", model.version());
    write("state", model.state());
    write("reason", model.reason());
    writer.EndObject();
  }
  writer.EndArray();
  return out.Take();
}

}  // namespace

HttpAdmission RestHandler::Admit(const HttpRequest& head) {
  const std::optional<RestPath> path = ParseRestPath(head.path);
  if (ProbeHandler::Knows(head.path, path)) return probes_->Admit(head);
  if (!path) return {.refusal = ErrorAnswer(404, absl::StrCat("there is nothing at ", head.path))};
  if (!Allows(path->resource, head.method)) {
    const char* const allowed = AllowedMethods(path->resource);
    HttpResponse refusal = ErrorAnswer(405, absl::StrCat(head.path, " takes ", allowed, ", not ", head.method));
    refusal.headers.emplace_back("Allow", allowed);
    return {.refusal = std::move(refusal)};
  }
  if (path->resource == Resource::kInfer) {
    const auto infer_head = ReadHead(head, *path);
    if (infer_head.ok()) {
      return {.max_body_bytes = static_cast<int64_t>(environment_.max_request_bytes),
              .body_aligned_at = infer_head->body.json_size.value_or(0)};
    }
    HttpResponse refusal = ErrorAnswer(infer_head.status());
    if (absl::IsUnimplemented(infer_head.status())) refusal.headers.emplace_back("Accept-Encoding", "gzip, deflate");
    return {.refusal = std::move(refusal)};
  }
  if (path->resource == Resource::kRepositoryLoad) {
    return {.max_body_bytes = static_cast<int64_t>(environment_.max_request_bytes)};
  }
  return {.max_body_bytes = kMostSmallBody};
}

void RestHandler::Handle(HttpRequest request, HttpResponder responder) {
  const std::optional<RestPath> path = ParseRestPath(request.path);
  if (ProbeHandler::Knows(request.path, path)) return probes_->Handle(std::move(request), std::move(responder));
  if (path->resource == Resource::kInfer) return Infer(std::move(request), *path, std::move(responder));
  CallMethod(std::move(request), *path, std::move(responder));
}

void RestHandler::Infer(HttpRequest request, const RestPath& path, HttpResponder responder) {
  auto head = ReadHead(request, path);
  if (!head.ok()) return responder.Answer(ErrorAnswer(head.status()));
  const auto task = std::make_shared<RestInferTask>(environment_, *std::move(head), std::move(request.body),
                                                    responder.may_work_here());
  responder.OnGone([running = std::weak_ptr<RestInferTask>(task)] {
    if (const auto wanted = running.lock()) wanted->Cancel();
  });
  if (task->wants_caller_trace()) task->set_caller_trace(CallerTraceOf(request));
  task->Start(task->message(), std::nullopt, task->is_logged() ? std::move(request.peer) : "",
              [task, responder](absl::Status status, grpc::ByteBuffer& answer) {
                responder.Answer(task->MakeAnswer(status, answer));
              });
}

void RestHandler::CallMethod(HttpRequest request, const RestPath& path, HttpResponder responder) {
  namespace pb = inference;
  using Done = InferenceMethods::Done;
  const auto post = [this, &path](std::function<void()> work) {
    if (path.resource == Resource::kRepositoryLoad)
      return environment_.dispatcher.Post(WorkLength::kLong, std::move(work));
    thread_.Post(std::move(work));
    return absl::OkStatus();
  };
  const auto call = [&]<typename Request, typename Response>(Method<Request, Response> method) {
    std::make_shared<MethodCall<Request, Response>>(environment_, std::move(request), std::move(responder),
                                                    std::move(method))
        ->Start(post);
  };
  // Of a method that gives its status.
  const auto at_once = [this](auto method) {
    return [this, method](const auto& in, auto& out, const Done& done) { done((methods_.*method)(in, out)); };
  };
  // Of one that answers later.
  const auto later = [this](auto method) {
    return [this, method](const auto& in, auto& out, Done done) { (methods_.*method)(in, out, std::move(done)); };
  };
  const auto write = [](const google::protobuf::Message& response) { return MessageJson(response); };
  const auto set_model = [path](const JsonValue&, auto& message) {
    message.set_name(path.model);
    message.set_version(path.version);
    return absl::OkStatus();
  };
  const auto set_parameters = [path](const JsonValue& body, auto& message) {
    message.set_model_name(path.model);
    return ReadParameters(body, *message.mutable_parameters());
  };
  const auto set_region = [path](const JsonValue&, auto& message) {
    message.set_name(path.region);
    return absl::OkStatus();
  };
  const auto set_new_region = [path](const JsonValue& body, auto& message) {
    message.set_name(path.region);
    return ReadRegion(body, message);
  };
  const auto write_regions = [](const auto& response) { return RegionsJson(response); };
  const bool changes = request.method == "POST";
  switch (path.resource) {
    case Resource::kServerMetadata:
      return call(Method<pb::ServerMetadataRequest, pb::ServerMetadataResponse>{
          {}, at_once(&InferenceMethods::ServerMetadata), write});
    case Resource::kModelMetadata:
      return call(Method<pb::ModelMetadataRequest, pb::ModelMetadataResponse>{
          set_model, later(&InferenceMethods::ModelMetadata), write});
    case Resource::kModelConfig:
      return call(Method<pb::ModelConfigRequest, pb::ModelConfigResponse>{
          set_model, later(&InferenceMethods::ModelConfig),
          [](const auto& response) { return MessageJson(response.config()); }});
    case Resource::kAllStatistics:
    case Resource::kModelStatistics:
      return call(Method<pb::ModelStatisticsRequest, pb::ModelStatisticsResponse>{
          set_model, later(&InferenceMethods::ModelStatistics), write});
    case Resource::kRepositoryIndex:
      return call(Method<pb::RepositoryIndexRequest, pb::RepositoryIndexResponse>{
          ReadIndexRequest, later(&InferenceMethods::RepositoryIndex), IndexJson});
    case Resource::kRepositoryLoad:
      return call(Method<pb::RepositoryModelLoadRequest, pb::RepositoryModelLoadResponse>{
          set_parameters,
          [this](auto& in, auto& out, Done done) { methods_.RepositoryModelLoad(std::move(in), out, std::move(done)); },
          {}});
    case Resource::kRepositoryUnload:
      return call(Method<pb::RepositoryModelUnloadRequest, pb::RepositoryModelUnloadResponse>{
          set_parameters, later(&InferenceMethods::RepositoryModelUnload), {}});
    case Resource::kTrace:
    case Resource::kModelTrace:
      return call(Method<pb::TraceSettingRequest, pb::TraceSettingResponse>{
          [path, changes](const JsonValue& body, auto& message) {
            message.set_model_name(path.model);
            return changes ? ReadTraceSettings(body, message) : absl::OkStatus();
          },
          at_once(&InferenceMethods::TraceSetting), TraceSettingsJson});
    case Resource::kLogging:
      return call(Method<pb::LogSettingsRequest, pb::LogSettingsResponse>{
          [changes](const JsonValue& body, auto& message) {
            return changes ? ReadLogSettings(body, message) : absl::OkStatus();
          },
          at_once(&InferenceMethods::LogSettings), LogSettingsJson});
    case Resource::kSystemMemoryStatus:
      return call(Method<pb::SystemSharedMemoryStatusRequest, pb::SystemSharedMemoryStatusResponse>{
          set_region, at_once(&InferenceMethods::SystemSharedMemoryStatus), write_regions});
    case Resource::kSystemMemoryRegister:
      return call(Method<pb::SystemSharedMemoryRegisterRequest, pb::SystemSharedMemoryRegisterResponse>{
          set_new_region, at_once(&InferenceMethods::SystemSharedMemoryRegister), {}});
    case Resource::kSystemMemoryUnregister:
      return call(Method<pb::SystemSharedMemoryUnregisterRequest, pb::SystemSharedMemoryUnregisterResponse>{
          set_region, at_once(&InferenceMethods::SystemSharedMemoryUnregister), {}});
    case Resource::kCudaMemoryStatus:
      return call(Method<pb::CudaSharedMemoryStatusRequest, pb::CudaSharedMemoryStatusResponse>{
          set_region, at_once(&InferenceMethods::CudaSharedMemoryStatus), write_regions});
    case Resource::kCudaMemoryRegister:
      return call(Method<pb::CudaSharedMemoryRegisterRequest, pb::CudaSharedMemoryRegisterResponse>{
          set_new_region, at_once(&InferenceMethods::CudaSharedMemoryRegister), {}});
    case Resource::kCudaMemoryUnregister:
      return call(Method<pb::CudaSharedMemoryUnregisterRequest, pb::CudaSharedMemoryUnregisterResponse>{
          set_region, at_once(&InferenceMethods::CudaSharedMemoryUnregister), {}});
    case Resource::kServerLive:
    case Resource::kServerReady:
    case Resource::kModelReady:
    case Resource::kInfer:
      return;  // answered before
  }
}

}  // namespace hearth::server
