-- One of a lock's waiters leaves.
--
-- KEYS[1]  the queue of the waiters: see waiters.lua
-- KEYS[2]  the ticket of its client
-- ARGV[1]  its member in the queue
-- ARGV[2]  how long to keep the ticket if others wait, in milliseconds
-- Returns  0

--@include ../look.lua
--@include waiters.lua

local problem = check(KEYS[1], KEYS[2])
if problem then
    return problem
end
leave(KEYS[1], KEYS[2], ARGV[1], ARGV[2])
return 0
