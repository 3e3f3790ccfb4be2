# colock_coverage(target): makes the target's code count its lines in a build for coverage.
#
# Only src/core and its tests are counted, and the headers of core that they use. Their object files name the
# build folder, so they never come from another clone's ccache. All other object files may.

include_guard(GLOBAL)

if(COLOCK_COVERAGE)
    add_link_options(--coverage)  # Needed by every program that links src/core.
endif()

function(colock_coverage target)
    if(COLOCK_COVERAGE)
        target_compile_options(${target} PRIVATE --coverage -fprofile-update=atomic)
    endif()
endfunction()
