// Work that is shared by as many threads as the operator that calls has (operator_threads.h), the calling one and
// others of worker_threads.h. at::parallel_for is a template that does so only in code that was compiled with OpenMP,
// and runs everything on the calling thread in any other.
#pragma once

#include <c10/util/FunctionRef.h>

#include <cstdint>

namespace hearth {

// Work that takes one thread less, in nanoseconds, is not shared.
inline constexpr double kWorthSharing = 20'000;

// How many threads may share work that takes one of them about so long: all that the calling thread's operators have,
// or, where it is too short to be shared, and inside of shared work, one.
int ThreadsFor(double nanoseconds);

// Into how many parts to divide work that takes one thread about so long, where each part is taken by one thread: one,
// or one for each of ThreadsFor, or where these are long a few times as many, as a thread that begins late, or has to
// share its processor, leaves its own to others.
int PartsFor(double nanoseconds);

// Calls `work` with pieces of [0, count) that do not overlap, at the same time on the threads that the calling thread's
// operators have, and returns when all are done. `nanoseconds` is about how long one of the `count` takes on one
// thread; where ThreadsFor all of them is one, the calling thread does them in one piece. Which thread does which
// piece, and how many of them work, is another in each call. Throws what `work` throws; pieces that have not begun are
// then left out.
void ParallelFor(int64_t count, double nanoseconds, c10::function_ref<void(int64_t begin, int64_t end)> work);

}  // namespace hearth
