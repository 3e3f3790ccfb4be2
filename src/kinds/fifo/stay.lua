-- Keeps the places of a client's waiters, and tells who is before them.
--
-- KEYS[1]  the queue of the waiters: see waiters.lua
-- KEYS[2]  the ticket of our client
-- ARGV[1]  the member of the first waiter of our client
-- ARGV[2]  the member of the last one
-- ARGV[3]  how long to keep the ticket, in milliseconds. The queue is kept for at least as long. Negative: the slot is being moved to
--          this node, and the tickets of others may be at the other one. So all count as alive.
-- Returns  the number of the client before ours; 0 there is none; -1 some places may be missing

--@include ../look.lua
--@include waiters.lua

local queue, ticket, life = KEYS[1], KEYS[2], math.abs(ARGV[3])
local problem = check(queue, ticket)
if problem then
    return problem
end
-- While there was no ticket, any of our places may have been skipped.
local rank = redis.call('zrank', queue, ARGV[1])
local left = redis.call('pttl', ticket)
if not rank or not redis.call('zscore', queue, ARGV[2]) or left == -2 then
    return -1
end
-- If the first one is ours, it is our turn, even if our first waiter has lost its place and stands behind others.
local before, dead, ended = 0, {}, {}
if tonumber(ARGV[3]) > 0 then
    local first
    first, ended = first_of(queue, ticket, ARGV[1])
    if client_of(first) ~= client_of(ARGV[1]) then
        before, dead = client_before(queue, rank, ticket, client_of(ARGV[1]))
    end
else
    before = client_before(queue, rank)
end
-- The ticket is written only now and then, since that tells the client behind ours. It is also written if a place is removed that our
-- client had left behind.
local is_written = left < life / 2 or ended[1] ~= nil
if is_written or dead[1] then
    try(queue, ticket, life)
end
if is_written then
    write_ticket(ticket, life)
end
remove(queue, dead)
remove(queue, ended)
return before
