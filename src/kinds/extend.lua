-- Compare-and-extend: has a token hold a lock's key for a ttl at least, if it still does. It never shortens a life: a command that
-- was sent first, on a connection that broke, may be executed last.
--
-- It needs no memory. PEXPIRE and ZREM are never refused for memory, and neither is a script's later write.
--
-- KEYS[1]  the key: a string, the token that holds it; or a sorted set of readers' tokens
-- ARGV[1]  the token
-- ARGV[2]  the ttl in milliseconds
-- Returns  1 extended; 2 extended, and a writer waits; 0 the token holds nothing there; -1 another token does; '@<label>' likewise,
--          if that token has a label; 'holds <type>' no lock wrote the key

local key, token, ttl = KEYS[1], ARGV[1], tonumber(ARGV[2])

local value = redis.pcall('get', key)
if value == token then
    if redis.call('pttl', key) < ttl then
        redis.call('pexpire', key, ttl)
    end
    return 1
end

--@include look.lua
--@include lock_key.lua

value = type(value) == 'table' and look('get', key) or value  -- raises the error if the type is right

if is_former(value, token) then  -- it was a writer's, and is a reader's now
    local life = math.max(ttl, redis.call('pttl', key))
    local tried = redis.pcall('set', key, '', 'nx', 'px', 1)  -- the key is there, so this changes nothing
    if type(tried) == 'table' and tried.err and not string.find(tried.err, 'OOM', 1, true) then
        return tried
    end
    redis.call('pexpire', key, life)
    redis.call('set', key, token, 'px', life)
    return 1
end
local set, without = find_set(key, token, value)
if not set then
    return without
end
local held = share_of(key, token, set)
if not held then
    return 0
end
local ends = set.now + ttl
if ends > held then
    redis.call('zrem', key, '')
    redis.call('zadd', key, 'xx', 0, '')
    end_at(key, set, math.max(ends, set.ends))
    redis.call('zadd', key, ends, token)
end
return is_marked(set) and 2 or 1
