# README's example is examples/quickstart.cpp, to the letter.

file(READ "${SOURCE_DIR}/README.md" readme)
file(READ "${SOURCE_DIR}/examples/quickstart.cpp" example)
string(FIND "${readme}" "```cpp\n${example}```" position)
if(position EQUAL -1)
    message(FATAL_ERROR "The example in README.md is not what stands in examples/quickstart.cpp.")
endif()
