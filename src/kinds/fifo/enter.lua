-- Makes the sender the last of a lock's waiters, unless it is already one of them.
--
-- KEYS[1]  The queue of the waiters: see waiters.lua.
-- KEYS[2]  The ticket of the sender's client.
-- ARGV[1]  The member of the sender in the queue.
-- ARGV[2]  How long to keep the ticket, in milliseconds.
-- Returns  The number of the waiter directly before it, if that waiter is of the same client. The sender's
--          own number if no waiter is before it. Otherwise 0: a waiter of another client is directly before
--          it, or it was already in the queue.

--@include ../look.lua
--@include waiters.lua

local problem = check(KEYS[1], KEYS[2], ARGV[2])
if problem then
    return problem
end
return enter(KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2]))
