# Compiles through ccache where it is installed, in the cache folder that all checkouts share. The settings make a
# fresh clone in another directory hit: paths below the source tree are hashed relative to it, the working directory
# is not hashed, and files (the precompiled header among them) are known by content, not by time.
find_program(HEARTH_CCACHE ccache)
if(HEARTH_CCACHE)
  if(DEFINED ENV{HEARTH_CACHE})
    set(cache_folder $ENV{HEARTH_CACHE})
  elseif(DEFINED ENV{XDG_CACHE_HOME})
    set(cache_folder $ENV{XDG_CACHE_HOME}/hearth)
  else()
    set(cache_folder $ENV{HOME}/.cache/hearth)
  endif()
  if(DEFINED ENV{CCACHE_DIR})
    set(ccache_folder $ENV{CCACHE_DIR})
  else()
    set(ccache_folder ${cache_folder}/ccache)
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_DIR=${ccache_folder} CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=8G
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${HEARTH_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
