// What hearth-codegen, the helper program that has the compiler, and whoever asks it say to each other over two pipes.
// Numbers are u32, little-endian.
//
//   request  magic "HCQ1"   length of the kernel's text    length of the target's text   the texts
//   answer   magic "HCA1"   0 (an image) or 1 (an error)   length                        the image's or message's bytes
//
// A request is answered before the next one is read. The helper ends with status 0 at the end of its input, and with a
// message and status 1 where a frame is malformed, for then nothing says where the next one begins, and where the
// compiler for a target is missing, which says nothing about the kernel. A kernel or target that it cannot compile is
// an answer.
//
// Functions throw ProtocolError where the other side ended in the middle of a frame or sent a malformed one, and
// std::system_error where the descriptor fails. They block until a frame is through. Who writes to a helper that may
// have ended ignores SIGPIPE.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>

#include "jit/fuser/image/kernel_image.h"

namespace hearth::fuser {

class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The target that is this machine's processor.
inline constexpr char kNativeTarget[] = "native";
inline constexpr size_t kMaxKernelTextBytes = size_t{4} << 20;
inline constexpr size_t kMaxAnswerBytes = 2 * kMaxBlockBytes + (size_t{1} << 20);

struct CodegenRequest {
  std::string kernel;  // the loop IR's text
  std::string target;  // "native", or another text that HostTarget knows, or CudaTarget

  bool operator==(const CodegenRequest&) const = default;
};

struct CodegenAnswer {
  bool ok = false;
  std::string bytes;  // a KernelImage, or what is wrong

  bool operator==(const CodegenAnswer&) const = default;
};

void WriteRequest(int fd, const CodegenRequest& request);
// Nothing at the end of the input.
std::optional<CodegenRequest> ReadRequest(int fd);
void WriteAnswer(int fd, const CodegenAnswer& answer);
CodegenAnswer ReadAnswer(int fd);

}  // namespace hearth::fuser
