// Feeds any bytes to what reads files of recordings; answers that are read are compared with themselves, which may be
// refused and may not differ.
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/answer_difference.h"
#include "cli/record_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hearth;
  const auto contents = cli::ReadRecordContents({reinterpret_cast<const char*>(data), size});
  if (!contents.ok()) return 0;
  uint64_t before = 0;
  for (const cli::RecordContents::Item& item : contents->items) {
    v1::RecordPart part;
    if (!part.ParseFromArray(item.message.data(), static_cast<int>(item.message.size())) || !part.has_request()) {
      std::abort();
    }
    if (item.arrival_ns < before) std::abort();
    before = item.arrival_ns;
    const std::string& answer = part.request().answer();
    const grpc::Slice slice(answer);
    const auto difference = cli::CompareAnswers(part.request().method(), answer, grpc::ByteBuffer(&slice, 1), 0);
    if (difference.ok() && !difference->text.empty()) std::abort();
  }
  return 0;
}
