#include "jit/fuser/image/codegen_protocol.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace hearth::fuser {
namespace {

class Pipe {
 public:
  Pipe() {
    if (pipe(ends_) != 0) throw std::runtime_error("no pipe");
  }
  ~Pipe() {
    close(ends_[0]);
    CloseWriteEnd();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void CloseWriteEnd() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  // All that a reader will see.
  void Contain(const std::string& bytes) {
    ASSERT_EQ(write(write_end(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    CloseWriteEnd();
  }

 private:
  int ends_[2] = {-1, -1};
};

TEST(CodegenProtocolTest, FramesArriveAsTheyWereSent) {
  // Larger than a pipe holds, so that both sides go in steps.
  const CodegenRequest request{.kernel = std::string(300000, 'k'), .target = "native"};
  const CodegenAnswer answer{.ok = true, .bytes = std::string(500000, '\0')};
  const CodegenAnswer error{.ok = false, .bytes = ""};
  Pipe pipe;
  std::thread writer([&] {
    WriteRequest(pipe.write_end(), request);
    WriteRequest(pipe.write_end(), {});
    WriteAnswer(pipe.write_end(), answer);
    WriteAnswer(pipe.write_end(), error);
    pipe.CloseWriteEnd();
  });
  EXPECT_EQ(ReadRequest(pipe.read_end()), request);
  EXPECT_EQ(ReadRequest(pipe.read_end()), CodegenRequest{});
  EXPECT_EQ(ReadAnswer(pipe.read_end()), answer);
  EXPECT_EQ(ReadAnswer(pipe.read_end()), error);
  EXPECT_EQ(ReadRequest(pipe.read_end()), std::nullopt);
  EXPECT_THROW(ReadAnswer(pipe.read_end()), ProtocolError);
  writer.join();
}

TEST(CodegenProtocolTest, AFrameThatIsCutOffIsRejectedWhereverThatIs) {
  const std::string frame("HCQ1\3\0\0\0\2\0\0\0abcde", 17);
  for (size_t size = 1; size < frame.size(); ++size) {
    Pipe pipe;
    pipe.Contain(frame.substr(0, size));
    EXPECT_THROW(ReadRequest(pipe.read_end()), ProtocolError) << size;
  }
  Pipe pipe;
  pipe.Contain(frame);
  EXPECT_EQ(ReadRequest(pipe.read_end()), (CodegenRequest{.kernel = "abc", .target = "de"}));
}

TEST(CodegenProtocolTest, FramesThatAreTooLongOrOfAnotherKindAreRejected) {
  for (const std::string& frame : {std::string("HCQ1\0\0\0\xff\0\0\0\0", 12), std::string("HCQ1\0\0\0\0\0\0\0\xff", 12),
                                   std::string("HCA1\0\0\0\0\0\0\0\0", 12), std::string("garbage, and more of it")}) {
    Pipe pipe;
    pipe.Contain(frame);
    EXPECT_THROW(ReadRequest(pipe.read_end()), ProtocolError);
  }
  for (const std::string& frame :
       {std::string("HCA1\2\0\0\0\0\0\0\0", 12), std::string("HCA1\0\0\0\0\0\0\0\xff", 12)}) {
    Pipe pipe;
    pipe.Contain(frame);
    EXPECT_THROW(ReadAnswer(pipe.read_end()), ProtocolError);
  }
  EXPECT_THROW(WriteRequest(-1, {.kernel = std::string(kMaxKernelTextBytes + 1, 'k'), .target = ""}), ProtocolError);
}

}  // namespace
}  // namespace hearth::fuser
