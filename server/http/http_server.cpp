#include "server/http/http_server.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/http/request_parser.h"
#include "server/http/status_text.h"

namespace hearth::server {

class HttpConnection;

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

// What a connection waits for. Those in one phase form a list, the one that waits longest first.
enum Phase { kHeader, kIdle, kBody, kHandling, kWriting, kLingering, kPhases };

constexpr std::chrono::milliseconds kSweep{200};
constexpr std::chrono::milliseconds kRetryAccept{20};
// How long, and for how many bytes, a client that was refused may go on sending before it must read the answer.
constexpr std::chrono::milliseconds kLingerTime{2'000};
constexpr size_t kLingerBytes = 16 << 20;
constexpr size_t kScratch = 64 << 10;
constexpr size_t kBodyStep = 256 << 10;  // read of one body before other connections have their turn
constexpr size_t kWriteStep = 1 << 20;
constexpr int kAcceptStep = 64;

int64_t AllowedConnections(int64_t wanted) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return wanted;
  return std::max<int64_t>(1, std::min<int64_t>(wanted, static_cast<int64_t>(files.rlim_cur / 2)));
}

// The way from any thread to the server's, which may have gone.
struct Mailbox {
  std::mutex mutex;
  asio::io_context* context = nullptr;

  void Post(std::function<void()> work) {
    std::lock_guard lock(mutex);
    if (context != nullptr) asio::post(*context, std::move(work));
  }
};

HttpResponse TextAnswer(int status, std::string_view text) {
  return {.status = status, .body = std::string(text) + "\n"};
}

}  // namespace

// Belongs to the server's thread, as all of its members do.
class HttpServer::Loop {
 public:
  Loop(const Options& server_options, std::shared_ptr<HttpHandler> server_handler)
      : options(server_options),
        handler(std::move(server_handler)),
        most_connections(AllowedConnections(options.max_connections)) {
    timeouts[kHeader] = options.header_time;
    timeouts[kIdle] = options.idle_time;
    timeouts[kBody] = options.body_time;
    timeouts[kHandling] = std::chrono::milliseconds::max();
    timeouts[kWriting] = options.write_time;
    timeouts[kLingering] = kLingerTime;
    mailbox->context = &context;
  }

  absl::Status Listen();
  void Run();
  void Stop();

  using Connections = std::list<std::shared_ptr<HttpConnection>>;

  const Options options;
  const std::shared_ptr<HttpHandler> handler;
  const int64_t most_connections;
  asio::io_context context{1};
  const std::shared_ptr<Mailbox> mailbox = std::make_shared<Mailbox>();
  std::array<Connections, kPhases> phases;
  std::vector<char> scratch = std::vector<char>(kScratch);
  int64_t unfinished_body_bytes = 0;
  std::atomic<int64_t> open{0};
  int port = 0;

 private:
  void WaitToAccept();
  void Accept();
  bool CloseLongestWaiting();
  void Sweep();

  std::array<std::chrono::milliseconds, kPhases> timeouts;
  tcp::acceptor acceptor_{context};
  asio::steady_timer accept_timer_{context};
  asio::steady_timer sweep_timer_{context};
  std::thread thread_;
};

class HttpResponder::Pending {
 public:
  Pending(std::shared_ptr<Mailbox> mailbox, std::weak_ptr<HttpConnection> connection)
      : mailbox_(std::move(mailbox)), connection_(std::move(connection)) {}
  ~Pending() { Answer(TextAnswer(500, "the request was dropped")); }

  void Answer(HttpResponse response);
  void OnGone(std::function<void()> gone);
  void Gone();

 private:
  const std::shared_ptr<Mailbox> mailbox_;
  const std::weak_ptr<HttpConnection> connection_;
  std::mutex mutex_;
  bool answered_ = false;
  bool gone_ = false;
  std::function<void()> on_gone_;
};

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(HttpServer::Loop& loop, tcp::socket socket)
      : loop_(loop), socket_(std::move(socket)), parser_(static_cast<size_t>(loop.options.max_header_bytes)) {}

  // Takes its place in its first phase's list and begins to read.
  void Start();
  void Close();
  void TimeOut();
  // Sends the answer to the request that is being handled.
  void Deliver(HttpResponse response);

  Clock::time_point since() const { return since_; }

 private:
  void Enter(Phase phase);
  void WaitToRead();
  void WaitToWrite();
  void Readable();
  void Read();
  void LookForEnd();
  void Drain();
  void Process();
  bool TakeHead();
  void Handle();
  // Answers, and closes the connection behind that.
  void Refuse(HttpResponse response);
  void Send(HttpResponse response);
  void Write();
  void Written();
  void CountBody();

  HttpServer::Loop& loop_;
  tcp::socket socket_;
  RequestParser parser_;
  Phase phase_ = kHeader;
  Clock::time_point since_;
  HttpServer::Loop::Connections::iterator place_;
  bool listed_ = false;
  bool waits_to_read_ = false;
  bool close_ = false;
  bool head_only_ = false;
  size_t drained_ = 0;
  int64_t counted_body_ = 0;
  std::weak_ptr<HttpResponder::Pending> pending_;
  // What is being sent: the head, then the response's own bytes.
  std::string head_;
  HttpResponse response_;
  std::vector<std::string_view> unsent_;
  size_t next_unsent_ = 0;
};

void HttpConnection::Start() {
  loop_.phases[kHeader].push_back(shared_from_this());
  place_ = std::prev(loop_.phases[kHeader].end());
  listed_ = true;
  ++loop_.open;
  Enter(kHeader);
  WaitToRead();
}

void HttpConnection::Enter(Phase phase) {
  auto& list = loop_.phases[phase];
  list.splice(list.end(), loop_.phases[phase_], place_);
  phase_ = phase;
  since_ = Clock::now();
}

void HttpConnection::Close() {
  if (!listed_) return;
  const auto self = shared_from_this();
  listed_ = false;
  loop_.phases[phase_].erase(place_);
  --loop_.open;
  loop_.unfinished_body_bytes -= std::exchange(counted_body_, 0);
  error_code ignored;
  (void)socket_.close(ignored);
  if (const auto pending = pending_.lock()) pending->Gone();
}

void HttpConnection::TimeOut() {
  if (phase_ == kBody || (phase_ == kHeader && parser_.begun())) {
    return Refuse(TextAnswer(408, "the request did not come in time"));
  }
  Close();
}

void HttpConnection::WaitToRead() {
  if (waits_to_read_ || !listed_) return;
  waits_to_read_ = true;
  socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const error_code& error) {
    self->waits_to_read_ = false;
    if (!self->listed_) return;
    if (error) return self->Close();
    self->Readable();
  });
}

void HttpConnection::WaitToWrite() {
  socket_.async_wait(tcp::socket::wait_write, [self = shared_from_this()](const error_code& error) {
    if (!self->listed_) return;
    if (error) return self->Close();
    self->Write();
  });
}

void HttpConnection::Readable() {
  switch (phase_) {
    case kHeader:
    case kIdle:
    case kBody:
      return Read();
    case kHandling:
      return LookForEnd();
    case kLingering:
      return Drain();
    default:
      return;  // what comes while an answer is sent is read afterwards
  }
}

void HttpConnection::Read() {
  error_code error;
  size_t size = 0;
  try {
    if (const size_t left = std::min(parser_.body_left(), kBodyStep); left > 0) {
      size = socket_.read_some(asio::buffer(parser_.BodyRoom(left), left), error);
      parser_.BodyRead(size);
    } else {
      size = socket_.read_some(asio::buffer(loop_.scratch), error);
      parser_.Add({loop_.scratch.data(), size});
    }
  } catch (const std::bad_alloc&) {
    return Refuse(TextAnswer(503, "there is no memory for the request's body"));
  }
  if (error == asio::error::would_block) return WaitToRead();
  if (error) return Close();
  if (phase_ == kIdle) Enter(kHeader);
  if (phase_ == kBody) Enter(kBody);
  Process();
}

// While a request is handled: an end means that nobody waits for the answer any more. The next request's bytes wait in
// the socket.
void HttpConnection::LookForEnd() {
  char byte = 0;
  error_code error;
  (void)socket_.receive(asio::buffer(&byte, 1), tcp::socket::message_peek, error);
  if (error == asio::error::would_block) return WaitToRead();
  if (!error) return;
  if (const auto pending = pending_.lock()) pending->Gone();
}

void HttpConnection::Drain() {
  error_code error;
  drained_ += socket_.read_some(asio::buffer(loop_.scratch), error);
  if ((error && error != asio::error::would_block) || drained_ > kLingerBytes) return Close();
  WaitToRead();
}

void HttpConnection::Process() {
  try {
    while (true) {
      const RequestParser::State state = parser_.Advance();
      CountBody();
      switch (state) {
        case RequestParser::State::kHeader:
          return WaitToRead();
        case RequestParser::State::kHeadDone:
          if (!TakeHead()) return;
          break;
        case RequestParser::State::kBody:
          if (loop_.unfinished_body_bytes > loop_.options.max_unfinished_body_bytes) {
            return Refuse(TextAnswer(503, "too many bytes of unfinished requests wait here"));
          }
          return WaitToRead();
        case RequestParser::State::kDone:
          return Handle();
        case RequestParser::State::kFailed:
          return Refuse(parser_.error());
      }
    }
  } catch (const std::bad_alloc&) {
    Refuse(TextAnswer(503, "there is no memory for the request's body"));
  }
}

// Asks the handler whether it wants the request. False if that has been answered already.
bool HttpConnection::TakeHead() {
  head_only_ = parser_.request().method == "HEAD";
  close_ = !parser_.keep_alive();
  HttpAdmission admission;
  try {
    admission = loop_.handler->Admit(parser_.request());
  } catch (const std::exception& error) {
    admission.refusal = TextAnswer(500, error.what());
  }
  if (admission.refusal) {
    close_ = close_ || parser_.has_body();
    Send(*std::move(admission.refusal));
    return false;
  }
  parser_.ReadBody(admission.max_body_bytes);
  Enter(kBody);
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  if (parser_.expects_continue() && parser_.has_body() && parser_.waiting() == 0 &&
      parser_.Advance() == RequestParser::State::kBody) {
    error_code error;
    // All answers before have been taken, so there is room.
    if (socket_.write_some(asio::buffer(kContinue), error) != kContinue.size()) {
      Close();
      return false;
    }
  }
  return true;
}

void HttpConnection::Handle() {
  Enter(kHandling);
  const auto pending = std::make_shared<HttpResponder::Pending>(loop_.mailbox, weak_from_this());
  pending_ = pending;
  const HttpResponder responder(pending);
  try {
    loop_.handler->Handle(parser_.TakeRequest(), responder);
  } catch (const std::exception& error) {
    responder.Answer(TextAnswer(500, error.what()));
  }
  WaitToRead();
}

// Bodies count until they are handed over.
void HttpConnection::CountBody() {
  const auto size = phase_ == kBody ? static_cast<int64_t>(parser_.request().body.size()) : 0;
  loop_.unfinished_body_bytes += size - std::exchange(counted_body_, size);
}

void HttpConnection::Deliver(HttpResponse response) {
  if (listed_ && phase_ == kHandling) Send(std::move(response));
}

void HttpConnection::Refuse(HttpResponse response) {
  close_ = true;
  Send(std::move(response));
}

void HttpConnection::Send(HttpResponse response) {
  Enter(kWriting);
  CountBody();
  pending_.reset();
  response_ = std::move(response);
  head_ = absl::StrCat("HTTP/1.1 ", response_.status, " ", std::string(StatusText(response_.status)),
                       "\r\nContent-Type: ", response_.content_type, "\r\nContent-Length: ", response_.size(),
                       "\r\nConnection: ", close_ ? "close" : "keep-alive", "\r\n");
  for (const auto& [name, value] : response_.headers) absl::StrAppend(&head_, name, ": ", value, "\r\n");
  head_ += "\r\n";
  unsent_ = {head_};
  if (!head_only_) {
    if (!response_.body.empty()) unsent_.push_back(response_.body);
    for (const HttpPiece& piece : response_.pieces) {
      if (!piece.bytes.empty()) unsent_.push_back(piece.bytes);
    }
  }
  next_unsent_ = 0;
  Write();
}

void HttpConnection::Write() {
  std::array<asio::const_buffer, 16> buffers;  // those that are not needed are empty
  size_t count = 0, size = 0;
  for (size_t i = next_unsent_; i < unsent_.size() && count < buffers.size() && size < kWriteStep; ++i) {
    buffers[count++] = asio::buffer(unsent_[i].data(), std::min(unsent_[i].size(), kWriteStep - size));
    size += buffers[count - 1].size();
  }
  error_code error;
  size_t written = socket_.write_some(buffers, error);
  if (error && error != asio::error::would_block) return Close();
  if (written > 0) Enter(kWriting);
  while (written > 0) {
    std::string_view& first = unsent_[next_unsent_];
    const size_t part = std::min(written, first.size());
    first.remove_prefix(part);
    written -= part;
    if (first.empty()) ++next_unsent_;
  }
  if (next_unsent_ < unsent_.size()) return WaitToWrite();
  Written();
}

void HttpConnection::Written() {
  response_ = HttpResponse();
  head_ = std::string();
  unsent_ = {};
  head_only_ = false;
  if (close_) {
    // Closing a socket that holds unread bytes would take the answer away from the client.
    error_code ignored;
    (void)socket_.shutdown(tcp::socket::shutdown_send, ignored);
    Enter(kLingering);
    return WaitToRead();
  }
  parser_.Next();
  if (!parser_.begun()) {
    Enter(kIdle);
    return WaitToRead();
  }
  Enter(kHeader);
  // Not from here: a thousand requests in one piece would nest as deep.
  asio::post(loop_.context, [self = shared_from_this()] {
    if (self->listed_) self->Process();
  });
}

void HttpResponder::Pending::Answer(HttpResponse response) {
  {
    std::function<void()> dropped;
    std::lock_guard lock(mutex_);
    if (answered_) return;
    answered_ = true;
    dropped.swap(on_gone_);
  }
  mailbox_->Post([connection = connection_, response = std::make_shared<HttpResponse>(std::move(response))] {
    if (const auto open = connection.lock()) open->Deliver(std::move(*response));
  });
}

void HttpResponder::Pending::OnGone(std::function<void()> gone) {
  {
    std::lock_guard lock(mutex_);
    if (answered_) return;
    if (!gone_) {
      on_gone_ = std::move(gone);
      return;
    }
  }
  gone();
}

void HttpResponder::Pending::Gone() {
  std::function<void()> gone;
  {
    std::lock_guard lock(mutex_);
    gone_ = true;
    gone.swap(on_gone_);
  }
  if (gone) gone();
}

void HttpResponder::Answer(HttpResponse response) const { pending_->Answer(std::move(response)); }

void HttpResponder::OnGone(std::function<void()> gone) const { pending_->OnGone(std::move(gone)); }

absl::Status HttpServer::Loop::Listen() {
  const std::string where = absl::StrCat(
      absl::StrContains(options.host, ':') ? absl::StrCat("[", options.host, "]") : options.host, ":", options.port);
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
    return absl::UnavailableError(absl::StrCat("cannot serve HTTP at ", where, ": ", error.code().message()));
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
    if (timeouts[phase] == std::chrono::milliseconds::max()) continue;
    while (!phases[phase].empty() && now - phases[phase].front()->since() >= timeouts[phase]) {
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
