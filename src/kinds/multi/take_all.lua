-- Acquires all names of a lock, or none of them.
--
-- KEYS[i]  The names.
-- ARGV[1]  The token.
-- ARGV[2]  The ttl in milliseconds.
-- ARGV[3]  'take' if all names must be free. 'heal' if each name must be free or held by this token.
-- Returns  1 if all names were acquired. 'at <number> <answer>' if something else has this
--          name: see names.lua.

local token, ttl, heals = ARGV[1], tonumber(ARGV[2]), ARGV[3] == 'heal'

-- The usual case: all names are free. The user may lack the right to EXISTS.
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
    -- mutant: multi_heals_over_others
    if value ~= false and not (heals and value == token) then
        -- mutant: multi_takes_the_free_names
        return denied_at(i, held_by_another(key, value))
    end
    lives[i] = value and math.max(ttl, redis.call('pttl', key)) or ttl
end
for i, key in ipairs(KEYS) do
    redis.call('set', key, token, 'px', lives[i])
end
return 1
