# AddressSanitizer and UndefinedBehaviorSanitizer: the first finding ends the program.

set(COLOCK_SANITIZED address)
set(CMAKE_CXX_FLAGS_INIT
    "-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"
)
