# What `cmake --install BUILD --prefix PREFIX` puts where:
#   bin/                  hearthd, hearth, hearth-codegen, which hearthd starts beside itself, and tritonserver, which is
#                         hearthd for those who start it by that name
#   share/hearth/         sample configurations (config/), the demo's models (demo/), the protocols (proto/)
#   share/doc/hearth/     the documents and the licence
#   lib/systemd/system/   the unit; share/hearth/systemd/ has its drop-ins
#   share/bash-completion/, share/zsh/, share/fish/   completions of `hearth`
#   lib/hearth/           oneDNN; what calls CUDA where a GPU is used
# The programs find LibTorch in PREFIX/lib/hearth, where packages put libraries of their own, and else in
# HEARTH_LIBTORCH_RUN_PATH.
include(GNUInstallDirs)
set(HEARTH_LIBTORCH_RUN_PATH ${HEARTH_LIBTORCH_FOLDER}/lib CACHE STRING
    "Where installed programs look for LibTorch beside PREFIX/lib/hearth; a list. Empty: nowhere else")

set(programs hearthd hearth hearth-codegen)
set_target_properties(${programs} PROPERTIES
  INSTALL_RPATH "$ORIGIN/../lib/hearth;${HEARTH_LIBTORCH_RUN_PATH}")
install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
file(CREATE_LINK hearthd ${CMAKE_BINARY_DIR}/tritonserver SYMBOLIC)
install(FILES ${CMAKE_BINARY_DIR}/tritonserver DESTINATION ${CMAKE_INSTALL_BINDIR})

install(FILES ${HEARTH_ONEDNN_LIBRARY} DESTINATION lib/hearth)
if(TARGET hearth_cuda)
  install(TARGETS hearth_cuda LIBRARY DESTINATION lib/hearth)
endif()
install(FILES ${HEARTH_ONEDNN_FOLDER}/share/doc/onednn/LICENSE
  ${HEARTH_ONEDNN_FOLDER}/share/doc/onednn/THIRD-PARTY-PROGRAMS DESTINATION ${CMAKE_INSTALL_DOCDIR}/onednn)

set(samples ${CMAKE_INSTALL_DATADIR}/hearth)
install(DIRECTORY config/ DESTINATION ${samples}/config)
install(DIRECTORY deploy/demo/models/ DESTINATION ${samples}/demo)
install(DIRECTORY proto/ DESTINATION ${samples}/proto FILES_MATCHING PATTERN *.proto)

install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(DIRECTORY deploy/systemd/ DESTINATION lib/systemd/system FILES_MATCHING PATTERN *.service)
install(DIRECTORY deploy/systemd/ DESTINATION ${samples}/systemd FILES_MATCHING PATTERN *.conf)

# What completes the command line is what the built program says.
function(install_completion shell file folder)
  set(made ${CMAKE_BINARY_DIR}/completions/${file})
  install(CODE "
    file(MAKE_DIRECTORY \"${CMAKE_BINARY_DIR}/completions\")
    execute_process(COMMAND \"$<TARGET_FILE:hearth>\" completion ${shell} OUTPUT_FILE \"${made}\" COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${made} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
endfunction()
install_completion(bash hearth bash-completion/completions)
install_completion(zsh _hearth zsh/vendor-completions)
install_completion(fish hearth.fish fish/vendor_completions.d)
