-- Has a token hold all its names for a ttl at least, if it still holds all of them. It never shortens a life, as extend.lua.
--
-- It needs no memory. PEXPIRE is never refused for memory.
--
-- KEYS[i]  the names
-- ARGV[1]  the token
-- ARGV[2]  the ttl in milliseconds
-- Returns  1 extended; 0 the token does not hold all of them, and nothing else does; 'at <number> <answer>' something else has this
--          name: see names.lua

local token, ttl = ARGV[1], tonumber(ARGV[2])
local all = true
for _, key in ipairs(KEYS) do
    all = all and redis.pcall('get', key) == token
end
if all then
    for _, key in ipairs(KEYS) do
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
