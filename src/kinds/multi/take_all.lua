-- Takes all names of a lock, or none of them.
--
-- KEYS[i]  the names
-- ARGV[1]  the token
-- ARGV[2]  the ttl in milliseconds
-- ARGV[3]  'take' all must be free; 'heal' each is free, or is held by this token
-- Returns  1 taken; 'at <number> <answer>' something else has this name: see names.lua

local token, ttl, heals = ARGV[1], tonumber(ARGV[2]), ARGV[3] == 'heal'

-- As it mostly is. EXISTS may be forbidden.
if redis.pcall('exists', unpack(KEYS)) == 0 then
    for _, key in ipairs(KEYS) do
        redis.call('set', key, token, 'px', ttl)
    end
    return 1
end

--@include ../look.lua
--@include ../lock_key.lua
--@include names.lua

local lives = {}
for i, key in ipairs(KEYS) do
    local value = look('get', key)
    if value ~= false and not (heals and value == token) then
        return denied_at(i, held_by_another(key, value))
    end
    lives[i] = value and math.max(ttl, redis.call('pttl', key)) or ttl
end
for i, key in ipairs(KEYS) do
    redis.call('set', key, token, 'px', lives[i])
end
return 1
