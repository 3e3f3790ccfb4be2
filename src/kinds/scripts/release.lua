-- Compare-and-delete: has a token hold a lock's key no more, if it still does.
--
-- KEYS[1]  the key: a string, the token that holds it; or a sorted set, the tokens of readers by expiry
-- ARGV[1]  the token
-- Returns  1 released; 0 the token holds nothing there; -1 another one does

local value = redis.pcall('get', KEYS[1])
if value == ARGV[1] then
    redis.call('del', KEYS[1])
    return 1
end
if value == false then
    return 0
end
if type(value) == 'string' then
    if 'reader:' .. value == ARGV[1] then  -- it was a writer's, and was to become a reader's
        redis.call('del', KEYS[1])
        return 1
    end
    local reads = string.find(ARGV[1], '^reader:') and string.find(value, '^reader:%x+$')
    return reads and 0 or -1  -- another reader is not in a reader's place
end

-- An error: a key of another type. It may have readers.
local expires = redis.pcall('zscore', KEYS[1], ARGV[1])
if type(expires) == 'table' or not string.find(ARGV[1], '^reader:') then
    return -1
end
if not expires then
    return 0
end
redis.call('zrem', KEYS[1], ARGV[1])
local last = redis.call('zrange', KEYS[1], -1, -1, 'withscores')[2]
if last then
    redis.call('pexpireat', KEYS[1], last)
end
local time = redis.call('time')
return tonumber(expires) > time[1] * 1000 + math.floor(time[2] / 1000) and 1 or 0
