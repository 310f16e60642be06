#include "server/security/server_certificate.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/security/security_log.h"
#include "server/security/text_file.h"

namespace hearth::server {
namespace {

// Forward secrecy and authenticated encryption, as gRPC's own default has it. TLS 1.3 has no others.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr std::array<unsigned char, 9> kProtocol = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
constexpr long kTicketSeconds = 300;

template <auto free>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    free(object);
  }
};
using Bio = std::unique_ptr<BIO, Freed<BIO_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;

// The oldest of the errors that OpenSSL has noted, which it forgets then.
std::string OpenSslError() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "no reason is known" : reason;
}

absl::Status Wrong(const std::string& file, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", what));
}

Bio Memory(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

absl::StatusOr<std::vector<Certificate>> ParseCertificates(const std::string& text, const std::string& file) {
  std::vector<Certificate> found;
  const Bio bio = Memory(text);
  ERR_clear_error();
  while (X509* one = PEM_read_bio_X509_AUX(bio.get(), nullptr, nullptr, nullptr)) found.emplace_back(one);
  const unsigned long end = ERR_peek_last_error();
  if (ERR_GET_LIB(end) != ERR_LIB_PEM || ERR_GET_REASON(end) != PEM_R_NO_START_LINE) {
    return Wrong(file, absl::StrCat("holds what is no certificate in PEM: ", OpenSslError()));
  }
  ERR_clear_error();
  if (found.empty()) return Wrong(file, "holds no certificate in PEM");
  return found;
}

absl::Status CheckTime(const X509* certificate, const std::string& file) {
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) return Wrong(file, "the certificate has expired");
  return absl::OkStatus();
}

// A key with a passphrase would have OpenSSL ask for it on the terminal.
int NoPassphrase(char*, int, int, void*) { return 0; }

int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                   unsigned int offered_size, void*) {
  unsigned char* found = nullptr;
  const int result = SSL_select_next_proto(&found, size, kProtocol.data(), kProtocol.size(), offered, offered_size);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

absl::Status AskForClients(SSL_CTX* context, const std::string& text, const std::string& file) {
  auto authorities = ParseCertificates(text, file);
  if (!authorities.ok()) return authorities.status();
  for (const Certificate& authority : *authorities) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) != 1 ||
        SSL_CTX_add_client_CA(context, authority.get()) != 1) {
      return Wrong(file, OpenSslError());
    }
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  // Every connection shows its certificate anew: a ticket would let one in whose certificate has expired since.
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> CertificateFiles::names() const {
  std::vector<std::string> all = {certificate, key};
  if (!client_ca.empty()) all.push_back(client_ca);
  return all;
}

CertificateState::~CertificateState() { OPENSSL_cleanse(key.data(), key.size()); }

absl::StatusOr<std::shared_ptr<const CertificateState>> ServerCertificate::Read(uint64_t serial) const {
  auto state = std::make_shared<CertificateState>();
  state->serial = serial;
  const auto read = [](const std::string& file, std::string& text) {
    auto contents = ReadTextFile(file);
    if (!contents.ok()) return contents.status();
    text = *std::move(contents);
    return absl::OkStatus();
  };
  if (absl::Status status = read(files_.certificate, state->certificate); !status.ok()) return status;
  if (absl::Status status = read(files_.key, state->key); !status.ok()) return status;
  if (!files_.client_ca.empty()) {
    if (absl::Status status = read(files_.client_ca, state->client_ca); !status.ok()) return status;
  }

  auto chain = ParseCertificates(state->certificate, files_.certificate);
  if (!chain.ok()) return chain.status();
  if (absl::Status status = CheckTime(chain->front().get(), files_.certificate); !status.ok()) return status;
  const Key key(PEM_read_bio_PrivateKey(Memory(state->key).get(), nullptr, NoPassphrase, nullptr));
  if (key == nullptr) {
    return Wrong(files_.key, absl::StrCat("holds no private key in PEM without a passphrase: ", OpenSslError()));
  }
  if (X509_check_private_key(chain->front().get(), key.get()) != 1) {
    ERR_clear_error();
    return Wrong(files_.key, absl::StrCat("the key is not that of ", files_.certificate));
  }

  state->context.reset(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  SSL_CTX* const context = state->context.get();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  // Tickets hold all that there is to know of a session: nothing is kept here for clients that may never return.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_timeout(context, kTicketSeconds);
  SSL_CTX_set_alpn_select_cb(context, ChooseProtocol, nullptr);
  if (SSL_CTX_set_cipher_list(context, kCiphers) != 1) return absl::InternalError(OpenSslError());
  // Refuses keys that are too short for the library's security level.
  if (SSL_CTX_use_certificate(context, chain->front().get()) != 1) return Wrong(files_.certificate, OpenSslError());
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) return Wrong(files_.key, OpenSslError());
  for (size_t i = 1; i < chain->size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, (*chain)[i].get()) != 1) return Wrong(files_.certificate, OpenSslError());
  }
  if (!files_.client_ca.empty()) {
    if (absl::Status status = AskForClients(context, state->client_ca, files_.client_ca); !status.ok()) return status;
  }
  return state;
}

absl::StatusOr<std::unique_ptr<ServerCertificate>> ServerCertificate::Load(CertificateFiles files) {
  std::unique_ptr<ServerCertificate> made(new ServerCertificate(std::move(files)));
  auto state = made->Read(1);
  if (!state.ok()) return state.status();
  made->current_ = *std::move(state);
  return made;
}

std::shared_ptr<const CertificateState> ServerCertificate::current() const {
  std::lock_guard lock(mutex_);
  return current_;
}

void ServerCertificate::Reload() {
  const auto before = current();
  auto state = Read(before->serial + 1);
  if (!state.ok()) {
    SecurityLog().error("new connections go on with the certificate that there was: {}",
                        std::string(state.status().message()));
    return;
  }
  if ((*state)->certificate == before->certificate && (*state)->key == before->key &&
      (*state)->client_ca == before->client_ca) {
    return;
  }
  SecurityLog().info("new connections have the certificate that {} holds now", files_.certificate);
  std::lock_guard lock(mutex_);
  current_ = *std::move(state);
}

}  // namespace hearth::server
