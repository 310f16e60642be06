// What threads do that work behind the requests' backs. For the calling thread.
#pragma once

namespace hearth {

// The least of the usual priorities: always gets a little, so what it locks it gives back within milliseconds.
void TakeLeastPriority();

}  // namespace hearth
