#include "server/http/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/http/active_clients.h"

namespace hearth::server {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// One connection of a client.
class Client {
 public:
  explicit Client(int port, int receive_buffer = 0) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0) setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { Close(); }

  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;  // the server has closed
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }

  // Until the text ends so; until the server closes if it is empty.
  std::string ReadUntil(std::string_view end) {
    std::string text;
    char buffer[4096];
    while (end.empty() || !text.ends_with(end)) {
      const ssize_t size = recv(socket_, buffer, sizeof(buffer), 0);
      if (size <= 0) break;
      text.append(buffer, static_cast<size_t>(size));
    }
    return text;
  }

  char ReadByte() {
    char byte = 0;
    return recv(socket_, &byte, 1, 0) == 1 ? byte : '\0';
  }

  void SendNoMore() { (void)shutdown(socket_, SHUT_WR); }

  void Close() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }

 private:
  int socket_;
};

std::string Exchange(int port, std::string_view request) {
  Client client(port);
  client.Send(request);
  return client.ReadUntil("");
}

// Answers with method, path and body; /later keeps its responder for the test.
class EchoHandler : public HttpHandler {
 public:
  HttpAdmission Admit(const HttpRequest& head) override {
    if (head.path == "/unwanted") return {.refusal = HttpResponse{.status = 405, .body = "no\n"}};
    return {.max_body_bytes = 1 << 20};
  }

  void Handle(HttpRequest request, HttpResponder responder) override {
    if (request.path == "/peer") return responder.Answer({.body = request.peer});
    if (request.path == "/throws") throw std::runtime_error("no such luck");
    if (request.path == "/dropped") return;
    if (request.path == "/busy") return responder.Answer({.status = 503, .body = "later"});
    if (request.path == "/large") {
      const auto text = std::make_shared<const std::string>(32 << 20, 'x');
      return responder.Answer({.body = "begin", .pieces = {{text, *text}, {text, "end"}}});
    }
    if (request.path == "/later") {
      std::lock_guard lock(mutex_);
      later_.push_back(responder);
      came_.notify_one();
      return;
    }
    responder.Answer({.content_type = "text/plain",
                      .body = absl::StrCat(request.method, " ", request.path, " ", std::string(request.body.view()))});
  }

  HttpResponse Refusal(HttpResponse refusal) override {
    refusal.headers.emplace_back("X-Refused", "yes");
    return refusal;
  }

  // Waits for so many requests, and returns the last one's.
  HttpResponder Later(size_t count = 1) {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return later_.size() >= count; });
    return later_[count - 1];
  }

  void ForgetLater() {
    std::lock_guard lock(mutex_);
    later_.clear();
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<HttpResponder> later_;
};

// Keeps the server's thread from everything else at /halts, until the test lets it go on.
class HaltingHandler : public EchoHandler {
 public:
  HttpAdmission Admit(const HttpRequest& head) override {
    if (head.path == "/halts") {
      halted_.set_value();
      go_on_.get_future().wait();
    }
    return EchoHandler::Admit(head);
  }

  void WaitUntilItHalts() { halted_.get_future().wait(); }
  void GoOn() { go_on_.set_value(); }

 private:
  std::promise<void> halted_, go_on_;
};

HttpServer::Options Local() { return {.host = "127.0.0.1", .port = 0}; }

std::unique_ptr<HttpServer> StartEcho(const HttpServer::Options& options = Local(),
                                      std::shared_ptr<HttpHandler> handler = std::make_shared<EchoHandler>()) {
  auto server = HttpServer::Start(options, std::move(handler));
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

constexpr std::string_view kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
constexpr std::string_view kGetAndClose = "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

TEST(HttpServer, AHandlersAnswerReachesTheClient) {
  const auto server = StartEcho();
  ASSERT_GT(server->port(), 0);
  const std::string answer =
      Exchange(server->port(), "GET /a/b%21?x=1 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 10\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nGET /a/b! "));
}

TEST(HttpServer, AHandlersStatusIsKept) {
  const auto server = StartEcho();
  EXPECT_THAT(Exchange(server->port(), "GET /busy HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
}

TEST(HttpServer, AHandlerLearnsWhoAsks) {
  const auto server = StartEcho();
  EXPECT_THAT(Exchange(server->port(), "GET /peer HTTP/1.0\r\n\r\n"),
              testing::ContainsRegex("\r\n\r\nipv4:127.0.0.1:[0-9]+$"));
}

TEST(HttpServer, AHandlerFormsTheServersOwnRefusals) {
  const auto server = StartEcho();
  EXPECT_THAT(Exchange(server->port(), "what\r\n\r\n"),
              testing::AllOf(HasSubstr(" 400 "), HasSubstr("X-Refused: yes")));
}

TEST(HttpServer, AHandlerThatThrowsOrForgetsIsAnInternalError) {
  const auto server = StartEcho();
  const std::string answer = Exchange(server->port(), "GET /throws HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(answer, HasSubstr("no such luck"));
  EXPECT_THAT(Exchange(server->port(), "GET /dropped HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 500 "));
}

TEST(HttpServer, AHeadRequestGetsNoBody) {
  const auto server = StartEcho();
  const std::string answer = Exchange(server->port(), "HEAD /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 8\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST(HttpServer, ATakenPortIsAClearError) {
  const auto first = StartEcho();
  const auto second = HttpServer::Start({.host = "127.0.0.1", .port = first->port()}, {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(std::to_string(first->port())));
}

TEST(HttpServer, RequestsInOnePieceAreAnsweredInTheirOrder) {
  const auto server = StartEcho();
  std::string requests;
  for (int i = 0; i < 2000; ++i) absl::StrAppend(&requests, "GET /", i, " HTTP/1.1\r\nHost: h\r\n\r\n");
  Client client(server->port());
  std::thread sender([&] { client.Send(requests + std::string(kGetAndClose)); });
  const std::string answers = client.ReadUntil("");
  sender.join();
  size_t at = 0;
  for (int i = 0; i < 2000; ++i) {
    at = answers.find(absl::StrCat("GET /", i, " "), at);
    ASSERT_NE(at, answers.npos) << i;
  }
  EXPECT_THAT(answers, EndsWith("GET /a "));
}

TEST(HttpServer, ARequestWhoseRestComesWithTheAnswerBeforeIsHandledOnce) {
  const auto handler = std::make_shared<HaltingHandler>();
  const auto server = StartEcho(Local(), handler);
  Client client(server->port()), halts(server->port());
  client.Send("GET /later HTTP/1.1\r\nHost: h\r\n\r\nGET /lat");
  const HttpResponder first = handler->Later();
  halts.Send("GET /halts HTTP/1.1\r\nHost: h\r\n\r\n");
  handler->WaitUntilItHalts();
  first.Answer({.body = "first"});
  client.Send("er HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  handler->GoOn();
  handler->Later(2).Answer({.body = "second"});
  const std::string answers = client.ReadUntil("");
  EXPECT_THAT(answers, HasSubstr("first"));
  EXPECT_THAT(answers, EndsWith("second"));
}

TEST(HttpServer, BodiesComeWhole) {
  const auto server = StartEcho();
  const std::string body(1 << 20, 'b');
  EXPECT_THAT(Exchange(server->port(),
                       absl::StrCat("POST /p HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: ", body.size(),
                                    "\r\n\r\n", body)),
              EndsWith(absl::StrCat("POST /p ", body)));
  EXPECT_THAT(Exchange(server->port(),
                       "POST /p HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: "
                       "chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nhost: t\r\n\r\n"),
              EndsWith("POST /p hello world"));
}

TEST(HttpServer, AClientThatExpectsToContinueIsTold) {
  const auto server = StartEcho();
  Client client(server->port());
  client.Send("POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("hi");
  EXPECT_THAT(client.ReadUntil(""), EndsWith("POST /p hi"));
}

TEST(HttpServer, ABodyThatIsNotWantedIsRefusedBeforeItIsRead) {
  const auto server = StartEcho();
  for (const char* expect : {"", "Expect: 100-continue\r\n"}) {
    const auto refused = [&](const char* path, const char* length) {
      return Exchange(server->port(), absl::StrCat("POST ", path, " HTTP/1.1\r\nHost: h\r\nContent-Length: ", length,
                                                   "\r\n", expect, "\r\n"));
    };
    EXPECT_THAT(refused("/p", "1048577"), StartsWith("HTTP/1.1 413 "));
    EXPECT_THAT(refused("/p", "18446744073709551615"), StartsWith("HTTP/1.1 413 "));
    EXPECT_THAT(refused("/unwanted", "5"), StartsWith("HTTP/1.1 405 "));
  }
  std::string chunks = "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 17; ++i) absl::StrAppend(&chunks, "10000\r\n", std::string(1 << 16, 'c'), "\r\n");
  EXPECT_THAT(Exchange(server->port(), chunks), StartsWith("HTTP/1.1 413 "));
}

TEST(HttpServer, WhatIsNoRequestIsRefused) {
  const auto server = StartEcho();
  const auto status = [&](std::string_view request) { return Exchange(server->port(), request).substr(9, 3); };
  const std::string post = "POST /p HTTP/1.1\r\nHost: h\r\n";
  EXPECT_EQ(status("nonsense\r\n\r\n"), "400");
  EXPECT_EQ(status("GET / HTTP/1.1\r\n\r\n"), "400");
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), "400");
  EXPECT_EQ(status("GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n"), "400");
  EXPECT_EQ(status("GET / HTTP/2.0\r\nHost: h\r\n\r\n"), "400");
  EXPECT_EQ(status("GET / HTTP/1.1\nHost: h\n\n\r\n\r\n"), "400");
  EXPECT_EQ(status(post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "400");
  EXPECT_EQ(status(post + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n"), "400");
  EXPECT_EQ(status(post + "Transfer-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"), "501");
  EXPECT_EQ(status(post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), "501");
  EXPECT_EQ(status(post + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"), "400");
  EXPECT_EQ(status(post + "Content-Length: -1\r\n\r\n"), "400");
  EXPECT_EQ(status(post + "Content-Length: 99999999999999999999\r\n\r\n"), "400");
  EXPECT_EQ(status(post + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n"), "400");
  EXPECT_EQ(status(post + "Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n"), "400");
  EXPECT_EQ(status(post + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nhello\r\n"), "400");
  EXPECT_EQ(status(post + "Expect: tea\r\nContent-Length: 1\r\n\r\n"), "417");
}

TEST(HttpServer, HeadersAreBounded) {
  const auto server = StartEcho();
  EXPECT_THAT(Exchange(server->port(), absl::StrCat("GET / HTTP/1.1\r\nHost: h\r\nX: ", std::string(1 << 20, 'x'))),
              StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(
      Exchange(server->port(), absl::StrCat("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;",
                                            std::string(1 << 20, 'x'))),
      StartsWith("HTTP/1.1 431 "));
}

TEST(HttpServer, AnAnswerMayComeLaterAndFromAnyThread) {
  const auto handler = std::make_shared<EchoHandler>();
  const auto server = StartEcho(Local(), handler);
  Client client(server->port());
  client.Send("GET /later HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const HttpResponder responder = handler->Later();
  EXPECT_THAT(Exchange(server->port(), kGetAndClose), EndsWith("GET /a "));
  std::thread([&] {
    responder.Answer({.body = "first"});
    responder.Answer({.body = "second"});
  }).join();
  EXPECT_THAT(client.ReadUntil(""), EndsWith("\r\n\r\nfirst"));
}

// Lasts at /lasts until the test lets it go on; elsewhere says whether it may work where it is called.
class LastingHandler : public HttpHandler {
 public:
  HttpAdmission Admit(const HttpRequest&) override { return {.max_body_bytes = 1 << 20}; }

  void Handle(HttpRequest request, HttpResponder responder) override {
    if (request.path == "/lasts") {
      began_.set_value();
      go_on_.get_future().wait();
    }
    responder.Answer({.body = absl::StrCat(request.path, responder.may_work_here() ? " may work" : " must not work")});
  }

  void WaitUntilItLasts() { began_.get_future().wait(); }
  void GoOn() { go_on_.set_value(); }

 private:
  std::promise<void> began_, go_on_;
};

TEST(HttpServer, AHandlerThatLastsKeepsNobodyElseWaiting) {
  const auto handler = std::make_shared<LastingHandler>();
  const auto server = StartEcho(Local(), handler);
  Client before(server->port()), lasts(server->port());
  do before.Send(kGet);
  while (!before.ReadUntil(" work").ends_with("may work"));  // until the other thread is there

  lasts.Send("GET /lasts HTTP/1.1\r\nHost: h\r\n\r\n");
  handler->WaitUntilItLasts();
  EXPECT_THAT(Exchange(server->port(), kGetAndClose), EndsWith("/a must not work"));
  before.Send(kGet);
  EXPECT_THAT(before.ReadUntil(" work"), EndsWith("/a must not work"));
  handler->GoOn();
  EXPECT_THAT(lasts.ReadUntil(" work"), EndsWith("/lasts may work"));
  lasts.Send(kGet);
  EXPECT_THAT(lasts.ReadUntil(" work"), HasSubstr("/a "));
}

TEST(HttpServer, ManyClientsThatTakeTurnsAreNoReasonToWorkHere) {
  ActiveClients clients;
  auto now = ActiveClients::Clock::now();
  std::vector<uint64_t> last(16);
  const auto rounds = [&](size_t count, std::chrono::microseconds gap) {
    for (size_t i = 0; i < 100 * count; ++i) last[i % count] = clients.Note(last[i % count], now += gap);
    return clients.few();
  };
  EXPECT_TRUE(rounds(1, std::chrono::microseconds(30)));
  EXPECT_TRUE(rounds(4, std::chrono::microseconds(30)));
  EXPECT_FALSE(rounds(16, std::chrono::microseconds(30)));
  EXPECT_TRUE(rounds(16, std::chrono::microseconds(300)));
  EXPECT_FALSE(rounds(16, std::chrono::microseconds(30)));
  EXPECT_TRUE(rounds(1, std::chrono::microseconds(30)));
}

TEST(HttpServer, AClientMayHangUpAndTheServerEndWhileAHandlerLasts) {
  const auto handler = std::make_shared<LastingHandler>();
  auto server = StartEcho(Local(), handler);
  {
    Client lasts(server->port());
    lasts.Send("GET /lasts HTTP/1.1\r\nHost: h\r\n\r\n");
    handler->WaitUntilItLasts();
  }
  std::thread end([&] { server.reset(); });
  handler->GoOn();
  end.join();
}

TEST(HttpServer, AHandlerHearsThatItsClientHungUp) {
  const auto handler = std::make_shared<EchoHandler>();
  const auto server = StartEcho(Local(), handler);
  Client client(server->port());
  client.Send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
  const HttpResponder responder = handler->Later();
  std::promise<void> gone;
  responder.OnGone([&] { gone.set_value(); });
  client.Close();
  gone.get_future().wait();
  bool at_once = false;
  responder.OnGone([&] { at_once = true; });
  EXPECT_TRUE(at_once);
}

TEST(HttpServer, AClientThatSendsNoMoreIsAnswered) {
  const auto handler = std::make_shared<EchoHandler>();
  const auto server = StartEcho(Local(), handler);
  Client client(server->port());
  client.Send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
  const HttpResponder responder = handler->Later();
  bool gone = false;
  responder.OnGone([&] { gone = true; });
  client.SendNoMore();
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(client.ReadUntil(kContinue), kContinue);
  responder.Answer({.body = "the answer"});
  const std::string answer = client.ReadUntil("");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, EndsWith("the answer"));
  EXPECT_FALSE(gone);
}

TEST(HttpServer, AClientOfHttp10ThatSendsNoMoreIsGone) {
  const auto handler = std::make_shared<EchoHandler>();
  const auto server = StartEcho(Local(), handler);
  Client client(server->port());
  client.Send("GET /later HTTP/1.0\r\n\r\n");
  const HttpResponder responder = handler->Later();
  std::promise<void> gone;
  responder.OnGone([&] { gone.set_value(); });
  client.SendNoMore();
  gone.get_future().wait();
}

TEST(HttpServer, AnAnswerAfterTheServersEndGoesNowhere) {
  const auto handler = std::make_shared<EchoHandler>();
  auto server = StartEcho(Local(), handler);
  Client client(server->port());
  client.Send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
  const HttpResponder responder = handler->Later();
  server.reset();
  responder.Answer({.body = "late"});
  handler->ForgetLater();
  EXPECT_EQ(client.ReadUntil(""), "");
}

TEST(HttpServer, ALargeAnswerOfManyPiecesReachesASlowReader) {
  const auto server = StartEcho();
  Client client(server->port(), 4096);
  client.Send("GET /large HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::string answer = client.ReadUntil("");
  const size_t body = answer.find("\r\n\r\n") + 4;
  EXPECT_EQ(answer.size() - body, (32u << 20) + 8);
  EXPECT_EQ(answer.substr(body, 6), "beginx");
  EXPECT_THAT(answer, EndsWith("xend"));
}

TEST(HttpServer, EveryPhaseOfAConnectionHasItsTime) {
  HttpServer::Options options = Local();
  options.header_time = options.body_time = options.idle_time = options.write_time = std::chrono::milliseconds(300);
  const auto server = StartEcho(options);
  Client silent(server->port()), half(server->port()), body(server->port()), idle(server->port());
  Client never_reads(server->port(), 4096);
  half.Send("GET /a HTTP/1.1\r\nHost:");
  body.Send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
  idle.Send(kGet);
  never_reads.Send("GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(silent.ReadUntil(""), "");
  EXPECT_THAT(half.ReadUntil(""), StartsWith("HTTP/1.1 408 "));
  EXPECT_THAT(body.ReadUntil(""), StartsWith("HTTP/1.1 408 "));
  EXPECT_THAT(idle.ReadUntil(""), EndsWith("GET /a "));
  for (Client* client : {&silent, &half, &body, &idle}) client->Close();
  while (server->connections() > 0) std::this_thread::yield();
  EXPECT_LT(never_reads.ReadUntil("").size(), 32u << 20);
}

TEST(HttpServer, TimeInWhichTheServerStoodStillIsNotItsClients) {
  const auto handler = std::make_shared<HaltingHandler>();
  HttpServer::Options options = Local();
  options.header_time = options.body_time = std::chrono::milliseconds(1'500);
  const auto server = StartEcho(options, handler);
  Client half(server->port()), body(server->port()), halts(server->port());
  half.Send("GET /half HTTP/1.1\r\nHost:");
  body.Send("POST /body HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 4\r\n\r\nab");
  halts.Send("GET /halts HTTP/1.1\r\nHost: h\r\n\r\n");
  handler->WaitUntilItHalts();
  std::this_thread::sleep_for(std::chrono::milliseconds(2'500));
  handler->GoOn();
  EXPECT_THAT(halts.ReadUntil("GET /halts "), StartsWith("HTTP/1.1 200 "));
  // By now the server has looked whose time is over.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  half.Send(" h\r\nConnection: close\r\n\r\n");
  body.Send("cd");
  EXPECT_THAT(half.ReadUntil(""), EndsWith("GET /half "));
  EXPECT_THAT(body.ReadUntil(""), EndsWith("POST /body abcd"));
}

TEST(HttpServer, WhereConnectionsAreManyTheOneThatWaitedLongestGoes) {
  const auto handler = std::make_shared<EchoHandler>();
  HttpServer::Options options = Local();
  options.max_connections = 3;
  const auto server = StartEcho(options, handler);
  Client handled(server->port()), silent(server->port()), half(server->port());
  handled.Send("GET /later HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  half.Send("GET /half HTTP/1.1\r\nHost:");
  const HttpResponder responder = handler->Later();
  while (server->connections() < 3) std::this_thread::yield();

  Client fourth(server->port());
  fourth.Send(kGet);
  EXPECT_THAT(fourth.ReadUntil("GET /a "), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(silent.ReadUntil(""), "");  // closed without an answer
  half.Send(" h\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(half.ReadUntil(""), EndsWith("GET /half "));
  responder.Answer({.body = "kept"});
  EXPECT_THAT(handled.ReadUntil(""), EndsWith("kept"));
}

TEST(HttpServer, UnfinishedBodiesAreBoundedTogether) {
  HttpServer::Options options = Local();
  options.max_unfinished_body_bytes = 100'000;
  const auto server = StartEcho(options);
  Client first(server->port()), second(server->port());
  const std::string head = "POST /p HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 90000\r\n\r\n";
  first.Send(head + std::string(60'000, 'a'));
  second.Send(head + std::string(60'000, 'b'));
  // One of them is refused; that gives the other one its room.
  first.Send(std::string(30'000, 'a'));
  second.Send(std::string(30'000, 'b'));
  const std::string answers = first.ReadUntil("") + second.ReadUntil("");
  EXPECT_THAT(answers, HasSubstr("HTTP/1.1 200 "));
  const std::string third = Exchange(server->port(), head + std::string(90'000, 'c'));
  EXPECT_THAT(third, StartsWith("HTTP/1.1 200 "));
}

TEST(HttpServer, ADrainWaitsForAnswersAndClosesTheRest) {
  const auto handler = std::make_shared<EchoHandler>();
  const auto server = StartEcho(Local(), handler);
  Client handled(server->port()), idle(server->port()), silent(server->port()), body(server->port());
  idle.Send(kGet);
  EXPECT_THAT(idle.ReadUntil("GET /a "), StartsWith("HTTP/1.1 200 "));
  body.Send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_THAT(body.ReadUntil("\r\n\r\n"), StartsWith("HTTP/1.1 100 "));
  handled.Send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
  const HttpResponder responder = handler->Later();
  std::thread drain([&] { server->Drain(std::chrono::steady_clock::now() + std::chrono::hours(1)); });
  EXPECT_EQ(idle.ReadUntil(""), "");
  EXPECT_EQ(silent.ReadUntil(""), "");
  EXPECT_THAT(body.ReadUntil(""), StartsWith("HTTP/1.1 503 "));
  for (Client* client : {&idle, &silent, &body}) client->Close();
  responder.Answer({.body = "last"});
  const std::string answer = handled.ReadUntil("");
  EXPECT_THAT(answer, HasSubstr("Connection: close"));
  EXPECT_THAT(answer, EndsWith("last"));
  handled.Close();
  drain.join();
  const int refused = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(server->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_NE(connect(refused, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  close(refused);
}

TEST(HttpServer, ADrainEndsInTime) {
  const auto handler = std::make_shared<EchoHandler>();
  const auto server = StartEcho(Local(), handler);
  Client handled(server->port());
  handled.Send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
  const HttpResponder responder = handler->Later();
  server->Drain(std::chrono::steady_clock::now());
}

TEST(HttpServer, UnsentAnswersAreBoundedTogether) {
  HttpServer::Options options = Local();
  options.max_unsent_bytes = 40 << 20;
  const auto server = StartEcho(options);
  Client slow(server->port(), 4096);
  slow.Send("GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(slow.ReadByte(), 'H');
  const std::string answer = Exchange(server->port(), "GET /large HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, EndsWith("xend"));
  EXPECT_LT(slow.ReadUntil("").size(), 32u << 20);
}

TEST(HttpServer, ItListensOnIPv6) {
  HttpServer::Options options{.host = "::", .port = 0};
  auto server = HttpServer::Start(options, std::make_shared<EchoHandler>());
  if (!server.ok()) GTEST_SKIP() << server.status();  // a machine without IPv6
  EXPECT_THAT(Exchange((*server)->port(), kGetAndClose), EndsWith("GET /a "));
}

}  // namespace
}  // namespace hearth::server
