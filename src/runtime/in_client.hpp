// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_IN_CLIENT_HPP
#define COLOCK_RUNTIME_IN_CLIENT_HPP

#include <boost/intrusive/list_hook.hpp>

namespace colock::runtime {

/// The hook of a member of a client, for a list of `client_context::members`.
using in_client =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct members>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

}  // namespace colock::runtime

#endif
