#include "server/http/http_message.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace hearth::server {

HttpBody& HttpBody::operator=(HttpBody&& other) noexcept {
  data_ = std::move(other.data_);
  size_ = std::exchange(other.size_, 0);
  capacity_ = std::exchange(other.capacity_, 0);
  skipped_ = std::exchange(other.skipped_, 0);
  return *this;
}

char* HttpBody::Room(size_t size) {
  const size_t end = skipped_ + size_;
  if (capacity_ < end + size) {
    const size_t capacity = std::max(end + size, 2 * capacity_);
    char* moved = static_cast<char*>(std::realloc(data_.get(), capacity));
    if (moved == nullptr) throw std::bad_alloc();
    (void)data_.release();
    data_.reset(moved);
    capacity_ = capacity;
  }
  return data_.get() + end;
}

void HttpBody::Append(std::string_view bytes) {
  if (bytes.empty()) return;
  std::memcpy(Room(bytes.size()), bytes.data(), bytes.size());
  Grow(bytes.size());
}

const std::string* HttpRequest::Header(std::string_view name) const {
  const auto found = std::ranges::find_if(headers, [name](const auto& header) { return header.first == name; });
  return found == headers.end() ? nullptr : &found->second;
}

std::string HttpRequest::AllOf(std::string_view name) const {
  std::string all;
  for (const auto& [header, value] : headers) {
    if (header != name) continue;
    if (!all.empty()) all += ',';
    all += value;
  }
  return all;
}

size_t HttpResponse::size() const {
  size_t size = body.size();
  for (const HttpPiece& piece : pieces) size += piece.bytes.size();
  return size;
}

}  // namespace hearth::server
