// Work that is shared by as many threads as the operator that calls has (operator_threads.h), the calling one and
// others of worker_threads.h. at::parallel_for is a template that does so only in code that was compiled with OpenMP,
// and runs everything on the calling thread in any other.
#pragma once

#include <c10/util/FunctionRef.h>

#include <cstdint>

namespace hearth {

// Whether so many threads, if they are awake, are done sooner with work that takes one of them about so long.
constexpr bool IsWorthSharing(double nanoseconds, int threads) {
  constexpr double kLeastSaved = 9'000;
  return nanoseconds - nanoseconds / threads >= kLeastSaved;
}

// How many threads may share work that takes one of them about so long: all that the calling thread's operators have,
// or, where that is not worth it, inside of shared work and in the background (background_thread.h), one.
int ThreadsFor(double nanoseconds);

// Into what to divide work: parts, of which a thread has one, and the pieces of a part. These lie close to each other,
// and a thread takes those of its part one after the other; those that are left of a thread's that begins late, or has
// to share its processor, are taken by others.
struct WorkDivision {
  int parts = 1;
  int pieces_of_part = 1;
};
// Of work that takes one thread about so long: a part for each of ThreadsFor, fewer where these would be very short, in
// more pieces the longer they are.
WorkDivision DivisionFor(double nanoseconds);

// Calls `work` with pieces of [0, count) that do not overlap, at the same time on the threads that the calling thread's
// operators have, and returns when all are done. `nanoseconds` is about how long one of the `count` takes on one
// thread; where ThreadsFor all of them is one, the calling thread does them in one piece. Each thread has the same part
// of the whole as in other calls with as many threads, and pieces of others' parts that are left when it is done with
// its own; how many threads work is another number in each call. Throws what `work` throws; pieces that have not begun
// are then left out.
void ParallelFor(int64_t count, double nanoseconds, c10::function_ref<void(int64_t begin, int64_t end)> work);

}  // namespace hearth
