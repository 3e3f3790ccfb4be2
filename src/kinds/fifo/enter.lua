-- The sender becomes the last of a lock's waiters, if it is none of them yet.
--
-- KEYS[1]  the queue of the waiters: see waiters.lua
-- KEYS[2]  the ticket of our client
-- ARGV[1]  the member of the sender in the queue
-- ARGV[2]  how long to keep the ticket, in milliseconds. The queue is kept for at least as long.
-- Returns  the number of the waiter of our client that is directly before it; its own number if nobody is; 0 if a waiter of another
--          client is, or if it was there already

--@include ../look.lua
--@include waiters.lua

local problem = check(KEYS[1], KEYS[2])
if problem then
    return problem
end
return enter(KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2]))
