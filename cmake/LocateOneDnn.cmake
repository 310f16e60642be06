# Finds oneDNN 3.2, which scripts/setup installs from PyPI, and makes the target hearth_onednn.
#   HEARTH_ONEDNN (variable of CMake or of the environment) names a folder with its include/ and lib/.
# LibTorch has a oneDNN of its own inside and shows nobody its functions.
if(NOT HEARTH_ONEDNN AND DEFINED ENV{HEARTH_ONEDNN})
  set(HEARTH_ONEDNN $ENV{HEARTH_ONEDNN})
endif()
if(NOT HEARTH_ONEDNN)
  set(HEARTH_ONEDNN ${CMAKE_SOURCE_DIR}/.onednn)
endif()
file(REAL_PATH ${HEARTH_ONEDNN} HEARTH_ONEDNN_FOLDER)
set(HEARTH_ONEDNN_LIBRARY ${HEARTH_ONEDNN_FOLDER}/lib/libdnnl.so.3)
if(NOT EXISTS ${HEARTH_ONEDNN_LIBRARY})
  message(FATAL_ERROR "No oneDNN: ${HEARTH_ONEDNN_LIBRARY} is not there. Run scripts/setup, or set HEARTH_ONEDNN.")
endif()
message(STATUS "oneDNN: ${HEARTH_ONEDNN_FOLDER}")

add_library(hearth_onednn INTERFACE)
target_include_directories(hearth_onednn SYSTEM INTERFACE ${HEARTH_ONEDNN_FOLDER}/include)
# After LibTorch, whose OpenMP is then the one that both use.
target_link_libraries(hearth_onednn INTERFACE hearth_torch ${HEARTH_ONEDNN_LIBRARY})
