// Where exceptions of work for a client become a status: nothing that a client asks for ends the process.
#pragma once

#include <exception>
#include <new>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "jit/support/memory_account.h"
#include "wire/conversion_check.h"

namespace hearth::server {

// The status that `work` returns, or one for what it throws: kResourceExhausted for memory, why a conversion was not
// wanted any more, else kInternal.
template <typename Work>
absl::Status Guarded(Work work) {
  try {
    return work();
  } catch (const MemoryLimitError& error) {
    return absl::ResourceExhaustedError(absl::StrCat("the request ", error.what()));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("the process has no memory for the request");
  } catch (const ConversionEnded& error) {
    return error.why();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("the request failed: ", error.what()));
  }
}

}  // namespace hearth::server
