# Makes colock's own build use ccache, if it is installed. A source that was compiled before then comes from
# the cache, even in another clone.
#
# The cache is the user's own: see ccache --show-config. A launcher that the user has set stays. Absolute
# paths that differ between clones are kept out of the cache key. CCACHE_BASEDIR makes the paths of the
# sources and of Boost relative. CCACHE_NOHASHDIR leaves out the build folder that debug information names. A
# program from another clone's cache therefore names that clone's folder in its debug information. A check of
# Boost.Test expands __FILE__, which is an absolute path in CMake's groups of sources. -fmacro-prefix-map makes it
# relative.
#
# A source with an absolute path in a definition misses the cache in another clone. Use colock_path_of()
# for such a path.

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
        add_compile_options("-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
        message(STATUS "ccache: ${colock_ccache}")
    endif()
endif()
