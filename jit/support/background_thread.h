// What threads do that work behind the requests' backs. For the calling thread, for as long as it lives: few processes
// may raise a priority again. Threads that it starts have its priority.
#pragma once

namespace hearth {

// The least of the usual priorities: always gets a little, so what it locks it gives back within milliseconds.
void TakeLeastPriority();

// For what somebody waits for, though no request does: of a processor that a request's thread wants, too, it gets about
// a quarter.
void TakeLowPriority();

// Whether the calling thread has taken one of these. What it does is not shared with threads that have more.
bool IsInBackground();

}  // namespace hearth
