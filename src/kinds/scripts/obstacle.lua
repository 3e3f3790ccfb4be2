-- How long something is in a writer's way: an exclusive holder, or readers that have not expired. The mark of a waiting writer is
-- not in the way: the next attempt of a writer drops it.
--
-- KEYS[1]  the key
-- Returns  as PTTL: milliseconds; -1 a key without ttl; -2 nothing

--@include parts/readers.lua

local set = read_set(KEYS[1])
if not set then
    return redis.call('pttl', KEYS[1])  -- no key, a string, or nothing of ours
end
local left = set.readers - set.now
return left > 0 and left or -2
