#include "server/http/http_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/http/http_connection.h"
#include "server/http/http_loop.h"
#include "server/security/listening_sockets.h"
#include "server/security/server_certificate.h"

namespace hearth::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSweep{200};
constexpr std::chrono::milliseconds kRetryAccept{20};
// How long a client that was refused may go on sending before it must read the answer.
constexpr std::chrono::milliseconds kLingerTime{2'000};
constexpr int kAcceptStep = 64;
constexpr size_t kCloseStep = 8;  // sockets, or such a part of all

}  // namespace

HttpServer::Loop::Loop(const Options& server_options, std::shared_ptr<HttpHandler> server_handler)
    : options(server_options),
      handler(std::move(server_handler)),
      most_connections(AllowedConnections(options.max_connections)) {
  timeouts_[kHandshake] = options.handshake_time;
  timeouts_[kHeader] = options.header_time;
  timeouts_[kIdle] = options.idle_time;
  timeouts_[kBody] = options.body_time;
  timeouts_[kHandling] = std::chrono::milliseconds::max();
  timeouts_[kWriting] = options.write_time;
  timeouts_[kLingering] = kLingerTime;
  mailbox->context = &context;
  if (options.certificate != nullptr) handshakes.emplace(1);
}

void HttpServer::Loop::Listen(ListeningSockets sockets) {
  port = sockets.port();
  for (const int descriptor : sockets.Release()) {
    sockaddr address{};
    socklen_t size = sizeof(address);
    (void)getsockname(descriptor, &address, &size);
    acceptors_.emplace_back(context, address.sa_family == AF_INET6 ? tcp::v6() : tcp::v4(), descriptor);
    acceptors_.back().non_blocking(true);
    acceptors_.back().set_option(tcp::no_delay(true));  // what it accepts has it too
  }
}

void HttpServer::Loop::Run() {
  for (tcp::acceptor& acceptor : acceptors_) WaitToAccept(acceptor);
  SweepLater();
  running_ = true;
  threads.Start([this] { return context.run_one() > 0; });
}

void HttpServer::Loop::Stop() {
  if (!running_) return;
  asio::post(context, [this] {
    // A sweep that is due already would not be cancelled.
    stopping_ = true;
    CloseAcceptors();
    sweep_timer_.cancel();
    for (Connections& list : phases) {
      while (!list.empty()) Connections::value_type(list.front())->Close();
    }
    // Under the lock: no post is under way, and none follows.
    std::lock_guard lock(mailbox->mutex);
    mailbox->context = nullptr;
  });
  threads.Join();
  if (!handshakes) return;
  handshakes->stop();
  handshakes->join();
}

void HttpServer::Loop::CloseAcceptors() {
  error_code ignored;
  for (tcp::acceptor& acceptor : acceptors_) (void)acceptor.close(ignored);
  accept_timer_.cancel();
}

void HttpServer::Loop::Drain(std::chrono::steady_clock::time_point end) {
  asio::post(context, [this] {
    CloseAcceptors();
    draining = true;
    std::vector<std::shared_ptr<HttpConnection>> all;
    for (const Connections& list : phases) all.insert(all.end(), list.begin(), list.end());
    for (const auto& connection : all) connection->Drain();
    Closed();
  });
  (void)drained_.get_future().wait_until(end);
}

void HttpServer::Loop::Closed() {
  if (!draining || open > 0 || std::exchange(drained_said_, true)) return;
  drained_.set_value();
}

void HttpServer::Loop::CloseLater(tcp::socket socket) {
  to_close_.push_back(std::move(socket));
  if (to_close_.size() == 1) asio::post(context, [this] { CloseSome(); });
}

void HttpServer::Loop::CloseSome() {
  const size_t count = std::min(std::max(kCloseStep, to_close_.size() / kCloseStep), to_close_.size());
  to_close_.erase(to_close_.begin(), to_close_.begin() + static_cast<std::ptrdiff_t>(count));
  if (!to_close_.empty()) asio::post(context, [this] { CloseSome(); });
}

void HttpServer::Loop::BoundUnsent() {
  // The last in the list is the one that has just begun.
  while (unsent_bytes > options.max_unsent_bytes && phases[kWriting].size() > 1) {
    Connections::value_type(phases[kWriting].front())->Close();
  }
}

void HttpServer::Loop::WaitToAccept(tcp::acceptor& acceptor) {
  acceptor.async_wait(tcp::acceptor::wait_read, [this, &acceptor](const error_code& error) {
    if (!error) Accept(acceptor);
  });
}

void HttpServer::Loop::Accept(tcp::acceptor& acceptor) {
  if (!acceptor.is_open()) return;

  for (int i = 0; i < kAcceptStep; ++i) {
    error_code error;
    tcp::socket socket(context);
    tcp::endpoint peer;
    (void)acceptor.accept(socket, peer, error);
    if (error == asio::error::would_block) break;
    if (error == asio::error::no_descriptors || error == boost::system::errc::too_many_files_open_in_system ||
        error == asio::error::no_buffer_space || error == asio::error::no_memory) {
      CloseLongestWaiting();
      accept_timer_.expires_after(kRetryAccept);
      return accept_timer_.async_wait([this, &acceptor](const error_code&) {
        if (acceptor.is_open()) WaitToAccept(acceptor);
      });
    }
    if (error) continue;  // of a connection that is gone already
    if (open >= most_connections && !CloseLongestWaiting()) continue;
    (void)socket.non_blocking(true, error);
    try {
      auto tls = options.certificate == nullptr ? nullptr : options.certificate->current()->context;
      std::make_shared<HttpConnection>(*this, std::move(socket), peer, std::move(tls))->Start();
    } catch (const std::bad_alloc&) {
      continue;  // the connection closes
    }
  }
  WaitToAccept(acceptor);
}

// Of those that have asked for nothing yet; only if there are none, of those that send or read too slowly. False if
// every connection waits for its answer.
bool HttpServer::Loop::CloseLongestWaiting() {
  for (const auto& group :
       {std::vector<Phase>{kHandshake, kHeader, kIdle, kLingering}, std::vector<Phase>{kBody, kWriting}}) {
    Connections::value_type longest;
    for (const Phase phase : group) {
      if (phases[phase].empty()) continue;
      const auto& first = phases[phase].front();
      if (longest == nullptr || first->since() < longest->since()) longest = first;
    }
    if (longest == nullptr) continue;
    longest->Close();
    return true;
  }
  return false;
}

void HttpServer::Loop::Sweep() {
  const auto now = Clock::now();
  for (size_t phase = 0; phase < kPhases; ++phase) {
    if (timeouts_[phase] == std::chrono::milliseconds::max()) continue;
    while (!phases[phase].empty() && now - phases[phase].front()->since() >= timeouts_[phase]) {
      Connections::value_type(phases[phase].front())->TimeOut();
    }
  }
  SweepLater();
}

void HttpServer::Loop::SweepLater() {
  sweep_timer_.expires_after(kSweep);
  sweep_timer_.async_wait([this](const error_code& cancelled) {
    if (cancelled || stopping_) return;
    // A machine that stands still stops the clients that run on it too.
    if (const auto late = Clock::now() - sweep_timer_.expiry(); late > kSweep) ExcuseAll(late);
    Sweep();
  });
}

void HttpServer::Loop::ExcuseAll(Clock::duration time) {
  for (const Connections& list : phases) {
    for (const auto& connection : list) connection->Excuse(time);
  }
}

HttpServer::HttpServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const Options& options,
                                                              std::shared_ptr<HttpHandler> handler) {
  auto sockets = ListeningSockets::Open(options.host, options.port);
  if (!sockets.ok()) return sockets.status();
  return Start(options, *std::move(sockets), std::move(handler));
}

std::unique_ptr<HttpServer> HttpServer::Start(const Options& options, ListeningSockets sockets,
                                              std::shared_ptr<HttpHandler> handler) {
  auto loop = std::make_unique<Loop>(options, std::move(handler));
  loop->Listen(std::move(sockets));
  loop->Run();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(loop)));
}

void HttpServer::Drain(std::chrono::steady_clock::time_point end) { loop_->Drain(end); }

HttpServer::~HttpServer() { loop_->Stop(); }

int HttpServer::port() const { return loop_->port; }

int64_t HttpServer::connections() const { return loop_->open; }

}  // namespace hearth::server
