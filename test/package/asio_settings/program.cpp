// A program of a user, as far as check.sh needs it.

#include <colock/detail/asio_settings.hpp>

int main() {}
