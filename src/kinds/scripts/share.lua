-- Takes a reader's share of a lock's key. The first reader holds it as a string, which is what its SET with NX has
-- written; with the second, the key becomes a sorted set of the readers' tokens, by the times at which they expire.
--
-- KEYS[1]  the key
-- KEYS[2]  if it is fenced: the counter
-- ARGV[1]  the token: 'reader:' and hexadecimal digits
-- ARGV[2]  the ttl in milliseconds
-- ARGV[3]  if it is fenced: what the counter is to be at least
-- ARGV[4]  if it is fenced: for how many milliseconds to keep the counter
-- Returns  OK, or if it is fenced the counter; -1 it holds something else, or a writer waits

local key, token = KEYS[1], ARGV[1]
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- The key must be free, or have readers and no waiting writer. `sole` is a reader that holds it as a string.
local value = redis.pcall('get', key)
local sole
if type(value) == 'string' then
    if value ~= token then
        if not string.find(value, '^reader:%x+$') then
            return -1
        end
        sole = value
        local may = redis.pcall('zadd', key, 0, sole)  -- not on a string; but if it may not be called at all,
        if not string.find(may.err, 'WRONGTYPE') then  -- that is to be known before anything is written
            return may
        end
    end
elseif value then  -- an error: a key of another type
    for _, place in ipairs({0, -1}) do
        local member = redis.pcall('zrange', key, place, place)[1]
        if not member or not (member == 'writer' or string.find(member, '^reader:%x+$')) then
            return -1  -- nothing of ours
        end
    end
    redis.call('zremrangebyscore', key, '-inf', now)
    if redis.call('zscore', key, 'writer') then
        return -1
    end
end

-- A reader sees the counter as the last writer has left it. (As in fence.lua.)
local counter
if KEYS[2] then
    local text = redis.pcall('get', KEYS[2])
    if text == false then
        counter = math.max(time[1] * 2 ^ 20 + time[2], tonumber(ARGV[3]))
    elseif type(text) == 'string' and string.find(text, '^%d+$') then
        counter = math.max(tonumber(text), tonumber(ARGV[3]))
    end
    if counter == nil or counter >= 2 ^ 53 - 1 then  -- no writer could go on with it either
        return redis.error_reply('FENCE the fence counter holds no number below 2^53 to go on with')
    end
    redis.call('set', KEYS[2], string.format('%.0f', counter), 'px', ARGV[4])
end

if value == false or value == token then
    redis.call('set', key, token, 'px', math.max(tonumber(ARGV[2]), redis.call('pttl', key)))
else
    if sole then
        local left = redis.call('pttl', key)
        redis.call('del', key)
        redis.call('zadd', key, now + left, sole)
    end
    redis.call('zadd', key, now + ARGV[2], token)
    redis.call('pexpireat', key, redis.call('zrange', key, -1, -1, 'withscores')[2])
end
return counter or redis.status_reply('OK')
