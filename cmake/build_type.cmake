# Alone, colock is optimized unless somebody chooses another build type.
#
# Inside another project, the build type is that project's affair. Without one, CMake compiles the whole project without
# optimization, and colock with it. Then colock says so and changes nothing. It does not add -O2 to its own objects: users of
# CMake expect that the build type and the flags are all that decides, for a debugger as much as for a distribution that
# gives its own flags. Whoever gives any -O, or the build type None, has decided.

include_guard(GLOBAL)

if(PROJECT_IS_TOP_LEVEL)
    if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
        set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
    endif()
    return()
endif()

get_property(colock_has_configurations GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
get_directory_property(colock_options COMPILE_OPTIONS)
if(NOT CMAKE_BUILD_TYPE AND NOT colock_has_configurations AND NOT "${CMAKE_CXX_FLAGS} ${colock_options}" MATCHES "(^|[ ;])-O")
    message(
        WARNING
        "colock will be compiled without optimization, because CMAKE_BUILD_TYPE is empty. "
        "For an optimized build, configure ${CMAKE_PROJECT_NAME} with -DCMAKE_BUILD_TYPE=Release. "
        "To keep it as it is without this warning, set CMAKE_BUILD_TYPE to None."
    )
endif()
