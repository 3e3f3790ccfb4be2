-- Moves a lock's fence counter on, and with that takes the lock's key, or leaves it with its holder.
--
-- KEYS[1]  the key
-- KEYS[2]  the counter
-- ARGV[1]  the token
-- ARGV[2]  the ttl in milliseconds with which to take the key, if there is none;
--          or 0: leave the key alone, and the counter too unless the token holds the key, if only as a reader
-- ARGV[3]  what the counter is to be at least; or 0: more than it was
-- ARGV[4]  for how many milliseconds to keep the counter
-- Returns  the counter; 0 there is no such key; -1 it holds something else

local time = redis.call('time')

if ARGV[2] ~= '0' then
    if redis.call('exists', KEYS[1]) == 1 then
        return -1
    end
else
    local value = redis.pcall('get', KEYS[1])
    -- An expired share is in the key until another reader or a writer comes.
    local expires = type(value) == 'table' and redis.pcall('zscore', KEYS[1], ARGV[1])
    local is_reader = type(expires) == 'string' and tonumber(expires) > time[1] * 1000 + math.floor(time[2] / 1000)
    local ours = value == ARGV[1] or is_reader or type(value) == 'string' and 'reader:' .. value == ARGV[1]
    if not ours then
        return value == false and 0 or -1
    end
end

--@include parts/fence_counter.lua

-- The counter first: no token has a key before it is counted.
local counter = move_on(KEYS[2], tonumber(ARGV[3]), ARGV[4], time, true)
if counter == nil then
    return cannot_go_on()
end
if ARGV[2] ~= '0' then
    redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
end
return counter
