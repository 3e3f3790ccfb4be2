# colock's own build takes from ccache, where there is one, what was compiled before: also for another clone.
#
# The cache is the user's own (ccache --show-config tells where). A launcher that the user has set stays. The absolute
# paths that would tell one clone from another are kept out of the key: those of the sources and of Boost by
# CCACHE_BASEDIR, which makes them relative, and the build folder that debug information names by CCACHE_NOHASHDIR. A
# program from another clone's cache therefore names that clone's folder in its debug information.
#
# Sources that name an absolute path in a definition miss the cache in another clone: use colock_path_of() for it.

include_guard(GLOBAL)

option(COLOCK_CCACHE "Compile through ccache, if it is installed (for work on colock itself)" ${PROJECT_IS_TOP_LEVEL})

if(COLOCK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(colock_ccache ccache)
    find_program(colock_env env)
    mark_as_advanced(colock_ccache colock_env)
    if(colock_ccache AND colock_env)
        set(
            CMAKE_CXX_COMPILER_LAUNCHER
            "${colock_env}" "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${colock_ccache}"
        )
        message(STATUS "ccache: ${colock_ccache}")
    endif()
endif()
