// What the thread of an HTTP port that carries its connections has: the sockets' context, the connections by what they
// wait for, and what they all share. For http_server.cpp and http_connection.cpp alone, which are all that includes
// Asio.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "server/http/active_clients.h"
#include "server/http/http_server.h"
#include "server/http/loop_threads.h"
#include "server/security/listening_sockets.h"
#include "server/security/refusal_log.h"

namespace hearth::server {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

class HttpConnection;

// What a connection waits for. Those in one phase form a list, the one that waits longest first.
enum Phase { kHandshake, kHeader, kIdle, kBody, kHandling, kWriting, kLingering, kPhases };

// The way from any thread to the server's, which may have gone.
struct Mailbox {
  std::mutex mutex;
  asio::io_context* context = nullptr;

  void Post(std::function<void()> work) {
    std::lock_guard lock(mutex);
    if (context != nullptr) asio::post(*context, std::move(work));
  }
};

// Belongs to the server's thread, which is the one that carries (loop_threads.h), as all of its members do.
class HttpServer::Loop {
 public:
  Loop(const Options& server_options, std::shared_ptr<HttpHandler> server_handler);

  void Listen(ListeningSockets sockets);
  void Run();
  void Drain(std::chrono::steady_clock::time_point end);
  void Stop();

  // Closes connections that are slowest to take their answers, while the answers of all are more than they may be.
  void BoundUnsent();
  // A connection has closed.
  void Closed();
  // Closes a socket when what is ready now has had its turn: that takes the kernel as long as everything else of a
  // connection that asks for nothing.
  void CloseLater(tcp::socket socket);

  using Connections = std::list<std::shared_ptr<HttpConnection>>;

  const Options options;
  const std::shared_ptr<HttpHandler> handler;
  const int64_t most_connections;
  asio::io_context context{2};
  LoopThreads threads;
  const std::shared_ptr<Mailbox> mailbox = std::make_shared<Mailbox>();
  std::array<Connections, kPhases> phases;
  std::vector<char> scratch = std::vector<char>(64 << 10);  // for what is read next
  ActiveClients clients;
  int64_t unfinished_body_bytes = 0;
  int64_t unsent_bytes = 0;  // of answers that are being written
  bool draining = false;
  RefusalLog refusals;
  std::optional<asio::thread_pool> handshakes;  // one thread, where there is a certificate
  std::atomic<int64_t> open{0};
  int port = 0;

 private:
  void WaitToAccept(tcp::acceptor& acceptor);
  void Accept(tcp::acceptor& acceptor);
  void CloseAcceptors();
  void CloseSome();
  bool CloseLongestWaiting();
  void Sweep();
  // Clients do not answer for time in which nobody was here to see what they send.
  void ExcuseAll(std::chrono::steady_clock::duration time);
  void SweepLater();

  std::array<std::chrono::milliseconds, kPhases> timeouts_;
  std::list<tcp::acceptor> acceptors_;
  std::deque<tcp::socket> to_close_;
  asio::steady_timer accept_timer_{context};
  asio::steady_timer sweep_timer_{context};
  bool running_ = false;
  bool stopping_ = false;
  bool drained_said_ = false;
  std::promise<void> drained_;
};

}  // namespace hearth::server
