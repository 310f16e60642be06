// The certificate that a port shows, its key, and the authorities whose clients it lets in. The files are checked as a
// whole before they are used: that all parse, that the key is the certificate's, that it has not expired.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hearth::server {

// Files in PEM.
struct CertificateFiles {
  std::string certificate;  // the server's, and behind it those between it and the root
  std::string key;          // without a passphrase
  std::string client_ca;    // of the clients' certificates, which each client needs then; empty: clients need none

  std::vector<std::string> names() const;
};

// What the files said at one time. Immutable.
struct CertificateState {
  ~CertificateState();

  std::string certificate;
  std::string key;
  std::string client_ca;
  // For new connections of HTTP/1.1; each keeps it.
  std::shared_ptr<SSL_CTX> context;
  uint64_t serial = 0;  // another one with each reading
};

// Thread-safe.
class ServerCertificate {
 public:
  // kInvalidArgument or kFailedPrecondition, naming the file, for files that are no good.
  static absl::StatusOr<std::unique_ptr<ServerCertificate>> Load(CertificateFiles files);

  std::shared_ptr<const CertificateState> current() const;
  const CertificateFiles& files() const { return files_; }

  // Reads the files again. If they are no good, new connections go on with what there was, and the log says why.
  void Reload();

 private:
  explicit ServerCertificate(CertificateFiles files) : files_(std::move(files)) {}

  absl::StatusOr<std::shared_ptr<const CertificateState>> Read(uint64_t serial) const;

  const CertificateFiles files_;
  mutable std::mutex mutex_;
  std::shared_ptr<const CertificateState> current_;
};

}  // namespace hearth::server
