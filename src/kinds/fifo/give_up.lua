-- Removes a waiter from a lock's queue.
--
-- KEYS[1]  The queue of the waiters: see waiters.lua.
-- KEYS[2]  The ticket of its client.
-- ARGV[1]  Its member in the queue.
-- ARGV[2]  How long to keep the ticket if others wait, in milliseconds.
-- Returns  0.

--@include ../look.lua
--@include waiters.lua

local problem = check(KEYS[1], KEYS[2], ARGV[2])
if problem then
    return problem
end
leave(KEYS[1], KEYS[2], ARGV[1], ARGV[2])
return 0
