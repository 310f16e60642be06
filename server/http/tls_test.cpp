#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/http/http_server.h"
#include "server/security/server_certificate.h"

namespace hearth::server {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::StartsWith;

// One connection of a client, which believes any certificate.
class TlsClient {
 public:
  explicit TlsClient(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)), context_(SSL_CTX_new(TLS_client_method())) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    tls_ = SSL_new(context_);
    SSL_set_fd(tls_, socket_);
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;
  ~TlsClient() {
    SSL_free(tls_);
    SSL_CTX_free(context_);
    close(socket_);
  }

  bool Handshake() { return connected_ && SSL_connect(tls_) == 1; }
  void Send(std::string_view bytes) { (void)SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size())); }
  void SendPlain(std::string_view bytes) { (void)send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }

  // Until the server closes, whatever it says before.
  void WaitForEnd() {
    char buffer[256];
    while (recv(socket_, buffer, sizeof(buffer), 0) > 0) continue;
  }

  std::string ReadToEnd() {
    std::string text;
    char buffer[1 << 14];
    for (int size = 0; (size = SSL_read(tls_, buffer, sizeof(buffer))) > 0;)
      text.append(buffer, static_cast<size_t>(size));
    return text;
  }

 private:
  int socket_;
  bool connected_ = false;
  SSL_CTX* context_;
  SSL* tls_ = nullptr;
};

// Answers with the body; /later when the test says so.
class Echo : public HttpHandler {
 public:
  HttpAdmission Admit(const HttpRequest&) override { return {.max_body_bytes = 64 << 20}; }
  void Handle(HttpRequest request, HttpResponder responder) override {
    if (request.path == "/later") return later.set_value(responder);
    responder.Answer({.body = std::string(request.body.view())});
  }

  std::promise<HttpResponder> later;
};

class HttpOverTls : public testing::Test {
 protected:
  HttpOverTls() {
    signal(SIGPIPE, SIG_IGN);
    fs::create_directories(folder_);
    const std::string files =
        absl::StrCat("-keyout ", (folder_ / "key").string(), " -out ", (folder_ / "crt").string());
    EXPECT_EQ(
        std::system(absl::StrCat("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=a ",
                                 files, " 2>/dev/null")
                        .c_str()),
        0);
    certificate_ = *ServerCertificate::Load({folder_ / "crt", folder_ / "key", ""});
    options_.host = "127.0.0.1";
    options_.port = 0;
    options_.certificate = certificate_.get();
  }
  ~HttpOverTls() override { fs::remove_all(folder_); }

  void Start() { server_ = *HttpServer::Start(options_, handler_); }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("tls_test." + std::to_string(getpid()));
  const std::shared_ptr<Echo> handler_ = std::make_shared<Echo>();
  std::unique_ptr<ServerCertificate> certificate_;
  HttpServer::Options options_;
  std::unique_ptr<HttpServer> server_;
};

std::string Post(const std::string& body) {
  return absl::StrCat("POST /p HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: ", body.size(), "\r\n\r\n",
                      body);
}

TEST_F(HttpOverTls, BodiesOfEverySizeComeBack) {
  Start();
  for (const size_t size : {size_t{0}, size_t{1}, size_t{16384}, size_t{65536}, size_t{300'001}, size_t{20} << 20}) {
    TlsClient client(server_->port());
    ASSERT_TRUE(client.Handshake());
    const std::string body(size, 'b');
    client.Send(Post(body));
    const std::string answer = client.ReadToEnd();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
    EXPECT_EQ(answer.size() - answer.find("\r\n\r\n") - 4, size);
  }
}

TEST_F(HttpOverTls, RequestsThatCameInOneRecordAreAllAnswered) {
  Start();
  TlsClient client(server_->port());
  ASSERT_TRUE(client.Handshake());
  std::string requests;
  for (int i = 0; i < 300; ++i) requests += "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
  client.Send(requests + Post("last"));
  const std::string answers = client.ReadToEnd();
  size_t count = 0;
  for (size_t at = 0; (at = answers.find("HTTP/1.1 200 OK", at)) != answers.npos; ++at) ++count;
  EXPECT_EQ(count, 301u);
  EXPECT_THAT(answers, EndsWith("last"));
}

TEST_F(HttpOverTls, AClientThatHangsUpIsMissedWhileItsRequestIsHandled) {
  Start();
  auto client = std::make_unique<TlsClient>(server_->port());
  ASSERT_TRUE(client->Handshake());
  client->Send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
  const HttpResponder responder = handler_->later.get_future().get();
  std::promise<void> gone;
  responder.OnGone([&] { gone.set_value(); });
  client.reset();
  gone.get_future().wait();
}

TEST_F(HttpOverTls, HandshakesThatAreNotDoneInTimeEnd) {
  options_.handshake_time = std::chrono::milliseconds(100);
  Start();
  TlsClient silent(server_->port()), half(server_->port()), plain(server_->port());
  half.SendPlain("\x16\x03\x01");
  plain.SendPlain("GET / HTTP/1.1\r\n\r\n");
  for (TlsClient* client : {&silent, &half, &plain}) client->WaitForEnd();
}

TEST_F(HttpOverTls, ConnectionsMayEndAtAnyPointOfAHandshake) {
  options_.max_connections = 8;
  Start();
  const int port = server_->port();
  std::atomic<bool> stop{false};
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&, i] {
      while (!stop) {
        TlsClient client(port);
        if (i % 2 == 0) {
          client.SendPlain(std::string_view("\x16\x03\x01\x00\x05hello", static_cast<size_t>(i) * 3));
        } else if (client.Handshake() && i == 3) {
          client.Send(Post("x"));
          (void)client.ReadToEnd();
        }
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    TlsClient client(server_->port());
    if (!client.Handshake()) continue;  // it gave way to others
    client.Send(Post("x"));
    (void)client.ReadToEnd();
  }
  server_.reset();  // in the middle of it
  stop = true;
  for (std::thread& client : clients) client.join();
}

}  // namespace
}  // namespace hearth::server
