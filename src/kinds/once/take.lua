-- Takes a name for a token, if nobody has it, and if it has no record.
--
-- KEYS[1]  the key
-- ARGV[1]  the token
-- ARGV[2]  the ttl in milliseconds
-- Returns  'OK' taken; '<PTTL> <record>' the name has been run; -1 another token has it; '@<label>' likewise, if that token has a
--          label; 'of <lock>' a lock of another kind has it; 'holds <type>' no lock wrote the key

local key = KEYS[1]

-- As it mostly is.
local value = redis.pcall('get', key)
if value == false then
    return redis.call('set', key, ARGV[1], 'px', ARGV[2])
end

--@include ../look.lua
--@include ../lock_key.lua
--@include record.lua

value = type(value) == 'table' and look('get', key) or value  -- raises the error if the type is right
return is_record(value) and state_of(key, value) or held_by_another(key, value)
