-- Does the same as take_turn.lua, and advances the lock's fence counter.
--
-- KEYS[1] to KEYS[3]  As in take_turn.lua.
-- KEYS[4]             The counter.
-- ARGV[1] to ARGV[4]  As in take_turn.lua.
-- ARGV[5]             The smallest value for the counter. 0 means more than before.
-- ARGV[6]             How long to keep the counter, in milliseconds.
-- Returns             The counter, or 0 if the key was not acquired.

--@include ../look.lua
--@include waiters.lua
--@include ../fenced/fence_counter.lua

local queue, ticket, own, life = KEYS[2], KEYS[3], ARGV[3], math.abs(ARGV[4])
local problem = check(queue, ticket, life)
if problem then
    return problem
end
if redis.call('exists', KEYS[1]) == 0 then
    local first = first_of(queue, ticket, own)
    -- mutant: fifo_fenced_past_a_waiter
    if not first or client_of(first) == client_of(own) then
        local counter, is_there = next_count(KEYS[4], tonumber(ARGV[5]), true)
        if counter == nil then
            return cannot_go_on()
        end
        try_count(KEYS[4], is_there)
        try(queue, ticket)
        keep_count(KEYS[4], counter, ARGV[6])  -- No token has a key before it is counted.
        redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
        if first then
            leave(queue, ticket, own, life)
        end
        return counter
    end
end
if tonumber(ARGV[4]) > 0 then
    enter(queue, ticket, own, life)
else
    keep(queue)
end
return 0
