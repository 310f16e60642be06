#include "jit/status_of.h"

#include <c10/util/Exception.h>

#include <cerrno>
#include <exception>

#include "jit/archive/mapping.h"
#include "jit/arguments.h"
#include "jit/frontend/errors.h"
#include "jit/support/errors.h"
#include "jit/support/memory_account.h"
#include "jit/support/resource_error.h"

namespace hearth {

absl::Status StatusOf(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const UnknownOperatorError& e) {
    return absl::UnimplementedError(e.what());
  } catch (const CompileError& e) {
    return absl::InvalidArgumentError(e.what());
  } catch (const FileError& e) {
    return e.error_number() == ENOENT ? absl::NotFoundError(e.what()) : absl::InvalidArgumentError(e.what());
  } catch (const ArchiveError& e) {
    return absl::InvalidArgumentError(e.what());
  } catch (const ArgumentError& e) {
    return absl::InvalidArgumentError(e.what());
  } catch (const CancelledError& e) {
    return e.reason() == CancelledError::Reason::kDeadline ? absl::DeadlineExceededError(e.what())
                                                           : absl::CancelledError(e.what());
  } catch (const ResourceError& e) {
    return absl::ResourceExhaustedError(e.what());
  } catch (const MemoryLimitError& e) {
    return absl::ResourceExhaustedError(e.what());
  } catch (const ModelError& e) {
    return absl::InternalError(e.what());
  } catch (const c10::OutOfMemoryError& e) {
    return absl::ResourceExhaustedError(e.what_without_backtrace());
  } catch (const c10::Error& e) {
    return absl::InternalError(e.what_without_backtrace());
  } catch (const std::exception& e) {
    return absl::InternalError(e.what());
  }
}

}  // namespace hearth
