#include "server/security/grpc_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/security/method_roles.h"

namespace hearth::server {
namespace {

std::string_view View(const grpc_slice& slice) {
  return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)), GRPC_SLICE_LENGTH(slice)};
}

// Of a call's names and values, and so many more for each, as HTTP/2 counts them (RFC 9113, 6.5.2).
constexpr size_t kMostMetadataBytes = 8 << 10;
constexpr size_t kEntryBytes = 32;

// gRPC has the same numbers for its codes as Abseil.
grpc_status_code CodeOf(const absl::Status& status) { return static_cast<grpc_status_code>(status.code()); }

// Called for each call with its metadata, before its message has come.
void CheckCall(void* state, grpc_auth_context*, const grpc_metadata* metadata, size_t count,
               grpc_process_auth_metadata_done_cb done, void* data) {
  std::string_view path;
  std::optional<std::string_view> authorization;
  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view key = View(metadata[i].key);
    bytes += key.size() + GRPC_SLICE_LENGTH(metadata[i].value) + kEntryBytes;
    if (key == ":path") path = View(metadata[i].value);
    if (key == "authorization" && !authorization) authorization = View(metadata[i].value);
  }
  absl::Status status;
  if (bytes > kMostMetadataBytes) {
    status = absl::ResourceExhaustedError(
        absl::StrCat("the metadata of the call has ", bytes, " bytes; it may have ", kMostMetadataBytes));
  } else if (auto& access = *static_cast<AccessControl*>(state); !access.open()) {
    status = access.Check(RoleOfMethod(path), authorization, path, /*peer=*/"");
  }
  done(data, nullptr, 0, nullptr, 0, CodeOf(status), status.ok() ? nullptr : std::string(status.message()).c_str());
}

// Over gRPC's C interface: its C++ one cannot look at the calls of a plain port, and of its two ways to change
// certificates one watches the files without checking them, and the other is experimental.
class Credentials final : public grpc::ServerCredentials {
 public:
  Credentials(const ServerCertificate* certificate, AccessControl& access) : certificate_(certificate) {
    credentials_ = certificate == nullptr ? grpc_insecure_server_credentials_create() : MakeTls();
    grpc_server_credentials_set_auth_metadata_processor(credentials_, {CheckCall, nullptr, &access});
  }
  ~Credentials() override { grpc_server_credentials_release(credentials_); }

  // There is one already.
  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  grpc_server_credentials* MakeTls() {
    const auto request = certificate_->files().client_ca.empty()
                             ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                             : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
    return grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(request, Fetch, this));
  }

  // Called for each new connection, under a lock of gRPC's.
  static grpc_ssl_certificate_config_reload_status Fetch(void* self, grpc_ssl_server_certificate_config** config) {
    auto& credentials = *static_cast<Credentials*>(self);
    const auto state = credentials.certificate_->current();
    if (state->serial == credentials.serial_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    credentials.serial_ = state->serial;
    const grpc_ssl_pem_key_cert_pair pair{state->key.c_str(), state->certificate.c_str()};
    // gRPC wants some authority here also where it asks clients for nothing that one could have signed.
    const std::string& authorities = state->client_ca.empty() ? state->certificate : state->client_ca;
    *config = grpc_ssl_server_certificate_config_create(authorities.c_str(), &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const ServerCertificate* const certificate_;
  grpc_server_credentials* credentials_ = nullptr;
  uint64_t serial_ = 0;  // of the state that gRPC has
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> MakeGrpcCredentials(const ServerCertificate* certificate,
                                                             AccessControl& access) {
  return std::make_shared<Credentials>(certificate, access);
}

}  // namespace hearth::server
