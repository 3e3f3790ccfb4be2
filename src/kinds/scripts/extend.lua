-- Compare-and-extend: makes a lock's key live for a ttl at least, if it still holds our token. It never
-- shortens a life: what was sent first, on a connection that broke, may be executed last.
--
-- KEYS[1]  the key
-- ARGV[1]  the token
-- ARGV[2]  the ttl in milliseconds
-- Returns  1 extended; 0 there is no such key; -1 it holds something else

local value = redis.pcall('get', KEYS[1])
if value == ARGV[1] then
    if redis.call('pttl', KEYS[1]) < tonumber(ARGV[2]) then
        redis.call('pexpire', KEYS[1], ARGV[2])
    end
    return 1
end
if value == false then
    return 0
end
return -1  -- another token, or (an error) a key of another type
