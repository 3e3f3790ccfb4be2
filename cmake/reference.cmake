# Defines the target `reference`: HTML pages of the public headers, in html/ of the build folder.
#
# Doxygen also checks the comments. A public entity without documentation fails the build, and
# so does a warning.

include_guard(GLOBAL)

find_package(Doxygen 1.9.4 REQUIRED)

configure_file("${PROJECT_SOURCE_DIR}/docs/reference/Doxyfile.in" "${PROJECT_BINARY_DIR}/Doxyfile" @ONLY)
add_custom_target(
    reference ALL
    COMMAND "${CMAKE_COMMAND}" -E rm -rf "${PROJECT_BINARY_DIR}/html"
    COMMAND Doxygen::doxygen "${PROJECT_BINARY_DIR}/Doxyfile"
    COMMENT "Writing the reference to ${PROJECT_BINARY_DIR}/html/index.html"
    VERBATIM
)
