// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_DETAIL_EXPORT_HPP
#define COLOCK_DETAIL_EXPORT_HPP

// The library is compiled with hidden visibility, so libcolock.so exports only what has this macro. The static library has
// it too. If a program and one of its shared libraries contain colock, both then use the same functions and exceptions.

#define COLOCK_EXPORT [[gnu::visibility("default")]]

#endif
