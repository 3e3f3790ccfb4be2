-- Compare-and-set: gives a name its record in place of the token that has run it.
--
-- KEYS[1]  the key
-- ARGV[1]  the token, or '' for none
-- ARGV[2]  the record
-- ARGV[3]  how long it lives, in milliseconds
-- ARGV[4]  1 if a name that nobody has gets the record as well, else 0
-- Returns  1 it has this record, also from an earlier copy of this call; 0 nobody has the name; otherwise as held_by_another in
--          lock_key.lua

local key, token, record, life = KEYS[1], ARGV[1], ARGV[2], ARGV[3]

-- As it mostly is.
local value = redis.pcall('get', key)
if token ~= '' and value == token or value == false and ARGV[4] == '1' then
    redis.call('set', key, record, 'px', life)
    return 1
elseif value == false then
    return 0
elseif value == record then
    -- Replicas that acknowledge this have the record, too. It needs no memory.
    local left = redis.call('pttl', key)
    if left > 0 then
        redis.call('pexpire', key, left)
    end
    return 1
end

--@include ../look.lua
--@include ../lock_key.lua

value = type(value) == 'table' and look('get', key) or value  -- raises the error if the type is right
return held_by_another(key, value)
