// Sends traces of requests to a collector: each is a span of the request, and spans of its parts below.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/opentelemetry/collector.grpc.pb.h"
#include "server/telemetry/tracer.h"

namespace hearth::server {

namespace otlp = opentelemetry::proto;

class TraceExporter {
 public:
  // The endpoint is Tracer::Options'.
  static absl::StatusOr<std::unique_ptr<TraceExporter>> Create(const std::string& endpoint, std::string service_name);

  // Waits for the collector until `deadline`.
  absl::Status Export(const std::vector<RequestTrace>& traces, std::chrono::system_clock::time_point deadline);

  // The message that Export sends.
  otlp::collector::trace::v1::ExportTraceServiceRequest MessageOf(const std::vector<RequestTrace>& traces) const;

 private:
  using Stub = otlp::collector::trace::v1::TraceService::Stub;

  TraceExporter(std::unique_ptr<Stub> stub, std::string service_name)
      : stub_(std::move(stub)), service_name_(std::move(service_name)) {}

  const std::unique_ptr<Stub> stub_;
  const std::string service_name_;
};

}  // namespace hearth::server
