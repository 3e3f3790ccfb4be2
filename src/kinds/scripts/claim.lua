-- Clears the way for a writer that was denied, and is about to try again: drops the readers that have expired. If there
-- are others, it leaves a mark among them, at which no more are let in. The mark expires soon after its writer does.
--
-- KEYS[1]  the key
-- ARGV[1]  for how many milliseconds the mark lives
-- Returns  1 there is nothing in the way but, perhaps, an exclusive holder; 0 there are readers

local key = KEYS[1]
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local value = redis.pcall('get', key)
if type(value) == 'string' then
    if not string.find(value, '^reader:%x+$') then
        return 1
    end
    local may = redis.pcall('zadd', key, 0, value)  -- as in share.lua
    if not string.find(may.err, 'WRONGTYPE') then
        return may
    end
    local left = redis.call('pttl', key)
    redis.call('del', key)
    redis.call('zadd', key, now + left, value)
elseif value == false then
    return 1
else  -- an error: a key of another type
    for _, place in ipairs({0, -1}) do
        local member = redis.pcall('zrange', key, place, place)[1]
        if not member or not (member == 'writer' or string.find(member, '^reader:%x+$')) then
            return 1  -- nothing of ours
        end
    end
    redis.call('zremrangebyscore', key, '-inf', now)
    local marks = redis.call('zscore', key, 'writer') and 1 or 0
    if redis.call('zcard', key) == marks then
        redis.call('del', key)
        return 1
    end
end
redis.call('zadd', key, now + ARGV[1], 'writer')
redis.call('pexpireat', key, redis.call('zrange', key, -1, -1, 'withscores')[2])
return 0
