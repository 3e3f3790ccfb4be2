-- Keeps the places of a client's waiters, and reports which client is before them.
--
-- KEYS[1]  The queue of the waiters: see waiters.lua.
-- KEYS[2]  The ticket of the client.
-- ARGV[1]  The member of the client's first waiter.
-- ARGV[2]  The member of its last waiter.
-- ARGV[3]  How long to keep the ticket, in milliseconds. A negative value means that the slot is being moved to
--          this node. The tickets of other clients may then be at the other node, so all clients count as alive.
-- Returns  The number of the client before this one, or 0 if there is none. -1 if some places may be missing.
-- It needs no memory.

--@include ../look.lua
--@include waiters.lua

local queue, ticket, life = KEYS[1], KEYS[2], math.abs(ARGV[3])
local problem = check(queue, ticket, life)
if problem then
    return problem
end
-- While there was no ticket, any place of this client may have been skipped.
local rank = redis.call('zrank', queue, ARGV[1])
local left = redis.call('pttl', ticket)
if not rank or not redis.call('zscore', queue, ARGV[2]) or left == -2 then
    return -1
end
-- If the first living waiter is of this client, it is the client's turn. This holds even if the client's
-- first waiter has lost its place and stands behind others.
local before, has_ended = 0, false
if tonumber(ARGV[3]) > 0 then
    local first = first_of(queue, ticket, ARGV[1])
    has_ended = dead[1]
    if client_of(first) ~= client_of(ARGV[1]) then
        before = client_before(queue, rank, ticket, client_of(ARGV[1]))
    end
else
    before = client_before(queue, rank)
end
-- mutant: fifo_ticket_needs_memory
keep(queue)
-- The ticket is renewed once per refresh, because that notifies the client behind. It is also renewed if dead
-- places at the front are removed. One of them may be a place that this client had left behind.
-- mutant: fifo_ticket_not_kept, fifo_left_place_ends_unnoticed
if left < life * 7 / 8 or has_ended then
    write_ticket(ticket, life)
end
return before
