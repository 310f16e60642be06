// How jemalloc, which hearthd is linked with (docs/decisions/malloc.md), is to behave; it reads this before main
// begins. A sanitizer's build has another allocator, and nobody reads it there.
//
// - background_thread: threads of jemalloc's own give free memory back to the system, so that no request does.
// - oversize_threshold:0: blocks of 8 MiB and more are kept for a while as smaller ones are. Without it each is given
//   back when it is freed, and a model's next run finds none of its pages.
extern "C" {
__attribute__((visibility("default"))) extern const char* const malloc_conf;
const char* const malloc_conf = "background_thread:true,oversize_threshold:0";
}
