-- Compare-and-delete: deletes a lock's key if it still holds our token.
--
-- KEYS[1]  the key
-- ARGV[1]  the token
-- Returns  1 deleted; 0 there is no such key; -1 it holds something else

local value = redis.pcall('get', KEYS[1])
if value == ARGV[1] then
    redis.call('del', KEYS[1])
    return 1
end
if value == false then
    return 0
end
return -1  -- another token, or (an error) a key of another type
