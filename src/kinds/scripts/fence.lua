-- Moves a lock's fence counter on, and with that takes the lock's key, or leaves it with its holder.
--
-- KEYS[1]  the key
-- KEYS[2]  the counter
-- ARGV[1]  the token
-- ARGV[2]  the ttl in milliseconds with which to take the key, if there is none;
--          or 0: leave the key alone, and the counter too unless the token holds the key, if only as a reader
-- ARGV[3]  what the counter is to be at least; or 0: more than it was
-- ARGV[4]  for how many milliseconds to keep the counter
-- Returns  the counter; 0 there is no such key; -1 it holds something else

if ARGV[2] ~= '0' then
    if redis.call('exists', KEYS[1]) == 1 then
        return -1
    end
else
    local value = redis.pcall('get', KEYS[1])
    local reader = type(value) == 'table' and redis.pcall('zscore', KEYS[1], ARGV[1])
    local ours = value == ARGV[1] or type(reader) == 'string' or
        type(value) == 'string' and 'reader:' .. value == ARGV[1]
    if not ours then
        return value == false and 0 or -1
    end
end

-- Counters that are there move in step, so that instances agree; one that is not begins behind no other.
local now = redis.call('time')
local floor = now[1] * 2 ^ 20
local least = tonumber(ARGV[3])
local text = redis.pcall('get', KEYS[2])
local counter
if text == false then
    counter = math.max(floor + now[2], least)
elseif type(text) == 'string' and string.find(text, '^%d+$') then
    local value = tonumber(text)
    counter = least == 0 and math.max(value + 1, floor) or math.max(value, least)
end
if counter == nil or counter >= 2 ^ 53 then
    return redis.error_reply('FENCE the fence counter holds no number below 2^53 to go on with')
end

-- The counter first: nobody has a key whom it has not counted.
redis.call('set', KEYS[2], string.format('%.0f', counter), 'px', ARGV[4])
if ARGV[2] ~= '0' then
    redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
end
return counter
