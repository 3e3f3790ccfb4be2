-- Takes a lock's key if it is free, and no living waiter of another client is before those of our client. Else the sender becomes the
-- last of its waiters, if it waits and is none of them yet.
--
-- KEYS[1]  the key
-- KEYS[2]  the queue of its waiters: see waiters.lua
-- KEYS[3]  the ticket of our client
-- ARGV[1]  the token
-- ARGV[2]  the ttl of the key, in milliseconds
-- ARGV[3]  the member of the sender in the queue
-- ARGV[4]  how long to keep the ticket, in milliseconds. The queue is kept for at least as long. Negative: the sender does not wait
-- Returns  OK taken; 0 not taken

-- Mostly nobody waits.
local taken = redis.call('exists', KEYS[2]) == 0 and redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2])
if taken then
    return taken
end

--@include ../look.lua
--@include waiters.lua

local queue, ticket, own, life = KEYS[2], KEYS[3], ARGV[3], math.abs(ARGV[4])
local problem = check(queue, ticket)
if problem then
    return problem
end
if redis.call('exists', KEYS[1]) == 0 then
    local first, dead = first_of(queue, ticket, own)
    if not first or client_of(first) == client_of(own) then
        try(queue, ticket, life)
        taken = redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
        remove(queue, dead)
        if first then
            leave(queue, ticket, own, life)
        end
        return taken
    end
end
if tonumber(ARGV[4]) > 0 then
    enter(queue, ticket, own, life)
end
return 0
