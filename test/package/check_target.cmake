# Included by the consumers. Only C++20, headers and libraries come with colock::colock.

get_target_property(target colock::colock ALIASED_TARGET)
if(NOT target)
    set(target colock::colock)
endif()

foreach(property IN ITEMS INTERFACE_COMPILE_OPTIONS INTERFACE_COMPILE_DEFINITIONS INTERFACE_LINK_OPTIONS)
    get_target_property(value ${target} ${property})
    if(value)
        message(FATAL_ERROR "colock::colock leaks ${property} into its consumers: ${value}")
    endif()
endforeach()

get_target_property(features ${target} INTERFACE_COMPILE_FEATURES)
if(NOT "cxx_std_20" IN_LIST features)
    message(FATAL_ERROR "colock::colock does not ask for C++20")
endif()

get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
foreach(library IN LISTS libraries)
    if(library MATCHES "^(nlohmann|colock_|OpenSSL|Boost::url)")   # Linking alone needs $<LINK_ONLY:...>.
        message(FATAL_ERROR "colock::colock hands ${library} to its consumers")
    endif()
endforeach()
