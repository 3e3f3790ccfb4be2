-- How long something is in a writer's way: an exclusive holder, or readers that have not expired. The mark of a waiting writer is
-- not in the way: the next attempt of a writer drops it.
--
-- KEYS[1]  the key
-- Returns  as PTTL: milliseconds; -1 a key without ttl; -2 nothing. '@<label> <PTTL>' likewise, if the holder's token has a label.
--          'holds <type> <PTTL>' no lock wrote the key

--@include look.lua
--@include lock_key.lua

local key = KEYS[1]
local value = look('get', key)
if value == false then
    return -2
end
local set = type(value) ~= 'string' and read_set(key)
local left = set and set.readers - set.now or redis.call('pttl', key)
if set and left <= 0 then
    return -2
end
local holder = set and held_by(set.last) or held_by_another(key, value)
return holder == -1 and left or redis.status_reply(holder.ok .. ' ' .. math.floor(left))
