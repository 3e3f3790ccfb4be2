# colock_coverage(target): in a build for coverage, the target's code counts its lines.
#
# Only src/core and its tests are counted, and of core's headers what these use. The object files of what is counted name the build folder, so they come from
# no other clone's ccache; all others do.

include_guard(GLOBAL)

if(COLOCK_COVERAGE)
    add_link_options(--coverage)  # whatever links src/core
endif()

function(colock_coverage target)
    if(COLOCK_COVERAGE)
        target_compile_options(${target} PRIVATE --coverage -fprofile-update=atomic)
    endif()
endfunction()
