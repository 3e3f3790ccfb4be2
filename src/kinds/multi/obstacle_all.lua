-- Reports which name of a lock is not free, and for how long.
--
-- KEYS[i]  The names.
-- Returns  -2 if nothing blocks the lock. Otherwise 'at <number> <answer> <PTTL>' for the first name
--          that is not free: see names.lua. PTTL is that of the name that lives the longest, or -1 if a
--          name has no ttl.

--@include ../look.lua
--@include ../lock_key.lua
--@include names.lua

local first, longest
for i, key in ipairs(KEYS) do
    -- mutant: multi_looks_at_one_name
    local value = look('get', key)
    if value ~= false then
        local left = redis.call('pttl', key)
        first = first or denied_at(i, held_by_another(key, value))
        longest = longest and (math.min(longest, left) < 0 and -1 or math.max(longest, left)) or left
    end
end
return first and redis.status_reply(first.ok .. string.format(' %.0f', longest)) or -2
