-- What is in the way of a lock with several names.
--
-- KEYS[i]  the names
-- Returns  -2 nothing; 'at <number> <answer> <PTTL>' something has this name, which is the first one that is taken. PTTL is that of the
--          name that lives the longest, or -1 if one has no ttl. See names.lua.

--@include ../look.lua
--@include ../lock_key.lua
--@include names.lua

local first, longest
for i, key in ipairs(KEYS) do
    local value = look('get', key)
    if value ~= false then
        local left = redis.call('pttl', key)
        first = first or denied_at(i, held_by_another(key, value))
        longest = longest and (math.min(longest, left) < 0 and -1 or math.max(longest, left)) or left
    end
end
return first and redis.status_reply(first.ok .. ' ' .. longest) or -2
