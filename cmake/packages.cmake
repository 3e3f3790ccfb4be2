# cpack -G DEB: the Debian package libcolock-dev. It has what `cmake --install` installs.
#
# The preset "deb" builds it. With its prefix, /usr, the archive goes into the folder of the architecture
# (/usr/lib/x86_64-linux-gnu), as in Debian's own packages. With any other prefix it goes into /usr/lib, where
# compilers, CMake and pkg-config find it, too.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME libcolock-dev)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_VENDOR "the colock authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "distributed locks for C++20 coroutines (development files)")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE_1_0.txt")
set(CPACK_STRIP_FILES OFF)
set(CPACK_VERBATIM_VARIABLES ON)
# A umask of whoever builds the package changes nothing.
set(
    CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE
)

if(NOT CPACK_DEBIAN_PACKAGE_MAINTAINER)
    # A maintainer needs an address, and the project has none. Names that end with .invalid never lead anywhere.
    set(CPACK_DEBIAN_PACKAGE_MAINTAINER "the colock authors <noreply@colock.invalid>")
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)  # there is no shared library and no program
# CPack puts the summary before it, and indents it.
set(
    CPACK_DEBIAN_PACKAGE_DESCRIPTION
"colock is a C++20 library of distributed locks on Redis and Valkey. A coroutine
of Boost.Asio waits for a lock with co_await. The locks follow the Redlock
algorithm: a majority of the servers has to grant a lock.

This package has the static library, the headers, and the files for CMake and
pkg-config. Build your program with the version of Boost that it depends on."
)

# A program must be compiled with the version of Boost that the archive was compiled with. So a newer one does not do. Of
# `A | B (>= 1.92), A | B (<< 1.93)` the sense is: A, or a version of B from 1.92 to before 1.93. Debian's package of one
# version is A, and the package that leads to Debian's default version is B.
set(boost "${Boost_VERSION_MAJOR}.${Boost_VERSION_MINOR}")
math(EXPR next_minor "${Boost_VERSION_MINOR} + 1")
set(depends)
foreach(part IN ITEMS "" "-url")
    foreach(bound IN ITEMS ">= ${boost}" "<< ${Boost_VERSION_MAJOR}.${next_minor}~")
        list(APPEND depends "libboost${part}${boost}-dev | libboost${part}-dev (${bound})")
    endforeach()
endforeach()
list(APPEND depends "libssl-dev (>= 3.0)")
list(JOIN depends ", " CPACK_DEBIAN_PACKAGE_DEPENDS)

# Debian wants the licence under this name. `cmake --install` leaves it out, and cpack installs it as a second component.
install(
    FILES "${PROJECT_SOURCE_DIR}/LICENSE_1_0.txt"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${CPACK_PACKAGE_NAME}"
    RENAME copyright
    COMPONENT deb EXCLUDE_FROM_ALL
)
set(
    CPACK_INSTALL_CMAKE_PROJECTS
    "${PROJECT_BINARY_DIR}" "${PROJECT_NAME}" ALL / "${PROJECT_BINARY_DIR}" "${PROJECT_NAME}" deb /
)

include(CPack)
