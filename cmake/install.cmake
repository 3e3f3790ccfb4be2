# cmake --install: installs the archive, the headers, and a package for find_package(colock).

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(colock_package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/colock")

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
