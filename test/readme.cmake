# README's examples are those in examples/, to the letter.

file(READ "${SOURCE_DIR}/README.md" readme)
file(READ "${SOURCE_DIR}/examples/quickstart.cpp" example)
string(FIND "${readme}" "```cpp\n${example}```" position)
if(position EQUAL -1)
    message(FATAL_ERROR "The example in README.md is not what stands in examples/quickstart.cpp.")
endif()

# Of the other, all between its includes and its main.
file(READ "${SOURCE_DIR}/examples/shared_mutex.cpp" example)
string(FIND "${example}" "std::string price" begin)
string(FIND "${example}" "\nvoid rethrow" end)
math(EXPR length "${end} - ${begin}")
string(SUBSTRING "${example}" ${begin} ${length} example)
string(FIND "${readme}" "```cpp\n${example}```" position)
if(position EQUAL -1)
    message(FATAL_ERROR "The example of a shared_mutex in README.md is not what stands in examples/shared_mutex.cpp.")
endif()
