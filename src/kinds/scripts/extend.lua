-- Compare-and-extend: has a token hold a lock's key for a ttl at least, if it still does. It never shortens a life: what
-- was sent first, on a connection that broke, may be executed last.
--
-- KEYS[1]  the key: a string, the token that holds it; or a sorted set, the tokens of readers by expiry
-- ARGV[1]  the token
-- ARGV[2]  the ttl in milliseconds
-- Returns  1 extended; 2 likewise, and a writer waits; 0 the token holds nothing there; -1 another one does

local value = redis.pcall('get', KEYS[1])
if value == ARGV[1] then
    if redis.call('pttl', KEYS[1]) < tonumber(ARGV[2]) then
        redis.call('pexpire', KEYS[1], ARGV[2])
    end
    return 1
end

--@include parts/readers.lua

if is_former(value, ARGV[1]) then  -- it was a writer's, and is a reader's now
    redis.call('set', KEYS[1], ARGV[1], 'px', math.max(tonumber(ARGV[2]), redis.call('pttl', KEYS[1])))
    return 1
end
local expires, without = find_share(KEYS[1], ARGV[1], value)
if not expires then
    return without
end
local now = now_in_ms()
if expires <= now then
    return 0
end
if now + ARGV[2] > expires then
    redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
    live_with_last(KEYS[1])
end
return is_marked(KEYS[1], now) and 2 or 1
