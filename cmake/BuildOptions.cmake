# Warnings, linker, sanitizers: what every target of the tree is compiled with.
set(HEARTH_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined")
option(HEARTH_FUZZ "Build the fuzzers with libFuzzer (clang only)" OFF)

add_compile_options(-Wall -Wextra -Wno-unused-parameter)

# Paths in debug information and __FILE__ are relative to the tree, so that every clone makes the same objects.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)

# LibTorch's headers alone are more than g++ collects garbage at, again and again: a tenth of the build.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(--param=ggc-min-heapsize=524288)
endif()

find_program(HEARTH_MOLD mold)
if(HEARTH_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

if(HEARTH_SANITIZE)
  add_compile_options(-fsanitize=${HEARTH_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HEARTH_SANITIZE})
  if(HEARTH_SANITIZE MATCHES "undefined")
    # Types of LibTorch are made where no type information is emitted for this check.
    add_compile_options(-fno-sanitize=vptr)
    add_link_options(-fno-sanitize=vptr)
  endif()
endif()

if(HEARTH_SANITIZE MATCHES "thread")
  # With the compiler's own macro, Protobuf's map fields get members that those of the installed library do not have.
  add_compile_options(-U__SANITIZE_THREAD__)
  add_compile_definitions(HEARTH_THREAD_SANITIZER)
endif()

if(HEARTH_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
  # LibTorch is built by g++, whose names for constrained templates newer clangs no longer share by default.
  add_compile_options(-fclang-abi-compat=17)
endif()
