-- Acquires a lock's key if it is free, and no living waiter of another client is before those of this client.
-- Otherwise the sender becomes the last waiter, if it waits and is not in the queue yet.
--
-- KEYS[1]  The key.
-- KEYS[2]  The queue of its waiters: see waiters.lua.
-- KEYS[3]  The ticket of the sender's client.
-- ARGV[1]  The token.
-- ARGV[2]  The ttl of the key, in milliseconds.
-- ARGV[3]  The member of the sender in the queue.
-- ARGV[4]  How long to keep the ticket, in milliseconds. Negative if the sender does not wait.
-- Returns  OK if the key was acquired, otherwise 0.

-- The usual case: there is no queue.
local taken = redis.call('exists', KEYS[2]) == 0 and redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2])
if taken then
    return taken
end

--@include ../look.lua
--@include waiters.lua

local queue, ticket, own, life = KEYS[2], KEYS[3], ARGV[3], math.abs(ARGV[4])
local problem = check(queue, ticket, life)
if problem then
    return problem
end
-- mutant: fifo_try_goes_past
if redis.call('exists', KEYS[1]) == 0 then
    local first = first_of(queue, ticket, own)
    -- mutant: fifo_past_a_waiter
    if not first or client_of(first) == client_of(own) then
        try(queue, ticket)
        taken = redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
        if first then
            leave(queue, ticket, own, life)
        end
        return taken
    end
end
-- mutant: fifo_try_leaves_a_place
if tonumber(ARGV[4]) > 0 then
    enter(queue, ticket, own, life)
else
    keep(queue)
end
return 0
