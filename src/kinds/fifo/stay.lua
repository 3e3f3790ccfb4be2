-- Keeps the places of a client's waiters, and reports which client is before them.
--
-- KEYS[1]  The queue of the waiters: see waiters.lua.
-- KEYS[2]  The ticket of the client.
-- ARGV[1]  The member of the client's first waiter.
-- ARGV[2]  The member of its last waiter.
-- ARGV[3]  How long to keep the ticket, in milliseconds. A negative value means that the slot is being moved to
--          this node. The tickets of other clients may then be at the other node, so all clients count as alive.
-- Returns  The number of the client before this one, or 0 if there is none. After a standstill of the server,
--          2^53 in place of a client without a ticket. -1 if some places may be missing.
--
-- It needs no memory: the server never refuses PEXPIRE and ZREM for lack of memory.

--@include ../look.lua
--@include waiters.lua

local queue, ticket, life = KEYS[1], KEYS[2], math.abs(ARGV[3])
local problem = check(queue, ticket)
if problem then
    return problem
end
notice(queue, ticket, client_of(ARGV[1]), life)
-- While there was no ticket, any place of this client may have been skipped.
local rank = redis.call('zrank', queue, ARGV[1])
local left = redis.call('pttl', ticket)
if not rank or not redis.call('zscore', queue, ARGV[2]) or left == -2 then
    return -1
end
-- If the first living waiter is of this client, it is the client's turn. This holds even if the client's
-- first waiter has lost its place and stands behind others.
local before, dead, ended = 0, {}, {}
if tonumber(ARGV[3]) > 0 then
    local first
    first, ended = first_of(queue, ticket, ARGV[1], life)
    if client_of(first) ~= client_of(ARGV[1]) then
        before, dead = client_before(queue, rank, ticket, client_of(ARGV[1]), life)
    end
else
    before = client_before(queue, rank)
end
-- The ticket is renewed once per refresh, because that notifies the client behind. It is also renewed if dead
-- places at the front are removed. One of them may be a place that this client had left behind.
-- mutant: fifo_ticket_not_kept, fifo_left_place_ends_unnoticed
local is_renewed = left < life * 7 / 8 or ended[1] ~= nil
if is_renewed then
    -- mutant: fifo_ticket_needs_memory
    redis.call('pexpire', ticket, math.max(left, life))
end
remove(queue, dead)
remove(queue, ended)
return before
