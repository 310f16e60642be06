#include "server/http/http_connection.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <exception>
#include <iterator>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/http/status_text.h"
#include "server/security/address.h"

namespace hearth::server {
namespace {

using Clock = std::chrono::steady_clock;

// How much a client that was refused may go on sending before it must read the answer.
constexpr size_t kLingerBytes = 16 << 20;
constexpr size_t kBodyStep = 256 << 10;  // read of one body before other connections have their turn
constexpr size_t kWriteStep = 1 << 20;

HttpResponse TextAnswer(int status, std::string_view text) {
  return {.status = status, .body = std::string(text) + "\n"};
}

// "ipv4:127.0.0.1:40120", as gRPC writes it.
std::string InWords(const tcp::endpoint& peer) {
  return absl::StrCat(peer.address().is_v4() ? "ipv4:" : "ipv6:", Address(peer.address().to_string(), peer.port()));
}

}  // namespace

class HttpResponder::Pending {
 public:
  Pending(std::shared_ptr<Mailbox> mailbox, std::weak_ptr<HttpConnection> connection)
      : mailbox_(std::move(mailbox)), connection_(std::move(connection)) {}
  ~Pending() {
    if (!answered_) Answer(TextAnswer(500, "the request was dropped"));
  }

  void Answer(HttpResponse response);
  void OnGone(std::function<void()> gone);
  void Gone();
  // What the handler has answered by now on the thread that called it: it is sent without a way through the mailbox.
  std::optional<HttpResponse> TakeAnswer();

 private:
  const std::shared_ptr<Mailbox> mailbox_;
  const std::weak_ptr<HttpConnection> connection_;
  std::mutex mutex_;
  bool answered_ = false;
  bool gone_ = false;
  std::function<void()> on_gone_;
  std::thread::id handled_on_ = std::this_thread::get_id();  // until TakeAnswer
  std::optional<HttpResponse> answer_;
};

HttpConnection::HttpConnection(HttpServer::Loop& loop, tcp::socket socket, const tcp::endpoint& peer,
                               std::shared_ptr<SSL_CTX> context)
    : loop_(loop),
      transport_(std::move(socket), std::move(context)),
      peer_(InWords(peer)),
      parser_(static_cast<size_t>(loop.options.max_header_bytes), peer_),
      phase_(transport_.encrypted() ? kHandshake : kHeader) {}

void HttpConnection::Start() {
  loop_.phases[phase_].push_back(shared_from_this());
  place_ = std::prev(loop_.phases[phase_].end());
  listed_ = true;
  ++loop_.open;
  Enter(phase_);
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
  CountUnsent(0);
  wanted_ = false;
  // Else the socket closes when the handshake's thread has let go of it.
  if (!shaking_) loop_.CloseLater(transport_.Release());
  Gone();
  loop_.Closed();
}

void HttpConnection::TimeOut() {
  if (phase_ == kBody || (phase_ == kHeader && parser_.begun())) {
    return Refuse(TextAnswer(408, "the request did not come in time"));
  }
  Close();
}

void HttpConnection::Drain() {
  if (phase_ == kHandling || phase_ == kWriting || phase_ == kLingering) {
    close_ = true;
  } else if (phase_ == kBody || (phase_ == kHeader && parser_.begun())) {
    Refuse(TextAnswer(503, "the server is shutting down"));
  } else {
    Close();
  }
}

void HttpConnection::WaitToRead() {
  if (waits_to_read_ || !listed_) return;
  waits_to_read_ = true;
  const auto go_on = [self = shared_from_this()](const error_code& error) {
    self->waits_to_read_ = false;
    if (!self->listed_) return;
    if (error) return self->Close();
    self->Readable();
  };
  if (transport_.HasUnread()) return asio::post(loop_.context, [go_on] { go_on({}); });
  transport_.socket().async_wait(transport_.waits_to_write() ? tcp::socket::wait_write : tcp::socket::wait_read, go_on);
}

void HttpConnection::WaitToWrite() {
  transport_.socket().async_wait(tcp::socket::wait_write, [self = shared_from_this()](const error_code& error) {
    if (!self->listed_) return;
    if (error) return self->Close();
    self->Write();
  });
}

void HttpConnection::Readable() {
  switch (phase_) {
    case kHandshake:
      return Handshake();
    case kHeader:
    case kIdle:
    case kBody:
      return Read();
    case kHandling:
      return LookForEnd();
    case kLingering:
      return Discard();
    default:
      return;  // what comes while an answer is sent is read afterwards
  }
}

void HttpConnection::Read() {
  error_code error;
  size_t size = 0;
  try {
    if (const size_t left = std::min(parser_.body_left(), kBodyStep); left > 0) {
      size = transport_.ReadSome(parser_.BodyRoom(left), left, error);
      parser_.BodyRead(size);
    } else {
      size = transport_.ReadSome(loop_.scratch.data(), loop_.scratch.size(), error);
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

// While a request is handled: an end means that nobody waits for the answer any more, or that the client has sent its
// last request and waits (RFC 9112, 9.6). An interim answer, which clients of HTTP/1.1 read over, tells one from the
// other: who is gone resets the connection. The next request's bytes wait in the socket.
void HttpConnection::LookForEnd() {
  const error_code error = transport_.LookForEnd();
  if (error == asio::error::would_block) return WaitToRead();
  if (!error || sends_no_more_) return;
  sends_no_more_ = error == asio::error::eof && parser_.takes_interim_answers();
  if (!sends_no_more_ || !SendContinue()) return Gone();
  WaitForReset();
}

void HttpConnection::WaitForReset() {
  transport_.socket().async_wait(tcp::socket::wait_error, [self = shared_from_this()](const error_code& error) {
    if (!error && self->listed_) self->Gone();
  });
}

void HttpConnection::Gone() {
  if (const auto pending = pending_.lock()) pending->Gone();
}

bool HttpConnection::SendContinue() {
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  const asio::const_buffer buffer = asio::buffer(kContinue);
  error_code error;
  // All answers before have been taken, so there is room.
  return transport_.WriteSome({&buffer, 1}, error) == kContinue.size();
}

void HttpConnection::Discard() {
  error_code error;
  discarded_ += transport_.Discard(loop_.scratch, error);
  if ((error && error != asio::error::would_block) || discarded_ > kLingerBytes) return Close();
  WaitToRead();
}

// On a thread of its own: a signature takes as long as a hundred requests, and who asks for one has shown nothing yet.
void HttpConnection::Handshake() {
  shaking_ = true;
  asio::post(*loop_.handshakes, [self = shared_from_this()] {
    const auto progress = self->wanted_ ? self->transport_.Handshake() : Transport::Progress::kFailed;
    asio::post(self->loop_.context, [self, progress] { self->AfterHandshake(progress); });
  });
}

void HttpConnection::AfterHandshake(Transport::Progress progress) {
  shaking_ = false;
  if (!listed_) return loop_.CloseLater(transport_.Release());
  if (progress == Transport::Progress::kFailed) {
    loop_.refusals.Write("a connection", peer_, "no handshake of TLS: " + transport_.failure());
    return Close();
  }
  if (progress == Transport::Progress::kDone) Enter(kHeader);
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
  parser_.ReadBody(admission.max_body_bytes, admission.body_aligned_at);
  Enter(kBody);
  if (parser_.expects_continue() && parser_.has_body() && parser_.waiting() == 0 &&
      parser_.Advance() == RequestParser::State::kBody && !SendContinue()) {
    Close();
    return false;
  }
  return true;
}

void HttpConnection::Handle() {
  Enter(kHandling);
  const auto pending = std::make_shared<HttpResponder::Pending>(loop_.mailbox, weak_from_this());
  pending_ = pending;
  last_request_ = loop_.clients.Note(last_request_, since_);
  const HttpResponder responder(pending, loop_.threads.watched() && loop_.clients.few());
  HttpRequest request = parser_.TakeRequest();
  HttpHandler& handler = *loop_.handler;
  LoopThreads& threads = loop_.threads;
  const uint64_t loan = threads.Lend(since_, [self = shared_from_this(), pending] { self->Handled(*pending); });
  try {
    handler.Handle(std::move(request), responder);
  } catch (const std::exception& error) {
    responder.Answer(TextAnswer(500, error.what()));
  }
  if (threads.TakeBack(loan)) Handled(*pending);
}

void HttpConnection::Handled(HttpResponder::Pending& pending) {
  if (auto answer = pending.TakeAnswer()) return Send(*std::move(answer));
  WaitToRead();
}

// Bodies count until they are handed over.
void HttpConnection::CountBody() {
  const auto size = phase_ == kBody ? static_cast<int64_t>(parser_.request().body.size()) : 0;
  loop_.unfinished_body_bytes += size - std::exchange(counted_body_, size);
}

// An answer counts until all of it is taken.
void HttpConnection::CountUnsent(int64_t size) { loop_.unsent_bytes += size - std::exchange(counted_unsent_, size); }

void HttpConnection::Deliver(HttpResponse response) {
  if (listed_ && phase_ == kHandling) Send(std::move(response));
}

void HttpConnection::Refuse(HttpResponse response) {
  close_ = true;
  Send(loop_.handler->Refusal(std::move(response)));
}

void HttpConnection::Send(HttpResponse response) {
  Enter(kWriting);
  CountBody();
  pending_.reset();
  response_ = std::move(response);
  close_ = close_ || loop_.draining;
  const auto add = [this](const auto&... texts) { (head_.append(texts), ...); };
  add("HTTP/1.1 ", std::to_string(response_.status), " ", StatusText(response_.status));
  add("\r\nContent-Type: ", response_.content_type, "\r\nContent-Length: ", std::to_string(response_.size()));
  add("\r\nConnection: ", close_ ? "close" : "keep-alive", "\r\n");
  for (const auto& [name, value] : response_.headers) add(name, ": ", value, "\r\n");
  add("\r\n");
  unsent_.push_back(head_);
  if (!head_only_) {
    if (!response_.body.empty()) unsent_.push_back(response_.body);
    for (const HttpPiece& piece : response_.pieces) {
      if (!piece.bytes.empty()) unsent_.push_back(piece.bytes);
    }
  }
  next_unsent_ = 0;
  CountUnsent(static_cast<int64_t>(response_.size()));
  loop_.BoundUnsent();
  Write();
}

void HttpConnection::Write() {
  std::array<asio::const_buffer, 16> buffers;
  size_t count = 0, size = 0;
  for (size_t i = next_unsent_; i < unsent_.size() && count < buffers.size() && size < kWriteStep; ++i) {
    buffers[count++] = asio::buffer(unsent_[i].data(), std::min(unsent_[i].size(), kWriteStep - size));
    size += buffers[count - 1].size();
  }
  error_code error;
  size_t written = transport_.WriteSome({buffers.data(), count}, error);
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
  CountUnsent(0);
  response_ = HttpResponse();
  // They keep a little memory, for the next answer.
  head_.clear();
  unsent_.clear();
  head_only_ = false;
  if (close_) {
    // Closing a socket that holds unread bytes would take the answer away from the client.
    transport_.EndWrites();
    Enter(kLingering);
    return WaitToRead();
  }
  parser_.Next();
  if (!parser_.begun()) {
    Enter(kIdle);
    return WaitToRead();
  }
  Enter(kHeader);
  // Not from here: a thousand requests in one piece would nest as deep. More of it may be read before.
  asio::post(loop_.context, [self = shared_from_this()] {
    if (self->listed_ && self->phase_ == kHeader) self->Process();
  });
}

void HttpResponder::Pending::Answer(HttpResponse response) {
  {
    std::function<void()> dropped;
    std::lock_guard lock(mutex_);
    if (answered_) return;
    answered_ = true;
    dropped.swap(on_gone_);
    if (handled_on_ == std::this_thread::get_id()) {
      answer_ = std::move(response);
      return;
    }
  }
  mailbox_->Post([connection = connection_, response = std::make_shared<HttpResponse>(std::move(response))] {
    if (const auto open = connection.lock()) open->Deliver(std::move(*response));
  });
}

std::optional<HttpResponse> HttpResponder::Pending::TakeAnswer() {
  std::lock_guard lock(mutex_);
  handled_on_ = {};
  return std::exchange(answer_, std::nullopt);
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

}  // namespace hearth::server
