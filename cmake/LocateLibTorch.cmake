# Finds LibTorch 2.11 and makes the target hearth_torch.
#   HEARTH_LIBTORCH (variable of CMake or of the environment) names its folder: a wheel's torch/ or an unpacked LibTorch.
#   Otherwise it is the one of the environments that scripts/setup links into the tree: they all have the same.
# The folder of a wheel's headers also carries other projects' headers (protobuf, fmt) of versions that clash with the
# system's, so only the four folders that are LibTorch's own are made visible, through links in the build folder.
if(NOT HEARTH_LIBTORCH AND DEFINED ENV{HEARTH_LIBTORCH})
  set(HEARTH_LIBTORCH $ENV{HEARTH_LIBTORCH})
endif()
if(NOT HEARTH_LIBTORCH)
  foreach(environment .venv-serve .venv)
    if(EXISTS ${CMAKE_SOURCE_DIR}/${environment}/libtorch/torch)
      set(HEARTH_LIBTORCH ${CMAKE_SOURCE_DIR}/${environment}/libtorch/torch)
    endif()
  endforeach()
endif()
if(NOT HEARTH_LIBTORCH)
  message(FATAL_ERROR "No LibTorch found. Run scripts/setup, or set HEARTH_LIBTORCH to the folder of a LibTorch 2.11.")
endif()
file(REAL_PATH ${HEARTH_LIBTORCH} HEARTH_LIBTORCH_FOLDER)

if(NOT EXISTS ${HEARTH_LIBTORCH_FOLDER}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "HEARTH_LIBTORCH=${HEARTH_LIBTORCH} has no lib/libtorch_cpu.so.")
endif()
set(version_header ${HEARTH_LIBTORCH_FOLDER}/include/torch/headeronly/version.h)
if(NOT EXISTS ${version_header})
  set(version_header ${HEARTH_LIBTORCH_FOLDER}/include/torch/csrc/api/include/torch/version.h)
endif()
file(STRINGS ${version_header} version_lines REGEX "define TORCH_VERSION_(MAJOR|MINOR) ")
string(REGEX REPLACE "[^0-9]+([0-9]+)[^0-9]+([0-9]+).*" "\\1.\\2" libtorch_version "${version_lines}")
if(NOT libtorch_version STREQUAL "2.11")
  message(FATAL_ERROR "hearth builds against LibTorch 2.11; ${HEARTH_LIBTORCH} is ${libtorch_version}.")
endif()
message(STATUS "LibTorch ${libtorch_version}: ${HEARTH_LIBTORCH_FOLDER}")

set(torch_headers ${CMAKE_BINARY_DIR}/torch_headers)
file(MAKE_DIRECTORY ${torch_headers})
foreach(folder ATen c10 torch caffe2)
  set(link ${torch_headers}/${folder})
  set(target)
  if(IS_SYMLINK ${link})
    file(READ_SYMLINK ${link} target)
  endif()
  if(NOT target STREQUAL ${HEARTH_LIBTORCH_FOLDER}/include/${folder})
    file(CREATE_LINK ${HEARTH_LIBTORCH_FOLDER}/include/${folder} ${link} SYMBOLIC)
  endif()
endforeach()

add_library(hearth_torch INTERFACE)
target_include_directories(hearth_torch SYSTEM INTERFACE ${torch_headers})
target_link_libraries(hearth_torch INTERFACE
  ${HEARTH_LIBTORCH_FOLDER}/lib/libtorch_cpu.so ${HEARTH_LIBTORCH_FOLDER}/lib/libc10.so)
target_link_options(hearth_torch INTERFACE -Wl,--allow-shlib-undefined)

# Headers of CUDA: beside a LibTorch that has all of its companions, or the toolkit's. They come in several packages, of
# which a LibTorch for a CPU has but the runtime's, which cannot be compiled alone. Empty where some are missing.
set(HEARTH_CUDA_HEADERS "")
if(EXISTS ${HEARTH_LIBTORCH_FOLDER}/include/c10/cuda/impl/cuda_cmake_macros.h)
  foreach(folder ${HEARTH_LIBTORCH_FOLDER}/../nvidia/cu13/include /usr/local/cuda/include)
    if(EXISTS ${folder}/cuda_runtime_api.h AND EXISTS ${folder}/crt/host_config.h AND
       EXISTS ${folder}/nv/target AND EXISTS ${folder}/cublasLt.h)
      set(HEARTH_CUDA_HEADERS ${folder})
      break()
    endif()
  endforeach()
endif()
# Those of cuDNN, likewise.
find_path(HEARTH_CUDNN_HEADERS cudnn_graph.h
  PATHS ${HEARTH_LIBTORCH_FOLDER}/../nvidia/cudnn/include NO_DEFAULT_PATH)
if(NOT HEARTH_CUDNN_HEADERS)
  set(HEARTH_CUDNN_HEADERS "")
endif()
