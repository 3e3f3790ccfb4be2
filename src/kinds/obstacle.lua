-- Reports how long something blocks a writer: an exclusive holder, or readers that have not expired. The mark
-- of a waiting writer does not block. The next attempt of a writer removes it.
--
-- KEYS[1]  The key.
-- Returns  One of these replies:
-- * The remaining time in milliseconds, as PTTL.
-- * -1: the key has no ttl.
-- * -2: nothing blocks.
-- * '@<label> <PTTL>': the holder's token has this label.
-- * 'of <lock> <PTTL>': a lock of another kind has the key.
-- * 'holds <type> <PTTL>': no lock wrote the key.

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
return holder == -1 and left or redis.status_reply(holder.ok .. string.format(' %.0f', math.floor(left)))
