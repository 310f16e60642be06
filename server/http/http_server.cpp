#include "server/http/http_server.h"

#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/http/address.h"
#include "server/http/http_connection.h"
#include "server/http/http_loop.h"

namespace hearth::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSweep{200};
constexpr std::chrono::milliseconds kRetryAccept{20};
// How long a client that was refused may go on sending before it must read the answer.
constexpr std::chrono::milliseconds kLingerTime{2'000};
constexpr int kAcceptStep = 64;

int64_t AllowedConnections(int64_t wanted) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return wanted;
  return std::max<int64_t>(1, std::min<int64_t>(wanted, static_cast<int64_t>(files.rlim_cur / 2)));
}

}  // namespace

HttpServer::Loop::Loop(const Options& server_options, std::shared_ptr<HttpHandler> server_handler)
    : options(server_options),
      handler(std::move(server_handler)),
      most_connections(AllowedConnections(options.max_connections)) {
  timeouts_[kHeader] = options.header_time;
  timeouts_[kIdle] = options.idle_time;
  timeouts_[kBody] = options.body_time;
  timeouts_[kHandling] = std::chrono::milliseconds::max();
  timeouts_[kWriting] = options.write_time;
  timeouts_[kLingering] = kLingerTime;
  mailbox->context = &context;
}

absl::Status HttpServer::Loop::Listen() {
  try {
    tcp::resolver resolver(context);
    const tcp::endpoint endpoint =
        *resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive).begin();
    acceptor_.open(endpoint.protocol());
    acceptor_.set_option(tcp::acceptor::reuse_address(true));
    acceptor_.bind(endpoint);
    acceptor_.listen();
    acceptor_.non_blocking(true);
    port = acceptor_.local_endpoint().port();
  } catch (const boost::system::system_error& error) {
    return absl::UnavailableError(
        absl::StrCat("cannot serve HTTP at ", Address(options.host, options.port), ": ", error.code().message()));
  }
  return absl::OkStatus();
}

void HttpServer::Loop::Run() {
  WaitToAccept();
  Sweep();
  thread_ = std::thread([this] { context.run(); });
}

void HttpServer::Loop::Stop() {
  if (!thread_.joinable()) return;
  asio::post(context, [this] {
    error_code ignored;
    (void)acceptor_.close(ignored);
    accept_timer_.cancel();
    sweep_timer_.cancel();
    for (Connections& list : phases) {
      while (!list.empty()) Connections::value_type(list.front())->Close();
    }
    // Under the lock: no post is under way, and none follows.
    std::lock_guard lock(mailbox->mutex);
    mailbox->context = nullptr;
  });
  thread_.join();
}

void HttpServer::Loop::WaitToAccept() {
  acceptor_.async_wait(tcp::acceptor::wait_read, [this](const error_code& error) {
    if (!error) Accept();
  });
}

void HttpServer::Loop::Accept() {
  for (int i = 0; i < kAcceptStep; ++i) {
    error_code error;
    tcp::socket socket(context);
    (void)acceptor_.accept(socket, error);
    if (error == asio::error::would_block) break;
    if (error == asio::error::no_descriptors || error == boost::system::errc::too_many_files_open_in_system ||
        error == asio::error::no_buffer_space || error == asio::error::no_memory) {
      CloseLongestWaiting();
      accept_timer_.expires_after(kRetryAccept);
      return accept_timer_.async_wait([this](const error_code& cancelled) {
        if (!cancelled) WaitToAccept();
      });
    }
    if (error) continue;  // of a connection that is gone already
    if (open >= most_connections && !CloseLongestWaiting()) continue;
    (void)socket.non_blocking(true, error);
    (void)socket.set_option(tcp::no_delay(true), error);
    std::make_shared<HttpConnection>(*this, std::move(socket))->Start();
  }
  WaitToAccept();
}

// Of those that have asked for nothing yet; only if there are none, of those that send or read too slowly. False if
// every connection waits for its answer.
bool HttpServer::Loop::CloseLongestWaiting() {
  for (const auto& group : {std::vector<Phase>{kHeader, kIdle, kLingering}, std::vector<Phase>{kBody, kWriting}}) {
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
  sweep_timer_.expires_after(kSweep);
  sweep_timer_.async_wait([this](const error_code& cancelled) {
    if (!cancelled) Sweep();
  });
}

HttpServer::HttpServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const Options& options,
                                                              std::shared_ptr<HttpHandler> handler) {
  auto loop = std::make_unique<Loop>(options, std::move(handler));
  if (absl::Status status = loop->Listen(); !status.ok()) return status;
  loop->Run();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(loop)));
}

HttpServer::~HttpServer() { loop_->Stop(); }

int HttpServer::port() const { return loop_->port; }

int64_t HttpServer::connections() const { return loop_->open; }

}  // namespace hearth::server
