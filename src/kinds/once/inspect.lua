-- Reports the state of a name, and how long its record will live.
--
-- KEYS[1]  The key.
-- ARGV[1]  A token, or '' for none.
-- Returns  One of these replies:
-- * '<PTTL> <record>': the name has been run.
-- * 1: the token has the name.
-- * 0: the name is free.
-- * Otherwise as take.lua.

--@include ../look.lua
--@include ../lock_key.lua
--@include record.lua

local key = KEYS[1]
local value = look('get', key)
if value == false then
    return 0
elseif is_record(value) then
    return state_of(key, value)
end
return ARGV[1] ~= '' and value == ARGV[1] and 1 or held_by_another(key, value)
