-- Acquires a name for a token, if no token has it and it has no record.
--
-- KEYS[1]  The key.
-- ARGV[1]  The token.
-- ARGV[2]  The ttl in milliseconds.
-- Returns  One of these replies:
-- * 'OK': acquired.
-- * '<PTTL> <record>': the name has been run.
-- * -1: another token has the name.
-- * '@<label>': another token has the name, and has this label.
-- * 'of <lock>': a lock of another kind has the name, or a record is too long.
-- * 'holds <type>': no lock wrote the key.

local key = KEYS[1]

-- The usual case: the name is free.
local value = redis.pcall('get', key)
-- mutant: once_acquire_over_a_record
if value == false then
    return redis.call('set', key, ARGV[1], 'px', ARGV[2])
end

--@include ../look.lua
--@include ../lock_key.lua
--@include record.lua

value = type(value) == 'table' and look('get', key) or value  -- Raises the error unless it is WRONGTYPE.
return is_record(value) and state_of(key, value) or held_by_another(key, value)
