#include "server/telemetry/trace_exporter.h"

#include <grpcpp/create_channel.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "jit/support/text.h"
#include "jit/support/version.h"

namespace hearth::server {
namespace {

using google::protobuf::RepeatedPtrField;
using otlp::common::v1::KeyValue;
using otlp::trace::v1::Span;
using SystemTime = std::chrono::system_clock::time_point;

void AddText(RepeatedPtrField<KeyValue>& attributes, const char* key, std::string_view text) {
  KeyValue& attribute = *attributes.Add();
  attribute.set_key(key);
  attribute.mutable_value()->set_string_value(ToUtf8(std::string(text)));
}

void AddNumber(RepeatedPtrField<KeyValue>& attributes, const char* key, int64_t number) {
  KeyValue& attribute = *attributes.Add();
  attribute.set_key(key);
  attribute.mutable_value()->set_int_value(number);
}

uint64_t Nanoseconds(SystemTime time) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

template <size_t kBytes>
std::string BytesOf(const std::array<uint8_t, kBytes>& id) {
  return {id.begin(), id.end()};
}

Span& AddSpan(const RequestTrace& trace, const std::string& parent, const char* name, SystemTime begin, SystemTime end,
              RepeatedPtrField<Span>& spans) {
  Span& span = *spans.Add();
  span.set_trace_id(BytesOf(trace.context.trace_id));
  span.set_span_id(BytesOf(NewSpanId()));
  span.set_trace_state(trace.context.state);
  if (!parent.empty()) span.set_parent_span_id(parent);
  span.set_name(name);
  span.set_kind(Span::SPAN_KIND_INTERNAL);
  span.set_start_time_unix_nano(Nanoseconds(begin));
  span.set_end_time_unix_nano(Nanoseconds(end));
  return span;
}

void AddRequest(const RequestTrace& trace, RepeatedPtrField<Span>& spans) {
  const RequestTimes& times = trace.times;
  const SystemTime begin = trace.end - times.total;
  const bool has_parent = std::ranges::any_of(trace.context.span_id, [](uint8_t byte) { return byte != 0; });
  Span& request =
      AddSpan(trace, has_parent ? BytesOf(trace.context.span_id) : "", trace.operation, begin, trace.end, spans);
  request.set_kind(Span::SPAN_KIND_SERVER);
  auto& attributes = *request.mutable_attributes();
  AddText(attributes, "hearth.model", trace.model);
  AddText(attributes, "hearth.version", trace.version);
  if (!trace.id.empty()) AddText(attributes, "hearth.request_id", trace.id);
  AddNumber(attributes, "hearth.request_bytes", static_cast<int64_t>(trace.request_bytes));
  AddNumber(attributes, "hearth.response_bytes", static_cast<int64_t>(trace.response_bytes));
  AddText(attributes, "hearth.code", absl::StatusCodeToString(trace.status.code()));
  if (!trace.status.ok()) {
    request.mutable_status()->set_code(otlp::trace::v1::Status::STATUS_CODE_ERROR);
    request.mutable_status()->set_message(ToUtf8(std::string(trace.status.message())));
  }
  const std::string parent = request.span_id();
  SystemTime at = begin;
  const auto part = [&](const char* name, std::chrono::nanoseconds time) -> Span& {
    const SystemTime since = std::exchange(at, at + time);
    return AddSpan(trace, parent, name, since, at, spans);
  };
  part("read", times.compute_input);
  if (!trace.began) return;
  part("queue", times.queue);
  Span& run = part("execute", times.compute_infer);
  AddNumber(*run.mutable_attributes(), "hearth.tier", trace.tier);
  AddNumber(*run.mutable_attributes(), "hearth.batch_size", trace.rows);
  part("write", times.compute_output);
}

}  // namespace

absl::StatusOr<std::unique_ptr<TraceExporter>> TraceExporter::Create(const std::string& endpoint,
                                                                     std::string service_name) {
  std::string_view address = endpoint;
  const auto take = [&](std::string_view prefix) {
    if (!address.starts_with(prefix)) return false;
    address.remove_prefix(prefix.size());
    return true;
  };
  const bool tls = take("https://");
  if (!tls) take("http://");
  if (address.ends_with('/')) address.remove_suffix(1);
  const size_t colon = address.rfind(':');
  int port = 0;
  const bool has_port = colon != std::string_view::npos && colon > 0 &&
                        absl::SimpleAtoi(std::string(address.substr(colon + 1)), &port) && port > 0 && port < 65536;
  if (!has_port || address.find('/') != std::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("trace_endpoint is '", endpoint, "'; expected HOST:PORT, http://HOST:PORT or https://HOST:PORT"));
  }
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  auto channel = grpc::CreateCustomChannel(
      std::string(address),
      tls ? grpc::SslCredentials(grpc::SslCredentialsOptions()) : grpc::InsecureChannelCredentials(), arguments);
  return std::unique_ptr<TraceExporter>(new TraceExporter(
      otlp::collector::trace::v1::TraceService::NewStub(std::move(channel)), std::move(service_name)));
}

otlp::collector::trace::v1::ExportTraceServiceRequest TraceExporter::MessageOf(
    const std::vector<RequestTrace>& traces) const {
  otlp::collector::trace::v1::ExportTraceServiceRequest message;
  auto& spans = *message.add_resource_spans();
  AddText(*spans.mutable_resource()->mutable_attributes(), "service.name", service_name_);
  AddText(*spans.mutable_resource()->mutable_attributes(), "service.version", kVersion);
  auto& scope = *spans.add_scope_spans();
  scope.mutable_scope()->set_name("hearth");
  scope.mutable_scope()->set_version(kVersion);
  for (const RequestTrace& trace : traces) AddRequest(trace, *scope.mutable_spans());
  return message;
}

absl::Status TraceExporter::Export(const std::vector<RequestTrace>& traces, SystemTime deadline) {
  grpc::ClientContext context;
  context.set_deadline(deadline);
  otlp::collector::trace::v1::ExportTraceServiceResponse response;
  const grpc::Status status = stub_->Export(&context, MessageOf(traces), &response);
  if (!status.ok()) return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  if (response.partial_success().rejected_spans() == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(response.partial_success().rejected_spans(),
                   " spans were rejected: ", response.partial_success().error_message()));
}

}  // namespace hearth::server
