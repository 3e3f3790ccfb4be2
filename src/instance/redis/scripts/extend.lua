-- Compare-and-extend: gives a lock's key another ttl if it still holds our token.
--
-- KEYS[1]  the key
-- ARGV[1]  the token
-- ARGV[2]  the ttl in milliseconds
-- Returns  1 extended; 0 there is no such key; -1 it holds something else

local value = redis.pcall('get', KEYS[1])
if value == ARGV[1] then
    redis.call('pexpire', KEYS[1], ARGV[2])
    return 1
end
if value == false then
    return 0
end
return -1  -- another token, or (an error) a key of another type
