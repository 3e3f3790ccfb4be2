-- Compare-and-set: replaces the token that has run a name by a record.
--
-- KEYS[1]  The key.
-- ARGV[1]  The token, or '' for none.
-- ARGV[2]  The record.
-- ARGV[3]  How long the record lives, in milliseconds.
-- ARGV[4]  1 if a free name also gets the record, otherwise 0.
-- Returns  One of these replies:
-- * 1: the key has this record. An earlier copy of this call may have written it.
-- * 0: the name is free.
-- * Otherwise the reply of held_by_another in lock_key.lua.

local key, token, record, life = KEYS[1], ARGV[1], ARGV[2], ARGV[3]

-- The usual case: the token has the name.
local value = redis.pcall('get', key)
-- mutant: once_record_without_token_check
if token ~= '' and value == token or value == false and ARGV[4] == '1' then
    redis.call('set', key, record, 'px', life)
    return 1
elseif value == false then
    return 0
-- mutant: once_same_record_refused
elseif value == record then
    -- Replicas that acknowledge this also have the record. It needs no memory.
    local left = redis.call('pttl', key)
    if left > 0 then
        redis.call('pexpire', key, left)
    end
    return 1
end

--@include ../look.lua
--@include ../lock_key.lua

value = type(value) == 'table' and look('get', key) or value  -- Raises the error unless it is WRONGTYPE.
return held_by_another(key, value)
