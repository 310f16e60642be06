#include "jit/fuser/image/codegen_protocol.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <system_error>

namespace hearth::fuser {
namespace {

struct FrameHeader {
  char magic[4];
  uint32_t first;
  uint32_t second;
};
static_assert(sizeof(FrameHeader) == 12);

constexpr std::string_view kRequestMagic = "HCQ1";
constexpr std::string_view kAnswerMagic = "HCA1";

// Fewer bytes than asked for at the end of the input.
size_t ReadUpTo(int fd, char* data, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = read(fd, data + done, size - done);
    if (got == 0) break;
    if (got > 0) {
      done += static_cast<size_t>(got);
    } else if (errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "reading a frame");
    }
  }
  return done;
}

std::string ReadBytes(int fd, size_t size) {
  std::string bytes(size, '\0');
  if (ReadUpTo(fd, bytes.data(), size) != size) throw ProtocolError("the input ends within a frame");
  return bytes;
}

void WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put >= 0) {
      bytes.remove_prefix(static_cast<size_t>(put));
    } else if (errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "writing a frame");
    }
  }
}

std::string FrameOf(std::string_view magic, size_t first, size_t second) {
  FrameHeader header{};
  std::memcpy(header.magic, magic.data(), sizeof(header.magic));
  header.first = static_cast<uint32_t>(first);
  header.second = static_cast<uint32_t>(second);
  return {reinterpret_cast<const char*>(&header), sizeof(header)};
}

std::optional<FrameHeader> ReadHeader(int fd, std::string_view magic) {
  FrameHeader header{};
  const size_t got = ReadUpTo(fd, reinterpret_cast<char*>(&header), sizeof(header));
  if (got == 0) return std::nullopt;
  if (got != sizeof(header)) throw ProtocolError("the input ends within a frame");
  if (std::string_view(header.magic, sizeof(header.magic)) != magic) throw ProtocolError("a frame begins wrongly");
  return header;
}

void CheckLength(size_t length, size_t most) {
  if (length > most) throw ProtocolError("a frame is too long");
}

}  // namespace

void WriteRequest(int fd, const CodegenRequest& request) {
  CheckLength(request.kernel.size(), kMaxKernelTextBytes);
  CheckLength(request.target.size(), kMaxTargetBytes);
  WriteAll(fd, FrameOf(kRequestMagic, request.kernel.size(), request.target.size()) + request.kernel + request.target);
}

std::optional<CodegenRequest> ReadRequest(int fd) {
  const auto header = ReadHeader(fd, kRequestMagic);
  if (!header) return std::nullopt;
  CheckLength(header->first, kMaxKernelTextBytes);
  CheckLength(header->second, kMaxTargetBytes);
  CodegenRequest request;
  request.kernel = ReadBytes(fd, header->first);
  request.target = ReadBytes(fd, header->second);
  return request;
}

void WriteAnswer(int fd, const CodegenAnswer& answer) {
  CheckLength(answer.bytes.size(), kMaxAnswerBytes);
  WriteAll(fd, FrameOf(kAnswerMagic, answer.ok ? 0 : 1, answer.bytes.size()) + answer.bytes);
}

CodegenAnswer ReadAnswer(int fd) {
  const auto header = ReadHeader(fd, kAnswerMagic);
  if (!header) throw ProtocolError("no answer: the helper has ended");
  if (header->first > 1) throw ProtocolError("an answer is neither an image nor an error");
  CheckLength(header->second, kMaxAnswerBytes);
  return {.ok = header->first == 0, .bytes = ReadBytes(fd, header->second)};
}

}  // namespace hearth::fuser
