#include "server/api/reflection_service.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <optional>
#include <utility>

#include "server/api/guarded.h"
#include "server/api/read_message.h"
#include "server/api/status.h"

namespace hearth::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using grpc::reflection::v1alpha::ExtensionRequest;
using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;

void SetError(ServerReflectionResponse& response, grpc::StatusCode code, const std::string& message) {
  response.mutable_error_response()->set_error_code(code);
  response.mutable_error_response()->set_error_message(message);
}

// The file, and behind it all that it imports, each once.
void AddFile(const FileDescriptor* file, std::set<const FileDescriptor*>& added, ServerReflectionResponse& response) {
  if (!added.insert(file).second) return;
  google::protobuf::FileDescriptorProto proto;
  file->CopyTo(&proto);
  response.mutable_file_descriptor_response()->add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file->dependency_count(); ++i) AddFile(file->dependency(i), added, response);
}

void SetFile(ServerReflectionResponse& response, const FileDescriptor* file, const std::string& what) {
  if (file == nullptr) return SetError(response, grpc::StatusCode::NOT_FOUND, "there is no " + what);
  std::set<const FileDescriptor*> added;
  AddFile(file, added, response);
}

const FileDescriptor* FileOfExtension(const DescriptorPool& pool, const ExtensionRequest& request) {
  const Descriptor* type = pool.FindMessageTypeByName(request.containing_type());
  if (type == nullptr) return nullptr;
  const FieldDescriptor* extension = pool.FindExtensionByNumber(type, request.extension_number());
  return extension == nullptr ? nullptr : extension->file();
}

void SetExtensionNumbers(ServerReflectionResponse& response, const DescriptorPool& pool, const std::string& name) {
  const Descriptor* type = pool.FindMessageTypeByName(name);
  if (type == nullptr) return SetError(response, grpc::StatusCode::NOT_FOUND, "there is no type '" + name + "'");
  std::vector<const FieldDescriptor*> extensions;
  pool.FindAllExtensions(type, &extensions);
  auto& numbers = *response.mutable_all_extension_numbers_response();
  numbers.set_base_type_name(name);
  for (const FieldDescriptor* extension : extensions) numbers.add_extension_number(extension->number());
}

void Answer(const ServerReflectionRequest& request, const std::vector<std::string>& services,
            ServerReflectionResponse& response) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kFileByFilename:
      return SetFile(response, pool.FindFileByName(request.file_by_filename()),
                     "file '" + request.file_by_filename() + "'");
    case ServerReflectionRequest::kFileContainingSymbol:
      return SetFile(response, pool.FindFileContainingSymbol(request.file_containing_symbol()),
                     "symbol '" + request.file_containing_symbol() + "'");
    case ServerReflectionRequest::kFileContainingExtension:
      return SetFile(response, FileOfExtension(pool, request.file_containing_extension()), "such extension");
    case ServerReflectionRequest::kAllExtensionNumbersOfType:
      return SetExtensionNumbers(response, pool, request.all_extension_numbers_of_type());
    case ServerReflectionRequest::kListServices:
      for (const std::string& name : services) response.mutable_list_services_response()->add_service()->set_name(name);
      return;
    case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
      return SetError(response, grpc::StatusCode::INVALID_ARGUMENT, "the request asks for nothing that is known here");
  }
}

}  // namespace

// One client's stream: reads a request, writes its response, and so on.
class ReflectionStream : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                         public std::enable_shared_from_this<ReflectionStream> {
 public:
  explicit ReflectionStream(ReflectionService& service) : service_(service) {}

  void Start() {
    self_ = shared_from_this();
    const grpc::Status refusal = service_.Add(self_);
    if (!refusal.ok()) return End(refusal);
    Go([this] { StartRead(&request_); });
  }

  // The first call counts. A write that is under way is waited for.
  void End(const grpc::Status& status) {
    const auto self = shared_from_this();
    std::lock_guard lock(mutex_);
    if (end_) return;
    end_ = status;
    if (!writing_) Finish(status);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return End(grpc::Status::OK);
    const absl::Status answered = Guarded([&] {
      ServerReflectionRequest request;
      absl::Status read = ReadMessage(request_, {}, nullptr, request);
      if (!read.ok()) return read;
      ServerReflectionResponse response;
      Answer(request, service_.services_, response);
      WriteMessage(response, response_);
      return read;
    });
    if (!answered.ok()) return End(ToGrpc(answered));
    Go([this] {
      writing_ = true;
      StartWrite(&response_);
    });
  }

  void OnWriteDone(bool ok) override {
    const auto self = shared_from_this();
    std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok && !end_) end_ = grpc::Status::CANCELLED;
    if (end_) return Finish(*end_);
    StartRead(&request_);
  }

  void OnCancel() override { End(grpc::Status::CANCELLED); }

  void OnDone() override {
    service_.Remove(self_);
    self_ = nullptr;
  }

 private:
  // Begins an operation, unless the stream is to end.
  template <typename Operation>
  void Go(Operation operation) {
    const auto self = shared_from_this();
    std::lock_guard lock(mutex_);
    if (!end_) operation();
  }

  ReflectionService& service_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
  std::shared_ptr<ReflectionStream> self_;

  // Recursive, because gRPC may call back out of the very call that begins an operation.
  std::recursive_mutex mutex_;
  bool writing_ = false;
  std::optional<grpc::Status> end_;
};

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ReflectionService::ServerReflectionInfo(
    grpc::CallbackServerContext*) {
  auto stream = std::make_shared<ReflectionStream>(*this);
  stream->Start();
  return stream.get();
}

grpc::Status ReflectionService::Add(std::shared_ptr<ReflectionStream> stream) {
  std::lock_guard lock(mutex_);
  if (shut_down_) return {grpc::StatusCode::UNAVAILABLE, "the server is shutting down"};
  if (streams_.size() >= kMostStreams) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED,
            "there are " + std::to_string(kMostStreams) + " streams of reflection already"};
  }
  streams_.insert(std::move(stream));
  return grpc::Status::OK;
}

void ReflectionService::Remove(const std::shared_ptr<ReflectionStream>& stream) {
  std::lock_guard lock(mutex_);
  streams_.erase(stream);
}

void ReflectionService::Shutdown() {
  std::set<std::shared_ptr<ReflectionStream>> streams;
  {
    std::lock_guard lock(mutex_);
    shut_down_ = true;
    streams = streams_;
  }
  for (const auto& stream : streams) stream->End({grpc::StatusCode::UNAVAILABLE, "the server is shutting down"});
}

}  // namespace hearth::server
