# cmake --install: installs the library, the headers, a package for find_package(colock), and a file for pkg-config.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(colock_package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/colock")
set(colock_pc_folder "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

install(
    TARGETS colock
    EXPORT colockTargets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE_1_0.txt" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/colock")
install(EXPORT colockTargets NAMESPACE colock:: DESTINATION "${colock_package_folder}")

configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/colockConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/colockConfig.cmake"
    INSTALL_DESTINATION "${colock_package_folder}"
)
write_basic_package_version_file(
    "${PROJECT_BINARY_DIR}/colockConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion
)
install(
    FILES
        "${PROJECT_BINARY_DIR}/colockConfig.cmake"
        "${PROJECT_BINARY_DIR}/colockConfigVersion.cmake"
    DESTINATION "${colock_package_folder}"
)

# The prefix is relative to the file, so that it is right for `cmake --install --prefix` too. An absolute folder would lead
# out of the prefix.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    message(STATUS "CMAKE_INSTALL_LIBDIR or CMAKE_INSTALL_INCLUDEDIR is absolute: colock.pc is not installed")
else()
    file(RELATIVE_PATH colock_prefix_from_pc "/${colock_pc_folder}" "/")
    string(REGEX REPLACE "/$" "" colock_prefix_from_pc "${colock_prefix_from_pc}")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/colock.pc.in" "${PROJECT_BINARY_DIR}/colock.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/colock.pc" DESTINATION "${colock_pc_folder}")
endif()
