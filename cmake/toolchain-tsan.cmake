# ThreadSanitizer.

set(COLOCK_SANITIZED thread)
set(CMAKE_CXX_FLAGS_INIT "-O1 -g1 -fno-omit-frame-pointer -fsanitize=thread")
