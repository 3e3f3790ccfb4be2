-- Makes a token hold all its names for at least the ttl, if it still holds all of them. Like extend.lua, it
-- never shortens the remaining time.
--
-- It needs no memory. The server never refuses PEXPIRE for lack of memory.
--
-- KEYS[i]  The names.
-- ARGV[1]  The token.
-- ARGV[2]  The ttl in milliseconds.
-- Returns  One of these replies:
-- * 1: extended.
-- * 0: the token does not hold all of them, and nothing else holds one.
-- * 'at <number> <answer>': something else has this name. See names.lua.

local token, ttl = ARGV[1], tonumber(ARGV[2])
local all = true
for _, key in ipairs(KEYS) do
    -- mutant: multi_extended_by_any_name
    all = all and redis.pcall('get', key) == token
end
if all then
    for _, key in ipairs(KEYS) do
        -- mutant: multi_extends_the_first_name
        if redis.call('pttl', key) < ttl then
            redis.call('pexpire', key, ttl)
        end
    end
    return 1
end

--@include ../look.lua
--@include ../lock_key.lua
--@include names.lua

for i, key in ipairs(KEYS) do
    local value = look('get', key)
    if value ~= false and value ~= token then
        return denied_at(i, held_by_another(key, value))
    end
end
return 0
