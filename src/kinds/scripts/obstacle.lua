-- How long something is in a writer's way: an exclusive holder, or the readers that have not expired. A waiting writer's mark,
-- which may be its own, is not: the next attempt of a writer drops it.
--
-- KEYS[1]  the key
-- Returns  as PTTL: milliseconds; -1 a key without ttl; -2 nothing

--@include parts/readers.lua

local key = KEYS[1]
if not has_readers(key) then
    return redis.call('pttl', key)  -- no key, a string, or nothing of ours
end
local left = last_reader_until(key) - now_in_ms()
return left > 0 and left or -2
